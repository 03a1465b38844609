"""MPEG audio frames, and how files of other kinds begin: an MP3 file has no header of its own.

Formats: ISO/IEC 11172-3, section 2.4.1.3; ISO/IEC 13818-3, section 2.4.1.3
"""

import re

from chart_binder.audio.file_access import OpenFile

# Eleven bits set; then no reserved version, no reserved layer; no reserved bitrate or sample rate.
_SECOND = bytes(byte for byte in range(0xE0, 0x100) if byte >> 3 & 3 != 1 and byte >> 1 & 3)
_THIRD = bytes(byte for byte in range(0xF0) if ~byte >> 2 & 3)
FRAME = re.compile(b"\xff[" + re.escape(_SECOND) + b"][" + re.escape(_THIRD) + b"]")
"""How the header of a frame begins."""

SEARCHED_BYTES = 1 << 16
"""Frames, or a tag behind leading bytes, begin within so many bytes."""

_HEADER, _FRAMES = 4, 3
_ALIKE = 0xFFFE_0C00  # the bits of a header that all frames share: version, layer, sample rate
_MPEG_1, _LAYER_1, _LAYER_3 = 3, 3, 1  # as a header has them
_SAMPLE_RATES = {
    3: (44_100, 48_000, 32_000),
    2: (22_050, 24_000, 16_000),
    0: (11_025, 12_000, 8_000),
}
# In kbit/s, by whether it is version 1, and by layer.
_OF_VERSION_2 = (8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160)
_BITRATES = {
    (True, 3): tuple(range(32, 449, 32)),
    (True, 2): (32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384),
    (True, 1): (32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320),
    (False, 3): (32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256),
    (False, 2): _OF_VERSION_2,
    (False, 1): _OF_VERSION_2,
}  # fmt: skip

_VBR, _VBR_BYTES = re.compile(b"Xing|Info|VBRI"), 48
"""What the first frame may hold instead of sound, and near its beginning."""

_OTHER_KIND = re.compile(
    rb"\x1a\x45\xdf\xa3|caff|\.snd|\x0b\x77|RIFF|RIFX|FORM|FRM8|FLV|#!AMR|MThd|TTA1|OFR |\.RMF"
    rb"|\x7f\xfe\x80\x01|\x00\x00\x01[\xb3\xba]|\xff[\xf0\xf1\xf8\xf9]"
)


def is_of_other_kind(head: bytes) -> bool:
    """Say whether a file begins as one of a kind that is not written, which may hold MP3.

    They are Matroska, CAF, AU, AC-3, AVI, other files of RIFF and IFF, DSDIFF, FLV, AMR, MIDI, TTA,
    OptimFROG, RealMedia, DTS, MPEG video and AAC.
    """
    return bool(_OTHER_KIND.match(head))


def has_frames(source: OpenFile, start: int, end: int) -> bool:
    """Say whether MPEG frames are found near `start`, in audio that ends at `end`."""
    head = source.read(start, max(0, min(SEARCHED_BYTES, end - start)))
    found = (each.start() for each in FRAME.finditer(head))
    return any(_are_frames(source, start + at, end, is_first=not at) for at in found)


def _are_frames(source: OpenFile, at: int, end: int, *, is_first: bool) -> bool:
    """Say whether three frames of one kind stand here; at the beginning, fewer up to the end.

    There a frame whose header does not say how long it is counts, too; anywhere, one that describes
    the others.
    """
    first = int.from_bytes(source.read(at, min(_HEADER, end - at)), "big")
    for _ in range(_FRAMES):
        content = source.read(at, min(_HEADER, end - at))
        header = int.from_bytes(content, "big")
        if not FRAME.match(content) or len(content) < _HEADER or (header ^ first) & _ALIKE:
            return False
        size = _frame_size(header)
        if _VBR.search(source.read(at, max(0, min(size, _VBR_BYTES, end - at)))):
            return True
        at += size
        if not size or at >= end:
            return is_first
    return True


def _frame_size(header: int) -> int:
    """Return how long a frame is, 0 if its header does not say it."""
    version, layer = header >> 19 & 3, header >> 17 & 3
    number = header >> 12 & 15
    if not number:
        return 0
    is_1 = version == _MPEG_1
    bits = _BITRATES[is_1, layer][number - 1] * 1000
    rate, padding = _SAMPLE_RATES[version][header >> 10 & 3], header >> 9 & 1
    if layer == _LAYER_1:
        return (12 * bits // rate + padding) * 4
    return (144 if is_1 or layer != _LAYER_3 else 72) * bits // rate + padding
