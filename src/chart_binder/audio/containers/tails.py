"""The tags that may stand behind the audio, at the very end of a file."""

from dataclasses import dataclass

from chart_binder.audio.forms.apev2 import find_ape
from chart_binder.audio.pieces import Source
from chart_binder.audio.tagset import Block, Item

_ID3V1_BYTES = 128
_LYRICS_END = b"LYRICS200"  # https://id3.org/Lyrics3v2
_LYRICS_DIGITS = 6


@dataclass(frozen=True, slots=True)
class Tail:
    """Where the audio ends, and the tags behind it, in the order of the file."""

    start: int
    blocks: tuple[Block, ...]


def tail_of(source: Source, first: int) -> Tail:
    """Return the tags behind the audio, which begins no earlier than `first`."""
    end, blocks = source.size, list[Block]()
    while True:
        forms = {block.form for block in blocks}
        for form, find in _FINDERS:
            found = None if form in forms else find(source, end)
            if found and found.start >= first:
                end = found.start
                blocks[:0] = found.blocks
                break
        else:
            return Tail(end, tuple(blocks))


def _id3v1(source: Source, end: int) -> Tail | None:
    start = end - _ID3V1_BYTES
    if end != source.size or not source.has(start, b"TAG"):
        return None
    item = Item("ID3v1", source.at(start, _ID3V1_BYTES))
    return Tail(start, (Block("id3v1", (item,)),))


def _lyrics(source: Source, end: int) -> Tail | None:
    if not source.has(end - len(_LYRICS_END), _LYRICS_END):
        return None
    behind = len(_LYRICS_END) + _LYRICS_DIGITS
    digits = source.at(end - behind, _LYRICS_DIGITS) if end >= behind else b""
    start = end - behind - int(digits) if digits.isdigit() else -1
    if not source.has(start, b"LYRICSBEGIN"):
        return None
    item = Item("LYRICS200", source.at(start, end - start))
    return Tail(start, (Block("lyrics3", (item,)),))


def _ape(source: Source, end: int) -> Tail | None:
    found = find_ape(source, end)
    return Tail(found.start, (found.block,)) if found else None


_FINDERS = (("id3v1", _id3v1), ("lyrics3", _lyrics), ("apev2", _ape))
