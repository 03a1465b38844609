"""Compare recordings: which are of the same performance.

A remaster, a duplicate or the copy on a compilation often has its own id though it is the same
performance; a live take has its own id because it is another performance.
"""

import re
from collections.abc import Iterable, Mapping

import msgspec
from msgspec.structs import replace

from chart_binder.domain.evidence import (
    Artist,
    EvidenceBundle,
    RecordingCandidate,
    RecordingFlags,
)
from chart_binder.domain.remarks import REMASTER, remarks_in, set_off
from chart_binder.domain.title_words import VERSIONS
from chart_binder.domain.titles_and_credits import part_of, without_noise
from chart_binder.domain.vocabulary import ArtistId, RecordingId, isrc, minutes
from chart_binder.musicbrainz.evidence import candidate_of
from chart_binder.musicbrainz.matching import (
    credited_words,
    first_artist,
    without_remarks,
    words_of,
)
from chart_binder.musicbrainz.web_service import Recording

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
    """Return MusicBrainz's description of a recording."""
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
    recordings: Iterable[Recording], performances: Mapping[RecordingId, Performance]
) -> list[tuple[Recording, str]]:
    """Return the recordings that are the same performance as one of `performances`, with why."""
    siblings: dict[RecordingId, tuple[Recording, str]] = {}
    for recording in recordings:
        if recording.id not in performances and recording.id not in siblings:
            performance = performance_of(recording)
            reasons = (same_performance(ours, performance) for ours in performances.values())
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
    ids, other_ids = ({*side.artists, side.first_artist} - {None} for side in (recording, other))
    is_namesake = ids and other_ids and not ids & other_ids
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
