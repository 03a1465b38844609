"""Tags of an audio file that identify its recording, and the policies by which they are written."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import TypeAlias

from chart_binder.domain.evidence import Artifact
from chart_binder.errors import replaced_policy

Fields: TypeAlias = Mapping[str, tuple[str, ...]]
"""Texts by field; an empty tuple removes a field."""


@dataclass(frozen=True, slots=True)
class TrackTags:
    """The tags of one audio file that help to identify its recording; `None` means unknown.

    Field meanings follow MusicBrainz Picard's tag mapping: `recording_mbid` is what Vorbis
    comments call `MUSICBRAINZ_TRACKID`.
    """

    title: str | None = None
    artist: str | None = None
    album: str | None = None
    album_artist: str | None = None
    date: str | None = None
    duration_ms: int | None = None
    is_compilation: bool = False
    isrcs: tuple[str, ...] = ()
    recording_mbid: str | None = None
    release_mbid: str | None = None
    release_group_mbid: str | None = None
    artist_mbid: str | None = None


def artifact_of(tags: TrackTags) -> Artifact:
    """Return what a file's tags say as evidence has it."""
    said = asdict(tags) | {"isrc": "; ".join(tags.isrcs)}
    texts = ((name, text) for name, text in said.items() if text and isinstance(text, str))
    return Artifact(duration_ms=tags.duration_ms, tags=dict(texts))


class Policy(StrEnum):
    """What is written: first-release dates, notes under keys of our own, or a whole release.

    Looking up a policy of earlier versions raises an error that says what to use instead.
    """

    DATES = "dates"
    NOTE = "note"
    MOVE = "move"

    @classmethod
    def _missing_(cls, value: object) -> None:
        if replaced := replaced_policy(str(value)):
            raise ValueError(replaced)


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """What is written, and how.

    With `whole_albums` an album's tracks are dated all or none; with `also_date` the first date
    becomes the file's date as well; with `in_parts` an album is also dated where Navidrome would
    show it in parts then. All three are of `Policy.DATES`.
    """

    policy: Policy = Policy.DATES
    whole_albums: bool = False
    also_date: bool = False
    in_parts: bool = False

    @property
    def problems(self) -> Iterator[str]:
        """What is wrong with them, each as a sentence."""
        if self.policy not in (*Policy,):
            replaced = replaced_policy(str(self.policy))
            allowed = ", ".join(Policy)
            yield replaced or f"policy: found {str(self.policy)!r}; {allowed} are allowed"
            return
        for name in ("whole_albums", "also_date", "in_parts"):
            if getattr(self, name) and self.policy != Policy.DATES:
                yield f"{name} is of the policy dates, not of {self.policy}"


@dataclass(frozen=True, slots=True)
class Chosen:
    """The ids of a decision, by rules, a model or a person.

    There is no release group where the case is open: its first release may be known all the same.
    """

    recording: str | None
    release_group: str | None
    release: str | None
    trace: str | None
