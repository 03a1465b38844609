"""Detecting MPEG audio frames, since an MP3 file has no file header, and ruling out other formats.

Formats: ISO/IEC 11172-3, section 2.4.1.3; ISO/IEC 13818-3, section 2.4.1.3
"""

import re

from chart_binder.audio.open_file import OpenFile

# Eleven bits are set; version, layer, bit rate and sample rate do not have reserved values.
_SECOND = bytes(byte for byte in range(0xE0, 0x100) if byte >> 3 & 3 != 1 and byte >> 1 & 3)
_THIRD = bytes(byte for byte in range(0xF0) if ~byte >> 2 & 3)
FRAME = re.compile(b"\xff[" + re.escape(_SECOND) + b"][" + re.escape(_THIRD) + b"]")
"""The first three bytes of a frame header."""

SEARCHED_BYTES = 1 << 16
"""How many bytes are searched for the first frame, or for a tag behind junk."""

_HEADER, _FRAMES = 4, 3
_SHARED_BITS = 0xFFFE_0C00  # equal in all frames of a file: version, layer, sample rate
_MPEG_1, _LAYER_1, _LAYER_3 = 3, 3, 1  # the values in a header
_SAMPLE_RATES = {
    3: (44_100, 48_000, 32_000),
    2: (22_050, 24_000, 16_000),
    0: (11_025, 12_000, 8_000),
}
# In kbit/s, by whether the version is 1, and by layer.
_VERSION_2_RATES = (8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160)
_BITRATES = {
    (True, 3): tuple(range(32, 449, 32)),
    (True, 2): (32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384),
    (True, 1): (32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320),
    (False, 3): (32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256),
    (False, 2): _VERSION_2_RATES,
    (False, 1): _VERSION_2_RATES,
}  # fmt: skip

_VBR, _VBR_BYTES = re.compile(b"Xing|Info|VBRI"), 48
"""The mark of a first frame without sound, and the bytes in which it is searched for."""

_OTHER_FORMAT = re.compile(
    rb"\x1a\x45\xdf\xa3|caff|\.snd|\x0b\x77|RIFF|RIFX|FORM|FRM8|FLV|#!AMR|MThd|TTA1|OFR |\.RMF"
    rb"|\x7f\xfe\x80\x01|\x00\x00\x01[\xb3\xba]|\xff[\xf0\xf1\xf8\xf9]"
)


def is_other_format(head: bytes) -> bool:
    """Tell whether a file begins like another format, which may contain MPEG frames.

    These are Matroska, CAF, AU, AC-3, AVI and other RIFF and IFF files, DSDIFF, FLV, AMR, MIDI,
    TTA, OptimFROG, RealMedia, DTS, MPEG video and AAC.
    """
    return bool(_OTHER_FORMAT.match(head))


def has_frames(source: OpenFile, start: int, end: int) -> bool:
    """Tell whether MPEG frames begin near `start`, in audio that ends at `end`."""
    head = source.read(start, max(0, min(SEARCHED_BYTES, end - start)))
    return any(
        _are_frames(source, start + match.start(), end, is_first=not match.start())
        for match in FRAME.finditer(head)
    )


def _are_frames(source: OpenFile, at: int, end: int, *, is_first: bool) -> bool:
    """Tell whether three matching frames begin at offset `at`.

    The first position may also have fewer frames up to `end`, or a frame of unspecified length.
    A frame with a Xing, Info or VBRI header suffices anywhere.
    """
    first = int.from_bytes(source.read(at, min(_HEADER, end - at)), "big")
    for _ in range(_FRAMES):
        content = source.read(at, min(_HEADER, end - at))
        header = int.from_bytes(content, "big")
        if not FRAME.match(content) or len(content) < _HEADER or (header ^ first) & _SHARED_BITS:
            return False
        size = _frame_size(header)
        if _VBR.search(source.read(at, max(0, min(size, _VBR_BYTES, end - at)))):
            return True
        at += size
        if not size or at >= end:
            return is_first
    return True


def _frame_size(header: int) -> int:
    """Return the size of a frame in bytes, 0 if its header states no bit rate."""
    version, layer = header >> 19 & 3, header >> 17 & 3
    index = header >> 12 & 15
    if not index:
        return 0
    is_version_1 = version == _MPEG_1
    bitrate = _BITRATES[is_version_1, layer][index - 1] * 1000
    sample_rate, padding = _SAMPLE_RATES[version][header >> 10 & 3], header >> 9 & 1
    if layer == _LAYER_1:
        return (12 * bitrate // sample_rate + padding) * 4
    factor = 144 if is_version_1 or layer != _LAYER_3 else 72
    return factor * bitrate // sample_rate + padding
