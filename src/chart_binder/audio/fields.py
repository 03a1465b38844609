"""What the tags of a file say, field by field, and how a tag set gets other fields.

`with_fields` replaces the records of the fields that change; the bytes of all others stay. A tag
that says nothing gets what the other tags of the file say, which it would hide: readers such as
TagLib take all from the first tag that holds anything (from ID3v2 before an APE tag, ID3v1 or the
INFO chunk of a WAV, from Vorbis comments before ID3v2). Pictures are not copied.

Formats: https://id3.org/ID3v1; RIFF Multimedia Programming Interface and Data Specifications 1.0,
INFO list; EA IFF 85, text chunks. The names of INFO entries are TagLib's.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain

from mutagen.id3 import TCON

from chart_binder.audio.containers import asf, mp3, mp4, riff, vorbis
from chart_binder.audio.field_table import (
    BEFORE_2_4,
    DAYS,
    FIELDS_BY_NAME,
    NUMBER,
    NUMBERS,
    PARTS,
    TOTAL,
    TextPart,
    Texts,
    folded,
    key_of_version,
    keys_of_form,
    long_key,
)
from chart_binder.audio.tagset import TagBlock, TagItem, TagSet
from chart_binder.errors import AudioError

BLANK = " \t\r\n\v\f\0\ufeff"
"""What a text consists of that says nothing: white space, terminators, byte order marks."""

# The names of what is no field: of a Vorbis comment, an ID3v2.4 frame, an APE item; first those
# that other programs write, by Picard's and TagLib's names.
_OTHER_NAMES: tuple[tuple[str, str, str], ...] = (
    ("GENRE", "TCON", "Genre"),
    ("COMMENT", "COMM::eng", "Comment"),
    ("COMPOSER", "TCOM", "Composer"),
    ("LYRICIST", "TEXT", "Lyricist"),
    ("CONDUCTOR", "TPE3", "Conductor"),
    ("REMIXER", "TPE4", "MixArtist"),
    ("COPYRIGHT", "TCOP", "Copyright"),
    ("LANGUAGE", "TLAN", "Language"),
    ("BPM", "TBPM", "BPM"),
    ("LYRICS", "USLT::eng", "Lyrics"),
    ("ENCODEDBY", "TENC", "EncodedBy"),
    ("ENCODER", "TSSE", "Encoder"),
    ("SUBTITLE", "TIT3", "Subtitle"),
    *(
        (name, id3, name)
        for name, id3 in (
            ("ALBUMSORT", "TSOA"), ("ARTISTSORT", "TSOP"), ("TITLESORT", "TSOT"),
            ("COMPOSERSORT", "TSOC"), ("WORK", "TIT1"), ("GROUPING", "GRP1"), ("MOOD", "TMOO"),
            ("INITIALKEY", "TKEY"), ("MOVEMENTNAME", "MVNM"), ("MOVEMENTNUMBER", "MVIN"),
            ("ORIGINALALBUM", "TOAL"), ("ORIGINALARTIST", "TOPE"), ("ORIGINALFILENAME", "TOFN"),
            ("ORIGINALLYRICIST", "TOLY"), ("OWNER", "TOWN"), ("PRODUCEDNOTICE", "TPRO"),
            ("ENCODINGTIME", "TDEN"), ("TAGGINGDATE", "TDTG"), ("LENGTH", "TLEN"),
            ("FILETYPE", "TFLT"), ("RADIOSTATION", "TRSN"), ("RADIOSTATIONOWNER", "TRSO"),
        )
    ),
)  # fmt: skip
_BY_ID3 = {id3: name for name, id3, _ in _OTHER_NAMES}
_BY_APE = {ape.casefold(): name for name, _, ape in _OTHER_NAMES}
_INFO = {
    "INAM": "title", "IART": "artist", "IPRD": "album", "ICRD": "date", "IPRT": "track",
    "ITRK": "track", "IPUB": "labels", "IMED": "media", "ISRC": "isrcs", "ICNT": "release_country",
    "PRT1": "disc_subtitle", "IGNR": "GENRE", "ICMT": "COMMENT", "ICOP": "COPYRIGHT",
    "IMUS": "COMPOSER", "IWRI": "LYRICIST", "ILNG": "LANGUAGE", "IBPM": "BPM", "ITCH": "ENCODEDBY",
    "ISFT": "ENCODER", "IENG": "ARRANGER", "ISTR": "PERFORMER", "IEDT": "REMIXER",
    "IDIT": "ENCODINGTIME", "IBSU": "ARTISTWEBPAGE",
}  # fmt: skip
_AIFF = {"NAME": "title", "AUTH": "artist", "(c) ": "COPYRIGHT", "ANNO": "COMMENT"}
_ID3V1 = {
    "title": slice(3, 33), "artist": slice(33, 63), "album": slice(63, 93), "date": slice(93, 97),
    "COMMENT": slice(97, 127),
}  # fmt: skip
_ID3V1_TRACK, _ID3V1_GENRE = 126, 127
_ID3V1_PADDING = b" \t\n\v\f\r"

_OF_ONE_TEXT = ("COMMENT", "LYRICS")

# Of mp3gain: how to take its change of the audio back, which it alone reads, in its own tag.
_NOT_TAKEN = re.compile(r"(?i)mp3gain_")
_PLAIN_NAME = re.compile(r"[ -<>-}]{2,255}")  # allowed in Vorbis comments and in APE tags
_DIGITS = re.compile(r"\d{4}")
# A date with a time, as it stands in INFO chunks: that of ID3v2.4 has a T, and is of this zone.
_WITH_ZONE = re.compile(r"\A(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d(?::\d\d)?) ?(?:UTC|GMT|Z)\Z")
_TIME = re.compile(r"([01]\d|2[0-3])([0-5]\d)")

_TextReader = Callable[[TagItem], Texts | None]
_TextWriter = Callable[[str, Texts], TagItem | tuple[TagItem, ...]]


def _plain_text(item: TagItem) -> Texts:
    """Return the text of an INFO entry or a text chunk of AIFF; neither names its encoding."""
    text = item.data.partition(b"\0")[0]
    for encoding in ("utf-8", "cp1252"):
        try:
            return (text.decode(encoding),)
        except UnicodeDecodeError:
            continue
    return (text.decode("latin-1"),)


# How a form of tag holds texts: in one record, or in several where it has no other way.
_FORMS: dict[str, tuple[_TextReader, _TextWriter]] = {
    **{
        form: (partial(mp3.id3_texts, form), partial(mp3.text_frame, form))
        for form in ("id3v2.2", "id3v2.3", "id3v2.4")
    },
    "apev2": (mp3.ape_texts, mp3.ape_item),
    "vorbis": (vorbis.texts_of, vorbis.text_items),
    "mp4": (mp4.texts_of, mp4.text_item),
    "asf": (asf.texts_of, asf.text_items),
}

_READERS: dict[str, _TextReader] = {form: read for form, (read, _) in _FORMS.items()}
_READERS |= dict.fromkeys((riff.INFO_FORM, riff.TEXT_FORM), _plain_text)
_READERS["id3v1"] = lambda item: tuple(
    text for *_, texts in _of_id3v1(item.data) for text in texts or () if text
)

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

# Fields whose texts have a slash of their own: in ID3 before 2.4 it does not divide them.
_WITH_SLASH = frozenset({"labels", "catalog_numbers", "artist"})


# Of a tag set.


def with_fields(tags: TagSet, fields: Mapping[str, Sequence[str]]) -> TagSet:
    """Return the tags with each field set to these texts, or removed where there are none.

    Names are those of `FIELDS`. Fields that have these texts keep their bytes; where all do, `tags`
    itself is returned. ID3 stays of its version, and holds of a value what fits. A tag that is not
    there or says nothing gets what other tags say: players read that one only. Raises `AudioError`
    for an unknown field or a value that its form cannot hold.
    """
    old = _read_first(tags)
    block = old
    for name, texts in fields.items():
        block = _with_field(block, name, tuple(texts))
    return tags if block == old else tags.with_block(block)


def field_texts(tags: TagSet, name: str) -> Texts:
    """Return the texts of a field, as `all_fields`; raise `AudioError` for an unknown field."""
    _require_field(name)
    return all_fields(tags).get(name, ())


def all_fields(tags: TagSet) -> dict[str, Texts]:
    """Return what the tag that is written says, or would say when it is made, by field.

    A text is of the key that is written, else of another program's. Of an original date all keys
    count. Blank texts say nothing.
    """
    block = _read_first(tags)
    return {name: _whole(block, name, texts) for name, texts in _texts_by_field(block).items()}


def texts_of_file(tags: TagSet) -> dict[str, Texts]:
    """Return what all tags of a file say, by field: of each field what the first tag has of it.

    Their order is that of players. Texts are as they are in the tags, numbers with their zeros.
    """
    own = _own_block(tags)
    others = _said_by_others(tags, _WRITTEN[tags.container][0])
    return {**others, **(_texts_by_field(own) if own else {})}


def new_block(tags: TagSet) -> TagBlock:
    """Return a block that says what the other tags of the file do."""
    form, head = _WRITTEN[tags.container]
    own = _own_block(tags)
    return _filled(TagBlock(own.form, (), own.head) if own else TagBlock(form, (), head), tags)


def copied_items(tags: TagSet) -> tuple[TagItem, ...]:
    """Return what the tag that is written gets from other tags, because it says nothing itself."""
    own = _own_block(tags)
    return () if own and _says_something(own) else new_block(tags).items


def not_copied(tags: TagSet) -> Texts:
    """Return the keys whose values a new tag would hide, with their tags: it cannot hold them."""
    own = _own_block(tags)
    if own and _says_something(own):
        return ()
    block = new_block(tags)
    new, _ = _said(block)
    found = list[str]()
    for kind, label in _OTHER_TAGS.items():
        other = tags.block(kind)
        if other is None or kind == block.form.partition(".")[0]:
            continue
        said, unnamed = _said(other)
        found += [f"{label} {key}" for key in unnamed]
        found += [
            f"{label} {name}"
            for name, texts in said.items()
            if name not in new
            or (block.form in BEFORE_2_4 and "date" in name and new[name] != texts)
        ]
    return tuple(dict.fromkeys(found))


def fields_of_items(form: str, items: Iterable[TagItem]) -> dict[str, Texts]:
    """Return what records of a tag say, by field."""
    return _texts_by_field(TagBlock(form, tuple(items))) if form in _FORMS else {}


def without_fields(
    block: TagBlock, fields: Mapping[str, Texts], old: Collection[str]
) -> TagBlock | None:
    """Return a tag without the records that say these texts of fields; `None` if nothing is left.

    Records of `old` keys, folded, stay. Of ID3v1 the places of the fields are cleared.
    """
    if block.form == "id3v1":
        if old:
            return block
        data = _cleared_id3v1(block.items[0].data, fields)
        said = any(name != "GENRE" and any(texts or ()) for name, _, texts in _of_id3v1(data))
        is_empty = not said and data[_ID3V1_GENRE] >= len(TCON.GENRES)
        return None if is_empty else TagBlock(block.form, (TagItem(block.items[0].key, data),))

    def says_field(item: TagItem) -> bool:
        is_info = block.form == riff.INFO_FORM
        name = _INFO.get(item.key) if is_info else field_of_key(block.form, item.key)
        return name is not None and item_texts(block.form, item) == fields.get(name)

    items = tuple(
        item for item in block.items if folded(block.form, item.key) in old or not says_field(item)
    )
    return TagBlock(block.form, items, block.head) if items else None


def _cleared_id3v1(data: bytes, fields: Mapping[str, Texts]) -> bytes:
    cleared = bytearray(data)
    for name, place in _ID3V1.items():
        width = place.stop - place.start
        text = fields.get(name, ("",))[0].encode("latin-1", "replace")[:width]
        if text and data[place].partition(b"\0")[0].rstrip() == text.rstrip():
            cleared[place] = bytes(width)
    number = NUMBERS.fullmatch(fields.get("track", ("",))[0])
    if number and data[_ID3V1_TRACK - 1] == 0 and data[_ID3V1_TRACK] == int(number[1]):
        cleared[_ID3V1_TRACK] = 0
    return bytes(cleared)


def item_texts(form: str, item: TagItem) -> Texts | None:
    """Return the texts of a record, or `None` if it holds something else, such as a picture."""
    return _READERS[form](item) if form in _READERS else None


def field_of_key(form: str, key: str) -> str | None:
    """Return the field of a key; of several the one that it is written for."""
    fields = keys_of_form(form).fields_of(key) if form in _FORMS else ()
    return fields[0][0] if fields else None


def text_items(form: str, key: str, texts: Texts) -> tuple[TagItem, ...]:
    """Return the records of a key that say these texts."""
    written = _FORMS[form][1](key, texts)
    return (written,) if isinstance(written, TagItem) else written


def is_same_key(form: str, one: str, other: str) -> bool:
    """Say whether two names are of one key: most forms do not tell them apart by case."""
    return one == other or (form in _FORMS and folded(form, one) == folded(form, other))


def _require_field(name: str) -> None:
    if name not in FIELDS_BY_NAME:
        raise AudioError(f"there is no field {name!r}; fields are {', '.join(FIELDS_BY_NAME)}")


def _own_block(tags: TagSet) -> TagBlock | None:
    form, _ = _WRITTEN[tags.container]
    return tags.block(form.partition(".")[0])


def _read_first(tags: TagSet) -> TagBlock:
    """Return the tag that is written; with what the other tags say if it says nothing."""
    own = _own_block(tags)
    if own is None:
        return new_block(tags)
    return own if _says_something(own) else _filled(own, tags)


def _says_something(block: TagBlock) -> bool:
    found = (item_texts(block.form, item) for item in block.items if item.key)
    return any(texts is None or _speaking(texts) for texts in found)


def _speaking(texts: Iterable[str]) -> Texts:
    """Return the texts that are not blank."""
    return tuple(text for text in texts if text.strip(BLANK))


# Of one tag.


def _with_field(block: TagBlock, name: str, texts: Texts) -> TagBlock:
    _require_field(name)
    if len(texts) > 1 and not FIELDS_BY_NAME[name].several:
        raise AudioError(f"{name} has one value, not {len(texts)}")
    if any("\0" in text or not text for text in texts):
        raise AudioError(f"{name} cannot be empty or hold a NUL byte")
    form = keys_of_form(block.form)
    keys, old = form.keys[name], block
    meant = {folded(block.form, key): (key, key) for key in keys.written}
    for item in block.items:
        for field, listed in form.fields_of(item.key):
            if field == name and listed not in keys.gone:
                is_listed = is_same_key(block.form, item.key, listed)
                key = listed if is_listed else item.key
                meant.setdefault(folded(block.form, key), (key, listed))
    for key, listed in meant.values():
        part = PARTS.get(listed)
        held = (_part(part, texts[0]),) if part and texts else texts
        block = _with_texts(block, key, tuple(filter(None, held)))
    for key in keys.gone:
        block = _with_texts(block, key, ())
    if not keys.stale or _texts_by_field(old).get(name) == _texts_by_field(block).get(name):
        return block
    kept = tuple(item for item in block.items if not form.is_stale(name, item.key))
    return TagBlock(block.form, kept, block.head)


def _with_texts(block: TagBlock, key: str, texts: Texts) -> TagBlock:
    """Return the block with these texts under a key; records that have them keep their bytes."""
    read, _ = _FORMS[block.form]
    new = text_items(block.form, key, texts) if texts else ()
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
    return TagBlock(block.form, items, block.head)


def _items_at(block: TagBlock, key: str) -> list[tuple[int, TagItem]]:
    found = enumerate(block.items)
    return [(at, item) for at, item in found if is_same_key(block.form, item.key, key)]


def _texts_at(block: TagBlock, key: str) -> Texts:
    items = (item for _, item in _items_at(block, key))
    return tuple(text for item in items for text in item_texts(block.form, item) or ())


def _part(part: TextPart, text: str) -> str:
    """Return what a key holds of a field's text; nothing where a part of it is not there."""
    form, numbers = part
    found = form.match(text)
    groups = [found[number] for number in numbers] if found else []
    return "" if None in groups else "".join(groups)


def _texts_by_field(block: TagBlock) -> dict[str, Texts]:
    """Return what a tag says, by field; the day of a date is with its year."""
    form = keys_of_form(block.form)
    spellings: dict[str, dict[str, dict[str, Texts]]] = {}  # by field, listed key, key as it is
    for item in block.items:
        fields = form.fields_of(item.key)
        texts = _speaking(item_texts(block.form, item) or ()) if fields else ()
        for name, listed in fields if texts else ():
            by_key = spellings.setdefault(name, {}).setdefault(listed, {})
            by_key[item.key] = (*by_key.get(item.key, ()), *texts)
    found: dict[str, Texts] = {}
    for name, keys in form.keys.items():
        if name not in spellings:
            continue
        every = (key for key in (*keys.written, *keys.also, *keys.gone) if key not in DAYS)
        there = [key for key in every if key in spellings[name]]
        if name == "original_date":
            every_text = (chain(*spellings[name][key].values()) for key in there)
            found[name] = _without_vaguer(chain(*every_text))
        elif there:
            spelled = spellings[name][there[0]]
            exact = (key for key in spelled if is_same_key(block.form, key, there[0]))
            found[name] = spelled[next(exact, next(iter(spelled)))]
    days = spellings.get("date", {}).get(key_of_version(block.form, "TDAT"), {})
    day, year = next(iter(days.values()), ("",))[0], found.get("date", ("",))[0]
    if _DIGITS.fullmatch(day) and _DIGITS.fullmatch(year):
        found["date"] = (f"{year}-{day[2:]}-{day[:2]}",)
    return {name: texts for name, texts in found.items() if texts}


def _without_vaguer(found: Iterable[str]) -> Texts:
    """Return different texts without those that another one begins with: years of dates."""
    texts = tuple(dict.fromkeys(found))
    return tuple(
        text
        for text in texts
        if not any(other != text and other.startswith(text) for other in texts)
    )


def _whole(block: TagBlock, name: str, texts: Texts) -> Texts:
    """Return the texts of a field in the form in which they are compared and written."""
    match name:
        case "track" | "disc":  # 5/12, without leading zeros; what is no number as it is
            numbers = NUMBERS.fullmatch(texts[0])
            if not numbers:
                return texts[:1]
            keys = keys_of_form(block.form).keys[name]
            totals = (key for key in (*keys.written, *keys.also) if PARTS.get(key) is TOTAL)
            known = (found for key in totals if (found := _texts_at(block, key)))
            total = numbers[2] or _part(NUMBER, next(known, ("",))[0])
            return (f"{numbers[1]}/{total}" if total else numbers[1],)
        case _ if block.form in BEFORE_2_4 and FIELDS_BY_NAME[name].several:
            if name not in _WITH_SLASH:
                return tuple(part for text in texts for part in text.split("/") if part)
    return texts


# What other tags say, by the names of fields, and of Vorbis comments for what is no field.


def _filled(block: TagBlock, tags: TagSet) -> TagBlock:
    """Return the block with what the other tags say."""
    keys = {
        "vorbis": {},
        "apev2": {name: ape for name, _, ape in _OTHER_NAMES},
    }.get(block.form, {name: id3 for name, id3, _ in _OTHER_NAMES})
    for name, texts in _said_by_others(tags, block.form).items():
        if name in FIELDS_BY_NAME:
            block = _with_copied_field(block, name, texts)
            continue
        if block.form.startswith("id3v2"):
            key = key_of_version(block.form, keys.get(name, f"TXXX:{name}"))
        elif not _PLAIN_NAME.fullmatch(key := keys.get(name, name)):
            continue
        block = _with_texts(block, key, _as_copied(block, name, texts))
    return block


def _as_copied(block: TagBlock, name: str, texts: Texts) -> Texts:
    if name == "GENRE":  # a number, or one in brackets, in ID3
        return tuple(TCON(encoding=3, text=list(texts)).genres) or texts
    is_joined = block.form != "vorbis" and name in _OF_ONE_TEXT
    return ("\n".join(texts),) if is_joined else texts


def _with_copied_field(block: TagBlock, name: str, texts: Texts) -> TagBlock:
    """Return the block with a field as another tag has it: what follows a number is kept, too."""
    keys = keys_of_form(block.form).keys[name].written
    if name == "date" and block.form == "id3v2.4":  # TagLib cuts what a frame of a date cannot hold
        texts = tuple(_WITH_ZONE.sub(r"\1T\2", text) for text in texts)
    for key in keys if block.form in BEFORE_2_4 else keys[:1]:
        part = PARTS.get(key) if block.form in BEFORE_2_4 else None
        held = (_part(part, texts[0]),) if part else texts
        block = _with_texts(block, key, tuple(filter(None, held)))
    return block


def _said_by_others(tags: TagSet, form: str) -> dict[str, Texts]:
    """Return what the tags but that of a form say, by name: of each what the first one has."""
    found: dict[str, Texts] = {}
    for kind in _OTHER_TAGS:
        if (block := tags.block(kind)) and kind != form.partition(".")[0]:
            found = {**_said(block)[0], **found}
    return found


def _said(block: TagBlock) -> tuple[dict[str, Texts], Texts]:
    """Return what a tag says, by name, and the keys of what has no name."""
    found: dict[str, Texts] = {}
    unnamed: list[str] = []
    if block.form == _SECOND_COMMENTS:
        read = (vorbis.read_comments(item.data) for item in block.items)
        block = TagBlock("vorbis", tuple(item for each in read if each for item in each[0].items))
    if block.form in _FORMS:
        found = _texts_by_field(block)
        if "date" in found and block.form in BEFORE_2_4:
            found["date"] = _with_time(block, found["date"])
    for name, key, texts in _named_texts(block):
        if name and texts:
            if _speaking(texts) and not (name in FIELDS_BY_NAME and name in found):
                found[name] = tuple(dict.fromkeys((*found.get(name, ()), *texts)))
        else:
            unnamed.append(key)
    return found, tuple(unnamed)


def _with_time(block: TagBlock, date: Texts) -> Texts:
    time = _TIME.fullmatch(next(iter(_texts_at(block, key_of_version(block.form, "TIME"))), ""))
    is_day = len(date[0]) == len("2004-01-31")
    return (f"{date[0]}T{time[1]}:{time[2]}",) if time and is_day else date


_NamedTexts = Iterator[tuple[str, str, Texts | None]]


def _named_texts(block: TagBlock) -> _NamedTexts:
    """Yield the name, the key and the texts of every record that is of no field."""
    if block.form == "id3v1":
        yield from _of_id3v1(block.items[0].data)
        return
    plain = {riff.INFO_FORM: _INFO, riff.TEXT_FORM: _AIFF}.get(block.form)
    for item in block.items:
        if not item.key:
            continue
        if plain is not None:
            yield plain.get(item.key, ""), item.key, _plain_text(item)
        elif block.form in _FORMS and not keys_of_form(block.form).fields_of(item.key):
            name = _other_name(block.form, item.key)
            if name is not None:
                yield name, item.key, item_texts(block.form, item)


def _other_name(form: str, key: str) -> str | None:
    """Return the name of a key of no field, empty if it has none; `None` if it is passed over."""
    if form == "vorbis":
        return key.upper()
    if form == "apev2":
        return None if _NOT_TAKEN.match(key) else _BY_APE.get(key.casefold(), key.upper())
    kind, _, description = (key := long_key(form, key)).partition(":")
    if kind == "TXXX" and description:
        return description.upper()
    if kind in ("COMM", "USLT"):  # in any language, without a description
        return _BY_ID3[f"{kind}::eng"] if description.startswith(":") else ""
    return _BY_ID3.get(key, "")


def _of_id3v1(tag: bytes) -> _NamedTexts:
    for name, place in _ID3V1.items():
        text = tag[place].partition(b"\0")[0].strip(_ID3V1_PADDING).decode("latin-1")
        yield name, name, (text,)
    if tag[_ID3V1_TRACK - 1] == 0 and tag[_ID3V1_TRACK]:
        yield "track", "track", (str(tag[_ID3V1_TRACK]),)
    if tag[_ID3V1_GENRE] < len(TCON.GENRES):
        yield "GENRE", "genre", (str(tag[_ID3V1_GENRE]),)


_SECOND_COMMENTS = "flac-comments"
_OTHER_TAGS = {
    _SECOND_COMMENTS: "second Vorbis comments",
    "id3v2": "ID3v2",
    "apev2": "APE",
    riff.INFO_FORM: "RIFF INFO",
    riff.TEXT_FORM: "AIFF",
    "id3v1": "ID3v1",
}
"""The forms of tag in the order in which TagLib reads them, as they are called."""
