"""Invented worlds that the stand-in serves, written as tables, and what is decided in them."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from chart_binder.config import RulesConfig
from chart_binder.domain.tags import TrackTags
from chart_binder.jobs.decision import Case
from chart_binder.jobs.gather import MusicBrainzEvidence, SiblingNeed
from chart_binder.jobs.pipeline import Pipeline, attempt, decide_bundle
from chart_binder.musicbrainz.source import MusicBrainzSource
from rules.making import ARTIST, document, records
from servers.musicbrainz import Behave, MusicBrainzStandIn

Json = dict[str, Any]
RULES = RulesConfig()


def mbid(*names: str) -> str:
    """The id of a thing by its names."""
    return str(uuid5(NAMESPACE_URL, "/".join(names)))


@dataclass(slots=True)
class World:
    """The bundles of a stand-in, and the ids of its recordings and groups by name."""

    about: str
    bundles: list[Json] = field(default_factory=list)
    recordings: dict[str, str] = field(default_factory=dict)
    groups: dict[str, str] = field(default_factory=dict)
    videos: list[str] = field(default_factory=list)
    works: dict[str, list[str]] = field(default_factory=dict)
    comments: dict[str, str] = field(default_factory=dict)
    """What tells artists of one name apart, by their ids."""

    def tags(self, name: str, **more: Any) -> TrackTags:
        """The tags of a file of a recording."""
        return TrackTags(recording_mbid=self.recordings[name], **more)

    def name_of(self, mbid: str | None) -> str:
        """The name of a recording or group; `-` for none."""
        names = {one: name for name, one in (self.recordings | self.groups).items()}
        return names.get(mbid or "", "-")

    def add(self, row: str) -> None:
        """Add a recording: `name | artist | title | seconds | ISRCs | comment | records`.

        `-` stands for nothing. Artists are joined by `+feat.` or `+&`; `Name#UK` is another of that
        name, `Name=Alias` is credited by another name. A comment `video` makes it a music video,
        `work:W` says what it is a performance of.
        """
        name, artist, title, seconds, isrcs, comment, on = (part.strip() for part in row.split("|"))
        self.recordings[name] = mbid("recording", self.about, name)
        words = comment.split()
        if "video" in words:
            self.videos.append(self.recordings[name])
        for word in words:
            if word.startswith("work:"):
                self.works.setdefault(mbid("work", word), []).append(self.recordings[name])
        said = " ".join(one for one in words if one != "video" and not one.startswith("work:"))
        ids, named = self._artists(artist)
        groups = [self._group(group, named) for group in records(on)] if on != "-" else []
        dates = sorted(one["date"] for each in groups for one in each["releases"] if one["date"])
        recording = {
            "mb_recording_id": self.recordings[name], "title": title,
            "length_ms": None if seconds == "-" else round(float(seconds) * 1_000),
            "isrcs": [] if isrcs == "-" else isrcs.split(),
            "disambiguation": None if said in ("", "-") else said,
            "first_release_date": dates[0] if dates else None, "rg_candidates": groups,
        }  # fmt: skip
        known = {"name": named, "mb_artist_id": ids, "begin_area_country": "GB"}
        self.bundles.append(document(recording, artist=known, recording_title=title))

    def _artists(self, written: str) -> tuple[str, str]:
        """Return the ids of artists, joined by `+`, and the name that credits them."""
        ids, names = [], []
        for number, part in enumerate(re.split(r" \+(\S+) ", written)):
            if number % 2:
                names.append(f" {part} ")
                continue
            entity, _, alias = part.partition("=")
            ids.append(mbid("artist", entity))
            name, _, comment = entity.partition("#")
            names.append(alias or name)
            if comment:
                self.comments[ids[-1]] = comment
        return "+".join(ids), "".join(names)

    def _group(self, group: Json, artist: str) -> Json:
        name = group["mb_rg_id"]
        self.groups[name] = group["mb_rg_id"] = mbid("group", self.about, name)
        if group["artist_credit"] == ARTIST:
            group["artist_credit"] = artist
        for one in group["releases"]:
            key = (self.about, name, str(one["date"]), str(one["country"]), str(one["status"]))
            one |= {
                "mb_release_id": mbid("release", *key),
                "title": group["title"],
                "artist_credit": group["artist_credit"],
            }
        group.setdefault("first_release_date", None)
        return group


def worlds(path: Path) -> dict[str, World]:
    """The worlds in a file: each begins with `[name] what it is`; its lines are recordings."""
    found: dict[str, World] = {}
    for line in path.read_text("utf-8").splitlines():
        if line.startswith("["):
            name = line[1:].partition("]")[0]
            found[name] = World(name)
        elif line.strip() and not line.startswith("#"):
            found[name].add(line)
    return found


def served(world: World, behave: Behave | None = None) -> MusicBrainzStandIn:
    """Return a stand-in that serves a world."""
    return MusicBrainzStandIn(
        world.bundles, behave=behave, works=world.works, videos=world.videos,
        comments=world.comments,
    )  # fmt: skip


def decided(source: MusicBrainzSource, tags: TrackTags, when: str = "when_needed") -> Case:
    """Decide a file by rules, with siblings as the program looks them up."""
    by_tags = MusicBrainzEvidence(source, SiblingNeed(when, RULES)).by_tags
    return attempt(lambda: decide_bundle(Pipeline(RULES), by_tags(tags)))


def siblings_in(case: Case) -> Iterator[str]:
    """The ids of the siblings in the evidence of a case."""
    candidates: Iterable[Any] = case.bundle.recording_candidates if case.bundle else ()
    return (one.mb_recording_id for one in candidates if one.is_sibling)


def said_of(case: Case, world: World) -> tuple[str, str, str, str]:
    """Return state, group, first release and siblings of a case in words."""
    first = case.decision.first_release
    parts = [first.date] if first else ["-"]
    parts += ["certain"] if first and first.year_certain else []
    parts += ["via"] if first and first.via_sibling else []
    return (
        case.decision.state.value, world.name_of(case.decision.crg_mbid), " ".join(parts),
        " ".join(world.name_of(one) for one in siblings_in(case)) or "-",
    )  # fmt: skip
