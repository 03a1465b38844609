"""MusicBrainz' web service (WS/2) for the rows of a dump.

What it shows follows metabrainz/musicbrainz-server (lib/MusicBrainz/Server: Data, WebService), and
shares no code with what reads a dump in `src`. Rows are dictionaries of text, as COPY has it.
"""

import re
import xml.etree.ElementTree as ET
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias
from unicodedata import combining, normalize

from servers.http import Request, Response
from servers.musicbrainz import NOT_FOUND, MusicBrainzStandIn, page_of
from servers.musicbrainz_search import Fields, SyntaxDefectError, search
from servers.musicbrainz_xml import document, element, error, list_element, text_element

Row: TypeAlias = Mapping[str, str]
"""The columns of a row that are not NULL."""
_Date: TypeAlias = tuple[int, int, int]

_WORDS = "id name"
_REDIRECT = "gid new_id"
_RELATION = "id link entity0 entity1"
_COLUMNS = {
    "area": "id gid name type",
    "area_type": _WORDS,
    "artist": "id gid name sort_name - - - - - - - area - comment - - - begin_area",
    "artist_alias": "id artist name - - - - sort_name",
    "artist_credit": "id name",
    "artist_credit_name": "artist_credit position artist name join_phrase",
    "artist_gid_redirect": _REDIRECT,
    "iso_3166_1": "area code",
    "iso_3166_2": "area code",
    "isrc": "id recording isrc",
    "l_area_area": _RELATION,
    "l_recording_recording": _RELATION,
    "l_recording_work": _RELATION,
    "l_release_group_url": _RELATION,
    "label": "id gid name",
    "link": "id link_type year month day end_year end_month end_day - - ended",
    "link_type": "id - - gid - - name",
    "medium": "id release position format name",
    "medium_format": _WORDS,
    "recording": "id gid name artist_credit length comment - - video",
    "recording_gid_redirect": _REDIRECT,
    "release": "id gid name artist_credit release_group status - - - barcode comment",
    "release_country": "release country year month day",
    "release_gid_redirect": _REDIRECT,
    "release_group": "id gid name artist_credit type comment",
    "release_group_gid_redirect": _REDIRECT,
    "release_group_primary_type": _WORDS,
    "release_group_secondary_type": _WORDS,
    "release_group_secondary_type_join": "release_group secondary_type",
    "release_label": "id release label catalog_number",
    "release_status": _WORDS,
    "release_unknown_country": "release year month day",
    "track": "id gid recording medium position number name artist_credit length - - is_data_track",
    "url": "id gid url",
    "work": "id gid name",
}
"""The first columns of tables; those without a name are not needed."""
_PART_OF = "356"
_LAST = 99_999
_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "b": "\b", "f": "\f", "v": "\v"}


class Rows:
    """The rows of a dump, found by the value of a column."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._tables: dict[str, list[Row]] = {}
        self._found: dict[tuple[str, str], dict[str, list[Row]]] = {}

    def all(self, table: str) -> list[Row]:
        """All rows of a table; a dump has no file for a table without rows."""
        if table not in self._tables:
            path = self._folder / "mbdump" / table
            text = path.read_text(encoding="utf-8") if path.exists() else ""
            names = _COLUMNS[table].split()
            lines = (line.split("\t") for line in text.split("\n")[:-1])
            self._tables[table] = [_row(names, line) for line in lines]
        return self._tables[table]

    def where(self, table: str, column: str, value: str | None) -> list[Row]:
        """The rows with a value in a column."""
        if (table, column) not in self._found:
            found = self._found[table, column] = defaultdict(list)
            for row in self.all(table):
                if column in row:
                    found[row[column]].append(row)
        return self._found[table, column].get(value or "", [])

    def row(self, table: str, value: str | None, column: str = "id") -> Row | None:
        """The row with an id, or with a value in another column."""
        return next(iter(self.where(table, column, value)), None)

    def name(self, table: str, number: str | None) -> str | None:
        """The name of the row with an id."""
        row = self.row(table, number)
        return row["name"] if row else None


def _row(names: Sequence[str], line: Sequence[str]) -> Row:
    pairs = zip(names, line, strict=False)
    return {name: _unescaped(text) for name, text in pairs if text != r"\N" and name != "-"}


def _unescaped(text: str) -> str:
    if "\\" not in text:
        return text
    return re.sub(r"\\(.)", lambda found: _ESCAPES.get(found[1], found[1]), text, flags=re.DOTALL)


# What follows from rows.


def shown(row: Row, column: str) -> str | None:
    """A text that is left out if it is false in Perl."""
    return None if (text := row.get(column)) == "0" else text


def dates_of(row: Row, prefix: str = "") -> _Date:
    """Year, month and day; what is unknown comes last."""
    year, month, day = (int(row.get(prefix + part, _LAST)) for part in ("year", "month", "day"))
    return year, month, day


def date_text(date: _Date) -> str | None:
    """A date as MusicBrainz formats it; `None` if nothing of it is known."""
    parts = ["?" * width if part == _LAST else f"{part:0{width}}" for part, width in zip(
        date, (4, 2, 2), strict=True)]  # fmt: skip
    while parts and "?" in parts[-1]:
        parts.pop()
    return "-".join(parts) or None


def collated(name: str) -> tuple[list[tuple[int, str]], str]:
    """About the order of ICU's root collation: numbers, then letters; lower case first."""
    plain = "".join(char for char in normalize("NFD", name) if not combining(char)).casefold()
    parts = [part for part in re.split(r"(\d+)", plain) if part]
    return [(int(one), "") if one.isdecimal() else (_LAST, one) for one in parts], name.swapcase()


class Facts:
    """What MusicBrainz' server derives from rows."""

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self._firsts: dict[str, _Date | None] = {}

    def events(self, release: Row) -> list[Row]:
        """The events of a release: `find_release_events`."""
        found = [
            *self.rows.where("release_country", "release", release["id"]),
            *self.rows.where("release_unknown_country", "release", release["id"]),
        ]

        def key(event: Row) -> tuple[object, ...]:
            place = self.rows.name("area", event.get("country"))
            return dates_of(event), place is None, collated(place or "")

        return sorted(found, key=key)

    def first_of(self, release: Row) -> _Date | None:
        """The first date of a release: `get_release_first_release_date_rows`."""
        if release["id"] not in self._firsts:
            is_cancelled = self.rows.name("release_status", release.get("status")) == "Cancelled"
            dates = [] if is_cancelled else [dates_of(one) for one in self.events(release)]
            dated = [date for date in dates if date != (_LAST, _LAST, _LAST)]
            self._firsts[release["id"]] = min(dated, default=None)
        return self._firsts[release["id"]]

    def first_date(self, releases: Iterable[Row]) -> str | None:
        """The first date of a recording or a group with these releases."""
        dates = filter(None, map(self.first_of, releases))
        first = min(dates, default=None)
        return date_text(first) if first else None

    def releases_of(self, recording: Row) -> list[Row]:
        """The releases of a recording, each once."""
        found: dict[str, Row] = {}
        for track in self.rows.where("track", "recording", recording["id"]):
            medium = self.rows.row("medium", track["medium"])
            release = self.rows.row("release", medium["release"]) if medium else None
            if release:
                found[release["gid"]] = release
        return [found[gid] for gid in sorted(found)]

    def labels(self, release: Row) -> list[Row]:
        """The labels of a release: by catalogue number in bytes, then by name."""

        def key(row: Row) -> tuple[object, ...]:
            number, name = row.get("catalog_number"), self.rows.name("label", row.get("label"))
            return number is None, (number or "").encode(), name is None, collated(name or "")

        return sorted(self.rows.where("release_label", "release", release["id"]), key=key)

    def codes(self, area: str | None, level: int) -> list[str]:
        """The ISO 3166 codes of an area."""
        return sorted(row["code"] for row in self.rows.where(f"iso_3166_{level}", "area", area))

    def country(self, artist: Row) -> str | None:
        """The country of an artist: `load_country_code`."""
        place = artist.get("area")
        if codes := self.codes(place, 1):
            return codes[0]
        past: set[str] = set()
        level = {place} if place else set()
        while level:
            past |= level
            level = {up for one in level for up in self._parents(one)} - past
            if nearest := [code for one in level for code in self._country_codes(one)]:
                return min(nearest)
        return None

    def _parents(self, area: str) -> Iterator[str]:
        for row in self.rows.where("l_area_area", "entity1", area):
            link = self.rows.row("link", row["link"])
            if link and link["link_type"] == _PART_OF:
                yield row["entity0"]

    def _country_codes(self, area: str) -> list[str]:
        row = self.rows.row("area", area)
        kind = self.rows.name("area_type", row.get("type")) if row else None
        return self.codes(area, 1) if kind == "Country" else []

    def credit_rows(self, credit: str) -> list[tuple[Row, Row]]:
        """The names of a credit in order, each with its artist."""
        names = self.rows.where("artist_credit_name", "artist_credit", credit)
        pairs = ((name, self.rows.row("artist", name["artist"])) for name in names)
        known = [(name, artist) for name, artist in pairs if artist]
        return sorted(known, key=lambda pair: int(pair[0]["position"]))

    def relations(self, table: str, target: str, row: Row) -> list[tuple[Row, str, Row]]:
        """The links of a row to others, with direction and target: `Data::Relationship::_load`."""
        sides = [("entity0", "entity1", "forward"), ("entity1", "entity0", "backward")]
        found = []
        for here, there, direction in sides if table == f"l_{target}_{target}" else sides[:1]:
            for relation in self.rows.where(table, here, row["id"]):
                link = self.rows.row("link", relation["link"])
                other = self.rows.row(target, relation[there])
                assert link
                assert other
                found.append((link, direction, other))

        def key(pair: tuple[Row, str, Row]) -> tuple[object, ...]:
            link, _, other = pair
            dates = dates_of(link), dates_of(link, "end_"), link["ended"]
            name = other["url"] if target == "url" else collated(other["name"])
            return self.rows.name("link_type", link["link_type"]), dates, name

        return sorted(found, key=key)


# XML.


class Xml:
    """Elements of rows, by the includes that are asked for."""

    def __init__(self, facts: Facts) -> None:
        self.facts, self.rows = facts, facts.rows

    def artist(self, row: Row, *, areas: bool = False, aliases: bool = False) -> ET.Element:
        made = element(
            "artist", mbid=row["gid"], name=row["name"], sort_name=row["sort_name"],
            disambiguation=shown(row, "comment"),
            country=self.facts.country(row) if areas else None,
        )  # fmt: skip
        if areas:
            for column in ("area", "begin_area"):
                if place := self.rows.row("area", row.get(column)):
                    made.append(self._area(place, column.replace("_", "-")))
        if aliases:
            named = self.rows.where("artist_alias", "artist", row["id"])
            texts = [text_element("alias", one["name"]) for one in named]
            made.append(list_element("alias-list", texts, len(texts), 0))
        return made

    def _area(self, row: Row, tag: str = "area") -> ET.Element:
        made = element(tag, mbid=row["gid"], name=row["name"], sort_name=row["name"])
        for level in (1, 2):
            if codes := self.facts.codes(row["id"], level):
                texts = [text_element(f"iso-3166-{level}-code", code) for code in codes]
                made.append(element(f"iso-3166-{level}-code-list", *texts))
        return made

    def credit(self, credit: str, *, aliases: bool = False) -> ET.Element:
        made = ET.Element("artist-credit")
        for name, artist in self.facts.credit_rows(credit):
            shown = name["name"] if name["name"] != artist["name"] else None
            part = element("name-credit", self.artist(artist, aliases=aliases), name=shown)
            if name["join_phrase"]:
                part.set("joinphrase", name["join_phrase"])
            made.append(part)
        return made

    def recording(self, row: Row, asked: set[str], *, is_dated: bool = True) -> ET.Element:
        date = self.facts.first_date(self.facts.releases_of(row)) if is_dated else None
        made = element(
            "recording", mbid=row["gid"], title=row["name"], length=row.get("length"),
            disambiguation=shown(row, "comment"), first_release_date=date,
            video="true" if row["video"] == "t" else None,
        )  # fmt: skip
        if asked & {"artist-credits", "artists"}:
            made.append(self.credit(row["artist_credit"], aliases="aliases" in asked))
        codes = sorted(one["isrc"] for one in self.rows.where("isrc", "recording", row["id"]))
        if "isrcs" in asked and codes:
            made.append(
                list_element("isrc-list", [ET.Element("isrc", id=one) for one in codes], 1, 0)
            )
        for target in ("recording", "work"):
            if f"{target}-rels" in asked:
                made.extend(self._relations(f"l_recording_{target}", target, row))
        return made

    def _relations(self, table: str, target: str, row: Row) -> Iterator[ET.Element]:
        """The list of relations to one kind of target, if there are any.

        A related recording has neither ISRCs nor a date, because these are not loaded for it.
        """
        made = ET.Element("relation-list", {"target-type": target})
        for link, direction, other in self.facts.relations(table, target, row):
            kind = self.rows.row("link_type", link["link_type"])
            assert kind
            of_kind = {"type": kind["name"], "type-id": kind["gid"]}
            relation = ET.SubElement(made, "relation", of_kind)
            relation.append(text_element("target", other.get("url", other["gid"])))
            dates = {"begin": date_text(dates_of(link)), "end": date_text(dates_of(link, "end_"))}
            ended = "true" if link["ended"] == "t" else None
            relation.extend(element("relation", direction=direction, **dates, ended=ended))
            if target == "url":
                relation[0].set("id", other["gid"])
            elif target == "work":
                relation.append(element("work", mbid=other["gid"], title=other["name"]))
            else:
                relation.append(self.recording(other, {"artist-credits"}, is_dated=False))
        if len(made):
            yield made

    def group(self, row: Row, asked: set[str], *, is_dated: bool = True) -> ET.Element:
        releases = self.rows.where("release", "release_group", row["id"])
        made = element(
            "release-group", mbid=row["gid"], title=row["name"],
            disambiguation=shown(row, "comment"),
            first_release_date=self.facts.first_date(releases) if is_dated else None,
            primary_type=self.rows.name("release_group_primary_type", row.get("type")),
        )  # fmt: skip
        if "artist-credits" in asked:
            made.append(self.credit(row["artist_credit"]))
        joined = self.rows.where("release_group_secondary_type_join", "release_group", row["id"])
        kinds = [
            self.rows.name("release_group_secondary_type", one["secondary_type"]) for one in joined
        ]
        if kinds:
            texts = [text_element("secondary-type", kind or "") for kind in kinds]
            made.append(element("secondary-type-list", *texts))
        if "url-rels" in asked:
            made.extend(self._relations("l_release_group_url", "url", row))
        return made

    def release(self, row: Row, asked: set[str], *, is_hit: bool = False) -> ET.Element:
        made = element(
            "release", mbid=row["gid"], title=row["name"],
            status=self.rows.name("release_status", row.get("status")),
            disambiguation=shown(row, "comment"), barcode=row.get("barcode"),
        )  # fmt: skip
        if "artist-credits" in asked:
            made.append(self.credit(row["artist_credit"]))
        group = self.rows.row("release_group", row["release_group"])
        if "release-groups" in asked and group:
            made.append(self.group(group, asked, is_dated=not is_hit))
        made.extend(self._events(row))
        if "labels" in asked and (labels := self.facts.labels(row)):
            infos = [self._label(one) for one in labels]
            made.append(list_element("label-info-list", infos, len(infos), 0))
        if "media" in asked:
            media = self.rows.where("medium", "release", row["id"])
            media = sorted(media, key=lambda medium: int(medium["position"]))
            items = [self._medium(medium, asked) for medium in media]
            made.append(list_element("medium-list", items, len(items), 0))
        return made

    def _events(self, release: Row) -> Iterator[ET.Element]:
        events = self.facts.events(release)
        if not events:
            return
        items = []
        for event in events:
            item = element("release-event", date=date_text(dates_of(event)))
            if place := self.rows.row("area", event.get("country")):
                item.append(self._area(place))
            items.append(item)
        codes = self.facts.codes(events[0].get("country"), 1)
        code, date = next(iter(codes), None), date_text(dates_of(events[0]))
        yield from element("first", date=date, country=code)
        yield list_element("release-event-list", items, len(items), 0)

    def _label(self, row: Row) -> ET.Element:
        made = element("label-info", catalog_number=shown(row, "catalog_number"))
        if label := self.rows.row("label", row.get("label")):
            made.append(element("label", mbid=label["gid"], name=label["name"]))
        return made

    def _medium(self, row: Row, asked: set[str]) -> ET.Element:
        name = self.rows.name("medium_format", row.get("format"))
        made = element("medium", title=shown(row, "name"), position=row["position"], format=name)
        tracks = self.rows.where("track", "medium", row["id"])
        tracks = sorted(tracks, key=lambda track: int(track["position"]))
        data = [track for track in tracks if track["is_data_track"] == "t"]
        usual = [track for track in tracks if track not in data and track["position"] != "0"]
        if "recordings" not in asked:
            made.append(list_element("track-list", [], len(usual), 0))
            return made
        made.extend(
            self._track(track, asked, "pregap")
            for track in tracks
            if track["position"] == "0" and track not in data
        )
        for tag, listed in (("track-list", usual), ("data-track-list", data)):
            if listed or listed is usual:
                items = [self._track(track, asked) for track in listed]
                made.append(list_element(tag, items, len(items), 0))
        return made

    def _track(self, row: Row, asked: set[str], tag: str = "track") -> ET.Element:
        recording = self.rows.row("recording", row["recording"])
        assert recording
        has_title = row["name"] != recording["name"]
        made = element(
            tag, mbid=row["gid"], position=row["position"], number=row["number"],
            title=row["name"] if has_title else None, length=row.get("length"),
        )  # fmt: skip
        if "artist-credits" in asked and row["artist_credit"] != recording["artist_credit"]:
            made.append(self.credit(row["artist_credit"]))
        made.append(self.recording(recording, asked))
        return made


class MusicBrainzDumpStandIn(MusicBrainzStandIn):
    """`with MusicBrainzDumpStandIn(folder) as mb:` serves the rows of a dump."""

    def __init__(self, folder: Path) -> None:
        super().__init__([])
        self.rows = Rows(folder)
        self.facts = Facts(self.rows)
        self.xml = Xml(self.facts)
        self._searched: list[tuple[Fields, Row]] = []
        self.merged = {
            row["gid"]: current["gid"]
            for table in ("artist", "recording", "release", "release_group")
            for row in self.rows.all(f"{table}_gid_redirect")
            if (current := self.rows.row(table, row["new_id"]))
        }

    def _found(self, root: str, name: str, request: Request, asked: set[str]) -> Response:
        try:
            found = self._element(root, name, request.query, asked)
        except SyntaxDefectError as defect:
            return error(400, f"Invalid query: {defect}")
        return NOT_FOUND if found is None else document(found)

    def _element(
        self, root: str, name: str, query: Mapping[str, str], asked: set[str]
    ) -> ET.Element | None:
        if not name and "query" in query:
            return self._search(root, query)
        if not name:
            browse = {"release": self._browse, "recording": self._of_work}.get(root)
            return browse(query, asked) if browse else None
        if root == "isrc":
            carrying = [row["recording"] for row in self.rows.where("isrc", "isrc", name)]
            played = filter(None, (self.rows.row("recording", one) for one in carrying))
            items = [self.xml.recording(row, asked) for row in played]
            listed = list_element("recording-list", items, len(items), 0)
            return element("isrc", listed, mbid=name) if items else None
        row = self.rows.row(root.replace("-", "_"), name, "gid")
        if row is None:
            return None
        if root == "artist":
            return self.xml.artist(row, areas=True)
        ways: dict[str, Callable[[Row, set[str]], ET.Element]] = {
            "recording": self.xml.recording, "release": self.xml.release,
            "release-group": self.xml.group,
        }  # fmt: skip
        return ways[root](row, asked)

    def _browse(self, query: Mapping[str, str], asked: set[str]) -> ET.Element | None:
        linked, name = next(
            (one, query[one])
            for one in ("recording", "release-group", "artist", "track_artist")
            if one in query
        )
        table = linked.replace("-", "_").removeprefix("track_")
        row = self.rows.row(table, self.merged.get(name, name), "gid")
        if row is None:
            return None
        releases = self._linked(linked, row)
        offset, limit = page_of(query)
        page = [self.xml.release(one, asked) for one in releases[offset : offset + limit]]
        return list_element("release-list", page, len(releases), offset)

    def _linked(self, linked: str, row: Row) -> list[Row]:
        if linked == "recording":
            return self.facts.releases_of(row)
        if linked == "release-group":
            return self.rows.where("release", "release_group", row["id"])
        names = self.rows.where("artist_credit_name", "artist", row["id"])
        credits_ = dict.fromkeys(name["artist_credit"] for name in names)
        whole = [
            one
            for credit in credits_
            for one in self.rows.where("release", "artist_credit", credit)
        ]
        if linked == "artist":
            return whole
        found: dict[str, Row] = {}
        for track in (
            one for credit in credits_ for one in self.rows.where("track", "artist_credit", credit)
        ):
            medium = self.rows.row("medium", track["medium"])
            release = self.rows.row("release", medium["release"]) if medium else None
            if release and release not in whole:
                found[release["gid"]] = release
        return list(found.values())

    def _of_work(self, query: Mapping[str, str], asked: set[str]) -> ET.Element | None:
        work = self.rows.row("work", query.get("work"), "gid")
        if work is None:
            return None
        linked = self.rows.where("l_recording_work", "entity1", work["id"])
        played = filter(None, (self.rows.row("recording", one["entity0"]) for one in linked))
        by_name = sorted(played, key=lambda row: (collated(row["name"]), row["gid"]))
        offset, limit = page_of(query)
        page = [self.xml.recording(row, asked) for row in by_name[offset : offset + limit]]
        return list_element("recording-list", page, len(by_name), offset)

    def _search(self, root: str, query: Mapping[str, str]) -> ET.Element | None:
        if root != "recording":
            return None
        if not self._searched:
            by_id = sorted(self.rows.all("recording"), key=lambda row: row["gid"])
            self._searched = [(self._fields(row), row) for row in by_id]
        found = search(query["query"], self._searched)
        offset, limit = page_of(query)
        hits = []
        for score, row in found[offset : offset + limit]:
            hits.append(self.xml.recording(row, {"artist-credits", "isrcs", "aliases"}))
            hits[-1].set("ns2:score", str(score))
            releases = [
                self.xml.release(one, {"artist-credits", "release-groups", "media"}, is_hit=True)
                for one in self.facts.releases_of(row)
            ]
            hits[-1].append(list_element("release-list", releases, len(releases), 0))
        return list_element("recording-list", hits, len(found), offset)

    def _fields(self, row: Row) -> Fields:
        artists = [artist for _, artist in self.facts.credit_rows(row["artist_credit"])]
        aliases = [
            alias["name"]
            for artist in artists
            for alias in self.rows.where("artist_alias", "artist", artist["id"])
        ]
        releases = self.facts.releases_of(row)
        groups = [self.rows.row("release_group", one["release_group"]) or {} for one in releases]
        codes = self.rows.where("isrc", "recording", row["id"])
        return {
            "rid": [row["gid"]],
            "recording": [row["name"]],
            "artist": [
                self.rows.name("artist_credit", row["artist_credit"]),
                *(name for one in artists for name in (one["name"], one["sort_name"])),
                *aliases,
            ],
            "arid": [artist["gid"] for artist in artists],
            "dur": [row.get("length")],
            "isrc": [one["isrc"] for one in codes],
            "comment": [row.get("comment")],
            "reid": [release["gid"] for release in releases],
            "status": [self.rows.name("release_status", one.get("status")) for one in releases],
            "primarytype": [
                self.rows.name("release_group_primary_type", one.get("type")) for one in groups
            ],
            "video": ["true" if row["video"] == "t" else "false"],
        }
