"""`canon override`: a person's last word on a recording, and the records that it names."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path

import click
import msgspec

from chart_binder import wiring
from chart_binder.cli import options, output
from chart_binder.cli.decide import read_bundle_file
from chart_binder.cli.decision_text import musicbrainz_page
from chart_binder.cli.review_text import override_lines
from chart_binder.config import Config
from chart_binder.domain.evidence import EvidenceBundle
from chart_binder.domain.evidence_json import with_recordings
from chart_binder.domain.records import is_new_id, now_utc
from chart_binder.domain.verdict import BY_PERSON, OverrideRecord
from chart_binder.domain.vocabulary import MBID, RecordingId, bare_id, minutes
from chart_binder.errors import CanonError, LookupFailedError, NothingFoundError, UsageError
from chart_binder.files import path_text
from chart_binder.jobs import named_records, overrides
from chart_binder.jobs.named_records import ID_KINDS
from chart_binder.jobs.pipeline import override_for
from chart_binder.jobs.stored_decisions import stored_bundle
from chart_binder.rules.labels import Labels

_LABELS_NAMED = 6
_UNKNOWN = "MusicBrainz knows no {} {}: check the id"
_BY_FORCE = "; --force keeps it all the same"


def _first_date(ctx: click.Context, param: click.Parameter, text: str | None) -> str | None:
    del ctx, param
    if text is None:
        return None
    try:
        return named_records.read_first_date(text, now_utc())
    except UsageError as error:
        raise UsageError(f"--first: {error}") from error


def _same_as(ctx: click.Context, param: click.Parameter, text: str | None) -> str | None:
    del ctx, param
    return None if text is None else options.read_mbid(text, "recording")


said_options = options.together(
    options.option(
        "--first DATE",
        "When it first came out: YYYY, YYYY-MM or YYYY-MM-DD.",
        into="first_date",
        callback=_first_date,
    ),
    options.option(
        "--same-as RECORDING",
        "Another recording at MusicBrainz of the same performance.",
        callback=_same_as,
    ),
)
check_options = options.together(
    options.flag("--yes", "Keep what MusicBrainz was asked about without a question."),
    options.flag(
        "--force",
        "Also where the group seems to be of other music, or the release of another group.",
    ),
)


def asks(session: options.Session, *, yes: bool) -> bool:
    """Return whether the person is asked before what was looked up is kept."""
    return not (yes or session.as_json) and sys.stdin.isatty() and sys.stderr.isatty()


def name_records(
    config: Config,
    bundle: EvidenceBundle | None,
    named: overrides.PersonChoice,
    *,
    asks: bool,
    force: bool,
    yes: bool = False,
    there: bool = False,
) -> tuple[overrides.PersonChoice, tuple[str, ...]]:
    """Return what a person names under the ids of today, with notes; `there` adds its date.

    What the evidence lacks is looked up and shown, and the person is asked if `asks`. Raises
    `CanonError` if it does not fit, and `LookupFailedError` for a recording.
    """
    find = None if force else partial(wiring.current_id, config)
    look_up = partial(wiring.look_up_record, config)
    ids, notes = named_records.current_ids(named_records.named_ids(named), bundle, find)
    named = msgspec.structs.replace(named, **ids)
    if named.same_as and _is_evidence_already(bundle, named):
        raise CanonError(f"the evidence has recording {named.same_as} already, with its releases")
    more, widened = _check_records(config, bundle, ids, asks=asks, force=force)
    notes += more
    if named.first_date:
        is_sure = yes or force
        notes += _check_date(widened, named, asks=asks, is_sure=is_sure)
    if bundle and named.crg_mbid and not force:
        crg, rr = named.crg_mbid, named.rr_mbid
        notes = (*notes, *named_records.require_home(bundle, crg, rr, look_up))
    if there and named.crg_mbid and not named.first_date:
        date = named_records.date_there(bundle, named.crg_mbid, named.rr_mbid, look_up)
        named = msgspec.structs.replace(named, first_date=date)
    return named, notes


def _check_date(
    bundle: EvidenceBundle | None, named: overrides.PersonChoice, *, asks: bool, is_sure: bool
) -> tuple[str, ...]:
    """Return a note on a date that may be wrong. Raises `CanonError` unless the person is sure."""
    date, recording = named.first_date or "", named.recording_mbid
    problem = named_records.why_doubtful(bundle or EvidenceBundle(()), date, recording)
    if problem and not is_sure:
        _confirm([], problem, asks=asks)
    return (f"{problem}: kept all the same",) if problem else ()


def _date_of_new_group(
    config: Config, bundle: EvidenceBundle, named: overrides.PersonChoice
) -> str | None:
    """Return the date of a named group that the evidence lacks, if nothing earlier is listed."""
    groups = named_records.listed_ids(bundle)["release-group"]
    if named.crg_mbid is None or named.crg_mbid in groups:
        return None
    look_up = partial(wiring.look_up_record, config)
    try:
        date = named_records.date_there(bundle, named.crg_mbid, named.rr_mbid, look_up)
    except CanonError:  # it has none, or it cannot be looked up, which a note says
        return None
    is_later = named_records.why_doubtful(bundle, date, named.recording_mbid)
    return None if is_later else date


def _is_evidence_already(bundle: EvidenceBundle | None, named: overrides.PersonChoice) -> bool:
    """Return whether the same recording is that of the file, or evidence that no person added."""
    recordings = bundle.recording_candidates if bundle else ()
    known = {bare_id(one.mb_recording_id) for one in recordings if one.because not in BY_PERSON}
    return named.same_as in {*known, named.recording_mbid}


def _check_records(
    config: Config,
    bundle: EvidenceBundle | None,
    ids: Mapping[str, str],
    *,
    asks: bool,
    force: bool,
) -> tuple[tuple[str, ...], EvidenceBundle | None]:
    """Return what was looked up, as notes, and the evidence with the recording named as the same.

    Raises `CanonError` for what does not fit, and `LookupFailedError` for a recording.
    """
    listed = named_records.listed_ids(bundle) if bundle else {}
    is_checked = bundle is not None and not force
    notes: list[str] = []
    found: list[named_records.NamedRecord] = []
    widened = bundle
    for field, mbid in ids.items():
        is_said = field == "same_as"
        is_listed = mbid in listed.get(ID_KINDS[field], ())
        if is_listed or field == "recording_mbid" or not (is_said or is_checked):
            continue
        try:
            record = wiring.look_up_record(config, ID_KINDS[field], mbid)
            if record and is_said:
                known = bundle or EvidenceBundle(())
                same = wiring.stated_sibling(config, known, RecordingId(mbid))
                widened = with_recordings(known, [same])
        except LookupFailedError as error:
            if is_said:
                raise
            if field == "crg_mbid":
                unchecked = named_records.UNCHECKED
                notes.append(unchecked.format("it has to do with the recording", error))
            continue
        if record:
            found.append(record)
        else:
            advice = "" if is_said else _BY_FORCE
            raise CanonError(_UNKNOWN.format(ID_KINDS[field].replace("-", " "), mbid) + advice)
    reasons = (named_records.why_unrelated(bundle, one) for one in found if is_checked and bundle)
    _confirm(found, next(filter(None, reasons), None), asks=asks)
    return (*notes, *(f"{one}, by MusicBrainz" for one in found)), widened


def _confirm(found: list[named_records.NamedRecord], problem: str | None, *, asks: bool) -> None:
    """Show what was looked up, and ask, or raise `CanonError` for what does not fit."""
    if problem and not asks:
        what = "id" if found else "date"
        raise CanonError(f"{problem}; check the {what}, or keep it all the same with --force")
    if (found or problem) and asks:
        output.print_lines(chain.from_iterable(output.wrap(str(one)) for one in found), err=True)
        question = f"{problem}; keep it all the same?" if problem else "keep it?"
        answer = click.prompt(
            f"{question} (y, Enter: no)", default="", show_default=False, err=True
        )
        if answer.strip().casefold() != "y":
            raise CanonError("nothing was kept")


def read_record(config: Config, labels: Labels, written: str) -> tuple[str, str | None]:
    """Return the release group, and the release, that a label, an id or an address names.

    An id that the evidence lacks is looked up: as a group, then as a release. Raises `CanonError`.
    """
    mbid = labels.ids.get(written.strip().upper())
    is_release = mbid is None and "/release/" in written
    if is_release:
        mbid = options.read_mbid(written, "release")
    mbid = mbid or read_label(labels, written, "release-group")
    if mbid in labels.home:
        return labels.home[mbid], mbid
    if mbid in labels.titles or (not is_release and "/" in written):
        return mbid, None
    try:
        if not is_release and wiring.look_up_record(config, "release-group", mbid):
            return mbid, None
        record = wiring.look_up_record(config, "release", mbid)
    except LookupFailedError:
        if is_release:
            raise
        return mbid, None
    if record and record.home:
        return record.home.mb_rg_id, record.mbid
    if is_release:
        raise CanonError(_UNKNOWN.format("release", mbid))
    return mbid, None


def read_label(labels: Labels, written: str, entity: str) -> str:
    """Return the id of a release group or a release by its label, id or address."""
    of_entity = {
        label: mbid for label, mbid in labels.ids.items() if ("." in label) == (entity == "release")
    }
    label = written.strip().upper()
    if label in of_entity:
        return of_entity[label]
    more = " ..." if len(of_entity) > _LABELS_NAMED else ""
    some = f"one of {', '.join([*of_entity][:_LABELS_NAMED])}{more}, " if of_entity else ""
    return options.read_mbid(written, entity, or_else=some)


_NOT_KEPT = "not kept: --dry-run"
_dry_option = options.flag(
    "--dry-run", "is_dry", "Say what would be done; store at most what was looked up."
)
_SUBJECT = click.argument("name", metavar="PATH_OR_ID", type=options.PATH)


@dataclass(frozen=True, slots=True)
class _Subject:
    """What a path or an id leads to: a recording, its evidence, or both."""

    recording: RecordingId | None
    bundle: EvidenceBundle | None
    notes: tuple[str, ...] = ()


@options.group("override")
def override() -> None:
    """Say where a recording belongs, against the rules; `decide` and `explain` keep to it."""


@override.command("set")
@_SUBJECT
@options.option("--crg", "Where it belongs: `canon review show` has the ids.")
@options.option("--rr", "The release; else the rules choose one of it.")
@options.option("--reason", "Why, in your words: shown with the decision.", default="")
@said_options
@check_options
@_dry_option
@options.pass_session
def set_override(
    session: options.Session,
    name: str,
    crg: str | None,
    rr: str | None,
    reason: str,
    first_date: str | None,
    same_as: str | None,
    *,
    yes: bool,
    force: bool,
    is_dry: bool,
) -> None:
    """Say where a recording belongs, when it first came out, or which other one it is.

    Named by its id, a file of it, or a decision on one. What an earlier override for it says, and
    this one does not, stays. PATH is an audio file, or an evidence bundle (.json). Ids of
    MusicBrainz may be bare or the addresses of pages; that of a decision is shown by `review`,
    `write` and `drift`.

    What the evidence lacks is looked up at MusicBrainz and shown; on a terminal you are asked.
    Without --force a recording by another artist is refused, and so is a release group of which
    neither artist nor title fits, or a release of another group.

    A date later than that of a listed release is asked about, too; --yes or --force keeps it. A
    group that the evidence lacks is read from MusicBrainz, and its track of the song counts with
    its dates. If it has no such track, its date is kept as yours, unless a listed one is earlier.

    Exit status: 0 the override is kept; 1 no recording was found, what was named does not fit, or
    the same recording cannot be looked up; 2 what was named is neither a file nor an id, or is no
    date.
    """
    if not (crg or first_date or same_as):
        raise UsageError("say what is right: --crg, --first or --same-as")
    if rr and not crg:
        raise UsageError("--rr names a release of what --crg names: give both")
    if is_dry:
        session.create_no_store()
    group = options.read_mbid(crg, "release-group") if crg is not None else None
    release = options.read_mbid(rr, "release") if rr is not None else None
    subject = _decision(session, name) or _look_up(
        session, options.read_path_or_mbid(name), asks=True, force=force
    )
    recording = subject.recording or _only_recording(subject, name)
    named = overrides.PersonChoice(group, release, first_date, same_as, recording)
    kept, notes = _override_for(session, subject.bundle, named, reason, yes=yes, force=force)
    if _keep(session, subject, kept, notes, is_dry=is_dry) and Path(name).exists():
        output.print_next(output.canon_call("decide", name))


def _override_for(
    session: options.Session,
    bundle: EvidenceBundle | None,
    named: overrides.PersonChoice,
    reason: str,
    *,
    yes: bool,
    force: bool,
) -> tuple[OverrideRecord, tuple[str, ...]]:
    """Return the override for what a person names, with notes. Raises `CanonError`.

    A group that the evidence lacks is looked up. If it has no track of the song, its date counts
    unless a person gave one.
    """
    flags = {"asks": asks(session, yes=yes), "force": force, "yes": yes}
    named, notes = name_records(session.config, bundle, named, **flags)
    recording = RecordingId(named.recording_mbid or "")
    kept = named.override(recording, output.one_line(reason))
    if bundle is None:
        return kept, notes
    if named.crg_mbid:
        named_records.require_home(bundle, named.crg_mbid, named.rr_mbid)
    try:
        track = wiring.placed_recording(session.config, bundle, kept)
    except LookupFailedError:  # a note says so already
        track = None
    if track:
        length = minutes(track.length_ms) if track.length_ms else "length unknown"
        return kept, (*notes, f"its track {track.title!r} ({length}) counts as the recording")
    if not kept.amending(session.overrides.get(recording)).first_date:
        date = _date_of_new_group(session.config, bundle, named)
        kept = msgspec.structs.replace(kept, first_date=date)
        if date:
            notes = (*notes, f"no track of it has the title: its date {date} is kept as yours")
    return kept, (*notes, *overrides.unknown_ids(bundle, kept))


def _keep(
    session: options.Session,
    subject: _Subject,
    kept: OverrideRecord,
    notes: tuple[str, ...],
    *,
    is_dry: bool,
) -> bool:
    """Store an override, unless this is a dry run, and show it with what it replaces.

    Return whether files are to be decided again.
    """
    before = session.overrides.get(kept.recording_mbid)
    kept = kept.amending(before)
    with session.open_store() as store:
        again = [*overrides.to_decide_again(store, kept)]
        if not is_dry:
            store.overrides.put(kept)
    notes = (*subject.notes, *notes, *overrides.parts_left(kept, before), *again)
    lines = list(override_lines(kept, overrides.OverrideEffect(bundle=subject.bundle)))
    if before:
        lines += output.labelled("in place of", _summary(before))
    lines += output.labelled_list("note", notes)
    lines += [_NOT_KEPT] if is_dry else []
    fields = {"in_place_of": before, "notes": notes, "dry_run": is_dry}
    session.show(msgspec.to_builtins(kept) | fields, lines)
    return bool(again) and not is_dry


@override.command("list")
@click.argument("name", metavar="[PATH_OR_ID]", required=False, type=options.PATH)
@options.pass_session
def list_overrides(session: options.Session, name: str | None) -> None:
    """Print every override, the oldest first, or the one that holds for a file or an id.

    Names are those of the evidence in the store; files are those decided that it holds for.

    Exit status: 0, 1 none is kept for what was named, 2 that is neither a file nor an id.
    """
    all_kept = session.overrides
    listed = [*all_kept.values()] if name is None else [_override_named(session, name, all_kept)]
    if not listed:
        if not session.as_json:
            output.print_lines(["no overrides are stored"])
        output.print_next("canon override set PATH --crg ID")
        return
    listed.sort(key=lambda one: one.set_at_utc)
    with session.open_store() as store:
        for number, kept in enumerate(listed):
            known = overrides.override_effect(store, kept)
            if known.bundle is None:
                bundle = wiring.stored_evidence(session.config, store, kept.recording_mbid)
                known = overrides.OverrideEffect(known.files, bundle)
            groups = known.bundle.groups if known.bundle else ()
            fields = msgspec.to_builtins(kept) | {
                "name": known.bundle.name if known.bundle else None,
                "crg_title": next((x.title for x in groups if x.mb_rg_id == kept.crg_mbid), None),
                "files": [path_text(path) for path in known.files],
            }
            session.show(fields, (*[""] * bool(number), *override_lines(kept, known)))


@override.command("remove")
@_SUBJECT
@_dry_option
@options.pass_session
def remove(session: options.Session, name: str, *, is_dry: bool) -> None:
    """Take an override back: the rules decide again, by `canon decide` or `canon batch`.

    Exit status: 0, 1 none is kept for what was named, 2 that is neither a file nor an id.
    """
    if is_dry:
        session.create_no_store()
    kept = _override_named(session, name, session.overrides)
    with session.open_store() as store:
        decisions = overrides.decisions_by_override(store, kept)
        bundle = overrides.override_effect(store, kept).bundle
        if not is_dry:
            store.overrides.remove(kept.recording_mbid)
    files = [path_text(each.path) for each in decisions]
    lines = [
        "would be removed:" if is_dry else "removed:",
        *override_lines(kept, overrides.OverrideEffect(bundle=bundle)),
    ]
    if decisions:
        lines += output.labelled(
            "note", f"decided by it, so {overrides.DECIDE_AGAIN}: {overrides.list_files(decisions)}"
        )
    fields = {"to_decide_again": files, "dry_run": is_dry}
    session.show(msgspec.to_builtins(kept) | fields, lines)
    if files and not is_dry and Path(name).exists():
        output.print_next(output.canon_call("decide", name))


def _override_named(
    session: options.Session, name: str, kept: Mapping[str, OverrideRecord]
) -> OverrideRecord:
    found = kept.get(bare_id(name))  # also an id that is no UUID, as it is listed
    if found is None:
        named = _decision(session, name) or options.read_path_or_mbid(name)
        if isinstance(named, str):
            find = partial(wiring.current_id, session.config)
            ids, _ = named_records.current_ids({"recording_mbid": named}, None, find)
            recording = ids["recording_mbid"]
            found = kept.get(named) or kept.get(recording)
        elif kept:
            subject = named if isinstance(named, _Subject) else _look_up(session, named)
            found = kept.get(subject.recording or "")
            if subject.bundle:
                stored = wiring.MusicBrainzOverrides(session.config)
                found = override_for(subject.bundle, kept) or found
                found = found or stored.of_merged_recording(subject.bundle)
    if found is None:
        raise CanonError(f"no override is kept for {path_text(name)}; see `canon override list`")
    return found


def _decision(session: options.Session, name: str) -> _Subject | None:
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


def _look_up(
    session: options.Session, named: str | Path, *, asks: bool = False, force: bool = False
) -> _Subject:
    """Return what an id or a path leads to; if it `asks`, MusicBrainz.

    Raises `CanonError`, also for an id that MusicBrainz does not know, except with `force`.
    """
    recording = RecordingId(named) if isinstance(named, str) else None
    if not recording and Path(named).suffix.casefold() == ".json":
        return _Subject(None, read_bundle_file(str(named)))
    config = session.config
    try:
        with session.open_store() as store:
            if recording is None:
                look_up = wiring.musicbrainz_evidence(config, store).of([Path(named)])
                return _Subject(None, look_up(Path(named)))
            found = wiring.stored_evidence(config, store, recording)
            if asks and not found:
                found = wiring.recording_evidence(config, store, recording)
            return _Subject(recording, found)
    except (LookupFailedError, NothingFoundError) as error:
        if recording and isinstance(error, NothingFoundError) and not force:
            raise CanonError(f"{error}: check the id{_BY_FORCE}") from error
        known = recording or wiring.tagged_recording(Path(named))
        if known is None:
            raise
        return _Subject(known, None, (f"the ids could not be held against evidence: {error}",))


def _only_recording(subject: _Subject, name: str) -> RecordingId:
    if subject.bundle is None:
        raise CanonError(f"{path_text(name)} leads to no recording")
    try:
        return overrides.recording_meant(subject.bundle)
    except CanonError as error:
        raise CanonError(f"{path_text(name)}: {error}") from error


def _summary(before: OverrideRecord) -> str:
    where = before.crg_mbid and musicbrainz_page("release-group", before.crg_mbid)
    same = before.same_as and musicbrainz_page("recording", before.same_as)
    said = ", ".join(filter(None, (where, before.first_date, same)))
    return f"{said} ({before.reason})" if before.reason else said
