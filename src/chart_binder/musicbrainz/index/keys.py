"""Hashes by which an index finds names and titles, the same when it is built and when it is read.

Equal hashes are a hint only: the reader compares the texts.
"""

from hashlib import blake2b
from zlib import crc32

from chart_binder.domain.titles_and_credits import JOIN_WORDS, part_of, without_noise
from chart_binder.musicbrainz.matching import MIN_LENGTH_COMPARED, bare_title, words_of
from chart_binder.musicbrainz.performances import bare_song

_MAX_HASHED = 400
"""Characters of a text that are read; the time grows with its length."""
_LONG_NAME = 14
_SPELLINGS = {"n": "and"}


def title_hash(title: str) -> int:
    """Return a hash of the words of a title, without remarks and the number of a part.

    It is a signed 32-bit integer: titles are compared within one artist.
    """
    _, song = part_of(without_noise(title[:_MAX_HASHED]))
    words = words_of(bare_title(bare_song(song)))
    number = crc32(
        "".join([_SPELLINGS.get(word, word) for word in words]).encode("utf-8", "replace")
    )
    return number - 2**32 if number >= 2**31 else number


def name_hashes(name: str) -> frozenset[int]:
    """Return all hashes by which an index finds a name, as signed 64-bit integers."""
    letters = "".join(_words_of_name(name))
    ends = _ends(letters, _end_length(len(letters)))
    return whole_name_hashes(name) | frozenset(map(_hash, ends))


def whole_name_hashes(name: str) -> frozenset[int]:
    """Return hashes of a name's words, as written and sorted: `Utada, Hikaru`, `AC/DC`, `ACDC`."""
    words = _words_of_name(name)
    return frozenset(map(_hash, {"".join(words), "".join(sorted(words))}))


def name_end_hashes(name: str) -> frozenset[int]:
    """Return hashes of a name's beginning and end, one of which a misspelt name has, too."""
    letters = "".join(_words_of_name(name))
    lengths = {_end_length(len(letters) + more) for more in (-1, 0, 1)}
    return frozenset(_hash(end) for length in lengths for end in _ends(letters, length))


def _words_of_name(name: str) -> tuple[str, ...]:
    """Return the words of a name without those that join names, unless there is no other."""
    words = words_of(name[:_MAX_HASHED])
    return tuple(word for word in words if word not in JOIN_WORDS) or words


def _end_length(letters: int) -> int:
    """Return how many letters the ends of a name have; 0 if it is too short to be compared."""
    return 0 if letters < MIN_LENGTH_COMPARED else 4 if letters < _LONG_NAME else 7


def _ends(letters: str, length: int) -> tuple[str, ...]:
    return (f"^{letters[:length]}", f"{letters[-length:]}$") if length else ()


def _hash(text: str) -> int:
    return int.from_bytes(
        blake2b(text.encode("utf-8", "replace"), digest_size=8).digest(), signed=True
    )
