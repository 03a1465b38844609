"""A person's verdict names what it means, however the letters of an id are written."""

from collections.abc import Callable

import pytest

from chart_binder.config import RulesConfig
from chart_binder.domain.evidence_json import read_bundle
from chart_binder.domain.verdict import Decided, KeptOverride, Override
from chart_binder.domain.vocabulary import RecordingId, ReleaseGroupId, ReleaseId
from chart_binder.errors import CanonError
from chart_binder.jobs.decide import override_for
from chart_binder.jobs.overrides import recording_meant, unknown_ids
from chart_binder.rules.decide import decide
from rules.making import document, record, recording, release

REC, CRG, RR = (f"{n}b47c9a0-b9e1-3df9-a5e8-50a6ce0dbdbd" for n in range(3))


@pytest.mark.parametrize("shout", [str.upper, str.lower])
def test_an_override_in_capitals_means_the_same(shout: Callable[[str], str]) -> None:
    evidence = read_bundle(
        document(
            recording(
                record("S", "Single", release("1974"), mb_rg_id=shout(CRG)),
                record("A", "Album", "1974-11-08"),
                mb_recording_id=shout(REC),
            )
        )
    )
    override = Override(ReleaseGroupId(CRG.upper()), ReleaseId(RR.upper()), "heard it")
    verdict = decide(evidence, RulesConfig(), override)
    assert isinstance(verdict, Decided)
    assert (verdict.crg, verdict.rr, verdict.recording) == (CRG, RR, REC)
    assert [rival.title for rival in verdict.rivals] == ["A"]
    kept = KeptOverride(RecordingId(REC), ReleaseGroupId(CRG.upper()), None, "heard it", "2026")
    assert list(unknown_ids(evidence, kept)) == []
    assert override_for(evidence, {REC: kept}) == kept
    assert recording_meant(evidence) == REC


def test_an_override_is_kept_by_a_musicbrainz_id_alone() -> None:
    evidence = read_bundle(document(recording(record("A", "Album", "1974"))))
    with pytest.raises(CanonError, match="the recording's id is 'rec'; a MusicBrainz id"):
        recording_meant(evidence)
