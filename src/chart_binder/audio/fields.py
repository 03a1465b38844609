"""The fields that are written, their keys in each form of tag, and how a tag set gets them.

`with_fields` replaces the records of the fields that change; the bytes of all others stay. A new
tag gets what the other tags of the file say, which it would hide: readers such as TagLib take all
from the first tag that holds anything (from ID3v2 before an APE tag, ID3v1 or the INFO chunk of a
WAV, from Vorbis comments before ID3v2). Pictures are not taken over.

Formats: https://id3.org/ID3v1; RIFF Multimedia Programming Interface and Data Specifications 1.0,
INFO list; EA IFF 85, text chunks
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Literal

from mutagen.id3 import TCON

from chart_binder.audio.containers import asf, mp3, mp4, riff, vorbis
from chart_binder.audio.tagset import Block, Item, TagSet
from chart_binder.errors import AudioError

Texts = tuple[str, ...]

Family = Literal["id3", "vorbis", "mp4", "ape", "asf"]

FREE = "----:com.apple.iTunes:"


@dataclass(frozen=True, slots=True)
class Keys:
    """The keys of a field in one form of tag.

    All of `written` are set, those of `also` where they are there; `gone` ones are removed.
    """

    written: tuple[str, ...]
    also: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TagField:
    """A field by its name here, with its keys; `several` says whether it may have many values."""

    name: str
    keys: dict[Family, Keys]
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
) -> TagField:
    cells: dict[Family, str | Texts] = {
        "id3": id3, "vorbis": vorbis, "mp4": mp4, "ape": ape, "asf": asf
    }  # fmt: skip
    keys = {
        family: Keys((cell,) if isinstance(cell, str) else cell, (also or {}).get(family, ()))
        for family, cell in cells.items()
    }
    return TagField(name, keys, several)


_PREFIXES: dict[Family, str] = {"id3": "TXXX:", "vorbis": "", "mp4": FREE, "ape": "", "asf": ""}


def _musicbrainz(
    name: str, words: str, vorbis: str, *, id3: str = "", ape: str = "", several: bool = False
) -> TagField:
    """Return a field under MusicBrainz' words; its names in the other forms are further keys."""
    keys: dict[Family, str] = {
        "id3": id3 or f"TXXX:MusicBrainz {words}", "vorbis": vorbis,
        "mp4": f"{FREE}MusicBrainz {words}", "ape": ape or vorbis, "asf": f"MusicBrainz/{words}",
    }  # fmt: skip
    names = dict.fromkeys((vorbis, ape or vorbis, f"MusicBrainz {words}", f"MusicBrainz/{words}"))
    also = {
        family: tuple(key for name in names if (key := _PREFIXES[family] + name) != written)
        for family, written in keys.items()
    }
    # Only there a key has case.
    also["mp4"] += tuple(f"{FREE}{name.lower()}" for name in names)
    return _field(name, **keys, several=several, also=also)


def _own(name: str, key: str) -> TagField:
    return _field(name, f"TXXX:{key}", key, f"{FREE}{key}", key, key)


FIELDS: tuple[TagField, ...] = (
    _field("album", "TALB", "ALBUM", "\xa9alb", "Album", "WM/AlbumTitle"),
    _field("album_artist", "TPE2", "ALBUMARTIST", "aART", "Album Artist", "WM/AlbumArtist",
           also={"vorbis": ("ALBUM ARTIST", "ALBUM_ARTIST"),
                 "ape": ("ALBUM_ARTIST", "ALBUMARTIST")}),
    _field("album_artist_sort", "TSO2", "ALBUMARTISTSORT", "soaa", "ALBUMARTISTSORT",
           "WM/AlbumArtistSortOrder", also={"id3": ("TXXX:ALBUMARTISTSORT",)}),
    # ID3 before 2.4: _OLD_DATES. APE: Year is of Picard and foobar2000, DATE of beets.
    _field("date", "TDRC", "DATE", "\xa9day", ("Year", "DATE"), "WM/Year",
           also={"vorbis": ("YEAR",)}),
    _field("release_date", "TDRL", "RELEASEDATE", f"{FREE}RELEASEDATE", "RELEASEDATE",
           "RELEASEDATE"),
    # beets keeps the whole date in ORIGINAL YEAR and ...ReleaseYear: from here they get the year.
    _field("original_date", "TDOR", "ORIGINALDATE", f"{FREE}ORIGINALDATE", "ORIGINALDATE",
           "WM/OriginalReleaseTime",
           also={"mp4": (f"{FREE}ORIGINAL YEAR", f"{FREE}originaldate"),
                 "asf": ("WM/OriginalReleaseYear",)}),
    _field("original_year", "TXXX:originalyear", "ORIGINALYEAR", f"{FREE}ORIGINALYEAR",
           "ORIGINALYEAR", "WM/OriginalReleaseYear", also={"mp4": (f"{FREE}originalyear",)}),
    # Number and total as 5/12; a key that holds one of them is in _PARTS.
    _field("track", "TRCK", ("TRACKNUMBER", "TRACKTOTAL", "TOTALTRACKS"), "trkn", "Track",
           ("WM/TrackNumber", "TotalTracks"),
           also={"vorbis": ("TRACK", "TRACKC"), "ape": ("TRACKTOTAL", "TOTALTRACKS", "TRACKC")}),
    _field("disc", "TPOS", ("DISCNUMBER", "DISCTOTAL", "TOTALDISCS"), "disk", "Disc",
           ("WM/PartOfSet", "TotalDiscs"),
           also={"vorbis": ("DISC", "DISCC"), "ape": ("DISCTOTAL", "TOTALDISCS", "DISCC")}),
    _field("disc_subtitle", "TSST", "DISCSUBTITLE", f"{FREE}DISCSUBTITLE", "DISCSUBTITLE",
           "WM/SetSubTitle"),
    _field("compilation", "TCMP", "COMPILATION", "cpil", "Compilation", "WM/IsCompilation"),
    _field("labels", "TPUB", "LABEL", f"{FREE}LABEL", "LABEL", "WM/Publisher", several=True,
           also={"id3": ("TXXX:LABEL",), "vorbis": ("PUBLISHER",), "ape": ("PUBLISHER",),
                 "mp4": (f"{FREE}publisher", f"{FREE}Label")}),
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
    _musicbrainz("release_mbid", "Album Id", "MUSICBRAINZ_ALBUMID"),
    _musicbrainz("release_group_mbid", "Release Group Id", "MUSICBRAINZ_RELEASEGROUPID"),
    _musicbrainz("artist_mbids", "Artist Id", "MUSICBRAINZ_ARTISTID", several=True),
    _musicbrainz("album_artist_mbids", "Album Artist Id", "MUSICBRAINZ_ALBUMARTISTID",
                 several=True),
    _musicbrainz("disc_id", "Disc Id", "MUSICBRAINZ_DISCID"),
    _own("note_album", "CANON_ALBUM"),
    _own("note_original_date", "CANON_ORIGINALDATE"),
    _own("note_release_group_mbid", "CANON_RELEASEGROUPID"),
    _own("note_release_mbid", "CANON_RELEASEID"),
    _own("decision_trace", "CANON_TRACE"),
)  # fmt: skip
"""All fields that are written, in the order in which differences are shown."""

READ_ONLY_FIELDS: tuple[TagField, ...] = (
    _field("title", "TIT2", "TITLE", "\xa9nam", "Title", "Title"),
    _field("artist", "TPE1", "ARTIST", "\xa9ART", "Artist", "Author", several=True),
)
"""Fields that no policy writes: an album is told from another by them where its own are absent."""

FIELDS_BY_NAME = {field.name: field for field in (*FIELDS, *READ_ONLY_FIELDS)}


# The names of a field: of a Vorbis comment, an ID3v2.4 frame, an APE item; first those that other
# programs write, by Picard's names.
_NAMES: tuple[Texts, ...] = (
    ("GENRE", "TCON", "Genre"),
    ("COMMENT", "COMM::eng", "Comment"),
    ("COMPOSER", "TCOM", "Composer"),
    ("LYRICIST", "TEXT", "Lyricist"),
    ("CONDUCTOR", "TPE3", "Conductor"),
    ("REMIXER", "TPE4", "MixArtist"),
    ("COPYRIGHT", "TCOP", "Copyright"),
    ("ISRC", "TSRC", "ISRC"),
    ("LANGUAGE", "TLAN", "Language"),
    ("BPM", "TBPM", "BPM"),
    ("LYRICS", "USLT::eng", "Lyrics"),
    ("ENCODEDBY", "TENC", "EncodedBy"),
    ("ENCODER", "TSSE", "Encoder"),
    *(
        tuple(keys[family].written[0] for family in ("vorbis", "id3", "ape"))
        for keys in (field.keys for field in FIELDS_BY_NAME.values())
    ),
)
_BY_ID3 = {id3: name for name, id3, _ in _NAMES} | {"TYER": "DATE"}
_BY_APE = {ape.casefold(): name for name, _, ape in _NAMES} | {"date": "DATE"}
_INFO = {
    "INAM": "TITLE", "IART": "ARTIST", "IPRD": "ALBUM", "ICRD": "DATE", "IGNR": "GENRE",
    "ICMT": "COMMENT", "IPRT": "TRACKNUMBER", "ITRK": "TRACKNUMBER", "ICOP": "COPYRIGHT",
    "IMUS": "COMPOSER", "IWRI": "LYRICIST", "IPUB": "LABEL", "ILNG": "LANGUAGE", "IMED": "MEDIA",
    "ISRC": "ISRC", "IBPM": "BPM", "ITCH": "ENCODEDBY", "ISFT": "ENCODER",
}  # fmt: skip
_AIFF = {"NAME": "TITLE", "AUTH": "ARTIST", "(c) ": "COPYRIGHT", "ANNO": "COMMENT"}
_ID3V1 = {
    "TITLE": slice(3, 33), "ARTIST": slice(33, 63), "ALBUM": slice(63, 93), "DATE": slice(93, 97),
    "COMMENT": slice(97, 127),
}  # fmt: skip
_ID3V1_TRACK, _ID3V1_GENRE, _NO_GENRE = 126, 127, 255

_OF_ONE_TEXT = {"COMMENT", "LYRICS"}

# Of mp3gain: how to take its change of the audio back, which it alone reads, in its own tag.
_NOT_TAKEN = re.compile(r"(?i)mp3gain_")
_ID3_DATE = re.compile(r"\d{4}(-\d\d(-\d\d)?)?")
_VORBIS_NAME = re.compile(r"[ -<>-}]+")


def _plain_text(item: Item) -> Texts:
    """Return the text of an INFO entry or a text chunk of AIFF; neither names its encoding."""
    text = item.data.partition(b"\0")[0]
    try:
        return (text.decode("utf-8").strip(),)
    except UnicodeDecodeError:
        return (text.decode("cp1252", "replace").strip(),)


_Read = Callable[[Item], Texts | None]
_Write = Callable[[str, Texts], Item | tuple[Item, ...]]

# How a form of tag holds texts: in one record, or in several where it has no other way.
_FORMS: dict[str, tuple[_Read, _Write]] = {
    **{
        form: (partial(mp3.id3_texts, form), partial(mp3.text_frame, form))
        for form in ("id3v2.2", "id3v2.3", "id3v2.4")
    },
    "apev2": (mp3.ape_texts, mp3.ape_item),
    "vorbis": (vorbis.texts_of, vorbis.text_items),
    "mp4": (mp4.texts_of, mp4.text_item),
    "asf": (asf.texts_of, asf.text_items),
}

_READERS: dict[str, _Read] = {form: read for form, (read, _) in _FORMS.items()}
_READERS |= dict.fromkeys((riff.INFO_FORM, riff.TEXT_FORM), _plain_text)

# The form of the tag that is written in each kind of file, with the head of a new one.
_VORBIS = ("vorbis", vorbis.NEW_HEAD)
_APE = ("apev2", mp3.NEW_APE_HEAD)
_ID3 = ("id3v2.4", b"\4\0")
_WRITTEN: dict[str, tuple[str, bytes]] = {
    "mp3": _ID3, "aiff": _ID3, "wav": _ID3, "dsf": _ID3,
    "flac": _VORBIS, "ogg": _VORBIS, "opus": _VORBIS,
    "mp4": ("mp4", b""), "asf": ("asf", b""),
    "ape": _APE, "wv": _APE, "mpc": _APE,
}  # fmt: skip

_FAMILIES: dict[str, Family] = {
    "id3v2": "id3", "vorbis": "vorbis", "mp4": "mp4", "apev2": "ape", "asf": "asf"
}  # fmt: skip

# Before ID3v2.4 a tag has one text for each field, a date in two frames, of an original date the
# year. ID3v2.2 has the same frames under shorter names.
_BEFORE_2_4 = ("id3v2.2", "id3v2.3")
_OLD_DATES = {
    "date": Keys(("TYER", "TDAT"), gone=("TDRC", "TIME")),
    "original_date": Keys(("TORY",), gone=("TDOR",)),
    "release_date": Keys(("TXXX:RELEASEDATE",), gone=("TDRL",)),
}
_NEW_DATES = {
    "date": Keys(("TDRC",), gone=("TYER", "TDAT", "TIME")),
    "original_date": Keys(("TDOR",), gone=("TORY",)),
    "release_date": Keys(("TDRL",), also=("TXXX:RELEASEDATE",)),
}
# They say nothing without the frame of the year.
_DAYS = frozenset({"TDAT", "TDA", "TIME", "TIM"})
_SHORT = {"UFID": "UFI", "TXXX": "TXX", "TALB": "TAL", "TPE2": "TP2", "TPUB": "TPB", "TMED": "TMT",
          "TYER": "TYE", "TDAT": "TDA", "TIME": "TIM", "TORY": "TOR", "TIT2": "TT2", "TPE1": "TP1",
          "TRCK": "TRK", "TPOS": "TPA", "TCMP": "TCP", "TSO2": "TS2",
          "TSST": "TXX:DISCSUBTITLE"}  # fmt: skip

_DATE = re.compile(r"(\d{4})(?:-(\d\d))?(?:-(\d\d))?")
_NUMBERS = re.compile(r"\s*0*(\d+)\s*(?:/\s*0*(\d+)\s*)?")


# What a key holds of a field's text: groups of its form.
_Part = tuple[re.Pattern[str], tuple[int, ...]]
_YEAR: _Part = (_DATE, (1,))
_DAY_AND_MONTH: _Part = (_DATE, (3, 2))
_NUMBER: _Part = (_NUMBERS, (1,))
_TOTAL: _Part = (_NUMBERS, (2,))

# Keys that hold a part of a field's text, by how they get it. Others that are named for a year are
# defined to hold a date: APE's `Year`, and `WM/Year`, where Picard, beets and foobar2000 keep the
# whole one.
_PARTS: dict[str, _Part] = {
    **dict.fromkeys(
        ("TYER", "TYE", "TORY", "TOR", "YEAR", "WM/OriginalReleaseYear", f"{FREE}ORIGINAL YEAR"),
        _YEAR,
    ),
    **dict.fromkeys(("TDAT", "TDA"), _DAY_AND_MONTH),
    **dict.fromkeys(("TRACKNUMBER", "TRACK", "WM/TrackNumber", "DISCNUMBER", "DISC"), _NUMBER),
    **dict.fromkeys(
        ("TRACKTOTAL", "TOTALTRACKS", "TRACKC", "TotalTracks", "DISCTOTAL", "TOTALDISCS", "DISCC",
         "TotalDiscs"), _TOTAL,
    ),
}  # fmt: skip

# Labels and catalogue numbers may have a slash of their own.
_WITH_SLASH = frozenset({"labels", "catalog_numbers"})


def with_fields(tags: TagSet, fields: Mapping[str, Sequence[str]]) -> TagSet:
    """Return the tags with each field set to these texts, or removed where there are none.

    Names are those of `FIELDS`. Fields that have these texts keep their bytes; where all do, `tags`
    itself is returned. ID3 stays of its version, and holds of a value what fits. A tag is made
    where there is none, and says what other tags do: players read that one only. Raises
    `AudioError` for an unknown field or a value that its form cannot hold.
    """
    old = _written_block(tags) or new_block(tags)
    block = old
    for name, texts in fields.items():
        block = _with_field(block, name, tuple(texts))
    return tags if block == old else tags.with_block(block)


def field_texts(tags: TagSet, name: str) -> Texts:
    """Return the texts of a field: of the key that is written, else of another program's.

    Of an original date all keys count. Raises `AudioError` for an unknown field.
    """
    block = _written_block(tags)
    if block is None:
        return ()
    keys = _keys(block, name)
    every = (key for key in (*keys.written, *keys.also, *keys.gone) if key not in _DAYS)
    found = filter(None, (_texts_at(block, key) for key in every))
    if name == "original_date":
        texts = tuple(dict.fromkeys(chain.from_iterable(found)))
        return tuple(
            one
            for one in texts
            if not any(other != one and other.startswith(one) for other in texts)
        )
    texts = next(found, ())
    return _whole(block, name, keys, texts) if texts else ()


def with_dates_of_version(tags: TagSet, name: str) -> TagSet:
    """Return the tags with a date of ID3v2.3 under that version's keys, not under those of 2.4."""
    block, keys = _written_block(tags), _OLD_DATES[name]
    if block is None or block.form != "id3v2.3":
        return tags
    texts = _texts_at(block, keys.gone[0])
    if not any(texts) or any(_items_at(block, key) for key in keys.written):
        return tags
    return with_fields(tags, {name: texts[:1]})


def item_texts(form: str, item: Item) -> Texts | None:
    """Return the texts of a record, or `None` if it holds something else, such as a picture."""
    return _READERS[form](item) if form in _READERS else None


def written_keys(name: str) -> frozenset[str]:
    """Return the keys under which a field is written in any form of tag."""
    keys = {key for each in FIELDS_BY_NAME[name].keys.values() for key in each.written}
    for dates in (_OLD_DATES, _NEW_DATES):
        keys |= set(dates[name].written) if name in dates else set()
    return frozenset(keys | {_shortened(key) for key in keys})


def is_same_key(form: str, one: str, other: str) -> bool:
    """Say whether two names are of one key: most forms do not tell them apart by case."""
    has_case = form == "mp4" or form not in _FORMS
    return one == other or (not has_case and one.casefold() == other.casefold())


def _written_block(tags: TagSet) -> Block | None:
    form, _ = _WRITTEN[tags.container]
    return tags.block(form.partition(".")[0])


def new_block(tags: TagSet) -> Block:
    """Return a block that says what the other tags of the file do."""
    form, head = _WRITTEN[tags.container]
    block = Block(form, (), head)
    for key, texts in _texts_of_other_tags(tags, form).items():
        block = _with_texts(block, key, texts)
    return block


def _keys(block: Block, name: str) -> Keys:
    """Return the keys of a field in a block; raise `AudioError` for an unknown field."""
    field = FIELDS_BY_NAME.get(name)
    if field is None:
        raise AudioError(f"there is no field {name!r}; fields are {', '.join(FIELDS_BY_NAME)}")
    keys = field.keys[_FAMILIES[block.form.partition(".")[0]]]
    if block.form in _BEFORE_2_4:
        keys = _OLD_DATES.get(name, keys)
    if block.form == "id3v2.4":
        keys = _NEW_DATES.get(name, keys)
    if block.form == "id3v2.2":
        return Keys(
            *(tuple(map(_shortened, each)) for each in (keys.written, keys.also, keys.gone))
        )
    return keys


def _shortened(key: str) -> str:
    name, colon, rest = key.partition(":")
    return _SHORT.get(name, name) + colon + rest


def _with_field(block: Block, name: str, texts: Texts) -> Block:
    keys = _keys(block, name)
    if len(texts) > 1 and not FIELDS_BY_NAME[name].several:
        raise AudioError(f"{name} has one value, not {len(texts)}")
    if any("\0" in text or not text for text in texts):
        raise AudioError(f"{name} cannot be empty or hold a NUL byte")
    there = [key for key in keys.also if _items_at(block, key)]
    for key in (*keys.written, *there):
        part = _PARTS.get(key)
        held = (_part(part, texts[0]),) if part and texts else texts
        block = _with_texts(block, key, tuple(filter(None, held)))
    for key in keys.gone:
        block = _with_texts(block, key, ())
    return block


def _with_texts(block: Block, key: str, texts: Texts) -> Block:
    """Return the block with these texts under a key; records that have them keep their bytes."""
    read, write = _FORMS[block.form]
    written = write(key, texts) if texts else ()
    new = (written,) if isinstance(written, Item) else written
    as_read = tuple(text for item in new for text in read(item) or ())
    old = _items_at(block, key)
    if _texts_at(block, key) == as_read and bool(old) == bool(texts):
        return block
    at = old[0][0] if old else sum(bool(item.key) for item in block.items)
    replaced = {index for index, _ in old}
    kept = [item for index, item in enumerate(block.items) if index not in replaced]
    items = (*kept[:at], *new, *kept[at:])
    if block.form == "asf":
        items = asf.sorted_by_place(items)
    return Block(block.form, items, block.head)


def _items_at(block: Block, key: str) -> list[tuple[int, Item]]:
    found = enumerate(block.items)
    return [(at, item) for at, item in found if is_same_key(block.form, item.key, key)]


def _texts_at(block: Block, key: str) -> Texts:
    items = (item for _, item in _items_at(block, key))
    return tuple(text for item in items for text in item_texts(block.form, item) or ())


def _part(part: _Part, text: str) -> str:
    """Return what a key holds of a field's text; nothing where a part of it is not there."""
    form, numbers = part
    found = form.match(text)
    groups = [found[number] for number in numbers] if found else []
    return "" if None in groups else "".join(groups)


def _whole(block: Block, name: str, keys: Keys, texts: Texts) -> Texts:
    match name:
        case "date":  # ID3v2.3 has it in two frames
            days = (*_texts_at(block, "TDAT"), *_texts_at(block, "TDA"))
            if days and all(re.fullmatch(r"\d{4}", text) for text in (days[0], texts[0])):
                return (f"{texts[0]}-{days[0][2:]}-{days[0][:2]}",)
        case "track" | "disc":  # 5/12, without leading zeros; what is no number as it is
            numbers = _NUMBERS.fullmatch(texts[0])
            if not numbers:
                return texts[:1]
            totals = (key for key in (*keys.written, *keys.also) if _PARTS.get(key) is _TOTAL)
            known = (found for key in totals if (found := _texts_at(block, key)))
            total = numbers[2] or _part(_NUMBER, next(known, ("",))[0])
            return (f"{numbers[1]}/{total}" if total else numbers[1],)
        case _ if block.form in _BEFORE_2_4 and FIELDS_BY_NAME[name].several:
            if name not in _WITH_SLASH:
                return tuple(part for text in texts for part in text.split("/") if part)
    return texts


def _texts_of_other_tags(tags: TagSet, form: str) -> dict[str, Texts]:
    """Return what the other tags say, as TagLib reads them, by the keys of a tag of this form."""
    said: dict[str, Texts] = {}
    for kind, read in _OTHER_TAGS.items():
        if (block := tags.block(kind)) and kind != form.partition(".")[0]:
            for name, texts in read(block):
                said.setdefault(name, texts)
    if "GENRE" in said:  # a number, or one in brackets, in ID3
        said["GENRE"] = tuple(TCON(encoding=3, text=list(said["GENRE"])).genres) or said["GENRE"]
    if form == "vorbis":
        return {name: texts for name, texts in said.items() if _VORBIS_NAME.fullmatch(name)}
    for name in _OF_ONE_TEXT & said.keys():
        said[name] = ("\n".join(said[name]),)
    if form == "apev2":
        keys = {name: ape for name, _, ape in _NAMES}
        return {keys.get(name, name): texts for name, texts in said.items()}
    if "DATE" in said and not _ID3_DATE.fullmatch(said["DATE"][0]):
        del said["DATE"]
    keys = {name: id3 for name, id3, _ in _NAMES}
    return {keys.get(name, f"TXXX:{name}"): texts for name, texts in said.items()}


_Said = Iterator[tuple[str, Texts]]


def _of_id3v2(block: Block) -> _Said:
    for item in block.items:
        texts = mp3.id3_texts(block.form, item)
        kind, _, description = item.key.partition(":")
        if kind == "TXXX" and description:
            name = _BY_ID3.get(item.key, description.upper())
        elif kind in ("COMM", "USLT"):  # in any language, without a description
            name = _BY_ID3[f"{kind}::eng"] if description.startswith(":") else ""
        else:
            name = _BY_ID3.get(item.key, "")
        if name and texts and all(texts):
            yield name, texts


def _of_ape(block: Block) -> _Said:
    for item in block.items:
        texts = mp3.ape_texts(item)
        if texts and all(texts) and not _NOT_TAKEN.match(item.key):
            yield _BY_APE.get(item.key.casefold(), item.key.upper()), texts


def _of_plain_texts(names: Mapping[str, str], block: Block) -> _Said:
    for item in block.items:
        texts = _plain_text(item)
        if texts[0] and item.key in names:
            yield names[item.key], texts


def _of_id3v1(block: Block) -> _Said:
    tag = block.items[0].data
    for name, place in _ID3V1.items():
        if text := tag[place].partition(b"\0")[0].decode("latin-1").strip():
            yield name, (text,)
    if tag[_ID3V1_TRACK - 1] == 0 and tag[_ID3V1_TRACK]:
        yield "TRACKNUMBER", (str(tag[_ID3V1_TRACK]),)
    if tag[_ID3V1_GENRE] != _NO_GENRE:
        yield "GENRE", (str(tag[_ID3V1_GENRE]),)


_OTHER_TAGS: dict[str, Callable[[Block], _Said]] = {
    "id3v2": _of_id3v2,
    "apev2": _of_ape,
    riff.INFO_FORM: partial(_of_plain_texts, _INFO),
    riff.TEXT_FORM: partial(_of_plain_texts, _AIFF),
    "id3v1": _of_id3v1,
}
"""The forms of tag in the order in which TagLib reads them."""
