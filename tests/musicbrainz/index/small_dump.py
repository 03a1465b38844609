"""Write small dumps by hand; unknown dates and names are `-`, unknown parts of a date `?`."""

import random
from collections.abc import Iterable
from pathlib import Path

from make_dump import Dump, relate, write_words

STATUSES = ["Official", "Promotion", "Bootleg", "Pseudo-Release", "Withdrawn", "Cancelled"]
COUNTRY, SUBDIVISION, CITY = 1, 2, 3
PART_OF, PART_UNTIL_1991, NEAR, LIVE, ENDED_WIKIPEDIA = 356, 1_000, 281, 1_001, 1_002


class SmallDump:
    """Writes rows; the methods return the ids of these. `mbids` has the MBIDs of recordings."""

    def __init__(self, folder: Path) -> None:
        self.dump = Dump(folder, 31, random.Random(1))
        self.mbids: dict[str, str] = {}
        self.areas: dict[str, int] = {}
        self.labels: dict[str, int] = {}
        write_words(self.dump)
        self.somebody = self.credit([(self.artist("Somebody"), "Somebody", "")])

    def put(self, table: str, **values: object) -> int:
        """Write a row with an id."""
        number = self.dump.next_id(table)
        self.dump.put(table, id=number, **values)
        return number

    def area(self, name: str, kind: int | None = None, codes: Iterable[str] = ()) -> None:
        """Write an area with codes: AT of ISO 3166-1, AT-9 of ISO 3166-2."""
        self.areas[name] = self.put("area", name=name, type=kind)
        for code in codes:
            self.dump.put(f"iso_3166_{1 + ('-' in code)}", area=self.areas[name], code=code)

    def within(self, part: str, whole: str, link: int = PART_OF) -> None:
        """Relate an area to one that it is a part of."""
        relate(self.dump, "l_area_area", link, self.areas[whole], self.areas[part])

    def artist(self, name: str, **columns: object) -> int:
        """Write an artist."""
        return self.put("artist", name=name, sort_name=name, **columns)

    def credit(self, names: list[tuple[int, str, str]], text: str | None = None) -> int:
        """Write a credit of artists with their names in it and what joins these."""
        phrase = "".join(name + join for _, name, join in names) if text is None else text
        number = self.put("artist_credit", name=phrase, artist_count=len(names))
        for position, (artist, name, join) in reversed([*enumerate(names)]):
            self.dump.put(
                "artist_credit_name", artist_credit=number, position=position, artist=artist,
                name=name, join_phrase=join,
            )  # fmt: skip
        return number

    def recording(self, name: str, **columns: object) -> int:
        """Write a recording, by Somebody unless another credit is named."""
        self.mbids[name] = self.dump.mbid()
        values = {"artist_credit": self.somebody, "gid": self.mbids[name], "name": name}
        return self.put("recording", **{**values, **columns})

    def group(self, **columns: object) -> int:
        """Write a release group."""
        return self.put(
            "release_group", **{"artist_credit": self.somebody, "name": "Group", **columns}
        )

    def release(
        self, recording: int | None, events: str = "", status: str = "Official",
        group: int | None = None, **columns: object,
    ) -> int:  # fmt: skip
        """Write a release with a recording; events are `1999-06-21 Austria, ????-06 -`."""
        values = {"release_group": group or self.group(), "name": "Release"}
        values |= {"status": STATUSES.index(status) + 1, "artist_credit": self.somebody}
        release = self.put("release", **{**values, **columns})
        for event in filter(None, events.split(", ")):
            date, country = event.split(" ", 1)
            parts = [None if "?" in part or part == "" else int(part) for part in date.split("-")]
            dated = dict(zip(("date_year", "date_month", "date_day"), parts, strict=False))
            if country == "-":
                self.dump.put("release_unknown_country", release=release, **dated)
            else:
                area = self.areas[country]
                self.dump.put("release_country", release=release, country=area, **dated)
        if recording is not None:
            self.track(recording, self.medium(release))
        return release

    def medium(self, release: int, position: int = 1, **columns: object) -> int:
        """Write a medium."""
        return self.put("medium", release=release, position=position, **columns)

    def track(self, recording: int, medium: int, position: int = 1, **columns: object) -> int:
        """Write a track."""
        values = {"name": "Track", "artist_credit": self.somebody, "number": position}
        values |= {"recording": recording, "medium": medium, "position": position}
        return self.put("track", **{**values, **columns})

    def label(self, release: int, catno: str, name: str) -> None:
        """Write a label of a release."""
        if name != "-" and name not in self.labels:
            self.labels[name] = self.put("label", name=name)
        self.put(
            "release_label", release=release, label=self.labels.get(name),
            catalog_number=None if catno == "-" else catno,
        )  # fmt: skip
