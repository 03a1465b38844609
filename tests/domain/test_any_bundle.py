"""Whatever a bundle holds, it is refused by its place or decided and shown."""

import copy
import json
from collections.abc import Iterator
from typing import Any

import msgspec
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chart_binder.cli.decision_text import explanation_lines, explanation_object
from chart_binder.config import RulesConfig
from chart_binder.domain.evidence import EvidenceBundle
from chart_binder.domain.evidence_json import read_bundle
from chart_binder.errors import EvidenceError
from chart_binder.jobs.pipeline import Pipeline, decide_bundle
from chart_binder.llm.evidence_markdown import evidence_markdown
from golden.bundles import CASES

KNOBS = RulesConfig()
ODD: tuple[Any, ...] = (
    None, "", " ", "0001", "0001-01-01", "9999-12-31", "1975-13", "????-05", "x" * 5_000, 0, -1,
    10**400, float("nan"), float("inf"), True, [], {}, [None], [""], "\ud800", "\x1b[2J", "a\nb",
    "Official", "nonsense", "Single", "Compilation", "UK", "1975", "1975-11-21",
)  # fmt: skip


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value)
    for key, one in list(inner):
        yield value, key
        if isinstance(one, dict | list):
            yield from _places(one)


@settings(deadline=None, max_examples=60, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_any_bundle_is_refused_by_its_place_or_decided_and_shown(data: st.DataObject) -> None:
    bundle = copy.deepcopy(CASES[data.draw(st.sampled_from(sorted(CASES)))]["bundle"])
    for _ in range(data.draw(st.integers(1, 4))):
        places = list(_places(bundle))
        home, key = data.draw(st.sampled_from(places))
        match data.draw(st.sampled_from(("odd", "odd", "gone", "twice"))):
            case "odd":
                home[key] = copy.deepcopy(data.draw(st.sampled_from(ODD)))
            case "twice" if isinstance(home, list):
                home.append(copy.deepcopy(home[key]))
            case _:
                del home[key]
    document = bundle if data.draw(st.booleans()) else json.dumps(bundle)
    try:
        evidence = read_bundle(document)
    except EvidenceError as refusal:
        told = str(refusal)
    else:
        told = _shown(evidence)
    assert told.encode()


def _shown(evidence: EvidenceBundle) -> str:
    case = decide_bundle(Pipeline(KNOBS), evidence)
    assert json.loads(msgspec.json.encode(explanation_object(case, KNOBS)))
    return "\n".join(
        (
            *explanation_lines("path", case, KNOBS, whole=True),
            evidence_markdown(evidence, case.verdict),
        )
    )
