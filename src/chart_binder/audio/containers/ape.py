"""Monkey's Audio, WavPack and Musepack: an APE tag behind the audio."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from chart_binder.audio.containers.tails import Tail, tail_of
from chart_binder.audio.forms.apev2 import written_ape
from chart_binder.audio.forms.id3 import find_id3
from chart_binder.audio.pieces import Piece, Source, Stretch
from chart_binder.audio.tagset import Block, TagSet
from chart_binder.errors import AudioError

MAGICS = {b"MAC ": "ape", b"wvpk": "wv", b"MP+": "mpc", b"MPCK": "mpc"}
"""How such files begin, Musepack of stream version 7 and 8 among them."""


@dataclass(frozen=True, slots=True)
class APE:
    """The audio with the tags behind it; an ID3v2 tag before it is left alone."""

    source: Source
    container: str
    start: int
    tail: Tail

    @classmethod
    def of(cls, source: Source, container: str) -> "APE":
        """Take such a file apart."""
        leading = find_id3(source, 0)
        start = leading.size if leading else 0
        return cls(source, container, start, tail_of(source, start))

    @property
    def tags(self) -> TagSet:
        """All tags."""
        return TagSet(self.container, self.tail.blocks)

    def audio(self) -> Iterator[Piece]:
        """Yield what stands before the tags."""
        yield Stretch(self.start, self.tail.start - self.start)

    def with_blocks(self, blocks: Iterable[Block]) -> Iterable[Piece]:
        """Return the file with another APE tag, or without one."""
        wanted = list(blocks)
        others = tuple(block for block in wanted if block.form != "apev2")
        if others != tuple(block for block in self.tail.blocks if block.form != "apev2"):
            raise AudioError("of this kind of file only the APE tag is written")
        pieces: list[Piece] = [Stretch(0, self.tail.start)]
        for block in sorted(wanted, key=lambda block: block.form == "id3v1"):
            is_ape = block.form == "apev2"
            pieces.append(written_ape(block) if is_ape else block.items[0].data)
        return pieces
