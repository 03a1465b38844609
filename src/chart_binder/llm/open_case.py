"""The open case: the evidence, what facts change in it, and what the rules then decide."""

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
    records_with_id,
)
from chart_binder.domain.verdict import Decided, Open, Question, Verdict
from chart_binder.domain.vocabulary import fold
from chart_binder.llm.result import Fact
from chart_binder.rules.decide import decide, group_settled
from chart_binder.rules.first_release import NOTHING_DATED, first_release, year_case
from chart_binder.rules.labels import Labels
from chart_binder.web.documents import independent_sources

SOURCES_IF_UNCITED = 2
"""Independent sources that a fact needs if the model does not cite it."""
RECORDING = "recording"
"""The field for a recording that a record has, which is checked at MusicBrainz."""


@dataclass(frozen=True, slots=True)
class RulesOnFacts:
    """The rules' verdict with verified facts, and the changes that it depends on."""

    verdict: Verdict
    turns_on: tuple[Patch, ...] = ()
    sources: int = 0
    """The least number of independent sources of a fact that the verdict depends on."""
    lacking: tuple[tuple[Patch, int], ...] = ()
    """The changes that have too few sources, each with the number of sources that it lacks."""


@dataclass(frozen=True, slots=True)
class CaseOutcome:
    """What the rules say of a case: the group, the year if it is asked for, or what is missing."""

    text: str
    crg: str | None
    is_settled: bool


@dataclass(frozen=True, slots=True)
class OpenCase:
    """The evidence with its labels, and the configuration by which rules decide and facts count.

    With `asks_year`, the rules decide the group, and only the year of the first release is open.
    With `asks_date`, the group stays open, and facts count only if they settle the first date.
    """

    bundle: EvidenceBundle
    labels: Labels
    rules: RulesConfig
    config: LLMConfig
    asks_year: bool = False
    asks_date: bool = False

    def with_recordings(self, recordings: Iterable[RecordingCandidate]) -> "OpenCase":
        """Return the case with further recordings in its evidence; labels stay as they are."""
        bundle = with_recordings(self.bundle, recordings)
        return replace(self, bundle=bundle, labels=self.labels.extended(bundle))

    def verdict(self, patches: Sequence[Patch] = ()) -> Verdict:
        """Return the rules' verdict with patches applied."""
        return decide(self.patched(patches), self.rules)

    def patched(self, patches: Iterable[Patch]) -> EvidenceBundle:
        """Return the evidence with patches applied; it is cached for each set of patches."""
        key = frozenset(patches)
        return self.bundle.once(
            ("patched", key), lambda: apply_patches(self.bundle, key).bundle if key else self.bundle
        )

    @property
    def questions(self) -> Sequence[Question]:
        """The open questions; empty if the rules decide."""
        verdict: Verdict | None = self.verdict()
        if self.asks_year and verdict:
            verdict = year_case(self.bundle, verdict, self.rules)
        return verdict.questions if isinstance(verdict, Open) else ()

    def decision_with(self, patches: Iterable[Patch]) -> str | None:
        """Return what the rules decide with patches applied; None if the case stays open.

        The text is the id of the group, with the year if it is asked for, or the first date alone.
        It serves to compare decisions.
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

    def outcome(self, patches: Sequence[Patch]) -> CaseOutcome:
        """Return what the rules say with patches applied."""
        verdict = self.verdict(patches)
        if not isinstance(verdict, Decided):
            missing = next(iter(verdict.missing_facts), verdict.because)
            return CaseOutcome(missing, None, is_settled=False)
        if not self.asks_year:
            text = f"the rules give {self.labels.name_of(verdict.crg)}"
            return CaseOutcome(text, verdict.crg, is_settled=True)
        first = first_release(self.patched(patches), verdict, self.rules)
        if first is None:
            return CaseOutcome(NOTHING_DATED, verdict.crg, is_settled=False)
        text = f"it first came out in {first.year}" if first.year_certain else first.because
        return CaseOutcome(text, verdict.crg, is_settled=first.year_certain)

    def sources_needed(self, *, is_cited: bool) -> int:
        """Return how many independent sources a fact needs: at least two if it is not cited."""
        minimum = self.config.acceptance.min_sources
        return minimum if is_cited else max(minimum, SOURCES_IF_UNCITED)

    def needed(self, patches: Sequence[Patch]) -> tuple[Patch, ...]:
        """Return only the patches that the decision needs; none if the rules do not decide."""
        decision, needed = self.decision_with(patches), list(patches)
        if decision is None:
            return ()
        for patch in patches:
            fewer = [candidate for candidate in needed if candidate is not patch]
            if self.decision_with(fewer) == decision:
                needed = fewer
        return tuple(needed)

    def patch_of(self, fact: Fact) -> Patch | None:
        """Return what a fact changes, None if it changes nothing or cannot be read."""
        with contextlib.suppress(ValueError):
            return read_patch(fact, self.labels)
        return None

    def verified_patches(self, facts: Sequence[Fact]) -> dict[Patch, list[Fact]]:
        """Return what verified facts change, each change with the facts that state it."""
        cited: dict[Patch, list[Fact]] = {}
        for fact in facts:
            if fact.verified and (patch := self.patch_of(fact)):
                cited.setdefault(patch, []).append(fact)
        return cited

    def weigh(self, facts: Sequence[Fact]) -> RulesOnFacts:
        """Return the rules' verdict with the verified facts, and which changes lack sources."""
        cited = self.verified_patches(facts)
        patches = [patch for patch in cited if adds_to(self.bundle, patch)]
        patches.sort(
            key=lambda patch: (patch.field != FIRST_RELEASE, len(cited[patch]), patch.about)
        )
        verdict, needed = self.verdict(patches), self.needed(patches)
        sources = [
            len(independent_sources(fact.source for fact in cited[patch])) for patch in needed
        ]
        counts = [(patch, self.sources_lacking(cited[patch])) for patch in needed]
        lacking = tuple((patch, count) for patch, count in counts if count > 0)
        return RulesOnFacts(verdict, needed, min(sources, default=0), lacking)

    def sources_lacking(self, facts: Sequence[Fact]) -> int:
        """Return how many sources are missing for a patch's facts; one trusted page is enough."""
        if any(fact.trusted for fact in facts):
            return 0
        needed = self.sources_needed(is_cited=any(fact.cited for fact in facts))
        return needed - len(independent_sources(fact.source for fact in facts))


def with_facts(
    bundle: EvidenceBundle, facts: Sequence[Fact], rules: RulesConfig, *, are_accepted: bool = False
) -> EvidenceBundle:
    """Return the evidence with the verified facts that have sources enough or `are_accepted`."""
    case = OpenCase(bundle, Labels.of(bundle), rules, LLMConfig())
    verified = case.verified_patches(facts)
    return case.patched(
        patch
        for patch, sources in verified.items()
        if are_accepted or case.sources_lacking(sources) <= 0
    )


def weigh_facts(bundle: EvidenceBundle, facts: Sequence[Fact], rules: RulesConfig) -> RulesOnFacts:
    """Return the verdict of today's rules with the verified facts of a result."""
    return OpenCase(bundle, Labels.of(bundle), rules, LLMConfig()).weigh(facts)


# What a fact changes.


def read_patch(fact: Fact, labels: Labels) -> Patch | None:
    """Return what a fact changes; None for a field without effect, or an unknown subject.

    Raises `ValueError` for a value that cannot be read or a field that the subject lacks.
    """
    about = labels.meant_by(fact.about)
    field = field_named(fact.field)
    if field == PREMIERE:
        return _premiere(about, fact.value, labels)
    is_group, is_release = about in labels.titles, about in labels.home
    is_of_song = field == FIRST_RELEASE and not (is_group or is_release)
    if not (is_group or is_release or is_of_song):
        return None
    if is_of_song or is_release_date(fact.field):
        from chart_binder.domain.dates_in_text import read_date  # compiles 0.1 s of expressions

        date = read_date(fact.value)
        if date is None:
            raise ValueError(f"{fact.value!r} is not a date, or an ambiguous one")
        if is_of_song:
            return Patch(THE_RECORDING, FIRST_RELEASE, date.text)
        return Patch(about, FIRST_DATE if is_group else DATE, date.text)
    if field in (None, RECORDING):
        return None
    if is_group and field in (COUNTRY, STATUS):
        raise ValueError(f"{field} is a field of a release, such as C1.R1, not of a group")
    if is_release and field in (PRIMARY_TYPE, SECONDARY_TYPES):
        raise ValueError(f"{field} is a field of a group, such as C1, not of a release")
    if value := named_value(field, fact.value):
        return Patch(about, field, value)
    allowed = ", ".join(fact_words()[field]) if field != COUNTRY else "a country or its code"
    raise ValueError(f"{fact.value!r} is not a valid {field}: {allowed}")


def _premiere(about: str, value: str, labels: Labels) -> Patch | None:
    group = labels.home.get(about, about)
    is_yes = fold(value.strip(" .\"'")) in fact_words()["yes"]["yes"]
    if group not in labels.titles:
        return None
    if not (is_yes or labels.meant_by(value) == group):
        raise ValueError(f"{value!r} is not a valid {PREMIERE}: true, of one group")
    return Patch(group, PREMIERE, "true")


def is_in_evidence(fact: Fact, patch: Patch | None, bundle: EvidenceBundle) -> bool:
    """Return whether a fact names no source, and the evidence itself says it."""
    if _URL_SIGNS & set(fact.source) or any(sign.isdigit() for sign in fact.source):
        return False
    if patch:
        return is_stated(bundle, patch)
    groups, releases = records_with_id(bundle, fact.about)
    values = (value for entity in (*groups, *releases) for value in msgspec.structs.astuple(entity))
    return fold(fact.value.strip()) in {fold(value) for value in values if isinstance(value, str)}


_URL_SIGNS = frozenset("./:")
