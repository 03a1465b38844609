"""A final answer is read from the text that a model wrote for it."""

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from chart_binder.domain.vocabulary import MBID
from chart_binder.llm.labels import Labels
from chart_binder.react.loop import LastWord, RefusedError
from chart_binder.react.parsing.lenient_json import LenientJSONError
from chart_binder.react.parsing.steps import read_answer_object

CONFIDENCE_WORDS = {"high": 0.9, "medium": 0.7, "low": 0.4}
"""What confidence in words counts as: accepted, for review, rejected by the default thresholds."""

_NO_ID = frozenset({"", "null", "none", "unknown", "n/a", "na", "nil", "undefined", "-"})
# C1, **C1**, C1., C1 (its title)
_LABEL = re.compile(
    r"[*_]{0,3}(c\d{1,4}(?:\.r\d{1,4})?)[*_]{0,3}\.?(?:\s*\((?!.{0,200}\bc\d)[^()]{1,200}\)?)?",
    re.IGNORECASE,
)
_ADDRESS = re.compile(
    r"(?:(?:https?:)?//(?:[\w-]{1,40}\.)?musicbrainz\.org|(?:[\w-]{1,40}\.)?musicbrainz\.org)?"
    r"/?(?:ws/2/)?(?P<kind>[a-z-]{1,20})/[0-9a-f-]{36}(?:[/?#]\S*)?",
    re.IGNORECASE,
)
_KINDS = {"crg_mbid": "release-group", "rr_mbid": "release"}
"""What the address of each id is an address of."""
_NUMBER = re.compile(r"([+-]?\d*[.,]?\d+(?:e[+-]?\d+)?)\s*(%|percent)?", re.IGNORECASE)
_MOST_IN_PERCENT = 100
_MOST_SHOWN = 200
_SOURCE_KEYS = ("source", "sources", "url")
_URL = re.compile(r"https?://[^\s<>\[\]\"`|]+", re.IGNORECASE)
_BEHIND = ".,;:'}"
_NO_SCHEME = re.compile(r"(?:[a-z0-9-]+\.)+[a-z]{2,}(?::\d+)?/\S*", re.IGNORECASE)
FORM = '{"crg_mbid": "C1", "rr_mbid": "C1.R1", "confidence": 0.9, "rationale": "one line"}'
"""The form of an answer, as advice shows it."""


@dataclass(frozen=True, slots=True)
class CitedFact:
    """A fact as the model cites it, not yet looked into."""

    about: str
    field: str
    value: str
    source: str


@dataclass(frozen=True, slots=True)
class FinalAnswer:
    """An answer in normal form: ids are UUIDs, labels (`C1.R2`) or absent; confidence is 0..1."""

    crg: str | None
    rr: str | None
    confidence: float
    rationale: str = ""
    facts: tuple[CitedFact, ...] = ()
    notes: tuple[str, ...] = ()


def read_answer(text: str) -> FinalAnswer:
    """Read a final answer, or raise `RefusedError` that names the defect and the right form."""
    try:
        found, notes = read_answer_object(text, "crg_mbid")
    except LenientJSONError as error:
        raise RefusedError(
            f"Your final answer cannot be read: {error}. Write it as {FORM}"
        ) from error
    if not isinstance(found, Mapping):
        raise RefusedError(f"Your final answer must be one JSON object, such as {FORM}")
    fields = {str(key).strip().casefold(): value for key, value in found.items()}
    if "crg_mbid" not in fields:
        raise RefusedError(
            f'Your final answer has no "crg_mbid". Write it as {FORM}; null means you cannot tell'
        )
    return FinalAnswer(
        crg=read_id(fields["crg_mbid"], "crg_mbid"),
        rr=read_id(fields.get("rr_mbid"), "rr_mbid"),
        confidence=read_confidence(fields.get("confidence")),
        rationale=" ".join(str(fields.get("rationale") or "").split()),
        facts=_facts(fields.get("facts")),
        notes=notes,
    )


def read_id(value: object, field: str) -> str | None:
    """Return the UUID in a bare id or a MusicBrainz URL, a label as it is, or `None` for no id.

    An address must be MusicBrainz's own, of the kind of thing that the field holds.
    """
    if value is None or value is False:
        return None
    if not isinstance(value, str):
        raise RefusedError(f'"{field}" is {value!r}; write a label such as "C1", an id, or null')
    bare = value.strip().strip("<>[]()`\"' ")
    if bare.casefold() in _NO_ID:
        return None
    if label := _LABEL.fullmatch(bare):
        return label[1].upper()
    ids: set[str] = {found.casefold() for found in MBID.findall(bare)}
    address = _ADDRESS.fullmatch(bare) if "/" in bare else None
    is_other = "/" in bare and (address is None or address["kind"] != _KINDS.get(field))
    if len(ids) != 1 or is_other:
        raise RefusedError(
            f'"{field}" is {value[:80]!r}; write a label such as "C1", an id, or null'
        )
    return ids.pop()


def read_confidence(value: object) -> float:
    """Return confidence as 0..1; `90` and `"90%"` are 0.9, words have the values of the table.

    Raises `RefusedError` for anything else: absent, not finite, negative or above 100.
    """
    amount, is_percent = _amount(value)
    if is_percent or amount > 1:
        amount /= 100
    if not math.isfinite(amount) or not 0 <= amount <= 1:
        raise RefusedError(
            f'"confidence" is {_shown(value)}; write a number from 0 to 1, such as 0.8'
        )
    return amount


def _amount(value: object) -> tuple[float, bool]:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return (float(value) if abs(value) <= _MOST_IN_PERCENT else math.nan), False
    if isinstance(value, str):
        word = value.strip().casefold()
        if word in CONFIDENCE_WORDS:
            return CONFIDENCE_WORDS[word], False
        if number := _NUMBER.fullmatch(word):
            return float(number[1].replace(",", ".")), bool(number[2])
    return math.nan, False


def _shown(value: object) -> str:
    return "missing" if value is None else repr(value)[:40]


def _facts(value: object) -> tuple[CitedFact, ...]:
    """Read what is cited; an entry that is no fact stays in as one that nothing bears out.

    An entry that says there is none is none.
    """
    entries = value if isinstance(value, list | tuple) else [value]
    return tuple(fact for entry in entries if not _is_none(entry) for fact in _cited(entry))


def _is_none(value: object) -> bool:
    if isinstance(value, Mapping):
        return all(map(_is_none, value.values()))
    if isinstance(value, str):
        return value.strip().casefold() in _NO_ID
    return not value


def _cited(entry: object) -> Iterator[CitedFact]:
    """Yield a fact, once for each source that it names."""
    if isinstance(entry, Mapping):
        about, field, value = (
            str(entry.get(key) or "").strip() for key in ("about", "field", "value")
        )
        if field and value:
            named = next(filter(None, map(entry.get, _SOURCE_KEYS)), "")
            yield from (CitedFact(about, field, value, source) for source in _sources(named))
            return
    yield CitedFact(about="", field="unreadable", value=repr(entry)[:_MOST_SHOWN], source="")


def _sources(named: object) -> Iterable[str]:
    """Return the addresses in what a model names as sources, or what it says if there is none."""
    texts = [str(text).strip() for text in (named if isinstance(named, list) else [named])]
    found = [_unbracketed(url) for text in texts for url in _URL.findall(text)]
    if found:
        return dict.fromkeys(found)
    return [f"https://{text}" if _NO_SCHEME.fullmatch(text) else text for text in texts]


def _unbracketed(url: str) -> str:
    """Return an address without what closes around it: [its name](https://...)."""
    url = url.rstrip(_BEHIND)
    return url[:-1].rstrip(_BEHIND) if url.endswith(")") and "(" not in url else url


_MOST_LABELS = 400
_MOST_FACTS = 4
_REQUEST = """\
No turn is left. Answer now with what you know: write one JSON object and nothing else, such as
{"rationale": "one line", "crg_mbid": "C1", "rr_mbid": "C1.R1", "confidence": 0.9, "facts": []}
"crg_mbid": null means that you cannot tell."""


def last_word(labels: Labels) -> LastWord:
    """Return how to ask for an answer alone.

    A server that keeps to a schema writes keys in its order, so that the reasons come before the
    choice; and it can write no label that is not there. What comes is trusted no more for that.
    """
    groups = [label for label in labels.ids if "." not in label]
    releases = [label for label in labels.ids if "." in label][:_MOST_LABELS]
    text = {"type": "string"}
    fact = {"about": {"enum": [*groups, *releases]}, "field": text, "value": text, "source": text}
    properties: dict[str, object] = {
        "rationale": text,
        "crg_mbid": {"enum": [*groups, None]},
        "rr_mbid": {"enum": [*releases, None]},
        "confidence": {"type": "number", "minimum": 0, "maximum": 1},
        "facts": {"type": "array", "items": _object(fact), "maxItems": _MOST_FACTS},
    }
    return LastWord(_REQUEST, _object(properties))


def _object(properties: dict[str, object]) -> dict[str, object]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
