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
from corpus import rows
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


@pytest.mark.parametrize(("releases", "first", "after"), rows(__file__, "first_dates"))
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


@pytest.mark.parametrize(("releases", "group", "patch", "after", "before"), rows(__file__, "taken"))
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


@pytest.mark.parametrize(("releases", "group", "patch", "finding"), rows(__file__, "ruled_out"))
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


@pytest.mark.parametrize(("about", "field", "value", "meant"), rows(__file__, "patches"))
def test_a_patch_is_read_as_models_write_facts(
    about: str, field: str, value: str, meant: tuple[str, str] | None
) -> None:
    patch = read_patch(Fact(about, field, value, ""), LABELS)
    assert (patch and (patch.field, patch.value)) == meant


@pytest.mark.parametrize(("about", "field", "value", "told"), rows(__file__, "unread"))
def test_a_value_that_cannot_be_read_is_told(about: str, field: str, value: str, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        read_patch(Fact(about, field, value, ""), LABELS)
