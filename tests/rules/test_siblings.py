"""When other recordings of the performance are looked up."""

import pytest

from chart_binder.config import RulesConfig
from chart_binder.domain.evidence_json import read_bundle
from chart_binder.domain.verdict import Override
from chart_binder.domain.vocabulary import ReleaseGroupId
from chart_binder.rules.decide import decide
from chart_binder.rules.missing_original import needs_siblings
from rules.making import cases, document, evidence_of, recording, records

CONFIG = RulesConfig()


@pytest.mark.parametrize(("known", "text", "answer"), cases("siblings.txt"))
def test_siblings_are_needed_if_the_original_is_missing(known: str, text: str, answer: str) -> None:
    bundle = read_bundle(evidence_of(known, text))
    assert needs_siblings(bundle, decide(bundle, CONFIG), CONFIG) is (answer == "yes")


def test_none_are_looked_up_for_what_a_person_ruled() -> None:
    bundle = read_bundle(document(recording(*records("C compilation 1981"))))
    ruled = decide(bundle, CONFIG, Override(ReleaseGroupId("C")))
    assert not needs_siblings(bundle, ruled, CONFIG)
    assert needs_siblings(bundle, decide(bundle, CONFIG), CONFIG)
