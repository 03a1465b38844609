"""Words beside a date that say of what it is: of a chart, a recording, a reissue, or of a release.

The table is small on purpose: it spares a second reading where the clause of a date says plainly
that it is of something else. What it does not have, the second reading decides.
"""

import re
from collections.abc import Iterable
from itertools import chain

from chart_binder.domain.dates_in_text import Mention
from chart_binder.domain.vocabulary import word_table

_TABLE = word_table("date_words")


def _pattern(kind: str) -> re.Pattern[str]:
    """Compile the words of one kind, which the table has by language."""
    whole = "|".join(word for each in _TABLE[kind].values() for word in each)
    parts = "|".join(_TABLE["unspaced"][kind])
    return re.compile(rf"(?<![\w-])(?:{whole})(?!\w)|{parts}", re.IGNORECASE)


_OF_ELSE, _OF_RELEASE, _OF_OTHER = (_pattern(kind) for kind in ("else", "release", "other"))

_LONGEST = 400
"""How many characters of a clause are looked at on either side of its date."""
_CUT = re.compile(
    r"[\n;；。！？!?.]"
    r"|,(?=\s(?:and|but|while|whereas|before|after|although|though|then|und|aber|während|bevor"
    r"|et|mais|puis|alors|y|pero|mientras|e|ma|mentre|poi|mas|enquanto|depois|en|maar|terwijl)\s)"
    r"|、(?=その後|のちに|しかし)"
)
_NO_END = re.compile(
    r"(?i)(?:^|[^\w])(?:\w|[0-9]{2}|mr|mrs|dr|st|jr|vs|ft|feat|no|nr|vol|inc|ltd|co|rec)$"
)
"""What stands before a full stop that ends no sentence: `11. Oktober`, `U.S.`, `No. 1`."""
_NEXT = re.compile(r"[\"'”’)\]]*\s+[\"'“‘(\[]*(\w)")
_QUOTED = re.compile(
    '“[^“”\n]{1,80}”|"[^"\n]{1,80}"|«[^«»\n]{1,80}»|„[^„“”\n]{1,80}[“”]|「[^「」]{1,80}」'
    "|『[^『』]{1,80}』|(?<!\\w)‘[^‘’\n]{1,80}’(?!\\w)"
)
_NAMED_BEFORE = re.compile(rf"({_QUOTED.pattern}),?(?: [\w’']+){{1,4}} $")
_BESIDES = re.compile(
    r"\b(?:with|plus|and|featuring|including|to|of|from|after|before|on|mit|und|zu|von|aus|nach|avec"
    r"|et|de|du|à|après|con|y|a|tras|com|e|di|da|do|met|en|van|op|na)\s(?:\w+\s){0,2}$",
    re.IGNORECASE,
)
"""What makes of a title or a version behind it another one than that which came out."""
_YEAR = re.compile("(?<![0-9])(?:1[89]|20)[0-9]{2}(?![0-9])")


def clause_around(text: str, start: int, end: int) -> str:
    """Return the clause around a span, such as that of a date; of a table it is the whole row.

    A clause ends with its sentence, at a semicolon, at the end of the line, and at a comma before
    words such as "and", "but", "while".
    """
    return text[slice(*_clause(text, start, end))].strip()


def doubt_in_clause(text: str, mention: Mention, titles: Iterable[str] = ()) -> str | None:
    """Return the word in its clause that says that a date is of no release, or of a reissue.

    None where there is none, or where a word of release stands in the clause, too; `reissued` has
    none in it. A word does not count if another year stands between it and the date, nor if it is
    quoted or a part of one of the titles: "Radio Ga Ga".
    """
    start, end = _clause(text, mention.start, mention.end)
    clause = _without_titles(text[start:end], titles)
    place = mention.start - start, mention.end - start
    doubts = [word[0] for word in _OF_ELSE.finditer(clause) if _is_beside(word, place)]
    rest = _OF_ELSE.sub(_blank, clause)
    if any(_is_beside(word, place) for word in _OF_RELEASE.finditer(rest)):
        return None
    return doubts[0] if doubts else None


def other_issue(
    text: str, mention: Mention, titles: Iterable[str], countries: Iterable[str]
) -> str | None:
    """Return what the clause of a date says came out in place of the record, or None.

    That is another version or edition, what is not certain, an issue `in` one of `countries`, or a
    quoted title, right before the date, that is none of `titles`. A country does not count if
    another year stands between it and the date: it is then of that year's issue.
    """
    start, end = _clause(text, mention.start, mention.end)
    plain = _without_titles(text[start:end], titles)
    names = "|".join(map(re.escape, countries))
    abroad = re.compile(rf"\b(?:in|en|au|aux) (?:the )?(?:{names})\b", re.IGNORECASE)
    place = mention.start - start, mention.end - start
    places = (word for word in abroad.finditer(plain) if names and _is_beside(word, place))
    for said in chain(_OF_OTHER.finditer(plain), places):
        if not _BESIDES.search(plain, 0, said.start()):
            return str(said[0])
    named = _NAMED_BEFORE.search(text, start, mention.start)
    known = text[start:end].casefold()
    if not named or any(one.casefold() in known for one in titles if one):
        return None
    return None if _BESIDES.search(text, start, named.start()) else named[1]


def _without_titles(clause: str, titles: Iterable[str]) -> str:
    clause = _QUOTED.sub(_blank, clause)
    for title in filter(str.strip, titles):
        clause = re.sub(rf"(?<!\w){re.escape(title)}(?!\w)", _blank, clause, flags=re.IGNORECASE)
    return clause


def _clause(text: str, start: int, end: int) -> tuple[int, int]:
    first, last = max(0, start - _LONGEST), min(len(text), end + _LONGEST)
    before = (cut.end() for cut in _CUT.finditer(text, first, start) if _ends(cut))
    after = (cut.start() for cut in _CUT.finditer(text, end, last) if _ends(cut))
    return max(before, default=first), next(after, last)


def _ends(cut: re.Match[str]) -> bool:
    """Whether a clause ends at what may end it; a full stop has to be that of a sentence."""
    if cut[0] != ".":
        return True
    behind = _NEXT.match(cut.string, cut.end())
    is_short = _NO_END.search(cut.string, max(0, cut.start() - 6), cut.start())
    return bool(behind and not behind[1].islower() and not is_short)


def _blank(match: re.Match[str]) -> str:
    return " " * len(match[0])


def _is_beside(word: re.Match[str], date: tuple[int, int]) -> bool:
    """Whether no year stands between a word and a date."""
    between = (word.end(), date[0]) if word.end() <= date[0] else (date[1], word.start())
    return not _YEAR.search(word.string, *between)


def doubt_in_heading(heading: str) -> str | None:
    """Return a word of a heading that says that the dates below it are of no release, or None."""
    doubt = _OF_ELSE.search(heading)
    return doubt[0] if doubt and not says_release(heading) else None


def says_release(text: str) -> bool:
    """Return whether a text has a word of release."""
    return bool(_OF_RELEASE.search(_OF_ELSE.sub(" ", text)))
