"""Facts as patches: what a cited fact changes in the evidence, and the evidence with it changed.

A fact is about a release group or a release, and says one field of it. The fields, the bounds that
a group's first date sets, and what is impossible are those of docs/adjudicator.md ("Facts").
"""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files

import msgspec
import tomli

from chart_binder.domain.evidence import EvidenceBundle
from chart_binder.domain.patches import (
    COUNTRY,
    DATE,
    FIRST_DATE,
    PREMIERE,
    PRIMARY_TYPE,
    SECONDARY_TYPES,
    STATUS,
    Patch,
    is_stated,
    things,
)
from chart_binder.domain.vocabulary import country_code, fold
from chart_binder.llm.result import Fact
from chart_binder.rules.labels import Labels

RECORDING = "recording"
"""The field that says which recording a record has: checked at MusicBrainz (llm.records)."""
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_SEPARATORS = re.compile(r"[\W_]+")


@cache
def fact_words() -> Mapping[str, Mapping[str, Sequence[str]]]:
    """Return the words that say a value, folded, by field and value; from package data."""
    text = files("chart_binder.llm").joinpath("fact_words.toml").read_text("utf-8")
    return tomli.loads(text)


def _is_release_date(field: str) -> bool:
    """Return whether a field is the date of a release rather than of another event."""
    stems = fact_words()["date_field"]
    told, other = (
        re.search("|".join(stems[kind]), field, re.IGNORECASE) for kind in ("date", "other")
    )
    return bool(told) and not other


def field_named(written: str) -> str | None:
    """Return the field that moves something and has a name as models write it; None for none."""
    name = _SEPARATORS.sub(" ", _CAMEL.sub(" ", written)).strip().casefold()
    return next((known for known, names in fact_words()["field"].items() if name in names), None)


def read_patch(fact: Fact, labels: Labels) -> Patch | None:
    """Return what a fact changes; None for a field that moves nothing, or an unknown subject.

    Raises `ValueError` for a value that cannot be read, or a field that the subject does not have.
    """
    about = labels.meant_by(fact.about)
    known = field_named(fact.field)
    if known == PREMIERE:
        return _premiere(about, fact.value, labels)
    is_group, is_release = about in labels.titles, about in labels.home
    if not (is_group or is_release):
        return None
    if _is_release_date(fact.field):
        from chart_binder.domain.dates_in_text import read_date  # compiles 0.1 s of expressions

        date = read_date(fact.value)
        if date is None:
            raise ValueError(f"{fact.value!r} is no date that can be read in one way")
        return Patch(about, FIRST_DATE if is_group else DATE, date.text)
    if known in (None, RECORDING):
        return None
    if is_group and known in (COUNTRY, STATUS):
        raise ValueError(f"{known} is a field of a release, such as C1.R1, not of a group")
    if is_release and known in (PRIMARY_TYPE, SECONDARY_TYPES):
        raise ValueError(f"{known} is a field of a group, such as C1, not of a release")
    if value := _named_value(known, fact.value):
        return Patch(about, known, value)
    allowed = ", ".join(fact_words()[known]) if known != COUNTRY else "a country or its code"
    raise ValueError(f"{fact.value!r} is no {known}: {allowed}")


def _premiere(about: str, value: str, labels: Labels) -> Patch | None:
    """Return the patch that a group was the premiere; either side of the fact may name the group.

    Raises `ValueError` where they name two, or the value is no.
    """
    named = labels.meant_by(value)
    groups = {labels.home.get(one, one) for one in (about, named)} & labels.titles.keys()
    is_said = fold(value.strip(" .\"'")) in fact_words()["yes"]["yes"]
    if not groups:
        return None
    if len(groups) > 1 or not (is_said or named in (*labels.titles, *labels.home)):
        raise ValueError(f"{value!r} is no {PREMIERE}: true, of one group")
    return Patch(groups.pop(), PREMIERE, "true")


def _named_value(name: str, written: str) -> str | None:
    plain = " ".join(fold(written).strip(" .\"'").split())
    if name == COUNTRY and re.fullmatch(r"[a-z]{2}", plain):
        return country_code(plain)
    for value, words in fact_words()[name].items():
        if (plain == fold(value) or plain in words) and value != "Song":
            return value
    return None


def is_in_evidence(fact: Fact, patch: Patch | None, bundle: EvidenceBundle) -> bool:
    """Return whether a fact names no source of its own, and the evidence says it."""
    if _OF_SOURCES & set(fact.source) or any(sign.isdigit() for sign in fact.source):
        return False
    if patch:
        return is_stated(bundle, patch)
    groups, releases = things(bundle, fact.about)
    written = (each for one in (*groups, *releases) for each in msgspec.structs.astuple(one))
    return fold(fact.value.strip()) in {fold(each) for each in written if isinstance(each, str)}


_OF_SOURCES = frozenset("./:")
