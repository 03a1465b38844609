"""Read the rows of an index as the values that the web service's responses have."""

import weakref
from collections.abc import Iterable, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

from msgspec.structs import replace

from chart_binder.domain.vocabulary import ArtistId, RecordingId, ReleaseGroupId, ReleaseId
from chart_binder.errors import IndexFileError
from chart_binder.musicbrainz import web_service as ws
from chart_binder.musicbrainz.index import layout
from chart_binder.musicbrainz.index.layout import date_text, gid_of_row, gid_text, ids_of, keys_of

_CACHED: Final = 512
_RECORDING: Final = """
SELECT key, rest, name, credit, length, first_date, comment, video, isrcs, releases
FROM recording WHERE key = ?"""
_RECORDINGS: Final = _RECORDING.replace("key = ?", "key BETWEEN ? AND ?")
_RELEASE: Final = """
SELECT r.gid, r.name, r.credit, r.status, r.comment, r.barcode, r.info,
    g.gid, g.name, g.credit, g.type, g.secondary, g.first_date, g.comment
FROM release r JOIN release_group g ON g.id = r.release_group WHERE r.id = ?"""
_GROUP: Final = """
SELECT gid, name, credit, type, secondary, first_date, comment FROM release_group WHERE id = ?"""
_CREDIT: Final = """
SELECT c.name, c.parts, a.gid, a.name, a.sort_name, a.comment, a.country, a.aliases
FROM credit c JOIN artist a ON a.id = c.artist WHERE c.id = ?"""
_ARTIST: Final = """
SELECT gid, name, sort_name, comment, country, aliases FROM artist WHERE id = ?"""
_RELEASE_IDS: Final = {
    "artist": "SELECT releases FROM discography WHERE artist = ?",
    "track_artist": "SELECT appearances FROM discography WHERE artist = ?",
    "release-group": "SELECT releases FROM release_group WHERE id = ?",
}

GroupRow: TypeAlias = tuple[bytes, str, int, int | None, int, int, str | None]
ArtistRow: TypeAlias = Sequence[Any]
RecordingRow: TypeAlias = tuple[
    int, int, str, int, int | None, int, str | None, int, str | None, bytes | None
]


class ArtistCredit(NamedTuple):
    """A credit as text, and its artists with the phrases that join them."""

    phrase: str
    parts: tuple[ws.Credit | str, ...]


class Reader:
    """Reads one index in one thread. A file that replaces the index later is not seen.

    Methods raise `sqlite3.Error`, and other errors if the file is damaged.
    """

    def __init__(self, path: Path) -> None:
        """Open the index. Raises `IndexFileError`."""
        connection = layout.open_index(path)
        weakref.finalize(self, connection.close)
        self.execute = connection.execute
        self._cursor = connection.cursor()
        self.summary = layout.read_summary(connection)
        self.dumped_at = self.summary.dumped_at.timestamp()
        words: dict[str, dict[int, str]] = {kind: {} for kind in layout.WORD_KINDS}
        self._words = words
        self._keys: dict[tuple[int, str], int] = {}
        self._gids: dict[tuple[int, int], str] = {}
        try:
            for kind, number, name in self.execute("SELECT kind, id, name FROM word"):
                words[kind][number] = name
            for kind, key, gid in self.execute("SELECT kind, key, gid FROM displaced"):
                self._keys[kind, gid_text(gid)], self._gids[kind, key] = key, gid_text(gid)
        except layout.DAMAGE as error:
            raise IndexFileError(layout.DAMAGED.format(path, error)) from error
        self._statuses, self._types = words["status"], words["primary_type"]
        self._formats = words["format"]
        self._secondary = lru_cache(_CACHED)(self._secondary_types)
        self._media = lru_cache(_CACHED)(self._untracked_media)
        self.credit = lru_cache(_CACHED)(self._credit)
        self._credit_with_aliases = lru_cache(_CACHED)(partial(self._credit, with_aliases=True))
        self._untracked = lru_cache(_CACHED)(self._release)
        self.recording_row = lru_cache(1)(self._recording_row)  # its releases are next

    def _find(self, query: str, *values: int | bytes | None) -> Any:
        """Return the row of a query, or None."""
        return self._cursor.execute(query, values).fetchone()

    def _row(self, query: str, row_id: int) -> Any:
        """Return the row with an id that another row has."""
        row = self._cursor.execute(query, (row_id,)).fetchone()
        if row is None:
            raise LookupError(f"row {row_id} is missing")
        return row

    def row_id(self, kind: int, mbid: str) -> int | None:
        """Return the row id of an artist, release group or release, or the key of a merged id."""
        query = "SELECT id FROM identifier WHERE kind = ? AND gid = ?"
        row = self._find(query, kind, bytes.fromhex(mbid.replace("-", "")))
        return row[0] if row else None

    def _recording_row(self, mbid: str) -> RecordingRow | None:
        """Return the row of a recording, also of one that was merged."""
        key, rest = layout.key_and_rest(mbid)
        key = self._keys.get((layout.RECORDING, mbid), key)
        row: RecordingRow | None = self._find(_RECORDING, key)
        if row is None or row[1] != rest:
            merged = self.row_id(layout.RECORDING, mbid)
            row = None if merged is None else self._row(_RECORDING, merged)
        return row

    def recording_rows(self, keys: Iterable[int]) -> list[RecordingRow]:
        """Return the rows of recordings."""
        return [self._row(_RECORDING, key) for key in keys]

    def recording(
        self,
        row: RecordingRow,
        *,
        is_hit: bool = False,
        relations: Sequence[ws.Relation] = (),
        works: Sequence[ws.Relation] = (),
    ) -> ws.Recording:
        """Return a recording; a hit of a search has aliases, releases and a score."""
        key, rest, name, credit_id, length, first_date, comment, video, isrcs, releases = row
        credit = (self._credit_with_aliases if is_hit else self.credit)(credit_id)
        return ws.Recording(
            id=RecordingId(self._gids.get((layout.RECORDING, key)) or gid_of_row(key, rest)),
            title=name,
            length=None if length is None else str(length),
            disambiguation=comment,
            video="true" if video else None,
            first_release_date=date_text(first_date),
            artist_credit=credit.parts,
            artist_credit_phrase=credit.phrase,
            isrc_list=tuple(isrcs.split(" ")) if isrcs else (),
            release_list=self.releases(ids_of(releases)) if is_hit else (),
            score="100" if is_hit else None,
            recording_relation_list=tuple(relations),
            work_relation_list=tuple(works),
        )

    def related(self, row: RecordingRow) -> ws.Recording:
        """Return a recording with its relations to recordings and works."""
        query = "SELECT works, relations FROM recording WHERE key = ?"
        works, packed = self._row(query, row[0])
        relations = [
            ws.Relation(
                type=self._words["link_type"].get(type_),
                direction="backward" if is_backward else None,
                ended="true" if has_ended else None,
                recording=self.recording(self._row(_RECORDING, key)),
            )
            for type_, is_backward, key, has_ended in layout.RELATIONS.decode(packed or b"\x90")
        ]
        performed = [
            ws.Relation(type="performance", work=self._work(key)) for key in keys_of(works)
        ]
        return self.recording(row, relations=relations, works=performed)

    def _work(self, key: int) -> ws.Work:
        rest, name = self._row("SELECT rest, name FROM work WHERE key = ?", key)
        return ws.Work(self._gids.get((layout.WORK, key)) or gid_of_row(key, rest), name)

    def with_isrc(self, isrc: str) -> list[int]:
        """Return the keys of the recordings that carry an ISRC."""
        rows = self.execute("SELECT recording FROM isrc WHERE isrc = ?", (isrc.upper(),))
        return [row[0] for row in rows]

    def release_ids(self, linked: ws.Linked, mbid: str) -> tuple[int, ...] | None:
        """Return the row ids of the releases of a recording, group or artist."""
        if linked == "recording":
            row = self.recording_row(mbid)
            return ids_of(row[9]) if row else None
        kind = layout.RELEASE_GROUP if linked == "release-group" else layout.ARTIST
        row_id = self.row_id(kind, mbid)
        if row_id is None:
            return None
        packed = self._find(_RELEASE_IDS[linked], row_id)
        return ids_of(packed[0]) if packed else ()

    def releases_of_group(self, row_id: int) -> tuple[int, ...]:
        """Return the row ids of the releases of a group."""
        return ids_of(self._row(_RELEASE_IDS["release-group"], row_id)[0])

    def recordings_of_work(self, work_id: str) -> tuple[int, ...] | None:
        """Return the keys of the recordings of a work."""
        key, rest = layout.key_and_rest(work_id)
        key = self._keys.get((layout.WORK, work_id), key)
        query = "SELECT recordings FROM work WHERE key = ? AND rest = ?"
        row = self._find(query, key, rest)
        return keys_of(row[0]) if row else None

    def releases(self, row_ids: Iterable[int], *, tracks: bool = False) -> tuple[ws.MBRelease, ...]:
        """Return releases, each with its tracks if these are asked for."""
        return tuple(map(self._tracked if tracks else self._untracked, row_ids))

    def _tracked(self, row_id: int) -> ws.MBRelease:
        return replace(self._untracked(row_id), medium_list=self._tracked_media(row_id))

    def _release(self, row_id: int) -> ws.MBRelease:
        row = self._row(_RELEASE, row_id)
        gid, name, credit_id, status, comment, barcode, packed = row[:7]
        group = self.group(row[7:])
        credit = self.credit(row[9] if credit_id is None else credit_id)
        info = layout.INFO.decode(packed)
        date, country = info.events[0] if info.events else (0, None)
        return ws.MBRelease(
            id=ReleaseId(gid_text(gid)),
            release_group=group,
            title=group.title if name is None else name,
            status=self._statuses.get(status) if status else None,
            disambiguation=comment,
            date=date_text(date),
            country=country,
            artist_credit=credit.parts,
            artist_credit_phrase=credit.phrase,
            medium_list=self._media(info.formats),
            release_event_list=tuple(
                [ws.ReleaseEvent(date_text(date), _area(code)) for date, code in info.events]
            ),
            barcode=barcode,
            label_info_list=tuple(
                [
                    ws.LabelInfo(number, ws.Label(label) if label else None)
                    for number, label in info.labels
                ]
            ),
        )

    def group(self, row: GroupRow, links: Sequence[ws.Relation] = ()) -> ws.MBReleaseGroup:
        """Return a release group."""
        gid, name, credit_id, type_, secondary, first_date, comment = row
        credit = self.credit(credit_id)
        return ws.MBReleaseGroup(
            id=ReleaseGroupId(gid_text(gid)),
            title=name,
            primary_type=self._types.get(type_) if type_ else None,
            secondary_type_list=self._secondary(secondary) if secondary else (),
            first_release_date=date_text(first_date),
            artist_credit=credit.parts,
            artist_credit_phrase=credit.phrase,
            disambiguation=comment,
            url_relation_list=tuple(links),
        )

    def group_row(self, row_id: int) -> GroupRow:
        """Return the row of a release group."""
        row: GroupRow = self._row(_GROUP, row_id)
        return row

    def links(self, row_id: int) -> tuple[ws.Relation, ...]:
        """Return the addresses to which a release group links."""
        query = "SELECT links FROM release_group WHERE id = ?"
        (packed,) = self._row(query, row_id)
        types = self._words["link_type"]
        return tuple(
            ws.Relation(type=types.get(type_), target=target, ended="true" if has_ended else None)
            for type_, target, has_ended in layout.LINKS.decode(packed or b"\x90")
        )

    def artist(self, mbid: str) -> ws.MBArtist | None:
        """Return an artist with its country."""
        row_id = self.row_id(layout.ARTIST, mbid)
        return None if row_id is None else self._artist(self._row(_ARTIST, row_id))

    def _artist(self, row: ArtistRow, *, with_aliases: bool = False) -> ws.MBArtist:
        gid, name, sort_name, comment, country, aliases = row
        artist = ws.MBArtist(ArtistId(gid_text(gid)), name, sort_name or name, comment, country)
        if aliases and with_aliases:
            texts = layout.TEXTS.decode(aliases)
            return replace(artist, alias_list=tuple(map(ws.Alias, texts)))
        return artist

    def _credit(self, row_id: int, *, with_aliases: bool = False) -> ArtistCredit:
        name, parts, *first = self._row(_CREDIT, row_id)
        if parts is None:
            return ArtistCredit(name, (ws.Credit(self._artist(first, with_aliases=with_aliases)),))
        credits_: list[ws.Credit | str] = []
        for place, (artist_id, credited, phrase) in enumerate(layout.PARTS.decode(parts)):
            row = self._row(_ARTIST, artist_id) if place else first
            artist = self._artist(row, with_aliases=with_aliases)
            credits_.append(ws.Credit(artist, None if credited == artist.name else credited))
            credits_ += [phrase] if phrase else []
        return ArtistCredit(name, tuple(credits_))

    def _secondary_types(self, bits: int) -> tuple[str, ...]:
        types = self._words["secondary_type"]
        return tuple(name for number, name in sorted(types.items()) if bits >> number & 1)

    def _untracked_media(self, formats: tuple[int | None, ...]) -> tuple[ws.Medium, ...]:
        names = (self._formats.get(number) if number else None for number in formats)
        return tuple(ws.Medium(format=name) for name in names)

    def _tracked_media(self, release: int) -> tuple[ws.Medium, ...]:
        row = self._find("SELECT media FROM media WHERE release = ?", release)
        media = layout.MEDIA.decode(row[0]) if row else ()
        return tuple(self._medium(medium, release) for medium in media)

    def _medium(self, medium: layout.PackedMedium, release: int) -> ws.Medium:
        keys = [*medium.key_ranges()]
        positions = medium.positions or range(1, len(keys) + 1)
        tracks: list[ws.MBTrack] = []
        for place, (key_range, position) in enumerate(zip(keys, positions, strict=True)):
            credit = medium.credits.get(place)
            rows = self.execute(_RECORDINGS, key_range)
            on_release = (row for row in rows if release in ids_of(row[9]))
            recording = next(map(self.recording, on_release), None)
            parts = recording.artist_credit if recording else ()
            tracks.append(
                ws.MBTrack(
                    id=gid_text(medium.gids[16 * place : 16 * place + 16]),
                    title=medium.titles.get(place),
                    position=str(position),
                    recording=recording,
                    artist_credit=parts if credit is None else self.credit(credit).parts,
                )
            )
        start = 1 if tracks and tracks[0].position == "0" else 0
        end = len(tracks) - medium.data_tracks
        return ws.Medium(
            format=self._formats.get(medium.format) if medium.format else None,
            title=medium.name,
            position=str(medium.position),
            track_list=tuple(tracks[start:end]),
            track_count=len(tracks[start:end]),
            pregap=tracks[0] if start else None,
            data_track_list=tuple(tracks[end:]),
        )


@lru_cache
def _area(code: str | None) -> ws.Area | None:
    return ws.Area((code,)) if code else None
