"""Files as other programs leave them, their bytes set by hand: each has a defect or an oddity."""

import struct
from pathlib import Path

from audio.tagging import FILES

JPEG = b"\xff\xd8\xff\xe0\0\x10JFIF\0" + bytes(range(256)) * 8 + b"\xff\0\x11\xff\0\x22" * 40
"""Holds `FF E0`, which unsynchronised data cannot, and `FF 00`, which a decoder would cut."""

PLAIN = b"\x89PNG" + bytes(range(255)) * 8 + b"\xff\0\x11" * 40
"""Holds `FF 00` and no byte that says whether it is unsynchronised."""
TITLE, ARTIST, ALBUM = "Ænima", "Tool", "Undertow"


def bare(name: str) -> bytes:
    return (FILES / name).read_bytes()


def syncsafe(value: int) -> bytes:
    return bytes(value >> shift & 0x7F for shift in (21, 14, 7, 0))


def frame(name: str, content: bytes, version: int, flags: bytes = b"\0\0") -> bytes:
    size = syncsafe(len(content)) if version == 4 else len(content).to_bytes(4, "big")
    return name.encode() + size + flags + content


def picture(data: bytes, version: int, flags: bytes = b"\0\0") -> bytes:
    return frame("APIC", b"\0image/jpeg\0\3\0" + data, version, flags)


def id3(version: int, flags: int, body: bytes, padding: int = 0) -> bytes:
    body += bytes(padding)
    return b"ID3" + bytes((version, 0, flags)) + syncsafe(len(body)) + body


def texts(version: int) -> bytes:
    frames = (("TIT2", TITLE), ("TPE1", ARTIST), ("TALB", ALBUM))
    return b"".join(frame(name, b"\0" + text.encode("latin-1"), version) for name, text in frames)


def tagged_mp3(version: int, flags: int, body: bytes, padding: int = 0) -> bytes:
    return id3(version, flags, body, padding) + bare("bare.mp3")


def described_mp3(version: int, flags: int, padding: int = 100) -> bytes:
    return tagged_mp3(version, flags, texts(version) + picture(JPEG, version), padding)


EXTENSIONS = {3: struct.pack(">IHI", 6, 0, 0), 4: syncsafe(6) + b"\1\0"}


def mpeg_frames(header: int, size: int) -> bytes:
    """Return eight MPEG frames of silence; a header says version, layer, rates and channels."""
    return (header.to_bytes(4, "big") + bytes(size - 4)) * 8


MPEG_2_5 = mpeg_frames(0xFFE3_48C4, 288)  # layer III, 32 kbit/s, 8000 Hz
LAYER_2 = mpeg_frames(0xFFFD_40C4, 208)  # 64 kbit/s, 44100 Hz


def musepack_5() -> bytes:
    """Return a file of stream version 5, which has no magic; its frames hold an MPEG header.

    Bits from the lowest: block size (6), highest band (5), version (10), middle side and intensity
    stereo (2), bit rate (9); then the number of frames.
    """
    first = 160 << 23 | 5 << 11 | 20 << 6 | 1
    return struct.pack("<II", first, 30) + b"\xff\xfb\x90\x64" + bytes(range(200)) * 12


def chunk(name: bytes, content: bytes, order: str) -> bytes:
    return name + struct.pack(f"{order}I", len(content)) + content + bytes(len(content) % 2)


def with_chunks(name: str, order: str, chunks: bytes) -> bytes:
    whole = bare(name) + chunks
    return whole[:4] + struct.pack(f"{order}I", len(whole) - 8) + whole[8:]


def wav_with_info(**entries: bytes) -> bytes:
    body = b"".join(chunk(key.encode(), text, "<") for key, text in entries.items())
    return with_chunks("bare.wav", "<", chunk(b"LIST", b"INFO" + body, "<"))


def aiff_with_texts() -> bytes:
    chunks = chunk(b"NAME", TITLE.encode(), ">") + chunk(b"AUTH", ARTIST.encode(), ">")
    return with_chunks("bare.aiff", ">", chunks + chunk(b"(c) ", b"1996", ">"))


def ape_tag(**items: str | bytes) -> bytes:
    body = b""
    for key, value in items.items():
        data = value if isinstance(value, bytes) else value.encode()
        kind = 2 if isinstance(value, bytes) else 0
        name = key.replace("_", " ").encode() if key.istitle() else key.encode()
        body += struct.pack("<II", len(data), kind) + name + b"\0" + data
    edge = struct.pack("<IIII", 2000, len(body) + 32, len(items), 1 << 31) + bytes(8)
    header = struct.pack("<IIII", 2000, len(body) + 32, len(items), 5 << 29) + bytes(8)
    return b"APETAGEX" + header + body + b"APETAGEX" + edge


RECORDING = "11111111-1111-4111-8111-111111111111"


def mp3_with_ape() -> bytes:
    return bare("bare.mp3") + ape_tag(
        Title=TITLE, Artist=f"{ARTIST}\0Maynard", Album=ALBUM, Year="1996", Track="5/15",
        Album_Artist="AC/DC", Genre="Metal", Comment="hm", MUSICBRAINZ_TRACKID=RECORDING,
        REPLAYGAIN_TRACK_GAIN="-8.21 dB", MOOD="calm", MP3GAIN_UNDO="+004,+004,N",
        Cover=b"front.jpg\0" + JPEG,
    )  # fmt: skip


def id3v1(artist: str = "Somebody", year: str = "1973") -> bytes:
    tag = b"TAG" + TITLE.encode("latin-1").ljust(30, b"\0") + artist.encode().ljust(30)
    return tag + bytes(30) + year.encode() + b"hm".ljust(28, b"\0") + b"\0\5" + b"\x09"


LYRICS = b"LYRICSBEGININD0000200LYR00002la000031LYRICS200"


def comments(*entries: str) -> bytes:
    counted = [struct.pack("<I", len(each.encode())) + each.encode() for each in ("x", *entries)]
    return counted[0] + struct.pack("<I", len(entries)) + b"".join(counted[1:])


def flac_block(kind: int, body: bytes) -> bytes:
    return bytes((kind,)) + len(body).to_bytes(3, "big") + body


def flac(*blocks: bytes) -> bytes:
    """Return a FLAC file with these metadata blocks behind the one that describes the stream."""
    whole = bare("bare.flac")
    at, last = 42, bool(whole[4] & 0x80)
    while not last:
        last = bool(whole[at] & 0x80)
        at += 4 + int.from_bytes(whole[at + 1 : at + 4], "big")
    padding = bytes((0x81,)) + (100).to_bytes(3, "big") + bytes(100)
    return b"fLaC\0" + whole[5:42] + b"".join(blocks) + padding + whole[at:]


COMMENTS = flac_block(4, comments(f"TITLE={TITLE}", f"ARTIST={ARTIST}", f"ALBUM={ALBUM}"))


def mp4_without_media() -> bytes:
    whole = bare("bare.fast.m4a")
    return whole[: whole.index(b"mdat") - 4]


def mp4_with_media_elsewhere() -> bytes:
    """Return a file whose media were put behind where the tables point."""
    whole = bare("bare.aac.m4a")
    at = whole.index(b"mdat") - 4
    size = int.from_bytes(whole[at : at + 4], "big")
    padding = struct.pack(">I4s", size + 64, b"free") + bytes(size + 56)
    return whole[:at] + padding + whole[at : at + size] + whole[at + size :]


# The name of the file, and its content.
ODD: dict[str, tuple[str, bytes]] = {
    **{
        f"{name} 2.{version}": ("song.mp3", content)
        for version in (3, 4)
        for name, content in (
            ("extended header that is not there", described_mp3(version, 0x40)),
            ("extended header", tagged_mp3(version, 0x40, EXTENSIONS[version] + texts(version))),
            ("unsynchronisation that is not there", described_mp3(version, 0x80)),
            ("both flags", described_mp3(version, 0xC0, padding=0)),
        )
    },
    # In ID3v2.3, with its length as ID3v2.4 says it.
    "extended header counted otherwise": (
        "song.mp3", tagged_mp3(3, 0x40, syncsafe(10) + bytes(6) + texts(3)),
    ),
    "unsynchronised frame that is not": (
        "song.mp3", tagged_mp3(4, 0, texts(4) + picture(JPEG, 4, flags=b"\0\2")),
    ),
    # The tag says that it is unsynchronised, and one frame that it is not.
    "doubtful unsynchronisation": (
        "song.mp3",
        tagged_mp3(4, 0x80, texts(4) + picture(JPEG, 4) + frame("PRIV", b"x\0" + PLAIN, 4)),
    ),
    # As iTunes wrote ID3v2.4: the length of a frame of more than 127 bytes is no syncsafe number.
    "plain frame lengths": (
        "song.mp3", tagged_mp3(4, 0, texts(4) + frame("TCOM", b"\3" + b"x" * 299, 3)),
    ),
    "MPEG-2.5": ("song.mp3", MPEG_2_5),
    "layer II": ("song.mp2", LAYER_2),
    "leading junk": ("song.MP3", b"junk" * 300 + bare("bare.mp3")),
    "Musepack 5": ("song.mpc", musepack_5()),
    "WAV with INFO": (
        "song.wav",
        wav_with_info(
            INAM=TITLE.encode() + b"\0", IART=ARTIST.encode() + b"\0", IPRD=ALBUM.encode() + b"\0",
            ICRD=b"1996\0", IPRT=b"5\0", IGNR=b"Metal\0", ICMT=b"hm\0",
        ),
    ),
    "WAV with INFO in Latin-1": (
        "song.wav", wav_with_info(INAM=TITLE.encode("latin-1"), IART=ARTIST.encode()),
    ),
    "AIFF with text chunks": ("song.aiff", aiff_with_texts()),
    "MP3 with APE alone": ("song.mp3", mp3_with_ape()),
    "MP3 with APE and ID3v1": ("song.mp3", mp3_with_ape() + id3v1(ARTIST, "1996")),
    "MP3 with APE, Lyrics3 and ID3v1": (
        "song.mp3", mp3_with_ape() + LYRICS + id3v1(ARTIST, "1996"),
    ),
    "MP3 with ID3v1 alone": ("song.mp3", bare("bare.mp3") + id3v1()),
    "WavPack with ID3v1 alone": ("song.wv", bare("bare.wv") + id3v1()),
    "FLAC with two comment blocks": (
        "song.flac", flac(COMMENTS, flac_block(4, comments("TITLE=Second", "NOTE=kept"))),
    ),
    "FLAC behind ID3v2": (
        "song.flac", id3(4, 0, frame("TIT2", b"\3Other", 4), padding=50) + flac(COMMENTS),
    ),
    "FLAC with ID3v2 alone": (
        "song.flac",
        id3(4, 0, texts(4) + frame("UFID", b"http://musicbrainz.org\0" + RECORDING.encode(), 4))
        + flac(),
    ),
}  # fmt: skip


def make(name: str, folder: Path) -> Path:
    """Make one of the files in a folder."""
    file, content = ODD[name]
    path = folder / file
    path.write_bytes(content)
    return path
