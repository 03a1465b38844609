"""How many of the golden recordings are found without ids: `python tests/.../index/quality.py`.

They are looked up in the small dump, with its other recordings, in its index and at a web service
with its rows. The service's searches are a stand-in's: phrases and words as Lucene matches them,
but its own order of the results.
"""

import random
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from unicodedata import combining, normalize

sys.path.insert(0, str(Path(__file__).parents[2]))

from chart_binder.domain.tags import TrackTags
from chart_binder.errors import NothingFoundError
from chart_binder.musicbrainz.source import MusicBrainzSource
from golden.bundles import CASES
from musicbrainz.index.building import DUMP, BothPaths, both_paths
from servers.musicbrainz_dump import Rows

_NAMES: Final = {
    "BUMP OF CHICKEN": "バンプ・オブ・チキン", "RCサクセション": "RC Succession", "ZARD": "ザード",
    "aiko": "アイコ", "いとうかなこ": "Kanako Itou", "オフコース": "Off Course",
    "チャットモンチー": "Chatmonchy", "ハナエ": "Hanae", "中田ヤスタカ": "Yasutaka Nakata",
    "倖田來未": "Kumi Koda", "坂本九": "Kyu Sakamoto", "大石昌良": "Masayoshi Oishi",
    "安室奈美恵": "Namie Amuro", "斉藤由貴": "Yuki Saito", "結束バンド": "Kessoku Band",
    "藤山一郎": "Ichiro Fujiyama", "陳柏宇": "Jason Chan",
}  # fmt: skip
"""Aliases of golden artists in another script, which the small dump lacks."""
_MIN_LETTERS: Final = 9
"""Shorter names are compared letter by letter, because one letter makes another name."""


@dataclass(frozen=True)
class Wanted:
    """A recording to be found."""

    mbid: str
    artist: str
    title: str
    length_ms: int | None
    alias: str | None = None

    def tags(self, artist: str = "", title: str = "", *, length: bool = True) -> TrackTags:
        """Return the tags of a file without ids."""
        return TrackTags(
            artist=artist or self.artist,
            title=title or self.title,
            duration_ms=self.length_ms if length else None,
        )


def misspelt(text: str) -> str | None:
    """Drop, double or swap a letter; None if there are too few."""
    places = [found.start() for found in re.finditer(r"(?<=\w)\w(?=\w\w)", text)]
    if len(re.findall(r"\w", text)) < _MIN_LETTERS or not places:
        return None
    chance = random.Random(text)
    place = chance.choice(places)
    letter, after = text[place], text[place + 1]
    changes = ["", letter * 2, after + letter]
    change = chance.choice(changes)
    return text[:place] + change + text[place + 1 + (change == after + letter) :]


def plainly(text: str) -> str:
    """Return a text in lower case, without accents, and with the signs of a keyboard."""
    plain = "".join(char for char in normalize("NFD", text) if not combining(char))
    return normalize("NFC", plain if text.isascii() else text).casefold().replace("–", "-")


def _other(text: str | None, make: Callable[[str], TrackTags]) -> TrackTags | None:
    return None if text is None else make(text)


KINDS: Final[Mapping[str, Callable[[Wanted], TrackTags | None]]] = {
    "as MusicBrainz writes them": lambda one: one.tags(),
    "the same, of unknown length": lambda one: one.tags(length=False),
    "in lower case, `&` as `and`": lambda one: one.tags(
        plainly(one.artist).replace("&", "and"), plainly(one.title).replace("&", "and")
    ),
    "title misspelt": lambda one: _other(misspelt(one.title), lambda text: one.tags(title=text)),
    "artist misspelt": lambda one: _other(misspelt(one.artist), one.tags),
    "both misspelt": lambda one: (
        one.tags(artist, title)
        if (artist := misspelt(one.artist)) and (title := misspelt(one.title))
        else None
    ),
    "a guest named with the artist": lambda one: one.tags(f"{one.artist} feat. Nobody Else"),
    "a guest named in the title": lambda one: one.tags(title=f"{one.title} (feat. Nobody Else)"),
    "`(Remastered 2011)` in the title": lambda one: one.tags(
        title=f"{one.title} (Remastered 2011)"
    ),
    "artist in another script": lambda one: _other(one.alias, one.tags),
}
"""How the tags of a file name a recording; None if the recording has no such name."""


@dataclass
class Score:
    """How many recordings of a kind were looked up, and found by each path."""

    count: int = 0
    found: dict[str, int] = field(default_factory=lambda: {"index": 0, "web": 0})
    by_others: list[tuple[str, TrackTags]] = field(default_factory=list)
    missed: list[tuple[str, TrackTags]] = field(default_factory=list)


def dump_with_aliases(folder: Path) -> Path:
    """Copy the small dump, with aliases of golden artists in another script."""
    dump = shutil.copytree(DUMP, folder)
    rows = Rows(dump)
    with (dump / "mbdump" / "artist_alias").open("a", encoding="utf-8") as file:
        for number, (name, alias) in enumerate(_NAMES.items(), 950_000_001):
            artist = rows.row("artist", name, "name")
            assert artist, name
            dates = "\t".join([r"\N"] * 6)
            file.write(
                f"{number}\t{artist['id']}\t{alias}\t\\N\t0\t\\N\t\\N\t{alias}\t{dates}\tf\tf\n"
            )
    return dump


def golden_recordings(rows: Rows) -> Iterator[Wanted]:
    """Yield the golden recordings in the dump."""
    golden = {
        recording["mb_recording_id"]
        for case in CASES.values()
        for recording in case["bundle"]["recording_candidates"]
    }
    for row in rows.all("recording"):
        first = rows.where("artist_credit_name", "artist_credit", row["artist_credit"])[0]
        aliases = [one["name"] for one in rows.where("artist_alias", "artist", first["artist"])]
        other = [name for name in aliases if name.isascii() != first["name"].isascii()]
        if row["gid"] in golden:
            length = row.get("length")
            yield Wanted(
                row["gid"], rows.name("artist_credit", row["artist_credit"]) or "", row["name"],
                int(length) if length else None, next(iter(other), None),
            )  # fmt: skip


def scores(paths: BothPaths) -> dict[str, Score]:
    """Look up the golden recordings in all ways."""
    table = {name: Score() for name in KINDS}
    for wanted in golden_recordings(paths.server.rows):
        for name, tags_of in KINDS.items():
            if tags := tags_of(wanted):
                table[name].count += 1
                for path, source in (("index", paths.index), ("web", paths.web)):
                    _score(table[name], path, source, tags, wanted)
    return table


def _score(
    score: Score, path: str, source: MusicBrainzSource, tags: TrackTags, wanted: Wanted
) -> None:
    try:
        bundle = source.gather(tags)
    except NothingFoundError:
        score.missed.append((path, tags))
        return
    if wanted.mbid in {one.mb_recording_id for one in bundle.recording_candidates}:
        score.found[path] += 1
    elif bundle.performer.name != wanted.artist:
        score.by_others.append((path, tags))
    else:
        score.missed.append((path, tags))


def lines(table: Mapping[str, Score]) -> Sequence[str]:
    """Return the scores as a table of Markdown."""
    rows = [
        f"| {name} | {one.count} | {one.found['index']} | {one.found['web']} |"
        for name, one in table.items()
    ]
    return ["| tags | recordings | index | web |", "|---|---:|---:|---:|", *rows]


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with both_paths(dump_with_aliases(folder / "dump"), folder / "index") as paths:
            table = scores(paths)
    sys.stdout.write("\n".join(lines(table)) + "\n")
    for kind, score in table.items():
        for label, cases in (("missed", score.missed), ("by others", score.by_others)):
            for path, tags in cases:
                sys.stdout.write(f"{kind}: {label} by {path}: {tags.artist} - {tags.title}\n")


if __name__ == "__main__":
    main()
