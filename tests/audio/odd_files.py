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


PICTURE = b"\0image/jpeg\0\3\0" + JPEG

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
    original = bare(name) + chunks
    return original[:4] + struct.pack(f"{order}I", len(original) - 8) + original[8:]


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
    counted = [
        struct.pack("<I", len(comment.encode())) + comment.encode() for comment in ("x", *entries)
    ]
    return counted[0] + struct.pack("<I", len(entries)) + b"".join(counted[1:])


def flac_block(kind: int, body: bytes) -> bytes:
    return bytes((kind,)) + len(body).to_bytes(3, "big") + body


def flac(*blocks: bytes) -> bytes:
    """Return a FLAC file with these metadata blocks behind the one that describes the stream."""
    original = bare("bare.flac")
    at, last = 42, bool(original[4] & 0x80)
    while not last:
        last = bool(original[at] & 0x80)
        at += 4 + int.from_bytes(original[at + 1 : at + 4], "big")
    padding = bytes((0x81,)) + (100).to_bytes(3, "big") + bytes(100)
    return b"fLaC\0" + original[5:42] + b"".join(blocks) + padding + original[at:]


COMMENTS = flac_block(4, comments(f"TITLE={TITLE}", f"ARTIST={ARTIST}", f"ALBUM={ALBUM}"))


def mp4_without_media() -> bytes:
    original = bare("bare.fast.m4a")
    return original[: original.index(b"mdat") - 4]


def mp4_with_media_elsewhere() -> bytes:
    """Return a file whose media were put behind where the tables point."""
    original = bare("bare.aac.m4a")
    at = original.index(b"mdat") - 4
    size = int.from_bytes(original[at : at + 4], "big")
    padding = struct.pack(">I4s", size + 64, b"free") + bytes(size + 56)
    return original[:at] + padding + original[at : at + size] + original[at + size :]


def sized(content: bytes, at: int, size: int, order: str = "<I") -> bytes:
    """Return the content with a size of its header set to another."""
    return content[:at] + struct.pack(order, size) + content[at + struct.calcsize(order) :]


def tag_chunk(order: str) -> bytes:
    return chunk(b"ID3 " if order == ">" else b"id3 ", id3(4, 0, texts(4), padding=21), order)


def dsf_tagged(behind: bytes = b"") -> bytes:
    """Return a DSF file with a tag and something behind it, its total length as it was before."""
    original = bare("bare.dsf")
    return sized(original, 20, len(original), "<Q") + id3(4, 0, texts(4)) + behind


# As iTunes wrote them: the names of ID3v2.2, with a NUL where the fourth letter would be.
SHORT_NAMES = b"".join(
    frame(name, b"\0" + text, 3)
    for name, text in (
        ("TT2\0", TITLE.encode("latin-1")), ("TP1\0", ARTIST.encode()), ("TAL\0", ALBUM.encode()),
        ("TYE\0", b"1996"), ("COM\0", b"eng\0hm"),
    )
)  # fmt: skip


def box(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I4s", len(content) + 8, kind) + content


HANDLER = box(b"hdlr", bytes(8) + b"mdirappl" + bytes(9))
ITEMS = box(
    b"ilst",
    b"".join(
        box(key, box(b"data", b"\0\0\0\1" + bytes(4) + text.encode()))
        for key, text in ((b"\xa9nam", TITLE), (b"\xa9ART", ARTIST))
    ),
)


def mp4_with(boxes: bytes) -> bytes:
    """Return a file with these boxes at the end of `moov` instead of `udta`."""
    original = bare("bare.aac.m4a")
    movie, user = original.index(b"moov") - 4, original.index(b"udta") - 4
    return original[:movie] + box(b"moov", original[movie + 8 : user] + boxes)


def segment_index(first: int, sizes: list[int], version: int = 0) -> bytes:
    """Return a `sidx` box: the distance from its end to the first segment, and their sizes."""
    numbers = struct.pack(">II" if not version else ">QQ", 0, first)
    references = b"".join(struct.pack(">III", size, 1, 1 << 31) for size in sizes)
    head = bytes((version, 0, 0, 0)) + struct.pack(">II", 1, 1_000)
    return box(b"sidx", head + numbers + struct.pack(">HH", 0, len(sizes)) + references)


def mp4_indexed(version: int = 0) -> bytes:
    """Return a fragmented file with an index of its segments before `moov`."""
    original = bare("bare.pieces.m4a")
    movie, fragment, index = (original.index(kind) - 4 for kind in (b"moov", b"moof", b"mfra"))
    before = segment_index(fragment - movie, [index - fragment], version)
    for at in (original.index(b"tfhd") + 12, original.index(b"tfra") + 28):
        original = sized(original, at, fragment + len(before), ">Q")
    return original[:movie] + before + original[movie:]


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
    # Programs that add a chunk without a look at the size of the whole.
    "WAV with a tag behind its size": ("song.wav", bare("bare.wav") + tag_chunk("<")),
    "AIFF with a tag behind its size": ("song.aiff", bare("bare.aiff") + tag_chunk(">")),
    # A recorder that was switched off after it had written the length of the samples alone.
    "WAV with the size of its header": ("song.wav", sized(bare("bare.wav"), 4, 36)),
    "WAV with the size of the file": (
        "song.wav", sized(bare("bare.wav"), 4, len(bare("bare.wav"))),
    ),
    "WAV with ID3v1 behind its chunks": ("song.wav", bare("bare.wav") + id3v1()),
    "WAV with zeros behind its chunks": ("song.wav", bare("bare.wav") + bytes(1000)),
    "DSF with a wrong length": ("song.dsf", sized(bare("bare.dsf"), 12, 5, "<Q")),
    "DSF with a tag and more": ("song.dsf", dsf_tagged(b"more")),
    "ID3 behind zeros": ("song.mp3", bytes(512) + tagged_mp3(4, 0, texts(4), padding=50)),
    "ID3 behind junk": ("song.mp3", b"junk ID3 \xff" * 30 + described_mp3(3, 0)),
    "names of 2.2 in 2.3": ("song.mp3", tagged_mp3(3, 0, SHORT_NAMES, padding=50)),
    # The picture has 2,176 bytes; counted plainly, it would be of 4,352, more than there are.
    "syncsafe lengths in 2.3": (
        "song.mp3", tagged_mp3(3, 0, texts(3) + frame("APIC", PICTURE, 4)),
    ),
    "cut frame at the end": (
        "song.mp3", tagged_mp3(3, 0, texts(3) + picture(JPEG, 3)[:-300]),
    ),
    "MP4 with QuickTime's meta": (
        "song.m4a", mp4_with(box(b"udta", box(b"meta", HANDLER + ITEMS))),
    ),
    "MP4 with QuickTime's meta in moov": ("song.m4a", mp4_with(box(b"meta", HANDLER + ITEMS))),
    "MP4 without a handler": ("song.m4a", mp4_with(box(b"udta", box(b"meta", bytes(4) + ITEMS)))),
    "MP4 with two udta": (
        "song.m4a",
        mp4_with(box(b"udta", b"") + box(b"udta", box(b"meta", bytes(4) + HANDLER + ITEMS))),
    ),
    "MP4 with an empty meta": ("song.m4a", mp4_with(box(b"udta", box(b"meta", b"")))),
    "MP4 with an index before moov": ("song.m4a", mp4_indexed()),
    "MP4 with a wide index before moov": ("song.m4a", mp4_indexed(1)),
    "MP3 with APE alone": ("song.mp3", mp3_with_ape()),
    "MP3 with APE and ID3v1": ("song.mp3", mp3_with_ape() + id3v1(ARTIST, "1996")),
    "MP3 with APE, Lyrics3 and ID3v1": (
        "song.mp3", mp3_with_ape() + LYRICS + id3v1(ARTIST, "1996"),
    ),
    # 128 bytes before its end stands "TAG", as in ID3v1: the middle of "APETAGEX".
    "MP3 with APE of 131 bytes": ("song.mp3", bare("bare.mp3") + ape_tag(Title="x" * 53)),
    "MP3 with ID3v1 alone": ("song.mp3", bare("bare.mp3") + id3v1()),
    "WavPack with ID3v1 alone": ("song.wv", bare("bare.wv") + id3v1()),
    "MP3 with two ID3v2 tags": (
        "song.mp3", id3(3, 0, texts(3), padding=9) + tagged_mp3(4, 0, texts(4), padding=9),
    ),
    "MP3 with ID3v1 before APE": (
        "song.mp3", bare("bare.mp3") + id3v1("Other") + ape_tag(Title=TITLE, Artist=ARTIST),
    ),
    "MP3 with two ID3v1 tags": ("song.mp3", bare("bare.mp3") + id3v1("Other") + id3v1()),
    "MP4 with line ends behind its boxes": ("song.m4a", bare("bare.fast.m4a") + b"\r\n" * 4),
    "MP4 with ID3v1 behind its boxes": ("song.m4a", bare("bare.aac.m4a") + id3v1()),
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


def mp4_with_places(kind: bytes) -> bytes:
    """Return a file with a box that says where something stands, with `moov` first."""
    return bare("bare.fast.m4a") + box(b"meta", bytes(4) + HANDLER + box(kind, bytes(8)))


def recording(name: str, total_at: int, size_at: int, order: str) -> bytes:
    """Return a file as a recorder leaves it that was cut off: its header has no sizes yet."""
    original = bare(name)
    return sized(sized(original, total_at, 36, order), size_at, 0, order)


DATA, SOUND = bare("bare.wav").index(b"data") + 4, bare("bare.aiff").index(b"SSND") + 4

# What header and file contradict each other on: the file, and what the refusal says of it.
REFUSED: dict[str, tuple[str, bytes, str]] = {
    "WAV cut short while recorded": (
        "song.wav",
        recording("bare.wav", 4, DATA, "<I"),
        "0 bytes .* and the file has 9,644; .ffmpeg -i",
    ),
    "WAV cut short, with zeros": (
        "song.wav", recording("bare.wav", 4, DATA, "<I")[: DATA + 4] + bytes(8000), "0 bytes",
    ),
    "WAV from a pipe": (
        "song.wav",
        sized(sized(bare("bare.wav"), 4, 0xFFFFFFFF), DATA, 0xFFFFFFFF),
        "says 4,294,967,295 bytes .* the file has 9,644",
    ),
    "WAV with endless samples": (
        "song.wav", sized(bare("bare.wav"), DATA, 0xFFFFFFFF), "4,294,967,295 bytes for .* 'data'",
    ),
    "WAV with an old size of its samples": (
        "song.wav", sized(sized(bare("bare.wav"), 4, 1036), DATA, 1000), "may be sound",
    ),
    "WAV with junk for a chunk": (
        "song.wav", sized(bare("bare.wav"), DATA, 1000), "its chunks end at byte 1,044",
    ),
    "WAV with a cut chunk behind its size": (
        "song.wav", bare("bare.wav") + tag_chunk("<") + tag_chunk("<")[:50], "may be sound",
    ),
    "WAV with a tag within and behind its size": (
        "song.wav", with_chunks("bare.wav", "<", tag_chunk("<")) + tag_chunk("<"), "more than one",
    ),
    "RF64": ("song.wav", b"RF64" + bare("bare.wav")[4:], "is RF64"),
    "WAV behind ID3": ("song.wav", id3(4, 0, texts(4)) + bare("bare.wav"), "precedes the header"),
    "AIFF cut short while recorded": (
        "song.aiff", recording("bare.aiff", 4, SOUND, ">I"), ".SSND. has 0 bytes",
    ),
    "AIFF cut off": ("song.aiff", bare("bare.aiff")[:5000], "and the file has 5,000"),
    "DSF cut short while recorded": (
        "song.dsf", sized(bare("bare.dsf"), 84, 12, "<Q"), "the sound ends at byte 92",
    ),
    "DSF with an old size of its samples": (
        "song.dsf", sized(bare("bare.dsf"), 84, 5000, "<Q"), "the sound ends at byte 5,080",
    ),
    "DSF cut off": ("song.dsf", bare("bare.dsf")[:50_000], "the sound ends at byte"),
    "WavPack cut off": ("song.wv", bare("bare.wv")[:-40], "does not end at byte 2,672"),
    "Musepack 8 cut off": ("song.mpc", bare("bare.8.mpc")[:-40], "does not end at byte 1,276"),
    "Monkey's Audio cut off": ("song.ape", bare("bare.ape")[:-4], "does not end at byte 132"),
    "Ogg with a wrong checksum": (
        "song.ogg", bare("bare.ogg").replace(b"libvorbis", b"LIBVORBIS"), "checksum of its page",
    ),
    "ID3 behind audio": (
        "song.mp3", b"junk" + bare("bare.mp3") + tagged_mp3(4, 0, texts(4)), "may be audio",
    ),
    "MP4 cut off": (
        "song.m4a", bare("bare.fast.m4a")[:-100], "end at byte 1,747, and the file has 1,647",
    ),
    "MP4 with items by place": ("song.m4a", mp4_with_places(b"iloc"), "iloc"),
    "MP4 with two moov": (
        "song.m4a", bare("bare.aac.m4a") + mp4_with(b"")[997:], "more than one moov box",
    ),
    "MP4 with QuickTime's meta before udta": (
        "song.m4a", mp4_with(box(b"meta", HANDLER) + box(b"udta", b"")), "hides the tags",
    ),
}  # fmt: skip
