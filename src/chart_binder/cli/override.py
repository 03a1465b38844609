"""`canon override`: a person's verdict on a recording, against the rules."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import click
import msgspec

from chart_binder.cli.decide import bundle_at
from chart_binder.cli.options import Group, Session, common_options, pass_session
from chart_binder.cli.output import (
    found,
    group_name,
    page,
    read_mbid,
    read_path_or_mbid,
    readable,
    release_name,
    row,
)
from chart_binder.cli.terminal import harmless
from chart_binder.domain.evidence import EvidenceBundle
from chart_binder.domain.records import KeptDecision, is_new_id
from chart_binder.domain.verdict import KeptOverride
from chart_binder.domain.vocabulary import MBID, RecordingId, ReleaseGroupId, ReleaseId, bare_id
from chart_binder.errors import CanonError, LookupFailedError, UsageError
from chart_binder.jobs.decide import override_for
from chart_binder.jobs.overrides import (
    DECIDE_AGAIN,
    OverrideEffect,
    decisions_by_override,
    list_files,
    override_effect,
    recording_meant,
    require_home,
    unknown_ids,
)
from chart_binder.jobs.stored_decisions import stored_bundle
from chart_binder.store import open_store
from chart_binder.wiring import (
    evidence_for_files,
    kept_evidence,
    overrides,
    store_and_kept_evidence,
    store_url,
    tagged_recording,
)

_NAMED = click.argument("name", metavar="PATH_OR_ID", type=click.Path(path_type=str))

_NOTHING = OverrideEffect()


@dataclass(frozen=True, slots=True)
class _Meant:
    """What a path or an id leads to: a recording, its evidence, or both."""

    recording: RecordingId | None
    bundle: EvidenceBundle | None
    notes: tuple[str, ...] = ()


@click.group("override", cls=Group)
@common_options
def command() -> None:
    """Say where a recording belongs, against the rules; `decide` and `explain` keep to it."""


@command.command("set")
@_NAMED
@click.option("--crg", required=True, help="Where it belongs.")
@click.option("--rr", help="The release; else the rules choose one of it.")
@click.option("--reason", required=True, help="Why, in your words: shown with the decision.")
@click.option("--offline", is_flag=True, help="Open no socket: cached evidence only.")
@common_options
@pass_session
def set_override(
    session: Session, name: str, crg: str, rr: str | None, reason: str, offline: bool
) -> None:
    """Rule on a recording: by its id, a file that leads to it, or a decision on such a file.

    PATH is an audio file, or an evidence bundle (.json). Ids of MusicBrainz may be bare or the
    addresses of pages; that of a decision is shown by `review`, `write` and `drift`.

    Exit status: 0 kept, 1 no recording can be told, or the release is of another group, 2 what was
    named is neither a file nor an id.
    """
    session.flags |= {"musicbrainz.offline": True} if offline else {}
    words = " ".join(readable(reason).split())
    if not words:
        raise UsageError("--reason is blank: say in a few words why the rules are wrong")
    group = ReleaseGroupId(read_mbid(crg, "release-group"))
    release = ReleaseId(read_mbid(rr, "release")) if rr is not None else None
    named = _decision(session, name) or read_path_or_mbid(name)
    meant = named if isinstance(named, _Meant) else _look_up(session, named)
    ruled = KeptOverride(
        meant.recording or _only(meant, name),
        group,
        release,
        words,
        datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z"),
    )
    if meant.bundle:
        require_home(meant.bundle, ruled)
    before = overrides(session.config)().get(ruled.recording_mbid)
    with open_store(store_url(session.config)) as store:
        affected = [each for each in store.verdicts.reached_by(ruled) if not each.pinned]
        store.overrides.put(ruled)
    others = list_files(each for each in affected if each.crg_mbid != ruled.crg_mbid)
    notes = (
        *meant.notes,
        *(unknown_ids(meant.bundle, ruled) if meant.bundle else ()),
        *([f"{DECIDE_AGAIN}: {others}"] if others else ()),
    )
    if session.as_json:
        line = msgspec.to_builtins(ruled) | {"in_place_of": before, "notes": notes}
        click.echo(msgspec.json.encode(line))
        return
    for text in (
        *override_lines(ruled, OverrideEffect(bundle=meant.bundle)),
        *_changes(before, notes),
    ):
        click.echo(harmless(text))


@command.command("list")
@click.argument("name", metavar="[PATH_OR_ID]", required=False, type=click.Path(path_type=str))
@click.option("--offline", is_flag=True, help="Open no socket: cached evidence only.")
@common_options
@pass_session
def list_overrides(session: Session, name: str | None, offline: bool) -> None:
    """Print every override, the oldest first, or the one that holds for a file or an id.

    Names are those of the evidence in the store; files are those decided that it holds for.

    Exit status: 0, 1 none is kept for what was named, 2 that is neither a file nor an id.
    """
    session.flags |= {"musicbrainz.offline": True} if offline else {}
    kept = overrides(session.config)()
    listed = tuple(kept.values()) if name is None else (_kept_for(session, name, kept),)
    if listed:
        _print(session, sorted(listed, key=lambda one: one.set_at_utc))
    elif not session.as_json:
        click.echo("no overrides: `canon override set` makes one")


def _print(session: Session, listed: Iterable[KeptOverride]) -> None:
    with store_and_kept_evidence(session.config) as (store, evidence):
        for number, ruled in enumerate(listed):
            known = override_effect(store, ruled)
            if known.bundle is None:
                known = OverrideEffect(known.files, evidence(ruled.recording_mbid))
            if session.as_json:
                line = msgspec.to_builtins(ruled) | _in_words(ruled, known)
                click.echo(msgspec.json.encode(line))
                continue
            for text in (*[""] * bool(number), *override_lines(ruled, known)):
                click.echo(harmless(text))


@command.command("remove")
@_NAMED
@click.option("--offline", is_flag=True, help="Open no socket: cached evidence only.")
@common_options
@pass_session
def remove(session: Session, name: str, offline: bool) -> None:
    """Take an override back: the rules decide again, by `canon decide` or `canon batch`.

    Exit status: 0, 1 none is kept for what was named, 2 that is neither a file nor an id.
    """
    session.flags |= {"musicbrainz.offline": True} if offline else {}
    ruled = _kept_for(session, name, overrides(session.config)())
    with open_store(store_url(session.config)) as store:
        resting = decisions_by_override(store, ruled)
        store.overrides.remove(ruled.recording_mbid)
    if session.as_json:
        files = [each.path.decode("utf-8", "replace") for each in resting]
        click.echo(msgspec.json.encode(msgspec.to_builtins(ruled) | {"to_decide_again": files}))
        return
    click.echo("removed:")
    for text in override_lines(ruled):
        click.echo(harmless(text))
    for text in row("note", f"decided by it, so {DECIDE_AGAIN}: {list_files(resting)}"):
        if resting:
            click.echo(harmless(text))


def _kept_for(session: Session, name: str, kept: Mapping[str, KeptOverride]) -> KeptOverride:
    """Return the override that a name leads to. Raises `CanonError` where there is none."""
    ruled = kept.get(bare_id(name))  # whatever is listed is known by its name
    named = ruled.recording_mbid if ruled else _decision(session, name) or read_path_or_mbid(name)
    if isinstance(named, str):
        ruled = kept.get(named)
    elif kept:
        meant = named if isinstance(named, _Meant) else _look_up(session, named)
        ruled = (meant.bundle and override_for(meant.bundle, kept)) or kept.get(
            meant.recording or ""
        )
    if ruled is None:
        raise CanonError(f"no override is kept for {readable(name)}; see `canon override list`")
    return ruled


def _in_words(ruled: KeptOverride, known: OverrideEffect) -> dict[str, object]:
    group, _ = found(known.bundle, ruled.crg_mbid, ruled.rr_mbid)
    return {
        "name": known.bundle.name if known.bundle else None,
        "crg_title": group.title if group else None,
        "files": [path.decode("utf-8", "replace") for path in known.files],
    }


def _decision(session: Session, name: str) -> _Meant | None:
    """Return what a kept decision was made on, if one has that name and no file has."""
    if not is_new_id(name) or Path(name).exists():
        return None
    with open_store(store_url(session.config)) as store:
        kept = store.decisions.by_id(name)
        return _meant_by(kept, stored_bundle(store, kept)) if kept else None


def _meant_by(kept: KeptDecision, bundle: EvidenceBundle | None) -> _Meant:
    known = bare_id(kept.recording_mbid or "")
    return _Meant(RecordingId(known) if MBID.fullmatch(known) else None, bundle)


def _look_up(session: Session, named: str | Path) -> _Meant:
    if isinstance(named, str):
        recording = RecordingId(named)
        return _Meant(recording, kept_evidence(session.config, recording))
    if named.suffix.casefold() == ".json":
        return _Meant(None, bundle_at(str(named)))
    with evidence_for_files(session.config) as gather:
        try:
            return _Meant(None, gather(named))
        except LookupFailedError as error:
            tagged = tagged_recording(named)
            if tagged is None:
                raise
            return _Meant(tagged, None, (f"the ids could not be held against evidence: {error}",))


def _only(meant: _Meant, named: str) -> RecordingId:
    if meant.bundle is None:
        raise CanonError(f"{readable(named)} leads to no recording")
    try:
        return recording_meant(meant.bundle)
    except CanonError as error:
        raise CanonError(f"{readable(named)}: {error}") from error


def override_lines(ruled: KeptOverride, known: OverrideEffect = _NOTHING) -> Iterator[str]:
    """Yield an override as a short block, with the names and files that are `known`."""
    group, release = found(known.bundle, ruled.crg_mbid, ruled.rr_mbid)
    yield page("recording", ruled.recording_mbid)
    if known.bundle:
        yield from row("recording", known.bundle.name)
    yield from _called("belongs to", group_name(group) if group else None)
    yield from row("" if group else "belongs to", page("release-group", ruled.crg_mbid))
    yield from _called("release", release_name(release) if release else None)
    where = page("release", ruled.rr_mbid) if ruled.rr_mbid else "by the rules"
    yield from row("" if release else "release", where)
    yield from row("because", ruled.reason)
    yield from row("set at", ruled.set_at_utc)
    for number, path in enumerate(known.files):
        yield from row("" if number else "files", path.decode("utf-8", "replace"))


def _called(label: str, name: str | None) -> Iterator[str]:
    return row(label, name) if name else iter(())


def _changes(before: KeptOverride | None, notes: tuple[str, ...]) -> Iterator[str]:
    if before:
        where = page("release-group", before.crg_mbid)
        yield from row("in place of", f"{where} ({before.reason})")
    for note in notes:
        yield from row("note", note)
