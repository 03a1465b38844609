"""An MP3 file: ID3v2 before the audio; ID3v1, APE tag or Lyrics3 behind it stay as they are."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from chart_binder.audio.containers.tails import Tail, tail_of
from chart_binder.audio.forms.id3 import FoundTag, find_id3, written_id3
from chart_binder.audio.pieces import Piece, Source, Stretch
from chart_binder.audio.tagset import Block, TagSet
from chart_binder.errors import AudioError


@dataclass(frozen=True, slots=True)
class MP3:
    """The tags at both ends, the audio between."""

    source: Source
    leading: FoundTag | None
    tail: Tail

    @classmethod
    def of(cls, source: Source) -> "MP3":
        """Take an MP3 file apart."""
        leading = find_id3(source, 0)
        return cls(source, leading, tail_of(source, leading.size if leading else 0))

    @property
    def tags(self) -> TagSet:
        """All tags."""
        return TagSet("mp3", (*([self.leading.block] if self.leading else ()), *self.tail.blocks))

    def audio(self) -> Iterator[Piece]:
        """Yield what stands between the tags."""
        yield self._sound

    def with_blocks(self, blocks: Iterable[Block]) -> Iterable[Piece]:
        """Return the file with another ID3v2 tag, or without one."""
        wanted = list(blocks)
        leading = next((block for block in wanted if block.form.startswith("id3v2")), None)
        behind = tuple(block for block in wanted if block is not leading)
        if behind != self.tail.blocks:
            raise AudioError("of an MP3 file only the ID3v2 tag is written, not what stands behind")
        room = self.leading.size if self.leading else 0
        head = written_id3(leading, room) if leading else b""
        end = Stretch(self.tail.start, self.source.size - self.tail.start)
        return [head, self._sound, end]

    @property
    def _sound(self) -> Stretch:
        start = self.leading.size if self.leading else 0
        return Stretch(start, self.tail.start - start)
