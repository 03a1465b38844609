"""MusicBrainz ids on the command line, bare or as the address of their page."""

import base64
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import click
import msgspec

from chart_binder.cli.terminal import harmless, terminal_width, wrapped
from chart_binder.domain.evidence import EvidenceBundle, Release, ReleaseGroup
from chart_binder.domain.records import KeptDecision
from chart_binder.domain.vocabulary import MBID
from chart_binder.errors import UsageError
from chart_binder.jobs.decide import Case, Decision, State
from chart_binder.llm.result import AdjudicationResult, counted

SITE = "https://musicbrainz.org"
_HEADLINES = {
    State.DECIDED: "belongs to",
    State.REVIEW: "for review",
    State.INDETERMINATE: "left open",
    State.ERROR: "decided",
}
_INDENT = 2
_LABEL = 12


def decision_lines(path: str, case: Case) -> Iterator[str]:
    """Yield a decision as a short block: what, where, by which rule, why."""
    decision = case.decision
    yield path
    if case.bundle:
        yield from wrapped(case.bundle.name, terminal_width(), " " * _INDENT, _INDENT)
    if decision.state is State.ERROR:
        yield from row("failed", decision.error or "no reason was given")
    if decision.crg_mbid:  # beside an error: what was decided and could not be kept
        yield from _answer(case, decision, decision.crg_mbid)
    elif decision.state is not State.ERROR:
        yield from row("left open", f"{decision.crg_rule}")
    if decision.rationale:
        yield from row("because", decision.rationale)
    for number, fact in enumerate(decision.missing_facts):
        yield from row("" if number else "missing", fact)
    if decision.adjudication:
        yield from adjudication_lines(decision.adjudication, decision.state)


def _answer(case: Case, decision: Decision, crg: str) -> Iterator[str]:
    group, release = found(case.bundle, crg, decision.rr_mbid)
    named = group_name(group) if group else "a release group the evidence lacks"
    yield from row(_HEADLINES[decision.state], f"{named}  [{decision.crg_rule}]")
    yield from row("", page("release-group", crg))
    if decision.rr_mbid:
        shown = release_name(release) if release else "none that the evidence has of that group"
        yield from row("release", f"{shown}  [{decision.rr_rule}]")
        yield from row("", page("release", decision.rr_mbid))
    else:
        yield from row("release", f"none can be named  [{decision.rr_rule}]")


def page(entity: str, known_as: str) -> str:
    """Return the address of a MusicBrainz page; what is no UUID has none, and is shown itself."""
    if not MBID.fullmatch(known_as):
        return known_as  # a bundle's producer may have ids of its own
    return f"{SITE}/{entity}/{known_as}"


def found(
    bundle: EvidenceBundle | None, crg: str | None, rr: str | None
) -> tuple[ReleaseGroup | None, Release | None]:
    """Return what two ids stand for in the evidence, where it has them."""
    groups = [
        group
        for recording in (bundle.recording_candidates if bundle else ())
        for group in recording.groups
        if group.mb_rg_id == crg
    ]
    releases = (edition for group in groups for edition in group.editions)
    return (
        next(iter(groups), None),
        next((edition for edition in releases if edition.mb_release_id == rr), None),
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


def adjudication_lines(result: AdjudicationResult, state: State) -> Iterator[str]:
    """Yield which model answered and how sure, what the checks found, where the run is recorded."""
    turns = counted(result.iterations, "turn")
    yield from row("model", f"{result.model_id}, {turns}, confidence {result.confidence:.2f}")
    if result.problem and state is not State.ERROR:
        yield from row("", result.problem)
    for check in result.checks:
        yield from row("", f"{'ok' if check.passed else 'NOT OK'}: {check.detail}")
    if isinstance(result.transcript, str):
        yield from row("transcript", result.transcript)


def row(label: str, text: str) -> Iterator[str]:
    """Yield a label and its text, the text wrapped below itself."""
    head = f"{'':{_INDENT}}{label:<{_LABEL}} "
    yield from wrapped(text, terminal_width(), head, len(head))


_STATUS = {State.DECIDED: 0, State.REVIEW: 3, State.INDETERMINATE: 3, State.ERROR: 1}
_WORST_FIRST = (1, 3, 0)


@dataclass(frozen=True, slots=True)
class Form:
    """How a case is shown: as lines of text, and by what its JSON has beside the decision."""

    lines: Callable[[str, Case], Iterator[str]]
    more: Callable[[Case], dict[str, object]]


def _nothing_more(case: Case) -> dict[str, object]:
    del case
    return {}


BRIEF = Form(decision_lines, _nothing_more)


@dataclass
class Results:
    """Prints cases as they come, as text or as JSON lines, and remembers the worst."""

    as_json: bool
    form: Form = BRIEF
    printed: int = 0
    status: int = 0

    def show(self, path: str, case: Case, pinned: KeptDecision | None = None) -> None:
        """Print one case; `path` is as given, `pinned` the decision that stands in its place."""
        self.status = min(self.status, _STATUS[case.decision.state], key=_WORST_FIRST.index)
        name = readable(path)
        if self.as_json:
            line = {"path": name} | msgspec.to_builtins(case.decision) | self.form.more(case)
            if name != path:
                line["path_b64"] = base64.b64encode(os.fsencode(path)).decode()
            if pinned:
                line |= {"pinned": True, "stands": _named(pinned)}
            click.echo(msgspec.json.encode(line))
        else:
            if self.printed:
                click.echo()
            for text in self.form.lines(name, case):
                click.echo(harmless(text))
            for text in _stands(pinned, case) if pinned else ():
                click.echo(harmless(text))
        self.printed += 1


def _named(pinned: KeptDecision) -> dict[str, str | None]:
    return {
        "decision_id": pinned.id,
        "crg_mbid": pinned.crg_mbid,
        "rr_mbid": pinned.rr_mbid,
        "decided_at_utc": pinned.decided_at_utc,
    }


def _stands(pinned: KeptDecision, case: Case) -> Iterator[str]:
    """Yield that an earlier decision stands, by the name that the evidence has for its record."""
    group, _ = found(case.bundle, pinned.crg_mbid, None)
    name = group_name(group) if group else pinned.crg_mbid
    day = pinned.decided_at_utc[: len("2026-11-21")]
    yield from row(
        "pinned",
        f"{name} stands, as decided on {day}: `canon drift unpin PATH` lets this one count",
    )


def readable(path: str) -> str:
    """Return a file name as text: what is not UTF-8 in it shows as U+FFFD."""
    return os.fsencode(path).decode("utf-8", errors="replace")


_PAGE = re.compile(
    rf"(?:https?://)?(?:\w+\.)?musicbrainz\.org/([a-z-]+)/({MBID.pattern})(?:[/?#].*)?",
    re.IGNORECASE,
)


def read_mbid(text: str, entity: str, *, or_else: str = "") -> str:
    """Return the bare id of an `entity` (`release-group`, `release`, `recording`), in lower case.

    Raises `UsageError` with what was found and what is allowed, `or_else` included.
    """
    written = text.strip()
    page = _PAGE.fullmatch(written)
    if page and page[1].lower() == entity:
        return page[2].lower()
    if MBID.fullmatch(written):
        return written.lower()
    thing = "the address of a " + page[1] if page else f"no {entity.replace('-', ' ')} id"
    raise UsageError(
        f"{readable(text)!r} is {thing}; {or_else}a UUID or https://musicbrainz.org/{entity}/UUID"
        " is allowed"
    )


def read_path_or_mbid(text: str) -> str | Path:
    """Return the path of a file that exists, else the bare id of a recording.

    Raises `UsageError` with what was found and what is allowed.
    """
    path = Path(text)
    if path.exists():
        return path
    return read_mbid(text, "recording", or_else="a file that exists, a decision's id, ")
