"""Which of several recordings of one song a title means, by what remarks say of each."""

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from chart_binder.domain.remarks import Remarks, of_one_set
from chart_binder.domain.title_words import VERSIONS

Meant: TypeAlias = tuple[list[int], bool]
"""The places of the recordings that may be meant, and whether it is open which of them is."""
_DEFAULT = frozenset({"album"})
"""What a title may call the plain recording."""
_IN_CREDITS = frozenset({"duet", "solo"})
_SESSIONS = frozenset({"bbc", "peel", "session"})


def find_meant(wanted: Remarks, described: Sequence[Remarks]) -> Meant:
    """Return which recordings a title may mean by its remarks and theirs.

    Those whose title or comment has the remark, never the plain one beside them. Where none has it,
    those that may be it by another word; where there are none either, it is open, unless all are
    plain. A title without a remark means no version that another title names.
    """
    if not wanted.named:
        return _plain(list(enumerate(described)))
    for words in _readings(wanted.words):
        if having := [n for n, one in enumerate(described) if words <= one.words]:
            of_kind = [n for n in having if _is_kind(described[n], wanted)]
            return of_kind or having, False
    possible = [(n, one) for n, one in enumerate(described) if not _excludes(wanted, one)]
    if perhaps := [n for n, one in possible if one.words & (wanted.telling or wanted.words)]:
        return perhaps, False
    if not wanted.telling:
        return _plain(possible or list(enumerate(described)))
    return list(range(len(described))), any(one.telling for one in described)


def is_said_of_none(wanted: Remarks, described: Sequence[Remarks]) -> bool:
    """Whether a title names a performance that none of the recordings is said to be.

    Who sings with whom is no such remark, because MusicBrainz has that in the credit.
    """
    named = wanted.named & wanted.telling & VERSIONS.keys() - _IN_CREDITS
    return bool(named) and not any(named & one.words for one in described)


def is_cut(one: Remarks) -> bool:
    """Whether it is an edit, or called another cut or mix by its title: `(single version)`."""
    is_named = bool(one.named) and not one.named & one.telling
    return one.kind == "radio edit" or (is_named and not one.kind)


def _plain(numbered: Sequence[tuple[int, Remarks]]) -> Meant:
    """Return the recordings that a title without a remark may mean.

    A mix or cut that another title names may be meant where something is said of all of them.
    """
    plain = [(n, one) for n, one in numbered if not one.kind]
    unnamed = [n for n, one in plain if not one.named - _DEFAULT]
    if unnamed and any(map(_is_silent, (one for _, one in plain))):
        return unnamed, False
    cuts = [n for n, one in plain if one.named - _DEFAULT and is_cut(one)]
    if unnamed or cuts:
        return unnamed + cuts, False
    return [n for n, _ in numbered], bool(plain)


def _is_silent(one: Remarks) -> bool:
    """Whether nothing is said of which version a plain recording is."""
    return not one.telling and not (one.words & VERSIONS.keys()) - _DEFAULT


def _excludes(one: Remarks, other: Remarks) -> bool:
    """Whether both cannot be true: two languages, two takes, mono and stereo."""
    sets, others = of_one_set(one.words), of_one_set(other.words)
    return any(sets[name].isdisjoint(others[name]) for name in sets.keys() & others.keys())


def _readings(words: frozenset[str]) -> Iterator[frozenset[str]]:
    """Yield the words of a remark; what is called a single version may be called an edit."""
    yield words
    for name, other in (("single", "edit"), ("edit", "single")):
        if name in words:
            yield words - {name} | {other}


def _is_kind(one: Remarks, wanted: Remarks) -> bool:
    """Whether the kinds are the same; a session for the radio may be called live or not."""
    kinds = [one.kind, wanted.kind]
    if not wanted.words.isdisjoint(_SESSIONS):
        kinds = [kind.removeprefix("live").strip() for kind in kinds]
    return kinds[0] == kinds[1]
