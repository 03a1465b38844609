"""Which key holds which field, in the form of each tag.

Keys: https://picard-docs.musicbrainz.org/en/appendices/tag_mapping.html (Picard 2.13), with what
mediafile 0.17 reads first where that differs.
"""

from dataclasses import dataclass
from typing import Literal

Family = Literal["id3", "vorbis", "mp4", "ape", "asf"]

FREE = "----:com.apple.iTunes:"


@dataclass(frozen=True, slots=True)
class Keys:
    """Where a form of tag keeps a field.

    All of `written` are set. `also` are keys of other programs that some readers look at first:
    they are set where they stand already, lest they contradict. `gone` are earlier ways of saying
    the same that are taken out.
    """

    written: tuple[str, ...]
    also: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TagField:
    """A field by its name here, with its keys; `several` says that it may have many values."""

    name: str
    keys: dict[Family, Keys]
    several: bool = False


def _field(
    name: str, *, id3: str, vorbis: str, mp4: str, ape: str, asf: str, several: bool = False
) -> TagField:
    keys: dict[Family, Keys] = {
        "id3": Keys((id3,)), "vorbis": Keys((vorbis,)), "mp4": Keys((mp4,)),
        "ape": Keys((ape,)), "asf": Keys((asf,)),
    }  # fmt: skip
    return TagField(name, keys, several)


def _mbid(name: str, kind: str, vorbis: str, *, id3: str = "", several: bool = False) -> TagField:
    return _field(
        name, id3=id3 or f"TXXX:MusicBrainz {kind} Id", vorbis=vorbis, ape=vorbis,
        mp4=f"{FREE}MusicBrainz {kind} Id", asf=f"MusicBrainz/{kind} Id", several=several,
    )  # fmt: skip


def _of_release(name: str, kind: str, vorbis: str, ape: str, *, several: bool = False) -> TagField:
    return _field(
        name, id3=f"TXXX:MusicBrainz Album {kind}", vorbis=vorbis, ape=ape,
        mp4=f"{FREE}MusicBrainz Album {kind}", asf=f"MusicBrainz/Album {kind}", several=several,
    )  # fmt: skip


def _also(field: TagField, **others: tuple[str, ...]) -> TagField:
    keys = {
        family: Keys(each.written, others.get(family, ())) for family, each in field.keys.items()
    }
    return TagField(field.name, keys, field.several)


FIELDS: tuple[TagField, ...] = (
    _mbid("recording_mbid", "Track", "MUSICBRAINZ_TRACKID", id3="UFID:http://musicbrainz.org"),
    _mbid("release_track_mbid", "Release Track", "MUSICBRAINZ_RELEASETRACKID"),
    _mbid("release_mbid", "Album", "MUSICBRAINZ_ALBUMID"),
    _mbid("release_group_mbid", "Release Group", "MUSICBRAINZ_RELEASEGROUPID"),
    _mbid("artist_mbids", "Artist", "MUSICBRAINZ_ARTISTID", several=True),
    _mbid("album_artist_mbids", "Album Artist", "MUSICBRAINZ_ALBUMARTISTID", several=True),
    _field("album", id3="TALB", vorbis="ALBUM", mp4="\xa9alb", ape="Album", asf="WM/AlbumTitle"),
    _also(
        _field("album_artist", id3="TPE2", vorbis="ALBUMARTIST", mp4="aART", ape="Album Artist",
               asf="WM/AlbumArtist"),
        vorbis=("ALBUM ARTIST", "ALBUM_ARTIST"), ape=("ALBUM_ARTIST", "ALBUMARTIST"),
    ),
    TagField("date", {
        "id3": Keys(("TDRC",)),  # before ID3v2.4: tag_writing knows
        "vorbis": Keys(("DATE",), also=("YEAR",)),
        "mp4": Keys(("\xa9day",)),
        "ape": Keys(("Year", "DATE")),  # Picard and foobar2000; beets
        "asf": Keys(("WM/Year",)),
    }),
    TagField("original_date", {
        "id3": Keys(("TDOR",)),
        "vorbis": Keys(("ORIGINALDATE",)),
        "mp4": Keys((f"{FREE}ORIGINALDATE",), also=(f"{FREE}ORIGINAL YEAR",)),
        "ape": Keys(("ORIGINALDATE",)),
        # Picard calls it ...Time; beets reads the whole date from ...Year.
        "asf": Keys(("WM/OriginalReleaseTime", "WM/OriginalReleaseYear")),
    }),
    TagField("original_year", {
        "id3": Keys(("TXXX:originalyear",)),
        "vorbis": Keys(("ORIGINALYEAR",)),
        "mp4": Keys((f"{FREE}ORIGINALYEAR",)),
        "ape": Keys(("ORIGINALYEAR",)),
        "asf": Keys(()),  # WM/OriginalReleaseYear begins with it
    }),
    _also(
        _of_release("release_types", "Type", "RELEASETYPE", "MUSICBRAINZ_ALBUMTYPE", several=True),
        vorbis=("MUSICBRAINZ_ALBUMTYPE",), ape=("RELEASETYPE",),
    ),
    _also(
        _of_release("release_status", "Status", "RELEASESTATUS", "MUSICBRAINZ_ALBUMSTATUS"),
        vorbis=("MUSICBRAINZ_ALBUMSTATUS",), ape=("RELEASESTATUS",),
    ),
    _of_release("release_country", "Release Country", "RELEASECOUNTRY", "RELEASECOUNTRY"),
    _also(
        _field("labels", id3="TPUB", vorbis="LABEL", mp4=f"{FREE}LABEL", ape="LABEL",
               asf="WM/Publisher", several=True),
        mp4=(f"{FREE}publisher", f"{FREE}Label"), vorbis=("PUBLISHER",), ape=("PUBLISHER",),
        id3=("TXXX:LABEL",),
    ),
    _field("catalog_numbers", id3="TXXX:CATALOGNUMBER", vorbis="CATALOGNUMBER",
           mp4=f"{FREE}CATALOGNUMBER", ape="CATALOGNUMBER", asf="WM/CatalogNo", several=True),
    _also(
        _field("media", id3="TMED", vorbis="MEDIA", mp4=f"{FREE}MEDIA", ape="MEDIA",
               asf="WM/Media"),
        id3=("TXXX:MEDIA",),
    ),
    _field("decision_trace", id3="TXXX:CANON_TRACE", vorbis="CANON_TRACE",
           mp4=f"{FREE}CANON_TRACE", ape="CANON_TRACE", asf="CANON_TRACE"),
)  # fmt: skip
"""Every field that is written, in the order in which differences are shown."""

BY_NAME = {field.name: field for field in FIELDS}
"""The fields by name."""
