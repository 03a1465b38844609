"""Releases that decide nothing, in words."""

from collections import Counter
from collections.abc import Sequence

from chart_binder.domain.evidence import Release

NEVER_OUT = frozenset({"Pseudo-Release", "Withdrawn", "Cancelled"})
"""Statuses of what never came out, or only on paper: a transliteration, a recalled record."""

_COPIES = {
    "Promotion": ("a promotional copy", "promotional copies"),
    "Bootleg": ("a bootleg", "bootlegs"),
    "Pseudo-Release": ("a pseudo-release", "pseudo-releases"),
    "Withdrawn": ("a withdrawn release", "withdrawn releases"),
    "Cancelled": ("a cancelled release", "cancelled releases"),
}
_UNSURE = ("a release of unknown status", "releases of unknown status")


def copy_of(status: str | None) -> str:
    """Return what to call a release by its status: `a bootleg`."""
    return _COPIES.get(status or "", _UNSURE)[0]


def copies(releases: Sequence[Release]) -> str:
    """Return what to call several: `2 bootlegs and a promotional copy`, `a bootleg of 2008`."""
    if len(releases) == 1 and releases[0].when.is_known:
        return f"{copy_of(releases[0].standing)} of {releases[0].when}"
    counted = Counter(_COPIES.get(release.standing or "", _UNSURE) for release in releases)
    parts = [one if n == 1 else f"{n} {many}" for (one, many), n in sorted(counted.items())]
    return " and ".join(parts)
