"""Write an invented MusicBrainz dump of any size: `python tests/make_dump.py FOLDER [--help]`.

The tables are COPY text in the form of a real dump. Their proportions are those of MusicBrainz in
2026: to a million recordings 1.44 million tracks, 144,000 releases, 103,000 release groups, 68,000
artists. Rows are in no order, ids have gaps, and texts have quotes, backslashes and several
scripts. A recording is on hundreds of releases, and another one twice on one release.
"""

import argparse
import random
import sys
import tarfile
from bisect import bisect
from collections.abc import Sequence
from dataclasses import dataclass, field
from io import TextIOWrapper
from itertools import accumulate
from pathlib import Path
from typing import Final

from chart_binder.domain.vocabulary import VARIOUS_ARTISTS
from chart_binder.musicbrainz.index.dump import columns_of

NULL: Final = r"\N"
STAMP: Final = "2026-07-18 00:10:01.834512+00"
HEADERS: Final = ("TIMESTAMP", "COPYING", "README", "REPLICATION_SEQUENCE", "SCHEMA_SEQUENCE")
_DEFAULTS: Final = {"i": 0, "s": 0, "t": "", "b": "f", "z": STAMP}
_LATE_EVERY: Final = 33
"""So many rows apart, a row is written at the end of its table, as if it were updated later."""

_COUNTRIES: Final = [
    "US", "GB", "JP", "DE", "FR", "CA", "AU", "IT", "ES", "SE", "NL", "RU", "BR", "FI", "KR",
    "NO", "PL", "BE", "AR", "CN", "MX", "NZ", "DK", "AT", "CH", "IE", "PT", "GR", "TR", "CZ",
    "HU",
]  # fmt: skip
_FORMATS: Final = {
    1: "CD", 2: "DVD", 7: "Vinyl", 8: "Cassette", 12: "Digital Media", 29: '7" Vinyl',
    31: '12" Vinyl', 34: "8cm CD", 53: "Shellac",
}  # fmt: skip
_PRIMARY: Final = {1: "Album", 2: "Single", 3: "EP", 11: "Other", 12: "Broadcast"}
_SECONDARY: Final = [
    "Compilation", "Soundtrack", "Spokenword", "Interview", "Audiobook", "Live", "Remix",
    "DJ-mix",
]  # fmt: skip
_STATUSES: Final = ["Official", "Promotion", "Bootleg", "Pseudo-Release", "Withdrawn", "Cancelled"]
_LINK_TYPES: Final = {
    356: ("part of", "area", "area"), 281: ("near", "area", "area"),
    278: ("performance", "recording", "work"), 230: ("remaster", "recording", "recording"),
    309: ("edit", "recording", "recording"), 89: ("wikipedia", "release_group", "url"),
    353: ("wikidata", "release_group", "url"), 90: ("discogs", "release_group", "url"),
}  # fmt: skip
_ADDRESSES: Final = [
    (89, "en.wikipedia.org/wiki/A"), (89, "de.wikipedia.org/wiki/A"),
    (1_002, "fr.wikipedia.org/wiki/A"), (353, "www.wikidata.org/wiki/Q"),
    (90, "www.discogs.com/master/"),
]  # fmt: skip
_SYLLABLES: Final = [
    "an", "be", "do", "el", "fa", "go", "hu", "is", "ka", "lo", "mi", "nor", "pe", "qua", "ri",
    "sol", "te", "ul", "vi", "xa", "yo", "zen", "é", "ß", "ø",
]  # fmt: skip
_SCRIPTS: Final = ("星月雨風花空声道", "солнцеветер", "바람하늘별", "θάλασσα")
_COMMON: Final = ["The", "Of", "Love", "You", "In", "A", "And", "To", "My", "On", "Night", "Time"]


class Words:
    """Makes titles of invented words, some of them far more common than others."""

    def __init__(self, source: random.Random) -> None:
        self._random = source
        words = ["".join(source.choices(_SYLLABLES, k=source.randint(1, 4))) for _ in range(30_000)]
        words += ["".join(source.choices(script, k=3)) for script in _SCRIPTS for _ in range(300)]
        source.shuffle(words)
        self._words = _COMMON + [word.capitalize() for word in words]
        self._weights = list(accumulate(1 / (rank + 3) for rank in range(len(self._words))))

    def title(self) -> str:
        """Return a title of one to five words, sometimes with a remark or odd characters."""
        chance, total = self._random.random, self._weights[-1]
        count = bisect((0.12, 0.4, 0.7, 0.9), chance()) + 1
        places = (bisect(self._weights, chance() * total) for _ in range(count))
        text = " ".join(self._words[min(place, len(self._words) - 1)] for place in places)
        remark = chance()
        if remark > 0.1:
            return text
        odd = (
            f"{text} (live)",
            f"{text} (Remastered 2009)",
            f"{text} - Radio Edit",
            f'"{text}" & Co.',
        )
        return (*odd, f"{text}’s “One”, Part 2", f"{text} \\\\ \\\\N")[int(remark * 60)]


@dataclass(slots=True)
class Dump:
    """A dump that is being written to a folder; `chance` decides everything in it."""

    folder: Path
    schema: int
    chance: random.Random
    counts: dict[str, int] = field(default_factory=dict)
    _files: dict[str, TextIOWrapper] = field(default_factory=dict)
    _late: dict[str, list[str]] = field(default_factory=dict)
    _forms: dict[str, tuple[list[object], dict[str, int]]] = field(default_factory=dict)

    def put(self, table: str, **values: object) -> None:
        """Write a row; columns without a value have a new MBID, NULL or what means nothing."""
        if table not in self._forms:
            columns = columns_of(table, self.schema)
            defaults = [
                NULL if column.is_optional else _DEFAULTS.get(column.kind) for column in columns
            ]
            self._forms[table] = defaults, {column.name: at for at, column in enumerate(columns)}
            (self.folder / "mbdump").mkdir(parents=True, exist_ok=True)
            self._files[table] = (self.folder / "mbdump" / table).open(
                "w", encoding="utf-8", newline="\n"
            )
        defaults, places = self._forms[table]
        row = defaults.copy()
        if "gid" in places and "gid" not in values:
            row[places["gid"]] = self.mbid()
        for name, value in values.items():
            row[places[name]] = NULL if value is None else value
        line = "\t".join(map(str, row)) + "\n"
        count = self.counts[table] = self.counts.get(table, 0) + 1
        if count % _LATE_EVERY:
            self._files[table].write(line)
        else:
            self._late.setdefault(table, []).append(line)

    def mbid(self) -> str:
        """Return a new MBID."""
        text = f"{self.chance.getrandbits(128):032x}"
        return f"{text[:8]}-{text[8:12]}-4{text[13:16]}-a{text[17:20]}-{text[20:]}"

    def next_id(self, table: str) -> int:
        """Return the id of the next row; every tenth id is missing."""
        count = self.counts.get(table, 0) + 1
        return count + count // 9

    def close(self) -> None:
        """Write the rows that come late, and the files beside the tables."""
        for table, file in self._files.items():
            with file:
                file.writelines(self._late.get(table, ()))
        texts = (f"{STAMP}\n", "Invented data (CC0).\n", "For tests.\n", "\n", f"{self.schema}\n")
        for name, text in zip(HEADERS, texts, strict=True):
            (self.folder / name).write_text(text, "utf-8")


def write_dump(
    folder: Path, recordings: int = 1_000, *, seed: int = 1, schema: int = 31, archive: bool = False
) -> Path:
    """Write a dump to a folder, also as `mbdump.tar.bz2` in it if asked; return its path.

    The same arguments give the same bytes.
    """
    dump = Dump(folder, schema, random.Random(seed))
    words = Words(dump.chance)
    write_words(dump)
    countries, cities = _write_areas(dump, words)
    credit_ids = _write_artists(dump, words, max(20, recordings * 68 // 1_000), countries, cities)
    _Catalogue(dump, words, recordings, credit_ids, countries).write()
    dump.close()
    if not archive:
        return folder
    path = folder / "mbdump.tar.bz2"
    with tarfile.open(path, "w:bz2") as tar:
        for name in (*HEADERS, *(f"mbdump/{table}" for table in sorted(dump.counts))):
            entry = tar.gettarinfo(folder / name, name)
            entry.mtime = entry.uid = entry.gid = 0
            entry.uname = entry.gname = ""
            with (folder / name).open("rb") as file:
                tar.addfile(entry, file)
    return path


def write_words(dump: Dump) -> None:
    for number, name in _PRIMARY.items():
        dump.put("release_group_primary_type", id=number, name=name)
    for number, name in enumerate(_SECONDARY, 1):
        dump.put("release_group_secondary_type", id=number, name=name)
    for number, name in enumerate(_STATUSES, 1):
        dump.put("release_status", id=number, name=name)
    for number, name in _FORMATS.items():
        dump.put("medium_format", id=number, name=name)
    for number, name in enumerate(["Country", "Subdivision", "City"], 1):
        dump.put("area_type", id=number, name=name)
    for number, (name, source, target) in _LINK_TYPES.items():
        dump.put("link_type", id=number, entity_type0=source, entity_type1=target, name=name)
        dump.put("link", id=number, link_type=number)
    dump.put("link", id=1_000, link_type=356, begin_date_year=1922, end_date_year=1991, ended="t")
    dump.put("link", id=1_001, link_type=278, begin_date_year=1985, begin_date_month=7)
    dump.put("link", id=1_002, link_type=89, ended="t")


def relate(dump: Dump, table: str, link: int, source: int, target: int) -> None:
    dump.put(table, id=dump.next_id(table), link=link, entity0=source, entity1=target)


def _write_areas(dump: Dump, words: Words) -> tuple[list[int], list[int]]:
    """Write countries with parts and cities; return the ids of countries and of cities."""
    countries: list[int] = []
    cities: list[int] = []

    def area(name: str, kind: int | None, parent: int | None = None) -> int:
        number = dump.next_id("area")
        dump.put("area", id=number, name=name, type=kind)
        if parent is not None:
            is_past = dump.chance.random() < 0.05
            relate(dump, "l_area_area", 1_000 if is_past else 356, parent, number)
        return number

    for code in _COUNTRIES:
        country = area(words.title(), 1)
        dump.put("iso_3166_1", area=country, code=code)
        countries.append(country)
        for part in range(4):
            state = area(words.title(), 2, country)
            if part % 2:
                dump.put("iso_3166_2", area=state, code=f"{code}-{part:02}")
            cities += (area(words.title(), 3, state) for _ in range(3))
    for code, name in (("XW", "[Worldwide]"), ("XE", "Europe")):
        countries.append(area(name, None))
        dump.put("iso_3166_1", area=countries[-1], code=code)
    relate(dump, "l_area_area", 281, countries[1], cities[0])
    return countries, cities


def _write_artists(
    dump: Dump, words: Words, count: int, countries: Sequence[int], cities: Sequence[int]
) -> list[int]:
    """Write artists and credits; return the ids of the credits, first that of Various Artists."""
    chance = dump.chance
    artists = [(1, "Various Artists")]
    dump.put("artist", id=1, gid=VARIOUS_ARTISTS, name=artists[0][1], sort_name=artists[0][1])
    for _ in range(count):
        number, name = dump.next_id("artist") + 1, words.title()
        area = chance.choice((None, chance.choice(countries), chance.choice(cities)))
        dump.put(
            "artist", id=number, name=name, sort_name=chance.choice((name, f"{name}, The")),
            area=area, begin_area=chance.choice((None, None, chance.choice(cities))),
            comment=chance.choice(("", "", "invented")),
        )  # fmt: skip
        artists.append((number, name))
        if chance.random() < 0.12:
            alias = dump.next_id("artist_alias")
            dump.put("artist_alias", id=alias, artist=number, name=words.title(), sort_name=name)
        if chance.random() < 0.02:
            dump.put("artist_gid_redirect", new_id=number)
    credit_ids = []
    for place in range(len(artists) * 14 // 10):
        number = dump.next_id("artist_credit")
        is_alone = place < len(artists)
        places = range(1, len(artists))
        chosen = [place] if is_alone else chance.sample(places, chance.choice((2, 2, 3)))
        members = [artists[number] for number in chosen]
        joins = [*(chance.choice((" feat. ", " & ", ", ")) for _ in members[1:]), ""]
        names = [name if chance.random() < 0.97 else name.upper() for _, name in members]
        text = "".join(name + join for name, join in zip(names, joins, strict=True))
        dump.put("artist_credit", id=number, name=text, artist_count=len(members))
        for position, ((artist, _), name, join) in enumerate(
            zip(members, names, joins, strict=True)
        ):
            dump.put(
                "artist_credit_name", artist_credit=number, position=position, artist=artist,
                name=name, join_phrase=join,
            )  # fmt: skip
        credit_ids.append(number)
    return credit_ids


@dataclass(slots=True)
class _Song:
    id: int
    title: str
    credit: int
    length: int | None


@dataclass(slots=True)
class _Group:
    id: int
    title: str
    credit: int
    year: int
    songs: list[_Song] | None = None


class _Catalogue:
    def __init__(
        self,
        dump: Dump,
        words: Words,
        recordings: int,
        credit_ids: Sequence[int],
        countries: Sequence[int],
    ) -> None:
        self.dump, self.words, self.chance = dump, words, dump.chance
        self.credit_ids, self.countries = credit_ids, countries
        self.songs = [self._song(number) for number in range(1, recordings + 1)]
        self.used = 0
        self.latest: dict[int, _Song] = {}
        self.takes: list[tuple[_Song, _Song]] = []
        self.labels = max(5, recordings * 75 // 10_000)
        self.releases = max(5, recordings * 144 // 1_000)
        self.groups = [self._group() for _ in range(max(3, recordings * 103 // 1_000))]

    def write(self) -> None:
        for number in range(1, self.labels + 1):
            self.dump.put("label", id=number, name=f"{self.words.title()} Records")
        widespread = max(1, self.releases // 600)
        for place in range(self.releases):
            is_first = place < len(self.groups)
            group = self.groups[place if is_first else self._skewed(len(self.groups))]
            self._release(
                group,
                is_first=is_first,
                with_song=self.songs[0] if place % widespread == 0 else None,
            )
        for song in self.songs:
            self._recording(song)
        self._relations()

    def _skewed(self, count: int) -> int:
        """Return a number below `count`; low ones are far more frequent."""
        return int(count * self.chance.random() ** 2.5)

    def _credit(self) -> int:
        return self.credit_ids[1 + self._skewed(len(self.credit_ids) - 1)]

    def _song(self, number: int) -> _Song:
        length = None if self.chance.random() < 0.04 else self.chance.randint(90_000, 480_000)
        return _Song(number + number // 8, self.words.title(), self._credit(), length)

    def _group(self) -> _Group:
        dump, chance = self.dump, self.chance
        number = dump.next_id("release_group")
        credit = self.credit_ids[0] if chance.random() < 0.06 else self._credit()
        group = _Group(number, self.words.title(), credit, 1955 + int(70 * chance.random() ** 0.6))
        kind = chance.choices((*_PRIMARY, None), (56, 27, 10, 4, 1, 2))[0]
        dump.put("release_group", id=number, name=group.title, artist_credit=credit, type=kind)
        for secondary in chance.sample(
            range(1, len(_SECONDARY) + 1), chance.choice((0, 0, 0, 0, 1, 2))
        ):
            dump.put(
                "release_group_secondary_type_join", release_group=number, secondary_type=secondary
            )
        if chance.random() < 0.03:
            dump.put("release_group_gid_redirect", new_id=number)
        count = chance.choices((0, 1, 3), (90, 9, 1))[0]
        for link, address in chance.sample(_ADDRESSES, count):
            url = dump.next_id("url")
            dump.put("url", id=url, url=f"https://{address}{url}")
            relate(dump, "l_release_group_url", link, number, url)
        return group

    def _release(self, group: _Group, *, is_first: bool, with_song: _Song | None) -> None:
        dump, chance = self.dump, self.chance
        number = dump.next_id("release")
        dump.put(
            "release", id=number, release_group=group.id, artist_credit=group.credit,
            name=group.title if chance.random() < 0.93 else self.words.title(),
            status=chance.choices((*range(1, 7), None), (86, 3.5, 4, 2.5, 0.3, 0.2, 3.5))[0],
            barcode=chance.choice((None, "", f"{chance.getrandbits(43):013}")),
            comment=chance.choices(("", "remastered", "deluxe edition"), (90, 5, 5))[0],
        )  # fmt: skip
        if chance.random() < 0.025:
            dump.put("release_gid_redirect", new_id=number)
        self._events(number, group.year + (0 if is_first else chance.choice((0, 0, 1, 5, 30))))
        for _ in range(chance.choices((0, 1, 2), (30, 64, 6))[0]):
            label = chance.randint(1, self.labels) if chance.random() < 0.93 else None
            is_empty = dump.schema < 31 and number % 2 > 0  # schema 31 has NULL for empty numbers
            catno = "" if is_empty else None
            if chance.random() < 0.75:
                catno = f"CAT-{chance.randint(1, 99_999):05}"
            dump.put(
                "release_label", id=dump.next_id("release_label"), release=number, label=label,
                catalog_number=catno,
            )  # fmt: skip
        if group.songs is None or chance.random() < 0.15:
            group.songs = self._songs_of(group)
        self._media(number, [*group.songs, *([with_song, with_song] if with_song else ())])

    def _events(self, release: int, year: int) -> None:
        dump, chance = self.dump, self.chance
        month, day = chance.randint(1, 12), chance.randint(1, 28)
        date = chance.choices(
            (
                {"date_year": year, "date_month": month, "date_day": day},
                {"date_year": year, "date_month": month},
                {"date_year": year},
                {"date_month": month},
                {},
            ),
            (72, 5, 20, 0.5, 2.5),
        )[0]
        kind = chance.random()
        if kind < 0.1:
            dump.put("release_unknown_country", release=release, **date)
        elif kind < 0.9:
            count = 1 if kind < 0.88 else chance.randint(2, len(self.countries))
            for country in chance.sample(self.countries, count):
                dump.put("release_country", release=release, country=country, **date)

    def _songs_of(self, group: _Group) -> list[_Song]:
        """Return the tracks of a release: new songs, and some that were on another release."""
        songs = []
        for _ in range(self.chance.randint(3, 17)):
            if self.used < 0.97 * len(self.songs) and (
                self.used < 20 or self.chance.random() < 0.72
            ):
                song = self.songs[self.used]
                if group.credit != self.credit_ids[0]:
                    song.credit = group.credit
                self._take(song)
                self.used += 1
            else:
                song = self.songs[self._skewed(max(1, self.used))]
            songs.append(song)
        return songs

    def _take(self, song: _Song) -> None:
        """Make some songs another recording of an earlier song of the artist."""
        chance, earlier = self.chance, self.latest.get(song.credit)
        if earlier and earlier.length and chance.random() < 0.05:
            song.title = earlier.title + chance.choice(("", "", " (Remastered 2009)"))
            song.length = earlier.length + chance.randint(-1_500, 1_500)
            self.takes.append((song, earlier))
        elif chance.random() < 0.5:
            self.latest[song.credit] = song

    def _media(self, release: int, songs: Sequence[_Song]) -> None:
        dump, chance = self.dump, self.chance
        count = chance.choices((1, 2, 6), (90, 8, 2))[0]
        size = -(-len(songs) // count)
        for position in range(1, count + 1):
            tracks = songs[(position - 1) * size : position * size]
            medium = dump.next_id("medium")
            dump.put(
                "medium", id=medium, release=release, position=position, track_count=len(tracks),
                format=chance.choice((*_FORMATS, 1, 1, 12, 12, None)),
            )  # fmt: skip
            for place, song in enumerate(tracks, 1):
                dump.put(
                    "track", id=dump.next_id("track"), recording=song.id, medium=medium,
                    position=place, number=place, name=song.title, artist_credit=song.credit,
                    length=song.length,
                )  # fmt: skip

    def _recording(self, song: _Song) -> None:
        dump, chance = self.dump, self.chance
        comment = chance.choices(
            ("", "live, 1985-07-13: Invented Hall", "instrumental"), (93, 4, 3)
        )[0]
        dump.put(
            "recording", id=song.id, name=song.title, artist_credit=song.credit, length=song.length,
            comment=comment, video="t" if chance.random() < 0.005 else "f",
        )  # fmt: skip
        if chance.random() < 0.19:
            number = dump.next_id("isrc")
            shared = number if chance.random() < 0.97 else max(1, number - 1)
            dump.put("isrc", id=number, recording=song.id, isrc=f"GBABC{shared % 10_000_000:07}")
        if chance.random() < 0.025:
            dump.put("recording_gid_redirect", new_id=song.id)

    def _relations(self) -> None:
        dump, chance = self.dump, self.chance
        pairs = [(chance.choice(self.songs), chance.choice(self.songs)) for _ in self.songs[::50]]
        for song, earlier in (*self.takes, *pairs):
            kind = chance.choice((None, 230, 309))
            if kind and song is not earlier:
                relate(dump, "l_recording_recording", kind, song.id, earlier.id)
        of_works = [[*take] for take in chance.sample(self.takes, len(self.takes) // 2)]
        count = len(self.songs) // 16 - len(of_works)
        of_works += ([song] for song in chance.choices(self.songs, k=count))
        for performed in of_works:
            work = dump.next_id("work")
            dump.put("work", id=work, name=performed[-1].title)
            others = chance.choices(self.songs, k=chance.choice((0, 0, 1, 2, 10)))
            for number in {song.id for song in (*performed, *others)}:
                relate(dump, "l_recording_work", chance.choice((278, 278, 1_001)), number, work)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--recordings", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--schema", type=int, default=31, choices=(29, 30, 31))
    parser.add_argument("--archive", action="store_true", help="write mbdump.tar.bz2, too")
    options = parser.parse_args()
    sys.stdout.write(f"{write_dump(**vars(options))}\n")
