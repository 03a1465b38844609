"""Select the recordings of a song that a title may mean, by their remarks."""

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from chart_binder.domain.remarks import Remarks, words_by_set
from chart_binder.domain.title_words import VERSIONS

Meant: TypeAlias = tuple[list[int], bool]
"""The places of the recordings that may be meant, and whether the choice between them is open."""
_DEFAULT = frozenset({"album"})
"""What a title may call the plain recording."""
_IN_CREDITS = frozenset({"duet", "solo"})
_SESSIONS = frozenset({"bbc", "peel", "session"})


def find_meant(title: Remarks, described: Sequence[Remarks]) -> Meant:
    """Return the recordings that a title may mean, by its remarks and theirs.

    They are those whose title or comment has all words of the remark, never a plain one beside
    them. If there are none, they are those that share a word with the remark and do not contradict
    it. If there are none either, a title that names only a mix or cut is read as a plain one; for
    any other title every recording may be meant, and the choice is open unless all are plain. A
    title without a remark does not mean a version that another title names.
    """
    if not title.versions:
        return _plain(list(enumerate(described)))
    for words in _readings(title.words):
        if exact := [n for n, remarks in enumerate(described) if words <= remarks.words]:
            of_kind = [n for n in exact if _is_kind(described[n], title)]
            return of_kind or exact, False
    possible = [
        (n, remarks) for n, remarks in enumerate(described) if not _excludes(title, remarks)
    ]
    shared = title.telling or title.words
    if similar := [n for n, remarks in possible if remarks.words & shared]:
        return similar, False
    if not title.telling:
        return _plain(possible or list(enumerate(described)))
    return list(range(len(described))), any(remarks.telling for remarks in described)


def names_other_performance(title: Remarks, described: Sequence[Remarks]) -> bool:
    """Return whether a title names a performance that no recording's remarks name.

    Guests and partners do not count, because MusicBrainz names them in the credit.
    """
    performances = title.versions & title.telling & VERSIONS.keys() - _IN_CREDITS
    return bool(performances) and not any(performances & remarks.words for remarks in described)


def is_cut(remarks: Remarks) -> bool:
    """Return whether a recording is an edit, or its title names a cut or mix."""
    is_named = bool(remarks.versions) and not remarks.versions & remarks.telling
    return remarks.kind == "radio edit" or (is_named and not remarks.kind)


def _plain(numbered: Sequence[tuple[int, Remarks]]) -> Meant:
    """Return the recordings that a title without a remark may mean.

    If every recording has a remark, a mix or cut that a title names may be meant too.
    """
    plain = [(n, remarks) for n, remarks in numbered if not remarks.kind]
    unnamed = [n for n, remarks in plain if not remarks.versions - _DEFAULT]
    if unnamed and any(_has_no_remark(remarks) for _, remarks in plain):
        return unnamed, False
    cuts = [n for n, remarks in plain if remarks.versions - _DEFAULT and is_cut(remarks)]
    if unnamed or cuts:
        return unnamed + cuts, False
    return [n for n, _ in numbered], bool(plain)


def _has_no_remark(remarks: Remarks) -> bool:
    """Return whether neither title nor comment names a version."""
    return not remarks.telling and not (remarks.words & VERSIONS.keys()) - _DEFAULT


def _excludes(first: Remarks, second: Remarks) -> bool:
    """Return whether remarks contradict each other: two languages or takes, mono and stereo."""
    first_sets, second_sets = words_by_set(first.words), words_by_set(second.words)
    shared = first_sets.keys() & second_sets.keys()
    return any(first_sets[name].isdisjoint(second_sets[name]) for name in shared)


def _readings(words: frozenset[str]) -> Iterator[frozenset[str]]:
    """Yield the words of a remark, and then with `single` replaced by `edit` or the reverse."""
    yield words
    for name, replacement in (("single", "edit"), ("edit", "single")):
        if name in words:
            yield words - {name} | {replacement}


def _is_kind(remarks: Remarks, title: Remarks) -> bool:
    """Return whether the kinds are equal; for a radio session, `live` makes no difference."""
    kinds = [remarks.kind, title.kind]
    if not title.words.isdisjoint(_SESSIONS):
        kinds = [kind.removeprefix("live").strip() for kind in kinds]
    return kinds[0] == kinds[1]
