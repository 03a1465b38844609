"""Cases of the review queue are printed with addresses that lead somewhere."""

from chart_binder.cli.override import override_lines
from chart_binder.cli.render.review import case_lines
from chart_binder.domain.evidence_json import read_bundle
from chart_binder.domain.verdict import KeptOverride
from chart_binder.domain.vocabulary import RecordingId, ReleaseGroupId
from chart_binder.jobs.decide import Decision, State
from chart_binder.jobs.review import ReviewCase
from rules.making import document, record, recording
from store.records import NOW, decision

UUID = "6b47c9a0-b9e1-3df9-a5e8-50a6ce0dbdbd"


def test_an_id_that_is_none_of_musicbrainz_is_shown_as_it_is() -> None:
    groups = (record("A", "Album", "1974", mb_rg_id=UUID), record("B", "Single", mb_rg_id="own-7"))
    bundle = read_bundle(document(recording(*groups)))
    case = ReviewCase(decision(1), Decision(State.INDETERMINATE), bundle)
    lines = "\n".join(case_lines(case, None))
    assert f"https://musicbrainz.org/release-group/{UUID}" in lines
    assert "own-7" in lines
    assert "/own-7" not in lines
    ruled = KeptOverride(RecordingId("rec"), ReleaseGroupId("own-7"), None, "why", NOW)
    assert "musicbrainz.org" not in "\n".join(override_lines(ruled))
