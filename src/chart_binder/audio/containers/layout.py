"""What every kind of audio file can say of itself."""

from collections.abc import Iterable, Iterator
from typing import Protocol

from chart_binder.audio.pieces import Piece
from chart_binder.audio.tagset import Block, TagSet


class Layout(Protocol):
    """An audio file taken apart into its tags and the rest."""

    @property
    def tags(self) -> TagSet:
        """All tags."""

    def audio(self) -> Iterator[Piece]:
        """Yield what the listener hears, with what is needed to decode it.

        It is the same whatever stands in the tags, wherever they stand, whatever room is left for
        them; a changed byte of the audio, or a table that points elsewhere in it, changes it.
        Raises `AudioError` for a file too damaged to be understood.
        """

    def with_blocks(self, blocks: Iterable[Block]) -> Iterable[Piece]:
        """Return the whole file with these tags instead.

        Everything else keeps its bytes, apart from lengths and places that have to follow. Raises
        `AudioError` for what cannot be written.
        """
