"""Laws that hold of any evidence."""

import copy
from typing import Any

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from msgspec import structs

from chart_binder.config import RulesConfig
from chart_binder.domain.dates import LAST_DAY
from chart_binder.domain.evidence_json import evidence_hash, read_bundle, write_bundle
from chart_binder.domain.verdict import Decided, Open, Verdict
from chart_binder.rules.candidates import Role, candidates_in
from chart_binder.rules.decide import decide
from chart_binder.rules.first_release import first_release
from chart_binder.rules.names import is_named
from rules.making import Json, document, recording, release
from rules.strategies import (
    KINDS,
    day_after,
    documents,
    every_release,
    groups,
    made_exact,
    recordings,
)

KNOBS = RulesConfig()
LAW = settings(deadline=None, suppress_health_check=list(HealthCheck))


def ruled(evidence: Json) -> Verdict:
    return decide(read_bundle(evidence), KNOBS)


def decided(evidence: Json) -> Decided:
    """The decision on evidence; an example that is open is drawn again."""
    verdict = ruled(evidence)
    assume(isinstance(verdict, Decided))
    assert isinstance(verdict, Decided)
    return verdict


@LAW
@given(st.data())
def test_a_decision_stands_whatever_the_true_days_are(data: st.DataObject) -> None:
    """Two assumptions excepted, which the reason and the documentation name.

    A bare year or month beside a whole date within it counts as undated (`made_exact` leaves it as
    it is), and a compilation by others holds up a work only where it is certainly long before.
    """
    evidence = data.draw(documents(most_recordings=2))
    verdict = decided(evidence)
    for _ in range(3):
        exact = data.draw(made_exact(evidence))
        known = ruled(exact)
        if isinstance(known, Open):
            assert _is_long_after_one_by_others(exact, verdict), known
        else:
            assert known.crg == verdict.crg


def _is_long_after_one_by_others(evidence: Json, verdict: Decided) -> bool:
    """Whether a compilation not known to be the artist's own is long before the decision."""
    until = _chosen(evidence, verdict).last - KNOBS.lead_window_days
    return any(
        when.is_known and when.last < until
        for one in candidates_in(read_bundle(evidence))
        if one.role is Role.COMPILATION and not is_named(["Queen"], one.group, one.group.editions)
        for when in (one.by, *(edition.when for edition in one.group.editions))
    )


@LAW
@given(st.data())
def test_a_decision_stands_whatever_the_unknown_statuses_are(data: st.DataObject) -> None:
    evidence = data.draw(documents(most_groups=3))
    releases = [one for _, one in every_release(evidence)]
    assume(releases)
    data.draw(st.sampled_from(releases))["status"] = None
    unknown = [one for one in releases if one["status"] is None]
    assume(len(unknown) <= 4)
    verdict = decided(evidence)
    for one in unknown:
        one["status"] = data.draw(st.sampled_from(("Official", "Cancelled")))
    known = ruled(evidence)
    assert isinstance(known, Decided), known
    assert known.crg == verdict.crg


@LAW
@given(st.data())
def test_a_case_is_open_only_if_its_days_can_fall_in_two_ways(data: st.DataObject) -> None:
    """Between two dated albums or singles: undecided means that both can be the answer."""
    kinds = st.sampled_from(("Album", "Single", "EP"))
    made = [data.draw(groups(f"g{n}")) for n in range(2)]
    for group, country in zip(made, ("GB", None), strict=True):  # so that no tie is left open
        group |= {"primary_type": data.draw(kinds), "secondary_types": [], "artist_credit": "Queen"}
        group["countries"] = [country] if country else []
        for one in group["releases"]:
            one |= {"country": country, "status": one["status"] or "Official", "format": None}
            group["first_release_date"] = None  # an earlier one keeps a single's day open
    evidence = document(recording(*made, first_release_date=None))
    candidates = candidates_in(read_bundle(evidence))
    assume(all(candidate.is_dated for candidate in candidates))
    verdict = ruled(evidence)
    if isinstance(verdict, Open):
        assert len(_corner_answers(evidence)) > 1, verdict
    else:
        assert _corner_answers(evidence) == {verdict.crg}


def _corner_answers(evidence: Json) -> set[str | None]:
    """The answers when each record came out on one of the days that matter in its span.

    None among them: a tie on one day, which nothing settles.
    """
    first, second = candidates_in(read_bundle(evidence))
    window = KNOBS.lead_window_days
    answers: set[str | None] = set()
    for one, other in ((first, second), (second, first)):
        for day in {one.first, one.last}:
            for apart in (-window - 1, -window, -1, 0, 1, window, window + 1, -9999, 9999):
                shifted = min(max(day + apart, other.first), other.last)
                days: dict[str, int] = {one.group.mb_rg_id: day, other.group.mb_rg_id: shifted}
                verdict = ruled(_on_those_days(evidence, days))
                answers.add(verdict.crg if isinstance(verdict, Decided) else None)
    return answers


def _on_those_days(evidence: Json, days: dict[str, int]) -> Json:
    exact = copy.deepcopy(evidence)
    for group in exact["recording_candidates"][0]["rg_candidates"]:
        day = day_after(days[group["mb_rg_id"]], 0)
        (country,) = group["countries"] or [None]
        group["releases"] = [release(day, country, mb_release_id="r")]
    return exact


@LAW
@given(st.data())
def test_the_order_of_the_evidence_changes_nothing(data: st.DataObject) -> None:
    parts = [data.draw(recordings(f"r{number}", 3)) for number in range(3)]
    for part in parts[1:]:  # some records carry several of them
        part["rg_candidates"] += data.draw(st.lists(st.sampled_from(parts[0]["rg_candidates"])))
    evidence = document(*parts)
    mixed = copy.deepcopy(document(*data.draw(st.permutations(parts))))
    for part in mixed["recording_candidates"]:
        part["rg_candidates"] = data.draw(st.permutations(part["rg_candidates"]))
        for group in part["rg_candidates"]:
            for name in ("releases", "secondary_types"):
                group[name] = data.draw(st.permutations(group[name]))
    assert ruled(mixed) == ruled(evidence)
    first, second = (
        first_release(read_bundle(one), ruled(one), KNOBS) for one in (mixed, evidence)
    )
    assert first == second
    assert evidence_hash(read_bundle(mixed)) == evidence_hash(read_bundle(evidence))


@LAW
@given(st.data())
def test_new_ids_move_nothing_but_what_is_equal_in_all_else(data: st.DataObject) -> None:
    evidence = data.draw(documents(most_recordings=2))
    releases = [one for _, one in every_release(evidence)]
    for one in releases:
        one["catno"] = data.draw(st.sampled_from((None, "A 1", "A 2")))
    verdict = decided(evidence)
    first = first_release(read_bundle(evidence), verdict, KNOBS)
    content = {one["mb_release_id"]: _content(one) for one in releases}
    numbers = data.draw(st.permutations(range(len(releases))))
    renamed = {}
    for one, number in zip(releases, numbers, strict=True):
        renamed[f"new-{number}"] = _content(one)
        one["mb_release_id"] = f"new-{number}"
    again = ruled(evidence)
    assert isinstance(again, Decided)
    assert (again.crg, again.crg_rule, again.rr_rule) == (
        verdict.crg, verdict.crg_rule, verdict.rr_rule,
    )  # fmt: skip
    assert renamed.get(str(again.rr)) == content.get(str(verdict.rr))
    found = first_release(read_bundle(evidence), again, KNOBS)
    assert (found and structs.replace(found, release_mbid=None)) == (
        first and structs.replace(first, release_mbid=None)
    )


def _content(release: Json) -> Json:
    return {name: value for name, value in release.items() if name != "mb_release_id"}


@LAW
@given(st.data())
def test_a_much_later_record_never_turns_a_decision(data: st.DataObject) -> None:
    """Whatever it is: an album, a single, a live album, a soundtrack, a compilation.

    It is on the recording that was decided for, and later by more than the lead window than the
    record decided for, by the dates of releases: nothing is certainly later than a record without
    any. It opens a case in one situation only: a compilation by others, decided for because
    siblings were looked up and none is there, was all that carried the recording.
    """
    evidence = data.draw(documents(most_recordings=2))
    evidence["siblings"] = data.draw(st.sampled_from((None, "looked_up")))
    verdict = decided(evidence)
    chosen = _chosen(evidence, verdict)
    assume(chosen.is_dated and not chosen.is_weak)
    later = data.draw(_later(chosen.last))
    if len(evidence["recording_candidates"]) > 1:  # another credit may leave the recording out
        later["artist_credit"] = "Queen"
    _add(evidence, later, chosen.recordings[0].mb_recording_id)
    again = ruled(evidence)
    if isinstance(again, Decided):
        assert again.crg == verdict.crg
        return
    assert evidence["siblings"], again
    assert chosen.role is Role.COMPILATION
    assert not is_named(["Queen"], chosen.group, chosen.official)


@LAW
@given(st.data())
def test_a_much_later_record_never_closes_a_case_for_itself(data: st.DataObject) -> None:
    """It is later by more than the lead window than all that is listed, some of it official.

    The first official record of all is no later record, but the evidence that was missing.
    """
    evidence = data.draw(documents(most_groups=3))
    evidence["siblings"] = data.draw(st.sampled_from((None, "looked_up")))
    if data.draw(st.booleans()):  # most cases that a newcomer might close have compilations alone
        for group in evidence["recording_candidates"][0]["rg_candidates"]:
            group["secondary_types"] = ["Compilation"]
    assume(isinstance(ruled(evidence), Open))
    candidates = candidates_in(read_bundle(evidence))
    known = [one for one in candidates if one.counts and one.is_dated]
    assume(known)
    copies = [one.when.last for each in candidates for one in each.unofficial if one.when.is_known]
    latest = max([*(one.last for one in known), *copies])
    assume(latest < LAST_DAY)
    later = data.draw(_later(latest))
    dated = [one.group.mb_rg_id for one in known if one.official]
    if home := data.draw(st.sampled_from((None, *dated))):  # a reissue of it
        for group in evidence["recording_candidates"][0]["rg_candidates"]:
            if group["mb_rg_id"] == home:
                day = later["releases"][0]["date"]  # beside it a bare year counts as undated
                assume(not any(day.startswith(one["date"] or "-") for one in group["releases"]))
                group["releases"] += later["releases"]
        assert isinstance(ruled(evidence), Open)
        return
    _add(evidence, later, "r0")
    again = ruled(evidence)
    assert not isinstance(again, Decided) or again.crg != "later", again


@st.composite
def _later(draw: st.DrawFn, day: int) -> Json:
    """A record of any kind that came out on a later day, after the lead window."""
    primary, *secondary = draw(st.sampled_from((*KINDS, "Album+DJ-mix"))).split("+")
    days = draw(st.one_of(st.sampled_from((91, 92, 400)), st.integers(91, 18_000)))
    later = release(day_after(day, days), draw(st.sampled_from(("GB", "US", "XW", None))))
    return {
        "mb_rg_id": "later", "title": "later",
        "artist_credit": draw(st.sampled_from(("Queen", "Various Artists", "David Bowie", None))),
        "primary_type": primary, "secondary_types": secondary,
        "releases": [later | {"mb_release_id": "later.0"}],
    }  # fmt: skip


def _add(evidence: Json, group: Json, recording_id: str) -> None:
    for one in evidence["recording_candidates"]:
        if one["mb_recording_id"] == recording_id:
            one["rg_candidates"].append(group)


@LAW
@given(st.data(), documents(), st.sampled_from(("Bootleg", "Promotion", "Official")))
def test_a_later_bootleg_or_reissue_never_flips_a_decision(
    data: st.DataObject, evidence: Json, status: str
) -> None:
    verdict = decided(evidence)
    chosen = _chosen(evidence, verdict)
    candidates = candidates_in(read_bundle(evidence))
    known = [one for one in candidates if one.official and one.is_dated]
    assume(known and chosen.is_dated)
    target = data.draw(st.sampled_from(known))
    latest = max(target.last, chosen.last)
    more = release(day_after(latest, data.draw(st.integers(1, 9_000))), status=status) | {
        "mb_release_id": "later", "disambiguation": "2011 remaster", "country": "GB",
        "artist_credit": data.draw(st.sampled_from((None, "Queen", "David Bowie", "クイーン"))),
    }  # fmt: skip
    for group in evidence["recording_candidates"][0]["rg_candidates"]:
        if group["mb_rg_id"] == target.group.mb_rg_id:
            group["releases"].append(more)
    again = ruled(evidence)
    assert isinstance(again, Decided)
    assert (again.crg, again.rr) == (verdict.crg, verdict.rr)


def _chosen(evidence: Json, verdict: Decided) -> Any:
    candidates = candidates_in(read_bundle(evidence))
    return next(one for one in candidates if one.group.mb_rg_id == verdict.crg)


@LAW
@given(documents())
def test_the_release_is_an_official_one_of_the_group_chosen(evidence: Json) -> None:
    verdict = decided(evidence)
    assume(verdict.rr)
    home = {
        one["mb_release_id"]: (g["mb_rg_id"], one["status"]) for g, one in every_release(evidence)
    }
    group, status = home[str(verdict.rr)]
    assert group == verdict.crg
    assert status in ("Official", "Withdrawn")


@LAW
@given(documents())
def test_evidence_survives_a_round_trip(evidence: Json) -> None:
    bundle = read_bundle(evidence)
    assert read_bundle(write_bundle(bundle)) == bundle
    assert evidence_hash(read_bundle(write_bundle(bundle))) == evidence_hash(bundle)
