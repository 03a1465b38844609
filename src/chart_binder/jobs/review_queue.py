"""The review queue: every case that a person has to look at, and on which none has ruled."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from chart_binder.domain.kept import UnreadDecision
from chart_binder.domain.overriding import KeptOverride
from chart_binder.errors import CanonError
from chart_binder.jobs.file_names import names_of
from chart_binder.jobs.review_case import ReviewCase, is_overridden, review_case

if TYPE_CHECKING:
    from chart_binder.store.store import Store
    from chart_binder.store.unread import Unread


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
    unread: "Unread | None" = None,
) -> Iterator[Queued]:
    """Return the queue, or what of it is in files and folders, by when it was last decided.

    A case of which what it rests on is damaged is one, too, and says so; a decision that cannot be
    read itself is left out, and told to `unread`.

    Raises `StoreError`, and `CanonError` for a path that is not there and of which nothing waits.
    """
    under = {path: names_of(path) for path in paths}
    for path, names in under.items():
        if not path.exists() and _is_nothing(store, states, names):
            raise CanonError(f"{path}: no such file or folder, and nothing of that name waits")
    named = [name for names in under.values() for name in names]
    return _queued(store, overrides, states, named, unread)


def _is_nothing(store: "Store", states: Collection[str], names: Collection[bytes]) -> bool:
    return next(store.waiting.cases(states, names, _ignored), None) is None


def is_empty(
    store: "Store",
    overrides: Mapping[str, KeptOverride],
    states: Collection[str],
    paths: Collection[Path] = (),
) -> bool:
    """Tell whether nothing waits, of all or of files and folders. Raises `StoreError`."""
    names = [name for path in paths for name in names_of(path)]
    return next(_queued(store, overrides, states, names, _ignored), None) is None


def _ignored(left_out: UnreadDecision) -> None:
    """Say nothing: whoever lists the queue is told."""


def _queued(
    store: "Store",
    overrides: Mapping[str, KeptOverride],
    states: Collection[str],
    under: Collection[bytes],
    unread: "Unread | None" = None,
) -> Iterator[Queued]:
    for waits in store.waiting.cases(states, under, unread):
        case = review_case(store, waits.decision, waits.files)
        if not is_overridden(case, overrides):
            yield Queued(case, waits.left)
