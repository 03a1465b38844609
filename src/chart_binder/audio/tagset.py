"""All that stands in the tags of one audio file, as the very bytes it stands there in.

Nothing is translated: a frame, comment, atom, item or attribute that nobody here knows is kept,
compared, put back by its bytes. What values *say* is read in `chart_binder.audio.forms`.
"""

import hashlib

import msgspec

from chart_binder.errors import AudioError
from chart_binder.typed import decoded

NEVER_EMPTY = frozenset({"mp4", "asf"})
"""Forms of which it cannot be seen whether they are there, if they hold nothing."""


class Item(msgspec.Struct, frozen=True):
    """One record of a tag.

    `data` is enough to write the record again; `key` is its name, for finding it; `place` says in
    which part of the tag it stands, where there are several. Bytes that are no record have no key.
    """

    key: str
    data: bytes
    place: str = ""


class Block(msgspec.Struct, frozen=True):
    """One tag; a file may have several, such as ID3v2 before the audio with ID3v1 behind it.

    `form` is unique within a file: `id3v2.2`, `id3v2.3`, `id3v2.4`, `id3v1`, `lyrics3`, `apev2`,
    `vorbis`, `flac-picture`, `mp4`, `asf`. `head` is what a form says before its items (the vendor
    of Vorbis comments, the version of an APE tag). Items are in the order of the file.
    """

    form: str
    items: tuple[Item, ...] = ()
    head: bytes = b""


class TagSet(msgspec.Struct, frozen=True):
    """The tags of one file; two files with the same tag set are tagged identically, byte for byte.

    Room for later (padding) is no part of it, nor is where in the file a tag stands.
    """

    container: str
    blocks: tuple[Block, ...] = ()
    version: int = 1

    @property
    def json(self) -> bytes:
        """The canonical JSON: `TagSet.from_json` reads it back without loss."""
        return _ENCODER.encode(self)

    @property
    def hash(self) -> str:
        """SHA-256 over the canonical JSON."""
        return hashlib.sha256(self.json).hexdigest()

    @classmethod
    def from_json(cls, document: bytes) -> "TagSet":
        """Return what `json` was made of; raise `AudioError` for anything else."""
        try:
            return decoded(document, cls)
        except msgspec.MsgspecError as error:
            raise AudioError(f"this is no recorded tag set: {error}") from error

    def block(self, form: str) -> Block | None:
        """Return the block of this form; `id3v2` finds any version of it."""
        return next((block for block in self.blocks if block.form.split(".")[0] == form
                     or block.form == form), None)  # fmt: skip

    def with_block(self, block: Block) -> "TagSet":
        """Return the set with this block instead of that of its form, or before all others.

        A form that is not there where it has no items is left out then.
        """
        if not block.items and block.form in NEVER_EMPTY:
            blocks = tuple(old for old in self.blocks if old.form != block.form)
        elif any(old.form == block.form for old in self.blocks):
            blocks = tuple(block if old.form == block.form else old for old in self.blocks)
        else:
            blocks = (block, *self.blocks)
        return msgspec.structs.replace(self, blocks=blocks)


_ENCODER = msgspec.json.Encoder(order="sorted")
