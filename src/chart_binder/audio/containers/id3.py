"""An ID3v1 tag, as frames of ID3v2.4.

Format: https://id3.org/ID3v1
"""

import re
import zlib
from dataclasses import dataclass

from chart_binder.audio.file_access import Source
from chart_binder.audio.tagset import Block, Item
from chart_binder.errors import AudioError

_CODECS = ("latin-1", "utf-16", "utf-16-be", "utf-8")

# What stands before the value: an encoding, a language, a text of that encoding, a Latin-1 text,
# a byte. The texts here are the frame's description and make up its key.
_LAYOUTS = {
    "TXXX": "ed", "TXX": "ed", "WXXX": "ed", "WXX": "ed", "UFID": "o", "UFI": "o", "PRIV": "o",
    "COMM": "eld", "COM": "eld", "USLT": "eld", "ULT": "eld", "APIC": "e.xd", "GEOB": "e.dd",
    "POPM": "o",
}  # fmt: skip

_TEXTS = frozenset({"TXXX", "TXX", "COMM", "COM", "USLT", "ULT"})

# In the second byte of a frame's flags: grouped, compressed, encrypted, with its length before it.
_FLAGS = {"id3v2.3": (0x20, 0x80, 0x40, 0), "id3v2.4": (0x40, 0x08, 0x04, 0x01)}


def name_length(form: str) -> int:
    """Return how long a frame's name is: three letters in ID3v2.2, four later."""
    return 3 if form == "id3v2.2" else 4


def key_of(form: str, data: bytes) -> str:
    """Return the key of a frame: its name, with description and language where it has them."""
    name = data[: name_length(form)].decode("latin-1")
    layout = _LAYOUTS.get(name)
    content = _content(form, data)
    if layout is None or content is None:
        return name
    described, _, _ = _split(layout, content)
    return ":".join((name, *described))


def texts_of(form: str, item: Item) -> tuple[str, ...] | None:
    """Return the texts that a frame holds, or nothing if it holds something else."""
    name = item.data[: name_length(form)].decode("latin-1")
    content = _content(form, item.data)
    if not item.key or content is None:
        return None
    if name in ("UFID", "UFI"):
        return (_split("o", content)[2].decode("latin-1"),)
    layout = "e" if name.startswith("T") else ""
    if name in _TEXTS:
        layout = _LAYOUTS[name]
    if not layout:
        return None
    _, codec, rest = _split(layout, content)
    texts = [text.strip("\ufeff") for text in rest.decode(codec, "replace").split("\0")]
    while len(texts) > 1 and not texts[-1]:
        texts.pop()
    return tuple(texts)


def text_frame(form: str, key: str, texts: tuple[str, ...]) -> Item:
    """Return a frame of this key (`TALB`, `TXXX:...`, `UFID:...`) that says the texts.

    ID3v2.4 has several values in UTF-8, NUL between them. Before it there is one value, joined
    with a slash as Picard does, in Latin-1 where it is ASCII, otherwise in UTF-16.
    """
    name, _, description = key.partition(":")
    if name in ("UFID", "UFI"):
        content = description.encode("latin-1") + b"\0" + texts[0].encode("latin-1", "replace")
    elif form == "id3v2.4":
        head = description.encode() + b"\0" if description else b""
        content = b"\3" + head + "\0".join(texts).encode()
    else:
        content = _old_text(description, "/".join(texts))
    return Item(key, name.encode("latin-1") + _no_flags(form) + content)


def _old_text(description: str, text: str) -> bytes:
    if (description + text).isascii():
        head = description.encode("ascii") + b"\0" if description else b""
        return b"\0" + head + text.encode("ascii")
    mark = b"\xff\xfe"
    head = mark + description.encode("utf-16-le") + b"\0\0" if description else b""
    return b"\1" + head + mark + text.encode("utf-16-le")


def _no_flags(form: str) -> bytes:
    return b"" if form == "id3v2.2" else b"\0\0"


def _content(form: str, data: bytes) -> bytes | None:
    """Return what stands in the frame behind its header, or nothing if it is not to be read."""
    start = name_length(form)
    if form == "id3v2.2":
        return data[start:]
    flags, content = data[start + 1 : start + 2], data[start + 2 :]
    grouped, compressed, encrypted, measured = (
        bool(flags and flags[0] & bit) for bit in _FLAGS[form]
    )
    if encrypted:
        return None
    before = grouped + 4 * (measured or (compressed and form == "id3v2.3"))
    content = content[before:]
    if not compressed:
        return content
    try:
        return zlib.decompress(content)
    except zlib.error:
        return None


def _split(layout: str, content: bytes) -> tuple[list[str], str, bytes]:
    """Return description and language, the codec of the value, and the value."""
    codec, described, language = "latin-1", [], ""
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
                    described.append(text.decode("latin-1"))
            case _:
                text, content = _until_nul(content, wide=codec.startswith("utf-16"))
                described.append(text.decode(codec, "replace").strip("\ufeff"))
    return ([*described, language] if language else described), codec, content


def _until_nul(content: bytes, *, wide: bool) -> tuple[bytes, bytes]:
    if not wide:
        text, _, rest = content.partition(b"\0")
        return text, rest
    at = content.find(b"\0\0")
    while at >= 0 and at % 2:
        at = content.find(b"\0\0", at + 1)
    return (content, b"") if at < 0 else (content[:at], content[at + 2 :])


HEADER = 10
PADDING = 1024
"""Room left behind a tag that had to grow, so that the next change needs no new place."""

MOST = (1 << 28) - 1

_NAME = re.compile(rb"[A-Z0-9]{3}[A-Z0-9 ]?")
_OLDEST, _NEWEST, _SEVEN_BITS = 2, 4, 0x7F
_UNSYNCED, _EXTENDED, _FOOTED, _FRAME_UNSYNCED = 0x80, 0x40, 0x10, 0x02


@dataclass(frozen=True, slots=True)
class FoundTag:
    """A tag, with how many bytes it takes up."""

    block: Block
    size: int


def find_id3(source: Source, start: int) -> FoundTag | None:
    """Return the ID3v2 tag that begins at `start`, if one does; raise `AudioError` if damaged."""
    if not source.has(start, b"ID3") or start + HEADER > source.size:
        return None
    major, revision, flags, *digits = source.at(start + 3, 7)
    packed = major == _OLDEST and flags & _EXTENDED  # a compression that was never defined
    if not _OLDEST <= major <= _NEWEST or max(digits) > _SEVEN_BITS or packed:
        raise source.damaged(f"its ID3 tag is of an unknown kind (version 2.{major})")
    size = _syncsafe(bytes(digits))
    form = f"id3v2.{major}"
    body = source.at(start + HEADER, size)
    unsynced = bool(flags & _UNSYNCED)
    if major < _NEWEST and unsynced:
        body = _synced(body)
    if flags & _EXTENDED:
        body = _behind_extension(form, body)
    items = _frames(form, body, unsynced=unsynced and major == _NEWEST)
    footer = HEADER if major == _NEWEST and flags & _FOOTED else 0
    return FoundTag(Block(form, items, bytes((major, revision))), HEADER + size + footer)


def written_id3(block: Block, room: int = 0, *, spare: bool = True) -> bytes:
    """Return the tag as it stands in a file.

    It takes `room` bytes where it fits, else as many as it needs, with some to spare if wanted.
    Raises `AudioError` for what an ID3 tag has no room for.
    """
    frames = sorted(block.items, key=lambda item: not item.key)  # what is no frame stands behind
    body = b"".join(_frame(block.form, item) for item in frames)
    size = room - HEADER
    if len(body) > size:
        size = len(body) + (PADDING if spare else 0)
    if size > MOST:
        raise AudioError(f"the tags are too long for ID3 ({size:,} bytes, {MOST:,} fit)")
    return b"ID3" + block.head + b"\0" + _digits(size) + body.ljust(size, b"\0")


def _frames(form: str, body: bytes, *, unsynced: bool) -> tuple[Item, ...]:
    spans, end = _spans(form, body, syncsafe=form == "id3v2.4")
    if form == "id3v2.4" and body[end:].strip(b"\0"):
        # iTunes wrote plain lengths for years. They are taken where they explain the whole tag.
        plain, plain_end = _spans(form, body, syncsafe=False)
        if not body[plain_end:].strip(b"\0"):
            spans, end = plain, plain_end
    items = [_item(form, body, span, unsynced=unsynced) for span in spans]
    rest = body[end:].rstrip(b"\0")
    return (*items, Item("", rest)) if rest else tuple(items)


def _spans(form: str, body: bytes, *, syncsafe: bool) -> tuple[list[tuple[int, int]], int]:
    """Return where each frame starts and ends, and where the last one ends."""
    length = name_length(form)
    header = 2 * length + _flag_bytes(form)
    at, spans = 0, []
    while at + header <= len(body) and _NAME.fullmatch(body, at, at + length):
        digits = body[at + length : at + 2 * length]
        if syncsafe and max(digits) > _SEVEN_BITS:
            break
        size = _syncsafe(digits) if syncsafe else int.from_bytes(digits, "big")
        if at + header + size > len(body):
            break
        spans.append((at, at + header + size))
        at += header + size
    return spans, at


def _item(form: str, body: bytes, span: tuple[int, int], *, unsynced: bool) -> Item:
    start, end = span
    length = name_length(form)
    name, rest = body[start : start + length], body[start + 2 * length : end]
    if form == "id3v2.4" and (unsynced or rest[1] & _FRAME_UNSYNCED):
        rest = rest[:1] + bytes((rest[1] & ~_FRAME_UNSYNCED,)) + _synced(rest[2:])
    data = name + rest
    return Item(key_of(form, data), data)


def _frame(form: str, item: Item) -> bytes:
    if not item.key:
        return item.data
    length = name_length(form)
    size = len(item.data) - length - _flag_bytes(form)
    if size > (0xFFFFFF if form == "id3v2.2" else MOST):
        raise AudioError(f"{item.key} is too long for ID3 ({size:,} bytes)")
    digits = _digits(size) if form == "id3v2.4" else size.to_bytes(length, "big")
    return item.data[:length] + digits + item.data[length:]


def _flag_bytes(form: str) -> int:
    return 0 if form == "id3v2.2" else 2


def _behind_extension(form: str, body: bytes) -> bytes:
    """Return the frames behind the extended header, whose checksum would not hold any more."""
    if form == "id3v2.4":
        return body[_syncsafe(body[:4]) :]
    return body[4 + int.from_bytes(body[:4], "big") :]


def _synced(content: bytes) -> bytes:
    return content.replace(b"\xff\0", b"\xff")


def _syncsafe(digits: bytes) -> int:
    value = 0
    for digit in digits:
        value = value << 7 | digit & _SEVEN_BITS
    return value


def _digits(value: int) -> bytes:
    return bytes(value >> shift & _SEVEN_BITS for shift in (21, 14, 7, 0))


_ID3V1_TEXTS = {
    "TIT2": slice(3, 33),
    "TPE1": slice(33, 63),
    "TALB": slice(63, 93),
    "TDRC": slice(93, 97),
}
_COMMENT, _TRACK, _GENRE = slice(97, 127), 126, 127
_NO_GENRE = 255


def frames_of(tag: bytes) -> tuple[Item, ...]:
    """Return what the 128 bytes of the tag say as ID3v2.4 frames, nothing for what is blank."""
    form = "id3v2.4"
    texts = {key: _text(tag[place]) for key, place in _ID3V1_TEXTS.items()}
    if tag[_TRACK - 1] == 0 and tag[_TRACK]:
        texts["TRCK"] = str(tag[_TRACK])
    if tag[_GENRE] != _NO_GENRE:
        texts["TCON"] = str(tag[_GENRE])
    frames = [text_frame(form, key, (text,)) for key, text in texts.items() if text]
    if comment := _text(tag[_COMMENT]):
        content = b"COMM\0\0\3eng\0" + comment.encode()
        frames.append(Item("COMM::eng", content))
    return tuple(frames)


def _text(field: bytes) -> str:
    return field.partition(b"\0")[0].decode("latin-1").strip()
