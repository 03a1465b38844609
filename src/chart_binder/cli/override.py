"""`canon override`: set, list and remove what a person decides about recordings."""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path

import click
import msgspec

from chart_binder import wiring
from chart_binder.cli import options, output
from chart_binder.cli.decide import read_bundle_file
from chart_binder.cli.review_text import override_lines
from chart_binder.domain.evidence import EvidenceBundle
from chart_binder.domain.evidence_json import with_recordings
from chart_binder.domain.records import is_new_id, now_utc
from chart_binder.domain.verdict import OverrideRecord
from chart_binder.domain.vocabulary import MBID, RecordingId, bare_id, minutes
from chart_binder.errors import CanonError, LookupFailedError, NothingFoundError, UsageError
from chart_binder.files import path_text
from chart_binder.jobs import named_records, overrides
from chart_binder.jobs.named_records import (
    IN_TERMINAL,
    Confirm,
    NamedRecord,
    date_of_new_group,
    name_records,
    read_mbid,
)
from chart_binder.jobs.pipeline import override_for
from chart_binder.jobs.stored_decisions import stored_bundle
from chart_binder.jobs.wording import musicbrainz_page


def _read_first_date(ctx: click.Context, param: click.Parameter, text: str | None) -> str | None:
    del ctx, param
    if text is None:
        return None
    try:
        return named_records.read_first_date(text, now_utc())
    except UsageError as error:
        raise UsageError(f"--first: {error}") from error


def mbid_option(
    names: str, about: str, entity: str
) -> Callable[[Callable[..., object]], Callable[..., object]]:
    """Return an option for a MusicBrainz id, given bare or as an address."""

    def read(ctx: click.Context, param: click.Parameter, text: str | None) -> str | None:
        del ctx, param
        return None if text is None else read_mbid(text, entity)

    return options.option(names, about, callback=read)


answer_options = options.together(
    options.option(
        "--first DATE",
        "When it first came out: YYYY, YYYY-MM or YYYY-MM-DD.",
        into="first_date",
        callback=_read_first_date,
    ),
    mbid_option(
        "--same-as RECORDING",
        "Another recording at MusicBrainz of the same performance.",
        "recording",
    ),
)
check_options = options.together(
    options.flag("--yes", "Store records that were looked up at MusicBrainz without asking."),
    options.flag(
        "--force",
        "Store even a group that seems to be other music, or a release that seems to be of another"
        " group.",
    ),
)


def confirming(session: options.Session, *, yes: bool) -> Confirm:
    """Return a function that asks the person to confirm a record, if there is a terminal."""
    is_terminal = sys.stdin.isatty() and sys.stderr.isatty()
    return confirm if is_terminal and not (yes or session.as_json) else refuse_doubtful


def refuse_doubtful(records: Sequence[NamedRecord], problem: str | None) -> None:
    """Raise `CanonError` if a record or a date seems wrong."""
    if problem:
        doubtful = "id" if records else "date"
        raise CanonError(f"{problem}; check the {doubtful}, or store it anyway with --force")


def confirm(records: Sequence[NamedRecord], problem: str | None) -> None:
    """Show the records, and ask the person to confirm. Raises `CanonError` unless they do."""
    output.print_lines(chain.from_iterable(map(output.wrap, map(str, records))), err=True)
    question = f"{problem}; store it anyway?" if problem else "store it?"
    answer = click.prompt(f"{question} (y, Enter: no)", default="", show_default=False, err=True)
    if answer.strip().casefold() != "y":
        raise CanonError("nothing was stored")


_dry_option = options.flag(
    "--dry-run", "is_dry", "Show what would be done, and store only what was looked up."
)
_SUBJECT = click.argument("name", metavar="PATH_OR_ID", type=options.PATH_OR_ID)


@dataclass(frozen=True, slots=True)
class _Subject:
    """The recording that a path or an id names, or its evidence, or both."""

    recording: RecordingId | None
    bundle: EvidenceBundle | None
    notes: tuple[str, ...] = ()


@options.group("override")
def override() -> None:
    """Set the record or date of a recording yourself; this precedes the rules."""


@override.command("set")
@_SUBJECT
@mbid_option(
    "--crg", "The release group it belongs to; `canon review show` has the ids.", "release-group"
)
@mbid_option("--rr", "The release of that group; by default the rules choose one.", "release")
@options.option("--reason", "Your reason, which is shown with the decision.", default="")
@answer_options
@check_options
@_dry_option
@options.pass_session
def set_override(
    session: options.Session,
    name: str,
    reason: str,
    *,
    yes: bool,
    force: bool,
    is_dry: bool,
    **answers: str | None,
) -> None:
    """Set the record, the first date, or another recording of the same performance.

    PATH_OR_ID is an audio file, an evidence bundle (.json), or the id of a recording or a decision.
    What an earlier override says stays, unless you set it anew. Ids of MusicBrainz may be bare or
    the addresses of pages; `review`, `write` and `drift` show the ids of decisions.

    A record that the evidence lacks is looked up at MusicBrainz and shown; on a terminal you are
    asked to confirm it. Only with --force can you set a recording by another artist, a release
    group whose artist and title both do not match, or a release of another group.

    You are also asked to confirm a date that is later than a listed release; --yes or --force
    stores it. If the evidence lacks a release group, its track of the song counts with its dates.
    If it has no such track, its date does not count without --first.

    Exit status: 0 the override is stored; 1 no recording was found, an id does not fit, or the same
    recording cannot be looked up; 2 PATH_OR_ID is neither a file nor an id, or a date is not valid.
    """
    crg, rr = answers.pop("crg"), answers.pop("rr")
    if not (crg or any(answers.values())):
        raise UsageError("say what is right: --crg ID (its record), --first DATE or --same-as ID")
    if rr and not crg:
        raise UsageError("--rr names a release of the group that --crg names: give both")
    if is_dry:
        session.create_no_store()
    subject = _subject_of_decision(session, name) or _look_up(
        session, options.read_path_or_mbid(name), asks=True, force=force
    )
    recording = subject.recording or _recording_of(subject, name)
    choice = named_records.PersonChoice(crg, rr, recording_mbid=recording, **answers)
    record, notes = _override_for(session, subject.bundle, choice, reason, yes=yes, force=force)
    has_to_decide = _save(session, subject, record, notes, is_dry=is_dry)
    if Path(name).exists() and not is_dry:
        output.print_next(output.canon_call("decide" if has_to_decide else "write", name))


def _override_for(
    session: options.Session,
    bundle: EvidenceBundle | None,
    choice: named_records.PersonChoice,
    reason: str,
    *,
    yes: bool,
    force: bool,
) -> tuple[OverrideRecord, tuple[str, ...]]:
    """Return the override for a person's choice, with notes. Raises `CanonError`.

    A group that the evidence lacks is looked up. If it has no track of the song, a note says how to
    keep its date all the same.
    """
    lookups, confirm = wiring.record_lookups(session.config), confirming(session, yes=yes)
    choice, notes = name_records(lookups, bundle, choice, confirm, force=force, yes=yes)
    recording = RecordingId(choice.recording_mbid or "")
    record = choice.override(recording, output.one_line(reason))
    if bundle is None:
        return record, notes
    if choice.crg_mbid:
        named_records.require_same_group(bundle, choice.crg_mbid, choice.rr_mbid)
    try:
        track = wiring.placed_recording(session.config, bundle, record)
    except LookupFailedError:  # a note says so already
        track = None
    if track:
        length = minutes(track.length_ms) if track.length_ms else "length unknown"
        notes = (*notes, f"its track {track.title!r} ({length}) counts as the recording")
        bundle = with_recordings(bundle, [track])
    elif not record.amending(session.overrides.get(recording)).first_date and (
        date := date_of_new_group(lookups, bundle, choice)
    ):
        notes = (
            *notes,
            f"it has no track of this title; --first {date} says it came out there",
        )
    return record, (*notes, *overrides.unknown_ids(bundle, record))


def _save(
    session: options.Session,
    subject: _Subject,
    new: OverrideRecord,
    notes: tuple[str, ...],
    *,
    is_dry: bool,
) -> bool:
    """Store an override unless this is a dry run, and show it with the one that it replaces.

    Return whether files have to be decided again.
    """
    before = session.overrides.get(new.recording_mbid)
    new = new.amending(before)
    with session.open_store() as store:
        to_decide = [*overrides.to_decide_again(store, new)]
        if not is_dry:
            store.overrides.put(new)
    notes = (*subject.notes, *notes, *overrides.unchanged_parts(new, before), *to_decide)
    lines = ["not stored: --dry-run" if is_dry else "stored:"]
    lines += override_lines(new, overrides.OverrideEffect(bundle=subject.bundle))
    if before:
        lines += output.labelled("in place of", _summary(before))
    lines += output.labelled_list("note", notes)
    fields = {"in_place_of": before, "notes": notes, "dry_run": is_dry}
    session.show(msgspec.to_builtins(new) | fields, lines)
    return bool(to_decide)


@override.command("list")
@click.argument("name", metavar="[PATH_OR_ID]", required=False, type=options.PATH_OR_ID)
@options.pass_session
def list_overrides(session: options.Session, name: str | None) -> None:
    """Print every override, the oldest first, or the one for a file or an id.

    Names come from the stored evidence; only decided files are listed.

    Exit status: 0 success, 1 there is no such override, 2 PATH_OR_ID is neither a file nor an id.
    """
    stored = session.overrides
    listed = [*stored.values()] if name is None else [_override_named(session, name, stored)]
    if not listed:
        if not session.as_json:
            output.print_lines(["no overrides are stored"])
        output.print_next("canon override set PATH --crg ID")
        return
    listed.sort(key=lambda record: record.set_at_utc)
    with session.open_store() as store:
        for number, record in enumerate(listed):
            effect = overrides.override_effect(store, record)
            if effect.bundle is None:
                bundle = wiring.stored_evidence(session.config, store, record.recording_mbid)
                effect = overrides.OverrideEffect(effect.files, bundle)
            groups = effect.bundle.groups if effect.bundle else ()
            titles = {str(group.mb_rg_id): group.title for group in groups}
            fields = msgspec.to_builtins(record) | {
                "name": effect.bundle.name if effect.bundle else None,
                "crg_title": titles.get(record.crg_mbid or ""),
                "files": [path_text(path) for path in effect.files],
            }
            session.show(fields, (*[""] * bool(number), *override_lines(record, effect)))


@override.command("remove")
@_SUBJECT
@_dry_option
@options.pass_session
def remove(session: options.Session, name: str, *, is_dry: bool) -> None:
    """Remove an override at once; --dry-run previews it.

    The rules decide again with the next `canon decide` or `canon batch`.

    Exit status: 0 success, 1 there is no such override, 2 PATH_OR_ID is neither a file nor an id.
    """
    if is_dry:
        session.create_no_store()
    record = _override_named(session, name, session.overrides)
    with session.open_store() as store:
        decisions = overrides.decisions_by_override(store, record)
        bundle = overrides.override_effect(store, record).bundle
        if not is_dry:
            store.overrides.remove(record.recording_mbid)
    files = [path_text(decision.path) for decision in decisions]
    lines = [
        "would be removed:" if is_dry else "removed:",
        *override_lines(record, overrides.OverrideEffect(bundle=bundle)),
    ]
    if decisions:
        lines += output.labelled(
            "note", f"decided by it, so {overrides.DECIDE_AGAIN}: {overrides.list_files(decisions)}"
        )
    fields = {"to_decide_again": files, "dry_run": is_dry}
    session.show(msgspec.to_builtins(record) | fields, lines)
    if files and not is_dry and Path(name).exists():
        output.print_next(output.canon_call("decide", name))


def _override_named(
    session: options.Session, name: str, stored_overrides: Mapping[str, OverrideRecord]
) -> OverrideRecord:
    match = stored_overrides.get(bare_id(name))  # may be an id that is not a UUID, as listed
    if match is None:
        target = _subject_of_decision(session, name) or options.read_path_or_mbid(name)
        if isinstance(target, str):
            find = partial(wiring.current_id, session.config)
            ids, _ = named_records.current_ids({"recording_mbid": target}, None, find)
            recording = ids["recording_mbid"]
            match = stored_overrides.get(target) or stored_overrides.get(recording)
        elif stored_overrides:
            subject = target if isinstance(target, _Subject) else _look_up(session, target)
            match = stored_overrides.get(subject.recording or "")
            if subject.bundle:
                stored = wiring.MusicBrainzOverrides(session.config)
                match = override_for(subject.bundle, stored_overrides) or match
                match = match or stored.of_merged_recording(subject.bundle)
    if match is None:
        raise CanonError(f"there is no override for {path_text(name)}; see `canon override list`")
    return match


def _subject_of_decision(session: options.Session, name: str) -> _Subject | None:
    """Return the subject of the decision with an id, unless a file has that name."""
    if not is_new_id(name) or Path(name).exists():
        return None
    with session.open_store() as store:
        record = store.decisions.by_id(name)
        if record is None:
            return None
        recording = bare_id(record.recording_mbid or "")
        recording_id = RecordingId(recording) if MBID.fullmatch(recording) else None
        return _Subject(recording_id, stored_bundle(store, record))


def _look_up(
    session: options.Session, target: str | Path, *, asks: bool = False, force: bool = False
) -> _Subject:
    """Return the subject of an id or a path; if `asks`, ask MusicBrainz.

    Raises `CanonError`, also for an id that MusicBrainz lacks unless `force` is set.
    """
    recording = RecordingId(target) if isinstance(target, str) else None
    if not recording and Path(target).suffix.casefold() == ".json":
        return _Subject(None, read_bundle_file(str(target)))
    config = session.config
    try:
        with session.open_store() as store:
            if recording is None:
                look_up = wiring.musicbrainz_evidence(config, store).of([Path(target)])
                return _Subject(None, look_up(Path(target)))
            bundle = wiring.stored_evidence(config, store, recording)
            if asks and not bundle:
                bundle = wiring.recording_evidence(config, store, recording)
            return _Subject(recording, bundle)
    except (LookupFailedError, NothingFoundError) as error:
        if recording and isinstance(error, NothingFoundError) and not force:
            raise CanonError(f"{error}: check the id{IN_TERMINAL.force}") from error
        recording_id = recording or wiring.tagged_recording(Path(target))
        if recording_id is None:
            raise
        return _Subject(
            recording_id, None, (f"the ids could not be compared with the evidence: {error}",)
        )


def _recording_of(subject: _Subject, name: str) -> RecordingId:
    if subject.bundle is None:
        raise CanonError(f"{path_text(name)}: no recording was found")
    try:
        return overrides.recording_meant(subject.bundle)
    except CanonError as error:
        raise CanonError(f"{path_text(name)}: {error}") from error


def _summary(before: OverrideRecord) -> str:
    where = before.crg_mbid and musicbrainz_page("release-group", before.crg_mbid)
    same = before.same_as and musicbrainz_page("recording", before.same_as)
    text = ", ".join(filter(None, (where, before.first_date, same)))
    return f"{text} ({before.reason})" if before.reason else text
