"""Explain a decision: where the recording appeared, the lead window, why candidates lost."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date

import msgspec
from msgspec.structs import replace

from chart_binder.config import RulesConfig
from chart_binder.domain.dates import PartialDate
from chart_binder.domain.evidence import EvidenceBundle, Release
from chart_binder.domain.verdict import Decided, Open, Rival
from chart_binder.domain.vocabulary import ReleaseGroupId, ReleaseId
from chart_binder.jobs.decision import Case
from chart_binder.jobs.wording import edition_text
from chart_binder.rules.candidates import Candidate, candidates_in
from chart_binder.rules.contest import candidates_meant, contest_of
from chart_binder.rules.explain import explain_losers
from chart_binder.rules.premiere import apply_rules
from chart_binder.rules.recordings import sorted_recordings
from chart_binder.rules.representative import first_by_content

_LONGEST_REASON = 200
WITH_FACTS = ", counting the verified facts"


class DateSource(msgspec.Struct, frozen=True):
    """A date with the release that has it, if it is not the release group's own date."""

    date: str
    release: ReleaseId | None = None
    status: str | None = None
    description: str = msgspec.field(default="", name="said")
    """The release in words, as far as known: `GB, EMI (EMI 2375), 7" Vinyl`."""
    others: int = 0
    """The number of other releases with this date."""


class Appearance(msgspec.Struct, frozen=True):
    """A candidate with the days between which the recording appeared on it."""

    release_group: ReleaseGroupId
    title: str
    kind: str
    counts: bool
    """Whether it has an official release; if not, it decides nothing."""
    since: date | None
    by: date | None
    sources: tuple[DateSource, ...]
    """The sources of these days: two if the earliest release has an incomplete date."""
    aside: tuple[DateSource, ...]
    """Unofficial releases, such as promos, which decide nothing."""


class LeadWindow(msgspec.Struct, frozen=True):
    """The days on which an album must come out for the single to be its lead single.

    If the date of the single is incomplete, the days from `earliest` to `latest` may be in the
    window; those from `from_` to `to`, if there are any, are in it for certain.
    """

    single: ReleaseGroupId
    days: int
    earliest: date
    from_: date | None = msgspec.field(name="from")
    to: date | None
    latest: date


def appearances(bundle: EvidenceBundle) -> tuple[Appearance, ...]:
    """Return the candidates that the rules compare, the earliest first."""
    return tuple(map(_appearance, candidates_meant(bundle)))


def lead_window(bundle: EvidenceBundle, rules_config: RulesConfig) -> LeadWindow | None:
    """Return the window of the earliest single, if there is a studio album."""
    contest = contest_of(bundle, rules_config)
    if contest.intent or not contest.singles or not contest.albums:
        return None
    single, days = contest.singles[0], contest.settings.lead_window_days
    if not single.is_dated:
        return None
    certain = single.last + 1, single.first + days
    is_any = certain[0] <= certain[1]
    return LeadWindow(
        single=single.id,
        days=days,
        earliest=_day(single.first + 1),
        from_=_day(certain[0]) if is_any else None,
        to=_day(certain[1]) if is_any else None,
        latest=_day(single.last + days),
    )


def _day(ordinal: int) -> date:
    return date.fromordinal(min(ordinal, date.max.toordinal()))


def _appearance(candidate: Candidate) -> Appearance:
    """Return how a candidate appeared; its unofficial releases without a date come last."""
    dates = dict.fromkeys((candidate.since, candidate.by)) if candidate.is_dated else ()
    by_date: dict[tuple[PartialDate, str], list[Release]] = {}
    for unofficial in candidate.unofficial:
        by_date.setdefault((unofficial.when, unofficial.standing or ""), []).append(unofficial)
    keys = sorted(by_date, key=lambda key: (not key[0].is_known, *map(str, key)))
    return Appearance(
        release_group=candidate.id,
        title=candidate.title,
        kind=candidate.kind,
        counts=candidate.counts,
        since=date.fromordinal(candidate.first) if candidate.is_dated else None,
        by=date.fromordinal(candidate.last) if candidate.is_dated else None,
        sources=tuple(
            DateSource(when.text)
            if candidate.is_weak
            else _source(when, [release for release in candidate.official if release.when == when])
            for when in dates
        ),
        aside=tuple(_source(key[0], by_date[key]) for key in keys),
    )


def _source(when: PartialDate, releases: Sequence[Release]) -> DateSource:
    release = first_by_content(releases)
    return DateSource(
        date=when.text,
        release=release.mb_release_id,
        status=release.standing,
        description=edition_text(release),
        others=len(releases) - 1,
    )


@dataclass(frozen=True, slots=True)
class LostCandidates:
    """The candidates that were not chosen; the verified facts gave the reasons of `by_facts`."""

    rivals: tuple[Rival, ...] = ()
    by_facts: frozenset[ReleaseGroupId] = frozenset()

    @property
    def with_remarks(self) -> Sequence[Mapping[str, str]]:
        """The candidates for JSON, with a remark on each reason that the verified facts gave."""
        return [
            {
                "release_group": rival.release_group,
                "title": rival.title,
                "why_not": rival.why_not + WITH_FACTS * (rival.release_group in self.by_facts),
            }
            for rival in self.rivals
        ]


def why_not(case: Case, rules_config: RulesConfig) -> LostCandidates:
    """Return every candidate that was not chosen, with the reason in one line.

    The rules give the reason if they, with the verified facts, choose the same group or exclude the
    candidate. Otherwise the model's answer is the reason.
    """
    if case.verdict is None:
        return LostCandidates()
    result = case.decision.adjudication
    if case.bundle is None or result is None or case.decision.crg_mbid is None:
        return LostCandidates(case.verdict.rivals)
    from chart_binder.llm.open_case import weigh_facts  # its regular expressions compile for 0.1 s

    assert isinstance(case.verdict, Open)  # models are asked about open cases only
    crg = case.decision.crg_mbid
    by_facts = weigh_facts(case.bundle, result.facts, rules_config).verdict
    if isinstance(by_facts, Decided) and by_facts.crg == crg:
        changed = frozenset(by_facts.rivals).difference(case.verdict.rivals)
        return LostCandidates(by_facts.rivals, frozenset(rival.release_group for rival in changed))
    reason = result.rationale or "no reason was given"
    if len(reason) > _LONGEST_REASON:
        reason = f"{reason[:_LONGEST_REASON].rstrip()} ..."
    choice = f"the model chose {_name(case.bundle, crg)}: {reason}"
    if isinstance(by_facts, Decided):
        group = _name(case.bundle, by_facts.crg)
        choice = f"with the verified facts, {by_facts.crg_rule} gives {group}, but {choice}"
    return LostCandidates(tuple(_reasons_by_model(case.bundle, crg, choice, rules_config)))


def _reasons_by_model(
    bundle: EvidenceBundle, crg: str, choice: str, rules_config: RulesConfig
) -> Iterator[Rival]:
    contest = contest_of(bundle, rules_config)
    candidates: dict[str, Candidate] = {candidate.id: candidate for candidate in contest.candidates}
    possible = {candidate.id for candidate in apply_rules(contest).possible}
    chosen = candidates.get(crg)
    by_model = {
        name: f"{candidate.kind} ({candidate.when}): {choice}"
        for name, candidate in candidates.items()
        if candidate.counts
        and (
            chosen is None
            or name in possible
            or (candidate.is_dated and candidate.first <= chosen.last)
        )
    }
    for rival in explain_losers(contest, chosen, sorted_recordings(bundle).excluded):
        if rival.release_group != crg:
            text = by_model.get(rival.release_group)
            yield replace(rival, why_not=text, reason=choice) if text else rival


def _name(bundle: EvidenceBundle, crg: str) -> str:
    names = (candidate.name for candidate in candidates_in(bundle) if candidate.id == crg)
    return next(names, "a record that the evidence lacks")
