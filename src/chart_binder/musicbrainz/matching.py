"""Of the recordings that were found, those that a file may hold."""

import logging
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import partial

from chart_binder.domain.evidence import RecordingCandidate, RecordingFlags
from chart_binder.domain.tags import TrackTags
from chart_binder.domain.vocabulary import MBID, RecordingId, fold
from chart_binder.musicbrainz.client import Client
from chart_binder.musicbrainz.responses import Recording

_QUOTES = str.maketrans("", "", "'’‘`´ʼ")
_REMARK = re.compile(
    r"[(\[（［]([^)\]）］]*)[)\]）］]|\s[-–—]\s(.*)$|\s((?:feat|ft)\.?\s.*)$", re.IGNORECASE
)
_SAYS_NOTHING = re.compile(
    r"\b(?:re-?master(?:ed)?|feat|ft|featuring|(?:album|original|single) version|explicit|stereo"
    r"|mono|live|demo|acoustic|unplugged|radio (?:edit|version)|bonus track|deluxe)\b"
    r"|リマスター|ライブ|ライヴ|^\s*\d{4}\s*$",
    re.IGNORECASE,
)
"""Remarks that do not make another song; what kind of performance it is, is compared apart."""
_COUNTING = re.compile(r"\d+|[ivx]+")
_ALIKE = 0.9
_LONG_ENOUGH = 8
"""Shorter words differ too much by one letter: Queen, Queens."""


_MOST_CHARACTERS = 400
"""A tag may be of any length, and comparing costs its square."""


def words(text: str) -> tuple[str, ...]:
    """Return the words of a text without case, accents or punctuation, in order."""
    text = fold(text[:_MOST_CHARACTERS].strip())
    bare = text.translate(_QUOTES).replace("&", " and ")
    spaced = "".join(char if char.isalnum() or char.isspace() else " " for char in bare)
    return tuple(spaced.split()) or (text,)


def bare_title(title: str) -> str:
    """Return a title without the remarks that do not make it another song's."""

    def kept(remark: re.Match[str]) -> str:
        said = next(filter(None, remark.groups()), "")
        return "" if _SAYS_NOTHING.search(said) else remark.group()

    return _REMARK.sub(kept, title[:_MOST_CHARACTERS]).strip() or title


def same_title(one: str, other: str) -> bool:
    """Whether two titles name the same song; a part 2 is not a part 1."""
    return _alike(words(bare_title(one)), words(bare_title(other)))


def same_name(one: str, other: str) -> bool:
    """Whether two names are one artist's, in whatever order (`Utada, Hikaru`)."""
    return _alike(*(tuple(sorted(set(words(name)) - {"the"} or {"the"})) for name in (one, other)))


def _alike(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    if "".join(one) == "".join(other):
        return True
    if _counts(one) != _counts(other):
        return False
    texts = " ".join(one), " ".join(other)
    if min(map(len, texts)) < _LONG_ENOUGH:
        return False
    return SequenceMatcher(None, *texts, autojunk=False).ratio() >= _ALIKE


def _counts(found: tuple[str, ...]) -> list[str]:
    return [word for word in found if _COUNTING.fullmatch(word)]


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


_ISRC = re.compile(r"[A-Z]{2}[A-Z0-9]{3}\d{7}", re.ASCII)
"""Without its hyphens (isrc.ifpi.org, ISO 3901)."""
_MOST_ISRCS = 3
_WAYS_MOST_CHARACTERS = 200
"""Of a title or name in a search: a longer one says no more and may not fit into a request."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Way:
    """A way to find recordings; `wanted` is what it looks for, in words."""

    wanted: str
    find: Callable[[], tuple[Recording, ...]]


def ways(client: Client, tags: TrackTags) -> Iterator[Way]:
    """Yield the ways that the tags allow; an id that cannot be one is no way, with a warning."""
    if recording_id := _valid(MBID, tags.recording_mbid or "", "recording id"):
        known = RecordingId(recording_id.lower())
        yield Way(f"recording with the id {known}", partial(_by_id, client, known, tags))
    plain = (isrc.replace("-", "").replace(" ", "").upper() for isrc in tags.isrcs)
    for isrc in [code for code in plain if _valid(_ISRC, code, "ISRC")][:_MOST_ISRCS]:
        yield Way(f"recording with the ISRC {isrc}", partial(_by_isrc, client, isrc, tags))
    if tags.artist and tags.title:
        length = _in_words(tags.duration_ms)
        yield Way(f"{tags.title!r} by {tags.artist!r}{length}", partial(_by_search, client, tags))


def _by_id(client: Client, recording_id: RecordingId, tags: TrackTags) -> tuple[Recording, ...]:
    known = client.recording(recording_id)
    if known is None:
        return ()
    if is_another(known, tags):
        _log.warning(
            "the recording id in the tags is of another song; the id is believed",
            extra={
                "tags": f"{tags.title!r} by {tags.artist!r}",
                "id": f"{known.title!r} by {known.artist_credit_phrase!r}",
            },
        )
    return (known,)


def _by_isrc(client: Client, isrc: str, tags: TrackTags) -> tuple[Recording, ...]:
    return nearest(client.recordings_with(isrc), tags)


def _by_search(client: Client, tags: TrackTags) -> tuple[Recording, ...]:
    artist = principal(tags.artist or "")[:_WAYS_MOST_CHARACTERS]
    title = bare_title(tags.title or "")[:_WAYS_MOST_CHARACTERS]
    length_ms = None
    if tags.duration_ms is not None:
        least_ms = max(0, tags.duration_ms - LENGTH_TOLERANCE_MS)
        length_ms = least_ms, tags.duration_ms + LENGTH_TOLERANCE_MS
    found = plausible(client.search(artist, title, length_ms), tags)
    return found or plausible(client.search_loosely(artist, title), tags)


def _valid(form: re.Pattern[str], text: str, name: str) -> str | None:
    if not text or form.fullmatch(text):
        return text
    _log.warning(
        "a tag is not what it should be",
        extra={"found": text[:_WAYS_MOST_CHARACTERS], "expected": name},
    )
    return None


def _in_words(duration_ms: int | None) -> str:
    if duration_ms is None:
        return ""
    minutes, seconds = divmod(round(duration_ms / 1000), 60)
    return f" of about {minutes}:{seconds:02}"
