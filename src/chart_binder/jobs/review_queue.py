"""The review queue: every case that a person has to look at, and on which none has ruled."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from chart_binder.domain.overriding import KeptOverride
from chart_binder.errors import CanonError
from chart_binder.jobs.file_names import names_of
from chart_binder.jobs.review_case import ReviewCase, is_overridden, review_case

if TYPE_CHECKING:
    from chart_binder.store.store import Store


@dataclass(frozen=True, slots=True)
class Queued:
    """A case in the queue; `left` are from it on, that a person's override may settle included."""

    case: ReviewCase
    left: int


def review_queue(
    store: "Store",
    overrides: Mapping[str, KeptOverride],
    states: Collection[str],
    paths: Collection[Path] = (),
) -> Iterator[Queued]:
    """Return the queue, or what of it is in files and folders, by when it was last decided.

    A case of which the store's record is damaged is one, too, and says so.

    Raises `StoreError`, and `CanonError` for a path that is not there and of which nothing waits.
    """
    under = {path: names_of(path) for path in paths}
    for path, names in under.items():
        if not path.exists() and next(store.waiting.cases(states, names), None) is None:
            raise CanonError(f"{path}: no such file or folder, and nothing of that name waits")
    return _queued(store, overrides, states, [name for names in under.values() for name in names])


def is_empty(
    store: "Store",
    overrides: Mapping[str, KeptOverride],
    states: Collection[str],
    paths: Collection[Path] = (),
) -> bool:
    """Tell whether nothing waits, of all or of files and folders. Raises `StoreError`."""
    names = [name for path in paths for name in names_of(path)]
    return next(_queued(store, overrides, states, names), None) is None


def _queued(
    store: "Store",
    overrides: Mapping[str, KeptOverride],
    states: Collection[str],
    under: Collection[bytes],
) -> Iterator[Queued]:
    for waits in store.waiting.cases(states, under):
        case = review_case(store, waits.decision, waits.files)
        if not is_overridden(case, overrides):
            yield Queued(case, waits.left)
