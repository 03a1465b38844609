"""Write a small index of the facts of evidence bundles, like `MusicBrainzStandIn` serves them."""

import re
import sqlite3
import struct
from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

from chart_binder.domain.evidence import (
    Artist,
    EvidenceBundle,
    RecordingCandidate,
    Release,
    ReleaseGroup,
)
from chart_binder.domain.evidence_json import read_bundle
from chart_binder.domain.vocabulary import SECONDARY_TYPES, VARIOUS_ARTISTS, ArtistId
from chart_binder.musicbrainz.index import layout
from chart_binder.musicbrainz.index.keys import name_hashes, title_hash
from chart_binder.musicbrainz.index.layout import ENCODER
from servers.musicbrainz_xml import VARIOUS_NAME, media_of

_JOINED = re.compile("( (?:feat[.]|&|vs[.]) )")


class _Numbers(dict[Any, int]):
    """Numbers from 1 for keys, in the order in which they are first used."""

    def __missing__(self, key: Any) -> int:
        self[key] = len(self) + 1
        return self[key]


class _Writer:
    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        self.artists, self.credits, self.groups, self.releases = (_Numbers() for _ in range(4))
        self.words: defaultdict[str, _Numbers] = defaultdict(_Numbers)
        self.releases_of: defaultdict[tuple[str, int], list[int]] = defaultdict(list)
        self.groups_of: defaultdict[int, list[int]] = defaultdict(list)
        self.mbids: dict[int, str] = {}
        self.aliases: Mapping[str, Iterable[str]] = {}
        self.comments: Mapping[str, str] = {}

    def add(self, table: str, *values: object) -> None:
        marks = ", ".join("?" * len(values))
        self.connection.execute(f"INSERT OR IGNORE INTO {table} VALUES ({marks})", values)

    def word(self, kind: str, name: str | None) -> int | None:
        return self.words[kind][name] if name else None

    def artist(self, mbid: str, name: str, country: str | None) -> int:
        number = self.artists[mbid]
        aliases = tuple(self.aliases.get(mbid, ()))
        packed = ENCODER.encode(aliases) if aliases else None
        gid = UUID(mbid).bytes
        self.add("artist", number, gid, name, None, self.comments.get(mbid), country, packed)
        self.add("identifier", layout.ARTIST, gid, number)
        for text in (name, *aliases):
            for hash_ in name_hashes(text):
                self.add("artist_name", hash_, number)
        return number

    def credit(self, artist: Artist, text: str | None) -> tuple[int, list[int]]:
        """Return the number of a credit and those of its artists."""
        ids = (artist.mb_artist_id or VARIOUS_ARTISTS).split("+")
        name, country = artist.name or "", artist.begin_area_country
        texts = [*_JOINED.split(name), ""] if len(ids) > 1 else [name, ""]
        pairs = list(zip(ids, texts[::2], texts[1::2], strict=True))
        numbers = [self.artist(mbid, shown, country) for mbid, shown, _ in pairs]
        shown = [text or name] if len(ids) == 1 else texts[::2]
        parts = ENCODER.encode(tuple(zip(numbers, shown, texts[1::2], strict=True)))
        phrase = text if len(ids) == 1 and text else name
        number = self.credits[phrase, *ids]
        self.add("credit", number, phrase, numbers[0], parts)
        for hash_ in name_hashes(phrase):
            for artist_number in numbers:
                self.add("artist_name", hash_, artist_number)
        return number, numbers

    def group(self, group: ReleaseGroup, artist: Artist) -> int:
        number, gid = self.groups[group.mb_rg_id], UUID(group.mb_rg_id).bytes
        by = VARIOUS if group.artist_credit == VARIOUS_NAME else artist
        if group.artist_ids and by is artist:
            by = Artist(artist.name, ArtistId("+".join(group.artist_ids)))
        credit, artists = self.credit(by, group.artist_credit)
        secondary = sum(1 << self.words["secondary_type"][kind] for kind in group.kinds)
        self.add(
            "release_group", number, gid, group.title, credit,
            self.word("primary_type", group.primary_type), secondary,
            date_number(group.first_release_date), None, None, None,
        )  # fmt: skip
        self.add("identifier", layout.RELEASE_GROUP, gid, number)
        self.add("group_title", title_hash(group.title or ""), number)
        for artist_number in artists:
            self.groups_of[artist_number].append(number)
        return number

    def release(self, release: Release, group: int, artist: Artist, key: int) -> int:
        number, gid = self.releases[release.mb_release_id], UUID(release.mb_release_id).bytes
        by = VARIOUS if release.artist_credit == VARIOUS_NAME else artist
        credit, _ = self.credit(by, release.artist_credit)
        date, country = date_number(release.when.text), release.country
        events = ((date, country),) if date or country else ()
        labels = ((release.catno, release.label),) if release.label or release.catno else ()
        formats = tuple(self.word("format", name) for name in media_of(release.format))
        self.add(
            "release", number, gid, release.title, credit, group,
            self.word("status", release.status), release.disambiguation, None,
            ENCODER.encode(layout.Info(events, labels, formats)),
        )  # fmt: skip
        self.add("identifier", layout.RELEASE, gid, number)
        self.releases_of["group", group].append(number)
        self.releases_of["recording", key].append(number)
        return number

    def recording(self, recording: RecordingCandidate, artist: Artist, *, video: bool) -> int:
        mbid = recording.mb_recording_id
        key, rest = layout.key_and_rest(mbid)
        while self.mbids.setdefault(key, mbid) != mbid:
            key += 1
        if layout.gid_of_row(key, rest) != mbid:
            self.add("displaced", layout.RECORDING, key, UUID(mbid).bytes)
        credit, artists = self.credit(artist, artist.name)
        for group in recording.groups:
            number = self.group(group, artist)
            for release in group.editions:
                self.release(release, number, artist, key)
        isrcs = sorted(recording.isrcs or ())
        self.add(
            "recording", key, rest, recording.title, credit, recording.length_ms,
            date_number(recording.first_release_date), recording.disambiguation, int(video),
            " ".join(isrcs) or None, packed_ids(self.releases_of["recording", key]), None, None,
        )  # fmt: skip
        for isrc in isrcs:
            self.add("isrc", isrc, key)
        for artist_number in artists:
            self.add("title", artist_number, title_hash(recording.title or ""), key)
        return key

    def work(self, mbid: str, recordings: Iterable[str]) -> None:
        """Add a work whose recordings were added."""
        key, rest = layout.key_and_rest(mbid)
        keys = [layout.key_and_rest(recording)[0] for recording in recordings]
        self.add("work", key, rest, "Work", struct.pack(f">{len(keys)}q", *keys))
        query = "UPDATE recording SET works = ? WHERE key = ?"
        for recording in keys:
            self.connection.execute(query, (struct.pack(">q", key), recording))

    def finish(self, merged: Mapping[str, str], timestamp: str) -> None:
        for kind in layout.WORD_KINDS:
            for name, number in self.words[kind].items():
                self.add("word", kind, number, name)
        for (kind, number), releases in self.releases_of.items():
            if kind == "group":
                query = "UPDATE release_group SET releases = ? WHERE id = ?"
                self.connection.execute(query, (packed_ids(releases), number))
        for artist, groups in self.groups_of.items():
            self.add("discography", artist, packed_ids(groups), None, None)
        for old, new in merged.items():
            self._merge(old, new)
        summary = layout.Summary(31, timestamp, "", timestamp, "1.0.0", (), {})
        layout.write_summary(self.connection, summary)
        self.connection.execute(f"PRAGMA application_id = {layout.APPLICATION_ID}")
        self.connection.execute(f"PRAGMA user_version = {layout.FORMAT}")
        self.connection.commit()

    def _merge(self, old: str, new: str) -> None:
        key, _ = layout.key_and_rest(new)
        kinds = (
            (layout.ARTIST, self.artists),
            (layout.RELEASE, self.releases),
            (layout.RELEASE_GROUP, self.groups),
        )
        for kind, numbers in kinds:
            if new in numbers:
                self.add("identifier", kind, UUID(old).bytes, numbers[new])
                return
        self.add("identifier", layout.RECORDING, UUID(old).bytes, key)


VARIOUS = Artist(VARIOUS_NAME, VARIOUS_ARTISTS)


def date_number(text: str | None) -> int:
    """Return a date as an index has it: 1999-06 is 19990600."""
    parts = [*map(int, (text or "0").split("-")), 0, 0][:3]
    return parts[0] * 10_000 + parts[1] * 100 + parts[2]


def packed_ids(numbers: Iterable[int]) -> bytes:
    """Return row ids as an index packs them, each once."""
    once = tuple(dict.fromkeys(numbers))
    return struct.pack(f">{len(once)}I", *once)


def write_index(
    path: Path,
    bundles: Iterable[EvidenceBundle | Mapping[str, Any]],
    *,
    merged: Mapping[str, str] | None = None,
    videos: Iterable[str] = (),
    aliases: Mapping[str, Iterable[str]] | None = None,
    comments: Mapping[str, str] | None = None,
    works: Mapping[str, Iterable[str]] | None = None,
    days_old: float = 0.0,
) -> Path:
    """Write an index of the facts of bundles to a path, and return the path.

    A file that is there is replaced, as by a build.
    """
    new = path.with_suffix(".new")
    connection = sqlite3.connect(new)
    connection.executescript(layout.TABLES)
    writer = _Writer(connection)
    writer.aliases, writer.comments = aliases or {}, comments or {}
    writer.artist(VARIOUS_ARTISTS, VARIOUS_NAME, None)
    for kind in SECONDARY_TYPES:
        writer.word("secondary_type", kind)
    for bundle in map(read_bundle, bundles):
        for recording in bundle.recording_candidates:
            is_video = recording.mb_recording_id in videos
            writer.recording(recording, bundle.performer, video=is_video)
    dumped_at = datetime.now(UTC) - timedelta(days=days_old)
    for work, recordings in (works or {}).items():
        writer.work(work, recordings)
    writer.finish(merged or {}, f"{dumped_at:%Y-%m-%d %H:%M:%S.%f}+00")
    connection.close()
    return new.replace(path)
