"""Final answers: the labels that stand for candidates, and the answer read from a model's text."""

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice

from chart_binder.domain.vocabulary import MBID
from chart_binder.llm.result import Fact
from chart_binder.react.loop import AnswerRefusedError, FinalRequest
from chart_binder.react.parsing.answers import read_answer_object
from chart_binder.react.parsing.lenient_json import LenientJSONError
from chart_binder.rules.labels import Labels, with_usual_labels

_NO_ID = frozenset({"", "null", "none", "unknown", "n/a", "na", "nil", "undefined", "-"})
# C1, **C1**, C1., C1 (its title), C1: its title
_LABEL = re.compile(
    r"[*_]{0,3}(c\d{1,4}(?:\.r\d{1,4})?)[*_]{0,3}\.?"
    r"(?:\s*\((?!.{0,200}\bc\d)[^()]{1,200}\)?|\s*[:–—-]\s*(?!.{0,200}\bc\d)[^\n]{1,200})?",
    re.IGNORECASE,
)
_TITLE = re.compile(
    r".{1,200}\((?:studio |live )?(?:album|single|ep|lp|compilation|soundtrack)\)?", re.IGNORECASE
)
_ADDRESS = re.compile(
    r"(?:(?:https?:)?//(?:[\w-]{1,40}\.)?musicbrainz\.org|(?:[\w-]{1,40}\.)?musicbrainz\.org)?"
    r"/?(?:ws/2/)?(?P<kind>[a-z-]{1,20})/[0-9a-f-]{36}(?:[/?#]\S*)?",
    re.IGNORECASE,
)
_KINDS = {"crg_mbid": "release-group", "rr_mbid": "release"}
"""The kind of entity in a MusicBrainz URL, by field."""
_MAX_SHOWN_CHARS = 200
_SOURCE_KEYS = ("source", "sources", "url")
_URL = re.compile(r"https?://[^\s<>\[\]\"`|]+", re.IGNORECASE)
_BEHIND = ".,;:'}"
_NO_SCHEME = re.compile(r"(?:[a-z0-9-]+\.)+[a-z]{2,}(?::\d+)?/\S*", re.IGNORECASE)
FORM = '{"crg_mbid": "C1", "rr_mbid": "C1.R1", "confidence": 0.9, "rationale": "one line"}'
"""The form of an answer, as advice shows it."""
ANSWER_KEYS = ("crg_mbid", "rr_mbid", "confidence", "rationale", "facts")
"""The keys that an answer may have; the first makes an object an answer."""
_MAX_LABELS = 400
_MAX_SHOWN_IDS = 40
_REQUEST = """\
No turn is left. Answer now with what you know: write one JSON object and nothing else, such as
{"rationale": "one line", "crg_mbid": "C1", "rr_mbid": "C1.R1", "confidence": 0.9}
"crg_mbid": null means that you cannot tell."""


CONFIDENCE_WORDS = {"high": 0.9, "medium": 0.7, "low": 0.4}
"""Confidence in words: by the default thresholds accepted, for review, and rejected."""
_NUMBER = re.compile(r"([+-]?\d*[.,]?\d+(?:e[+-]?\d+)?)\s*(%|percent)?", re.IGNORECASE)
_MAX_PERCENT = 100
_MOST_FACTS = 60
_TOO_MANY = Fact("", "unreadable", f"more than {_MOST_FACTS} facts", "")


@dataclass(frozen=True, slots=True)
class ParsedAnswer:
    """An answer in normal form: ids are UUIDs, labels (`C1.R2`) or None; confidence is 0..1."""

    crg: str | None
    rr: str | None
    confidence: float
    rationale: str = ""
    facts: tuple[Fact, ...] = ()
    notes: tuple[str, ...] = ()


def read_answer(
    text: str, confidence: float | None = None, labels: Labels | None = None
) -> ParsedAnswer:
    """Read a final answer, or raise `AnswerRefusedError` that names the defect and the right form.

    `confidence` stands in for one that is missing or in unknown words; `labels` know a candidate by
    its title.
    """
    try:
        found, notes = read_answer_object(text, ANSWER_KEYS[0])
    except LenientJSONError as error:
        raise AnswerRefusedError(
            f"Your final answer cannot be read: {error}. Write it as {FORM}"
        ) from error
    if not isinstance(found, Mapping):
        raise AnswerRefusedError(f"Your final answer must be one JSON object, such as {FORM}")
    fields = {str(key).strip().casefold(): value for key, value in found.items()}
    if "crg_mbid" not in fields:
        raise AnswerRefusedError(
            f'Your final answer has no "crg_mbid". Write it as {FORM}; null means you cannot tell'
        )
    return ParsedAnswer(
        crg=read_id(fields["crg_mbid"], "crg_mbid", labels),
        rr=read_id(fields.get("rr_mbid"), "rr_mbid"),
        confidence=read_confidence(fields.get("confidence"), confidence),
        rationale=" ".join(str(fields.get("rationale") or "").split()),
        facts=_facts(fields.get("facts")),
        notes=notes,
    )


def read_id(value: object, field: str, labels: Labels | None = None) -> str | None:
    """Return the UUID in a bare id or a MusicBrainz URL, a label as it is, or `None` for no id.

    A URL must be MusicBrainz's, for the kind of entity that the field holds. A title with its type
    behind it (`Sheer Heart Attack (Album)`) is returned as it is. Raises `AnswerRefusedError`.
    """
    if value is None or value is False:
        return None
    if not isinstance(value, str):
        raise AnswerRefusedError(
            f'"{field}" is {value!r}; write a label such as "C1", an id, or null'
        )
    bare = with_usual_labels(value.strip().strip("<>[]()`\"' "))
    if bare.casefold() in _NO_ID:
        return None
    if label := _LABEL.fullmatch(bare):
        return label[1].upper()
    ids: set[str] = {found.casefold() for found in MBID.findall(bare)}
    address = _ADDRESS.fullmatch(bare) if "/" in bare else None
    is_other = "/" in bare and (address is None or address["kind"] != _KINDS.get(field))
    if not ids and field == "crg_mbid":
        if labels and (meant := labels.meant_by(value)) in labels.titles:
            return meant
        if _TITLE.fullmatch(bare):
            return value.strip()
    if len(ids) != 1 or is_other:
        raise AnswerRefusedError(
            f'"{field}" is {value[:80]!r}; write a label such as "C1", an id, or null'
        )
    return ids.pop()


def read_confidence(value: object, default: float | None = None) -> float:
    """Return confidence as 0..1; `90` and `"90%"` are 0.9, words as in `CONFIDENCE_WORDS`.

    If it is missing or in other words, it is `default`. Raises `AnswerRefusedError` for a number
    that is no confidence, and if there is no default.
    """
    amount, is_percent = _amount(value)
    if amount is None and default is not None:
        return default
    if amount is not None and (is_percent or amount > 1):
        amount /= 100
    if amount is None or not 0 <= amount <= 1:  # which NaN is not
        shown = "missing" if value is None else repr(value)[:40]
        raise AnswerRefusedError(
            f'"confidence" is {shown}; write a number from 0 to 1, such as 0.8'
        )
    return amount


def _amount(value: object) -> tuple[float | None, bool]:
    """Return a number and whether it is a percentage; None for what is no number."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return (float(value) if abs(value) <= _MAX_PERCENT else math.nan), False
    if isinstance(value, str):
        word = value.strip().casefold()
        if word in CONFIDENCE_WORDS:
            return CONFIDENCE_WORDS[word], False
        if number := _NUMBER.fullmatch(word):
            return float(number[1].replace(",", ".")), bool(number[2])
        if word.lstrip("+-") in ("nan", "inf", "infinity"):
            return math.nan, False
    return None, False


def _facts(value: object) -> tuple[Fact, ...]:
    """Read the cited facts; an entry that cannot be read stays as a fact that nothing supports."""
    entries = value if isinstance(value, list | tuple) else [value]
    facts = (fact for entry in entries if not _is_none(entry) for fact in _cited(entry))
    found = tuple(islice(facts, _MOST_FACTS))
    return found if next(facts, None) is None else (*found, _TOO_MANY)


def _is_none(value: object) -> bool:
    if isinstance(value, Mapping):
        return all(map(_is_none, value.values()))
    if isinstance(value, str):
        return value.strip().casefold() in _NO_ID
    return not value


def _cited(entry: object) -> Iterator[Fact]:
    if isinstance(entry, Mapping):
        about, field, value, question = (
            str(entry.get(key) or "").strip() for key in ("about", "field", "value", "question")
        )
        if field and value:
            named = next(filter(None, map(entry.get, _SOURCE_KEYS)), "")
            quote = "" if _is_none(entry.get("quote")) else str(entry["quote"])
            quote = " ".join(quote.split())
            for source in _sources(named):
                yield Fact(about, field, value, source, quote, question[:_MAX_SHOWN_CHARS])
            return
    yield Fact(about="", field="unreadable", value=repr(entry)[:_MAX_SHOWN_CHARS], source="")


def _sources(named: object) -> Iterable[str]:
    texts = [str(text).strip() for text in (named if isinstance(named, list) else [named])]
    found = [_unbracketed(url) for text in texts for url in _URL.findall(text)]
    if found:
        return dict.fromkeys(found)
    return [f"https://{text}" if _NO_SCHEME.fullmatch(text) else text for text in texts]


def _unbracketed(url: str) -> str:
    """Return a URL without the punctuation after it, as in [its name](https://...)."""
    url = url.rstrip(_BEHIND)
    return url[:-1].rstrip(_BEHIND) if url.endswith(")") and "(" not in url else url


def final_request(labels: Labels, shown: Iterable[str] = (), likely: str = "C1") -> FinalRequest:
    """Return the request for an answer alone, with a schema of the labels and `shown` ids.

    Its example answers with the `likely` candidate.

    Servers write keys in the schema's order, so the rationale comes first.
    """
    others = [mbid for mbid in shown if mbid not in labels.titles][-_MAX_SHOWN_IDS:]
    groups = [*(label for label in labels.ids if "." not in label), *others]
    releases = [label for label in labels.ids if "." in label][:_MAX_LABELS]
    text = {"type": "string"}
    properties: dict[str, object] = {
        "rationale": text,
        "crg_mbid": {"enum": [*groups, None]},
        "rr_mbid": {"enum": [*releases, None]},
        "confidence": {"type": "number", "minimum": 0, "maximum": 1},
    }
    return FinalRequest(_REQUEST.replace('"C1', f'"{likely}'), object_schema(properties))


def object_schema(properties: Mapping[str, object]) -> Mapping[str, object]:
    """Return the JSON schema of an object that has just these properties."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
