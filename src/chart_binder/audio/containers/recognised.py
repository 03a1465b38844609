"""An audio file is known by how it begins."""

import re
from collections.abc import Callable
from functools import partial

from chart_binder.audio.containers import ape, asf, dsf, flac, iff, mp4, ogg
from chart_binder.audio.containers.layout import Layout
from chart_binder.audio.containers.mp3 import MP3
from chart_binder.audio.files import shown
from chart_binder.audio.forms.id3 import find_id3
from chart_binder.audio.pieces import Source
from chart_binder.audio.unread_waves import unread_wave
from chart_binder.errors import AudioError

_Opener = Callable[[Source], Layout]

_LOOKED_AT = 16
_SEARCHED = 1 << 16

_MAGICS: tuple[tuple[bytes, _Opener], ...] = (
    (flac.MAGIC, flac.FLAC.of),
    (ogg.MAGIC, ogg.Ogg.of),
    (asf.MAGIC, asf.ASF.of),
    (dsf.MAGIC, dsf.DSF.of),
    *((magic, partial(ape.APE.of, container=name)) for magic, name in ape.MAGICS.items()),
)

# Eleven bits set; then no reserved version, no reserved layer; no reserved bitrate or sample rate.
_SECOND = bytes(byte for byte in range(0xE0, 0x100) if byte >> 3 & 3 != 1 and byte >> 1 & 3)
_THIRD = bytes(byte for byte in range(0xF0) if ~byte >> 2 & 3)
_MPEG_FRAME = re.compile(b"\xff[" + re.escape(_SECOND) + b"][" + re.escape(_THIRD) + b"]")

_FORMS: dict[tuple[bytes, bytes], iff.Kind] = {
    (b"FORM", b"AIFF"): iff.AIFF,
    (b"FORM", b"AIFC"): iff.AIFF,
    (b"RIFF", b"WAVE"): iff.WAV,
}


def layout_of(source: Source) -> Layout:
    """Take an audio file apart; raise `AudioError` if it is damaged or of no kind known here."""
    leading = find_id3(source, 0)
    start = leading.size if leading else 0
    head = source.at(start, min(_LOOKED_AT, source.size - start)) if start <= source.size else b""
    for magic, opener in _MAGICS:
        if head.startswith(magic):
            return opener(source)
    kind = _FORMS.get((head[:4], head[8:12]))
    if kind and not leading:
        return iff.IFF.of(source, kind)
    if head[4:8] in mp4.KINDS and not leading:
        return mp4.MP4.of(source)
    if unread := unread_wave(head):
        raise AudioError(f"{shown(source.path)} {unread}")
    if leading or _has_mpeg_frame(source):
        return MP3.of(source)
    raise AudioError(
        f"{shown(source.path)} is of no kind whose tags are written: those are MP3, FLAC, Ogg,"
        " MP4, WMA, APE, WavPack, Musepack, AIFF, WAV and DSF"
    )


def _has_mpeg_frame(source: Source) -> bool:
    """Say whether an MPEG frame header of layer I to III stands near the beginning."""
    head = source.at(0, min(_SEARCHED, source.size))
    return _MPEG_FRAME.search(head) is not None
