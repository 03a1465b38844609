"""Audio files for tests: bare, or tagged by mutagen with the frames and keys that Picard writes.

Not through mediafile: what is read through mediafile must be proven against the real fields.
Keys: https://picard-docs.musicbrainz.org/en/appendices/tag_mapping.html
"""

import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from mutagen.aiff import AIFF
from mutagen.asf import ASF
from mutagen.dsf import DSF
from mutagen.flac import FLAC
from mutagen.id3 import TXXX, UFID, Frames
from mutagen.monkeysaudio import MonkeysAudio
from mutagen.mp3 import MP3
from mutagen.mp4 import MP4
from mutagen.musepack import Musepack
from mutagen.oggopus import OggOpus
from mutagen.oggvorbis import OggVorbis
from mutagen.wave import WAVE
from mutagen.wavpack import WavPack

from chart_binder.audio.fields import all_fields
from chart_binder.audio.tagset import TagSet

FILES = Path(__file__).parent / "files"

_FREE = "----:com.apple.iTunes:"


@dataclass(frozen=True, slots=True)
class Field:
    """The keys of one attribute of `TrackTags`, what Picard writes, and what must be read."""

    attribute: str
    id3: str
    vorbis: str
    mp4: str
    ape: str
    asf: str
    written: tuple[str, ...]
    read: Any


def _id(attribute: str, kind: str, vorbis: str, mbid: str, id3: str = "") -> Field:
    return Field(
        attribute=attribute, id3=id3 or f"TXXX:MusicBrainz {kind} Id", vorbis=vorbis,
        mp4=f"{_FREE}MusicBrainz {kind} Id", ape=vorbis.title(), asf=f"MusicBrainz/{kind} Id",
        written=(mbid,), read=mbid.lower(),
    )  # fmt: skip


# fmt: off
FIELDS: tuple[Field, ...] = (
    Field("title", "TIT2", "TITLE", "\xa9nam", "Title", "Title", ("Ænima / 東京",), "Ænima / 東京"),
    Field("artist", "TPE1", "ARTIST", "\xa9ART", "Artist", "Author", ("Queen & David Bowie",),
        "Queen & David Bowie"),
    Field("album", "TALB", "ALBUM", "\xa9alb", "Album", "WM/AlbumTitle", ("Hot Space",),
        "Hot Space"),
    Field("album_artist", "TPE2", "ALBUMARTIST", "aART", "Album Artist", "WM/AlbumArtist",
        ("AC/DC",), "AC/DC"),
    Field("date", "TDRC", "DATE", "\xa9day", "Year", "WM/Year", ("1981-10-26",), "1981-10-26"),
    Field("isrcs", "TSRC", "ISRC", _FREE + "ISRC", "ISRC", "WM/ISRC", ("gb-um7-10-29604",
        "GBUM71029605"), ("GBUM71029604", "GBUM71029605")),
    _id("recording_mbid", "Track", "MUSICBRAINZ_TRACKID", "B1A9C0E9-D987-4042-AE91-78D6A3267D69",
        id3="UFID:http://musicbrainz.org"),
    _id("release_mbid", "Album", "MUSICBRAINZ_ALBUMID", "6defd963-fe91-4550-b18e-82c685603c2b"),
    _id("release_group_mbid", "Release Group", "MUSICBRAINZ_RELEASEGROUPID",
        "6b47c9a0-b9e1-3df9-a5e8-50a6ce0dbdbd"),
    _id("artist_mbid", "Artist", "MUSICBRAINZ_ARTISTID", "0383dadf-2a4e-4d10-a46a-e9e041da8eb3"),
)  # fmt: skip
# fmt: on

Values = Sequence[tuple[str, Sequence[str]]]


def _add_frames(tags: Any, values: Values) -> None:
    for key, texts in values:
        name, _, description = key.partition(":")
        match name:
            case "UFID":
                tags.add(UFID(owner=description, data=texts[0].encode()))
            case "TXXX":
                tags.add(TXXX(encoding=3, desc=description, text=list(texts)))
            case _:
                tags.add(Frames[name](encoding=3, text=list(texts)))


def _id3_24(audio: Any, values: Values) -> None:
    _add_frames(audio.tags, values)
    audio.save(v2_version=4)


def _id3_23(audio: Any, values: Values) -> None:
    """Write as ID3v2.3: dates in TYER with TDAT, UTF-16, several values joined by a slash."""
    _add_frames(audio.tags, values)
    audio.tags.update_to_v23()
    audio.save(v2_version=3, v23_sep="/")


def _texts(audio: Any, values: Values) -> None:
    for key, texts in values:
        audio[key] = list(texts)
    audio.save()


def _atoms(audio: Any, values: Values) -> None:
    for key, texts in values:
        audio[key] = [text.encode() for text in texts] if key.startswith("----") else list(texts)
    audio.save()


def field_texts(tags: TagSet, name: str) -> tuple[str, ...]:
    return all_fields(tags).get(name, ())


def bare_copy(name: str, folder: Path) -> Path:
    return Path(shutil.copy(FILES / name, folder))


@dataclass(frozen=True, slots=True)
class Container:
    """A kind of file, the column of `FIELDS` with its keys, and how mutagen writes them."""

    name: str
    bare: str
    column: str
    opener: Callable[[Path], Any]
    write: Callable[[Any, Values], None]

    def copy(self, folder: Path) -> Path:
        return bare_copy(self.bare, folder)

    def tagged(self, folder: Path, values: Values) -> Path:
        path = self.copy(folder)
        audio = self.opener(path)
        if audio.tags is None:
            audio.add_tags()
        self.write(audio, values)
        return path

    def key(self, field: Field) -> str:
        key: str = getattr(field, self.column)
        return key

    def fully_tagged(self, folder: Path) -> Path:
        return self.tagged(folder, [(self.key(field), field.written) for field in FIELDS])


CONTAINERS: tuple[Container, ...] = (
    Container("mp3-2.4", "bare.mp3", "id3", MP3, _id3_24),
    Container("mp3-2.3", "bare.mp3", "id3", MP3, _id3_23),
    Container("flac", "bare.flac", "vorbis", FLAC, _texts),
    Container("ogg", "bare.ogg", "vorbis", OggVorbis, _texts),
    Container("opus", "bare.opus", "vorbis", OggOpus, _texts),
    Container("aac", "bare.aac.m4a", "mp4", MP4, _atoms),
    Container("alac", "bare.alac.m4a", "mp4", MP4, _atoms),
    Container("aac-fast", "bare.fast.m4a", "mp4", MP4, _atoms),
    Container("wma", "bare.wma", "asf", ASF, _texts),
    Container("ape", "bare.ape", "ape", MonkeysAudio, _texts),
    Container("wavpack", "bare.wv", "ape", WavPack, _texts),
    Container("aiff", "bare.aiff", "id3", AIFF, _id3_24),
    Container("aiff-2.3", "bare.aiff", "id3", AIFF, _id3_23),
    Container("wav", "bare.wav", "id3", WAVE, _id3_24),
    Container("wav-2.3", "bare.wav", "id3", WAVE, _id3_23),
    Container("mpc-7", "bare.7.mpc", "ape", Musepack, _texts),
    Container("mpc-8", "bare.8.mpc", "ape", Musepack, _texts),
    Container("dsf", "bare.dsf", "id3", DSF, _id3_24),
)

CONTAINERS_BY_NAME = {container.name: container for container in CONTAINERS}


@dataclass(frozen=True, slots=True)
class Variant:
    """A kind of file, bare, tagged, with padding or without, made in a folder by `make`."""

    name: str
    bare: str
    make: Callable[[Path], Path]


def _with_padding(container: Container, size: int, folder: Path) -> Path:
    path = container.fully_tagged(folder)
    audio: Any = container.opener(path)
    old = {"v2_version": 3} if container.name.endswith("2.3") else {}
    audio.save(padding=lambda _: size, **old)
    return path


def _variants(container: Container) -> Iterator[Variant]:
    name, bare = container.name, container.bare
    if container.column == "ape":  # these tags have no padding
        yield Variant(f"{name}-tagged", bare, container.fully_tagged)
    else:
        for word, size in (("full", 0), ("roomy", 3_000)):
            yield Variant(f"{name}-{word}", bare, partial(_with_padding, container, size))


BARE = sorted({container.bare for container in CONTAINERS})
VARIANTS: tuple[Variant, ...] = (
    *(Variant(f"{name.removeprefix('bare.')}-bare", name, partial(bare_copy,
        name)) for name in (*BARE, "bare.pieces.m4a")),
    *(variant for container in CONTAINERS for variant in _variants(container)),
)  # fmt: skip

FEW = tuple(
    variant
    for variant in VARIANTS
    if variant.name in {"mp3-2.3-full", "flac-roomy", "aac-fast-full", "ogg-full", "ape-tagged"}
)
"""One of each way in which a file is put together from its pieces."""

FREDDIE = "0383dadf-2a4e-4d10-a46a-e9e041da8eb3"
DAVID = "5441c29d-3602-4898-b1a1-b77fa23b8e50"

WANTED: dict[str, tuple[str, ...]] = {
    "album": ("Ænima / 東京",), "album_artist": ("AC/DC",), "album_artist_sort": ("DC, AC",),
    "date": ("2011-09-05",), "release_date": ("2011-09-06",), "original_date": ("1974-10-11",),
    "original_year": ("1974",), "track": ("5/12",), "disc": ("2/3",),
    "disc_subtitle": ("Encores",), "compilation": ("1",), "labels": ("EMI",),
    "catalog_numbers": ("EMC 3061",), "barcode": ("077774661126",), "asin": ("B000002UAL",),
    "media": ('12" Vinyl',), "release_types": ("album", "compilation"),
    "release_status": ("official",), "release_country": ("GB",),
    "recording_mbid": ("b1a9c0e9-d987-4042-ae91-78d6a3267d69",),
    "release_track_mbid": ("0e0ad1e4-c2f2-3a3c-8a6b-4f3a6d2d3a4b",),
    "release_mbid": ("1e477f68-c407-4eae-ad01-518528cedc2c",),
    "release_group_mbid": ("6b47c9a0-b9e1-3df9-a5e8-50a6ce0dbdbd",),
    "artist_mbids": (FREDDIE, DAVID), "album_artist_mbids": (FREDDIE,),
    "disc_id": ("vqHGVC3HEdDFkcBJVXZQkvKzrGM-",), "note_album": ("Sheer Heart Attack",),
    "note_original_date": ("1974-10-11",),
    "note_uncertain_date": ("1972",),
    "note_release_group_mbid": ("f5093c06-23e3-404f-aeaa-40f72885ee3a",),
    "note_release_mbid": ("4ae4ed5e-5b9a-3bbd-b3a1-ac5b8e9ad2e8",),
    "decision_trace": ("evh=9b1f2c3d;crg=ALBUM_LEAD_WINDOW;rr=WORLD_EARLIEST;src=mb;cfg=lw90",),
}  # fmt: skip
"""A value for every field that is written."""

NOBODY = 65_534


@contextmanager
def unprivileged() -> Iterator[None]:
    """Act as the user nobody for a while, if this is root, whom no permission binds."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)
