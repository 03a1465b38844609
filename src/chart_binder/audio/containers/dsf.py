"""A DSF file: an ID3v2 tag at the end, with a pointer to it at the beginning.

Format: DSF File Format Specification, version 1.01, Sony
"""

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from chart_binder.audio.forms.id3 import FoundTag, find_id3, written_id3
from chart_binder.audio.pieces import Piece, Source, Stretch
from chart_binder.audio.tagset import Block, TagSet

MAGIC = b"DSD "
_HEADER = 28


@dataclass(frozen=True, slots=True)
class DSF:
    """The audio up to `end`, then the tag."""

    source: Source
    end: int
    tag: FoundTag | None

    @classmethod
    def of(cls, source: Source) -> "DSF":
        """Take a DSF file apart."""
        # What it says of the file's length is not looked at: mutagen leaves it wrong at times.
        size, _, pointer = struct.unpack("<QQQ", source.at(4, 24))
        if size != _HEADER:
            raise source.damaged("its header is of another length than it should be")
        tag = find_id3(source, pointer) if pointer else None
        if pointer and (tag is None or pointer + tag.size > source.size):
            raise source.damaged("there is no tag where its header points")
        return cls(source, pointer or source.size, tag)

    @property
    def tags(self) -> TagSet:
        """The tag, if there is one."""
        return TagSet("dsf", (self.tag.block,) if self.tag else ())

    def audio(self) -> Iterator[Piece]:
        """Yield everything between the header and the tag."""
        yield Stretch(_HEADER, self.end - _HEADER)

    def with_blocks(self, blocks: Iterable[Block]) -> Iterable[Piece]:
        """Return the file with another tag, or without one."""
        block = next(iter(blocks), None)
        # Whatever stands behind the tag inside the file is room of that tag.
        room = self.source.size - self.end
        tag = written_id3(block, room) if block else b""
        pointer = self.end if tag else 0
        header = MAGIC + struct.pack("<QQQ", _HEADER, self.end + len(tag), pointer)
        return [header, Stretch(_HEADER, self.end - _HEADER), tag]
