"""A hash over the audio of a file, which no change of its tags touches."""

import hashlib
from itertools import zip_longest
from pathlib import Path

from chart_binder.audio.containers.recognised import layout_of
from chart_binder.audio.opened import opened
from chart_binder.audio.pieces import Source
from chart_binder.audio.tagset import TagSet


def audio_hash(path: Path) -> str:
    """Return the SHA-256 over the audio packets of a file, with what is needed to decode them.

    A megabyte is in memory at a time. Raises `AudioError` if the file cannot be read, is damaged or
    of no kind that is written.
    """
    with opened(path) as descriptor:
        return hash_of(Source.of(path, descriptor))


def read_tag_set(path: Path) -> TagSet:
    """Return all that stands in the tags of a file, as bytes.

    Raises `AudioError` like `audio_hash`.
    """
    with opened(path) as descriptor:
        return layout_of(Source.of(path, descriptor)).tags


def hash_of(source: Source) -> str:
    """Return `audio_hash` of an open file."""
    digest = hashlib.sha256()
    for chunk in source.chunks(layout_of(source).audio()):
        digest.update(chunk)
    return digest.hexdigest()


def hash_if_same(source: Source, copy: Source) -> str | None:
    """Return `audio_hash` of two open files, or nothing if their audio is not the same.

    One is hashed, the other compared with it byte by byte, which takes a fraction of hashing it.
    """
    digest = hashlib.sha256()
    ours, theirs = (each.chunks(layout_of(each).audio()) for each in (source, copy))
    for one, other in zip_longest(ours, theirs):
        if one != other:
            return None
        digest.update(other)
    return digest.hexdigest()
