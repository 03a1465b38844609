"""Of the recordings that were found, those that a file may hold."""

import re
from collections.abc import Iterable, Iterator

from chart_binder.domain.evidence import RecordingCandidate, RecordingFlags
from chart_binder.domain.ids import RecordingId
from chart_binder.domain.track import TrackTags
from chart_binder.musicbrainz.answers import Recording
from chart_binder.musicbrainz.likeness import same_name, same_title

MOST = 5
"""Recordings of one song that are looked into."""
LENGTH_TOLERANCE_MS = 7_000
"""Files of one recording differ by silence at either end."""
_LEAST_SCORE = 50
_BACKING = re.compile(
    r"\b(?:instrumental|karaoke|off vocal|backing track|a ?cappella)\b|カラオケ|インスト",
    re.IGNORECASE,
)
_GUEST = re.compile(r"\s+(?:feat\.?|ft\.?|featuring|vs\.?)\s+|\s+/\s+|\s*;\s*", re.IGNORECASE)


def plausible(found: Iterable[Recording], tags: TrackTags) -> tuple[Recording, ...]:
    """Return at most five recordings by this artist, of this title and length, likeliest first.

    Covers and karaoke are by others; a live or remixed recording of the song is kept only where
    the file says that it is one, or nothing else is there.
    """
    likely = [recording for recording in found if _fits(recording, tags)]
    kinds = _kinds_meant(tags)
    akin = [recording for recording in likely if _kind(recording) in kinds]
    return nearest(akin or likely, tags)


def nearest(found: Iterable[Recording], tags: TrackTags) -> tuple[Recording, ...]:
    """Return at most five recordings, those first that agree best with what the file says."""
    return tuple(sorted(found, key=lambda recording: _distance(recording, tags))[:MOST])


def is_another(recording: Recording, tags: TrackTags) -> bool:
    """Whether title and artist both say that a file holds another song than this.

    Names in another script say nothing: they may be the same, written out.
    """
    title, tagged = recording.title or "", tags.title or ""
    return bool(
        title.isascii()
        and tagged.isascii()
        and title
        and tagged
        and tags.artist
        and not same_title(title, tagged)
        and not _is_by(recording, tags)
    )


def principal(artist: str) -> str:
    """Return an artist's name without the guests."""
    return _GUEST.split(artist, maxsplit=1)[0].strip() or artist


def _fits(recording: Recording, tags: TrackTags) -> bool:
    return (
        recording.video != "true"
        and (_is_backing(recording.disambiguation) <= _is_backing(tags.title))
        and recording.likelihood >= _LEAST_SCORE
        and same_title(recording.title or "", tags.title or "")
        and _is_by(recording, tags)
        and (_length_apart_ms(recording, tags) or 0) <= LENGTH_TOLERANCE_MS
    )


def _is_backing(text: str | None) -> bool:
    return bool(text and _BACKING.search(text))


def _is_by(recording: Recording, tags: TrackTags) -> bool:
    if any(credit.artist.id == tags.artist_mbid for credit in recording.credits):
        return True
    artist = tags.artist or ""
    wanted = {artist, principal(artist)}
    return any(same_name(name, other) for name in _names(recording) for other in wanted)


def _names(recording: Recording) -> Iterator[str]:
    names: list[str | None] = [recording.artist_credit_phrase]
    for credit in recording.credits:
        names += [credit.name, credit.artist.name, credit.artist.sort_name]
        names += [alias.alias for alias in credit.artist.alias_list]
    return filter(None, names)


def _kind(recording: Recording) -> RecordingFlags:
    return _flags(recording.title, recording.disambiguation)


def _kinds_meant(tags: TrackTags) -> set[RecordingFlags]:
    """Return what the file may be: an album's title (`Live Killers`) is a hint, not more."""
    return {_flags(tags.title, None), _flags(tags.title, tags.album)}


def _flags(title: str | None, comment: str | None) -> RecordingFlags:
    return RecordingCandidate(RecordingId(""), title=title, disambiguation=comment).intent


def _distance(recording: Recording, tags: TrackTags) -> tuple[bool, bool, bool, int, int]:
    albums = (release.title or "" for release in recording.release_list)
    apart_ms = _length_apart_ms(recording, tags)
    return (
        not same_title(recording.title or "", tags.title or ""),
        not _is_by(recording, tags),
        not any(same_title(album, tags.album) for album in albums) if tags.album else False,
        LENGTH_TOLERANCE_MS if apart_ms is None else apart_ms,
        -recording.likelihood,
    )


def _length_apart_ms(recording: Recording, tags: TrackTags) -> int | None:
    if recording.length_ms is None or tags.duration_ms is None:
        return None
    return abs(recording.length_ms - tags.duration_ms)
