"""Fields put into a tag set: the bytes of all other records stay."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

from chart_binder.audio.containers import asf, id3, mp3, mp4, vorbis
from chart_binder.audio.containers.id3 import frames_of
from chart_binder.audio.tagset import Block, Item, TagSet
from chart_binder.errors import AudioError

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

FIELDS_BY_NAME = {field.name: field for field in FIELDS}
"""The fields by name."""


Texts = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Form:
    """How a form of tag holds texts; `exact` says that its keys differ by case."""

    read: Callable[[Item], Texts | None]
    write: Callable[[str, Texts], tuple[Item, ...]]
    exact: bool = False


def _id3(form: str) -> Form:
    def write(key: str, texts: Texts) -> tuple[Item, ...]:
        return (id3.text_frame(form, key, texts),)

    return Form(partial(id3.texts_of, form), write)


_FORMS: dict[str, Form] = {
    **{form: _id3(form) for form in ("id3v2.2", "id3v2.3", "id3v2.4")},
    "apev2": Form(mp3.texts_of, lambda key, texts: (mp3.text_item(key, texts),)),
    "vorbis": Form(vorbis.texts_of, vorbis.text_items),
    "mp4": Form(mp4.texts_of, lambda key, texts: (mp4.text_item(key, texts),), exact=True),
    "asf": Form(asf.texts_of, asf.text_items),
}


def item_texts(form: str, item: Item) -> Texts | None:
    """Return the texts of a record, or nothing if it holds something else, such as a picture."""
    known = _FORMS.get(form)
    return known.read(item) if known else None


def texts_at(block: Block, key: str) -> Texts:
    """Return all texts under a key, in the order of the file."""
    same = _same_key(block.form, key)
    read = (item_texts(block.form, item) for item in block.items if same(item.key))
    return tuple(text for texts in read for text in texts or ())


def has_key(block: Block, key: str) -> bool:
    """Say whether there is a record of this key."""
    return any(map(_same_key(block.form, key), (item.key for item in block.items)))


def is_same_key(form: str, one: str, other: str) -> bool:
    """Say whether two names are of one key: most forms do not tell them apart by case."""
    known = _FORMS.get(form)
    return one == other or bool(known and not known.exact and one.casefold() == other.casefold())


def with_texts(block: Block, key: str, texts: Iterable[str]) -> Block:
    """Return the block with these texts under a key; without any, the key is gone.

    What says the same already stays as it is, byte for byte. Otherwise the new record takes the
    place of the first of that key, else it comes last.
    """
    wanted = tuple(texts)
    form = _FORMS[block.form]
    same = _same_key(block.form, key)
    old = [at for at, item in enumerate(block.items) if same(item.key)]
    if texts_at(block, key) == _as_read(block.form, key, wanted) and bool(old) == bool(wanted):
        return block
    new = form.write(key, wanted) if wanted else ()
    at = old[0] if old else sum(bool(item.key) for item in block.items)
    kept = [item for item in block.items if not same(item.key)]
    items = (*kept[:at], *new, *kept[at:])
    return Block(block.form, asf.in_places(items) if block.form == "asf" else items, block.head)


def _as_read(form: str, key: str, texts: Texts) -> Texts:
    if not texts:
        return ()
    read = (item_texts(form, item) or () for item in _FORMS[form].write(key, texts))
    return tuple(text for part in read for text in part)


def _same_key(form: str, key: str) -> Callable[[str], bool]:
    if _FORMS[form].exact:
        return lambda other: other == key
    folded = key.casefold()
    return lambda other: other.casefold() == folded


# The form of the tag that is written in each kind of file, with what a new one begins with.
_VORBIS = ("vorbis", vorbis.NEW_HEAD)
_APE = ("apev2", mp3.NEW_HEAD)
_ID3 = ("id3v2.4", b"\4\0")
_WRITTEN: dict[str, tuple[str, bytes]] = {
    "mp3": _ID3, "aiff": _ID3, "wav": _ID3, "dsf": _ID3,
    "flac": _VORBIS, "ogg": _VORBIS, "opus": _VORBIS, "spx": _VORBIS, "oga": _VORBIS,
    "mp4": ("mp4", b""), "asf": ("asf", b""),
    "ape": _APE, "wv": _APE, "mpc": _APE,
}  # fmt: skip

_FAMILIES: dict[str, Family] = {
    "id3v2": "id3", "vorbis": "vorbis", "mp4": "mp4", "apev2": "ape", "asf": "asf"
}  # fmt: skip

# ID3v2.2 has the same frames under shorter names.
_SHORT = {"UFID": "UFI", "TXXX": "TXX", "TALB": "TAL", "TPE2": "TP2", "TPUB": "TPB", "TMED": "TMT",
          "TYER": "TYE", "TDAT": "TDA", "TIME": "TIM", "TORY": "TOR"}  # fmt: skip

_DATE = re.compile(r"(\d{4})(?:-(\d\d))?(?:-(\d\d))?")


def with_fields(tags: TagSet, fields: Mapping[str, Sequence[str]]) -> TagSet:
    """Return the tags with each field saying these texts, or gone where there are none.

    Names are those of `tag_fields.FIELDS`. A field that says so already keeps its bytes: where all
    do, `tags` itself is returned. ID3 stays of its version; where the version cannot hold a value
    (ID3v2.3 has room for the year of an original date, for one date, one text), what fits is
    written. A tag is made where there is none; what an ID3v1 tag says goes into a new ID3v2 tag,
    because players read the newer one only. Raises `AudioError` for an unknown field or a value
    that its form cannot hold.
    """
    old = _block(tags) or _new_block(tags)
    block = old
    for name, texts in fields.items():
        block = _with_field(block, name, tuple(texts))
    return tags if block == old else tags.with_block(block)


def field_texts(tags: TagSet, name: str) -> tuple[str, ...]:
    """Return what a field says now: of the key that is written, else of another program's."""
    block = _block(tags)
    if block is None:
        return ()
    keys = _keys(block, name)
    for key in (*keys.written, *keys.also):
        if texts := texts_at(block, key):
            return _whole_date(block, texts) if name == "date" else _parts(block, name, texts)
    return ()


def as_kept(tags: TagSet, name: str, texts: Sequence[str]) -> tuple[str, ...]:
    """Return how a field would say these texts in this file: less, where its form holds less."""
    return field_texts(with_fields(tags, {name: texts}), name)


def _block(tags: TagSet) -> Block | None:
    form, _ = _WRITTEN[tags.container]
    return tags.block(form.split(".")[0])


def _new_block(tags: TagSet) -> Block:
    form, head = _WRITTEN[tags.container]
    older = tags.block("id3v1") if form.startswith("id3") else None
    return Block(form, frames_of(older.items[0].data) if older else (), head)


def _keys(block: Block, name: str) -> Keys:
    field = FIELDS_BY_NAME.get(name)
    if field is None:
        raise AudioError(f"there is no field {name!r}; fields are {', '.join(FIELDS_BY_NAME)}")
    keys = field.keys[_FAMILIES[block.form.split(".")[0]]]
    if block.form in ("id3v2.2", "id3v2.3"):
        keys = _OLD_DATES.get(name, keys)
    if block.form == "id3v2.4":
        keys = _NEW_DATES.get(name, keys)
    if block.form == "id3v2.2":
        return Keys(
            *(tuple(map(_shortened, each)) for each in (keys.written, keys.also, keys.gone))
        )
    return keys


# ID3v2.3 has a date in two frames, of an original date the year.
_OLD_DATES = {
    "date": Keys(("TYER", "TDAT"), gone=("TDRC", "TIME")),
    "original_date": Keys(("TORY",), gone=("TDOR",)),
}
_NEW_DATES = {
    "date": Keys(("TDRC",), gone=("TYER", "TDAT", "TIME")),
    "original_date": Keys(("TDOR",), gone=("TORY",)),
}


def _shortened(key: str) -> str:
    name, colon, rest = key.partition(":")
    return _SHORT.get(name, name) + colon + rest


def _with_field(block: Block, name: str, texts: tuple[str, ...]) -> Block:
    keys = _keys(block, name)
    if len(texts) > 1 and not FIELDS_BY_NAME[name].several:
        raise AudioError(f"{name} has one value, not {len(texts)}")
    if any("\0" in text or not text for text in texts):
        raise AudioError(f"{name} cannot be empty or hold a NUL byte")
    for key in (*keys.written, *(key for key in keys.also if has_key(block, key))):
        block = with_texts(block, key, _at_key(key, texts))
    for key in keys.gone:
        block = with_texts(block, key, ())
    return block


def _at_key(key: str, texts: tuple[str, ...]) -> Iterable[str]:
    """Return what one key says of the texts: before ID3v2.4 a part of a date."""
    date = _DATE.match(texts[0]) if texts else None
    match key:
        case "TYER" | "TORY" | "TYE" | "TOR":
            return (date[1],) if date else ()
        case "TDAT" | "TDA":
            return (date[3] + date[2],) if date and date[3] else ()
        case _:
            return texts


def _whole_date(block: Block, texts: tuple[str, ...]) -> tuple[str, ...]:
    """Return the date that ID3v2.3 has in two frames."""
    for key in ("TDAT", "TDA"):
        day = texts_at(block, key)
        if day and re.fullmatch(r"\d{4}", day[0]) and re.fullmatch(r"\d{4}", texts[0]):
            return (f"{texts[0]}-{day[0][2:]}-{day[0][:2]}",)
    return texts


def _parts(block: Block, name: str, texts: tuple[str, ...]) -> tuple[str, ...]:
    """Return the values that were joined where there is room for one text."""
    has_one_text = block.form in ("id3v2.2", "id3v2.3") and FIELDS_BY_NAME[name].several
    if has_one_text and name not in _WITH_SLASH:
        return tuple(part for text in texts for part in text.split("/") if part)
    return texts


# Labels and catalogue numbers may have a slash of their own.
_WITH_SLASH = frozenset({"labels", "catalog_numbers"})
