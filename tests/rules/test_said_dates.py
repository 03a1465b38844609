"""What a person says of a recording: the first release by the evidence and their word."""

from typing import Any

import pytest

from chart_binder.config import RulesConfig
from chart_binder.domain.evidence_json import read_bundle
from chart_binder.domain.verdict import OverrideRecord
from chart_binder.jobs.pipeline import OverrideLookup, Pipeline, decide_bundle
from corpus import rows
from golden.bundles import year_only_single

BUNDLE = read_bundle(year_only_single())
(RECORDING,) = BUNDLE.recording_candidates
SINGLE, ALBUM = RECORDING.groups[:2]
LP = ALBUM.editions[0].mb_release_id
LATER = next(one for one in RECORDING.groups if one.editions[0].when.text > "1980")
ELSEWHERE = "12345678-1234-4234-8234-123456789abc"


def decided(**said: Any) -> tuple[str, str, str | None, str, bool, bool]:
    """Return state, who decided, the record, the date, and whether a person makes it certain."""
    names = {"crg_mbid": None, "rr_mbid": None, "reason": "so", "set_at_utc": "2026"}
    override = OverrideRecord(**(names | {"recording_mbid": RECORDING.mb_recording_id} | said))
    pipeline = Pipeline(
        RulesConfig(), overrides=OverrideLookup(lambda: {override.recording_mbid: override})
    )
    decision = decide_bundle(pipeline, BUNDLE).decision
    assert decision.overruled_at == "2026"
    first = decision.first_release
    assert first is not None
    return (
        decision.state, str(decision.decided_by), first.title, first.date, first.year_certain,
        first.because == "a person says so: so",
    )  # fmt: skip


@pytest.mark.parametrize(("said", "expected"), rows(__file__, "said"))
def test_a_date_by_a_person_is_certain(said: dict[str, Any], expected: tuple[str, ...]) -> None:
    assert decided(**said) == (*expected, True, True)


def test_a_group_by_a_person_leaves_an_earlier_first_release() -> None:
    *_, title, date, is_certain, _ = decided(crg_mbid=LATER.mb_rg_id)
    assert (title, date, is_certain) == (None, "1975", True), "the single or the album"


def test_a_later_override_amends_an_earlier_one() -> None:
    def said(**changes: str) -> OverrideRecord:
        fields = {"recording_mbid": "r", "crg_mbid": None, "rr_mbid": None}
        return OverrideRecord(**(fields | {"reason": "", "set_at_utc": "1"} | changes))  # type: ignore[arg-type]

    there = said(crg_mbid="a", rr_mbid="x", first_date="1975", same_as="s")
    assert said(first_date="1976").amending(None) == said(first_date="1976")
    assert said(first_date="1976").amending(there) == said(
        crg_mbid="a", rr_mbid="x", first_date="1976", same_as="s"
    )
    moved = said(crg_mbid="b", first_date="1975", same_as="s")
    assert said(crg_mbid="b").amending(there) == moved
    assert said(crg_mbid="b").amending(said(first_date="1975")).first_date == "1975"
