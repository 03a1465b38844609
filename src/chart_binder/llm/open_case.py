"""The open case: the evidence with its labels, what facts change in it, and what they lead to."""

import contextlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import msgspec

from chart_binder.config import LLMConfig, RulesConfig
from chart_binder.domain.evidence import EvidenceBundle, RecordingCandidate
from chart_binder.domain.evidence_json import with_recordings
from chart_binder.domain.patches import (
    COUNTRY,
    DATE,
    FIRST_DATE,
    FIRST_RELEASE,
    PREMIERE,
    PRIMARY_TYPE,
    SECONDARY_TYPES,
    STATUS,
    THE_RECORDING,
    Patch,
    adds_to,
    apply_patches,
    fact_words,
    field_named,
    is_release_date,
    is_stated,
    named_value,
    things,
)
from chart_binder.domain.verdict import Decided, Open, Question, Verdict
from chart_binder.domain.vocabulary import fold
from chart_binder.llm.result import Fact
from chart_binder.rules.decide import decide, group_settled
from chart_binder.rules.first_release import NOTHING_DATED, first_release, year_case
from chart_binder.rules.labels import Labels
from chart_binder.web.documents import independent_sources

SOURCES_OF_FOUND = 2
"""Independent sources that a fact needs which only code found."""
RECORDING = "recording"
"""The field that says which recording a record has: checked at MusicBrainz (llm.recording)."""


@dataclass(frozen=True, slots=True)
class RulesOnFacts:
    """What verified facts lead to: the verdict, and those among them that it turns on."""

    verdict: Verdict
    turns_on: tuple[Patch, ...] = ()
    sources: int = 0
    """The independent sources of the fact that has the fewest, of those the verdict turns on."""
    short: tuple[tuple[Patch, int], ...] = ()
    """The facts that have too few sources, with how many more they need."""


@dataclass(frozen=True, slots=True)
class SettledCase:
    """What the rules say of a case: its group, or its year if that is asked; or what is missing."""

    said: str
    crg: str | None
    is_settled: bool


@dataclass(frozen=True, slots=True)
class OpenCase:
    """The evidence with its labels, and what decides: the rules, and how far facts are trusted.

    If it `asks_year`, the rules decide the group, and the year of the first release is asked for;
    if it `asks_date`, the group stays open, and what is found counts for that date alone.
    """

    bundle: EvidenceBundle
    labels: Labels
    rules: RulesConfig
    config: LLMConfig
    asks_year: bool = False
    asks_date: bool = False

    def with_recordings(self, added: Iterable[RecordingCandidate]) -> "OpenCase":
        """Return the case with further recordings in its evidence; labels stay as they are."""
        bundle = with_recordings(self.bundle, added)
        return replace(self, bundle=bundle, labels=self.labels.extended(bundle))

    def verdict(self, patches: Sequence[Patch] = ()) -> Verdict:
        """Return the rules' verdict with patches applied."""
        return decide(self.patched(patches), self.rules)

    def patched(self, patches: Iterable[Patch]) -> EvidenceBundle:
        """Return the evidence with patches applied, which is made once for the same patches."""
        key = frozenset(patches)
        return self.bundle.once(
            ("patched", key), lambda: apply_patches(self.bundle, key).bundle if key else self.bundle
        )

    @property
    def questions(self) -> Sequence[Question]:
        """The open questions; none if there is nothing to ask about the evidence as it is."""
        verdict: Verdict | None = self.verdict()
        if self.asks_year and verdict:
            verdict = year_case(self.bundle, verdict, self.rules)
        return verdict.questions if isinstance(verdict, Open) else ()

    def settles(self, patches: Iterable[Patch]) -> str | None:
        """Return what the rules decide with patches applied, None if it is open.

        That is the group, with the year behind it if that is asked, or the first date alone.
        """
        patched = self.patched(patches)
        if not (self.asks_year or self.asks_date):
            return group_settled(patched, self.rules)
        verdict = decide(patched, self.rules)
        first = first_release(patched, verdict, self.rules)
        if first is None or not first.year_certain:
            return None
        if self.asks_date:
            return first.date
        return f"{verdict.crg} {first.year}" if isinstance(verdict, Decided) else None

    def outcome(self, patches: Sequence[Patch]) -> SettledCase:
        """Return what the rules say with patches applied, in words."""
        verdict = self.verdict(patches)
        if not isinstance(verdict, Decided):
            missing = next(iter(verdict.missing_facts), verdict.because)
            return SettledCase(missing, None, is_settled=False)
        if not self.asks_year:
            said = f"the rules give {self.labels.name_of(verdict.crg)}"
            return SettledCase(said, verdict.crg, is_settled=True)
        first = first_release(self.patched(patches), verdict, self.rules)
        if first is None:
            return SettledCase(NOTHING_DATED, verdict.crg, is_settled=False)
        said = f"it first came out in {first.year}" if first.year_certain else first.because
        return SettledCase(said, verdict.crg, is_settled=first.year_certain)

    def sources_needed(self, *, is_cited: bool) -> int:
        """Return how many independent sources a fact needs: two at least that nobody cites."""
        least = self.config.acceptance.min_sources
        return least if is_cited else max(least, SOURCES_OF_FOUND)

    def needed(self, patches: Sequence[Patch]) -> tuple[Patch, ...]:
        """Return the patches that the rules' decision turns on, as few as can be; none if open."""
        settled, needed = self.settles(patches), list(patches)
        if settled is None:
            return ()
        for patch in patches:
            fewer = [one for one in needed if one is not patch]
            if self.settles(fewer) == settled:
                needed = fewer
        return tuple(needed)

    def patch_of(self, fact: Fact) -> Patch | None:
        """Return what a fact changes; None for what moves nothing or cannot be read."""
        with contextlib.suppress(ValueError):
            return read_patch(fact, self.labels)
        return None

    def verified_patches(self, facts: Sequence[Fact]) -> dict[Patch, list[Fact]]:
        """Return what the verified facts among some change, each with the facts that say so."""
        cited: dict[Patch, list[Fact]] = {}
        for fact in facts:
            if fact.verified and (patch := self.patch_of(fact)):
                cited.setdefault(patch, []).append(fact)
        return cited

    def weigh(self, facts: Sequence[Fact]) -> RulesOnFacts:
        """Return what the verified facts lead to; one with a trusted page needs no more sources."""
        cited = self.verified_patches(facts)
        patches = [patch for patch in cited if adds_to(self.bundle, patch)]
        patches.sort(key=lambda one: (one.field != FIRST_RELEASE, len(cited[one]), one.about))
        verdict, needed = self.verdict(patches), self.needed(patches)
        sources = [
            len(independent_sources(fact.source for fact in cited[patch])) for patch in needed
        ]
        lacking = [(patch, self.sources_lacking(cited[patch])) for patch in needed]
        short = tuple((patch, count) for patch, count in lacking if count > 0)
        return RulesOnFacts(verdict, needed, min(sources, default=0), short)

    def sources_lacking(self, facts: Sequence[Fact]) -> int:
        """Return how many more sources verified facts that say the same need, if above zero."""
        if any(fact.trusted for fact in facts):
            return 0
        least = self.sources_needed(is_cited=any(fact.cited for fact in facts))
        return least - len(independent_sources(fact.source for fact in facts))


def with_facts(
    bundle: EvidenceBundle, facts: Sequence[Fact], rules: RulesConfig, *, are_accepted: bool = False
) -> EvidenceBundle:
    """Return evidence with the verified facts that have sources enough, or `are_accepted`."""
    case = OpenCase(bundle, Labels.of(bundle), rules, LLMConfig())
    verified = case.verified_patches(facts)
    return case.patched(
        patch for patch, same in verified.items() if are_accepted or case.sources_lacking(same) <= 0
    )


def weigh_facts(bundle: EvidenceBundle, facts: Sequence[Fact], rules: RulesConfig) -> RulesOnFacts:
    """Return what the verified facts of a result lead to, as the rules are today."""
    return OpenCase(bundle, Labels.of(bundle), rules, LLMConfig()).weigh(facts)


# What a fact changes.


def read_patch(fact: Fact, labels: Labels) -> Patch | None:
    """Return what a fact changes; None for a field that moves nothing, or an unknown subject.

    Raises `ValueError` for a value that cannot be read or a field that the subject lacks.
    """
    about = labels.meant_by(fact.about)
    known = field_named(fact.field)
    if known == PREMIERE:
        return _premiere(about, fact.value, labels)
    is_group, is_release = about in labels.titles, about in labels.home
    is_of_song = known == FIRST_RELEASE and not (is_group or is_release)
    if not (is_group or is_release or is_of_song):
        return None
    if is_of_song or is_release_date(fact.field):
        from chart_binder.domain.dates_in_text import read_date  # compiles 0.1 s of expressions

        date = read_date(fact.value)
        if date is None:
            raise ValueError(f"{fact.value!r} is no date that can be read in one way")
        if is_of_song:
            return Patch(THE_RECORDING, FIRST_RELEASE, date.text)
        return Patch(about, FIRST_DATE if is_group else DATE, date.text)
    if known in (None, RECORDING):
        return None
    if is_group and known in (COUNTRY, STATUS):
        raise ValueError(f"{known} is a field of a release, such as C1.R1, not of a group")
    if is_release and known in (PRIMARY_TYPE, SECONDARY_TYPES):
        raise ValueError(f"{known} is a field of a group, such as C1, not of a release")
    if value := named_value(known, fact.value):
        return Patch(about, known, value)
    allowed = ", ".join(fact_words()[known]) if known != COUNTRY else "a country or its code"
    raise ValueError(f"{fact.value!r} is no {known}: {allowed}")


def _premiere(about: str, value: str, labels: Labels) -> Patch | None:
    group = labels.home.get(about, about)
    is_said = fold(value.strip(" .\"'")) in fact_words()["yes"]["yes"]
    if group not in labels.titles:
        return None
    if not (is_said or labels.meant_by(value) == group):
        raise ValueError(f"{value!r} is no {PREMIERE}: true, of one group")
    return Patch(group, PREMIERE, "true")


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
