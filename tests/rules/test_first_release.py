"""The first release: on which record, with which date, and whether the year is certain."""

import copy
import json
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from chart_binder.config import RulesConfig
from chart_binder.domain.dates import PartialDate
from chart_binder.domain.evidence import EvidenceBundle
from chart_binder.domain.evidence_json import read_bundle
from chart_binder.domain.verdict import FirstRelease, Override
from chart_binder.domain.vocabulary import ReleaseGroupId
from chart_binder.rules.candidates import candidates_of
from chart_binder.rules.decide import decide
from chart_binder.rules.first_release import first_release
from chart_binder.rules.recordings import sort_recordings
from rules.making import (
    Json,
    album,
    cases,
    compilation,
    document,
    recording,
    records,
    release,
    single,
    take,
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


OF_ALL = ("siblings", "complete", "provenance")


@pytest.mark.parametrize(("known", "text", "outcome", "reason"), cases("first_releases.txt"))
def test_the_first_release_and_its_year(known: str, text: str, outcome: str, reason: str) -> None:
    facts = json.loads(known)
    of_all = {name: facts.pop(name) for name in OF_ALL if name in facts}
    premiere = facts.pop("premiere", None)
    made = [
        one | ({"premiere": True} if one["mb_rg_id"] == premiere else {}) for one in records(text)
    ]
    found = first_of(document(recording(*made, **facts), **of_all))
    assert in_short(found) == outcome, found
    assert (found.because if found else "").find(reason) >= 0, found


# Several recordings, and descriptions that contradict each other.

EARLY, LATE = album("A", "1974-05-01"), album("B", "1980-03-01")
SHORT, MONO_SINGLE = take("a", EARLY, length_ms=180_000), single("S", "1966-01-07")
MONO = take("a", MONO_SINGLE, disambiguation="mono")
LATER = album("A", "1967-03-25")


def long(group: Json) -> Json:
    return take("b", group, length_ms=300_000)


def dated_twice(other: str) -> Json:
    """An album with a release of two dates."""
    return album("A", *(release(one, mb_release_id="r") for one in ("1974-01-01", other)))


SEVERAL: tuple[tuple[str, Json, str, str | None], ...] = (
    # claim, evidence, date, group and certainty, recording
    ("no recording", document(), "none", None),
    ("two versions of two years", document(SHORT, long(LATE)), "none", None),
    ("two versions of one year", document(SHORT, long(album("B", "1974-11-08"))),
     "1974 - certain", None),
    ("two versions of one record", document(SHORT, long(EARLY)), "1974-05-01 A certain", None),
    ("two versions, one of them on bootlegs only",
     document(SHORT, long(album("B", release("1974", status="Bootleg")))), "none", None),
    ("two versions, one of them of an uncertain year",
     document(SHORT, long(various("V", "1974-08"))), "1974 - uncertain", None),
    ("the file's length tells the version",
     document(SHORT, long(LATE), artifact={"duration_ms": 299_000}), "1980-03-01 B certain", "b"),
    ("a live take is another recording",
     document(take("a", EARLY, title="Song (live)"), take("b", LATE)), "1980-03-01 B certain", "b"),
    ("an edit is another recording",
     document(take("a", EARLY, title="Song (single edit)"), take("b", LATE)),
     "1980-03-01 B certain", "b"),
    ("a mono mix is another recording than one of which nothing is said",
     document(MONO, take("b", LATER)), "1967-03-25 A certain", "b"),
    ("a mono and a stereo mix of one year",
     document(MONO, take("b", album("A", "1966-03-25"), disambiguation="stereo")),
     "1966 - certain", None),
    ("a mono and a stereo mix of two years",
     document(MONO, take("b", LATER, title="Song (stereo)")), "none", None),
    ("a mono mix that the title names",
     document(MONO, take("b", LATER), recording_title="Song (mono)"), "1966-01-07 S certain", "a"),
    ("a mono mix of the same ISRC",
     document(take("a", MONO_SINGLE, disambiguation="mono", isrcs=["GBAAA6600001"]),
              take("b", LATER, isrcs=["GBAAA6600001"])), "1966-01-07 S certain", "a"),
    ("a duplicate that is on an earlier record",
     document(take("a", LATE, isrcs=["GBAAA7400001"]), take("b", EARLY, isrcs=["GBAAA7400001"])),
     "1974-05-01 A certain", "b"),
    ("two groups of one year on two duplicates",
     document(take("a", album("A", "1974")), take("b", single("S", "1974"))),
     "1974 - certain", None),
    ("a release of two days in one year", document(recording(dated_twice("1974-05-01"))),
     "1974 A certain", "rec"),
    ("a release of two years", document(recording(dated_twice("1975-05-01"))), "none", None),
    ("a release of two years beside an earlier one",
     document(recording(dated_twice("1975-05-01"), single("S", "1973"))),
     "1973 S certain", "rec"),
    ("a record of two kinds", document(recording(compilation("C", "1981"), single("C", "1981"))),
     "1981 C uncertain", "rec"),
    ("a group that stands twice",
     document(recording(album("A", "1975"), album("A", release("1974-05-01", mb_release_id="r")))),
     "1974-05-01 A certain", "rec"),
    ("a reissue before an unmarked pressing, where siblings were looked up",
     document(recording(album("A", release("2001-05-29", disambiguation="reissue"), "2001-09-01")),
              siblings="looked_up"), "2001-05-29 A uncertain", "rec"),
    ("a reissue beside an unmarked pressing of its day",
     document(recording(album("A", release("2001-05-29", disambiguation="reissue"), "2001-05-29"))),
     "2001-05-29 A certain", "rec"),
    ("a deluxe edition may be the first",
     document(recording(album("A", release("2001-05-29", disambiguation="deluxe edition")))),
     "2001-05-29 A certain", "rec"),
)  # fmt: skip


@pytest.mark.parametrize(
    ("evidence", "outcome", "carrier"), [pytest.param(*row[1:], id=row[0]) for row in SEVERAL]
)
def test_date_and_year_hold_where_all_readings_have_them(
    evidence: Json, outcome: str, carrier: str | None
) -> None:
    found = first_of(evidence)
    assert in_short(found) == outcome, found
    assert (found.recording_mbid if found else None) == carrier


def test_contradictions_beyond_number_tell_nothing() -> None:
    groups = [
        album(f"A{n}", *(release(f"{1974 + m}", mb_release_id=f"r{n}") for m in range(2)))
        for n in range(6)
    ]
    assert first_of(document(recording(*groups))) is None


def test_a_sibling_is_named_where_no_other_recording_is_on_the_release() -> None:
    remaster = take("a", LATE, isrcs=["GBAAA7400001"])
    sibling = take("b", EARLY, isrcs=["GBAAA7400001"], relation="sibling", because="one ISRC")
    found = first_of(document(remaster, sibling, siblings="looked_up"))
    assert found is not None
    assert (found.date, found.recording_mbid, found.via_sibling) == ("1974-05-01", "b", True)
    remaster["rg_candidates"].append(EARLY)
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
    """Of a full date; a work of the same year may bear out a collection, and that alone."""
    before = first_of(evidence)
    assume(before is not None)
    assert before is not None
    assume(len(before.date) == len("YYYY-MM-DD"))
    candidates = candidates_of(read_bundle(evidence).recording_candidates)
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
    if day_after(day, 0)[:4] == before.date[:4]:
        assert after.year_certain >= before.year_certain
    else:
        assert after.year_certain == before.year_certain


@LAW
@given(documents(most_recordings=2))
def test_new_ids_move_nothing_but_ids(evidence: Json) -> None:
    names: dict[str, str] = {}
    renamed = copy.deepcopy(evidence)
    for one in _objects(renamed):
        for key in ("mb_recording_id", "mb_rg_id", "mb_release_id"):
            if key in one:
                names[one[key]] = one[key] = f"{900 - len(names)}-{one[key][::-1]}"
    before, after = first_of(evidence), first_of(renamed)
    if before is None or after is None:
        assert before is after
        return
    assert after.release_group_mbid == names.get(before.release_group_mbid or "")
    ids = ("release_mbid", "release_group_mbid", "recording_mbid")
    bare = [
        {name: getattr(found, name) for name in found.__struct_fields__ if name not in ids}
        for found in (before, after)
    ]
    assert bare[0] == bare[1]


def _objects(value: Any) -> list[Json]:
    if isinstance(value, dict):
        return [value, *(one for each in value.values() for one in _objects(each))]
    return [one for each in value for one in _objects(each)] if isinstance(value, list) else []


@LAW
@given(documents(most_recordings=2))
def test_no_official_release_is_certainly_earlier(evidence: Json) -> None:
    found = first_of(evidence)
    meant = sort_recordings(read_bundle(evidence)).kept
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
        weak = [one for one in candidates_of(meant) if one.is_weak and one.is_dated]
        assert not weak
        assert not any(when.is_known for when in official)
        return
    when = PartialDate.parse(found.date)
    assert not any(one.is_known and one.last < when.first for one in official)
    assert found.because
    if found.release_mbid:
        dates = {r["mb_release_id"]: r["date"] for _, r in every_release(evidence)}
        assert dates[found.release_mbid].startswith(found.date)
