"""Hashes by which an index finds names and titles, the same when it is built and when it is read.

Equal hashes are a hint only: the reader compares the texts.
"""

from hashlib import blake2b
from zlib import crc32

from chart_binder.domain.song_titles import part_of, without_noise
from chart_binder.musicbrainz.matching import bare_title, words_of

_MAX_HASHED = 400
"""Characters of a text that are read; the time grows with its length."""
_SPELLINGS = {"n": "and"}


def title_hash(title: str) -> int:
    """Return a hash of the words of a title, without remarks and the number of a part.

    It is a signed 32-bit integer: titles are compared within one artist.
    """
    _, song = part_of(without_noise(title[:_MAX_HASHED]))
    words = words_of(bare_title(song))
    number = crc32(
        "".join([_SPELLINGS.get(word, word) for word in words]).encode("utf-8", "replace")
    )
    return number - 2**32 if number >= 2**31 else number


def name_hashes(name: str) -> frozenset[int]:
    """Return hashes of a name's words, as written and sorted: `Utada, Hikaru`, `AC/DC`, `ACDC`.

    They are signed 64-bit integers. The word `the` counts only if there is no other.
    """
    words = words_of(name[:_MAX_HASHED])
    words = tuple(word for word in words if word != "the") or words
    return frozenset(map(_hash, {"".join(words), "".join(sorted(words))}))


def _hash(text: str) -> int:
    return int.from_bytes(
        blake2b(text.encode("utf-8", "replace"), digest_size=8).digest(), signed=True
    )
