"""Whose record it is, as far as credits tell."""

from collections.abc import Iterable, Sequence

from chart_binder.domain.dates import Answer
from chart_binder.domain.evidence import Release, ReleaseGroup
from chart_binder.domain.words import said
from chart_binder.rules.editions import may_be_earliest
from chart_binder.rules.names import names

_VARIOUS = frozenset(
    {
        "various artists", "various", "various artist", "va", "v.a.", "v/a", "v. a.",
        "verschiedene interpreten", "artistes divers", "artisti vari", "varios artistas",
        "vários artistas", "オムニバス", "ヴァリアス・アーティスト", "群星", "华语群星",
    }
)  # fmt: skip


def is_various(group: ReleaseGroup, editions: Sequence[Release]) -> bool:
    """Whether a record is by many artists: its own credit says so, or its first releases' do."""
    if group.artist_credit:
        return group.artist_credit.casefold() in _VARIOUS
    written = set(_credits(may_be_earliest(editions)))
    return bool(written) and all(name.casefold() in _VARIOUS for name in written)


def is_by(artists: Iterable[str], group: ReleaseGroup, editions: Sequence[Release]) -> Answer:
    """Whether a record is credited to one of `artists`, who may go by several names.

    What counts beside the record's own credit is that of its first releases; a later one may be
    shared. Unknown where no credit is given, where first releases differ, or where nothing tells
    whether the name credited is the artist's (`names`).
    """
    if is_various(group, editions):
        return False
    wanted = [artist for artist in artists if said(artist)]
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


def _names(credit: str, artists: Iterable[str]) -> Answer:
    answers = {names(credit, artist) for artist in artists}
    return next((answer for answer in (True, None) if answer in answers), False)
