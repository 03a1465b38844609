"""New evidence is fetched until look-ups fail in a row."""

from collections.abc import Callable
from pathlib import Path

import pytest

from chart_binder.domain.evidence import EvidenceBundle
from chart_binder.domain.evidence_json import read_bundle
from chart_binder.errors import AudioError, CanonError, LookupFailedError, NothingFoundError
from chart_binder.jobs.drift import MAX_FAILURES, EvidenceRefresher, NotAskedError
from golden.bundles import golden

SONG = Path("song.flac")
DOWN, ABSENT, UNREADABLE = LookupFailedError("down"), NothingFoundError("absent"), AudioError("?")


def asked(*outcomes: CanonError | None) -> tuple[EvidenceRefresher, list[Path]]:
    """What fails, or not, as it is asked."""
    paths: list[Path] = []

    def gather(path: Path) -> EvidenceBundle:
        paths.append(path)
        if outcome := outcomes[len(paths) - 1]:
            raise outcome
        return read_bundle(golden("lead-bohemian"))

    refreshing = EvidenceRefresher(gather)
    for _ in outcomes:
        _tried(lambda: refreshing(SONG))
    return refreshing, paths


def _tried(ask: Callable[[], EvidenceBundle]) -> None:
    try:
        ask()
    except CanonError:
        return


def test_after_three_failures_in_a_row_nothing_is_asked() -> None:
    refreshing, paths = asked(DOWN, DOWN, DOWN, None)
    assert len(paths) == MAX_FAILURES
    with pytest.raises(NotAskedError, match=r"3 look-ups in a row .*: down"):
        refreshing(SONG)


@pytest.mark.parametrize("answer", [None, ABSENT])
def test_an_answer_between_failures_begins_the_count_anew(answer: CanonError | None) -> None:
    _, paths = asked(DOWN, DOWN, answer, DOWN, DOWN, answer)
    assert len(paths) == 6


def test_a_file_that_cannot_be_read_says_nothing_of_the_service() -> None:
    _, paths = asked(DOWN, UNREADABLE, DOWN, UNREADABLE, DOWN, None)
    assert len(paths) == 5
