"""The fields of tags that are read and written, and their keys in each form of tag.

A key is of a field if the table lists it, whatever its case, or if it has the letters of one that
the table lists: programs write `MusicBrainz/AlbumId`, `MUSICBRAINZ ALBUM ID` or
`musicbrainz_albumid`, and in MP4 put any word before it.
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
    """The keys of a field in one form of tag.

    All of `written` are set, those of `also` where they are there; `gone` ones are removed, and
    `stale` ones if the field changes: they say more about its former value.
    """

    written: tuple[str, ...]
    also: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    stale: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TagField:
    """A field by its name here, with its keys; `several` says whether it may have many values."""

    name: str
    keys: dict[Family, FieldKeys]
    several: bool = False


def _field(  # the columns of the table
    name: str,
    id3: str,
    vorbis: str | Texts,
    mp4: str,
    ape: str | Texts,
    asf: str | Texts,
    *,
    several: bool = False,
    also: Mapping[Family, Texts] | None = None,
    stale: Texts = (),
) -> TagField:
    cells: dict[Family, str | Texts] = {
        "id3": id3, "vorbis": vorbis, "mp4": mp4, "ape": ape, "asf": asf
    }  # fmt: skip
    keys = {
        family: FieldKeys(
            (cell,) if isinstance(cell, str) else cell,
            (also or {}).get(family, ()),
            stale=tuple(_PREFIXES[family] + name for name in stale),
        )
        for family, cell in cells.items()
    }
    return TagField(name, keys, several)


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
    several: bool = False,
    stale: Texts = (),
) -> TagField:
    """Return a field under MusicBrainz' words; its names in the other forms are further keys."""
    names = dict.fromkeys((vorbis, ape or vorbis, f"MusicBrainz {words}"))
    also = {family: tuple(prefix + name for name in names) for family, prefix in _PREFIXES.items()}
    return _field(
        name, id3 or f"TXXX:MusicBrainz {words}", vorbis, f"{FREE}MusicBrainz {words}",
        ape or vorbis, f"MusicBrainz/{words}", several=several, also=also, stale=stale,
    )  # fmt: skip


def _own(name: str, key: str) -> TagField:
    return _field(name, f"TXXX:{key}", key, f"{FREE}{key}", key, key)


FIELDS: tuple[TagField, ...] = (
    _field("album", "TALB", "ALBUM", "\xa9alb", "Album", "WM/AlbumTitle",
           also={"mp4": (f"{FREE}ALBUM",)}),
    _field("album_artist", "TPE2", "ALBUMARTIST", "aART", "Album Artist", "WM/AlbumArtist",
           also={"mp4": (f"{FREE}ALBUMARTIST",)},
           stale=("ALBUMARTISTS", "WM/AlbumArtists", "ALBUMARTIST_CREDIT", "Album Artist Credit",
                  "ALBUMARTISTS_CREDIT", "beets/Album Artist Credit", "beets/AlbumArtistsCredit")),
    _field("album_artist_sort", "TSO2", "ALBUMARTISTSORT", "soaa", "ALBUMARTISTSORT",
           "WM/AlbumArtistSortOrder", also={"id3": ("TXXX:ALBUMARTISTSORT",)},
           stale=("ALBUMARTISTS_SORT", "beets/AlbumArtistsSort")),
    # ID3 before 2.4: _OLD_DATES. APE: Year is of Picard and foobar2000, DATE of beets.
    _field("date", "TDRC", "DATE", "\xa9day", ("Year", "DATE"), "WM/Year",
           also={"vorbis": ("YEAR",)}),
    _field("release_date", "TDRL", "RELEASEDATE", f"{FREE}RELEASEDATE", "RELEASEDATE",
           "RELEASEDATE"),
    # beets keeps the whole date in ORIGINAL YEAR and ...ReleaseYear: from here they get the year.
    _field("original_date", "TDOR", "ORIGINALDATE", f"{FREE}ORIGINALDATE", "ORIGINALDATE",
           "WM/OriginalReleaseTime",
           also={"mp4": (f"{FREE}ORIGINAL YEAR",), "asf": ("WM/OriginalReleaseYear",)}),
    _field("original_year", "TXXX:originalyear", "ORIGINALYEAR", f"{FREE}ORIGINALYEAR",
           "ORIGINALYEAR", "WM/OriginalReleaseYear"),
    # Number and total as 5/12; a key that holds one of them is in _PARTS.
    _field("track", "TRCK", ("TRACKNUMBER", "TRACKTOTAL", "TOTALTRACKS"), "trkn", "Track",
           ("WM/TrackNumber", "TotalTracks"),
           also={"vorbis": ("TRACK", "TRACKC"),
                 "ape": ("TRACKNUMBER", "TRACKTOTAL", "TOTALTRACKS", "TRACKC")}),
    _field("disc", "TPOS", ("DISCNUMBER", "DISCTOTAL", "TOTALDISCS"), "disk", "Disc",
           ("WM/PartOfSet", "TotalDiscs"),
           also={"vorbis": ("DISC", "DISCC"),
                 "ape": ("DISCNUMBER", "DISCTOTAL", "TOTALDISCS", "DISCC")}),
    _field("disc_subtitle", "TSST", "DISCSUBTITLE", f"{FREE}DISCSUBTITLE", "DISCSUBTITLE",
           "WM/SetSubTitle"),
    _field("compilation", "TCMP", "COMPILATION", "cpil", "Compilation", "WM/IsCompilation"),
    _field("labels", "TPUB", "LABEL", f"{FREE}LABEL", "LABEL", "WM/Publisher", several=True,
           also={"id3": ("TXXX:LABEL",), "vorbis": ("PUBLISHER",), "ape": ("PUBLISHER",),
                 "mp4": (f"{FREE}publisher",)}),
    _field("catalog_numbers", "TXXX:CATALOGNUMBER", "CATALOGNUMBER", f"{FREE}CATALOGNUMBER",
           "CATALOGNUMBER", "WM/CatalogNo", several=True),
    _field("barcode", "TXXX:BARCODE", "BARCODE", f"{FREE}BARCODE", "BARCODE", "WM/Barcode"),
    _field("asin", "TXXX:ASIN", "ASIN", f"{FREE}ASIN", "ASIN", ("ASIN", "MusicBrainz/ASIN")),
    _field("media", "TMED", "MEDIA", f"{FREE}MEDIA", "MEDIA", "WM/Media",
           also={"id3": ("TXXX:MEDIA",)}),
    _musicbrainz("release_types", "Album Type", "RELEASETYPE", ape="MUSICBRAINZ_ALBUMTYPE",
                 several=True),
    _musicbrainz("release_status", "Album Status", "RELEASESTATUS", ape="MUSICBRAINZ_ALBUMSTATUS"),
    _musicbrainz("release_country", "Album Release Country", "RELEASECOUNTRY"),
    _musicbrainz("recording_mbid", "Track Id", "MUSICBRAINZ_TRACKID",
                 id3="UFID:http://musicbrainz.org"),
    _musicbrainz("release_track_mbid", "Release Track Id", "MUSICBRAINZ_RELEASETRACKID"),
    _musicbrainz("release_mbid", "Album Id", "MUSICBRAINZ_ALBUMID",
                 stale=("MUSICBRAINZ_ALBUMCOMMENT",)),
    _musicbrainz("release_group_mbid", "Release Group Id", "MUSICBRAINZ_RELEASEGROUPID"),
    _musicbrainz("artist_mbids", "Artist Id", "MUSICBRAINZ_ARTISTID", several=True),
    _musicbrainz("album_artist_mbids", "Album Artist Id", "MUSICBRAINZ_ALBUMARTISTID",
                 several=True),
    _musicbrainz("disc_id", "Disc Id", "MUSICBRAINZ_DISCID"),
    _own("note_album", "CANON_ALBUM"),
    _own("note_original_date", "CANON_ORIGINALDATE"),
    _own("note_uncertain_date", "CANON_ORIGINALDATE_UNCERTAIN"),
    _own("note_release_group_mbid", "CANON_RELEASEGROUPID"),
    _own("note_release_mbid", "CANON_RELEASEID"),
    _own("decision_trace", "CANON_TRACE"),
)  # fmt: skip
"""All fields that are written, in the order in which differences are shown."""

READ_ONLY_FIELDS: tuple[TagField, ...] = (
    _field("title", "TIT2", "TITLE", "\xa9nam", "Title", "Title",
           also={"mp4": (f"{FREE}TITLE",)}),
    _field("artist", "TPE1", "ARTIST", "\xa9ART", "Artist", "Author", several=True,
           also={"mp4": (f"{FREE}ARTIST",)}),
    _field("isrcs", "TSRC", "ISRC", f"{FREE}ISRC", "ISRC", "WM/ISRC", several=True),
)  # fmt: skip
"""Fields that no policy writes: a recording is found by them, and an album told from another."""

FIELDS_BY_NAME = {field.name: field for field in (*FIELDS, *READ_ONLY_FIELDS)}

TextPart = tuple[re.Pattern[str], tuple[int, ...]]
"""What a key holds of a field's text: groups of an expression."""

DATE = re.compile(r"(\d{4})(?:-(\d\d))?(?:-(\d\d))?")
NUMBERS = re.compile(r"\s*0*(\d+)\s*(?:/\s*0*(\d+)\s*)?")
YEAR: TextPart = (DATE, (1,))
DAY_AND_MONTH: TextPart = (DATE, (3, 2))
NUMBER: TextPart = (NUMBERS, (1,))
TOTAL: TextPart = (NUMBERS, (2,))

# Other keys that are named for a year are defined to hold a date: APE's `Year`, and `WM/Year`,
# where Picard, beets and foobar2000 keep the whole one.
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
"""Keys that hold a part of a field's text."""

BEFORE_2_4 = ("id3v2.2", "id3v2.3")
"""Forms of ID3 that have one text for each field, and of a date the year and the day apart."""

DAYS = frozenset({"TDAT", "TDA", "TIME", "TIM"})
"""Keys that say nothing without the frame of the year."""

_OLD_DATES = {
    "date": FieldKeys(("TYER", "TDAT"), gone=("TDRC", "TIME")),
    "original_date": FieldKeys(("TORY",), also=("XDOR",), gone=("TDOR",)),
    "release_date": FieldKeys(("TXXX:RELEASEDATE",), gone=("TDRL",)),
}
_NEW_DATES = {
    "date": FieldKeys(("TDRC",), gone=("TYER", "TDAT", "TIME")),
    "original_date": FieldKeys(("TDOR",), also=("XDOR",), gone=("TORY",)),
    "release_date": FieldKeys(("TDRL",), also=("TXXX:RELEASEDATE",)),
}
_DATES = {"id3v2.2": _OLD_DATES, "id3v2.3": _OLD_DATES, "id3v2.4": _NEW_DATES}

# The names of frames in ID3v2.2.
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
    """Return the key of a frame of ID3v2.4 in this form of tag."""
    return _with_name(key, _SHORT) if form == "id3v2.2" else key


def long_key(form: str, key: str) -> str:
    """Return a key of ID3v2.2 as later versions have it; any other as it is."""
    return _with_name(key, _LONG) if form == "id3v2.2" else key


def _with_name(key: str, names: Mapping[str, str]) -> str:
    name, colon, rest = key.partition(":")
    return names.get(name, name) + colon + rest


@dataclass(frozen=True, slots=True, eq=False)
class FormKeys:
    """The keys of every field in one form of tag.

    `listed` and `by_letters` have the fields of a key, folded, or of any other key with the same
    letters; each with the key of the table that it stands for. `stale` has letters by field.
    """

    form: str
    keys: Mapping[str, FieldKeys]
    listed: Mapping[str, Sequence[tuple[str, str]]]
    by_letters: Mapping[str, tuple[str, str]]
    stale: Mapping[str, frozenset[str]]

    @lru_cache(maxsize=4096)  # noqa: B019  # there is one of each form
    def fields_of(self, key: str) -> Sequence[tuple[str, str]]:
        """Return the fields of a key of a tag, each with the key that stands for it here."""
        if fields := self.listed.get(folded(self.form, key)):
            return fields
        other = self.by_letters.get(_letters(self.form, key))
        return (other,) if other else ()

    def is_stale(self, name: str, key: str) -> bool:
        """Say whether a key says more about the former value of a field that changes."""
        return _letters(self.form, key) in self.stale[name]


@cache
def keys_of_form(form: str) -> FormKeys:
    """Return the keys of a form of tag that is written."""
    family, dates = _FAMILIES[form.partition(".")[0]], _DATES.get(form, {})
    keys: dict[str, FieldKeys] = {}
    listed = defaultdict[str, dict[str, str]](dict)
    for name, field in FIELDS_BY_NAME.items():
        found = dates.get(name, field.keys[family])
        columns = (found.written, found.also, found.gone, found.stale)
        keys[name] = FieldKeys(
            *(tuple(key_of_version(form, key) for key in each) for each in columns)
        )
    of_written = ((name, key) for name, each in keys.items() for key in each.written)
    of_others = ((name, key) for name, each in keys.items() for key in (*each.also, *each.gone))
    by_letters: dict[str, tuple[str, str]] = {}
    for name, key in (*of_written, *of_others):
        listed[folded(form, key)].setdefault(name, key)
        by_letters.setdefault(_letters(form, key), (name, key))
    fields_of = {key: tuple(fields.items()) for key, fields in listed.items()}
    stale = {
        name: frozenset(_letters(form, key) for key in each.stale) for name, each in keys.items()
    }
    return FormKeys(form, keys, fields_of, by_letters, stale)


def folded(form: str, key: str) -> str:
    """Return a key so that equal ones are of one key: most forms do not tell them apart by case."""
    return key if form == "mp4" else key.casefold()


def _letters(form: str, key: str) -> str:
    """Return what makes a key the same as one that is spelled otherwise."""
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
    """Return the keys under which a field is written in any form of tag."""
    forms = ("id3v2.2", "id3v2.3", "id3v2.4", "vorbis", "mp4", "apev2", "asf")
    return frozenset(key for form in forms for key in keys_of_form(form).keys[name].written)
