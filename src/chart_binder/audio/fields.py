"""Reading the fields of tags, and setting fields in a tag set.

`with_fields` replaces the items of the fields that change; all other items keep their bytes. If
the tag to write is missing or empty, the values of the other tags are copied into it, because it
would hide them: readers such as TagLib use only the first tag that holds anything (ID3v2 before
APE, ID3v1 or the INFO list of a WAV; Vorbis comments before ID3v2). Pictures are not copied.

Formats: https://id3.org/ID3v1; RIFF Multimedia Programming Interface and Data Specifications 1.0,
INFO list; EA IFF 85, text chunks. The INFO names follow TagLib.
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
"""The characters of blank texts: white space, terminators, byte order marks."""

# Names of values that are not fields, in Vorbis comments, ID3v2.4 and APE; they follow Picard and
# TagLib.
_OTHER_NAMES: tuple[tuple[str, str, str], ...] = (
    ("GENRE", "TCON", "Genre"), ("COMMENT", "COMM::eng", "Comment"),
    ("COMPOSER", "TCOM", "Composer"), ("LYRICIST", "TEXT", "Lyricist"),
    ("CONDUCTOR", "TPE3", "Conductor"), ("REMIXER", "TPE4", "MixArtist"),
    ("COPYRIGHT", "TCOP", "Copyright"), ("LANGUAGE", "TLAN", "Language"), ("BPM", "TBPM", "BPM"),
    ("LYRICS", "USLT::eng", "Lyrics"), ("ENCODEDBY", "TENC", "EncodedBy"),
    ("ENCODER", "TSSE", "Encoder"), ("SUBTITLE", "TIT3", "Subtitle"),
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

_SINGLE_TEXTS = ("COMMENT", "LYRICS")

# mp3gain's own notes on how to revert its change of the audio.
_NOT_COPIED = re.compile(r"(?i)mp3gain_")
_PLAIN_NAME = re.compile(r"[ -<>-}]{2,255}")  # allowed in Vorbis comments and in APE tags
_DIGITS = re.compile(r"\d{4}")
# A date with a time, as in INFO lists; ID3v2.4 has a T between them, and always means UTC.
_WITH_ZONE = re.compile(r"\A(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d(?::\d\d)?) ?(?:UTC|GMT|Z)\Z")
_TIME = re.compile(r"([01]\d|2[0-3])([0-5]\d)")

_TextReader = Callable[[TagItem], Texts | None]
_TextWriter = Callable[[str, Texts], TagItem | tuple[TagItem, ...]]


def _plain_text(item: TagItem) -> Texts:
    """Return the text of an INFO entry or an AIFF text chunk, whose encoding is not declared."""
    text = item.data.partition(b"\0")[0]
    for encoding in ("utf-8", "cp1252"):
        try:
            return (text.decode(encoding),)
        except UnicodeDecodeError:
            continue
    return (text.decode("latin-1"),)


# How to read and create the items of a tag format. Some formats need one item per text.
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

_READERS: dict[str, _TextReader] = {form: reader for form, (reader, _) in _FORMS.items()}
_READERS |= dict.fromkeys((riff.INFO_FORM, riff.TEXT_FORM), _plain_text)
_READERS["id3v1"] = lambda item: tuple(
    text for *_, texts in _id3v1_texts(item.data) for text in texts or () if text
)

# The tag format that is written in each container, with the head of a new tag.
_VORBIS = ("vorbis", vorbis.NEW_HEAD)
_APE = ("apev2", mp3.NEW_APE_HEAD)
_ID3 = ("id3v2.4", b"\4\0")
_WRITTEN: dict[str, tuple[str, bytes]] = {
    "mp3": _ID3, "aiff": _ID3, "wav": _ID3, "dsf": _ID3,
    "flac": _VORBIS, "ogg": _VORBIS, "opus": _VORBIS,
    "mp4": ("mp4", b""), "asf": ("asf", b""),
    "ape": _APE, "wv": _APE, "mpc": _APE,
}  # fmt: skip

# Fields whose values may contain a slash, which is not a separator in ID3 before 2.4 then.
_WITH_SLASH = frozenset({"labels", "catalog_numbers", "artist"})


# Fields of a tag set.


def with_fields(tags: TagSet, fields: Mapping[str, Sequence[str]]) -> TagSet:
    """Return the tags with each field set to the given texts, or removed if there are none.

    Names are those of `FIELDS`. Fields that already have their texts keep their bytes, and if all
    do, `tags` itself is returned. An ID3 tag keeps its version and holds as much of a value as that
    version can. A missing or empty tag receives the values of the other tags, because players read
    only this one. Raises `AudioError` for an unknown field or a value that the tag cannot hold.
    """
    old = _block_to_write(tags)
    block = old
    for name, texts in fields.items():
        block = _with_field(block, name, tuple(texts))
    return tags if block == old else tags.with_block(block)


def all_fields(tags: TagSet) -> dict[str, Texts]:
    """Return the fields of the tag that is written, or that would be created.

    The primary key of a field takes precedence over the keys of other programs, but an original
    date combines all keys. Blank texts are ignored.
    """
    block = _block_to_write(tags)
    return {name: _comparable(block, name, texts) for name, texts in _texts_by_field(block).items()}


def texts_of_file(tags: TagSet) -> dict[str, Texts]:
    """Return the fields of all tags of a file; the first tag that has a field provides its texts.

    The tags are ordered as in players. Texts are unchanged, so numbers keep leading zeros.
    """
    block = _existing_block(tags)
    texts_elsewhere = _texts_of_others(tags, _WRITTEN[tags.container][0])
    return {**texts_elsewhere, **(_texts_by_field(block) if block else {})}


def new_block(tags: TagSet) -> TagBlock:
    """Return a new block with the values of the other tags of the file."""
    form, head = _WRITTEN[tags.container]
    if old := _existing_block(tags):
        form, head = old.form, old.head
    return _filled(TagBlock(form, (), head), tags)


def copied_items(tags: TagSet) -> tuple[TagItem, ...]:
    """Return the items that the tag to write receives from other tags if it is missing or empty."""
    return () if _has_content(_existing_block(tags)) else new_block(tags).items


def not_copied(tags: TagSet) -> Texts:
    """Return the keys in other tags whose values a new tag cannot hold, each after its tag's label.

    The new tag hides these values from players.
    """
    if _has_content(_existing_block(tags)):
        return ()
    block = new_block(tags)
    copied, _ = _texts_by_name(block)
    keys = list[str]()
    for label, hidden in _other_blocks(tags, block.form):
        texts_by_name, unnamed = _texts_by_name(hidden)
        keys += [f"{label} {key}" for key in unnamed]
        keys += [
            f"{label} {name}"
            for name, texts in texts_by_name.items()
            if name not in copied
            or (block.form in BEFORE_2_4 and "date" in name and copied[name] != texts)
        ]
    return tuple(dict.fromkeys(keys))


def fields_of_items(form: str, items: Iterable[TagItem]) -> dict[str, Texts]:
    """Return the fields that items of a tag hold."""
    return _texts_by_field(TagBlock(form, tuple(items))) if form in _FORMS else {}


def without_fields(
    block: TagBlock, fields: Mapping[str, Texts], old: Collection[str]
) -> TagBlock | None:
    """Return a tag without the items that hold these texts of fields, or `None` if none is left.

    Items whose folded key is in `old` stay. In ID3v1 the texts of the fields are cleared.
    """
    if block.form == "id3v1":
        if old:
            return block
        data = _cleared_id3v1(block.items[0].data, fields)
        is_empty = not any(any(texts or ()) for _, _, texts in _id3v1_texts(data))
        return None if is_empty else TagBlock(block.form, (TagItem(block.items[0].key, data),))

    items = []
    for item in block.items:
        is_info = block.form == riff.INFO_FORM
        name = _INFO.get(item.key) if is_info else field_of_key(block.form, item.key)
        has_texts = name is not None and item_texts(block.form, item) == fields.get(name)
        if folded(block.form, item.key) in old or not has_texts:
            items.append(item)
    return TagBlock(block.form, tuple(items), block.head) if items else None


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
    """Return the texts of an item, or `None` if it holds something else, such as a picture."""
    return _READERS[form](item) if form in _READERS else None


def field_of_key(form: str, key: str) -> str | None:
    """Return the first field that a key belongs to, or `None`."""
    fields = keys_of_form(form).fields_of(key) if form in _FORMS else ()
    return fields[0][0] if fields else None


def text_items(form: str, key: str, texts: Texts) -> tuple[TagItem, ...]:
    """Return the items of a key that hold the texts."""
    items = _FORMS[form][1](key, texts)
    return (items,) if isinstance(items, TagItem) else items


def is_same_key(form: str, first: str, second: str) -> bool:
    """Tell whether two keys are equal in a tag format; most formats ignore case."""
    return first == second or (form in _FORMS and folded(form, first) == folded(form, second))


def _existing_block(tags: TagSet) -> TagBlock | None:
    form, _ = _WRITTEN[tags.container]
    return tags.block(form.partition(".")[0])


def _block_to_write(tags: TagSet) -> TagBlock:
    """Return the tag that is written, with the values of other tags if it is missing or empty."""
    block = _existing_block(tags)
    if block is None:
        return new_block(tags)
    return block if _has_content(block) else _filled(block, tags)


def _has_content(block: TagBlock | None) -> bool:
    items = block.items if block else ()
    values = (item_texts(block.form, item) for item in items if block and item.key)
    return any(texts is None or _not_blank(texts) for texts in values)


def _not_blank(texts: Iterable[str]) -> Texts:
    return tuple(text for text in texts if text.strip(BLANK))


# Fields of one tag.


def _with_field(block: TagBlock, name: str, texts: Texts) -> TagBlock:
    if name not in FIELDS_BY_NAME:
        raise AudioError(f"there is no field {name!r}; fields are {', '.join(FIELDS_BY_NAME)}")
    if len(texts) > 1 and not FIELDS_BY_NAME[name].is_multiple:
        raise AudioError(f"{name} has one value, not {len(texts)}")
    if any("\0" in text or not text for text in texts):
        raise AudioError(f"{name} cannot be empty or hold a NUL byte")
    form = keys_of_form(block.form)
    keys, old = form.keys[name], block
    keys_to_set = {folded(block.form, key): (key, key) for key in keys.primary}
    for item in block.items:
        for field, listed in form.fields_of(item.key):
            if field == name and listed not in keys.obsolete:
                is_listed = is_same_key(block.form, item.key, listed)
                key = listed if is_listed else item.key
                keys_to_set.setdefault(folded(block.form, key), (key, listed))
    for key, listed in keys_to_set.values():
        block = _with_texts(block, key, _texts_for_key(PARTS.get(listed), texts))
    for key in keys.obsolete:
        block = _with_texts(block, key, ())
    if not keys.stale or _texts_by_field(old).get(name) == _texts_by_field(block).get(name):
        return block
    items = tuple(item for item in block.items if not form.is_stale(name, item.key))
    return TagBlock(block.form, items, block.head)


def _with_texts(block: TagBlock, key: str, texts: Texts) -> TagBlock:
    """Return the block with these texts under a key; if it has them, its bytes do not change."""
    read_texts, _ = _FORMS[block.form]
    new = text_items(block.form, key, texts) if texts else ()
    new_texts = tuple(text for item in new for text in read_texts(item) or ())
    old = _items_at(block, key)
    if _texts_at(block, key) == new_texts and bool(old) == bool(texts):
        return block
    at = old[0][0] if old else sum(bool(item.key) for item in block.items)
    replaced = {index for index, _ in old}
    items = [item for index, item in enumerate(block.items) if index not in replaced]
    items[at:at] = new
    if block.form == "asf":
        items = list(asf.sorted_by_place(items))
    return TagBlock(block.form, tuple(items), block.head)


def _items_at(block: TagBlock, key: str) -> list[tuple[int, TagItem]]:
    items = enumerate(block.items)
    return [(at, item) for at, item in items if is_same_key(block.form, item.key, key)]


def _texts_at(block: TagBlock, key: str) -> Texts:
    items = (item for _, item in _items_at(block, key))
    return tuple(text for item in items for text in item_texts(block.form, item) or ())


def _texts_for_key(part: TextPart | None, texts: Texts) -> Texts:
    """Return the texts of a field as a key holds them, which may be only a part of the first."""
    if part and texts:
        texts = (_part(part, texts[0]),)
    return tuple(filter(None, texts))


def _part(part: TextPart, text: str) -> str:
    """Return a part of a field's text, empty if the text lacks it."""
    pattern, groups = part
    match = pattern.match(text)
    values = [match[group] for group in groups] if match else []
    return "" if None in values else "".join(values)


def _texts_by_field(block: TagBlock) -> dict[str, Texts]:
    """Return the fields of a tag; separate frames for year and day are combined."""
    form = keys_of_form(block.form)
    spellings: dict[str, dict[str, dict[str, Texts]]] = {}  # by field, listed key, key in the tag
    for item in block.items:
        fields = form.fields_of(item.key)
        texts = _not_blank(item_texts(block.form, item) or ()) if fields else ()
        for name, listed in fields if texts else ():
            by_key = spellings.setdefault(name, {}).setdefault(listed, {})
            by_key[item.key] = (*by_key.get(item.key, ()), *texts)
    by_field: dict[str, Texts] = {}
    for name, keys in form.keys.items():
        if name not in spellings:
            continue
        accepted = (*keys.primary, *keys.secondary, *keys.obsolete)
        present = [key for key in accepted if key in spellings[name] and key not in DAYS]
        if name == "original_date":
            dates = (chain(*spellings[name][key].values()) for key in present)
            by_field[name] = _most_precise(chain(*dates))
        elif present:
            spelled = spellings[name][present[0]]
            exact = (key for key in spelled if is_same_key(block.form, key, present[0]))
            by_field[name] = spelled[next(exact, next(iter(spelled)))]
    days = spellings.get("date", {}).get(key_of_version(block.form, "TDAT"), {})
    day, year = next(iter(days.values()), ("",))[0], by_field.get("date", ("",))[0]
    if _DIGITS.fullmatch(day) and _DIGITS.fullmatch(year):
        by_field["date"] = (f"{year}-{day[2:]}-{day[:2]}",)
    return {name: texts for name, texts in by_field.items() if texts}


def _most_precise(dates: Iterable[str]) -> Texts:
    """Return the different dates, except those that are the beginning of another date."""
    texts = tuple(dict.fromkeys(dates))
    return tuple(
        text
        for text in texts
        if not any(longer != text and longer.startswith(text) for longer in texts)
    )


def _comparable(block: TagBlock, name: str, texts: Texts) -> Texts:
    """Return the texts of a field in the form in which they are compared and written."""
    match name:
        case "track" | "disc":  # 5/12 without leading zeros; other texts are unchanged
            numbers = NUMBERS.fullmatch(texts[0])
            if not numbers:
                return texts[:1]
            keys = keys_of_form(block.form).keys[name]
            total_keys = (k for k in (*keys.primary, *keys.secondary) if PARTS.get(k) is TOTAL)
            totals = filter(None, (_texts_at(block, key) for key in total_keys))
            total = numbers[2] or _part(NUMBER, next(totals, ("",))[0])
            return (f"{numbers[1]}/{total}" if total else numbers[1],)
        case _ if block.form in BEFORE_2_4 and FIELDS_BY_NAME[name].is_multiple:
            if name not in _WITH_SLASH:
                return tuple(part for text in texts for part in text.split("/") if part)
    return texts


# Values of other tags, by the name of a field, or of a Vorbis comment if there is no field.


def _filled(block: TagBlock, tags: TagSet) -> TagBlock:
    """Return the block with the values of the other tags added."""
    column = {"vorbis": 0, "apev2": 2}.get(block.form, 1)
    keys = {names[0]: names[column] for names in _OTHER_NAMES}
    for name, texts in _texts_of_others(tags, block.form).items():
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
    if name == "GENRE":  # ID3 may have a number, or a number in parentheses
        return tuple(TCON(encoding=3, text=list(texts)).genres) or texts
    is_joined = block.form != "vorbis" and name in _SINGLE_TEXTS
    return ("\n".join(texts),) if is_joined else texts


def _with_copied_field(block: TagBlock, name: str, texts: Texts) -> TagBlock:
    """Return the block with a field copied unchanged, even text that follows a number."""
    keys = keys_of_form(block.form).keys[name].primary
    if name == "date" and block.form == "id3v2.4":  # TagLib truncates dates in other notations
        texts = tuple(_WITH_ZONE.sub(r"\1T\2", text) for text in texts)
    if block.form not in BEFORE_2_4:
        return _with_texts(block, keys[0], _texts_for_key(None, texts))
    for key in keys:
        block = _with_texts(block, key, _texts_for_key(PARTS.get(key), texts))
    return block


def _other_blocks(tags: TagSet, form: str) -> Iterator[tuple[str, TagBlock]]:
    """Yield the tags except the one in this format, in TagLib's order, each with its label."""
    for other_form, label in _OTHER_TAGS.items():
        if (block := tags.block(other_form)) and other_form != form.partition(".")[0]:
            yield label, block


def _texts_of_others(tags: TagSet, form: str) -> dict[str, Texts]:
    """Return the texts of all tags except the one in this format; earlier tags take precedence."""
    by_name: dict[str, Texts] = {}
    for _, block in _other_blocks(tags, form):
        by_name = {**_texts_by_name(block)[0], **by_name}
    return by_name


def _texts_by_name(block: TagBlock) -> tuple[dict[str, Texts], Texts]:
    """Return the texts of a tag by name, and the keys that have no name."""
    by_name: dict[str, Texts] = {}
    unnamed: list[str] = []
    if block.form == _SECOND_COMMENTS:
        parsed = filter(None, (vorbis.read_comments(item.data) for item in block.items))
        items = chain.from_iterable(comments.items for comments, _ in parsed)
        block = TagBlock("vorbis", tuple(items))
    if block.form in _FORMS:
        by_name = _texts_by_field(block)
        if "date" in by_name and block.form in BEFORE_2_4:
            by_name["date"] = _with_time(block, by_name["date"])
    for name, key, texts in _named_texts(block):
        if name and texts:
            if _not_blank(texts) and not (name in FIELDS_BY_NAME and name in by_name):
                by_name[name] = tuple(dict.fromkeys((*by_name.get(name, ()), *texts)))
        else:
            unnamed.append(key)
    return by_name, tuple(unnamed)


def _with_time(block: TagBlock, date: Texts) -> Texts:
    time = _TIME.fullmatch(next(iter(_texts_at(block, key_of_version(block.form, "TIME"))), ""))
    is_day = len(date[0]) == len("2004-01-31")
    return (f"{date[0]}T{time[1]}:{time[2]}",) if time and is_day else date


_NamedTexts = Iterator[tuple[str, str, Texts | None]]


def _named_texts(block: TagBlock) -> _NamedTexts:
    """Yield name, key and texts of every item that does not belong to a field of a keyed tag."""
    if block.form == "id3v1":
        yield from _id3v1_texts(block.items[0].data)
        return
    names = {riff.INFO_FORM: _INFO, riff.TEXT_FORM: _AIFF}.get(block.form)
    for item in block.items:
        if not item.key:
            continue
        if names is not None:
            yield names.get(item.key, ""), item.key, _plain_text(item)
        elif block.form in _FORMS and not keys_of_form(block.form).fields_of(item.key):
            name = _other_name(block.form, item.key)
            if name is not None:
                yield name, item.key, item_texts(block.form, item)


def _other_name(form: str, key: str) -> str | None:
    """Return the name of a key of no field: `""` if it has no name, `None` if it is not copied."""
    if form == "vorbis":
        return key.upper()
    if form == "apev2":
        return None if _NOT_COPIED.match(key) else _BY_APE.get(key.casefold(), key.upper())
    frame, _, description = (key := long_key(form, key)).partition(":")
    if frame == "TXXX" and description:
        return description.upper()
    if frame in ("COMM", "USLT"):  # in any language, without a description
        return _BY_ID3[f"{frame}::eng"] if description.startswith(":") else ""
    return _BY_ID3.get(key, "")


def _id3v1_texts(tag: bytes) -> _NamedTexts:
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
"""The tag formats in the order in which TagLib reads them, with their labels."""
