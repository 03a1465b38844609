"""What an override is about, in words: the recording, the record it is put on, the files."""

from typing import TYPE_CHECKING

import msgspec

from chart_binder.domain.evidence import EvidenceBundle
from chart_binder.domain.overriding import KeptOverride
from chart_binder.errors import DamagedRecordError
from chart_binder.jobs.keeping import kept_bundle

if TYPE_CHECKING:
    from chart_binder.store.store import Store


class Reached(msgspec.Struct, frozen=True):
    """What the store knows around an override: files that it holds for, evidence of one of them."""

    files: tuple[bytes, ...] = ()
    bundle: EvidenceBundle | None = None


def reached(store: "Store", ruled: KeptOverride) -> Reached:
    """Return what was decided of files that an override holds for.

    Evidence that cannot be read names nothing, as if there were none. Raises `StoreError`.
    """
    decisions = store.verdicts.reached_by(ruled)
    files = tuple(dict.fromkeys(each.path for each in decisions))
    for each in reversed(decisions):
        try:
            bundle = kept_bundle(store, each)
        except DamagedRecordError:
            continue
        if bundle:
            return Reached(files, bundle)
    return Reached(files)
