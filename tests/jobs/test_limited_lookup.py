"""Evidence is looked up until look-ups fail in a row."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from chart_binder.domain.evidence import EvidenceBundle
from chart_binder.domain.evidence_json import read_bundle
from chart_binder.errors import AudioError, CanonError, LookupFailedError, NothingFoundError
from chart_binder.jobs.gather import limited_lookup
from golden.bundles import golden

DOWN, ABSENT, UNREADABLE = LookupFailedError("down"), NothingFoundError("absent"), AudioError("?")


@pytest.mark.parametrize(
    ("outcomes", "tries"),
    [
        ((DOWN, DOWN, DOWN, None), 3),
        ((DOWN, DOWN, None, DOWN, DOWN, None), 6),
        ((DOWN, DOWN, ABSENT, DOWN, DOWN, ABSENT), 6),
        ((DOWN, UNREADABLE, DOWN, UNREADABLE, DOWN, None), 5),  # which says nothing of a service
    ],
)
def test_three_failures_end_look_ups(outcomes: tuple[CanonError | None, ...], tries: int) -> None:
    coming: Iterator[CanonError | None] = iter(outcomes)

    def gather(_: Path) -> EvidenceBundle:
        if outcome := next(coming):
            raise outcome
        return read_bundle(golden("lead-bohemian"))

    look_up = limited_lookup(gather)
    for _ in outcomes:
        with suppress(CanonError):
            look_up(Path("song.flac"))
    assert len(outcomes) - len(list(coming)) == tries
    if tries == 3:
        with pytest.raises(LookupFailedError, match=r"3 look-ups in a row .*: down"):
            look_up(Path("song.flac"))
