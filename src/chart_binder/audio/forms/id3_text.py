"""What the frames of an ID3v2 tag say, for those that hold text.

Formats: https://id3.org/id3v2.4.0-frames, https://id3.org/id3v2.3.0, https://id3.org/id3v2-00
"""

import zlib

from chart_binder.audio.tagset import Item

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
