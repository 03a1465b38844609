"""An audio file is known by how it begins."""

from collections.abc import Callable
from functools import partial

from chart_binder.audio.containers import ape, asf, dsf, flac, iff, mp4, ogg
from chart_binder.audio.containers.layout import Layout
from chart_binder.audio.containers.mp3 import MP3
from chart_binder.audio.files import shown
from chart_binder.audio.forms.id3 import find_id3
from chart_binder.audio.pieces import Source
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
    if leading or _has_mpeg_frame(source):
        return MP3.of(source)
    raise AudioError(
        f"{shown(source.path)} is of no kind whose tags are written: those are MP3, FLAC, Ogg,"
        " MP4, WMA, APE, WavPack, Musepack, AIFF, WAV and DSF"
    )


def _has_mpeg_frame(source: Source) -> bool:
    """Say whether an MPEG frame header of layer I to III stands near the beginning."""
    head = source.at(0, min(_SEARCHED, source.size))
    at = head.find(b"\xff")
    while 0 <= at < len(head) - 3:
        second, third = head[at + 1], head[at + 2]
        if (
            second & 0xE0 == 0xE0
            and second & 0x18 != 0x08  # version
            and second & 0x06 != 0  # layer
            and third & 0xF0 != 0xF0  # bitrate
            and third & 0x0C != 0x0C  # sample rate
        ):
            return True
        at = head.find(b"\xff", at + 1)
    return False
