"""Facts as patches: what each changes in the evidence, what it leaves, and what is impossible."""

from collections.abc import Iterable
from datetime import date, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from chart_binder.domain.evidence import EvidenceBundle, Release
from chart_binder.domain.evidence_json import read_bundle
from chart_binder.domain.patches import Patch, apply_patches
from chart_binder.llm.open_case import read_patch
from chart_binder.llm.result import Fact
from chart_binder.rules.labels import Labels
from golden.bundles import year_only_single

GROUP = "group"


def evidence(releases: str, **group: Any) -> EvidenceBundle:
    """Return a single's evidence: `1975 NL; - GB promo` are two releases, named R1 and R2."""
    ones = []
    for number, text in enumerate(filter(None, releases.split("; ")), start=1):
        when, country, *status = text.split()
        ones.append(
            {
                "mb_release_id": f"R{number}",
                "date": None if when == "-" else when,
                "country": None if country == "-" else country,
                "status": (status or ["Official"])[0].removeprefix("?") or None,
            }
        )
    known = {"mb_rg_id": GROUP, "title": "Song", "primary_type": "Single"} | group
    return read_bundle(
        {
            "artist": {"name": "A", "begin_area_country": "GB"},
            "recording_candidates": [
                {"mb_recording_id": "x", "rg_candidates": [known | {"releases": ones}]}
            ],
        }
    )


def releases_of(bundle: EvidenceBundle) -> list[Release]:
    return [*bundle.recording_candidates[0].groups[0].editions]


def dates(bundle: EvidenceBundle) -> str:
    return "; ".join(one.date or "-" for one in releases_of(bundle))


@pytest.mark.parametrize(
    ("releases", "first", "after"),
    [
        ("1975 NL", "1975-10-31", "1975-10-31"),
        ("- NL", "1975-10-31", "1975-10-31"),
        ("1975 NL; 1975 GB; 1975 US", "1975-10-31", "1975-10-31/1975; 1975-10-31; 1975-10-31/1975"),
        ("1975 GB; - NL", "1975-10-31", "1975-10-31/1975; 1975-10-31"),
        ("1975-10 NL; 1975 US", "1975-10-31", "1975-10-31/1975-10; 1975-10-31"),
        ("1975-10-31 US; 1975 GB", "1975-10-31", "1975-10-31; 1975-10-31/1975"),
        ("1975 NL; 1975-12-01 GB", "1975-10-31", "1975-10-31; 1975-12-01"),
        (
            "1974-01 NL Promotion; 1975 NL; 1973 NL Bootleg",
            "1975-10-31",
            "1974-01; 1975-10-31; 1973",
        ),
        ("1975 NL", "1975-10", "1975-10"),
        # What says no more than the evidence changes nothing.
        ("1975-10-31 NL", "1975-10-31", None),
        ("1975-10-31 NL; 1976 NL", "1975", None),
        ("1975 NL Promotion", "1975-10-31", None),
        ("1975 NL ?", "1975-10-31", None),
    ],
)
def test_a_groups_first_date_is_the_lower_bound_of_its_official_releases(
    releases: str, first: str, after: str | None
) -> None:
    bundle = evidence(releases)
    patched = apply_patches(bundle, (Patch(GROUP, "first_release_date", first),))
    assert not patched.impossible
    if after is None:
        assert (patched.bundle, patched.changes) == (bundle, {})
    else:
        assert dates(patched.bundle) == after
        assert len(patched.changes) == 1


@pytest.mark.parametrize(
    ("releases", "group", "patch", "after", "before"),
    [
        ("1975 NL", {}, ("R1", "date", "1975-10-31"), "1975-10-31", "1975"),
        ("- NL", {}, ("R1", "date", "1975"), "1975", "unknown"),
        ("- -", {}, ("R1", "country", "GB"), "GB", "unknown"),
        ("- NL ?", {}, ("R1", "status", "Official"), "Official", "unknown"),
        ("", {"primary_type": None}, (GROUP, "primary_type", "Album"), "Album", "unknown"),
        ("- NL", {"primary_type": None}, (GROUP, "secondary_types", "Live"), "Live", "unknown"),
        ("", {"first_release_date": "1975"}, (GROUP, "first_release_date", "1975-10-31"),
         "1975-10-31", "1975"),
        ("", {}, (GROUP, "first_release_date", "1975-10-31"), "1975-10-31", "unknown"),
    ],
)  # fmt: skip
def test_a_field_takes_a_value_that_was_not_known(
    releases: str, group: dict[str, Any], patch: tuple[str, str, str], after: str, before: str
) -> None:
    about, field, _ = patch
    patched = apply_patches(evidence(releases, **group), (Patch(*patch),))
    found = patched.bundle.recording_candidates[0].groups[0]
    value = getattr(found if about == GROUP else found.editions[0], field)
    assert value == ((after,) if field == "secondary_types" else after)
    assert [*patched.changes.values()] == [before]
    again = apply_patches(patched.bundle, (Patch(*patch),))
    assert (again.bundle, again.changes, again.impossible) == (patched.bundle, {}, {})


@pytest.mark.parametrize(
    ("releases", "group", "patch", "finding"),
    [
        ("1974-10-11 NL; 1976 NL", {}, (GROUP, "first_release_date", "1975"), "1974-10-11"),
        ("1976 NL; 1977 GB", {}, (GROUP, "first_release_date", "1975-10-31"), "1976"),
        ("", {"first_release_date": "1974"}, (GROUP, "first_release_date", "1975"), "1974"),
        ("1974 NL", {}, ("R1", "date", "1975-10-31"), "1974"),
        ("1974 NL", {}, ("R1", "country", "GB"), "NL"),
        ("1974 NL", {}, ("R1", "status", "Promotion"), "Official"),
        ("1974 NL", {}, (GROUP, "primary_type", "Album"), "Single"),
        ("1974 NL", {"secondary_types": []}, (GROUP, "secondary_types", "Live"), "none"),
        ("1974 NL", {"secondary_types": ["Demo"]}, (GROUP, "secondary_types", "Live"), "Demo"),
    ],
)
def test_what_the_evidence_rules_out_is_a_finding_and_changes_nothing(
    releases: str, group: dict[str, Any], patch: tuple[str, str, str], finding: str
) -> None:
    bundle = evidence(releases, **group)
    patched = apply_patches(bundle, (Patch(*patch),))
    assert (patched.bundle, patched.changes) == (bundle, {})
    assert [*patched.impossible] == [Patch(*patch)]
    assert finding in patched.impossible[Patch(*patch)]


def test_two_dates_of_one_record_are_a_finding_whatever_their_order() -> None:
    bundle = evidence("1975 NL; 1975 GB")
    one, other = (Patch(GROUP, "first_release_date", f"1975-{day}") for day in ("10-31", "11-07"))
    for patches in ((one, other), (other, one)):
        assert len(apply_patches(bundle, patches).impossible) == 1


DAYS = st.dates(date(1975, 3, 1), date(1976, 10, 1))
RELEASES = st.tuples(DAYS, st.sampled_from([10, 7, 4, 0]), st.sampled_from(["GB", "NL", None]))


def blurred(day: date, length: int) -> str:
    return day.isoformat()[:length] or "-"


def true_patches(days: Iterable[date], lengths: Iterable[int]) -> list[Patch]:
    """Return what true facts say: of the group's first date, twice, and of each release."""
    known = [*days]
    first = [Patch(GROUP, "first_release_date", blurred(min(known), n)) for n in (7, 10)]
    each = zip(known, lengths, strict=False)
    return first + [Patch(f"R{n}", "date", blurred(day, le)) for n, (day, le) in enumerate(each, 1)]


@given(
    st.lists(RELEASES, min_size=1, max_size=4),
    st.lists(st.sampled_from([4, 7, 10]), max_size=4),
    st.data(),
)
def test_true_facts_never_widen_a_span_contradict_or_depend_on_their_order(
    releases: list[tuple[date, int, str | None]], lengths: list[int], data: st.DataObject
) -> None:
    bundle = evidence("; ".join(f"{blurred(day, n)} {place or '-'}" for day, n, place in releases))
    patches = true_patches((day for day, _, _ in releases), lengths)
    chosen = data.draw(st.lists(st.sampled_from(patches), unique=True))
    patched = apply_patches(bundle, chosen)
    assert not patched.impossible
    for before, after in zip(releases_of(bundle), releases_of(patched.bundle), strict=True):
        assert before.when.first <= after.when.first <= after.when.last <= before.when.last
        assert replace(after, date=before.date) == before
    shuffled = apply_patches(bundle, data.draw(st.permutations(chosen)))
    assert shuffled.bundle == patched.bundle


@given(RELEASES, st.integers(-400, 400), st.sampled_from([4, 7, 10]))
def test_no_fact_true_or_false_makes_a_span_longer(
    release: tuple[date, int, str | None], off: int, length: int
) -> None:
    day, known, place = release
    bundle = evidence(f"{blurred(day, known)} {place or '-'}; {day.year} US")
    for about, field in ((GROUP, "first_release_date"), ("R1", "date")):
        patch = Patch(about, field, blurred(day + timedelta(off), length))
        patched = apply_patches(bundle, (patch,))
        assert bool(patched.changes) == (patched.bundle != bundle)
        for one, other in zip(releases_of(bundle), releases_of(patched.bundle), strict=True):
            assert one.when.first <= other.when.first <= other.when.last <= one.when.last


LABELS = Labels.of(read_bundle(year_only_single()))


@pytest.mark.parametrize(
    ("about", "field", "value", "meant"),
    [
        ("C1", "first_release_date", "1975-10-31", ("first_release_date", "1975-10-31")),
        ("C1", "releaseDate", "31 October 1975 (UK)", ("first_release_date", "1975-10-31")),
        ("Bohemian Rhapsody (Single)", "date", "Oct 1975", ("first_release_date", "1975-10")),
        ("C1.R1", "first release date", "31.10.1975", ("date", "1975-10-31")),
        ("C1.R1", "country", "UK", ("country", "GB")),
        ("C1.R1", "release country", "West Germany", ("country", "DE")),
        ("C1.R1", "country", "xe", ("country", "XE")),
        ("C1.R1", "status", "promo", ("status", "Promotion")),
        ("C1", "type", "single", ("primary_type", "Single")),
        ("C1", "secondary_types", "Greatest hits", ("secondary_types", "Compilation")),
        # Moves nothing.
        ("C1", "label", "EMI", None),
        ("C1", "recording date", "1975-08-24", None),
        ("C1", "chart_date", "1975-11-29", None),
        ("C9", "date", "1975-10-31", None),
        ("", "date", "1975-10-31", None),
    ],
)  # fmt: skip
def test_a_patch_is_read_as_models_write_facts(
    about: str, field: str, value: str, meant: tuple[str, str] | None
) -> None:
    patch = read_patch(Fact(about, field, value, ""), LABELS)
    assert (patch and (patch.field, patch.value)) == meant


@pytest.mark.parametrize(
    ("about", "field", "value", "told"),
    [
        ("C1", "date", "10/11/1975", "no date that can be read in one way"),
        ("C1", "date", "between 1975 and 1976", "no date"),
        ("C1", "country", "GB", "a field of a release, such as C1.R1"),
        ("C1.R1", "type", "Single", "a field of a group, such as C1"),
        ("C1.R1", "status", "odd", "Official, Promotion, Bootleg"),
        ("C1.R1", "country", "Atlantis", "a country or its code"),
        ("C1", "primary_type", "song", "Album, Single, EP"),
    ],
)
def test_a_value_that_cannot_be_read_is_told(about: str, field: str, value: str, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        read_patch(Fact(about, field, value, ""), LABELS)
