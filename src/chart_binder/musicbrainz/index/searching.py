"""Search an index by names and titles: by hash, else by likeness among an artist's titles.

Hashes are hints: the caller compares titles and names. No search leaves the artists of the name.
"""

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Final

from chart_binder.domain.titles_and_credits import main_artist, parts_of
from chart_binder.domain.vocabulary import MBID, fold
from chart_binder.musicbrainz import web_service as ws
from chart_binder.musicbrainz.index import layout
from chart_binder.musicbrainz.index.keys import name_end_hashes, title_hash, whole_name_hashes
from chart_binder.musicbrainz.index.layout import ids_of
from chart_binder.musicbrainz.index.reader import Reader, RecordingRow
from chart_binder.musicbrainz.matching import same_name, same_title

_MAX_HITS: Final = 500
_MAX_ROWS: Final = 5_000
"""The most recordings with one title by one artist, or official groups of years, that are read."""
_MAX_TITLES: Final = 20_000
"""The most titles that are compared; [unknown] has far more."""
_MIN_LIKENESS: Final = 80
"""In percent, of the fast comparison."""
_OFFICIAL: Final = "Official"
_OF_TITLE: Final = "SELECT release_group FROM group_title WHERE hash = ?"


def artists(
    reader: Reader, artist: str, credit: str = "", *, loosely: bool = False
) -> dict[int, None]:
    """Return the row ids of the artist with an id, or of all artists with a name or a credit.

    A loose search also finds the artists named in a credit of several.
    """
    if MBID.fullmatch(artist):
        row_id = reader.row_id(layout.ARTIST, artist)
        return {} if row_id is None else {row_id: None}
    names = [artist, credit]
    if loosely:
        folded = fold(credit or artist)
        names += [main_artist(artist), *(folded[start:end] for start, end in parts_of(folded)[0])]
    hashes = {number for name in names if name.strip() for number in whole_name_hashes(name)}
    query = "SELECT artist FROM artist_name WHERE hash = ?"
    return {row[0]: None for number in hashes for row in reader.execute(query, (number,))}


def _artists_alike(reader: Reader, artist: str) -> dict[int, None]:
    """Return the row ids of the artists of whose names one is like a name, which is misspelt."""
    query = (
        "SELECT a.id, a.name, a.aliases FROM artist_name n JOIN artist a ON a.id = n.artist"
        " WHERE n.hash = ? LIMIT ?"
    )
    return {
        row_id: None
        for number in name_end_hashes(artist)
        for row_id, name, aliases in reader.execute(query, (number, _MAX_ROWS))
        if any(
            _is_near(text, artist) and same_name(text, artist)
            for text in (name, *(layout.TEXTS.decode(aliases) if aliases else ()))
        )
    }


def _is_near(text: str, other: str) -> bool:
    """Compare two texts fast, before they are compared word by word."""
    from rapidfuzz import fuzz

    return fuzz.partial_ratio(text.lower(), other.lower(), score_cutoff=_MIN_LIKENESS) > 0


def find_recordings(reader: Reader, query: ws.SearchRecordings) -> tuple[list[ws.Recording], int]:
    """Return the recordings with any of the titles by an artist, and how many there are."""
    hashes = {title_hash(title) for title in query.titles}
    keys = _keys(reader, artists(reader, query.artist, query.credit), hashes)
    rows = [row for row in reader.recording_rows(keys) if _has_length(row, query.length_ms)]
    hits = _shown(reader, rows[query.offset :])
    if query.only:
        hits = [hit for hit in hits if all(_holds(clause, hit) for clause in query.only)]
    is_all = len(rows) <= query.offset + _MAX_HITS
    return hits, query.offset + len(hits) if is_all else len(rows)


def find_titles(
    reader: Reader, query: ws.SearchByTitle | ws.SearchLoosely, limit: int
) -> tuple[list[ws.Recording], int]:
    """Return an artist's recordings with a title, or in a loose search with a title like it."""
    if isinstance(query, ws.SearchLoosely):
        keys = _keys_alike(reader, query)
    else:
        keys = _keys(reader, artists(reader, query.artist), {title_hash(query.title)})
    rows = reader.recording_rows(keys)
    return _shown(reader, rows[:limit]), len(rows)


def _keys_alike(reader: Reader, query: ws.SearchLoosely) -> dict[int, None]:
    """Return the keys of an artist's recordings with a title like it, else of a misspelt artist."""
    by_name = artists(reader, query.artist, query.credit, loosely=True)
    if keys := _titles_alike(reader, by_name, query.title):
        return keys
    by_name = _artists_alike(reader, query.artist) | _artists_alike(reader, query.credit)
    keys = _keys(reader, by_name, {title_hash(query.title)})
    return keys or _titles_alike(reader, by_name, query.title)


def _titles_alike(reader: Reader, row_ids: Iterable[int], wanted: str) -> dict[int, None]:
    query = (
        "SELECT r.key, r.name FROM title t JOIN recording r ON r.key = t.recording"
        " WHERE t.artist = ? LIMIT ?"
    )
    return {
        key: None
        for artist in row_ids
        for key, title in reader.execute(query, (artist, _MAX_TITLES))
        if _is_near(title, wanted) and same_title(title, wanted)
    }


def _keys(reader: Reader, row_ids: Iterable[int], hashes: Iterable[int]) -> dict[int, None]:
    query = "SELECT recording FROM title WHERE artist = ? AND hash = ? LIMIT ?"
    return {
        row[0]: None
        for artist in row_ids
        for number in hashes
        for row in reader.execute(query, (artist, number, _MAX_ROWS))
    }


def _shown(reader: Reader, rows: Sequence[RecordingRow]) -> list[ws.Recording]:
    return [reader.recording(row, is_hit=True) for row in rows[:_MAX_HITS]]


def _has_length(row: RecordingRow, length_ms: tuple[int, int] | None) -> bool:
    return length_ms is None or row[4] is None or length_ms[0] <= row[4] <= length_ms[1]


def _holds(clause: ws.Clause, hit: ws.Recording) -> bool:
    groups = (release.release_group for release in hit.release_list)
    if clause == "status:official":
        return any(release.status == _OFFICIAL for release in hit.release_list)
    is_on_album = any(group and group.primary_type == "Album" for group in groups)
    return is_on_album == (clause == "primarytype:album")


def groups_of_years(reader: Reader, query: ws.SearchGroupsOfYears) -> list[int]:
    """Return the row ids of an artist's official groups first dated in a span of years."""
    catalogue = _catalogue(reader, artists(reader, query.artist))
    groups = (
        group
        for group in catalogue
        if query.first <= (reader.group_row(group)[5] or 0) // 10_000 <= query.last
        and _is_official(reader, group)
    )
    return list(islice(groups, _MAX_ROWS))


def _catalogue(reader: Reader, row_ids: Iterable[int]) -> dict[int, None]:
    """Return the row ids of the release groups that are credited to artists."""
    query = "SELECT release_groups FROM discography WHERE artist = ?"
    return {
        group: None
        for artist in row_ids
        for row in reader.execute(query, (artist,))
        for group in ids_of(row[0])
    }


def _is_official(reader: Reader, group: int) -> bool:
    releases = reader.releases(reader.releases_of_group(group))
    return any(release.status == _OFFICIAL for release in releases)


def find_groups(reader: Reader, query: ws.SearchByTitle | ws.SearchLoosely) -> list[int]:
    """Return the row ids of the release groups with a title, by an artist if one is named.

    A loose search also finds the artist's groups with a title like it.
    """
    is_loose = isinstance(query, ws.SearchLoosely)
    titled = [row[0] for row in reader.execute(_OF_TITLE, (title_hash(query.title),))]
    if is_loose and query.artist == query.title:  # no artist is named
        return titled
    catalogue = _catalogue(reader, artists(reader, query.artist, loosely=is_loose))
    titled = [group for group in titled if group in catalogue]
    if titled or not is_loose:
        return titled
    rows = ((group, reader.group_row(group)) for group in islice(catalogue, _MAX_TITLES))
    return [
        group
        for group, row in rows
        if _is_near(row[1], query.title) and same_title(row[1], query.title)
    ]
