"""Whose record it is, as far as credits tell."""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import accumulate

from chart_binder.domain.dates import Answer
from chart_binder.domain.evidence import Release, ReleaseGroup
from chart_binder.domain.words import said
from chart_binder.rules.editions import may_be_earliest

_VARIOUS = frozenset(
    {
        "various artists", "various", "various artist", "va", "v.a.", "v/a", "v. a.",
        "verschiedene interpreten", "artistes divers", "artisti vari", "varios artistas",
        "vários artistas", "オムニバス", "ヴァリアス・アーティスト", "群星", "华语群星",
    }
)  # fmt: skip

_APOSTROPHES = str.maketrans("", "", "'’`")
# Kana, Han and Thai are written without spaces: a run of them is one word, which ends where
# another script begins (`安室奈美恵feat.X`).
_WORD = re.compile(
    r"[\u0e00-\u0e7f\u3005-\u3007\u3040-\u30fa\u30fc-\u30ff\u3400-\u4dbf\u4e00-\u9fff]+"
    r"|[^\W_\u0e00-\u0e7f\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]+"
)


def is_various(group: ReleaseGroup, editions: Sequence[Release]) -> bool:
    """Whether a record is by many artists: its own credit says so, or its first releases' do."""
    if group.artist_credit:
        return group.artist_credit.casefold() in _VARIOUS
    written = set(_credits(may_be_earliest(editions)))
    return bool(written) and all(name.casefold() in _VARIOUS for name in written)


def is_by(names: Iterable[str], group: ReleaseGroup, editions: Sequence[Release]) -> Answer:
    """Whether a record is credited to one of `names`, alone or with others.

    A name counts where it stands as whole words: `Air` is no part of `Fairport Convention`. What
    counts beside the record's own credit is that of its first releases; a later one may be shared.
    Unknown where no credit is given, where first releases differ, or where the only credit is in
    another script: `Namie Amuro` may be `安室奈美恵`.
    """
    if is_various(group, editions):
        return False
    wanted = [plain for plain, _ in map(_spelt, names) if plain]
    if not wanted:
        return None
    own = _names(group.artist_credit, wanted) if group.artist_credit else None
    if own:
        return True
    answers = {_names(credit, wanted) for credit in set(_credits(may_be_earliest(editions)))}
    if True in answers:
        return None if False in answers else True
    return False if False in answers or own is False else None


def names_on(group: ReleaseGroup, editions: Sequence[Release]) -> list[str]:
    """Return how a record credits its artist: the group, or else its first releases."""
    return [group.artist_credit] if group.artist_credit else _credits(may_be_earliest(editions))


def _credits(editions: Iterable[Release]) -> list[str]:
    return [credit for one in editions if (credit := said(one.artist_credit))]


def _names(credit: str, wanted: Sequence[str]) -> Answer:
    """Whether a credit names one of the wanted; nothing tells between scripts."""
    plain, edges = _spelt(credit)
    if any(_stands_in(name, plain, edges) for name in wanted):
        return True
    return False if any(_scripts(name) & _scripts(plain) for name in wanted) else None


@lru_cache(maxsize=4_096)
def _spelt(name: str) -> tuple[str, frozenset[int]]:
    """Return the letters and digits of a name, and the places among them where words meet."""
    folded = unicodedata.normalize("NFKC", name).casefold().translate(_APOSTROPHES)
    words = _WORD.findall(folded)
    return "".join(words), frozenset(accumulate(map(len, words), initial=0))


def _stands_in(name: str, credit: str, edges: frozenset[int]) -> bool:
    """Whether a name is in a credit as whole words, be they spaced alike (`R.E.M.`, `REM`)."""
    start = credit.find(name)
    while start >= 0:
        if start in edges and start + len(name) in edges:
            return True
        start = credit.find(name, start + 1)
    return False


@lru_cache(maxsize=4_096)
def _scripts(plain: str) -> frozenset[str]:
    """Return the scripts a name is written in, the first word of a letter's Unicode name."""
    return frozenset(
        unicodedata.name(letter, "?").split()[0] for letter in plain if letter.isalpha()
    )
