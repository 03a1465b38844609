"""The passages of a page that say most about when, where and on what a recording came out.

`page_reading` shows a page to a model and `excerpt` chooses blocks of any text. Below them is the
ranking of passages by their words and dates.
"""

import math
import re
from collections import Counter
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain, islice, pairwise
from typing import TYPE_CHECKING, NamedTuple

from chart_binder.domain.dates_in_text import MONTHS, month_pattern
from chart_binder.domain.vocabulary import fold
from chart_binder.react.sanitize import one_line
from chart_binder.react.steps import Document, Observation
from chart_binder.web.clauses import says_release
from chart_binder.web.markup import Links

if TYPE_CHECKING:
    from chart_binder.web.fetch import WebPage

GAP = "…"
GAPS = (GAP, "...")
"""The mark of a gap in an excerpt, as code writes it and as a model sees it."""
_QUOTE_MARK = "> "
_ROOM_FOR_REMARK = 70
_LONGEST_FIND = 30
_LONGEST_PIECE = 260
_SHORTEST_PIECE = 30
_LONGEST_HEAD = 160
_FARTHEST_HEADING = 40
_FEWEST_COLUMNS = 3
_PART_END = re.compile(r"(?<=[.!?;] )|(?<=。)|(?= \| )")
_WORD_END = re.compile(r"(?<= )")
CELLS = " | "
"""The separator between the cells of a row."""
_YEAR_OR_ASIDE = re.compile(r"\([^()]*\)|\b(?:1[89]|20)\d\d\b")
_LONGEST_CAPTION = 100
_DIGIT = re.compile(r"\d")


def names_columns(row: str) -> bool:
    """Return whether a table's first row may name its columns: its only digits are years."""
    cells = [_YEAR_OR_ASIDE.sub("", cell).strip() for cell in row.split(CELLS)]
    return len(row) <= _LONGEST_HEAD and all(cells) and not _DIGIT.search("".join(cells))


def may_be_caption(line: str) -> bool:
    """Return whether a line may caption the rows below it: it is short and not a sentence."""
    is_text = CELLS not in line and not line.startswith(("#", "- ", *GAPS))
    return is_text and 0 < len(line) <= _LONGEST_CAPTION and line[-1] not in ".!?。"


def page_reading(
    page: "WebPage", max_chars: int, about: str = "", find: str = "", links: Links = ()
) -> Observation:
    """Return a page as quoted text below its title and address, with a remark on omissions.

    Of a long page, show passages with words to `find` first, then passages on what the run is
    `about`. The text has at most `max_chars` characters.
    """
    # max_chars may be as low as 200: the passages matter more than title and address.
    head = [f"Title: {page.title[: max_chars // 5]}"]
    if len(page.url) <= max_chars // 4:
        head.append(f"Address: {page.url}")
    remarks = 1 + page.cut + bool(find)
    room = max_chars - sum(len(line) + 1 for line in head) - remarks * _ROOM_FOR_REMARK
    chosen = excerpt(page.extract.blocks, room, about or page.title, find, len(_QUOTE_MARK) + 1)
    lines = [*head, *(f"{_QUOTE_MARK}{line}" for line in chosen.lines)]
    if find:
        lines += _remarks_on_find(page, find)
    part = f"{chosen.shown_chars:,} of {chosen.total:,} characters"
    if not chosen.total:
        lines.append("(the page holds no readable text)")
    elif chosen.shown_chars < chosen.total:
        lines.append(f"(passages about dates and releases: {part})")
    if page.cut:
        lines.append("(the page goes on: its end was not read)")
    content = "\n".join(lines)[:max_chars]
    return Observation(content, page.sources, documents=(document_of(page, chosen, links=links),))


def document_of(
    page: "WebPage", chosen: "Excerpt", number: int | None = None, links: Links = ()
) -> Document:
    """Return the shown part of a page as a document; `number` is its place among results."""
    address, *aliases = page.sources
    text = "\n".join(chosen.lines)
    return Document(
        address, page.title, (), text, is_fetched=True,
        aliases=tuple(aliases), number=number, links=links,
    )  # fmt: skip


def _remarks_on_find(page: "WebPage", find: str) -> list[str]:
    words = _words(find)
    texts = map(fold, (page.title, *page.extract.blocks))
    most_words = max(len(_matching_words(words, text, set(_WORD.findall(text)))) for text in texts)
    quoted = repr(one_line(find, _LONGEST_FIND))
    if not most_words and words:
        return [f"(nothing on the page says {quoted})"]
    return [f"(no passage has all the words of {quoted})"] if most_words < len(words) else []


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Blocks in the page's order, with gaps marked: `shown_chars` of `total` characters."""

    lines: tuple[str, ...]
    shown_chars: int
    total: int


def excerpt(
    blocks: Sequence[str], max_chars: int, about: str = "", find: str = "", per_line: int = 1
) -> Excerpt:
    """Choose blocks of at most `max_chars` characters, counting `per_line` more for each line.

    If not all fit, passages with words to `find` come first, then those with dates, words about
    releases and words of what the question is `about`, each below its heading or column names.
    """
    longest = min(_LONGEST_PIECE, max(_SHORTEST_PIECE, max_chars // 5))
    pieces = [piece for block in blocks for piece in _pieces(block, longest)]
    total = sum(len(piece) + per_line for piece in pieces)
    if total <= max_chars or not pieces:
        return Excerpt(tuple(pieces), total, total)
    ranks = _ranks(pieces, _words(about), _words(find))
    chosen = sorted(_choose(pieces, ranks, max_chars, per_line))
    lines: list[str] = []
    for before, at in pairwise([-1, *chosen, len(pieces)]):
        lines += [GAP] * (at != before + 1) + [*pieces[at : at + 1]]
    return Excerpt(tuple(lines), sum(len(pieces[at]) + per_line for at in chosen), total)


def _choose(
    pieces: Sequence[str], ranks: Sequence[float], max_chars: int, per_line: int
) -> set[int]:
    heads = _lines_above(pieces)
    chosen: set[int] = set()
    gap = len(GAP) + per_line  # at most one before each piece and one after the last
    room = max_chars - gap
    for at in sorted(range(len(pieces)), key=lambda at: (-ranks[at], at)):
        new = {at, *heads[at]} - chosen
        cost = sum(len(pieces[index]) + per_line + gap for index in new)
        if cost <= room:
            chosen |= new
            room -= cost
    return chosen


def _pieces(block: str, longest: int) -> Iterator[str]:
    piece = ""
    for part in _parts(block, longest) if len(block) > longest else [block]:
        if piece and len(piece) + len(part) > longest:
            yield piece.strip(" |")
            piece = ""
        piece += part
    yield piece.strip(" |")


def _parts(text: str, longest: int) -> Iterator[str]:
    for part in _PART_END.split(text):
        if len(part) <= longest:
            yield part
            continue
        for word in _WORD_END.split(part):
            yield from (word[at : at + longest] for at in range(0, len(word), longest))


def _lines_above(pieces: Sequence[str]) -> list[set[int]]:
    """Return the pieces to read above each piece: the names of its columns, else its heading.

    A row also has its caption, which may be a row of one cell in the middle of a table.
    """
    heads: list[set[int]] = []
    heading = columns = caption = None
    is_row = [piece.count(CELLS) >= _FEWEST_COLUMNS - 1 for piece in pieces]
    for at, piece in enumerate(pieces):
        if piece.startswith("#"):
            heading = at
        if not is_row[at]:
            is_inside = at > 0 and is_row[at - 1] and at + 1 < len(pieces) and is_row[at + 1]
            caption = at if may_be_caption(piece) else None
            columns = columns if is_inside and caption == at else None
        elif columns is None and (at == 0 or not is_row[at - 1]):
            columns = at if names_columns(piece) else None
        head = heading if columns is None else columns
        is_near = head is not None and (head == columns or at - head <= _FARTHEST_HEADING)
        above = {head} if head is not None and is_near else set()
        above |= {caption} if caption is not None and is_row[at] else set()
        heads.append(above - {at})
    return heads


_WORD = re.compile(r"\w+")
# Scripts without spaces between words, in which a word may be found anywhere.
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u2e80-\u9fff\uf900-\ufaff]")
_COMMON_WORDS = frozenset(
    _WORD.findall(
        "a an and at by de del der des di die du el en et for from i il in la le les of on or the"
        " to und"
    )
)
# The look-behind comes after the first digits because that is three times as fast.
_YEAR = re.compile(r"(?:1[89]|20)(?<!\d\d\d)\d\d(?!\d)")
# Words, folded, of passages about releases.
_RELEASE_WORDS = frozenset(
    _WORD.findall(
        "release released releases issued date dates year single singles album albums ep lp cd"
        " vinyl cassette label labels catalog catalogue format country recorded recording"
        " soundtrack compilation original first premiere debut charted entered out"
        " veroffentlichung veroffentlicht erschien erschienen sortie sorti parution paru"
        " lanzamiento lanzado publicado publicacion uscita pubblicato pubblicazione lancamento"
        " lancado uitgebracht utgiven slappt julkaistu wydany wydanie"
        " вышел выпущен релиз альбом сингл"
    )
)
_UNSPACED_RELEASE_WORDS = tuple(
    _WORD.findall("リリース 発売 収録 シングル アルバム 发行 發行 专辑 발매")
)
_ABOUT_THE_WEB = re.compile(
    r"retrieved|archived from|accessed|abgerufen|consulte le|consultado|閲覧|アーカイブ|joined:"
    r"|^- [\^↑]"
)
_MOST_RELEASE_WORDS = 2.5
_FIND_WEIGHT = 30.0
_NEIGHBOUR_SHARE = 0.5
_EARLIEST_YEAR_RANK = 4.0
_OPENING, _OPENING_RANK = 3, 3.0
_BOX_ROW = re.compile(r"(?:- )?([^|:.]{1,40}?)(?: \| |: )(?!.* \| )")
"""A row of a label and a value; the group is the label."""
_MOST_BOX_ROWS, _BOX_RANK = 3, 40.0
_BOX_HEAD, _LONGEST_BOX_LINE = 4, 60
"""The most lines above such a row that belong to its box, and the most characters of each."""


def _ranks(pieces: Sequence[str], about: Sequence[str], find: Sequence[str]) -> list[float]:
    """Return a rank for each passage: how much it says about a question, for its length."""
    all_signs = [_read_signs(piece, about, find) for piece in pieces]
    is_row = [signs.is_row for signs in all_signs]
    topic = _with_neighbours(_rarity_sums([signs.about for signs in all_signs]), is_row)
    sought = _with_neighbours(_rarity_sums([signs.find for signs in all_signs]), is_row)
    dates = _with_neighbours([signs.dates for signs in all_signs], is_row)
    release = _rarity_sums([signs.release_words for signs in all_signs])
    # The question is when something first came out: early years count more.
    years = sorted({signs.year for signs in all_signs if signs.year})
    year_ranks = {year: _EARLIEST_YEAR_RANK * 0.8**place for place, year in enumerate(years)}
    first = next((at for at, piece in enumerate(pieces) if piece.startswith("# ")), 0)
    box = _box_ranks(pieces, all_signs)
    ranks = []
    for at, (piece, signs) in enumerate(zip(pieces, all_signs, strict=True)):
        rank = 2.0 * topic[at] + dates[at] + 2.0 * min(topic[at], dates[at])
        rank += min(release[at], _MOST_RELEASE_WORDS) + year_ranks.get(signs.year, 0.0)
        rank *= 0.3 if signs.is_about_the_web else 1
        if first <= at < first + _OPENING:
            rank += _OPENING_RANK  # the opening says what the page is about
        rank /= 4 if piece.startswith("#") else 1  # a heading comes with the passages below it
        rank += box.get(at, 0.0)
        ranks.append((rank + _FIND_WEIGHT * sought[at] ** 2) / math.sqrt(len(piece) + 40))
    return ranks


def _box_ranks(pieces: Sequence[str], all_signs: Sequence["_Signs"]) -> dict[int, float]:
    """Return the extra ranks of boxes' first dated rows of release and of the lines above them."""
    ranks: dict[int, float] = {}
    rows = (
        at
        for at, piece in enumerate(pieces)
        if all_signs[at].dates and (label := _BOX_ROW.match(piece)) and says_release(label[1])
    )
    for row in islice(rows, _MOST_BOX_ROWS):
        ranks[row] = _BOX_RANK
        for above in range(row - 1, max(-1, row - 1 - _BOX_HEAD), -1):
            if pieces[above].startswith("#") or len(pieces[above]) > _LONGEST_BOX_LINE:
                break
            ranks.setdefault(above, _BOX_RANK / 2)
    return ranks


class _Signs(NamedTuple):
    """The contents of a passage by which it is ranked.

    `about` and `find` are the wanted words that it has. `year` is the earliest year of a row or of
    a passage with a date to the month, else 0.
    """

    about: Sequence[str]
    find: Sequence[str]
    release_words: Sequence[str]
    dates: float
    year: int
    is_row: bool
    is_about_the_web: bool


def _read_signs(piece: str, about: Sequence[str], find: Sequence[str]) -> _Signs:
    folded = fold(piece)
    words = set(_WORD.findall(folded))
    years = list(map(int, _YEAR.findall(folded)))
    dates = _NUMERIC_DATE if words.isdisjoint(MONTHS) else _date_to_the_month()
    to_the_month = len(dates.findall(folded)) if years else 0
    is_row = CELLS in piece
    release_words = sorted(words & _RELEASE_WORDS)
    release_words += [word for word in _UNSPACED_RELEASE_WORDS if word in folded]
    return _Signs(
        _matching_words(about, folded, words),
        _matching_words(find, folded, words),
        release_words,
        2.5 * min(to_the_month, 2) + min(max(0, len(years) - to_the_month), 2),
        min(years, default=0) if is_row or to_the_month else 0,
        is_row,
        _ABOUT_THE_WEB.search(folded) is not None,
    )


_NUMERIC_DATE = re.compile(
    r"(?:1[89]|20)(?<!\d\d\d)\d\d(?:[-/.]\d{1,2}(?!\d)|年\s?\d{1,2}月|년\s?\d{1,2}월)"
    r"|\d{1,2}(?<!\d\d\d)[./-]\d{1,2}[./-](?:1[89]|20)\d\d(?!\d)"
)


@cache
def _date_to_the_month() -> re.Pattern[str]:
    """Return the pattern of a date in folded text; not made on import because it takes 10 ms."""
    return re.compile(
        rf"{_NUMERIC_DATE.pattern}|(?<!\w)(?:{month_pattern()})\.?,?\s(?:de\s|del\s)?"
        r"(?:\d{1,2}[a-z]{0,2},?\s)?(?:1[89]|20)\d\d(?!\d)"
    )


def _words(text: str) -> tuple[str, ...]:
    words = tuple(dict.fromkeys(_WORD.findall(fold(text))))
    return tuple(word for word in words if word not in _COMMON_WORDS) or words


def _matching_words(terms: Sequence[str], folded: str, words: Container[str]) -> Sequence[str]:
    return [w for w in terms if w in words or (w in folded and _UNSPACED.search(w))]


def _rarity_sums(words_of_pieces: Sequence[Sequence[str]]) -> list[float]:
    """Return for each piece the sum of its words' weights; a word in few pieces weighs more."""
    counts = Counter(chain.from_iterable(words_of_pieces))
    highest = math.log(len(words_of_pieces) + 1)
    rarity = {word: max(0.1, 1 - math.log(n + 1) / highest) for word, n in counts.items()}
    return [sum(rarity[word] for word in words) for words in words_of_pieces]


def _with_neighbours(values: Sequence[float], is_row: Sequence[bool]) -> list[float]:
    """Return values raised to half of a neighbour's value; values of rows stay as they are."""
    shared = list(values)
    for _ in range(2):
        before = list(shared)
        for at, (value, next_value) in enumerate(pairwise(before)):
            if not is_row[at] and not is_row[at + 1]:
                shared[at] = max(shared[at], _NEIGHBOUR_SHARE * next_value)
                shared[at + 1] = max(shared[at + 1], _NEIGHBOUR_SHARE * value)
    return shared
