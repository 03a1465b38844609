"""Decisions as text: what was decided, a model's answer with its checks, and what changes."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

import msgspec

from chart_binder.cli.output import labelled, labelled_list, terminal_width, wrap
from chart_binder.domain.evidence import EvidenceBundle, RecordingCandidate, Release, ReleaseGroup
from chart_binder.domain.verdict import FirstRelease
from chart_binder.domain.vocabulary import MBID
from chart_binder.errors import counted
from chart_binder.jobs.decide import Case, Decision, State
from chart_binder.llm.result import STALE, AdjudicationResult, Check, Fact, is_stale
from chart_binder.rules.recordings import format_length

if TYPE_CHECKING:
    from chart_binder.jobs.journal import FieldChange

SITE = "https://musicbrainz.org"
_INDENT, _FIELD_WIDTH = 2, 20
_FIRST_FIELDS = (
    "state", "decided_by", "artist", "title", "first_release", "crg_mbid", "crg_title", "crg_type",
)  # fmt: skip
_MIN_VALUE_WIDTH = 50
"""With less room, values stand below their field, not beside it."""
_NO_GROUP = "a release group the evidence lacks"
_NO_RELEASE = "none that the evidence has of that group"
_HEADLINES = {
    State.DECIDED: "belongs to",
    State.REVIEW: "review",
    State.INDETERMINATE: "undecided",
    State.ERROR: "decided",
}


def musicbrainz_page(entity: str, mbid: str) -> str:
    """Return the address of a MusicBrainz page; an id that is no UUID has none and is returned."""
    return f"{SITE}/{entity}/{mbid}" if MBID.fullmatch(mbid) else mbid


def find_entities(
    bundle: EvidenceBundle | None, crg: str | None, rr: str | None
) -> tuple[ReleaseGroup | None, Release | None]:
    """Return the release group and the release of two ids, where the evidence has them."""
    recordings = bundle.recording_candidates if bundle else ()
    groups = [group for each in recordings for group in each.groups if group.mb_rg_id == crg]
    releases = (release for group in groups for release in group.editions)
    return (
        next(iter(groups), None),
        next((release for release in releases if release.mb_release_id == rr), None),
    )


def group_name(group: ReleaseGroup) -> str:
    """Return a release group's title with its type."""
    primary, secondary = group.types
    kinds = " + ".join(filter(None, (primary, *secondary)))
    return f"{group.title or group.mb_rg_id} ({kinds or 'type unknown'})"


def release_name(release: Release) -> str:
    """Return what tells a release from another: date, place, label, format."""
    parts = (
        str(release.when), release.place, release.label, release.catno, release.format,
        release.disambiguation and f"({release.disambiguation})",
    )  # fmt: skip
    return " ".join(filter(None, parts))


def decision_object(decision: Decision) -> dict[str, Any]:
    """Return a decision for JSON: what it is about and the first release stand first."""
    fields: dict[str, Any] = msgspec.to_builtins(decision)
    return {name: fields[name] for name in _FIRST_FIELDS} | fields


def recording_lines(
    decision: Decision, *, explained: bool = False, with_year: bool = True
) -> Iterator[str]:
    """Yield artist and title, then the first release as far as it is known.

    The reason why its year is certain is given if `explained`, why it is not unless `with_year` is
    false. Of a case that waits it is said that its date is written all the same.
    """
    if name := " - ".join(filter(None, (decision.artist, decision.title))):
        yield from wrap(name, "  ")
    if found := decision.first_release:
        is_open = decision.state in (State.INDETERMINATE, State.REVIEW)
        written = "; canon write gives it" if found.year_certain and is_open else ""
        brief = f", year certain{written}" if found.year_certain and not explained else ""
        yield from wrap(f"first released {first_release_text(found)}{brief}", "  ", 4)
        if explained or (with_year and not found.year_certain):
            certain = "" if found.year_certain else "not "
            yield from labelled("year", f"{certain}certain: {found.because}{written}")


def brief_lines(path: str, case: Case, *, explained: bool = False) -> Iterator[str]:
    """Yield a decision in a few lines, without addresses; `canon decide -v` shows all of it.

    If `explained`, it has the reason why the year is certain.
    """
    decision = case.decision
    group, release = find_entities(case.bundle, decision.crg_mbid, decision.rr_mbid)
    yield path
    is_undecided = decision.state is State.INDETERMINATE
    yield from recording_lines(decision, explained=explained, with_year=not is_undecided)
    if decision.failure:
        yield from labelled(decision.state, decision.failure)
    if is_undecided:
        yield from labelled("undecided", decision.rationale or "no reason was given")
    if decision.crg_mbid:
        name = f"{group_name(group) if group else _NO_GROUP}  [{decision.crg_rule}]"
        yield from labelled(_HEADLINES[decision.state], name)
    if decision.rr_mbid:
        yield from labelled("release", release_name(release) if release else _NO_RELEASE)
    if decision.crg_mbid and decision.rationale:
        yield from labelled("because", decision.rationale)
    if result := decision.adjudication:
        turns = counted(result.iterations, "turn")
        problem = f": {result.problem}" if result.problem and not decision.failure else ""
        yield from labelled("model", f"{result.model_id}, {turns}{problem}")
    missing = list(missing_facts(decision))
    more = [f"and {counted(len(missing) - 1, 'other fact')}: see canon explain"] * (
        len(missing) > 1
    )
    yield from labelled_list("missing", [*missing[:1], *more])
    if decision.hint:
        yield from labelled("to do", decision.hint)


def missing_facts(decision: Decision) -> Sequence[str]:
    """Return the missing facts but those that the problem of a model's answer says already."""
    result = decision.adjudication
    problem = (result and not decision.failure and result.problem) or ""
    return [fact for fact in decision.missing_facts if fact not in problem]


def decision_lines(path: str, case: Case, *, explained: bool = False) -> Iterator[str]:
    """Yield a decision as a short block: the recording, where it belongs, by which rule, why.

    If `explained`, questions have their kind, and what each answer leads to.
    """
    decision = case.decision
    yield path
    yield from recording_lines(decision, explained=explained)
    if decision.failure:
        yield from labelled(decision.state, decision.failure)
    if decision.crg_mbid:  # beside an error: what was decided and could not be kept
        yield from _decided(case, decision, decision.crg_mbid)
    elif not decision.failure:
        yield from labelled("undecided", f"{decision.crg_rule}")
    if decision.rationale and decision.rationale != decision.failure:
        yield from labelled("because", decision.rationale)
    if explained and decision.questions:
        yield from _questions(case)
    else:
        yield from labelled_list("missing", decision.missing_facts)
    if decision.hint:
        yield from labelled("to do", decision.hint)
    if decision.adjudication:
        name_of = partial(subject_name, case.bundle)
        yield from adjudication_lines(decision.adjudication, decision.state, name_of)


def first_release_text(found: FirstRelease) -> str:
    """Return a first release as `1977-02-04 (album Rumours, Warner, US)`, or `1993 or earlier`."""
    record = " ".join(filter(None, (found.title and found.type, found.title)))
    place = ", ".join(filter(None, (record, found.label, found.country)))
    earlier = "" if found.year_certain else " or earlier"
    through = ", through a sibling recording" if found.via_sibling else ""
    return f"{found.date}{earlier}{f' ({place})' if place else ''}{through}"


_ANSWERS_TOLD = re.compile(r"(?<=[0-9])\? Before: .*; on that day or later: .*")
"""The answers in the sentence of a question, which are lines of their own below it."""


def _questions(case: Case) -> Iterator[str]:
    label = "missing"
    for one in case.decision.questions:
        asked = _ANSWERS_TOLD.sub("?", one.text) if one.possibilities else one.text
        kind = "" if one.kind == "missing_original" else f"[{one.kind.replace('_', ' ')}] "
        yield from labelled(label, f"{kind}{asked}")  # that one's words begin as its name
        label = ""
        for each in one.possibilities:
            group, _ = find_entities(case.bundle, each.crg, None)
            leads = group_name(group) if group else "still open"
            yield from labelled("", f"- {each.answer}: {leads}")


def _decided(case: Case, decision: Decision, crg: str) -> Iterator[str]:
    group, release = find_entities(case.bundle, crg, decision.rr_mbid)
    name = group_name(group) if group else _NO_GROUP
    yield from labelled(_HEADLINES[decision.state], f"{name}  [{decision.crg_rule}]")
    yield from labelled("", musicbrainz_page("release-group", crg))
    if decision.rr_mbid:
        name = release_name(release) if release else _NO_RELEASE
        yield from labelled("release", f"{name}  [{decision.rr_rule}]")
        yield from labelled("", musicbrainz_page("release", decision.rr_mbid))
    else:
        yield from labelled("release", f"none can be named  [{decision.rr_rule}]")
    for sibling in siblings_of(case.bundle):
        if sibling.mb_recording_id == decision.recording_mbid:
            yield from labelled("through", sibling_text(sibling))
            yield from labelled("", musicbrainz_page("recording", sibling.mb_recording_id))


def siblings_of(bundle: EvidenceBundle | None) -> Sequence[RecordingCandidate]:
    """Return the other recordings of the performance in evidence."""
    return [one for one in bundle.recording_candidates if one.is_sibling] if bundle else []


def sibling_text(sibling: RecordingCandidate) -> str:
    """Return which recording is a sibling, and why."""
    parts = (sibling.title, sibling.disambiguation, format_length(sibling.length_ms))
    name = ", ".join(filter(None, parts))
    because = f": {sibling.because}" if sibling.because else ""
    return f"a sibling recording ({name}){because}"


def adjudication_lines(
    result: AdjudicationResult, state: State, name_of: Callable[[str], str]
) -> Iterator[str]:
    """Yield which model answered and how sure, what is missing, checks, facts, and the transcript.

    `name_of` names what a fact is about by its id.
    """
    turns = counted(result.iterations, "turn")
    yield from labelled("model", f"{result.model_id}, {turns}, confidence {result.confidence:.2f}")
    if result.problem and state is not State.ERROR:
        yield from labelled("", result.problem)
    for label, text in examination(result, name_of):
        yield from labelled(label, text)
    if isinstance(result.transcript, str):
        yield from labelled("transcript", result.transcript)


def outcome_lines(result: AdjudicationResult, bundle: EvidenceBundle | None) -> Iterator[str]:
    """Yield a model's answer with the names from the evidence, its checks, facts and cost."""
    for label, text in outcome_rows(result, bundle):
        yield f"{label:<14} {text}"


def outcome_rows(
    result: AdjudicationResult, bundle: EvidenceBundle | None
) -> Iterator[tuple[str, str]]:
    """Yield label and text of each line of `outcome_lines`."""
    group, release = find_entities(bundle, result.crg_mbid, result.rr_mbid)
    for label, mbid, name in (
        ("release group", result.crg_mbid, group_name(group) if group else ""),
        ("release", result.rr_mbid, release_name(release) if release else ""),
    ):
        yield label, " ".join(filter(None, (mbid or "none", name)))
    confidence, stated = f"{result.confidence:.2f}", result.stated_confidence
    differs = stated is not None and f"{stated:.2f}" != confidence
    yield "confidence", f"{confidence}{f' (stated: {stated:.2f})' if differs else ''}"
    if result.problem and result.rationale:  # else the problem is printed as the reason
        yield "problem", result.problem
    if is_stale(result):
        yield "stale", STALE
    yield from examination(result, partial(subject_name, bundle))
    usage = result.usage
    readings = f", {counted(usage.readings, 'second reading')}" if usage.readings else ""
    tokens = f"{usage.prompt_tokens} + {usage.completion_tokens} tokens"
    seconds = f"{usage.model_seconds:.1f} s model, {usage.tool_seconds:.1f} s tools"
    yield "took", f"{counted(result.iterations, 'turn')}{readings}, {tokens}, {seconds}"


def examination(
    result: AdjudicationResult, name_of: Callable[[str], str]
) -> Iterator[tuple[str, str]]:
    """Yield label and text for checks and facts, each once.

    A check is left out where the facts say the same.
    """
    label = "checks"
    for check in shown_checks(result):
        yield label, f"{'ok' if check.passed else 'NOT OK'}: {check.detail}"
        label = ""
    label = "facts"
    for claim, facts in facts_by_claim(result.facts):
        yield label, claim_text(claim, name_of(claim.about))
        label = ""
        for text in chain.from_iterable(map(_citation, facts)):
            yield label, text


def shown_checks(result: AdjudicationResult) -> Sequence[Check]:
    """Return the checks that the facts do not repeat."""
    return [each for each in result.checks if not (each.name == "fact" and result.facts)]


def facts_by_claim(facts: Iterable[Fact]) -> Sequence[tuple[Fact, Sequence[Fact]]]:
    """Return each claim once, as its first fact, with all the facts that make it."""
    claims: dict[tuple[str, str, str], list[Fact]] = {}
    for fact in facts:
        claims.setdefault((fact.about, fact.field, fact.value), []).append(fact)
    return [(made[0], made) for made in claims.values()]


def claim_text(fact: Fact, name: str) -> str:
    """Return what a fact says of `name`, with the value that it replaces: `1975 -> 1975-10-31`."""
    value = fact.value if fact.before is None else f"{fact.before} -> {fact.value}"
    return f"{fact.field} {value} of {name}"


def _citation(fact: Fact) -> Iterator[str]:
    """Yield whether a fact is verified by its source, its quote, and its second readings."""
    source = f"{fact.source or 'no source'}{', trusted' if fact.trusted else ''}"
    why_not = f": {fact.problem}" if fact.problem else ""
    yield f"{'verified' if fact.verified else 'NOT verified'}: {source}{why_not}"
    if fact.quote:
        yield f'quote: "{fact.quote}"'
    for reading in fact.readings:
        source = "" if reading.source == fact.source else f", {reading.source}"
        yield f"second reading ({reading.kind}): {reading.reading}{source}"


def subject_name(bundle: EvidenceBundle | None, about: str) -> str:
    """Return the name of the release group or release that a fact is about."""
    for recording in bundle.recording_candidates if bundle else ():
        for group in recording.groups:
            if group.mb_rg_id == about:
                return group_name(group)
            for release in group.editions:
                if release.mb_release_id == about:
                    return f"{release_name(release)} of {group_name(group)}"
    return about or "nothing that is named"


def change_lines(changes: "tuple[FieldChange, ...]", indent: int = _INDENT) -> Iterator[str]:
    """Yield each field with its old values after `-` and its new ones after `+`."""
    for change in changes:
        head = f"{'':{indent}}{change.field.replace('_', ' '):<{_FIELD_WIDTH}} "
        if terminal_width() - len(head) < _MIN_VALUE_WIDTH:
            yield head.rstrip()
            head = " " * (indent + _INDENT)
        for sign, texts in (("-", change.old), ("+", change.new)):
            for text in texts:
                yield from wrap(f"{sign} {text}", head, len(head) + 2)
                head = " " * len(head)


def note_lines(label: str, text: str, indent: int = _INDENT) -> Iterator[str]:
    """Yield `label: text`, wrapped."""
    yield from wrap(text, f"{'':{indent}}{label}: ", indent + _INDENT)
