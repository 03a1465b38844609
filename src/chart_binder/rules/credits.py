"""Whose record it is, as far as credits tell."""

import unicodedata
from collections.abc import Iterable
from functools import lru_cache

from chart_binder.domain.dates import Answer
from chart_binder.domain.evidence import Release, ReleaseGroup

_VARIOUS = frozenset(
    {
        "various artists", "various", "various artist", "va", "v.a.", "v/a", "v. a.",
        "verschiedene interpreten", "artistes divers", "artisti vari", "varios artistas",
        "vários artistas", "オムニバス", "ヴァリアス・アーティスト", "群星", "华语群星",
    }
)  # fmt: skip


def is_various(group: ReleaseGroup, official: Iterable[Release]) -> bool:
    """Whether a record is by many artists: its own credit says so, or every release's does."""
    if group.artist_credit:
        return group.artist_credit.casefold() in _VARIOUS
    written = {release.artist_credit for release in official} - {None}
    return bool(written) and all((name or "").casefold() in _VARIOUS for name in written)


def is_by(names: Iterable[str], group: ReleaseGroup, official: Iterable[Release]) -> Answer:
    """Whether a record is credited to one of `names`, alone or with others.

    Unknown where no credit is given, or only one in another script: `Namie Amuro` may be
    `安室奈美恵`.
    """
    if is_various(group, official):
        return False
    credited = (group.artist_credit, *(release.artist_credit for release in official))
    wanted = [_plain(name) for name in names if _plain(name)]
    written = [_plain(name) for name in credited if name]
    if not wanted or not written:
        return None
    if any(name in credit for credit in written for name in wanted):
        return True
    same_script = any(_scripts(name) & _scripts(credit) for credit in written for name in wanted)
    return False if same_script else None


@lru_cache(maxsize=4_096)
def _plain(name: str) -> str:
    folded = unicodedata.normalize("NFKC", name).casefold()
    return "".join(filter(str.isalnum, folded))


@lru_cache(maxsize=4_096)
def _scripts(plain: str) -> frozenset[str]:
    """Return the scripts a name is written in, the first word of a letter's Unicode name."""
    return frozenset(
        unicodedata.name(letter, "?").split()[0] for letter in plain if letter.isalpha()
    )
