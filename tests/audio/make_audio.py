"""Makes the audio files of the tests with those of the demo: `python tests/audio/make_audio.py`.

They are committed, so that only who changes them needs ffmpeg. ffmpeg writes no Monkey's Audio, no
Musepack and no DSF: those files are written here, byte by byte.
"""

import hashlib
import struct
import subprocess
import zlib
from pathlib import Path

from mutagen.flac import FLAC
from mutagen.id3 import ID3, TALB, TIT2, TPE1, UFID

FILES = Path(__file__).parent / "files"
DEMO = Path(__file__).parents[2] / "src" / "chart_binder" / "demo" / "audio"

RATE = 16_000
SECONDS = 0.3

LAME = ["-c:a", "libmp3lame", "-write_xing", "1", "-id3v2_version", "0"]

# file name -> what ffmpeg is told beside the tone
ENCODED: dict[str, list[str]] = {
    "bare.mp3": [*LAME, "-b:a", "16k"],
    "bare.flac": ["-c:a", "flac", "-sample_fmt", "s16"],
    "bare.ogg": ["-c:a", "libvorbis", "-b:a", "16k"],
    "bare.opus": ["-c:a", "libopus", "-b:a", "8k"],
    "bare.aac.m4a": ["-c:a", "aac", "-b:a", "16k"], "bare.alac.m4a": ["-c:a", "alac"],
    "bare.wma": ["-c:a", "wmav2", "-b:a", "24k"], "bare.wv": ["-c:a", "wavpack"],
    "bare.fast.m4a": ["-c:a", "aac", "-b:a", "16k", "-movflags", "+faststart"],
    "bare.pieces.m4a": ["-c:a", "aac", "-b:a", "16k", "-movflags", "+frag_keyframe+empty_moov"],
    "bare.aiff": ["-c:a", "pcm_s16be"], "bare.wav": ["-c:a", "pcm_s16le"],
}  # fmt: skip

EXACT = ["-map_metadata", "-1", "-fflags", "+bitexact", "-flags:a", "+bitexact"]


def encode(target: Path, settings: list[str], hertz: int = 440, seconds: float = SECONDS) -> None:
    """Write a tone to `target`, without tags and the same bytes each time."""
    tone = f"sine=frequency={hertz}:sample_rate={RATE}:duration={seconds}"
    command = ["ffmpeg", "-y", "-loglevel", "error", "-f", "lavfi", "-i", tone, *EXACT, *settings]
    subprocess.run([*command, str(target)], check=True)


def monkeys_audio(seconds: float = SECONDS) -> bytes:
    """Return a Monkey's Audio file (version 3.99, mono, 16 bit) that holds silence.

    A frame may say in its flags that it is silent; then no compressed samples follow. Layout:
    https://wiki.multimedia.cx/index.php/Monkey%27s_Audio
    """
    silent_mono, per_frame = 1, 73_728
    samples = int(RATE * seconds)
    pcm = bytes(2 * samples)
    checksum = zlib.crc32(pcm) >> 1 | 0x8000_0000  # the top bit says that flags follow
    frame = struct.pack("<II", checksum, silent_mono) + bytes(4)
    audio_format = struct.pack("<HHIIHH", 1, 1, RATE, 2 * RATE, 2, 16)
    wav_header = b"RIFF" + struct.pack("<I", 36 + len(pcm)) + b"WAVEfmt " + struct.pack("<I", 16)
    wav_header += audio_format + b"data" + struct.pack("<I", len(pcm))
    compression_normal, no_flags, frames = 2_000, 0, 1
    header = struct.pack(
        "<HHIIIHHI", compression_normal, no_flags, per_frame, samples, frames, 16, 1, RATE
    )
    descriptor_size = 52
    first_frame = descriptor_size + len(header) + 4 + len(wav_header)
    seek_table = struct.pack("<I", first_frame)
    digest = hashlib.md5(wav_header + frame + header + seek_table, usedforsecurity=False).digest()
    descriptor = struct.pack(
        "<4sHHIIIIIII", b"MAC ", 3_990, 0, descriptor_size,
        len(header), len(seek_table), len(wav_header), len(frame), 0, 0,
    )  # fmt: skip
    return descriptor + digest + header + seek_table + wav_header + frame


def dsf(seconds: float = SECONDS) -> bytes:
    """Return a DSF file (mono, 2.8 MHz) that holds silence, by the specification of Sony."""
    hertz, per_block = 2_822_400, 4_096
    samples = int(hertz * seconds)
    blocks = -(-samples // (8 * per_block))
    data = b"\x69" * (blocks * per_block)
    fmt = struct.pack("<4sQIIIIIIQII", b"fmt ", 52, 1, 0, 1, 1, hertz, 1, samples, per_block, 0)
    body = fmt + struct.pack("<4sQ", b"data", 12 + len(data)) + data
    return struct.pack("<4sQQQ", b"DSD ", 28, 28 + len(body), 0) + body


def musepack_7(seconds: float = SECONDS) -> bytes:
    """Return a Musepack file of stream version 7, whose frames are noise to a decoder.

    Layout: https://wiki.hydrogenaud.io/index.php?title=Musepack
    """
    per_frame, hertz_32000 = 1_152, 3
    frames = -(-int(32_000 * seconds) // per_frame)
    header = struct.pack("<3sBII", b"MP+", 7, frames, hertz_32000 << 16) + bytes(20)
    return header + hashlib.sha256(b"frames").digest() * 40


def musepack_8(seconds: float = SECONDS) -> bytes:
    """Return a Musepack file of stream version 8, whose audio packet is noise to a decoder.

    Layout: http://trac.musepack.net/musepack/wiki/SV8Specification
    """

    def packet(key: bytes, content: bytes) -> bytes:
        size = len(content) + 3
        if size < 0x80:
            return key + bytes((size,)) + content
        size += 1
        return key + bytes((size >> 7 | 0x80, size & 0x7F)) + content

    samples, hertz_32000, mono = int(32_000 * seconds), 3, 0
    count = bytes((samples >> 7 | 0x80, samples & 0x7F))
    stream = bytes(4) + b"\x08" + count + b"\0" + bytes((hertz_32000 << 5, mono << 4))
    parts = [packet(b"SH", stream), packet(b"RG", b"\1" + bytes(8))]
    parts += [packet(b"AP", hashlib.sha256(b"frames").digest() * 40), packet(b"SE", b"")]
    return b"MPCK" + b"".join(parts)


def can_you_celebrate(target: Path) -> None:
    """Write the demo's FLAC: a tone, tagged as Picard tags a track of a late compilation."""
    encode(target, ["-c:a", "flac", "-sample_fmt", "s16"], hertz=165, seconds=1)
    audio = FLAC(target)
    audio["TITLE"] = "CAN YOU CELEBRATE?"
    audio["ARTIST"] = "安室奈美恵"
    audio["ALBUM"] = "LOVE STORIES"
    audio["MUSICBRAINZ_TRACKID"] = "ea147303-bb21-4bd1-8c48-9957b73066ad"
    audio.save(padding=lambda _: 0)


def bohemian_rhapsody(target: Path) -> None:
    """Write the demo's MP3: a tone, tagged as Picard tags the recording by Queen."""
    encode(target, [*LAME, "-b:a", "32k"], hertz=233, seconds=1)
    recording = UFID(owner="http://musicbrainz.org", data=b"b1a9c0e9-d987-4042-ae91-78d6a3267d69")
    tags = ID3()
    tags.add(TIT2(encoding=3, text=["Bohemian Rhapsody"]))
    tags.add(TPE1(encoding=3, text=["Queen"]))
    tags.add(TALB(encoding=3, text=["A Night at the Opera"]))
    tags.add(recording)
    tags.save(target, v1=0, v2_version=4, padding=lambda _: 0)


def main() -> None:
    """Make them all."""
    FILES.mkdir(exist_ok=True)
    DEMO.mkdir(exist_ok=True)
    for name, settings in ENCODED.items():
        encode(FILES / name, settings)
    (FILES / "bare.ape").write_bytes(monkeys_audio())
    (FILES / "bare.dsf").write_bytes(dsf())
    (FILES / "bare.7.mpc").write_bytes(musepack_7())
    (FILES / "bare.8.mpc").write_bytes(musepack_8())
    can_you_celebrate(DEMO / "01-can-you-celebrate.flac")
    bohemian_rhapsody(DEMO / "02-bohemian-rhapsody.mp3")


if __name__ == "__main__":
    main()
