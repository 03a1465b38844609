"""The ways to find the recording that is in a file, the surest first."""

import logging
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from chart_binder.domain.ids import MBID, RecordingId
from chart_binder.domain.track import TrackTags
from chart_binder.musicbrainz.answers import Recording
from chart_binder.musicbrainz.client import Client
from chart_binder.musicbrainz.likeness import bare_title
from chart_binder.musicbrainz.matching import (
    LENGTH_TOLERANCE_MS,
    is_another,
    nearest,
    plausible,
    principal,
)

_ISRC = re.compile(r"[A-Z]{2}[A-Z0-9]{3}\d{7}", re.ASCII)
"""Without its hyphens (isrc.ifpi.org, ISO 3901)."""
_MOST_ISRCS = 3
_MOST_CHARACTERS = 200
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
    artist = principal(tags.artist or "")[:_MOST_CHARACTERS]
    title = bare_title(tags.title or "")[:_MOST_CHARACTERS]
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
        "a tag is not what it should be", extra={"found": text[:_MOST_CHARACTERS], "expected": name}
    )
    return None


def _in_words(duration_ms: int | None) -> str:
    if duration_ms is None:
        return ""
    minutes, seconds = divmod(round(duration_ms / 1000), 60)
    return f" of about {minutes}:{seconds:02}"
