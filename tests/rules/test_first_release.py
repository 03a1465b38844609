"""The first release: on which record, with which date, and whether the year is certain."""

import json

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from chart_binder.config import RulesConfig
from chart_binder.domain.dates import PartialDate
from chart_binder.domain.evidence import Artist, EvidenceBundle
from chart_binder.domain.evidence_json import read_bundle
from chart_binder.domain.verdict import FirstRelease, Override
from chart_binder.domain.vocabulary import ReleaseGroupId
from chart_binder.rules.candidates import candidates_in, candidates_of
from chart_binder.rules.decide import decide
from chart_binder.rules.first_release import first_release
from chart_binder.rules.recordings import sort_recordings
from rules.making import (
    Json,
    album,
    cases,
    document,
    evidence_of,
    recording,
    release,
    take,
    takes,
    various,
)
from rules.strategies import OF_THEIR_TIME, day_after, documents, every_release

CONFIG = RulesConfig()
LAW = settings(deadline=None, suppress_health_check=list(HealthCheck))


def first_of(evidence: Json | EvidenceBundle) -> FirstRelease | None:
    bundle = read_bundle(evidence)
    return first_release(bundle, decide(bundle, CONFIG), CONFIG)


def in_short(found: FirstRelease | None) -> str:
    if found is None:
        return "none"
    certain = "certain" if found.year_certain else "uncertain"
    return f"{found.date} {found.release_group_mbid or '-'} {certain}"


@pytest.mark.parametrize(("known", "text", "outcome", "reason"), cases("first_releases.txt"))
def test_the_first_release_and_its_year(known: str, text: str, outcome: str, reason: str) -> None:
    found = first_of(evidence_of(known, text))
    assert in_short(found) == outcome, found
    assert (found.because if found else "").find(reason) >= 0, found


# Several recordings, and descriptions that contradict each other.


@pytest.mark.parametrize(("text", "known", "outcome", "carrier"), cases("several_recordings.txt"))
def test_date_and_year_hold_where_all_readings_have_them(
    text: str, known: str, outcome: str, carrier: str
) -> None:
    found = first_of(document(*takes(text, {}), **json.loads(known)))
    assert in_short(found) == outcome, found
    assert ((found and found.recording_mbid) or "-") == carrier


def test_without_recordings_there_is_no_first_release() -> None:
    assert first_of(document()) is None


def test_contradictions_beyond_number_tell_nothing() -> None:
    groups = [
        album(f"A{n}", *(release(f"{1974 + m}", mb_release_id=f"r{n}") for m in range(2)))
        for n in range(6)
    ]
    assert first_of(document(recording(*groups))) is None


def test_a_sibling_is_named_where_no_other_recording_is_on_the_release() -> None:
    early = album("A", "1974-05-01")
    remaster = take("a", album("B", "1980-03-01"), isrcs=["GBAAA7400001"])
    sibling = take("b", early, isrcs=["GBAAA7400001"], relation="sibling", because="one ISRC")
    found = first_of(document(remaster, sibling, siblings="looked_up"))
    assert found is not None
    assert (found.date, found.recording_mbid, found.via_sibling) == ("1974-05-01", "b", True)
    remaster["rg_candidates"].append(early)
    found = first_of(document(remaster, sibling, siblings="looked_up"))
    assert found is not None
    assert (found.recording_mbid, found.via_sibling) == ("a", False)


def test_a_sibling_that_is_on_compilations_too_makes_no_year_certain() -> None:
    one = take("a", various("V", "2004"))
    sibling = take("b", various("W", "2001"), relation="sibling")
    found = first_of(document(one, sibling, siblings="looked_up"))
    assert in_short(found) == "2001 W uncertain"


def test_a_tie_that_nothing_settles_follows_the_canonical_group() -> None:
    bundle = read_bundle(document(recording(album("A", "1974-11-08"), album("B", "1974-11-08"))))
    ruling = decide(bundle, CONFIG, Override(ReleaseGroupId("B")))
    assert in_short(first_release(bundle, ruling, CONFIG)) == "1974-11-08 B certain"


PRESSINGS: tuple[tuple[str, list[Json], str], ...] = (
    # claim, releases of one day, the one that is named
    ("from the artist's country", [{"country": "US"}, {"country": "GB"}], "1"),
    ("in a format of its time", [{"format": "Cassette"}, {"format": '12" Vinyl'}], "1"),
    ("no reissue", [{"disambiguation": "remastered"}, {}], "1"),
    ("by catalogue number", [{"catno": "B 10"}, {"catno": "B 9"}], "1"),
    ("by its words, not its id", [{"country": "US"}, {"country": "DE"}], "1"),
    ("on a medium of its time", [{"format": "CD"}, {"country": "US"}], "1"),
)  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "named"), [pytest.param(*row[1:], id=row[0]) for row in PRESSINGS]
)
def test_of_pressings_of_one_day_one_is_named(changes: list[Json], named: str) -> None:
    made = [
        release("1974-11-08") | change | {"mb_release_id": str(n)}
        for n, change in enumerate(changes)
    ]
    found = first_of(document(recording(album("A", *made, release("1974-11-09")))))
    assert found is not None
    assert (found.release_mbid, found.country) == (named, made[int(named)]["country"])


# Laws.


@LAW
@given(
    st.data(),
    documents(),
    st.sampled_from(("Album", "Single", "Album+Live", "Album+Soundtrack", "Album+Compilation")),
)
def test_a_later_official_release_changes_neither_date_nor_certainty(
    data: st.DataObject, evidence: Json, kind: str
) -> None:
    """Of a full date; a work of the year, or soon after a soundtrack, may bear a collection out."""
    before = first_of(evidence)
    assume(before is not None)
    assert before is not None
    assume(len(before.date) == len("YYYY-MM-DD"))
    candidates = candidates_in(read_bundle(evidence))
    known = {one.group.mb_rg_id: one.last for one in candidates if one.official and one.is_dated}
    groups = evidence["recording_candidates"][0]["rg_candidates"]
    day = PartialDate.parse(before.date).last + data.draw(st.sampled_from((1, 30, 400, 9_000)))
    home = data.draw(st.sampled_from([None, *(g for g in groups if g["mb_rg_id"] in known)]))
    if home is None:
        primary, *secondary = kind.split("+")
        home = album("later") | {"primary_type": primary, "secondary_types": secondary}
        home["artist_credit"] = data.draw(st.sampled_from(("Queen", "Various Artists", None)))
        groups.append(home)
    day = max(day, known.get(home["mb_rg_id"], 0) + 1)
    home["releases"].append(release(day_after(day, 0), mb_release_id="more"))
    after = first_of(evidence)
    assert after is not None
    assert after.date == before.date
    is_soon = day <= PartialDate.parse(before.date).last + CONFIG.lead_window_days
    if day_after(day, 0)[:4] == before.date[:4] or is_soon:
        assert after.year_certain >= before.year_certain
    else:
        assert after.year_certain == before.year_certain


@LAW
@given(documents(most_recordings=2))
def test_no_official_release_is_certainly_earlier(evidence: Json) -> None:
    found = first_of(evidence)
    meant = sort_recordings(read_bundle(evidence)).possible
    ids = {one.mb_recording_id for one in meant}
    official = [
        PartialDate.parse(release["date"] or "")
        for part in evidence["recording_candidates"]
        if part["mb_recording_id"] in ids
        for _, release in every_release(document(part))
        if release["status"] == "Official" and release["format"] in OF_THEIR_TIME
    ]
    if found is None:
        assume(len(meant) == 1)
        weak = [one for one in candidates_of(meant, Artist()) if one.is_weak and one.is_dated]
        assert not weak
        assert not any(when.is_known for when in official)
        return
    when = PartialDate.parse(found.date)
    assert not any(one.is_known and one.last < when.first for one in official)
    assert found.because
    if found.release_mbid:
        dates = {r["mb_release_id"]: r["date"] for _, r in every_release(evidence)}
        assert dates[found.release_mbid].startswith(found.date)
