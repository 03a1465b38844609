"""What a person ruled before is named before another ruling takes its place."""

from collections.abc import Collection, Iterable, Iterator
from typing import TYPE_CHECKING

from chart_binder.domain.ids import bare_id
from chart_binder.domain.kept import KeptDecision
from chart_binder.domain.overriding import KeptOverride
from chart_binder.errors import CanonError
from chart_binder.jobs.review_case import ReviewCase

if TYPE_CHECKING:
    from chart_binder.store.store import Store

DECIDE_AGAIN = "to be decided again: canon decide, or canon batch"
_FEW = 3


def said_before(store: "Store", case: ReviewCase) -> tuple[KeptOverride, ...]:
    """Return the overrides that came with earlier verdicts on the decision.

    One that was set since, by itself, is none. Raises `StoreError`.
    """
    given = {(each.at_utc, each.crg_mbid) for each in store.verdicts.history(case.kept.id)}
    everything = store.overrides.all().values() if given else ()
    return tuple(each for each in everything if (each.set_at_utc, each.crg_mbid) in given)


def replaced_by(
    store: "Store",
    case: ReviewCase,
    new: KeptOverride,
    before: Collection[KeptOverride],
    *,
    replaces: bool,
) -> Iterator[str]:
    """Yield what another ruling on a case puts aside, and which other files that reaches.

    Raises `CanonError` where that is what a person said elsewhere of the recording, and the new
    one speaks against it, unless it `replaces` that; and `StoreError`.
    """
    standing = store.overrides.all().get(new.recording_mbid)
    if standing is None or standing in before:
        replaced = tuple(before)
    else:
        replaced = (*before, standing)
        if _speaks_against(new, standing) and not replaces:
            raise CanonError(
                f"{case.path}: a person ruled otherwise on its recording:"
                f" {described(case, standing)}{_files(store, case, standing)}; --replace rules so"
                " for all of them"
            )
    for each in replaced:
        others = _files(store, case, each) if _speaks_against(new, each) else ""
        yield f"in place of {described(case, each)}{others}"


def described(case: ReviewCase, ruled: KeptOverride) -> str:
    """Return what a person ruled, by name, with when and why."""
    known = next((one for one in case.labels.titles if bare_id(one) == ruled.crg_mbid), None)
    named = case.labels.name_of(known) if known else f"release group {ruled.crg_mbid}"
    return f"{named}, said {ruled.set_at_utc} ({ruled.reason})"


def resting_on(store: "Store", ruled: KeptOverride) -> tuple[KeptDecision, ...]:
    """Return the last decisions of files that an override made. Raises `StoreError`."""
    reached = store.verdicts.reached_by(ruled)
    return tuple(each for each in reached if each.decided_by == "override" and not each.pinned)


def file_names(kept: Iterable[KeptDecision]) -> str:
    """Return the files of decisions, the first few by name."""
    paths = [each.path.decode("utf-8", "replace") for each in kept]
    more = len(paths) - _FEW
    named = ", ".join(paths[: _FEW if more > 0 else None])
    return f"{named} and {more} more" if more > 0 else named


def _speaks_against(new: KeptOverride, old: KeptOverride) -> bool:
    releases = {each.rr_mbid for each in (new, old) if each.rr_mbid}
    return new.crg_mbid != old.crg_mbid or len(releases) > 1


def _files(store: "Store", case: ReviewCase, ruled: KeptOverride) -> str:
    reached = store.verdicts.reached_by(ruled)
    named = file_names(each for each in reached if each.path != case.kept.path)
    return f", which holds for {named} too" if named else ""
