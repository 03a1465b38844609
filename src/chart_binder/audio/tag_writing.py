"""Fields put into a tag set: the bytes of all other records stay."""

import re
from collections.abc import Iterable, Mapping, Sequence

from chart_binder.audio.forms import apev2, vorbis
from chart_binder.audio.forms.id3v1 import frames_of
from chart_binder.audio.tag_fields import BY_NAME, Family, Keys
from chart_binder.audio.tagset import Block, TagSet
from chart_binder.audio.texts import has_key, texts_at, with_texts
from chart_binder.errors import AudioError

# The form of the tag that is written in each kind of file, with what a new one begins with.
_VORBIS = ("vorbis", vorbis.NEW_HEAD)
_APE = ("apev2", apev2.NEW_HEAD)
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
    field = BY_NAME.get(name)
    if field is None:
        raise AudioError(f"there is no field {name!r}; fields are {', '.join(BY_NAME)}")
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
    if len(texts) > 1 and not BY_NAME[name].several:
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
    if block.form in ("id3v2.2", "id3v2.3") and BY_NAME[name].several and name not in _WITH_SLASH:
        return tuple(part for text in texts for part in text.split("/") if part)
    return texts


# Labels and catalogue numbers may have a slash of their own.
_WITH_SLASH = frozenset({"labels", "catalog_numbers"})
