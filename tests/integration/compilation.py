"""A compilation of ten tracks, each from a record of its artist, at MusicBrainz and as files."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_OID, uuid5

from audio.tagging import CONTAINERS_BY_NAME, Container
from chart_binder.domain.vocabulary import VARIOUS_ARTISTS
from golden.bundles import Bundle
from rules.making import album, document, recording, release, various
from servers.musicbrainz_xml import track_id

TITLE, YEAR = "Hits of the Seventies", "2004"


def mbid(name: str) -> str:
    """The id of a thing of this world."""
    return str(uuid5(NAMESPACE_OID, name))


COMPILATION, COMPILATION_GROUP = mbid("sampler"), mbid("sampler group")


@dataclass(frozen=True, slots=True)
class Song:
    """A track of the compilation: its first record, or an ISRC that tells of an earlier one."""

    number: int
    record: str | None
    date: str | None = None

    @property
    def title(self) -> str:
        return f"Song {self.number}"

    @property
    def artist(self) -> str:
        return f"Artist of {self.record or self.title}"

    @property
    def recording(self) -> str:
        return mbid(f"recording {self.number}")


SONGS = (
    Song(1, "Opera", "1975-11-21"), Song(2, "Opera", "1975-11-21"),
    Song(3, "Rumours", "1977-02-04"), Song(4, "Aja", "1977-09"), Song(5, "Low", "1977"),
    Song(6, "Parade", "1976-03-31"), Song(7, "Pretzel", "1974-02-20"),
    Song(8, "Siren", "1975-10-24"), Song(9, None), Song(10, None),
)  # fmt: skip
"""Of the last two no original is listed, and by its ISRC there is one: their years are not certain.
Two tracks are of one record."""
CERTAIN = tuple(song for song in SONGS if song.date)


def bundle(song: Song) -> Bundle:
    """The evidence of one of them."""
    return document(
        recording(
            *([_record(song.record, song)] if song.record else []), _COMPILATION,
            mb_recording_id=song.recording, title=song.title, length_ms=180_000,
            isrcs=[] if song.record else [f"GBAAA73{song.number:05}"],
        ),
        artist={
            "name": song.artist, "mb_artist_id": mbid(song.artist), "begin_area_country": "GB"
        },
        recording_title=song.title,
    )  # fmt: skip


def _record(title: str, song: Song) -> dict[str, Any]:
    sold = release(song.date, mb_release_id=mbid(f"release {title}"), title=title, label="EMI",
                   catno=f"EMC {title}", format='12" Vinyl')  # fmt: skip
    return album(title, sold, mb_rg_id=mbid(f"group {title}"), artist_credit=song.artist,
                 first_release_date=song.date)  # fmt: skip


_SOLD = release(YEAR, mb_release_id=COMPILATION, title=TITLE, label="Budget", catno="B 1",
                format="CD", artist_credit="Various Artists")  # fmt: skip
_COMPILATION = various(TITLE, _SOLD, mb_rg_id=COMPILATION_GROUP, first_release_date=YEAR)
BUNDLES = tuple(map(bundle, SONGS))

# What Picard writes into each file: field, its keys (ID3, Vorbis, MP4), its text.
_FREE = "----:com.apple.iTunes:"


def _tags(song: Song, container: Container, *, with_ids: bool, with_date: bool) -> dict[str, Any]:
    texts = {
        ("TIT2", "TITLE", "\xa9nam"): song.title,
        ("TPE1", "ARTIST", "\xa9ART"): song.artist,
        ("TALB", "ALBUM", "\xa9alb"): TITLE,
        ("TPE2", "ALBUMARTIST", "aART"): "Various Artists",
        ("UFID:http://musicbrainz.org", "MUSICBRAINZ_TRACKID",
         f"{_FREE}MusicBrainz Track Id"): song.recording,
    }  # fmt: skip
    if with_date:
        texts["TDRC", "DATE", "\xa9day"] = YEAR
    if with_ids:
        texts |= {
            ("TDOR", "ORIGINALDATE", f"{_FREE}ORIGINALDATE"): YEAR,
            ("TXXX:originalyear", "ORIGINALYEAR", f"{_FREE}ORIGINALYEAR"): YEAR,
            **{
                (f"TXXX:MusicBrainz {name}", f"MUSICBRAINZ_{key}",
                 f"{_FREE}MusicBrainz {name}"): one
                for name, key, one in (
                    ("Album Id", "ALBUMID", COMPILATION),
                    ("Release Group Id", "RELEASEGROUPID", COMPILATION_GROUP),
                    ("Release Track Id", "RELEASETRACKID", track_id(COMPILATION, song.recording)),
                    ("Album Artist Id", "ALBUMARTISTID", VARIOUS_ARTISTS),
                )
            },
        }  # fmt: skip
    column = ("id3", "vorbis", "mp4").index(container.column)
    return {keys[column]: text for keys, text in texts.items()}


def compilation_files(
    folder: Path, kind: str, *, with_ids: bool = True, with_date: bool = True,
    songs: Sequence[Song] = SONGS,
) -> list[Path]:  # fmt: skip
    """Make the files of the compilation: tagged by Picard, or else without ids."""
    container = CONTAINERS_BY_NAME[kind]
    folder.mkdir(parents=True, exist_ok=True)
    made = []
    for song in songs:
        values = _tags(song, container, with_ids=with_ids, with_date=with_date)
        audio = container.tagged(folder, [(key, (text,)) for key, text in values.items()])
        _number(container.opener(audio), song.number)
        made.append(audio.rename(folder / f"{song.number:02} {song.title}{audio.suffix}"))
    return made


def _number(audio: Any, number: int) -> None:
    """Give a file its track and disc number, and mark it as part of a compilation."""
    match type(audio).__name__:
        case "MP3":
            from mutagen.id3 import TCMP, TPOS, TRCK

            for frame in (TRCK, TPOS, TCMP):
                text = {"TRCK": f"{number}/10", "TPOS": "1/1", "TCMP": "1"}[frame.__name__]
                audio.tags.add(frame(encoding=3, text=[text]))
        case "MP4":
            audio["trkn"], audio["disk"], audio["cpil"] = [(number, 10)], [(1, 1)], True
        case _:
            audio["TRACKNUMBER"], audio["TRACKTOTAL"] = [str(number)], ["10"]
            audio["DISCNUMBER"], audio["COMPILATION"] = ["1"], ["1"]
    audio.save()
