"""Questions to MusicBrainz' web service, checked and spelled by musicbrainzngs."""

import importlib.util
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Literal
from urllib.parse import urlencode

from chart_binder.domain.vocabulary import ArtistId, RecordingId, ReleaseGroupId, ReleaseId

PAGE = 100
"""The most releases, or search results, that one answer holds."""
SHORTLIST = 8
"""The release groups that are looked for by words."""


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked: a path under `/ws/2/`, with the parameters in order.

    `wanted` is the field of `answers.Metadata` that the answer is in.
    """

    path: str
    parameters: tuple[tuple[str, str], ...] = ()
    wanted: str = ""

    @property
    def shown(self) -> str:
        """The question for a person: the search, or what is asked for by its id."""
        return dict(self.parameters).get("query") or self.path.strip("/")

    @property
    def target(self) -> str:
        """Path and query, as they stand in the request."""
        path = f"/ws/2/{self.path.rstrip('/')}"
        return f"{path}?{urlencode(self.parameters)}" if self.parameters else path


def _spelled(
    path: str, _method: str, _auth: object, *, args: Mapping[str, object] | None = None
) -> Question:
    parameters = sorted((name, str(value)) for name, value in (args or {}).items())
    return Question(path, tuple(parameters))


def _request_builder() -> ModuleType:
    """Load a copy of musicbrainzngs for us alone, whose requests end as a `Question`.

    Its own sending has no timeout, sleeps for up to 56 s inside a global lock, ignores Retry-After
    and is set up through module globals. In a copy that one function can be replaced without
    touching what another user of the library in this process has set.
    """
    spec = importlib.util.find_spec("musicbrainzngs.musicbrainz")
    if spec is None or spec.loader is None:
        raise ImportError("musicbrainzngs.musicbrainz")
    copy = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(copy)
    vars(copy)["_mb_request"] = _spelled
    return copy


_ngs = _request_builder()


def recording(recording_id: RecordingId) -> Question:
    """Ask for one recording."""
    question = _ngs.get_recording_by_id(recording_id, includes=["artist-credits", "isrcs"])
    return _wanting("recording", question)


def recordings_with(isrc: str) -> Question:
    """Ask for the recordings that carry an ISRC."""
    question = _ngs.get_recordings_by_isrc(isrc, includes=["artists", "isrcs"])
    return _wanting("isrc", question)


def releases_of(recording_id: RecordingId, offset: int) -> Question:
    """Ask for one page of the releases that contain a recording.

    A browse, because the releases in a look-up are cut at 25 by the server.
    """
    question = _ngs.browse_releases(
        recording=recording_id,
        includes=["artist-credits", "labels", "media", "release-groups"],
        limit=PAGE,
        offset=offset,
    )
    return _wanting("release_list", question)


def releases_by(
    credit: Literal["artist", "track_artist"], artist_id: ArtistId, offset: int
) -> Question:
    """Ask for one page of an artist's releases with their tracks.

    `artist`: those that are credited to the artist; `track_artist`: those of which only a track is.
    With tracks a page has as many releases as come to 500 tracks, though at least one
    (musicbrainz.org/doc/MusicBrainz_API#Paging).
    """
    question = _ngs.browse_releases(
        **{credit: artist_id},
        includes=["artist-credits", "isrcs", "labels", "media", "recordings", "release-groups"],
        limit=PAGE,
        offset=offset,
    )
    return _wanting("release_list", question)


def artist(artist_id: ArtistId) -> Question:
    """Ask for one artist; country and areas come without an include."""
    return _wanting("artist", _ngs.get_artist_by_id(artist_id))


def release_group(group_id: ReleaseGroupId) -> Question:
    """Ask for one release group."""
    question = _ngs.get_release_group_by_id(group_id, includes=["artist-credits"])
    return _wanting("release_group", question)


def releases_in(group_id: ReleaseGroupId) -> Question:
    """Ask for the releases of a group, a page of them."""
    question = _ngs.browse_releases(
        release_group=group_id,
        includes=["artist-credits", "labels", "media", "release-groups"],
        limit=PAGE,
    )
    return _wanting("release_list", question)


def release(release_id: ReleaseId) -> Question:
    """Ask for one release with its tracks."""
    question = _ngs.get_release_by_id(
        release_id,
        includes=["artist-credits", "isrcs", "labels", "media", "recordings", "release-groups"],
    )
    return _wanting("release", question)


def search_groups(title: str, artist: str) -> Question:
    """Search release groups by the very words of title and artist."""
    words = f"releasegroup:{_quoted(title)} AND artist:{_quoted(artist)}"
    return _wanting("release_group_list", _ngs.search_release_groups(query=words, limit=SHORTLIST))


def search_groups_loosely(title: str, artist: str) -> Question:
    """Search release groups by any of the words of title and artist."""
    question = _ngs.search_release_groups(releasegroup=title, artist=artist, limit=SHORTLIST)
    return _wanting("release_group_list", question)


def search(artist: str, title: str, length_ms: tuple[int, int] | None) -> Question:
    """Search recordings by the very words of artist and title, of a length from a to b."""
    terms = [f"recording:{_quoted(title)}", f"artist:{_quoted(artist)}"]
    if length_ms is not None:
        terms.append("dur:[{} TO {}]".format(*length_ms))
    question = _ngs.search_recordings(query=" AND ".join(terms), limit=PAGE)
    return _wanting("recording_list", question)


def search_loosely(artist: str, title: str) -> Question:
    """Search recordings by any of the words of artist and title."""
    question = _ngs.search_recordings(artist=artist, recording=title, limit=PAGE)
    return _wanting("recording_list", question)


def _wanting(wanted: str, question: Question) -> Question:
    return replace(question, wanted=wanted)


def _quoted(words: str) -> str:
    escaped = re.sub(_ngs.LUCENE_SPECIAL, r"\\\1", words)
    return f'"{escaped}"'
