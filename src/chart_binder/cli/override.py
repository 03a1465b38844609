"""`canon override`: a person's verdict on a recording, against the rules."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import click
import msgspec

from chart_binder.cli.decide import read_bundle_file
from chart_binder.cli.decision_text import (
    find_entities,
    group_name,
    musicbrainz_page,
    release_name,
)
from chart_binder.cli.options import (
    PATH,
    Session,
    flag,
    group,
    pass_session,
    read_mbid,
    read_path_or_mbid,
)
from chart_binder.cli.output import labelled, labelled_list, one_line, print_lines
from chart_binder.domain.evidence import EvidenceBundle
from chart_binder.domain.records import is_new_id, local_time, now_utc
from chart_binder.domain.verdict import OverrideRecord
from chart_binder.domain.vocabulary import MBID, RecordingId, ReleaseGroupId, ReleaseId, bare_id
from chart_binder.errors import CanonError, LookupFailedError, NothingFoundError, UsageError
from chart_binder.files import path_text
from chart_binder.jobs.decide import override_for
from chart_binder.jobs.overrides import (
    DECIDE_AGAIN,
    OverrideEffect,
    decisions_by_override,
    list_files,
    override_effect,
    recording_meant,
    require_home,
    require_related,
    unknown_ids,
)
from chart_binder.jobs.stored_decisions import stored_bundle
from chart_binder.wiring import (
    look_up_group,
    look_up_home,
    recording_evidence,
    store_and_evidence,
    store_and_kept_evidence,
    tagged_recording,
)

_NEEDS_BOTH = "give both --crg ID (`canon review show` or `explain` has the ids) and --reason TEXT"
_UNCHECKED = "the ids could not be held against evidence: {}"
_NAME = click.argument("name", metavar="PATH_OR_ID", type=PATH)
FORCE = flag(
    "--force", "Also where the group seems to be of other music, or the release of another group."
)


@dataclass(frozen=True, slots=True)
class _Subject:
    """What a path or an id leads to: a recording, its evidence, or both."""

    recording: RecordingId | None
    bundle: EvidenceBundle | None
    notes: tuple[str, ...] = ()


@group("override")
def override() -> None:
    """Say where a recording belongs, against the rules; `decide` and `explain` keep to it."""


@override.command("set")
@_NAME
@click.option("--crg", help="Where it belongs (required): `canon review show` has the ids.")
@click.option("--rr", help="The release; else the rules choose one of it.")
@click.option("--reason", help="Why, in your words (required): shown with the decision.")
@FORCE
@pass_session
def set_override(
    session: Session, name: str, crg: str | None, rr: str | None, reason: str | None, *, force: bool
) -> None:
    """Say where a recording belongs: named by its id, a file of it, or a decision on one.

    PATH is an audio file, or an evidence bundle (.json). Ids of MusicBrainz may be bare or the
    addresses of pages; that of a decision is shown by `review`, `write` and `drift`.

    A release group that MusicBrainz does not list the recording on, and of which neither artist nor
    title fits, is refused without --force; so is a release that is of another group.

    Exit status: 0 the override is kept; 1 no recording was found, the release is of another group,
    or the group has nothing to do with the recording; 2 what was named is neither a file nor an id.
    """
    if crg is None or reason is None:
        raise UsageError(_NEEDS_BOTH)
    words = one_line(reason)
    if not words:
        raise UsageError("--reason is blank: say in a few words why the rules are wrong")
    group = ReleaseGroupId(read_mbid(crg, "release-group"))
    release = ReleaseId(read_mbid(rr, "release")) if rr is not None else None
    subject = _decision(session, name) or _look_up(session, read_path_or_mbid(name), asks=True)
    recording = subject.recording or _only_recording(subject, name)
    kept = OverrideRecord(recording, group, release, words, now_utc())
    checked = check_ids(session, subject.bundle, group, release, force=force)
    if subject.bundle:
        require_home(subject.bundle, group, release)
    before = session.overrides.get(kept.recording_mbid)
    with session.open_store() as store:
        decisions = [each for each in store.verdicts.reached_by(kept) if not each.pinned]
        store.overrides.put(kept)
    others = list_files(each for each in decisions if each.crg_mbid != kept.crg_mbid)
    notes = (
        *subject.notes,
        *checked,
        *(unknown_ids(subject.bundle, kept) if subject.bundle else ()),
        *([f"{DECIDE_AGAIN}: {others}"] if others else ()),
    )
    lines = list(override_lines(kept, OverrideEffect(bundle=subject.bundle)))
    if before:
        where = musicbrainz_page("release-group", before.crg_mbid)
        lines += labelled("in place of", f"{where} ({before.reason})")
    for note in notes:
        lines += labelled("note", note)
    session.show(msgspec.to_builtins(kept) | {"in_place_of": before, "notes": notes}, lines)


@override.command("list")
@click.argument("name", metavar="[PATH_OR_ID]", required=False, type=PATH)
@pass_session
def list_overrides(session: Session, name: str | None) -> None:
    """Print every override, the oldest first, or the one that holds for a file or an id.

    Names are those of the evidence in the store; files are those decided that it holds for.

    Exit status: 0, 1 none is kept for what was named, 2 that is neither a file nor an id.
    """
    all_kept = session.overrides
    listed = [*all_kept.values()] if name is None else [_override_named(session, name, all_kept)]
    if not listed:
        if not session.as_json:
            print_lines(["no overrides: `canon override set` makes one"])
        return
    listed.sort(key=lambda one: one.set_at_utc)
    with store_and_kept_evidence(session.config) as (store, evidence):
        for number, kept in enumerate(listed):
            known = override_effect(store, kept)
            if known.bundle is None:
                known = OverrideEffect(known.files, evidence(kept.recording_mbid))
            group, _ = find_entities(known.bundle, kept.crg_mbid, kept.rr_mbid)
            fields = msgspec.to_builtins(kept) | {
                "name": known.bundle.name if known.bundle else None,
                "crg_title": group.title if group else None,
                "files": [path_text(path) for path in known.files],
            }
            session.show(fields, (*[""] * bool(number), *override_lines(kept, known)))


@override.command("remove")
@_NAME
@pass_session
def remove(session: Session, name: str) -> None:
    """Take an override back: the rules decide again, by `canon decide` or `canon batch`.

    Exit status: 0, 1 none is kept for what was named, 2 that is neither a file nor an id.
    """
    kept = _override_named(session, name, session.overrides)
    with session.open_store() as store:
        decisions = decisions_by_override(store, kept)
        store.overrides.remove(kept.recording_mbid)
    files = [path_text(each.path) for each in decisions]
    lines = ["removed:", *override_lines(kept, OverrideEffect())]
    if decisions:
        lines += labelled("note", f"decided by it, so {DECIDE_AGAIN}: {list_files(decisions)}")
    session.show(msgspec.to_builtins(kept) | {"to_decide_again": files}, lines)


def check_ids(
    session: Session, bundle: EvidenceBundle | None, crg: str, rr: str | None, *, force: bool
) -> tuple[str, ...]:
    """Check that a release group has to do with a recording, and that a release is of the group.

    Returns remarks on what could not be checked. Raises `CanonError` if not, unless `force`.
    """
    if force or bundle is None:
        return ()
    related = require_related(bundle, crg, partial(look_up_group, session.config))
    return (*related, *require_home(bundle, crg, rr, partial(look_up_home, session.config)))


def _override_named(
    session: Session, name: str, kept: Mapping[str, OverrideRecord]
) -> OverrideRecord:
    found = kept.get(bare_id(name))  # also an id that is no UUID, as it is listed
    if found is None:
        named = _decision(session, name) or read_path_or_mbid(name)
        if isinstance(named, str):
            found = kept.get(named)
        elif kept:
            subject = named if isinstance(named, _Subject) else _look_up(session, named)
            found = (subject.bundle and override_for(subject.bundle, kept)) or kept.get(
                subject.recording or ""
            )
    if found is None:
        raise CanonError(f"no override is kept for {path_text(name)}; see `canon override list`")
    return found


def _decision(session: Session, name: str) -> _Subject | None:
    """Return what a stored decision is about, if it has that id and no file has that name."""
    if not is_new_id(name) or Path(name).exists():
        return None
    with session.open_store() as store:
        kept = store.decisions.by_id(name)
        if kept is None:
            return None
        recording = bare_id(kept.recording_mbid or "")
        known = RecordingId(recording) if MBID.fullmatch(recording) else None
        return _Subject(known, stored_bundle(store, kept))


def _look_up(session: Session, named: str | Path, *, asks: bool = False) -> _Subject:
    """Return what an id of a recording or the path of a file leads to. Raises `CanonError`.

    Only if `asks` MusicBrainz is asked about an id.
    """
    if isinstance(named, str):
        recording = RecordingId(named)
        with store_and_kept_evidence(session.config) as (_, evidence):
            found = evidence(recording)
        try:
            return _Subject(
                recording,
                recording_evidence(session.config, recording) if asks and not found else found,
            )
        except (LookupFailedError, NothingFoundError) as error:
            return _Subject(recording, None, (_UNCHECKED.format(error),))
    if named.suffix.casefold() == ".json":
        return _Subject(None, read_bundle_file(str(named)))
    with store_and_evidence(session.config) as (_, gather):
        try:
            return _Subject(None, gather(named))
        except (LookupFailedError, NothingFoundError) as error:
            tagged = tagged_recording(named)
            if tagged is None:
                raise
            return _Subject(tagged, None, (_UNCHECKED.format(error),))


def _only_recording(subject: _Subject, name: str) -> RecordingId:
    if subject.bundle is None:
        raise CanonError(f"{path_text(name)} leads to no recording")
    try:
        return recording_meant(subject.bundle)
    except CanonError as error:
        raise CanonError(f"{path_text(name)}: {error}") from error


def override_lines(kept: OverrideRecord, known: OverrideEffect) -> Iterator[str]:
    """Yield an override as a short block, with the names and files that are `known`."""
    group, release = find_entities(known.bundle, kept.crg_mbid, kept.rr_mbid)
    yield musicbrainz_page("recording", kept.recording_mbid)
    if known.bundle:
        yield from labelled("recording", known.bundle.name)
    page = musicbrainz_page("release-group", kept.crg_mbid)
    yield from labelled_list("belongs to", [group_name(group), page] if group else [page])
    page = musicbrainz_page("release", kept.rr_mbid) if kept.rr_mbid else "by the rules"
    yield from labelled_list("release", [release_name(release), page] if release else [page])
    yield from labelled("because", kept.reason)
    yield from labelled("set at", local_time(kept.set_at_utc))
    yield from labelled_list("files", (path_text(path) for path in known.files))
