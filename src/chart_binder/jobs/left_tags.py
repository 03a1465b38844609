"""What tags said when they were written is kept by the key, to show later what changed since."""

import hashlib
import zlib
from collections.abc import Iterator

import msgspec

from chart_binder.audio.alike import alike
from chart_binder.audio.changes import Placed, TagChanges
from chart_binder.audio.tagset import Block, TagSet
from chart_binder.domain.kept import KeptWrite
from chart_binder.errors import AudioError
from chart_binder.jobs.raw_changes import raw_changes
from chart_binder.jobs.tag_changes import FieldChange, Texts, placed_texts
from chart_binder.typed import decoded

_MOST_TEXT = 2_000
_DIGITS = 8
_SAME_WORDS = "(the same words, written otherwise)"


class KeyLeft(msgspec.Struct, frozen=True, array_like=True):
    """What one key says, with the begin of the SHA-256 of its records."""

    form: str
    key: str
    texts: Texts
    mark: str


def left_by(tags: TagSet) -> bytes:
    """Return what every key says, as it is kept with a write; long values by their hash."""
    return zlib.compress(msgspec.json.encode(tuple(_keys(tags))))


def changed_since(write: KeptWrite, changes: TagChanges, now: TagSet) -> tuple[FieldChange, ...]:
    """Return every key that says something else than when the write was done.

    Of a write from before that was kept, only keys that it changed itself can be told, maybe none.
    Raises `AudioError` for a journal that cannot be read.
    """
    if not write.tags_left:
        return raw_changes(changes, now)
    then = {(one.form, one.key): one for one in _read(write.tags_left)}
    here = {(one.form, one.key): one for one in _keys(now)}
    pairs = ((then.get(name), here.get(name)) for name in dict.fromkeys((*then, *here)))
    return tuple(_change(old, new) for old, new in pairs if old != new)


def _keys(tags: TagSet) -> Iterator[KeyLeft]:
    for block in alike(tags).blocks:
        if block.head:
            yield KeyLeft(block.form, f"head of {block.form}", (_short(block.head),), "")
        for key in dict.fromkeys(item.key for item in block.items):
            yield _key(block, key)


def _key(block: Block, key: str) -> KeyLeft:
    items = [item for item in block.items if item.key == key]
    texts = placed_texts(block.form, tuple(Placed(0, item) for item in items))
    if sum(map(len, texts)) > _MOST_TEXT:
        texts = (_short("\0".join(texts).encode(errors="surrogateescape")),)
    mark = hashlib.sha256(msgspec.json.encode(items)).hexdigest()[:_DIGITS]
    return KeyLeft(block.form, key or f"odd bytes in {block.form}", texts, mark)


def _short(data: bytes) -> str:
    return f"({len(data)} bytes, {hashlib.sha256(data).hexdigest()[:_DIGITS]})"


def _change(old: KeyLeft | None, new: KeyLeft | None) -> FieldChange:
    was, says = old.texts if old else (), new.texts if new else ()
    if was == says:
        says = (*says, _SAME_WORDS)
    found = old or new
    return FieldChange(found.key if found else "", was, says)


def _read(kept: bytes) -> tuple[KeyLeft, ...]:
    try:
        return decoded(zlib.decompress(kept), tuple[KeyLeft, ...])
    except (zlib.error, msgspec.MsgspecError) as error:
        raise AudioError(f"the journal does not say what the tags were: {error}") from error
