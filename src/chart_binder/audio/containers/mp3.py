"""MP3 files, and files with an APE tag (Monkey's Audio, WavPack, Musepack), and their tags.

In an MP3 file the ID3v2 tag before the audio is written; an APE or Lyrics3 tag behind the audio
keeps its bytes. In the other formats the APE tag behind the audio is written; an ID3v2 tag before
the audio keeps its bytes. Flags of an ID3v2 tag that its bytes contradict are ignored, as in
mutagen and TagLib. A tag behind leading junk, which only TagLib finds, is moved to the beginning of
the file when it is written.

Formats: https://id3.org/id3v2-00, https://id3.org/id3v2.3.0, https://id3.org/id3v2.4.0-structure,
https://wiki.hydrogenaud.io/index.php?title=APEv2_specification, https://id3.org/Lyrics3v2
"""

import re
import struct
import zlib
from collections.abc import Iterable, Iterator

from mutagen.id3 import Frames_2_2

from chart_binder.audio.containers.mpeg import FRAME, SEARCHED_BYTES, has_frames
from chart_binder.audio.open_file import ByteSpan, OpenFile, Piece
from chart_binder.audio.tagset import TagBlock, TagItem, TagSet
from chart_binder.errors import AudioError

APE_MAGICS = {b"MAC ": "ape", b"wvpk": "wv", b"MP+": "mpc", b"MPCK": "mpc"}
"""The first bytes of such files; two for Musepack, of stream versions 7 and 8."""

_HAS_HEADER, _IS_HEADER = 1 << 31, 1 << 29
NEW_APE_HEAD = struct.pack("<II", 2000, _HAS_HEADER) + bytes(8)
"""`TagBlock.head` of a new APE tag: version 2, the flag for a header, reserved bytes."""

_APE_MAGIC, _APE_FOOTER, _MAX_APE_ITEMS = b"APETAGEX", 32, 1 << 16
_ITEM_KIND, _BINARY = 0x6, 0x2
# Monkey's Audio since 3.98: magic, version, and the sizes of the parts of the file.
_MAC_HEADER, _FIRST_WITH_SIZES = struct.Struct("<4sHxxIIIIIII"), 3_980
_WAVPACK, _MUSEPACK_8, _PACKET_HEADER = b"wvpk", b"MPCK", 12
_ID3V1_BYTES = 128
_MORE_TAGS = "more-tags"
_LYRICS_END, _LYRICS_DIGITS = b"LYRICS200", 6

_PADDING = 1024  # bytes added behind a tag that had to grow

_HEADER = 10
_MAX_SIZE = (1 << 28) - 1
_OLDEST, _NEWEST, _SEVEN_BITS = 2, 4, 0x7F
_UNSYNCED, _EXTENDED, _FOOTED, _FRAME_UNSYNCED = 0x80, 0x40, 0x10, 0x02
# iTunes wrote names of ID3v2.2 with a trailing NUL into ID3v2.3 tags.
_NAME = re.compile(rb"[A-Z0-9]{3}[A-Z0-9 \0]?")
_CODECS = ("latin-1", "utf-16", "utf-16-be", "utf-8")

# The parts before the value: the encoding (e), a language (l), a text in that encoding (d) or in
# Latin-1 (o), a Latin-1 text outside the key (.), a byte (x). Texts and language form the key.
_LAYOUTS = {
    "TXXX": "ed", "TXX": "ed", "WXXX": "ed", "WXX": "ed", "UFID": "o", "UFI": "o", "PRIV": "o",
    "COMM": "eld", "COM": "eld", "USLT": "eld", "ULT": "eld", "APIC": "e.xd", "GEOB": "e.dd",
    "POPM": "o",
}  # fmt: skip
_TEXTS = frozenset({"TXXX", "TXX", "COMM", "COM", "USLT", "ULT", "XDOR"})

# Bits in the second flag byte of a frame: grouped, compressed, encrypted, data length indicator.
_FLAGS = {"id3v2.3": (0x20, 0x80, 0x40, 0), "id3v2.4": (0x40, 0x08, 0x04, 0x01)}

# Bytes that cannot occur in unsynchronised data, because they look like the start of a frame.
_NOT_UNSYNCED = re.compile(rb"\xff(?:[\xe0-\xff]|\Z)")


_ID3_HEADER = re.compile(rb"ID3[\2-\4][^\xff].[\0-\x7f]{4}", re.DOTALL)


class Mp3Layout:
    """An MP3 file: audio with tags at both ends."""

    written_forms = ("id3v2", "id3v1")

    def __init__(self, source: OpenFile) -> None:
        self._source = source
        self._before, leading, self._behind = _find_leading_id3(source)
        self._has_frame_before = bool(FRAME.search(source.read(0, self._before)))
        further, self._start = further_id3(source, self._behind) if leading else ((), 0)
        self._end, tail = find_tail(source, self._start, further)
        self.tags = TagSet("mp3", (*([leading] if leading else ()), *tail))

    def audio(self) -> Iterator[Piece]:
        """Yield the bytes before the leading tag, and those between the tags."""
        yield ByteSpan(0, self._before)
        yield ByteSpan(self._start, self._end - self._start)

    def with_tags(self, tags: TagSet) -> Iterable[Piece]:
        """Return the file with another ID3v2 tag, or without one."""
        if self._before and (self._has_frame_before or not self.tags.blocks[0].items[-1].key):
            raise self._source.damaged("its ID3 tag follows or contains what may be audio")
        leading = tags.block("id3v2")
        head = encode_id3(leading, self._behind - self._before) if leading else b""
        old, new = (b.items[0].data if (b := t.block("id3v1")) else b"" for t in (self.tags, tags))
        end, tail = self._source.size, b""
        if old != new:
            end, tail = self._end, self._source.read(self._end, end - self._end)
            at = tail.rfind(old) if old else len(tail)
            tail = tail[:at] + new + tail[at + len(old) :]
        return [head, ByteSpan(0, self._before), ByteSpan(self._behind, end - self._behind), tail]


class ApeLayout:
    """A file with its APE tag and other tags behind the audio."""

    written_forms = ("apev2", "id3v1")

    def __init__(self, source: OpenFile, container: str) -> None:
        leading, self._start = find_id3(source, 0)
        self._end, tail = find_tail(source, self._start)
        self.tags = TagSet(container, (*tail, *([leading] if leading else ())))
        self._source = source

    def audio(self) -> Iterator[Piece]:
        """Yield the bytes before the trailing tags."""
        yield ByteSpan(self._start, self._end - self._start)

    def with_tags(self, tags: TagSet) -> Iterable[Piece]:
        """Return the file with another APE tag, or without one."""
        if _declared_end(self._source, self._start, self._end) != self._end:
            where = f"at byte {self._end:,}, where the tags begin"
            raise self._source.damaged(f"according to its headers, its audio does not end {where}")
        yield ByteSpan(0, self._end)
        trailing = (block for block in tags.blocks if not block.form.startswith("id3v2"))
        for block in sorted(trailing, key=lambda block: block.form == "id3v1"):
            data = (item.data for item in block.items)
            yield _encode_ape(block) if block.form == "apev2" else b"".join(data)


def _declared_end(source: OpenFile, start: int, end: int) -> int:
    """Return the offset at which the audio ends by its headers, `end` if they do not state it."""
    if source.has(start, b"MAC ") and end - start >= _MAC_HEADER.size:
        header = source.read(start, _MAC_HEADER.size)
        _, version, *sizes, high, behind = _MAC_HEADER.unpack(header)
        total = sum(sizes) + (high << 32) + behind
        return max(end, start + total) if version >= _FIRST_WITH_SIZES else end
    is_wavpack, is_musepack = source.has(start, _WAVPACK), source.has(start, _MUSEPACK_8)
    if not (is_wavpack or is_musepack):
        return end
    at = start if is_wavpack else start + len(_MUSEPACK_8)
    while at < end and (is_musepack or source.has(at, _WAVPACK)):
        head = source.read(at, min(_PACKET_HEADER, end - at))
        size = int.from_bytes(head[4:8], "little") + 8 if is_wavpack else _packet_size(head)
        at += max(1, size)
    return at


def _packet_size(head: bytes) -> int:
    """Return the size of a Musepack 8 packet, stored in seven bits per byte behind its name."""
    size = 0
    for byte in head[2:]:
        size = size << 7 | byte & _SEVEN_BITS
        if byte <= _SEVEN_BITS:
            break
    return size


def ape_texts(item: TagItem) -> tuple[str, ...] | None:
    """Return the texts of an APE item, or `None` if it is binary."""
    flags = int.from_bytes(item.data[4:8], "little")
    if not item.key or flags & _ITEM_KIND == _BINARY:
        return None
    value = item.data[8:].partition(b"\0")[2]
    return tuple(value.decode("utf-8", "replace").split("\0"))


def ape_item(key: str, texts: tuple[str, ...]) -> TagItem:
    """Return an APE item that holds the texts, separated by NUL."""
    value = "\0".join(texts).encode()
    return TagItem(key, struct.pack("<II", len(value), 0) + key.encode("ascii") + b"\0" + value)


_TagWithStart = tuple[int, TagBlock]


def find_tail(
    source: OpenFile, first: int, further: tuple[TagItem, ...] = ()
) -> tuple[int, tuple[TagBlock, ...]]:
    """Return where the audio ends, and the tags behind it in file order, the last of each format.

    Earlier tags of the same format, and the tags `further`, become the items of one more block,
    which is not interpreted. `first` is the lowest offset of a tag.
    """
    end, blocks, repeated = source.size, list[TagBlock](), list[TagItem]()
    while True:
        for find in (_id3v1, _lyrics3, _ape):
            start, block = find(source, end) or (-1, None)
            if block is not None and start >= first:
                if any(block.form == later.form for later in blocks):
                    repeated.insert(0, TagItem(block.form, source.read(start, end - start)))
                else:
                    blocks.insert(0, block)
                end = start
                break
        else:
            items = (*further, *repeated)
            return end, (*([TagBlock(_MORE_TAGS, items)] if items else ()), *blocks)


def _id3v1(source: OpenFile, end: int) -> _TagWithStart | None:
    start = end - _ID3V1_BYTES
    # In an APE tag of 131 bytes, "TAG" at this place is part of "APETAGEX".
    if not source.has(start, b"TAG") or source.has(start - 3, _APE_MAGIC):
        return None
    return start, TagBlock("id3v1", (TagItem("ID3v1", source.read(start, _ID3V1_BYTES)),))


def _lyrics3(source: OpenFile, end: int) -> _TagWithStart | None:
    behind = len(_LYRICS_END) + _LYRICS_DIGITS
    if end < behind or not source.has(end - len(_LYRICS_END), _LYRICS_END):
        return None
    digits = source.read(end - behind, _LYRICS_DIGITS)
    start = end - behind - int(digits) if digits.isdigit() else -1
    if not source.has(start, b"LYRICSBEGIN"):
        return None
    return start, TagBlock("lyrics3", (TagItem("LYRICS200", source.read(start, end - start)),))


def _ape(source: OpenFile, end: int) -> _TagWithStart | None:
    if not source.has(end - _APE_FOOTER, _APE_MAGIC):
        return None
    footer = source.read(end - _APE_FOOTER, _APE_FOOTER)
    version, size, count, flags = struct.unpack("<IIII", footer[8:24])
    start = end - size
    if size < _APE_FOOTER or start < 0 or flags & _IS_HEADER or count > _MAX_APE_ITEMS:
        raise source.damaged("the size of its APE tag is invalid")
    items = _ape_items(source, source.read(start, size - _APE_FOOTER), count)
    if flags & _HAS_HEADER:
        start -= _APE_FOOTER
        if not source.has(start, _APE_MAGIC):
            raise source.damaged("its APE tag has no header at the expected place")
    return start, TagBlock("apev2", items, struct.pack("<II", version, flags) + footer[24:])


def _ape_items(source: OpenFile, body: bytes, count: int) -> tuple[TagItem, ...]:
    at, items = 0, []
    for _ in range(count):
        name_end = body.find(b"\0", at + 8)
        if name_end < 0:
            raise source.damaged("an item of its APE tag has no name")
        end = name_end + 1 + int.from_bytes(body[at : at + 4], "little")
        if end > len(body):
            raise source.damaged("an item of its APE tag is longer than the tag")
        items.append(TagItem(body[at + 8 : name_end].decode("latin-1"), body[at:end]))
        at = end
    return (*items, TagItem("", body[at:])) if body[at:] else tuple(items)


def _encode_ape(block: TagBlock) -> bytes:
    version, flags = struct.unpack("<II", block.head[:8])
    items = sorted(block.items, key=lambda item: not item.key)
    body = b"".join(item.data for item in items)
    size, count = len(body) + _APE_FOOTER, sum(bool(item.key) for item in items)

    def edge(flags: int) -> bytes:
        return _APE_MAGIC + struct.pack("<IIII", version, size, count, flags) + block.head[8:]

    header = edge(flags | _IS_HEADER) if flags & _HAS_HEADER else b""
    return header + body + edge(flags)


def find_id3(source: OpenFile, start: int) -> tuple[TagBlock | None, int]:
    """Return the ID3v2 tag at `start` and its size, or `None` and 0. Raises `AudioError`."""
    if not source.has(start, b"ID3") or start + _HEADER > source.size:
        return None, 0
    major, revision, flags, *digits = source.read(start + 3, 7)
    packed = major == _OLDEST and flags & _EXTENDED  # compressed in a way that was never defined
    if not _OLDEST <= major <= _NEWEST or max(digits) > _SEVEN_BITS or packed:
        raise source.damaged(f"its ID3 tag has an unknown format (version 2.{major})")
    size = _from_syncsafe(bytes(digits))
    form = f"id3v2.{major}"
    body = source.read(start + _HEADER, size)
    unsynced = bool(flags & _UNSYNCED)
    if major < _NEWEST and unsynced:
        body = _synced(body)
    if flags & _EXTENDED:  # its checksum would be wrong after a change
        body = body[_extension_size(source, form, body) :]
    items = _frames(form, body, unsynced=unsynced and major == _NEWEST)
    footer = _HEADER if major == _NEWEST and flags & _FOOTED else 0
    return TagBlock(form, items, bytes((major, revision))), _HEADER + size + footer


def is_mpeg(source: OpenFile) -> bool:
    """Tell whether MPEG frames begin near the start of the file, or behind a leading tag."""
    start = _find_leading_id3(source)[2]
    return has_frames(source, start, find_tail(source, start)[0])


def further_id3(source: OpenFile, start: int) -> tuple[tuple[TagItem, ...], int]:
    """Return the ID3v2 tags from `start`, behind the first tag, and the end of the last one."""
    items = list[TagItem]()
    while source.size - start > _HEADER and _ID3_HEADER.match(source.read(start, _HEADER)):
        _, size = find_id3(source, start)
        items.append(TagItem("id3v2", source.read(start, size)))
        start += size
    return tuple(items), start


def _find_leading_id3(source: OpenFile) -> tuple[int, TagBlock | None, int]:
    """Return the start of the ID3v2 tag before the audio, the tag, and its end."""
    tag, size = find_id3(source, 0)
    head = source.read(0, min(SEARCHED_BYTES, source.size)) if tag is None else b""
    if tag is not None or FRAME.match(head):
        return 0, tag, size
    for header in _ID3_HEADER.finditer(head):
        start = header.start()
        if start + _HEADER + _from_syncsafe(header[0][6:]) > source.size:
            continue
        tag, size = find_id3(source, start)
        if tag is not None and any(item.key for item in tag.items):
            return start, tag, start + size
    return 0, None, 0


def encode_id3(block: TagBlock, room: int = 0) -> bytes:
    """Return an encoded tag of `room` bytes, or if it needs more, with new padding.

    Raises `AudioError` if it is too long for ID3.
    """
    frames = sorted(block.items, key=lambda item: not item.key)  # frames precede other bytes
    body = b"".join(_encode_frame(block.form, item) for item in frames)
    size = room - _HEADER
    if frames and not frames[-1].key:  # padding would extend a frame that was cut short
        size = len(body)
    elif len(body) > size:
        size = len(body) + _PADDING
    if size > _MAX_SIZE:
        raise AudioError(f"the tags are too long for ID3 ({size:,} bytes, {_MAX_SIZE:,} fit)")
    return b"ID3" + block.head + b"\0" + _to_syncsafe(size) + body.ljust(size, b"\0")


def id3_texts(form: str, item: TagItem) -> tuple[str, ...] | None:
    """Return the texts of a frame, or `None` if it holds something else."""
    name = _frame_name(form, item.data)
    content = _content(form, item.data)
    if not item.key or content is None:
        return None
    if name in ("UFID", "UFI"):
        return (_split(_LAYOUTS[name], content)[2].decode("latin-1"),)
    if name not in _TEXTS and not name.startswith("T"):
        return None
    _, codec, value = _split(_LAYOUTS.get(name, "e"), content)
    texts = [text.strip("\ufeff") for text in value.decode(codec, "replace").split("\0")]
    while len(texts) > 1 and not texts[-1]:
        texts.pop()
    return tuple(texts)


def text_frame(form: str, key: str, texts: tuple[str, ...]) -> TagItem:
    """Return a frame with the texts; the key is like `TALB`, `TXXX:...` or `COMM::eng`.

    ID3v2.4 frames hold several values in UTF-8, separated by NUL. In earlier versions the values
    are joined with a slash, as Picard does, in Latin-1 if they are ASCII, else in UTF-16.
    """
    name, _, description = key.partition(":")
    language = b""
    if "l" in _LAYOUTS.get(name, ""):
        description, _, code = description.rpartition(":")
        language = code.encode("latin-1")
    if name in ("UFID", "UFI"):
        content = description.encode("latin-1") + b"\0" + texts[0].encode("latin-1", "replace")
    elif form == "id3v2.4":
        content = _encoded(b"\3" + language, "utf-8", description, "\0".join(texts))
    elif (text := "/".join(texts)).isascii() and description.isascii():
        content = _encoded(b"\0" + language, "ascii", description, text)
    else:
        content = _encoded(b"\1" + language, "utf-16-le", description, text, mark=b"\xff\xfe")
    return TagItem(key, name.encode("latin-1") + bytes(_flag_bytes(form)) + content)


def _encoded(head: bytes, codec: str, description: str, text: str, mark: bytes = b"") -> bytes:
    """Return the content of a frame; `head` has the encoding, and the language if any."""
    has_language = len(head) > 1
    if description or has_language:
        head += mark + description.encode(codec) + "\0".encode(codec)
    return head + mark + text.encode(codec)


def _extension_size(source: OpenFile, form: str, body: bytes) -> int:
    """Return the size of the extended header, 0 if there is none despite the flag.

    Raises `AudioError` if no frame follows it.
    """
    plain, syncsafe = 4 + int.from_bytes(body[:4], "big"), _from_syncsafe(body[:4])
    regular, irregular = (syncsafe, plain) if form == "id3v2.4" else (plain, syncsafe)
    for size in (0, regular, irregular):
        if _NAME.fullmatch(body, size, size + _name_length(form)):
            return size
    if regular > len(body) or body[regular:].strip(b"\0"):
        raise source.damaged("no frame follows the extended header of its ID3 tag")
    return regular


def _frames(form: str, body: bytes, *, unsynced: bool) -> tuple[TagItem, ...]:
    is_newest = form == "id3v2.4"
    spans, end = _frame_spans(form, body, syncsafe=is_newest)
    if form != "id3v2.2" and body[end:].strip(b"\0"):
        # iTunes wrote plain lengths into ID3v2.4 for years, others syncsafe ones into ID3v2.3. Such
        # lengths are used if they account for the entire tag, and are corrected when it is written.
        irregular, irregular_end = _frame_spans(form, body, syncsafe=not is_newest)
        has_name = _NAME.fullmatch(body, end, end + _name_length(form))
        is_frame = not has_name or any(start == end for start, _ in irregular)
        is_complete = len(irregular) >= len(spans) and not body[irregular_end:].strip(b"\0")
        if is_frame and is_complete:
            spans, end = irregular, irregular_end
    items = [_frame(form, body[start:stop], unsynced=unsynced) for start, stop in spans]
    trailing = body[end:]
    return (*items, TagItem("", trailing)) if trailing.strip(b"\0") else tuple(items)


def _frame_spans(form: str, body: bytes, *, syncsafe: bool) -> tuple[list[tuple[int, int]], int]:
    """Return the start and end of each frame, and the end of the last one."""
    length = _name_length(form)
    header = 2 * length + _flag_bytes(form)
    at, spans = 0, []
    while at + header <= len(body) and _NAME.fullmatch(body, at, at + length):
        digits = body[at + length : at + 2 * length]
        if syncsafe and max(digits) > _SEVEN_BITS:
            break
        size = _from_syncsafe(digits) if syncsafe else int.from_bytes(digits, "big")
        if at + header + size > len(body):
            break
        spans.append((at, at + header + size))
        at += header + size
    return spans, at


def _frame(form: str, frame: bytes, *, unsynced: bool) -> TagItem:
    """Return a frame without its length field; its flag tells whether it is unsynchronised."""
    length = _name_length(form)
    data = frame[:length] + frame[2 * length :]
    if form == "id3v2.4":
        flags, content = data[5], data[6:]
        flagged = (unsynced or flags & _FRAME_UNSYNCED) and _synced(content) != content
        flags = flags & ~_FRAME_UNSYNCED | (_FRAME_UNSYNCED if flagged else 0)
        data = data[:5] + bytes((flags,)) + content
    return TagItem(_key_of(form, data), data)


def _frame_name(form: str, data: bytes) -> str:
    """Return the name of a frame; an ID3v2.2 name in a later version becomes its modern name."""
    name = data[: _name_length(form)].decode("latin-1")
    short = name.removesuffix("\0")
    has_same_content = short in _LAYOUTS or short.startswith("T")
    if short == name or short not in Frames_2_2 or not has_same_content:
        return short
    return Frames_2_2[short].__mro__[1].__name__


def _key_of(form: str, data: bytes) -> str:
    name = _frame_name(form, data)
    layout = _LAYOUTS.get(name)
    content = _content(form, data)
    if layout is None or content is None:
        return name
    key_parts, _, _ = _split(layout, content)
    return ":".join((name, *key_parts))


def _encode_frame(form: str, item: TagItem) -> bytes:
    if not item.key:
        return item.data
    length = _name_length(form)
    size = len(item.data) - length - _flag_bytes(form)
    if size > (0xFFFFFF if form == "id3v2.2" else _MAX_SIZE):
        raise AudioError(f"{item.key} is too long for ID3 ({size:,} bytes)")
    digits = _to_syncsafe(size) if form == "id3v2.4" else size.to_bytes(length, "big")
    return item.data[:length] + digits + item.data[length:]


def _content(form: str, data: bytes) -> bytes | None:
    """Return the content behind the header of a frame, or `None` if it cannot be decoded."""
    start = _name_length(form)
    if form == "id3v2.2":
        return data[start:]
    flags, content = data[start + 1 : start + 2], data[start + 2 :]
    grouped, compressed, encrypted, has_length = (
        bool(flags and flags[0] & bit) for bit in _FLAGS[form]
    )
    if encrypted:
        return None
    if form == "id3v2.4" and flags and flags[0] & _FRAME_UNSYNCED:
        content = _synced(content)
    content = content[grouped + 4 * (has_length or (compressed and form == "id3v2.3")) :]
    if not compressed:
        return content
    try:
        return zlib.decompress(content)
    except zlib.error:
        return None


def _split(layout: str, content: bytes) -> tuple[list[str], str, bytes]:
    """Return the parts of the key (descriptions, language), the codec of the value, the value."""
    codec, descriptions, language = "latin-1", [], ""
    for part in layout:
        match part:
            case "e":
                number = content[0] if content else 0
                codec = _CODECS[number] if number < len(_CODECS) else "latin-1"
                content = content[1:]
            case "l":
                language, content = content[:3].decode("latin-1"), content[3:]
            case "x":
                content = content[1:]
            case "." | "o":
                text, _, content = content.partition(b"\0")
                if part == "o":
                    descriptions.append(text.decode("latin-1"))
            case _:
                text, content = _until_nul(content, wide=codec.startswith("utf-16"))
                descriptions.append(text.decode(codec, "replace").strip("\ufeff"))
    return ([*descriptions, language] if language else descriptions), codec, content


def _until_nul(content: bytes, *, wide: bool) -> tuple[bytes, bytes]:
    width = 2 if wide else 1
    at = content.find(bytes(width))
    while at >= 0 and at % width:
        at = content.find(bytes(width), at + 1)
    return (content, b"") if at < 0 else (content[:at], content[at + width :])


def _name_length(form: str) -> int:
    """Return the size of a frame's name, and of its length field: 3 bytes in ID3v2.2, else 4."""
    return 3 if form == "id3v2.2" else 4


def _flag_bytes(form: str) -> int:
    return 0 if form == "id3v2.2" else 2


def _synced(content: bytes) -> bytes:
    """Undo unsynchronisation; content that cannot be unsynchronised is returned unchanged."""
    if _NOT_UNSYNCED.search(content):
        return content
    return content.replace(b"\xff\0", b"\xff")


def _from_syncsafe(digits: bytes) -> int:
    value = 0
    for digit in digits:
        value = value << 7 | digit & _SEVEN_BITS
    return value


def _to_syncsafe(value: int) -> bytes:
    return bytes(value >> shift & _SEVEN_BITS for shift in (21, 14, 7, 0))
