"""Whatever the way a fact is written, it leads to one decision and one hash."""

import copy
from collections.abc import Iterator
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chart_binder.config import RulesConfig
from chart_binder.domain.evidence_json import evidence_hash, read_bundle
from chart_binder.rules.decide import decide
from rules.making import Json
from rules.strategies import documents

KNOBS = RulesConfig()
LAW = settings(deadline=None, max_examples=25, suppress_health_check=list(HealthCheck))
TEXTS = (
    "title", "artist_credit", "country", "status", "label", "catno", "format", "disambiguation",
    "primary_type", "date", "first_release_date",
)  # fmt: skip
LISTS = ("isrcs", "labels", "countries", "secondary_types", "releases")
BLANKS = st.sampled_from((None, "", " ", "\t", "\u3000", "\u00a0 "))


def _objects(value: object) -> Iterator[Json]:
    if isinstance(value, dict):
        yield value
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for one in inner:
        yield from _objects(one)


@LAW
@given(st.data())
def test_blank_empty_null_and_absent_are_one(data: st.DataObject) -> None:
    absent = data.draw(documents(most_recordings=2))
    blank = copy.deepcopy(absent)
    for bare, written in zip(_objects(absent), _objects(blank), strict=True):
        if "name" in bare:
            continue
        for name in TEXTS:
            if name in bare and (bare[name] is None or data.draw(st.integers(0, 5)) == 0):
                del bare[name]
                written[name] = data.draw(BLANKS)
        for name in LISTS:
            if bare.get(name) == []:
                del bare[name]
                written[name] = None
        if "mb_rg_id" in bare and data.draw(st.booleans()):
            written["labels"] = [" "]
    one, other = read_bundle(absent), read_bundle(blank)
    assert evidence_hash(one) == evidence_hash(other)
    assert decide(one, KNOBS) == decide(other, KNOBS)


@LAW
@given(st.data())
def test_capitals_and_repetition_change_nothing(data: st.DataObject) -> None:
    plain = data.draw(documents(most_recordings=2))
    ids: dict[str, str] = {}
    for one in _objects(plain):
        for name in ("mb_recording_id", "mb_rg_id", "mb_release_id"):
            if name in one:
                known = ids.setdefault(one[name], f"{len(ids):08x}-abcd-4000-8000-00000000000f")
                one[name] = known
    shouted = copy.deepcopy(plain)
    for one in _objects(shouted):
        for name in ("mb_recording_id", "mb_rg_id", "mb_release_id"):
            if name in one and data.draw(st.booleans()):
                one[name] = one[name].upper()
        for name in ("rg_candidates", "releases"):
            if one.get(name):
                one[name].append(data.draw(st.sampled_from(one[name])))
    recordings: list[Any] = shouted["recording_candidates"]
    recordings.append(copy.deepcopy(data.draw(st.sampled_from(recordings))))
    bundles = read_bundle(plain), read_bundle(shouted)
    assert len(set(map(evidence_hash, bundles))) == 1
    assert decide(bundles[0], KNOBS) == decide(bundles[1], KNOBS)
