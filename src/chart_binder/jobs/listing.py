"""List stored decisions that match a query, as lines, as playlists or as samples to be judged.

A query consists of words and of terms such as `state:review year:1977..1979` (docs/library.md). A
value ends where the next term begins, so only a value that contains `key:` must be quoted.
"""

import hashlib
import heapq
import math
import os
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, TypeAlias, get_args

import msgspec

from chart_binder.domain.evidence import Artifact
from chart_binder.domain.records import (
    AuditRecord,
    AuditVerdict,
    DecisionRecord,
    UnreadDecision,
    now_utc,
)
from chart_binder.domain.verdict import OverrideRecord, QuestionKind
from chart_binder.domain.vocabulary import fold
from chart_binder.errors import DamagedRecordError, UsageError
from chart_binder.files import path_text
from chart_binder.jobs.decision import WAITING_STATES, Cause, Decision, State, read_states, year_of
from chart_binder.jobs.evaluate import CRG_RULES, RR_RULES
from chart_binder.jobs.pipeline import is_to_decide_again, with_stated_date
from chart_binder.jobs.stored_decisions import (
    is_below,
    path_bytes,
    path_from_bytes,
    read_decision,
    stored_artifact,
    stored_bundle,
)

if TYPE_CHECKING:
    from chart_binder.store import Store
    from chart_binder.store.decisions import UnreadHandler


NO_QUESTION = "none"
_UNASKED = frozenset((NO_QUESTION,))


@dataclass(frozen=True, slots=True)
class ListedDecision:
    """The current decision on a file, with the album and year in its tags, and its length.

    If an `override` is about it, the decision has the date that a person stated.
    """

    record: DecisionRecord
    decision: Decision
    album: str | None = None
    year: int | None = None
    duration_s: int | None = None
    override: OverrideRecord | None = None

    @property
    def is_outdated(self) -> bool:
        """Whether a person has said more than a date since, so the file is to be decided again."""
        return self.override is not None and is_to_decide_again(self.decision, self.override)

    @property
    def needs_person(self) -> bool:
        """Whether it waits in the queue of reviews."""
        is_settled = self.override is not None and self.override.settles
        return self.decision.state in WAITING_STATES and not is_settled

    @property
    def years_older(self) -> int | None:
        """By how many years the first release precedes the album; None if that is unknown."""
        first = self.decision.first_release
        return None if self.year is None or first is None else self.year - first.year

    @property
    def questions(self) -> frozenset[str]:
        """The kinds of the questions that would settle the case, or `NO_QUESTION`."""
        return frozenset(question.kind for question in self.decision.questions) or _UNASKED

    @property
    def rule(self) -> str | None:
        """The rule that chose the release group, without `CRG:`, such as `ALBUM_LEAD_WINDOW`."""
        return (self.decision.crg_rule or "").removeprefix("CRG:") or None

    @property
    def reason(self) -> str | None:
        """The reason for the decision, or the error."""
        return self.decision.error or self.decision.rationale

    @property
    def state(self) -> str:
        """The state of the decision."""
        return self.decision.state

    @property
    def folder_and_album(self) -> tuple[bytes, str]:
        """The folder of the file and the album in its tags, by which files are grouped."""
        return os.path.dirname(self.record.path), self.album or ""  # noqa: PTH120 - of any bytes

    @property
    def path(self) -> str:
        """The path as printable text."""
        return path_text(path_from_bytes(self.record.path))

    @property
    def is_gone(self) -> bool:
        """Whether the file no longer exists."""
        return not os.path.lexists(self.record.path)


def listed(record: DecisionRecord) -> ListedDecision:
    """Return a stored decision with the tags of its file. Raises `DamagedRecordError`."""
    decision = read_decision(record)
    artifact = stored_artifact(record) or Artifact()
    tags, year = artifact.tags or {}, year_of(artifact, of_album=True)
    duration_s = round(artifact.duration_ms / 1000) if artifact.duration_ms else None
    return ListedDecision(record, decision, tags.get("album"), year, duration_s)


def listing(
    store: "Store", query: "DecisionQuery", on_unread: "UnreadHandler", *, as_decided: bool = False
) -> Iterator[ListedDecision]:
    """Yield the matching current decisions of all files, oldest first. Raises `StoreError`.

    Unless they are to be listed `as_decided`, they have the dates that a person stated since.
    """
    overrides = {} if as_decided else store.overrides.all()
    for record in store.decisions.iterate(query.states, on_unread):
        try:
            row = _with_stated_date(listed(record), store, overrides)
        except DamagedRecordError as error:
            on_unread(UnreadDecision(problem=str(error), path=record.path))
            continue
        if query.matches(row):
            yield row


def _with_stated_date(
    row: ListedDecision, store: "Store", overrides: Mapping[str, OverrideRecord]
) -> ListedDecision:
    """Return a decision with the date that a person stated since. Raises `StoreError`.

    To be fast, it reads the evidence only if an override may be about the file.
    """
    record, decision = row.record, row.decision
    is_other = record.recording_mbid is not None and record.recording_mbid not in overrides
    bundle = None if is_other or not overrides else stored_bundle(store, record)
    if bundle is None:
        return row
    override, decision = with_stated_date(decision, record, bundle, overrides)
    if override and decision.recording_mbid is None:
        decision = msgspec.structs.replace(decision, recording_mbid=override.recording_mbid)
    return replace(row, decision=decision, override=override)


def by_album(rows: Iterable[ListedDecision], most: int = 0) -> list[ListedDecision]:
    """Return the rows sorted by album; at most `most`, unless that is 0."""

    def sort_key(row: ListedDecision) -> tuple[bytes, str, bytes]:
        return (*row.folder_and_album, row.record.path)

    return heapq.nsmallest(most, rows, key=sort_key) if most else sorted(rows, key=sort_key)


# Queries.


@dataclass(frozen=True, slots=True)
class YearSpan:
    """Years, or numbers of years, from the first to the last; None leaves an end open.

    If it `is_none`, it holds only None.
    """

    first: int | None = None
    last: int | None = None
    is_none: bool = False

    def holds(self, year: int | None) -> bool:
        """Whether a year is within the span."""
        if year is None or self.is_none:
            return self.is_none and year is None
        return (self.first is None or self.first <= year) and (
            self.last is None or year <= self.last
        )


@dataclass(frozen=True, slots=True)
class QueryTerm:
    """One condition of a query, or its negation: a key with the text and the value read from it."""

    key: str
    text: str
    value: Any
    is_negated: bool = False

    def matches(self, row: ListedDecision) -> bool:
        """Return whether a decision meets the condition."""
        return KEYS[self.key].matches(row, self.value) is not self.is_negated


@dataclass(frozen=True, slots=True)
class DecisionQuery:
    """Conditions that a decision must meet; without conditions every decision matches."""

    terms: tuple[QueryTerm, ...] = ()

    def matches(self, row: ListedDecision) -> bool:
        """Return whether a decision meets every condition."""
        return all(term.matches(row) for term in self.terms)

    @property
    def states(self) -> frozenset[str]:
        """The stored states that can match; empty if every state can."""
        allowed = [term.value for term in self.terms if term.key == "state" and not term.is_negated]
        return frozenset.intersection(*allowed) if allowed else frozenset()


def query_text(query: DecisionQuery, *more_terms: str) -> str:
    """Return a query, and more terms, as one text that `read_query` reads as the same query.

    Bytes that are not UTF-8 become U+FFFD.
    """
    return " ".join((*(_term_text(term) for term in query.terms), *more_terms))


def _term_text(term: QueryTerm) -> str:
    value = path_text(term.text)
    if not re.fullmatch(r"[\w.,/~-]+", value):
        value = '"' + re.sub(r'(["\\])', r"\\\1", value) + '"'
    return f"{'-' if term.is_negated else ''}{term.key}:{value}"


def read_query(arguments: Sequence[str]) -> DecisionQuery:
    """Return the query in the arguments of a command. Raises `UsageError`."""
    return DecisionQuery(tuple(term for text in arguments for term in _terms(text)))


_KEY = re.compile(r"(?<!\S)([-^]?)([A-Za-z]+):(?=\S|\Z)")
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"(?!\S)', re.DOTALL)


def _terms(text: str) -> Iterator[QueryTerm]:
    start = 0
    while text[start:].strip():
        start = len(text) - len(text[start:].lstrip())
        key = _KEY.match(text, start)
        start = key.end() if key else start
        quoted = _QUOTED.match(text, start)
        next_key = _KEY.search(text, start)
        end = quoted.end() if quoted else next_key.start() if next_key else len(text)
        value = _unquoted(text[start:end].strip())
        yield _term(key[2].lower(), value, is_negated=bool(key[1])) if key else _term("text", value)
        start = end


def _unquoted(value: str) -> str:
    """Return a value without the quotes around it. Raises `UsageError` for an open quote."""
    if not (value.startswith('"') or value.endswith('"')):
        return value
    quoted = _QUOTED.fullmatch(value)
    if quoted is None:
        raise UsageError(f'query: {path_text(value)}: a quote (") is not closed')
    return re.sub(r"(?s)\\(.)", r"\1", quoted[1])


def _term(name: str, value: str, *, is_negated: bool = False) -> QueryTerm:
    if name not in KEYS:
        close = get_close_matches(name, KEYS, n=1)
        suggestion = f"did you mean {close[0]!r}? " if close else ""
        allowed = ", ".join(KEYS)
        raise UsageError(
            f"query: no key {name!r}: {suggestion}{allowed} are allowed; a value with a colon is"
            ' written in quotes: title:"Part: One"'
        )
    try:
        return QueryTerm(name, value, KEYS[name].read_value(value), is_negated)
    except ValueError as error:
        raise UsageError(f"query: {path_text(f'{name}:{value}')!r}: {error}") from error


def _one_of(*allowed: str) -> Callable[[str], frozenset[str]]:
    """Return a reader of allowed words with commas between them."""
    by_folded = {name.casefold(): name for name in allowed}

    def read(text: str) -> frozenset[str]:
        names = [by_folded.get(word.strip().casefold(), "") for word in text.split(",")]
        if not all(names):
            raise ValueError(f"give one of {', '.join(allowed)}, or several with commas")
        return frozenset(names)

    return read


def _read_rules(text: str) -> frozenset[str]:
    """Return codes with their family; the name of a rule alone means both families."""
    spaced = re.sub(r"(?<=\w) (?=\w)", "_", text)
    _one_of(*_RULES)(re.sub(r"(?i)\b(CRG|RR):", "", spaced))
    words = {word.strip() for word in spaced.upper().split(",")}
    return frozenset(code for code in _CODES if words & {code, code.partition(":")[2]})


def _read_years(text: str) -> tuple[YearSpan, ...]:
    spans = _read_spans(text, "[0-9]{4}", "1977, 1977..1979, ..1979, 1977..")
    if any(0 in (span.first, span.last) for span in spans):
        raise ValueError("give years from 0001 on")
    return spans


def _read_differences(text: str) -> tuple[YearSpan, ...]:
    return _read_spans(text, "-?[0-9]{1,4}", "5, 1..4, 10.., ..-1")


def _read_spans(text: str, number: str, examples: str) -> tuple[YearSpan, ...]:
    spans = []
    for part in text.split(","):
        span = re.fullmatch(rf"({number})?(\.\.)?({number})?|none", part.strip())
        if not span or not part.strip(". ") or (span[1] and span[3] and not span[2]):
            raise ValueError(f"give {examples}, or the word none")
        first, last = (int(end) if end else None for end in span.group(1, 3))
        if first is not None and last is not None and first > last:
            raise ValueError("of two numbers, give the smaller one first")
        is_none = part.strip() == "none"
        spans.append(YearSpan(first, last if span[2] else first, is_none))
    return tuple(spans)


def _read_decades(text: str) -> tuple[YearSpan, ...]:
    spans = []
    for part in text.split(","):
        decade = re.fullmatch(r"([0-9]{3}0)s?", part.strip())
        if decade is None:
            raise ValueError("give a decade: 1970s or 1970")
        spans.append(YearSpan(int(decade[1]), int(decade[1]) + 9))
    return tuple(spans)


def _read_text(text: str) -> str:
    if not text:
        raise ValueError("give a text")
    return fold(text)


def _read_path(text: str) -> bytes:
    _read_text(text)
    return path_bytes(os.path.expanduser(text))  # noqa: PTH111 - of any bytes


def _holds(text: str, *values: str | None) -> bool:
    return any(text in fold(value) for value in values if value)


def _is_of_years(row: ListedDecision, spans: tuple[YearSpan, ...]) -> bool:
    first = row.decision.first_release
    return any(span.holds(first.year if first else None) for span in spans)


def _is_by_rule(row: ListedDecision, rules: frozenset[str]) -> bool:
    codes = (row.decision.crg_rule, row.decision.rr_rule)
    return not rules.isdisjoint(codes)


def _is_certain(row: ListedDecision, answers: frozenset[str]) -> bool:
    first = row.decision.first_release
    return first is not None and ("yes" if first.year_certain else "no") in answers


def _is_older(row: ListedDecision, spans: tuple[YearSpan, ...]) -> bool:
    return any(span.holds(row.years_older) for span in spans)


@dataclass(frozen=True, slots=True)
class _QueryKey:
    """A key of queries: `read_value` reads its value, or raises `ValueError`; `matches` applies it.

    `values` lists the allowed values of a key that has few.
    """

    read_value: Callable[[str], Any]
    matches: Callable[[ListedDecision, Any], bool]
    values: Collection[str] = ()


_BY, _YES_NO = ("rules", "llm", "override"), ("yes", "no")
_CODES = (*CRG_RULES, *RR_RULES)
_RULES = dict.fromkeys(code.partition(":")[2] for code in _CODES)
_QUESTIONS = (*get_args(QuestionKind), NO_QUESTION)
KEYS: Mapping[str, _QueryKey] = {
    "state": _QueryKey(read_states, lambda row, value: row.decision.state in value, [*State]),
    "rule": _QueryKey(_read_rules, _is_by_rule, _RULES),
    "by": _QueryKey(_one_of(*_BY), lambda row, value: row.decision.decided_by in value, _BY),
    "artist": _QueryKey(_read_text, lambda row, value: _holds(value, row.decision.artist)),
    "title": _QueryKey(_read_text, lambda row, value: _holds(value, row.decision.title)),
    "album": _QueryKey(_read_text, lambda row, value: _holds(value, row.album)),
    "group": _QueryKey(_read_text, lambda row, value: _holds(value, row.decision.crg_title)),
    "year": _QueryKey(_read_years, _is_of_years),
    "decade": _QueryKey(_read_decades, _is_of_years),
    "certain": _QueryKey(_one_of(*_YES_NO), _is_certain, _YES_NO),
    "older": _QueryKey(_read_differences, _is_older),
    "question": _QueryKey(
        _one_of(*_QUESTIONS), lambda row, value: not value.isdisjoint(row.questions), _QUESTIONS
    ),
    "cause": _QueryKey(_one_of(*Cause), lambda row, value: row.decision.cause in value, [*Cause]),
    "path": _QueryKey(_read_path, lambda row, value: is_below(row.record.path, value)),
    "text": _QueryKey(
        _read_text,
        lambda row, value: _holds(
            value, row.decision.artist, row.decision.title, row.album, row.decision.crg_title,
            row.path,
        ),
    ),
}  # fmt: skip
"""`year` and `decade` are those of the first release; `album` is the album in the file's tags.
`older` is `ListedDecision.years_older`.
"""


# Playlists.

_NO_YEAR, _LAST_YEAR = 1, 9999


def by_first_release(rows: Iterable[ListedDecision]) -> list[ListedDecision]:
    """Return the decisions that have a first release, the earliest first."""

    def sort_key(row: ListedDecision) -> tuple[str, str, str, bytes]:
        artist, title = (fold(name or "") for name in (row.decision.artist, row.decision.title))
        first = row.decision.first_release
        return first.date if first else "", artist, title, row.record.path

    return sorted((row for row in rows if row.decision.first_release), key=sort_key)


def fits_m3u(row: ListedDecision) -> bool:
    """Return whether the path of a file can be written as a line of UTF-8."""
    path = os.fsdecode(row.record.path)
    return path == row.path and not {"\n", "\r"} & {*path}


def m3u_lines(rows: Iterable[ListedDecision]) -> Iterator[str]:
    """Yield the lines of an M3U8 file (RFC 8216, 4.3.1.1 and 4.3.2.1), with absolute paths."""
    yield "#EXTM3U"
    for row in rows:
        name = " - ".join(filter(None, (row.decision.artist, row.decision.title)))
        seconds = -1 if row.duration_s is None else row.duration_s
        yield f"#EXTINF:{seconds},{' '.join(name.split())}"
        yield row.path


def smart_playlist(query: DecisionQuery, name: str) -> dict[str, object]:
    """Return a smart playlist for Navidrome (model/criteria), which uses tags from `canon write`.

    Raises `UsageError` for a condition that Navidrome cannot test by tags.
    """
    conditions: list[object] = [{"gt": {"originalyear": 0}}]
    conditions += [_smart_condition(term) for term in query.terms]
    return {"name": name, "all": conditions, "sort": "originaldate", "order": "asc"}


def _smart_condition(term: QueryTerm) -> object:
    operator = "notContains" if term.is_negated else "contains"
    match term.key, term.value:
        case ("artist" | "title" | "album") as field, str():
            return {operator: {field: term.text}}
        case (("year" | "decade"), tuple(spans)) if not term.is_negated:
            if not any(span.is_none for span in spans):
                years = ([span.first or _NO_YEAR, span.last or _LAST_YEAR] for span in spans)
                return {"any": [{"inTheRange": {"originalyear": span}} for span in years]}
    raise UsageError(
        f"--format nsp: Navidrome knows no {term.key!r} of this form: artist, title, album, year"
        " and decade are allowed there; --format m3u takes every query"
    )


# Samples, the verdicts of people on them, and the share of errors by rule.

_Z_95 = 1.959963984540054
"""The 97.5 % quantile of the normal distribution, for an interval of 95 %."""
_NO_RULE = "none"
AuditedOutcome: TypeAlias = tuple[bytes, str | None, str | None, str | None]
"""What people judge: the file, the release group, the rule, and the date of the first release."""


def sample(
    rows: Iterable[ListedDecision], size: int, seed: int, *, is_by_rule: bool = False
) -> list[ListedDecision]:
    """Return `size` random decisions, or with `is_by_rule` that many of each rule.

    The same seed draws the same files, because hashes of the seed and the paths decide.
    """
    drawn: defaultdict[str, list[tuple[int, ListedDecision]]] = defaultdict(list)
    for row in rows:
        digest = hashlib.sha256(b"%d:" % seed + row.record.path).digest()
        heap = drawn[(row.rule or _NO_RULE) if is_by_rule else ""]
        rank = -int.from_bytes(digest)  # the heap drops the smallest rank: the largest hash
        if len(heap) < size:
            heapq.heappush(heap, (rank, row))
        else:
            heapq.heappushpop(heap, (rank, row))
    return [
        row for rule in sorted(drawn) for _, row in sorted(drawn[rule], key=lambda pair: -pair[0])
    ]


class RuleErrors(msgspec.Struct, frozen=True):
    """The verdicts on a rule, the share of wrong ones, and its bounds with 95 % confidence."""

    rule: str
    right: int
    wrong: int
    unsure: int
    share: float | None
    low: float | None
    high: float | None


class AuditReport(msgspec.Struct, frozen=True):
    """How often decisions are wrong, by rule and in total; `left` decisions are not judged yet."""

    rules: tuple[RuleErrors, ...]
    total: RuleErrors = msgspec.field(name="all")
    left: int


def audit_report(
    rows: Sequence[ListedDecision], verdicts: Mapping[AuditedOutcome, AuditVerdict]
) -> AuditReport:
    """Return the shares of errors among the judged decisions."""
    counts: defaultdict[str, Counter[AuditVerdict]] = defaultdict(Counter)
    unsure_count = 0
    for row in rows:
        verdict = verdicts.get(audited_outcome(row.record, row.decision))
        if verdict is None:
            unsure_count += 1
        else:
            counts[row.rule or _NO_RULE][verdict] += 1
    total = sum(counts.values(), Counter())
    by_size = sorted(counts.items(), key=lambda item: (-item[1].total(), item[0]))
    return AuditReport(
        tuple(_errors(rule, count) for rule, count in by_size), _errors("all", total), unsure_count
    )


def _errors(rule: str, count: Mapping[AuditVerdict, int]) -> RuleErrors:
    right, wrong, unsure = (count[verdict] for verdict in AuditVerdict)
    judged = right + wrong
    low, high = wilson_interval(wrong, judged) if judged else (None, None)
    return RuleErrors(rule, right, wrong, unsure, wrong / judged if judged else None, low, high)


def wilson_interval(count: int, total: int) -> tuple[float, float]:
    """Return the bounds, with 95 % confidence, of the share of `count` in a sample of `total`.

    This is the score interval of E. B. Wilson (Journal of the American Statistical Association 22,
    1927), which stays within 0 and 1 and is valid for small samples.
    """
    share, z2 = count / total, _Z_95**2
    middle = share + z2 / (2 * total)
    spread = _Z_95 * math.sqrt(share * (1 - share) / total + z2 / (4 * total**2))
    scale = 1 + z2 / total
    return max(0.0, (middle - spread) / scale), min(1.0, (middle + spread) / scale)


def audited_outcome(record: DecisionRecord, decision: Decision) -> AuditedOutcome:
    """Return what a verdict is about; it also counts for a later decision with the same outcome."""
    first = decision.first_release
    return record.path, decision.crg_mbid, decision.crg_rule, first.date if first else None


def audit_verdicts(store: "Store") -> dict[AuditedOutcome, AuditVerdict]:
    """Return the verdicts of people by the outcomes that they judged. Raises `StoreError`."""
    verdicts: dict[AuditedOutcome, AuditVerdict] = {}
    for audit in store.audits.latest().values():
        record = store.decisions.by_id(audit.decision_id)
        with suppress(DamagedRecordError):  # the list of decisions reports it
            if record:
                verdicts[audited_outcome(record, read_decision(record))] = audit.verdict
    return verdicts


def save_audit(store: "Store", row: ListedDecision, verdict: AuditVerdict) -> None:
    """Save the verdict of a person on a decision. Raises `StoreError`."""
    store.audits.put(AuditRecord(decision_id=row.record.id, verdict=verdict, at_utc=now_utc()))
