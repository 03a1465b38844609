"""Turn MusicBrainz' recordings and releases into evidence and tags, and compare recordings.

A remaster, a duplicate or the copy on a compilation often has its own id though it is the same
performance; a live take has its own id because it is another performance.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby

import msgspec
from msgspec.structs import replace

from chart_binder.domain.dates import LAST_DAY, PartialDate
from chart_binder.domain.evidence import (
    Artist,
    EvidenceBundle,
    RecordingCandidate,
    RecordingFlags,
    Release,
    ReleaseGroup,
)
from chart_binder.domain.remarks import REMASTER, remarks_in, set_off
from chart_binder.domain.song_titles import part_of, without_noise
from chart_binder.domain.tags import ReleaseTrack, WholeRelease
from chart_binder.domain.title_words import VERSIONS
from chart_binder.domain.vocabulary import (
    NO_COUNTRIES,
    ArtistId,
    RecordingId,
    isrc,
    minutes,
    type_names,
)
from chart_binder.musicbrainz import web_service as ws
from chart_binder.musicbrainz.matching import (
    credited_words,
    first_artist,
    without_remarks,
    words_of,
)
from chart_binder.musicbrainz.web_service import Recording, partial_date


def candidate_of(
    recording: ws.Recording, releases: Iterable[ws.MBRelease], home: str | None
) -> RecordingCandidate:
    """Return a recording with its releases as evidence; `home` is the artist's country."""
    return RecordingCandidate(
        mb_recording_id=recording.id,
        title=recording.title,
        length_ms=recording.length_ms,
        isrcs=recording.isrc_list,
        disambiguation=recording.disambiguation or None,
        first_release_date=partial_date(recording.first_release_date).text or None,
        rg_candidates=release_groups(releases, home, recording.artist_credit_phrase),
    )


def release_groups(
    releases: Iterable[ws.MBRelease], home: str | None, credit: str | None = None
) -> tuple[ReleaseGroup, ...]:
    """Return releases as evidence, grouped by release group; `home` is the artist's country.

    `credit` is the recording's. A group with another credit includes the ids of its artists,
    because a name alone may not show whose record it is.
    """
    groups: dict[str, list[ws.MBRelease]] = {}
    for release in releases:
        groups.setdefault(release.release_group.id, []).append(release)
    return tuple(_group(members, home, credit) for members in groups.values())


_MUCH_LATER_DAYS = 730
"""Two years, far more than the default lead window of 90 days."""


def editions_of(candidates: Iterable[RecordingCandidate]) -> Iterator[Release]:
    """Yield the releases of recordings, in any group."""
    groups = (group for candidate in candidates for group in candidate.groups)
    return (edition for group in groups for edition in group.editions)


def out_by(candidates: Iterable[RecordingCandidate]) -> int:
    """Return the day (an ordinal) by which an official release of a candidate was out."""
    official = (edition for edition in editions_of(candidates) if edition.is_official)
    return min((edition.when.last for edition in official), default=LAST_DAY)


def is_much_later(recording: ws.Recording, day: int) -> bool:
    """Whether a recording came out so long after a day that it cannot change a decision."""
    return partial_date(recording.first_release_date).first > day + _MUCH_LATER_DAYS


def _group(members: list[ws.MBRelease], home: str | None, credit: str | None) -> ReleaseGroup:
    group = members[0].release_group
    tells_enough = group.artist_credit_phrase in (credit, "Various Artists") or credit is None
    return ReleaseGroup(
        mb_rg_id=group.id,
        title=group.title,
        artist_credit=group.artist_credit_phrase,
        artist_ids=None if tells_enough else group.artist_ids or None,
        primary_type=group.primary_type,
        secondary_types=tuple(filter(None, group.secondary_type_list)),
        first_release_date=partial_date(group.first_release_date).text or None,
        labels=tuple(sorted({name for release in members for name in _label_names(release)})),
        countries=tuple(
            sorted({code for release in members for _, code in _events(release) if code})
        ),
        releases=tuple(_release(release, home) for release in members),
    )


def _release(release: ws.MBRelease, home: str | None) -> Release:
    date, country = _first_event(release, home)
    numbers = (info.catalog_number for info in release.label_info_list)
    return Release(
        mb_release_id=release.id,
        title=release.title,
        date=date.text or None,
        country=country,
        status=release.status or None,
        label=next(_label_names(release), None),
        catno=next(filter(None, numbers), None),
        format=_format(release),
        disambiguation=release.disambiguation or None,
        artist_credit=release.artist_credit_phrase,
    )


def _label_names(release: ws.MBRelease) -> Iterator[str]:
    return (info.label.name for info in release.label_info_list if info.label and info.label.name)


def _first_event(release: ws.MBRelease, home: str | None) -> tuple[PartialDate, str | None]:
    """Return the date and country of a release's first event; a full date precedes its bare year.

    If there are several countries on that day, prefer the artist's, else take the first.
    """
    events = list(_events(release))
    earliest = min(date.last for date, _ in events)
    first = [event for event in events if event[0].last == earliest]
    return next((event for event in first if home and event[1] == home), first[0])


def _events(release: ws.MBRelease) -> Iterator[tuple[PartialDate, str | None]]:
    if not release.release_event_list:
        yield partial_date(release.date), release.country or None
    for event in release.release_event_list:
        codes = event.area.iso_3166_1_code_list if event.area else ()
        yield partial_date(event.date), next(filter(None, codes), None)


def _format(release: ws.MBRelease) -> str | None:
    """Return the media that have a format, written as on MusicBrainz' pages: `2×CD + DVD`."""
    formats = (medium.format for medium in release.medium_list if medium.format)
    counted = ((name, len(list(same))) for name, same in groupby(formats))
    return " + ".join(f"{n}×{name}" if n > 1 else name for name, n in counted) or None


def country_of(artist: ws.MBArtist) -> str | None:
    """Return the country where an artist began, else the artist's own, or None."""
    codes: list[str | None] = []
    for area in filter(None, (artist.begin_area, artist.area)):
        codes += area.iso_3166_1_code_list
        # The code of a city or region begins with that of its country.
        codes += (code.partition("-")[0] for code in area.iso_3166_2_code_list if code)
    codes.append(artist.country)
    return next((code for code in codes if code and code not in NO_COUNTRIES), None)


# A whole release, for the tags of files that become its tracks.


def whole_release(release: ws.MBRelease) -> WholeRelease:
    """Return a release as tags describe it, without hidden and data tracks: they have no number."""
    group = release.release_group
    primary, secondary = type_names(
        group.primary_type, tuple(filter(None, group.secondary_type_list))
    )
    numbers = (info.catalog_number for info in release.label_info_list)
    return WholeRelease(
        mbid=release.id,
        group_mbid=group.id,
        title=release.title or group.title or "",
        artist=release.artist_credit_phrase or "",
        artist_sort=_sort_name(release),
        artist_mbids=release.artist_ids,
        discs=len(release.medium_list),
        tracks=tuple(_tracks(release)),
        date=partial_date(release.date),
        country=release.country or None,
        status=release.status or None,
        types=tuple(kind.lower() for kind in (primary, *secondary) if kind),
        labels=tuple(_label_names(release)),
        catalog_numbers=tuple(filter(None, numbers)),
        barcode=release.barcode or None,
    )


def _sort_name(release: ws.MBRelease) -> str:
    return "".join(
        credit if isinstance(credit, str) else credit.artist.sort_name or credit.artist.name or ""
        for credit in release.artist_credit
    )


def _tracks(release: ws.MBRelease) -> Iterator[ReleaseTrack]:
    for index, medium in enumerate(release.medium_list, start=1):
        for place, track in enumerate(medium.track_list, start=1):
            if track.recording is None or track.id is None:
                continue
            yield ReleaseTrack(
                recording=track.recording.id,
                mbid=track.id,
                disc=_number(medium.position, index),
                number=_number(track.position, place),
                total=medium.track_count or len(medium.track_list),
                length_ms=track.recording.length_ms,
                artist_mbids=track.artist_ids,
                format=medium.format,
                disc_title=medium.title,
            )


def _number(text: str | None, otherwise: int) -> int:
    return int(text) if text and text.isdecimal() else otherwise


# Recordings of the same performance.

SIBLING = "sibling"
"""The `relation` of a recording candidate that is another recording of the performance."""
LENGTH_APART_MS = 3_000
"""Recordings of one performance differ by at most this length, unless a remark explains it."""
MARKED_APART_MS = 5_000
"""The same if one of them is marked as a remaster or a single edit."""
_OTHER_VERSIONS = frozenset({"Live", "Remix", "DJ-mix", "Demo"})
"""Secondary types of release groups whose recordings are other versions."""
_PERHAPS_APART_MS = 15_000
_PERHAPS_APART = 0.10
"""Recordings whose lengths differ by more than both are different versions."""


class Performance(msgspec.Struct, frozen=True):
    """What identifies a performance; `artists` are all credited, or empty if any is unknown."""

    title: str
    comment: str
    length_ms: int | None
    isrcs: frozenset[str]
    credit: str
    first_artist: ArtistId | None
    artists: frozenset[ArtistId]
    flags: RecordingFlags
    is_video: bool = False


def performance_of(recording: Recording) -> Performance:
    """Return MusicBrainz' description of a recording."""
    artist = Artist(recording.artist_credit_phrase, first_artist(recording))
    performance = performance_in(candidate_of(recording, (), None), artist)
    return replace(
        performance, artists=frozenset(recording.artist_ids), is_video=recording.video == "true"
    )


def performance_in(candidate: RecordingCandidate, artist: Artist) -> Performance:
    """Return the description of a recording in evidence whose artist is `artist`."""
    return Performance(
        candidate.title or "",
        candidate.disambiguation or "",
        candidate.length_ms,
        frozenset(map(isrc, candidate.isrcs or ())) - {""},
        artist.name or "",
        artist.mb_artist_id,
        frozenset(),
        candidate.intent,
    )


def performances_in(bundle: EvidenceBundle) -> dict[RecordingId, Performance]:
    """Return the recordings in the evidence that are not siblings, by their ids."""
    return {
        candidate.mb_recording_id: performance_in(candidate, bundle.performer)
        for candidate in bundle.recording_candidates
        if not candidate.is_sibling
    }


def siblings_among(
    others: Iterable[Recording], performances: Mapping[RecordingId, Performance]
) -> list[tuple[Recording, str]]:
    """Return the recordings that are the same performance as one of `performances`, with why."""
    siblings: dict[RecordingId, tuple[Recording, str]] = {}
    for recording in others:
        if recording.id not in performances and recording.id not in siblings:
            other = performance_of(recording)
            reasons = (same_performance(ours, other) for ours in performances.values())
            if because := next(filter(None, reasons), None):
                siblings[recording.id] = recording, because
    return list(siblings.values())


def same_performance(recording: Performance, other: Performance) -> str | None:
    """Return in words why two recordings are the same performance, or None if they may not be.

    They must have the same artist credit, the same title apart from remarks that do not name
    another version, and a common ISRC or about the same length. A live take, remix, demo, acoustic
    version, re-recording, instrumental, cover or music video never counts. An edit must have the
    same length; a mono mix, a title that many tracks have (`Intro`) and a comment that tells the
    two apart (`1963 recording`) need a common ISRC.
    """
    apart = _differences(recording, other)
    apart_ms = _apart_ms(recording, other)
    is_near = apart_ms is not None and apart_ms <= _tolerance_ms(recording, other)
    if apart is None or "credit" in apart or ("edit" in apart and not is_near):
        return None
    if shared := recording.isrcs & other.isrcs:
        return f"it has the same ISRC {min(shared)}"
    if apart - {"edit"} or not is_near:
        return None
    longer_ms = (other.length_ms or 0) - (recording.length_ms or 0)
    length = f"is {abs(longer_ms) / 1_000:.1f} s {'longer' if longer_ms > 0 else 'shorter'}"
    return f"it has the same artist and title, and {length if longer_ms else 'the same length'}"


def may_be_same_performance(recording: Performance, other: Performance) -> bool:
    """Whether recordings may be one performance if comments and unknown lengths are ignored."""
    apart = _differences(recording, other)
    if apart is None or apart & {"edit", "mono"}:
        return False
    is_by_same = bool(recording.first_artist) and recording.first_artist == other.first_artist
    apart_ms = _apart_ms(recording, other)
    shorter_ms = min(recording.length_ms or 0, other.length_ms or 0)
    is_near = apart_ms is None or apart_ms <= perhaps_apart_ms(shorter_ms)
    return is_near and (is_by_same or "credit" not in apart)


def _differences(recording: Performance, other: Performance) -> set[str] | None:
    """Return the differences except length; None if they are certainly two performances."""
    key = title_key(recording.title)
    if any(map(is_other_performance, (recording, other))) or key != title_key(other.title):
        return None
    remarks = [remarks_in(None, side.comment) for side in (recording, other)]
    apart = {
        "common title": key in _COMMON_TITLES,
        "credit": not _is_same_credit(recording, other),
        "comment": remarks[0].telling != remarks[1].telling,
        "edit": _is_edit(recording) != _is_edit(other),
        "mono": recording.flags.is_mono != other.flags.is_mono,
    }
    return {name for name, is_so in apart.items() if is_so}


def perhaps_apart_ms(length_ms: int) -> int:
    """Return by how many milliseconds a recording of the same performance may be longer."""
    return round(max(_PERHAPS_APART_MS, _PERHAPS_APART * length_ms))


def is_other_performance(performance: Performance) -> bool:
    """Whether a recording is of a kind that is never the same performance as another recording."""
    remark = f"{set_off(performance.title)} / {performance.comment}"
    flags = performance.flags
    return (
        performance.is_video
        or not performance.title
        or _UNNAMED.match(performance.title) is not None
        or bool(flags.is_live or flags.is_remix or flags.is_demo or flags.is_acoustic)
        or not _OTHER_VERSION.isdisjoint(remarks_in(performance.title, performance.comment).words)
        or _OTHER_PERFORMANCE.search(_REMASTERED.sub(" ", remark)) is not None
    )


def is_on_other_versions_only(candidate: RecordingCandidate) -> bool:
    """Whether a recording is only on records of live takes, remixes or demos, or on none."""
    return all(_OTHER_VERSIONS.intersection(group.types[1]) for group in candidate.groups)


def described(recording: Recording) -> str:
    """Describe a recording for a sentence: title, comment, artist and length."""
    comment = f" ({recording.disambiguation})" if recording.disambiguation else ""
    length = f", {minutes(recording.length_ms)}," if recording.length_ms else ""
    return f"{recording.title!r}{comment} by {recording.artist_credit_phrase}{length}"


_UNNAMED = re.compile(r"^\[[^\]]*\]$")
"""`[untitled]`, `[silence]`: a description in place of a title, which many recordings share."""
_EDIT = (
    r"\b(?:(?:single|radio|7[\"”″]|''|video)[-\s]+)(?:edit|version|mix)\b"
    r"|\b(?:edited|edit|clean|censored)\b"
)
_REMASTERED = re.compile(REMASTER, re.IGNORECASE)
_SAME_VERSION = re.compile(
    rf"{REMASTER}|{_EDIT}"
    r"|\b(?:original|album|lp|main|standard|studio|stereo|mono|full[- ]length|explicit)"
    r"[-\s]+(?:version|mix|recording)\b"
    r"|\b(?:stereo|mono|explicit|bonus track|deluxe|(?:feat(?:uring)?|ft)\b[^/]*)"
    r"|^\s*(?:19|20)\d\d\s*$",
    re.IGNORECASE,
)
"""Remarks that do not name another performance."""
_PERHAPS_SAME = frozenset(
    "album bbc clean duet edit explicit mono single solo stereo video".split()  # noqa: SIM905
)
"""Names of versions that may be the same performance as another recording."""
_FLAGGED_VERSIONS = frozenset({"live", "remix", "demo", "acoustic"})
_OTHER_VERSION = frozenset(
    name for name, row in VERSIONS.items() if row.of != "language"
).difference(_PERHAPS_SAME, _FLAGGED_VERSIONS)
"""Names of versions that are never the same performance as another recording."""
_OTHER_PERFORMANCE = re.compile(
    r"\bre-?cut\b"
    r"|\b(?:cover|tribute|in the style of|made famous by|parody|medley|mash-?up"
    r"|remake|dj[- ]mix(?:ed)?|mixed|megamix|continuous)\b"
    r"|\b(?:atmos|surround|quad(?:raphonic)?|binaural|5\.1)\b"
    r"|\b(?:rough|unfinished|work in progress)\b"
    r"|\b(?:19|20)\d\d (?:stereo |mono )?mix\b"
    r"|\b(?:short|instr\.?) (?:version|mix)\b|\blatin version\b"
    r"|\bmusic video\b|\bcommentary\b|\binterview\b",
    re.IGNORECASE,
)
_COMMON_TITLES = frozenset(
    "intro outro interlude skit prelude introduction finale overture untitled".split()  # noqa: SIM905
)
_EDITED = re.compile(_EDIT, re.IGNORECASE)
_SPELLINGS = {"n": "and"}


def bare_song(title: str) -> str:
    """Return a title without the remarks that do not name another performance."""
    return without_remarks(
        title, lambda remark: not any(map(str.isalnum, _SAME_VERSION.sub(" ", remark)))
    )


def title_key(title: str) -> str:
    """Return the key by which titles are compared: letters and digits, without such remarks."""
    part, song = part_of(without_noise(title))
    words = (_SPELLINGS.get(word, word) for word in words_of(bare_song(song)))
    return "".join((*words, "part", part) if part else words)


def _is_same_credit(recording: Performance, other: Performance) -> bool:
    """Whether the same artists are credited, by id, else by name; guests may be in the title."""
    if recording.artists and recording.artists == other.artists:
        return True
    ids, others = ({*side.artists, side.first_artist} - {None} for side in (recording, other))
    is_namesake = ids and others and not ids & others
    names, same = (credited_words(side.credit, side.title) for side in (recording, other))
    return bool(recording.credit) and not is_namesake and names == same


def _is_edit(recording: Performance) -> bool:
    is_said = _EDITED.search(f"{set_off(recording.title)} / {recording.comment}") is not None
    return is_said or bool(recording.flags.is_radio_edit)


def _apart_ms(recording: Performance, other: Performance) -> int | None:
    if not recording.length_ms or not other.length_ms:
        return None
    return abs(recording.length_ms - other.length_ms)


def _tolerance_ms(recording: Performance, other: Performance) -> int:
    is_marked = any(
        _is_edit(side) or _REMASTERED.search(f"{set_off(side.title)} / {side.comment}")
        for side in (recording, other)
    )
    return MARKED_APART_MS if is_marked else LENGTH_APART_MS
