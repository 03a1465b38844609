"""Tags bare audio files with mutagen, in the very frames and keys that Picard writes.

Not through mediafile: what is read through mediafile must be proven against the real fields.
Keys: https://picard-docs.musicbrainz.org/en/appendices/tag_mapping.html
"""

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
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

FILES = Path(__file__).parent / "files"

_FREE = "----:com.apple.iTunes:"


@dataclass(frozen=True, slots=True)
class Field:
    """Where Picard keeps one attribute of `TrackTags`, what it writes, what must be read."""

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
        attribute=attribute,
        id3=id3 or f"TXXX:MusicBrainz {kind} Id",
        vorbis=vorbis,
        mp4=f"{_FREE}MusicBrainz {kind} Id",
        ape=vorbis.title(),
        asf=f"MusicBrainz/{kind} Id",
        written=(mbid,),
        read=mbid.lower(),
    )


# fmt: off
FIELDS: tuple[Field, ...] = (
    Field("title", "TIT2", "TITLE", "\xa9nam", "Title", "Title",
          ("Ænima / 東京",), "Ænima / 東京"),
    Field("artist", "TPE1", "ARTIST", "\xa9ART", "Artist", "Author",
          ("Queen & David Bowie",), "Queen & David Bowie"),
    Field("album", "TALB", "ALBUM", "\xa9alb", "Album", "WM/AlbumTitle",
          ("Hot Space",), "Hot Space"),
    Field("album_artist", "TPE2", "ALBUMARTIST", "aART", "Album Artist", "WM/AlbumArtist",
          ("AC/DC",), "AC/DC"),
    Field("date", "TDRC", "DATE", "\xa9day", "Year", "WM/Year",
          ("1981-10-26",), "1981-10-26"),
    Field("isrcs", "TSRC", "ISRC", _FREE + "ISRC", "ISRC", "WM/ISRC",
          ("gb-um7-10-29604", "GBUM71029605"), ("GBUM71029604", "GBUM71029605")),
    _id("recording_mbid", "Track", "MUSICBRAINZ_TRACKID",
        "B1A9C0E9-D987-4042-AE91-78D6A3267D69", id3="UFID:http://musicbrainz.org"),
    _id("release_mbid", "Album", "MUSICBRAINZ_ALBUMID",
        "6defd963-fe91-4550-b18e-82c685603c2b"),
    _id("release_group_mbid", "Release Group", "MUSICBRAINZ_RELEASEGROUPID",
        "6b47c9a0-b9e1-3df9-a5e8-50a6ce0dbdbd"),
    _id("artist_mbid", "Artist", "MUSICBRAINZ_ARTISTID",
        "0383dadf-2a4e-4d10-a46a-e9e041da8eb3"),
)
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
        audio[key] = [text.encode() for text in texts] if key.startswith(_FREE) else list(texts)
    audio.save()


@dataclass(frozen=True, slots=True)
class Container:
    """A kind of file, the column of `FIELDS` that holds its keys, how tags get into it."""

    name: str
    bare: str
    column: str
    opener: Callable[[Path], Any]
    write: Callable[[Any, Values], None]

    def copy(self, folder: Path) -> Path:
        """Return a copy of the bare file in `folder`."""
        return Path(shutil.copy(FILES / self.bare, folder))

    def tagged(self, folder: Path, values: Values) -> Path:
        """Return a copy of the bare file that has the texts given for each key."""
        path = self.copy(folder)
        audio = self.opener(path)
        if audio.tags is None:
            audio.add_tags()
        self.write(audio, values)
        return path

    def key(self, field: Field) -> str:
        """Return the key under which this container keeps the field."""
        key: str = getattr(field, self.column)
        return key

    def fully_tagged(self, folder: Path) -> Path:
        """Return a copy of the bare file that has every field."""
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
