"""Dates in text: where they are, and which days they may mean.

A text is turned into a row of signs, one for each word, number, blank and mark. The forms of dates
are expressions over that row: a day, a month, a year, with the month in any language.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, lru_cache
from itertools import chain, groupby, islice, pairwise, product
from typing import NamedTuple

from chart_binder.domain.dates import PartialDate
from chart_binder.domain.vocabulary import fold, word_table

_DATE_WORDS = word_table("date_words")
_MONTHS = word_table("month_names")  # in the languages of the web's discographies

MONTHS = {name: month for month, names in enumerate(_MONTHS["months"], 1) for name in names.split()}
"""The number of a month by its name: alone, as in a date, inflected or abbreviated."""

ENGLISH_MONTHS = frozenset(_MONTHS["english"].split())

AMBIGUOUS_MONTHS = frozenset(_MONTHS["ambiguous"].split())
"""Names of months that are also words of some language: "it came out 1974"."""


class Mention(NamedTuple):
    """A date in a text, from `start` to `end`; `10/11/1974` has several `dates`."""

    start: int
    end: int
    dates: tuple[PartialDate, ...]
    is_span: bool = False
    """Whether it is a span of days, which states no date: `28-30 October 1975`."""


def find_dates(text: str) -> list[Mention]:
    """Return the dates in a text, in order of place.

    The ends of a span (`1970-1974`, `from 1970 to 1974`), decades and vague dates (`circa 1974`,
    `1974?`, `before 1974`, `1974 or 1975`) are left out. The caller decides whether a date is
    that of a release, and of which.
    """
    row = _Row(text)
    forms = [(*match.span(), _dates(row, match), _is_span(match)) for match in _forms(row)]
    spans = {
        start
        for form, following in pairwise(forms)
        if _DASH.fullmatch(row.signs, form[1], following[0])
        for start in (form[0], following[0])
    }
    return [
        Mention(row.starts[start], row.ends[end - 1], dates, is_span)
        for start, end, dates, is_span in forms
        if dates and start not in spans
    ]


def find_periods(text: str) -> list[Mention]:
    """Return the spans of months in a text, which state no date: `May/June 1974`."""
    folded, begins, ends = _folded(text)
    mentions = []
    for match in _periods().finditer(folded):
        first, last, words, year = match.groups()
        span = f"{MONTHS[first]:02}/{MONTHS[last]:02}" if first else _period_of(words)
        since, until = span.split("/")
        if since <= until:
            date = PartialDate.parse(f"{year}-{since}/{year}-{until}")
            place = begins[match.start()], ends[match.end() - 1]
            mentions.append(Mention(*place, (date,), is_span=True))
    return mentions


@cache
def _periods() -> re.Pattern[str]:
    month, words = month_pattern(), "|".join(chain(*_DATE_WORDS["period"].values()))
    joined = "(?: ?[-/–] ?| (?:or|and|und|oder|et|ou|y|o|e) )"
    return re.compile(
        rf"(?<!\w)(?:({month})\.?{joined}({month})\.?|({words}))"
        r"(?:,? (?:of |de |del |des jahres )?(?:the year )?|/)((?:1[89]|20)[0-9]{2})(?![0-9])"
    )


def _period_of(words: str) -> str:
    periods: dict[str, list[str]] = _DATE_WORDS["period"]
    return next(span for span, names in periods.items() if re.fullmatch("|".join(names), words))


def states(mention: Mention, value: PartialDate) -> bool:
    """Return whether a mention states this date, or a more precise one, in each of its readings."""
    is_within = map(value.includes, mention.dates)
    return not mention.is_span and all(is_within)


def single_date(text: str) -> PartialDate | None:
    """Return the date of a text that is only a date, and can be read in one way, or None.

    Words in brackets may follow it. `8. November 1974` is a day, not an entry of a list.
    """
    mentions = find_dates(text)
    if len(mentions) != 1 or mentions[0].is_span:
        return None
    start, end, (first, *alternatives), _ = mentions[0]
    if text[:start].strip(" .(") or not _NOTHING_ELSE.fullmatch(_ASIDE.sub("", fold(text[end:]))):
        return None
    return first if all(date.includes(first) for date in alternatives) else None


def read_date(text: str) -> PartialDate | None:
    """Return the date that a text states, in any form, or None if there is none or several.

    Words usual beside a date do not count: `released on 31 October 1975 in the UK`.
    """
    if numbers := _NUMBERS_ONLY.fullmatch(text.strip()):
        text = "-".join(part.zfill(2) for part in numbers.groups() if part)
    try:
        date = PartialDate.parse(text)
    except ValueError:
        bare = _BEHIND_DATE.sub("", _BEFORE_DATE.sub("", text.strip(), count=1))
        return single_date(text) or single_date(bare)
    return date if date.is_known and "/" not in date.text else None


def month_pattern() -> str:
    """Return an expression for the longest name of a month, grouped by first letter for speed."""
    longest_first = sorted(MONTHS, key=lambda name: (name[0], -len(name), name))
    by_letter = groupby(longest_first, key=lambda name: name[0])
    return "|".join(
        f"{first}(?:{'|'.join(name[1:] for name in all_)})" for first, all_ in by_letter
    )


_NUMBERS_ONLY = re.compile(r"([0-9]{4})[-/. ]([0-9]{1,2})(?:[-/. ]([0-9]{1,2}))?")
_PLACE = (
    r"UK|GB|US|USA|United (?:Kingdom|States)|Britain|Germany|France|Japan|Italy|Spain|Canada"
    r"|Australia"
)
_BEFORE_DATE = re.compile(
    r"^(?:(?:(?:first |originally )?(?:released|issued|published)|out|on|in|the(?= \d)|(?:mon"
    rf"|tues|wednes|thurs|fri|satur|sun)day|{_PLACE})(?:\s*[:,]\s*|\s+))+",
    re.IGNORECASE,
)
_BEHIND_DATE = re.compile(rf"(?:,? in(?: the)? |,? )(?:{_PLACE})\.?$", re.IGNORECASE)
_ASIDE = re.compile(r"[(\[](?![^()\[\]]*(?:1[89]|20)[0-9]{2})[^()\[\]]*[)\]]")
_NOTHING_ELSE = re.compile(r"(?:t[0-9:.]+z?)?[ .)]*")

_WORDS: dict[str, Iterable[str]] = {
    "month": MONTHS.keys() - AMBIGUOUS_MONTHS,
    "word or month": AMBIGUOUS_MONTHS,
    "inflected": {name for name in MONTHS if name.endswith(("ban", "ben"))},  # Hungarian
    **{role: words.split() for role, words in _DATE_WORDS["beside"].items()},
}
_FIRST_NOT_LATIN, _FIRST_SIGN = "\u0250", 0xF0000


def _signs_of_words() -> tuple[dict[str, str], dict[str, str]]:
    """Return a sign for each word, and for each role in `_WORDS` the signs that have it."""
    roles: dict[str, set[str]] = defaultdict(set)
    for role, words in _WORDS.items():
        for word in map(fold, words):
            roles[word] |= {role, "Latin" if word < _FIRST_NOT_LATIN else "other"}
    combined = sorted({tuple(sorted(combination)) for combination in roles.values()})
    signs = {combination: chr(_FIRST_SIGN + number) for number, combination in enumerate(combined)}
    signs_of_role: dict[str, str] = defaultdict(str, Latin="w", other="v")
    for combination, sign in signs.items():
        for role in combination:
            signs_of_role[role] += sign
    sign_of = {word: signs[tuple(sorted(combination))] for word, combination in roles.items()}
    return sign_of, dict(signs_of_role)


_SIGN_OF_WORD, _SIGNS_OF_ROLE = _signs_of_words()
"""The sign of each word in `_WORDS`, a character for private use, and the signs of each role.

Other signs: `d` and `D` are numbers of one and of two digits, `o` is one with an ending (11th), `Y`
a possible year, `N` another number, `E` a year of an era, `K` Chinese digits, `w` and `v` are Latin
and other words, one blank stands for several. Any other character is its own sign.
"""


def _of(*roles: str) -> str:
    return f"[{''.join(_SIGNS_OF_ROLE[role] for role in roles)}]"


ERAS = {"明治": 1867, "大正": 1911, "昭和": 1925, "平成": 1988, "令和": 2018}
ERAS |= {"民国": 1911, "民國": 1911}
"""The year before each era begins: the eras of Japan and of the Republic of China."""
_DIGITS = {digit: number for number, digit in enumerate("〇一二三四五六七八九")} | {"零": 0}
_CJK = f"[{''.join(_DIGITS)}十]"
_ANY_ERA = rf"(?:{'|'.join(ERAS)})(?:[0-9]{{1,2}}|{_CJK}{{1,3}}|元)"

_TOKEN = re.compile(
    # 昭和49年(1974年), 1974年(昭和49年): the same year twice
    rf"(?P<E>{_ANY_ERA})(?=年|[ ]?\()(?:年?[ ]?\([0-9]{{4}}年?\))?"
    rf"|(?P<aside>年[ ]?\({_ANY_ERA}年\))|(?P<K>{_CJK}+)"
    r"|(?P<o>[0-9]{1,2}(?:st|nd|rd|th|er|o|a|°|e|-?го|ης?)(?![^\W_]))"
    r"|(?P<Y>(?:1[89]|20)[0-9]{2}(?![0-9]))|(?P<D>[0-9]{2}(?![0-9]))|(?P<d>[0-9](?![0-9]))|(?P<N>[0-9]+)"
    r"|(?P<word>(?:c|ca|cca|approx|est|ok|ок|kb)\.|[^\W\d_\u1100-\U0010ffff]+)"
    r"|(?P<blank>[^\S\n]+)|[\s\S]"
)
_MARKS = {"\u2019": "'", "\u2010": "-", "\u2011": "-"}
_CLUSTER = re.compile("[\\s\\S][\u0300-\u036f\u3099\u309a\u1160-\u11ff]{0,8}")
"""A letter with its combining marks."""
_fold = lru_cache(4_096)(fold)


class _Row:
    """The signs of a text, with the word that each represents, and its start and end."""

    def __init__(self, text: str) -> None:
        folded, begins, ends = _folded(text)
        tokens = list(_TOKEN.finditer(folded))
        self.signs = "".join(map(_sign, tokens))
        self.words = [token["E"] or token[0] for token in tokens]
        self.starts = [begins[token.start()] for token in tokens]
        self.ends = [ends[token.end() - 1] for token in tokens]


def _folded(text: str) -> tuple[str, Sequence[int], Sequence[int]]:
    """Return the folded text, and where each of its letters begins and ends in the text."""
    if text.isascii():
        return text.lower(), range(len(text)), range(1, len(text) + 1)
    pieces = [(_fold(cluster[0]), *cluster.span()) for cluster in _CLUSTER.finditer(text)]
    begins = [start for piece, start, _ in pieces for _ in piece]
    ends = [end for piece, _, end in pieces for _ in piece]
    return "".join(piece for piece, _, _ in pieces), begins, ends


def _sign(token: re.Match[str]) -> str:
    if token.lastgroup == "word":
        usual = "w" if token[0] < _FIRST_NOT_LATIN else "v"
        return _SIGN_OF_WORD.get(token[0], usual)
    if token.lastgroup:
        return {"blank": " ", "aside": "年"}.get(token.lastgroup, token.lastgroup)
    return _MARKS.get(token[0], token[0]) if ord(token[0]) < _FIRST_SIGN else "v"


_NUMBER, _WORD, _LATIN = "[dDoYNEK]", _of("Latin", "other"), _SIGNS_OF_ROLE["Latin"]
_NAME, _TIMES = _of("month", "word or month"), rf"(?:[ ,:'\"(–-]*{_of('time')}){{0,6}}"
_OF, _RANGE = rf"(?: ?{_of('of')}'?)?", rf"(?: ?[-–—/&+] ?|,? {_of('and', 'to')} )"
_CJK_YEAR = "(?:E[年년]?|[YK] ?[年년])"
_CJK_MONTH, _CJK_DAY = f"{_CJK_YEAR} ?[dDK] ?[月월]", " ?[dDK] ?[日号號일]"
_LEFT = rf"(?<![dDoYNEK{_LATIN}_$£€#])(?<!{_NUMBER}[-–./,:])"  # no part of a number or a code
_RIGHT = rf"(?![dDoYNEK{_LATIN}_%])(?![-/.,:]{_NUMBER})"
_NO_OTHER_YEAR = rf"(?!,? ?Y)(?! {_NAME})"
_DAY_FIRST = rf"[dDo]\.?{_OF}[-/ ]?{_NAME}\.?,?{_OF}[-/ ]?(?:Y|'?D{_NO_OTHER_YEAR}){_RIGHT}"
_ROMAN_NUMBER = "|".join(
    rf"[dD]{sign}{_of('roman', 'roman letter')}\.?{sign}Y" for sign in (r"\. ?", "-", "/")
)
_NUMBERS = "|".join(rf"[dD]{sign}[dD]{sign}[YD]" for sign in (r"\.", "-", "/"))
_ISO_BEHIND = rf"(?:(?=[ {_LATIN}]D:)|(?![dDoYNEK{_LATIN}_])(?![-/.]{_NUMBER}))"
_YEAR_LEFT = rf"(?:(?<!{_WORD}[-./])|(?<={_of('part of year')}-))(?<!{_NUMBER} [-–] )"
_YEAR_RIGHT = rf"(?![-–](?!{_of('in')})|—{_NUMBER}| [-–—] ?{_NUMBER}|'{_of('decade')}| ?[年년])"
_FORMS = (
    # 1974-10-11, also with a time behind it
    ("ymd", rf"Y(?:-[dD]-[dD]|/[dD]/[dD]|\. ?[dD]\. ?[dD]){_ISO_BEHIND}"),
    # 1974 October 11
    ("ymd", rf"Y[-, ]{{1,2}}{_NAME}[-. ]{{1,2}}[dDo]{_RIGHT}{_NO_OTHER_YEAR}"),
    # 1974. október 11., 1974. október 11-én; elsewhere a full stop ends a sentence
    ("ymd", rf"Y\. ?{_NAME} [dD](?:\.|(?=-{_WORD})){_RIGHT}(?! ?Y)"),
    # 28-30 October 1975, 28.-30.10.1975, October 28 and 30, 1975
    ("ddmy", rf"[dDo]\.?{_RANGE}{_DAY_FIRST}|[dD]\.?{_RANGE}[dD]\. ?[dD]\. ?Y"),
    ("mddy", rf"{_NAME}\.?{_OF} ?[dDo]{_RANGE}[dDo],? ?(?:Y|'D){_RIGHT}"),
    # 11 October 1974, the 11th of Oct., '74
    ("dmy", _DAY_FIRST),
    # October 11, 1974
    ("mdy", rf"{_NAME}\.?{_OF} ?[dDo](?:, ?|{_OF} )(?:Y|'D){_RIGHT}"),
    ("dmy", rf"[dD]\. ?[dD]\. ?Y{_RIGHT}"),
    # 11.X.1974; with blanks around it `i` is a word, and a letter is a letter
    ("dmy", rf"(?:{_ROMAN_NUMBER}|[dD]\.? {_of('roman')}\.? Y){_RIGHT}"),
    # 10/11/1974: one day in London and another in New York
    ("xxy", rf"(?:{_NUMBERS}){_RIGHT}"),
    ("my", rf"{_of('month')}\.?,?{_OF}[- ]?(?:Y|'D){_RIGHT}"),
    ("ym", rf"Y(?:'{_WORD}| {_of('case')})?[-, ]{{1,2}}{_of('month')}(?! ?'?{_NUMBER})"),
    ("ym", rf"Y\. {_of('inflected')}"),
    ("ym", rf"Y[-/]D{_RIGHT}"),
    ("my", rf"[dD][/.]Y{_RIGHT}"),
    # EMC-1974 is a catalogue number, 1970-1974 a span, 1970's a decade
    ("y", _YEAR_LEFT + f"Y{_RIGHT}" + _YEAR_RIGHT),
)
"""The forms of a date, the longer first, with the order of year, month and day; `x` is a day or a
month, `dd` a span of days."""
_CJK_FORMS = (
    ("ymd", _CJK_MONTH + _CJK_DAY),
    ("ymdd", rf"{_CJK_MONTH} ?[dDK] ?[-–~〜、・] ?[dDK] ?[日일]"),
    ("ym", _CJK_MONTH),
    ("y", rf"{_CJK_YEAR}(?![代대])"),
)
_FORM = re.compile(
    rf"(?={_NUMBER}|{_NAME})(?:{'|'.join(f'({form})' for _, form in _CJK_FORMS)}"
    rf"|{_LEFT}(?:{'|'.join(f'({form})' for _, form in _FORMS)}))"
)
_ORDERS = [order for order, _ in (*_CJK_FORMS, *_FORMS)]

_DASH = re.compile(" ?[-–—~〜] ?")
_CJK_TO = "(?:から|または|あるいは|至|到|或|~|〜|부터|에서|또는)"
_CASE = rf"(?:['-]{_WORD})"
_BEFORE = (
    rf"{_of('near', 'unsure', 'between')}{_TIMES}[ ,:'\"(–-]*",
    rf"{_of('near if next')} |[~≈±] ?|Y {_of('to year', 'to')} ",
    rf"(?:{_NUMBER}|{_NAME}|[年月日년월일])\.? {_of('to')}{_TIMES} ",
    rf"{_of('between')} [^;|!?\n]{{1,30}} {_of('and')}{_TIMES} ",
    # 28 September - 31 October 1975, Oct/Nov 1974
    rf"(?:[dDo]\.? ?{_NAME}\.?|{_NAME}\.? ?[dDo]),? ?[-–—/] ?|{_NAME}\.?[-–—/]",
    "(?:[約约약]|대략|아마도?|추정|およそ|おそらく|恐らく|たぶん|多分|推定|可能|[或也][許许]):? ?",
    rf"(?:{_NUMBER}|[年月日년월일]) ?{_CJK_TO} ?",
)
_BEHIND = (
    rf"\.?{_CASE}?(?: {_of('case')})? {_of('behind')}",
    rf"(?:{_CASE}| {_of('case')}) {_of('behind case')}|-{_of('until')}",
    rf" {_of('and')} Y {_of('spanned')}| ?\(?\?",
    rf" {_of('to')}(?:{_TIMES} '?(?:{_NUMBER}|{_NAME})| {_of('vague choice')})",
    rf" {_of('to year')} Y|,? {_of('vague')}(?! {_NUMBER})",
    rf" {_of('time')} {_of('time')} {_of('extreme')}",
    rf" ?[(\[](?:{_WORD} ){{0,2}}(?:{_of('unsure', 'vague')}|{_of('to')} {_of('vague choice')})",
    " ?(?:頃|ごろ|ころ|[前以之][前後后]|以降|より前|まで|左右|경|쯤|무렵|이전|이후|까지|전후)",
    rf" ?{_CJK_TO} ?{_NUMBER}",
)
_VAGUE_BEFORE = re.compile(f"(?:{'|'.join(_BEFORE)})$")
_VAGUE_BEHIND = re.compile("|".join(_BEHIND))
_NOT_UNTIL = re.compile(rf"{_of('denied')}[^.;|!?\n]*{_of('until when')}{_TIMES}[ ,:]*$")
_NEAR = 48
"""The number of signs before a date that are read."""
_PARTS = re.compile(rf"{_NUMBER}|{_of('month', 'word or month', 'roman', 'roman letter')}")
_LINE_START = re.compile(r"(?:^|\n) *$")
_OLDEST_OF_SHORT_YEARS = 50
"""`'74` is 1974; `'24` may be 1924 or 2024."""


def _forms(row: _Row) -> Iterator[re.Match[str]]:
    """Yield the matches of the forms; `LK 88 - 7 May 1974` has no span of days."""
    start = 0
    while form := _FORM.search(row.signs, start):
        start = form.end()
        if _order(form) == "ddmy":
            first_part, last_part = islice(_PARTS.finditer(row.signs, *form.span()), 2)
            first, last = row.words[first_part.start()], row.words[last_part.start()]
            if _number_of(first) >= _number_of(last):
                start = last_part.start()
                continue
        yield form


def _order(form: re.Match[str]) -> str:
    return _ORDERS[(form.lastindex or 1) - 1]


def _is_span(form: re.Match[str]) -> bool:
    return "dd" in _order(form)


def _dates(row: _Row, form: re.Match[str]) -> tuple[PartialDate, ...]:
    """Return every day, month or year that a form may mean; none if it is vague."""
    start, end = form.span()
    order = _order(form)
    near = max(0, start - _NEAR)
    is_vague = _VAGUE_BEHIND.match(row.signs, end) or (
        _VAGUE_BEFORE.search(row.signs, near, start)
        and not _NOT_UNTIL.search(row.signs, near, start)
    )
    if is_vague and not _is_span(form):
        return ()
    words = [row.words[part.start()] for part in _PARTS.finditer(row.signs, start, end)]
    parts = dict(zip(order.replace("xx", "md"), words, strict=False))
    month, day = (_number_of(parts[part]) if part in parts else None for part in "md")
    days = [(month, None if _is_span(form) else day)]
    if order == "xxy":
        days.append((day, month))
    # At the start of a line, "5. May 1974" may be the fifth entry of a list.
    if order == "dmy" and row.signs[start + 1] == "." and parts["m"] in ENGLISH_MONTHS:
        days += [(month, None)] if _LINE_START.search(row.signs, near, start) else []
    readings = (
        _date(year, *month_and_day) for year, month_and_day in product(_years(parts["y"]), days)
    )
    return tuple(dict.fromkeys(filter(None, readings)))


def _date(*parts: int | None) -> PartialDate | None:
    try:
        return PartialDate.parse("-".join(f"{part:02}" for part in parts if part is not None))
    except ValueError:
        return None


def _years(text: str) -> Iterable[int]:
    if era := ERAS.get(text[:2]):
        return (era + (1 if text[2:] == "元" else _number_of(text[2:])),)
    year = _number_of(text)
    if len(text) == len("74") and text.isdecimal():
        return (1900 + year,) if year >= _OLDEST_OF_SHORT_YEARS else (1900 + year, 2000 + year)
    return (year,) if len(text) == len("1974") else ()


_ROMAN = ("", "i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x", "xi", "xii")


def _number_of(text: str) -> int:
    """Return the number of a month's name, or of Arabic, Roman or Chinese digits."""
    if text[0].isdecimal():
        return int("".join(filter(str.isdecimal, text)))
    if text in MONTHS or text in _ROMAN:
        return MONTHS.get(text) or _ROMAN.index(text)
    tens, ten, units = text.partition("十")
    if ten:
        return 10 * (_DIGITS.get(tens, 0) if tens else 1) + _DIGITS.get(units, 0)
    return int("".join(str(_DIGITS[digit]) for digit in text[:4]))
