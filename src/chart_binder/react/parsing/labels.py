"""Finds labels, words at the beginning of a line that say what follows (`Final Answer:`), and tags.

A label is recognized by its words in any case and decoration (`**Action 1:**`, `### Action`,
`[Action]`, `1. Action -`), in the languages that models use.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cache, lru_cache
from importlib.resources import files
from itertools import islice
from typing import Any, Final, Literal, TypeAlias

import tomli

Kind: TypeAlias = Literal[
    "thought", "action", "input", "answer", "observation", "speaker", "pause",
    "call", "calls", "object", "named"
]  # fmt: skip
"""What a label or a tag announces; `call` and `calls` are tags, the last two are bare calls."""

MAX_DIRECTIVES: Final = 256
"""The largest number of labels, and of tags, that are read in one reply."""
WORDS: Final = tomli.loads((files(__package__) / "words.toml").read_text("utf-8"))


@cache
def pattern(name: str) -> re.Pattern[str]:
    """Return a pattern of `words.toml`, with the parts that it names by `@part@` filled in."""
    words = re.sub("@(.+?)@", lambda part: WORDS["parts"][part[1]], WORDS["patterns"][name])
    return re.compile(words.replace("\n", ""), re.IGNORECASE)


def meanings(table: str) -> dict[str, Any]:
    """Return the meaning of each word in a table of `words.toml`."""
    return {word: meaning for meaning, words in WORDS[table].items() for word in words.split()}


_RESULTS: Final = frozenset(
    {"result", "results", "output", "outputs", "response", "responses", "returned", "returns"}
)
_TOOLS: Final = frozenset({"tool", "function", "action", "search", "web", "api", "call", "query"})
"""A word of `_RESULTS` after one of these or after an underscore is an observation."""
_NAMED: Final = [[name] for name in _TOOLS]
_STOP_WORDS: Final = frozenset(WORDS["stop_words"].split())
_PREPOSITIONS: Final = ("based", "from", "given", "considering", "according")
_SUMMARIES: Final = frozenset({"summary", "analysis", "recap"})
_ASKING: Final = ("action", "input", "answer", "observation")
"""The kinds that need no colon before an object or alone on a line.

Also the last words of labels before a dash; other words before a dash may be prose.
"""
_MAX_LINES: Final = 2048
_MOST_WORDS: Final = 7
_MAX_NEARBY: Final = 400
_LIKENESS: Final = 0.85
_LETTERS: Final = str.maketrans("0135аеорсхіѕᎾꮎο", "oiesaeopcxisooo")
"""Letters and digits that resemble others."""
# Every label has a sign after or around its words, or ends its line.
_SIGN: Final = re.compile(
    r"[:：∶=#*\[【✿`]|&gt;|-[ >-]|[—–{]|(?<=\n)(?:PAUSE|[ ]{0,8}[^\W\d_][\w ]{1,24}\n)"
    r"|(?<=\n)\W{0,8}Observation "
)
# The beginning of a line: bullets, numbers, headings, emoji; then signs of emphasis or brackets.
_LABEL: Final = re.compile(
    r"\n(?P<lead>[ \t]*+(?>(?:(?:[-*+•]|\(?[\da-z]\d?[.)]|\#{1,6}|\*{1,3}\d{1,2}[.)]"
    r"|[Ss]tep[ ]\d{1,2}[:.)]"
    r"|[^\w\s\"'“‘`*<>\[({«»„「‹›&~_|#✿【\\/-]{1,3})[ \t]++){0,8})(?>(?:&lt;/?)?))"
    r"(?P<open>[*_`\[【✿]*+)[ \t]?"
    r"(?P<words>[^\W_]++(?>(?:(?:[ \t_'’\\#-]{1,2}|(?<=\d)|(?=\d))[^\W_]++){0,6}))"
    r"(?P<aside>(?>(?:[ ]?\([^()\n]{0,40}+\)|[ ]?\[[^\[\]\n]{0,20}+\]|[ ]?\#?\d{1,3}[.)]?"
    r"|[ ]from[ ][\w ]{1,40}+)?))"
    r"(?P<close>[*_`\])】✿]*+)[ \t]*+"
    r"(?:(?P<colon>[:：∶ː꞉։;>]|&gt;|-{1,2}>?(?= )|[–—]|={1,2}>?)[*_`\])】]*+"
    r"|(?P<end>(?=\n|\Z))|(?P<object>(?=[{`]))|)"
    r"[ \t]*+"
)


@dataclass(slots=True)
class Directive:
    """A label, a tag or a bare call in a reply: where it begins, and where its content does.

    `end` is where the content ends at the latest (closing tag, fence, or end of the text), and
    `tag_end` is the place after a closing tag. A tag that ends there is `closed`. A directive that
    `is_shown` is quoted.
    """

    kind: Kind
    start: int
    content_start: int
    end: int
    tag_end: int
    name: str = ""
    attributes: str = ""
    is_tag: bool = False
    closed: bool = False
    emphasis: str = ""
    is_fenced: bool = False
    is_shown: bool = False


def find_labels(text: str) -> list[Directive]:
    """Return at most `MAX_DIRECTIVES` labels that begin a line, in order."""
    return list(islice(_labels(text), MAX_DIRECTIVES))


def _labels(text: str) -> Iterator[Directive]:
    lines, end, at = f"\n{text}\n", len(text), 0
    for _ in range(_MAX_LINES):
        if (sign := _SIGN.search(lines, at)) is None:
            return
        label = _LABEL.match(lines, lines.rfind("\n", 0, sign.start() + 1))
        if label and (kind := _kind(label)):
            value = min(label.end() - 1, end)
            yield Directive(kind, label.start(), value, end, end, emphasis=label["open"])
        at = lines.find("\n", sign.start() + 1)


def label_at(line: str) -> Directive | None:
    """Return the label at the beginning of a line, or None."""
    label = _LABEL.match(f"\n{line}")
    kind = _kind(label) if label else None
    return Directive(kind, 0, label.end() - 1, len(line), len(line)) if label and kind else None


def _kind(label: re.Match[str]) -> Kind | None:
    words = label["words"]
    colon = label["colon"]
    if colon is None and re.match(r"(?i:observation) [A-ZÀ-Þ]", words):
        return "observation"
    kind = kind_of(words)
    if kind is None:
        return None
    if colon is None:
        return kind if _stands_alone(label, kind) else None
    is_dashed = colon not in ":：∶ː꞉։;" and not is_like(fold(words))
    is_prose = (is_dashed and words.split()[-1].casefold() not in _ASKING) or (
        colon in (">", "&gt;") and kind != "observation"
    )
    return None if is_prose or (kind == "pause" and not words.isupper()) else kind


def _stands_alone(label: re.Match[str], kind: Kind) -> bool:
    """Return whether a label needs no colon: a heading, alone on its line, or before an object."""
    words = label["words"]
    is_set_off = "#" in label["lead"] or bool(label["open"] and label["close"])
    is_alone = label["end"] is not None and not words[0].islower() and _is_exact(words)
    is_before_object = label["object"] is not None or is_alone
    is_pause = kind == "pause" and words.isupper()
    return is_pause or is_set_off or (is_before_object and kind in _ASKING)


def _is_exact(words: str) -> bool:
    return fold(words.replace(" ", "")).rstrip("是为為은는は") in _kinds() or "_" in words


@lru_cache(4096)
def kind_of(words: str) -> Kind | None:
    """Return what the words of a label announce, or None if they are not a label."""
    bare = fold(re.sub(r"\b\d+\b|_", " ", words)).replace("'", "").replace("’", "").replace("-", "")
    parts = re.findall(r"[^\W\d_]+", bare)
    if not parts or parts[0] in _PREPOSITIONS:
        return None  # `Based on the observations:` is prose
    if len(parts) > _MOST_WORDS:
        return "observation" if is_like("".join(parts)) else None
    for start in range(len(parts)):
        if start and parts[start - 1] not in _STOP_WORDS:
            break
        for end in range(len(parts), start, -1):
            if end < len(parts) and parts[end] not in _STOP_WORDS:
                break
            word = "".join(parts[start:end])
            if kind := _kinds().get(word) or _kinds().get(word.rstrip("是为為은는は")):
                return kind
    is_named = "_" in words or parts[-2:-1] in _NAMED
    is_result = is_named and parts[-1] in _RESULTS and parts[0] not in _STOP_WORDS
    is_misspelt = any(map(is_like, (parts[0], parts[-1], "".join(parts))))
    is_prose = parts[0] in ("a", "an") or _SUMMARIES.intersection((parts[0], parts[-1]))
    return "observation" if is_result or (is_misspelt and not is_prose) else None


def fold(text: str) -> str:
    """Return a text without case and accents, and with similar letters unified."""
    if text.isascii():
        return text.lower().translate(_LETTERS) if not text.isalpha() else text.lower()
    apart = unicodedata.normalize("NFKD", text.casefold())
    bare = "".join(letter for letter in apart if not unicodedata.combining(letter))
    return unicodedata.normalize("NFKC", bare.translate(_LETTERS))


@lru_cache(4096)
def is_like(word: str) -> bool:
    """Return whether a folded word is `observation`, perhaps misspelt."""
    if not 8 <= len(word) <= 14:  # noqa: PLR2004 (eleven letters, plus or minus three)
        return False
    return SequenceMatcher(None, word, "observation").ratio() >= _LIKENESS


@cache
def _kinds() -> dict[str, Kind]:
    return {fold(word): kind for word, kind in meanings("labels").items()}


# Tags.

_TAGS: Final[dict[str, Kind]] = meanings("tags")
_INNER: Final = frozenset({"arg_key", "arg_value", "tool_name"})
_OBSERVING_TAG: Final = re.compile(
    r"(?!final)\w*(?:results?|outputs?|response(?:from\w*)?)|obs\w*|information|context|documents?"
    r"|ipython"
)
_TAG: Final = re.compile(
    r"<(?=[ /A-Za-z])[ ]{0,2}+(?P<slash>/?)[ ]{0,2}+(?P<name>[A-Za-z][\w-]{1,31}+)"
    r"(?P<attributes>(?>(?:(?=[ =:\n][^<>]{0,2000}+>)"
    r"(?>[^<>\n]++|\n(?=\s{0,80}+(?:[\w-]{1,64}+\s{0,4}+=|/?>)))*)?))"  # a line for each
    r"(?>(?P<closed>(?<=/))?)>"
)
_MAX_TRIES: Final = 4


def find_tags(text: str) -> list[Directive]:
    """Return the tags that announce something, in order, each with the end of its content.

    The content of a tag that is never closed ends with the text.
    """
    if "<" not in text:
        return []
    tags = list(islice(_TAG.finditer(text), 8 * MAX_DIRECTIVES))
    closed = {mark["name"] for mark in tags if mark["slash"]}
    kinds = ((mark, _kind_of(mark, closed)) for mark in tags)
    marks = list(islice(((mark, kind) for mark, kind in kinds if kind), MAX_DIRECTIVES))
    places = (place for place, (mark, _) in enumerate(marks) if not mark["slash"])
    return [_directive(text, marks, place) for place in places]


def _kind_of(mark: re.Match[str], closed: set[str]) -> Kind | None:
    """Return what a tag announces; a tag with an underscore in its name is the call of a tool."""
    name = mark["name"].casefold()
    folded = name.replace("_", "").replace("-", "")
    if kind := _TAGS.get(folded):
        return kind
    if _OBSERVING_TAG.fullmatch(folded):
        return "observation"
    is_given = bool(mark["attributes"].strip(" /")) or mark["name"] in closed
    return "call" if "_" in name and name not in _INNER and is_given else None


def _directive(text: str, marks: list[tuple[re.Match[str], Kind]], place: int) -> Directive:
    mark, kind = marks[place]
    closed = mark["attributes"].endswith("/")
    end = tag_end = mark.end() if closed else len(text)
    tries = 0
    for later, later_kind in [] if closed else marks[place + 1 :]:
        if later_kind != kind or (not later["slash"] and kind != "call"):
            continue
        if later["slash"] and later["name"] != mark["name"] and "_" in later["name"] + mark["name"]:
            continue
        tries += 1
        is_inside = tries < _MAX_TRIES and _in_string(text, mark.end(), later.start())
        if is_inside or not (later["slash"] or text[mark.end() : later.start()].strip()):
            continue
        # the next call ends a call that is never closed
        closed = bool(later["slash"])
        end, tag_end = later.start(), later.end() if closed else later.start()
        break
    attributes = mark["attributes"].strip().rstrip("/").strip()
    places = (mark.start(), mark.end(), end, tag_end)
    return Directive(kind, *places, mark["name"].casefold(), attributes, is_tag=True, closed=closed)


def _in_string(text: str, start: int, at: int) -> bool:
    """Return whether a place is inside a JSON string of an object that begins at `start`."""
    if not text[start : start + 80].lstrip().startswith("{"):
        return False
    inside = text[max(start, at - 4000) : at]
    is_odd = len(re.findall(r'(?<!\\)"', inside)) % 2 == 1
    return is_odd and '"' in text[at : at + 400].partition("\n")[0]


def is_mentioned(text: str, tag: Directive) -> bool:
    """Return whether a tag stands among words, so that it is mentioned and not used."""
    line = text[text.rfind("\n", 0, tag.start) + 1 : tag.start]
    text_before = re.sub(r"<[^<>]*>", "", line[-400:]).rstrip()
    return (
        re.search(r"\w", text_before) is not None and text_before[-1] not in ".!?:;>)]}*。！？：*`"
    )


def is_known_tag(name: str) -> bool:
    """Return whether a tag has a name of the protocol and not that of a tool."""
    return name.replace("_", "").replace("-", "") in _TAGS
