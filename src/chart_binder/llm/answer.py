"""Final answers: reads the answer in a model's text, and makes the request for one."""

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
"""The kind of entity in a MusicBrainz URL, by the field of the answer."""
_MAX_SHOWN_CHARS = 200
_SOURCE_KEYS = ("source", "sources", "url")
_URL = re.compile(r"https?://[^\s<>\[\]\"`|]+", re.IGNORECASE)
_BEHIND = ".,;:'}"
_NO_SCHEME = re.compile(r"(?:[a-z0-9-]+\.)+[a-z]{2,}(?::\d+)?/\S*", re.IGNORECASE)
FORM = '{"crg_mbid": "C1", "rr_mbid": "C1.R1", "confidence": 0.9, "rationale": "one line"}'
"""The form of an answer, as advice shows it."""
ANSWER_KEYS = ("crg_mbid", "rr_mbid", "confidence", "rationale", "facts")
"""The keys of an answer; an object with the first one is read as an answer."""
_MAX_LABELS = 400
_MAX_SHOWN_IDS = 40
_REQUEST = """\
No turn is left. Answer now with what you know: write one JSON object and nothing else, such as
{"rationale": "one line", "crg_mbid": "C1", "rr_mbid": "C1.R1", "confidence": 0.9}
"crg_mbid": null means that you cannot tell."""


CONFIDENCE_WORDS = {"high": 0.9, "medium": 0.7, "low": 0.4}
"""Confidence in words; with the default thresholds: accepted, for review, and rejected."""
_NUMBER = re.compile(r"([+-]?\d*[.,]?\d+(?:e[+-]?\d+)?)\s*(%|percent)?", re.IGNORECASE)
_MAX_PERCENT = 100
_MOST_FACTS = 60
_TOO_MANY = Fact("", "unreadable", f"more than {_MOST_FACTS} facts", "")


@dataclass(frozen=True, slots=True)
class ParsedAnswer:
    """An answer in normal form: ids are UUIDs, labels (`C1.R2`) or None; confidence is 0 to 1."""

    crg: str | None
    rr: str | None
    confidence: float
    rationale: str = ""
    facts: tuple[Fact, ...] = ()
    notes: tuple[str, ...] = ()


def read_answer(
    text: str, confidence: float | None = None, labels: Labels | None = None
) -> ParsedAnswer:
    """Return the final answer in a text.

    `confidence` is the default if it is missing or in unknown words. With `labels`, a candidate may
    be named by its title. Raises `AnswerRefusedError` with the defect and the right form.
    """
    try:
        answer, notes = read_answer_object(text, ANSWER_KEYS[0])
    except LenientJSONError as error:
        raise AnswerRefusedError(
            f"Your final answer cannot be read: {error}. Write it as {FORM}"
        ) from error
    if not isinstance(answer, Mapping):
        raise AnswerRefusedError(f"Your final answer must be one JSON object, such as {FORM}")
    fields = {str(key).strip().casefold(): value for key, value in answer.items()}
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
    """Return a UUID from a bare id or a MusicBrainz URL, a label, or None if the value means none.

    A URL must belong to MusicBrainz and to the kind of entity of the field. A title followed by its
    type (`Sheer Heart Attack (Album)`) is returned unchanged. Raises `AnswerRefusedError`.
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
    ids: set[str] = {mbid.casefold() for mbid in MBID.findall(bare)}
    address = _ADDRESS.fullmatch(bare) if "/" in bare else None
    is_other = "/" in bare and (address is None or address["kind"] != _KINDS.get(field))
    if not ids and field == "crg_mbid":
        if labels and (identifier := labels.meant_by(value)) in labels.titles:
            return identifier
        if _TITLE.fullmatch(bare):
            return value.strip()
    if len(ids) != 1 or is_other:
        raise AnswerRefusedError(
            f'"{field}" is {value[:80]!r}; write a label such as "C1", an id, or null'
        )
    return ids.pop()


def read_confidence(value: object, default: float | None = None) -> float:
    """Return the confidence from 0 to 1; `90` and `"90%"` are 0.9, words as in `CONFIDENCE_WORDS`.

    Returns `default` if it is missing or in other words. Raises `AnswerRefusedError` for a number
    out of range, and if there is no default.
    """
    amount, is_percent = _amount(value)
    if amount is None and default is not None:
        return default
    if amount is not None and (is_percent or amount > 1):
        amount /= 100
    if amount is None or not 0 <= amount <= 1:  # false for NaN
        value_text = "missing" if value is None else repr(value)[:40]
        raise AnswerRefusedError(
            f'"confidence" is {value_text}; write a number from 0 to 1, such as 0.8'
        )
    return amount


def _amount(value: object) -> tuple[float | None, bool]:
    """Return a number and whether it is a percentage; None if the value is not a number."""
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
    """Return the cited facts; an entry that cannot be read becomes a fact without a source."""
    entries = value if isinstance(value, list | tuple) else [value]
    facts = (fact for entry in entries if not _is_none(entry) for fact in _cited(entry))
    cited = tuple(islice(facts, _MOST_FACTS))
    return cited if next(facts, None) is None else (*cited, _TOO_MANY)


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
            source_entry = next(filter(None, map(entry.get, _SOURCE_KEYS)), "")
            quote = "" if _is_none(entry.get("quote")) else str(entry["quote"])
            quote = " ".join(quote.split())
            for source in _sources(source_entry):
                yield Fact(about, field, value, source, quote, question[:_MAX_SHOWN_CHARS])
            return
    yield Fact(about="", field="unreadable", value=repr(entry)[:_MAX_SHOWN_CHARS], source="")


def _sources(entry: object) -> Iterable[str]:
    texts = [str(text).strip() for text in (entry if isinstance(entry, list) else [entry])]
    urls = [_without_punctuation(url) for text in texts for url in _URL.findall(text)]
    if urls:
        return dict.fromkeys(urls)
    return [f"https://{text}" if _NO_SCHEME.fullmatch(text) else text for text in texts]


def _without_punctuation(url: str) -> str:
    """Return a URL without punctuation at its end, as in `[name](https://...)`."""
    url = url.rstrip(_BEHIND)
    return url[:-1].rstrip(_BEHIND) if url.endswith(")") and "(" not in url else url


def final_request(labels: Labels, mbids: Iterable[str] = (), likely: str = "C1") -> FinalRequest:
    """Return the request for an answer alone, with a schema of the labels and `mbids`.

    Its example answers with the `likely` candidate. The rationale comes first, because servers
    write keys in the schema's order.
    """
    shown_ids = [mbid for mbid in mbids if mbid not in labels.titles][-_MAX_SHOWN_IDS:]
    groups = [*(label for label in labels.ids if "." not in label), *shown_ids]
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
    """Return the JSON schema of an object that has exactly these properties."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
