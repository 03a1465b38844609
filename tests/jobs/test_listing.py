"""Stored decisions are listed by queries, sampled, judged and put into playlists."""

import json
import re
from pathlib import Path
from statistics import NormalDist

import msgspec
import pytest

from chart_binder.config import RulesConfig
from chart_binder.domain.evidence import Artifact, EvidenceBundle
from chart_binder.domain.evidence_json import read_bundle
from chart_binder.domain.records import AuditVerdict, UnreadDecision, new_id
from chart_binder.errors import NothingFoundError, UsageError
from chart_binder.jobs.decision import Case
from chart_binder.jobs.listing import (
    KEYS,
    ListedDecision,
    audit_report,
    audit_verdicts,
    listing,
    read_query,
    sample,
    save_audit,
    smart_playlist,
    wilson_interval,
)
from chart_binder.jobs.pipeline import Pipeline, attempt, decide_bundle
from chart_binder.jobs.stored_decisions import RunVersions, rules_version, stored_case
from chart_binder.store import Store
from golden.bundles import golden

RULES = RulesConfig()
VERSIONS = RunVersions(new_id(), rules_version(RULES))
LIBRARY: tuple[tuple[str, str | None, dict[str, str]], ...] = (
    ("a/queen", "lead-bohemian", {"album": "The Best of", "date": "2004-05-01"}),
    ("b/nirvana", "lead-slts", {"album": "Best of the Nineties", "date": "nineties"}),
    ("b/comp", "comp-kosmonova", {}),
    ("a/bootleg", "bootleg-only-queen", {}),
    ("c/failed", None, {"artist": "Nobody", "title": "Nothing"}),
    ("c/hanae", "lead-hanae", {}),
)
CASES = [
    tuple(part.strip() for part in line.split("|"))
    for line in (Path(__file__).parent / "queries.txt").read_text("utf-8").splitlines()
    if line and not line.startswith("#")
]


def case_of(name: str | None, tags: dict[str, str]) -> Case:
    artifact = Artifact(180_400, tags)  # type: ignore[arg-type]

    def gather() -> EvidenceBundle:
        if name is None:
            raise NothingFoundError("MusicBrainz knows no such recording")
        return msgspec.structs.replace(read_bundle(golden(name)), artifact=artifact)

    case = attempt(lambda: decide_bundle(Pipeline(RULES), gather()))
    if name is not None:
        return case
    decision = msgspec.structs.replace(case.decision, artist=tags["artist"], title=tags["title"])
    return Case(decision, artifact=artifact)


def put(store: Store, name: str, case: Case) -> str:
    records = stored_case(case, Path(f"/music/{name}.flac"), None, VERSIONS)
    store.decisions.put(*records)
    return records[0].id


@pytest.fixture
def library(store: Store) -> Store:
    """A store with a decision for each file, one of which was decided before."""
    put(store, "c/hanae", case_of("comp-savage", {}))
    for name, bundle, tags in LIBRARY:
        put(store, name, case_of(bundle, tags))
    return store


def refuse(unread: UnreadDecision) -> None:
    raise AssertionError(unread.problem)


def found(store: Store, *query: str) -> list[ListedDecision]:
    return list(listing(store, read_query(query), refuse))


def names(rows: list[ListedDecision]) -> list[str]:
    return [Path(row.path).stem for row in rows]


@pytest.mark.parametrize(("query", "outcome"), CASES, ids=[case[0] for case in CASES])
def test_a_query_finds_its_decisions_or_says_what_is_wrong(
    library: Store, query: str, outcome: str
) -> None:
    if outcome.startswith("!"):
        with pytest.raises(UsageError) as refused:
            read_query([query])
        assert outcome[1:].strip() in str(refused.value)
    else:
        assert sorted(names(found(library, query))) == sorted(outcome.split())


def test_the_page_has_every_key() -> None:
    page = (Path(__file__).parents[2] / "docs" / "library.md").read_text("utf-8")
    rows = re.findall(r"^\| (`\w+:.*?) \|", page, re.MULTILINE)
    assert {key for row in rows for key in re.findall(r"`(\w+):", row)} == set(KEYS)
    for row in rows:
        for term in re.findall(r"`(\w+:\S+)`", row):
            assert term.endswith("...") or read_query([term]).terms


def test_a_sample_is_the_same_again_and_grows_with_the_library(library: Store) -> None:
    rows = found(library)
    drawn = names(sample(rows, 3, seed=1))
    assert len(drawn) == 3
    assert names(sample(list(reversed(rows)), 3, seed=1)) == drawn
    fewer = [row for row in rows if names([row])[0] in drawn]
    assert names(sample(fewer, 3, seed=1)) == drawn, "files that came in between change nothing"
    assert {tuple(names(sample(rows, 3, seed=seed))) for seed in range(9)} != {tuple(drawn)}
    by_rule = sample(rows, 1, seed=1, is_by_rule=True)
    assert [row.rule for row in by_rule] == ["ALBUM_LEAD_WINDOW", "INDETERMINATE", None]
    assert len(sample(rows, 99, seed=1, is_by_rule=True)) == len(rows)


@pytest.mark.parametrize(("count", "of"), [(0, 10), (1, 10), (5, 10), (10, 10), (3, 200), (1, 1)])
def test_the_interval_is_wilsons(count: int, of: int) -> None:
    """Its bounds are the shares p from which what was found is 1.96 standard errors away."""
    share, z = count / of, NormalDist().inv_cdf(0.975)
    low, high = wilson_interval(count, of)
    assert 0 <= low <= share + 1e-12 <= high + 2e-12 <= 1 + 2e-12
    assert low < high
    for p in (low, high):
        assert (share - p) ** 2 == pytest.approx(z**2 * p * (1 - p) / of, abs=1e-12)


def test_verdicts_give_the_share_of_errors_by_rule(library: Store) -> None:
    rows = found(library, "state:decided")
    verdicts = (AuditVerdict.RIGHT, AuditVerdict.WRONG, AuditVerdict.UNSURE)
    for row, verdict in zip(rows, verdicts, strict=True):
        save_audit(library, row, AuditVerdict.WRONG)  # and thought better of
        save_audit(library, row, verdict)
    put(library, "a/queen", case_of("lead-bohemian", {}))  # decided again, and alike
    report = audit_report(found(library), audit_verdicts(library))
    (rule,) = report.rules
    assert (rule.rule, rule.right, rule.wrong, rule.unsure) == ("ALBUM_LEAD_WINDOW", 1, 1, 1)
    assert (rule.share, report.left) == (0.5, 3)
    assert (rule.low, rule.high) == wilson_interval(1, 2)
    put(library, "b/nirvana", case_of("lead-kessoku", {}))  # decided again, for another group
    assert audit_report(found(library), audit_verdicts(library)).total.wrong == 0


def test_a_smart_playlist_has_conditions_on_tags() -> None:
    query = read_query(["artist:Beyoncé -album:Live decade:1990s year:..1979,1985"])
    playlist = smart_playlist(query, "Ninety")
    assert json.loads(json.dumps(playlist)) == {
        "name": "Ninety",
        "all": [
            {"gt": {"originalyear": 0}},
            {"contains": {"artist": "Beyoncé"}},
            {"notContains": {"album": "Live"}},
            {"any": [{"inTheRange": {"originalyear": [1990, 1999]}}]},
            {"any": [
                {"inTheRange": {"originalyear": [1, 1979]}},
                {"inTheRange": {"originalyear": [1985, 1985]}},
            ]},
        ],
        "sort": "originaldate",
        "order": "asc",
    }  # fmt: skip


@pytest.mark.parametrize("term", ["state:decided", "year:none", "-year:1977", "path:/music"])
def test_what_tags_do_not_tell_is_refused_for_a_smart_playlist(term: str) -> None:
    with pytest.raises(UsageError, match="--format m3u takes every query"):
        smart_playlist(read_query([term]), "x")
