"""The tag fields that are read and written, and their keys in each tag format.

A key belongs to a field if the table lists it, in any case, or if it has the same letters as a
listed key: programs write `MusicBrainz/AlbumId`, `MUSICBRAINZ ALBUM ID` or `musicbrainz_albumid`,
and put any word before it in MP4.
"""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Literal

Texts = tuple[str, ...]

Family = Literal["id3", "vorbis", "mp4", "ape", "asf"]

FREE = "----:com.apple.iTunes:"


@dataclass(frozen=True, slots=True)
class FieldKeys:
    """The keys of a field in one tag format.

    When the field is set, all `primary` keys are set, `secondary` keys are set if the tag has them,
    and `obsolete` keys are removed. `stale` keys give details of the old value and are removed if
    the field changes.
    """

    primary: tuple[str, ...]
    secondary: tuple[str, ...] = ()
    obsolete: tuple[str, ...] = ()
    stale: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TagField:
    """A field with its keys by tag family; `is_multiple` allows several values."""

    name: str
    keys: dict[Family, FieldKeys]
    is_multiple: bool = False


def _field(  # the parameters are the columns of the table
    name: str,
    id3: str,
    vorbis: str | Texts,
    mp4: str,
    ape: str | Texts,
    asf: str | Texts,
    *,
    is_multiple: bool = False,
    secondary: Mapping[Family, Texts] | None = None,
    stale: Texts = (),
) -> TagField:
    cells: dict[Family, str | Texts] = {
        "id3": id3, "vorbis": vorbis, "mp4": mp4, "ape": ape, "asf": asf
    }  # fmt: skip
    keys = {
        family: FieldKeys(
            (cell,) if isinstance(cell, str) else cell,
            (secondary or {}).get(family, ()),
            stale=tuple(_PREFIXES[family] + name for name in stale),
        )
        for family, cell in cells.items()
    }
    return TagField(name, keys, is_multiple)


_FAMILIES: dict[str, Family] = {
    "id3v2": "id3", "vorbis": "vorbis", "mp4": "mp4", "apev2": "ape", "asf": "asf"
}  # fmt: skip
_PREFIXES: dict[Family, str] = {"id3": "TXXX:", "vorbis": "", "mp4": FREE, "ape": "", "asf": ""}


def _musicbrainz(
    name: str,
    words: str,
    vorbis: str,
    *,
    id3: str = "",
    ape: str = "",
    is_multiple: bool = False,
    stale: Texts = (),
) -> TagField:
    """Return a field with keys like `MusicBrainz Album Id`, in the spellings of all formats."""
    names = dict.fromkeys((vorbis, ape or vorbis, f"MusicBrainz {words}"))
    secondary = {
        family: tuple(prefix + name for name in names) for family, prefix in _PREFIXES.items()
    }
    return _field(
        name, id3 or f"TXXX:MusicBrainz {words}", vorbis, f"{FREE}MusicBrainz {words}",
        ape or vorbis, f"MusicBrainz/{words}", is_multiple=is_multiple, secondary=secondary,
        stale=stale,
    )  # fmt: skip


def _canon_field(name: str, key: str) -> TagField:
    return _field(name, f"TXXX:{key}", key, f"{FREE}{key}", key, key)


FIELDS: tuple[TagField, ...] = (
    _field("album", "TALB", "ALBUM", "\xa9alb", "Album", "WM/AlbumTitle",
           secondary={"mp4": (f"{FREE}ALBUM",)}),
    _field("album_artist", "TPE2", "ALBUMARTIST", "aART", "Album Artist", "WM/AlbumArtist",
           secondary={"mp4": (f"{FREE}ALBUMARTIST",)},
           stale=("ALBUMARTISTS", "WM/AlbumArtists", "ALBUMARTIST_CREDIT", "Album Artist Credit",
                  "ALBUMARTISTS_CREDIT", "beets/Album Artist Credit", "beets/AlbumArtistsCredit")),
    _field("album_artist_sort", "TSO2", "ALBUMARTISTSORT", "soaa", "ALBUMARTISTSORT",
           "WM/AlbumArtistSortOrder", secondary={"id3": ("TXXX:ALBUMARTISTSORT",)},
           stale=("ALBUMARTISTS_SORT", "beets/AlbumArtistsSort")),
    # ID3 before 2.4: see _OLD_DATES. APE: Picard and foobar2000 use Year, beets uses DATE.
    _field("date", "TDRC", "DATE", "\xa9day", ("Year", "DATE"), "WM/Year",
           secondary={"vorbis": ("YEAR",)}),
    _field("release_date", "TDRL", "RELEASEDATE", f"{FREE}RELEASEDATE", "RELEASEDATE",
           "RELEASEDATE"),
    # beets stores full dates in ORIGINAL YEAR and ...ReleaseYear; canon writes only the year there.
    _field("original_date", "TDOR", "ORIGINALDATE", f"{FREE}ORIGINALDATE", "ORIGINALDATE",
           "WM/OriginalReleaseTime",
           secondary={"mp4": (f"{FREE}ORIGINAL YEAR",), "asf": ("WM/OriginalReleaseYear",)}),
    _field("original_year", "TXXX:originalyear", "ORIGINALYEAR", f"{FREE}ORIGINALYEAR",
           "ORIGINALYEAR", "WM/OriginalReleaseYear"),
    # Number and total as 5/12; keys that hold only one of the two are listed in PARTS.
    _field("track", "TRCK", ("TRACKNUMBER", "TRACKTOTAL", "TOTALTRACKS"), "trkn", "Track",
           ("WM/TrackNumber", "TotalTracks"),
           secondary={"vorbis": ("TRACK", "TRACKC"),
                 "ape": ("TRACKNUMBER", "TRACKTOTAL", "TOTALTRACKS", "TRACKC")}),
    _field("disc", "TPOS", ("DISCNUMBER", "DISCTOTAL", "TOTALDISCS"), "disk", "Disc",
           ("WM/PartOfSet", "TotalDiscs"),
           secondary={"vorbis": ("DISC", "DISCC"),
                 "ape": ("DISCNUMBER", "DISCTOTAL", "TOTALDISCS", "DISCC")}),
    _field("disc_subtitle", "TSST", "DISCSUBTITLE", f"{FREE}DISCSUBTITLE", "DISCSUBTITLE",
           "WM/SetSubTitle"),
    _field("compilation", "TCMP", "COMPILATION", "cpil", "Compilation", "WM/IsCompilation"),
    _field("labels", "TPUB", "LABEL", f"{FREE}LABEL", "LABEL", "WM/Publisher", is_multiple=True,
           secondary={"id3": ("TXXX:LABEL",), "vorbis": ("PUBLISHER",), "ape": ("PUBLISHER",),
                 "mp4": (f"{FREE}publisher",)}),
    _field("catalog_numbers", "TXXX:CATALOGNUMBER", "CATALOGNUMBER", f"{FREE}CATALOGNUMBER",
           "CATALOGNUMBER", "WM/CatalogNo", is_multiple=True),
    _field("barcode", "TXXX:BARCODE", "BARCODE", f"{FREE}BARCODE", "BARCODE", "WM/Barcode"),
    _field("asin", "TXXX:ASIN", "ASIN", f"{FREE}ASIN", "ASIN", ("ASIN", "MusicBrainz/ASIN")),
    _field("media", "TMED", "MEDIA", f"{FREE}MEDIA", "MEDIA", "WM/Media",
           secondary={"id3": ("TXXX:MEDIA",)}),
    _musicbrainz("release_types", "Album Type", "RELEASETYPE", ape="MUSICBRAINZ_ALBUMTYPE",
                 is_multiple=True),
    _musicbrainz("release_status", "Album Status", "RELEASESTATUS", ape="MUSICBRAINZ_ALBUMSTATUS"),
    _musicbrainz("release_country", "Album Release Country", "RELEASECOUNTRY"),
    _musicbrainz("recording_mbid", "Track Id", "MUSICBRAINZ_TRACKID",
                 id3="UFID:http://musicbrainz.org"),
    _musicbrainz("release_track_mbid", "Release Track Id", "MUSICBRAINZ_RELEASETRACKID"),
    _musicbrainz("release_mbid", "Album Id", "MUSICBRAINZ_ALBUMID",
                 stale=("MUSICBRAINZ_ALBUMCOMMENT",)),
    _musicbrainz("release_group_mbid", "Release Group Id", "MUSICBRAINZ_RELEASEGROUPID"),
    _musicbrainz("artist_mbids", "Artist Id", "MUSICBRAINZ_ARTISTID", is_multiple=True),
    _musicbrainz("album_artist_mbids", "Album Artist Id", "MUSICBRAINZ_ALBUMARTISTID",
                 is_multiple=True),
    _musicbrainz("disc_id", "Disc Id", "MUSICBRAINZ_DISCID"),
    _canon_field("note_album", "CANON_ALBUM"),
    _canon_field("note_original_date", "CANON_ORIGINALDATE"),
    _canon_field("note_uncertain_date", "CANON_ORIGINALDATE_UNCERTAIN"),
    _canon_field("note_release_group_mbid", "CANON_RELEASEGROUPID"),
    _canon_field("note_release_mbid", "CANON_RELEASEID"),
    _canon_field("decision_trace", "CANON_TRACE"),
)  # fmt: skip
"""The fields that can be written, in the order in which differences are displayed."""

READ_ONLY_FIELDS: tuple[TagField, ...] = (
    _field("title", "TIT2", "TITLE", "\xa9nam", "Title", "Title",
           secondary={"mp4": (f"{FREE}TITLE",)}),
    _field("artist", "TPE1", "ARTIST", "\xa9ART", "Artist", "Author", is_multiple=True,
           secondary={"mp4": (f"{FREE}ARTIST",)}),
    _field("isrcs", "TSRC", "ISRC", f"{FREE}ISRC", "ISRC", "WM/ISRC", is_multiple=True),
)  # fmt: skip
"""Fields that identify a recording and an album; no policy writes them."""

FIELDS_BY_NAME = {field.name: field for field in (*FIELDS, *READ_ONLY_FIELDS)}

TextPart = tuple[re.Pattern[str], tuple[int, ...]]
"""A part of a field's text: a pattern and the groups to join."""

DATE = re.compile(r"(\d{4})(?:-(\d\d))?(?:-(\d\d))?")
NUMBERS = re.compile(r"\s*0*(\d+)\s*(?:/\s*0*(\d+)\s*)?")
YEAR: TextPart = (DATE, (1,))
DAY_AND_MONTH: TextPart = (DATE, (3, 2))
NUMBER: TextPart = (NUMBERS, (1,))
TOTAL: TextPart = (NUMBERS, (2,))

# APE's `Year` and `WM/Year` are not listed: Picard, beets and foobar2000 store full dates there.
PARTS: dict[str, TextPart] = {
    **dict.fromkeys(
        ("TYER", "TYE", "TORY", "TOR", "YEAR", "WM/OriginalReleaseYear", f"{FREE}ORIGINAL YEAR"),
        YEAR,
    ),
    **dict.fromkeys(("TDAT", "TDA"), DAY_AND_MONTH),
    **dict.fromkeys(("TRACKNUMBER", "TRACK", "WM/TrackNumber", "DISCNUMBER", "DISC"), NUMBER),
    **dict.fromkeys(
        ("TRACKTOTAL", "TOTALTRACKS", "TRACKC", "TotalTracks", "DISCTOTAL", "TOTALDISCS", "DISCC",
         "TotalDiscs"), TOTAL,
    ),
}  # fmt: skip
"""Keys that hold only a part of a field's text."""

BEFORE_2_4 = ("id3v2.2", "id3v2.3")
"""The ID3 versions that have one text per field and separate frames for year and day."""

DAYS = frozenset({"TDAT", "TDA", "TIME", "TIM"})
"""Keys that have no meaning without the frame of the year."""

_OLD_DATES = {
    "date": FieldKeys(("TYER", "TDAT"), obsolete=("TDRC", "TIME")),
    "original_date": FieldKeys(("TORY",), secondary=("XDOR",), obsolete=("TDOR",)),
    "release_date": FieldKeys(("TXXX:RELEASEDATE",), obsolete=("TDRL",)),
}
_NEW_DATES = {
    "date": FieldKeys(("TDRC",), obsolete=("TYER", "TDAT", "TIME")),
    "original_date": FieldKeys(("TDOR",), secondary=("XDOR",), obsolete=("TORY",)),
    "release_date": FieldKeys(("TDRL",), secondary=("TXXX:RELEASEDATE",)),
}
_DATES = {"id3v2.2": _OLD_DATES, "id3v2.3": _OLD_DATES, "id3v2.4": _NEW_DATES}

# The frame names of ID3v2.2.
_SHORT = {"UFID": "UFI", "TXXX": "TXX", "TALB": "TAL", "TPE2": "TP2", "TPUB": "TPB", "TMED": "TMT",
          "TYER": "TYE", "TDAT": "TDA", "TIME": "TIM", "TORY": "TOR", "TIT2": "TT2", "TPE1": "TP1",
          "TRCK": "TRK", "TPOS": "TPA", "TCMP": "TCP", "TSO2": "TS2", "TSRC": "TRC", "TCON": "TCO",
          "COMM": "COM", "TCOM": "TCM", "TEXT": "TXT", "TPE3": "TP3", "TPE4": "TP4", "TCOP": "TCR",
          "TLAN": "TLA", "TBPM": "TBP", "USLT": "ULT", "TENC": "TEN", "TSSE": "TSS", "TIT1": "TT1",
          "TIT3": "TT3", "TKEY": "TKE", "TOAL": "TOT", "TOFN": "TOF", "TOLY": "TOL", "TOPE": "TOA",
          "TSOA": "TSA", "TSOP": "TSP", "TSOT": "TST", "TSOC": "TSC",
          "TSST": "TXX:DISCSUBTITLE"}  # fmt: skip
_LONG = {short: long for long, short in _SHORT.items() if ":" not in short}


def key_of_version(form: str, key: str) -> str:
    """Return an ID3v2.4 key as the key in another ID3 version."""
    return _with_name(key, _SHORT) if form == "id3v2.2" else key


def long_key(form: str, key: str) -> str:
    """Return an ID3v2.2 key as in later versions; other keys are returned unchanged."""
    return _with_name(key, _LONG) if form == "id3v2.2" else key


def _with_name(key: str, names: Mapping[str, str]) -> str:
    name, colon, description = key.partition(":")
    return names.get(name, name) + colon + description


@dataclass(frozen=True, slots=True, eq=False)
class FormKeys:
    """The keys of every field in one tag format.

    `listed` maps each folded key of the table to its fields, `by_letters` maps the letters of a key
    to one field; with each field comes its key in the table. `stale` has the letters of the stale
    keys of each field.
    """

    form: str
    keys: Mapping[str, FieldKeys]
    listed: Mapping[str, Sequence[tuple[str, str]]]
    by_letters: Mapping[str, tuple[str, str]]
    stale: Mapping[str, frozenset[str]]

    @lru_cache(maxsize=4096)  # noqa: B019  # there is one instance per tag format
    def fields_of(self, key: str) -> Sequence[tuple[str, str]]:
        """Return the fields that a key of a tag belongs to, each with its key in the table."""
        if fields := self.listed.get(folded(self.form, key)):
            return fields
        field = self.by_letters.get(_letters(self.form, key))
        return (field,) if field else ()

    def is_stale(self, name: str, key: str) -> bool:
        """Tell whether a key is removed when the field changes."""
        return _letters(self.form, key) in self.stale[name]


@cache
def keys_of_form(form: str) -> FormKeys:
    """Return the keys of the fields in a tag format that can be written."""
    family, dates = _FAMILIES[form.partition(".")[0]], _DATES.get(form, {})
    keys: dict[str, FieldKeys] = {}
    listed = defaultdict[str, dict[str, str]](dict)
    for name, field in FIELDS_BY_NAME.items():
        of_field = dates.get(name, field.keys[family])
        columns = (of_field.primary, of_field.secondary, of_field.obsolete, of_field.stale)
        keys[name] = FieldKeys(
            *(tuple(key_of_version(form, key) for key in column) for column in columns)
        )
    primary = ((name, key) for name, of_field in keys.items() for key in of_field.primary)
    accepted = (
        (name, key)
        for name, of_field in keys.items()
        for key in (*of_field.secondary, *of_field.obsolete)
    )
    by_letters: dict[str, tuple[str, str]] = {}
    for name, key in (*primary, *accepted):
        listed[folded(form, key)].setdefault(name, key)
        by_letters.setdefault(_letters(form, key), (name, key))
    fields_of = {key: tuple(fields.items()) for key, fields in listed.items()}
    stale = {
        name: frozenset(_letters(form, key) for key in of_field.stale)
        for name, of_field in keys.items()
    }
    return FormKeys(form, keys, fields_of, by_letters, stale)


def folded(form: str, key: str) -> str:
    """Return a key in the form in which keys are compared: only MP4 keys are case-sensitive."""
    return key if form == "mp4" else key.casefold()


def _letters(form: str, key: str) -> str:
    """Return the part of a key that is equal in all its spellings."""
    kind, colon, name = key.partition(":")
    if form == "mp4":
        if not colon:
            return key
        name = name.partition(":")[2]
    elif kind not in ("TXXX", "TXX"):
        kind, colon, name = "", "", key
    return kind + colon + name.casefold().translate(_NO_LETTERS)


_NO_LETTERS = dict.fromkeys(map(ord, " /_"))


def written_keys(name: str) -> frozenset[str]:
    """Return the primary keys of a field in all tag formats."""
    forms = ("id3v2.2", "id3v2.3", "id3v2.4", "vorbis", "mp4", "apev2", "asf")
    return frozenset(key for form in forms for key in keys_of_form(form).keys[name].primary)
