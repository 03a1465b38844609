"""Evidence of every shape, for laws that must hold of any."""

import copy
from collections.abc import Iterator
from datetime import date, timedelta

from hypothesis import assume
from hypothesis import strategies as st

from chart_binder.domain.dates import PartialDate
from rules.making import Json, document, recording

KINDS = (
    "Album", "Album", "Single", "Single", "EP", "Album+Live", "Album+Soundtrack",
    "Album+Compilation", "Album+Compilation", "Album+Compilation+Soundtrack", "Album+Remix",
    "EP+Live", "Single+Soundtrack", "Other",
)  # fmt: skip
STATUSES = ("Official",) * 6 + ("Promotion", "Bootleg", "Pseudo-Release", "Withdrawn", None)
COUNTING = ("Official", "Withdrawn")
TITLES = ("Song",) * 5 + ("Song (live)", "Song (remix)", "Song (demo)")
CREDITS = ("Queen", "Queen", "Queen", "Various Artists", "David Bowie", None)


YEARS = ("1973", "1974", "1975", "1976")
MONTHS = ("1973-12", "1974-01", "1974-08", "1974-11", "1975-02", "1975-11")
DAYS = (
    "1973-01-01", "1973-06-15", "1973-12-31", "1974-01-01", "1974-02-11", "1974-08-09",
    "1974-08-10", "1974-10-11", "1974-11-07", "1974-11-08", "1974-12-31", "1975-01-01",
    "1975-02-06", "1975-02-07", "1975-11-01", "1975-11-21", "1976-06-01",
)  # fmt: skip
DATES: st.SearchStrategy[str | None] = st.sampled_from((None, *YEARS, *YEARS, *MONTHS, *DAYS))
"""Dates near each other, in every form: windows of 90 days begin and end among them."""

OF_THEIR_TIME = ('12" Vinyl', None)
"""Formats that were there on any of these dates; a CD and a download were not."""

RELEASES: st.SearchStrategy[Json] = st.fixed_dictionaries(
    {
        "date": DATES,
        "country": st.sampled_from(("GB", "GB", "US", "XW", "XE", None)),
        "status": st.sampled_from(STATUSES),
        "format": st.sampled_from((*OF_THEIR_TIME, "CD", "Digital Media")),
        "disambiguation": st.sampled_from((None, None, None, "remastered")),
    }
)


@st.composite
def groups(draw: st.DrawFn, name: str) -> Json:
    primary, *secondary = draw(st.sampled_from(KINDS)).split("+")
    made = draw(st.lists(RELEASES, max_size=3))
    return {
        "mb_rg_id": name, "title": name,
        "artist_credit": draw(st.sampled_from(CREDITS)), "primary_type": primary,
        "secondary_types": secondary, "first_release_date": draw(DATES),
        "releases": [{"mb_release_id": f"{name}.{n}"} | one for n, one in enumerate(made)],
    }  # fmt: skip


@st.composite
def documents(draw: st.DrawFn, most_groups: int = 5, most_recordings: int = 1) -> Json:
    """Bundles of one recording: often two or three records, which is where rules differ."""
    return document(
        *(
            draw(recordings(f"r{number}", most_groups))
            for number in range(draw(st.integers(1, most_recordings)))
        )
    )


@st.composite
def recordings(draw: st.DrawFn, name: str, most_groups: int) -> Json:
    count = draw(st.integers(1, most_groups))
    return recording(
        *(draw(groups(f"{name}g{number}")) for number in range(count)),
        mb_recording_id=name,
        title=draw(st.sampled_from(TITLES)),
        length_ms=draw(st.sampled_from((None, 180_000, 183_000, 240_000))),
        isrcs=draw(st.sampled_from(([], [], ["GBEMI7400001"]))),
        first_release_date=draw(st.one_of(st.none(), DATES)),
    )


def every_release(document: Json) -> Iterator[tuple[Json, Json]]:
    for one in document["recording_candidates"]:
        for group in one["rg_candidates"]:
            for release in group["releases"]:
                yield group, release


@st.composite
def made_exact(draw: st.DrawFn, document: Json) -> Json:
    """The same evidence with the true day behind every partial date.

    A bare year or month beside a whole date within it of the same record stays as it is. A
    recording's own first date is taken from its releases, so where it may be the date of some it is
    the day of the earliest of them; where it may be the own date of a group, which is that of a
    release not listed, it stays as it is; of several recordings such an example is drawn again. If
    an unofficial release may have the group's own date, one may still have it.
    """
    exact = copy.deepcopy(document)
    parts = exact["recording_candidates"]
    hints = [one["first_release_date"] for one in parts if one["first_release_date"]]
    listed = [group["first_release_date"] for one in parts for group in one["rg_candidates"]]
    if len(parts) > 1:
        assume(not any(_may_be_one(day, hint) for day in listed if day for hint in hints))
    days: list[list[tuple[str, str]]] = [[] for _ in parts]
    for one, own in zip(parts, days, strict=True):
        for group in one["rg_candidates"]:
            dated = [(release, "date") for release in group["releases"]]
            copies = [one for one in group["releases"] if one["status"] not in COUNTING]
            is_explained = _has_own_date(group, copies)
            whole = {release["date"] for release in group["releases"] if _is_whole(release)}
            for place, key in dated or [(group, "first_release_date")]:
                text = place[key]
                if text and not any(day != text and day.startswith(text) for day in whole):
                    place[key] = draw(true_days(text))
                if text:
                    own.append((text, place[key]))
            assume(_has_own_date(group, copies) or not is_explained)
    others = [pair for each in days for pair in each]
    groups = [group["first_release_date"] for one in parts for group in one["rg_candidates"]]
    for one, own in zip(parts, days, strict=True):
        if hint := one["first_release_date"]:
            one["first_release_date"] = _first_date_of(draw, hint, own, others, groups)
    return exact


def _has_own_date(group: Json, copies: list[Json]) -> bool:
    """Whether the group's own date may be that of one of its unofficial releases."""
    day = group["first_release_date"]
    return any(day and copy["date"] and _may_be_one(day, copy["date"]) for copy in copies)


def _first_date_of(
    draw: st.DrawFn, hint: str, own: list[tuple[str, str]], others: list[tuple[str, str]],
    groups: list[str | None],
) -> str | None:  # fmt: skip
    if found := [day for text, day in own if _may_be_one(text, hint)]:
        return min(found)
    if found := [day for text, day in others if _may_be_one(text, hint)]:
        still = [day for day in found if _may_be_one(day, hint)]
        assume(still)  # or it would no longer be the date of a release that it may be of
        return min(still)
    return hint if any(_may_be_one(day, hint) for day in groups if day) else draw(true_days(hint))


def _is_whole(release: Json) -> bool:
    """Whether it is an official release of a whole date, on a medium of its time."""
    date = release["date"] or ""
    return release["status"] in COUNTING and len(date) == 10 and release["format"] in OF_THEIR_TIME


def _may_be_one(text: str, other: str) -> bool:
    one, two = PartialDate.parse(text), PartialDate.parse(other)
    return one.first <= two.last and two.first <= one.last


@st.composite
def true_days(draw: st.DrawFn, text: str | None) -> str | None:
    if not text:
        return text
    span = PartialDate.parse(text)
    edges = st.sampled_from((span.first, span.last))
    day = draw(st.one_of(edges, st.integers(span.first, span.last)))
    return date.fromordinal(day).isoformat()


def day_after(day: int, days: int) -> str:
    return (date.fromordinal(day) + timedelta(days)).isoformat()
