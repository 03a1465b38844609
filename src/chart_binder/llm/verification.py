"""Verification: checks facts by the pages of this run and by second readings.

First each fact is grounded: a page must have the quote word for word, with the value in it or
beside it, in a place that is about the record. If the rules' decision depends on the fact, a second
reading checks that place, and the other places that say the same or something else.
"""

import contextlib
import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias

from msgspec.structs import replace

from chart_binder.domain.dates import PartialDate
from chart_binder.domain.dates_in_text import Mention, find_periods
from chart_binder.domain.patches import (
    Patch,
    adds_to,
    apply_patches,
    fact_words,
    field_named,
    first_day,
    is_stated,
)
from chart_binder.llm.grounding import (
    GroundingError,
    ground_fact,
    quoted,
    states_words,
)
from chart_binder.llm.open_case import RECORDING, OpenCase, is_in_evidence, read_patch
from chart_binder.llm.result import Fact, Reading
from chart_binder.llm.run_log import SITE, RecordFinder
from chart_binder.llm.second_reading import (
    FIRST_RELEASE,
    UNCLEAR,
    Kind,
    ReadingQuestion,
    SecondReader,
    date_question,
    value_question,
)
from chart_binder.llm.year import year_doubts
from chart_binder.web.clauses import says_release
from chart_binder.web.documents import (
    SourceText,
    independent_sources,
    is_checked_page,
    is_copied,
)
from chart_binder.web.judgement import ClaimedValue, dates_about, premiere_places, values_about
from chart_binder.web.places import Place
from chart_binder.web.subject import Subject

BELOW_BAR = (
    "the model is below the bar of `canon model check`, so prose is a proposal, and so is structure"
    " that code does not understand"
)


@dataclass(slots=True)
class _ClaimedFact:
    """A fact while it is verified; `number` is its index among the facts of the answer."""

    number: int
    fact: Fact
    patch: Patch | None = None
    values: tuple[ClaimedValue, ...] = ()
    """Where sources state it."""

    def update(self, **values: Any) -> None:
        """Set attributes of the fact."""
        self.fact = replace(self.fact, **values)

    def from_source(self, address: str) -> "_ClaimedFact":
        """Return the same claim with another source, not verified yet."""
        copy = replace(
            self.fact, source=address, verified=False, problem=None, before=None, trusted=False,
            readings=(),
        )  # fmt: skip
        return _ClaimedFact(self.number, copy, self.patch)


_Statements: TypeAlias = Mapping[Patch, Sequence[_ClaimedFact]]
"""The claims that were grounded, by what they change in the evidence."""


def _by_patch(claims: Sequence[_ClaimedFact]) -> dict[Patch, list[_ClaimedFact]]:
    statements: dict[Patch, list[_ClaimedFact]] = {}
    for claim in claims:
        if claim.patch and claim.values:
            statements.setdefault(claim.patch, []).append(claim)
    return statements


@dataclass(frozen=True, slots=True)
class Verifier:
    """Verifies the facts of an answer by what was read before turn `turn`."""

    case: OpenCase
    documents: Sequence[SourceText]
    reader: SecondReader
    finder: RecordFinder
    turn: int

    def verify(self, facts: Sequence[Fact]) -> tuple[tuple[Fact, ...], tuple[str, ...]]:
        """Return the facts, further ones that code verified, and sentences on contradictions."""
        claims = [self._grounded(number, fact) for number, fact in enumerate(facts)]
        statements = _by_patch(claims)
        new_patches = [patch for patch in statements if adds_to(self.case.bundle, patch)]
        verifier = self
        further, new_patches, checked = verifier.verify_decisive(new_patches, (), statements)
        claims += further
        if not (self.case.asks_year or self._decisive(new_patches, statements)):
            verifier = dataclasses.replace(
                self, case=dataclasses.replace(self.case, asks_date=True)
            )
            further, new_patches, checked = verifier.verify_decisive(
                new_patches, checked, statements
            )
            claims += further
        for patch, indecisive in statements.items():
            if patch not in checked:
                claims += self._verify_indecisive(patch, indecisive)
        verified = [patch for patch in checked if patch in new_patches]
        contradictions = [
            text for patch in verified for text in verifier.find_contradictions(patch, statements)
        ]
        for patch in verified:
            if patch.is_of_song:
                contradictions += year_doubts(patch, self.documents, self.case.bundle)
        shown_facts = (claim.fact for claim in claims if _is_shown(claim, claims))
        results = (replace(fact, problem=None) if fact.verified else fact for fact in shown_facts)
        return tuple(results), tuple(contradictions)

    def verify_decisive(
        self, new_patches: Sequence[Patch], checked: Sequence[Patch], statements: _Statements
    ) -> tuple[list[_ClaimedFact], list[Patch], list[Patch]]:
        """Verify what the decision depends on, until all of it is verified.

        Returns further claims, `new_patches` without those that were not verified, and `checked`
        with those that were checked here.
        """
        further, remaining, all_checked = list[_ClaimedFact](), [*new_patches], [*checked]
        while unchecked := [
            patch for patch in self._decisive(remaining, statements) if patch not in all_checked
        ]:
            all_checked += unchecked
            for patch in unchecked:
                further += self._verify_statement(patch, statements[patch])
                if not any(claim.fact.verified for claim in statements[patch]):
                    remaining.remove(patch)
        return further, remaining, all_checked

    def _decisive(self, new_patches: Sequence[Patch], statements: _Statements) -> Sequence[Patch]:
        """Return the patches that the rules' decision depends on, cited ones before others.

        If the case is open with all of them, try the cited ones alone, then each of the others, the
        one with most pages first.
        """
        cited = [
            patch for patch in new_patches if any(claim.fact.cited for claim in statements[patch])
        ]
        uncited = [patch for patch in new_patches if patch not in cited]
        alone = sorted(uncited, key=lambda patch: -len(statements[patch]))
        # `needed` leaves the first patches out first.
        choices = ((*uncited, *cited), cited, *((patch,) for patch in alone))
        return next(filter(None, map(self.case.needed, choices)), ())

    def _verify_indecisive(
        self, patch: Patch, claims: Sequence[_ClaimedFact]
    ) -> Sequence[_ClaimedFact]:
        bundle = self.case.bundle
        if apply_patches(bundle, (patch,)).impossible:
            return self._verify_statement(patch, claims)
        for claim in claims:
            claim.update(
                verified=is_stated(bundle, patch),
                problem="the rules do not turn on it, so it was not read a second time",
            )
        return ()

    def _grounded(self, number: int, fact: Fact) -> _ClaimedFact:
        case, about = self.case, self.case.labels.meant_by(fact.about)
        claim = _ClaimedFact(number, replace(fact, about=about))
        if field_named(fact.field) == RECORDING:
            problem = self.finder.recording_problem(case, claim.fact)
            claim.update(verified=problem is None, problem=problem, trusted=problem is None)
            claim.update(source=fact.source or SITE)
            return claim
        if is_in_evidence(claim.fact, case.patch_of(fact), case.bundle):
            claim.update(verified=True)
            return claim
        try:
            claim.patch = read_patch(fact, case.labels)
            if claim.patch is None:
                problem = "no source that was read says so in these words"
                claim.update(verified=states_words(fact, self.documents), problem=problem)
                return claim
            subject = Subject.of(claim.patch.about, case.bundle)
            claim.values = ground_fact(fact, claim.patch, self.documents, subject)
        except (ValueError, GroundingError) as error:
            claim.update(problem=str(error))
            return claim
        before = apply_patches(case.bundle, (claim.patch,)).changes.get(claim.patch)
        claim.update(source=claim.values[0].place.document.address, before=before)
        return claim

    def _verify_statement(self, patch: Patch, claims: Sequence[_ClaimedFact]) -> list[_ClaimedFact]:
        """Verify the claims of a patch until it has sources enough; return further claims."""
        further = list[_ClaimedFact]()
        is_cited = any(claim.fact.cited for claim in claims)
        sources: list[Place] = []
        for value, claim in self._supports(patch, claims):
            place, address = value.place, value.place.document.address
            if doubt := _repeats(place, sources):
                claim.update(problem=claim.fact.problem or doubt)
                continue
            if claim.fact.verified:
                claim = claim.from_source(address)  # noqa: PLW2901
            if not self._is_confirmed(claim, value):
                continue
            is_trusted = value.is_linked or (
                self._is_trusted(place.document) and (is_cited or value.is_in_structure)
            )
            before = claims[0].fact.before
            claim.update(verified=True, source=address, before=before, trusted=is_trusted)
            if all(claim is not original for original in claims):
                further.append(claim)
            sources.append(place)
            if is_trusted or len(sources) >= self.case.sources_needed(is_cited=is_cited):
                break
        for claim in claims:
            if not claim.fact.verified and claim.fact.problem is None:
                claim.update(problem="enough other passages say so")
        return further

    def _supports(
        self, patch: Patch, claims: Sequence[_ClaimedFact]
    ) -> Sequence[tuple[ClaimedValue, _ClaimedFact]]:
        """Return where pages state a patch, each with its claim, the most trustworthy first."""
        supports = [(value, claim) for claim in claims for value in claim.values]
        cited = {value.place.document.address for value, _ in supports}
        subject = Subject.of(patch.about, self.case.bundle)
        for address in dict.fromkeys(document.address for document in self.documents):
            if address not in cited:
                claim = claims[0].from_source(address)
                claim.update(quote="")
                with contextlib.suppress(GroundingError):
                    values = ground_fact(claim.fact, patch, self.documents, subject)
                    supports.append((values[0], claim))
        supports.sort(
            key=lambda support: (
                not support[0].is_linked,
                not self._is_trusted(support[0].place.document),
                not support[0].is_in_structure,
            )
        )
        return supports

    def _is_trusted(self, document: SourceText) -> bool:
        trusted = self.case.config.acceptance.trusted_sources
        return document.is_fetched and is_checked_page(document.address, trusted)

    def _is_confirmed(self, claim: _ClaimedFact, value: ClaimedValue) -> bool:
        """Return whether a place confirms a fact, by a second reading if the place needs one."""
        if value.is_linked or value.is_in_structure:
            return True
        place, subject, patch = value.place, value.subject, value.patch
        if not self.case.config.acceptance.second_reading:
            claim.update(problem="without a second reading a fact needs a quote")
            return bool(claim.fact.quote)
        if not self.reader.reads_prose:
            claim.update(problem=BELOW_BAR)
            return False
        if patch.is_value:
            question = value_question(patch.field, subject, place)
        else:
            question = date_question(
                "support", subject, patch.value if patch.is_date else None, place
            )
        reading = self._reading("support", claim, place, question)
        claim.update(problem=f"a second reading of {reading.source} says {reading.reading}")
        return reading.reading in (FIRST_RELEASE, patch.value)

    def _reading(
        self, kind: Kind, claim: _ClaimedFact, place: Place, question: ReadingQuestion
    ) -> Reading:
        reading = self.reader.read(claim.number, kind, question, place, self.turn)
        claim.update(readings=(*claim.fact.readings, reading))
        return reading

    def find_contradictions(self, patch: Patch, statements: _Statements) -> Iterator[str]:
        """Yield what pages say against a patch, as far as the evidence allows it.

        A plain statement counts unless a reading says that it means something else. Any other place
        counts only if a reading says that its date is the release's.
        """
        first = statements[patch][0]
        if any(value.is_linked for claim in statements[patch] for value in claim.values):
            yield from self._linked_contradictions(patch, first)
            return
        candidates, statement = self._rival_premieres(patch), _premiere_on(patch.about, self.case)
        if patch.is_date:
            candidates, statement = self._rival_dates(patch, statements), patch.value
        elif patch.is_value:
            candidates, statement = self._rival_values(patch, statements), patch.value
        by_statement: dict[tuple[str, str], _Contradiction] = {}
        for candidate in candidates:
            key = candidate.statement, candidate.place.document.address
            if key not in by_statement or (candidate.is_plain and not by_statement[key].is_plain):
                by_statement[key] = candidate
        source = f"{first.fact.source} says {statement} {quoted(first.values[0].place.passage)}"
        plain_first = sorted(by_statement.values(), key=lambda candidate: not candidate.is_plain)
        for candidate in plain_first:
            reading, is_asked = UNCLEAR, self.case.config.acceptance.second_reading
            can_ask = is_asked and not self.reader.is_used_up
            place = candidate.place
            if can_ask:
                reading = self._reading("contradiction", first, place, candidate.question).reading
            is_unclear = reading == UNCLEAR
            if candidate.is_confirmed_by(reading, patch) or (candidate.is_plain and is_unclear):
                verb = "may say" if is_asked and is_unclear else "says"
                unread = "; it could not be read" if is_asked and is_unclear else ""
                yield (
                    f"{source}, but {place.document.address} {verb} {candidate.statement}"
                    f" {quoted(place.passage)}{unread}"
                )
            if is_asked and not can_ask:
                return  # a single contradiction that nobody can read is enough

    def _linked_contradictions(self, patch: Patch, first: _ClaimedFact) -> Iterator[str]:
        """Yield the other dates on pages that MusicBrainz links to the same group."""
        for document in self.documents:
            if document.linked and document.linked[0] == patch.about:
                date = PartialDate.parse(document.linked[1])
                if not date.overlaps(patch.date):
                    claim = f"{first.fact.source} says {patch.value}"
                    yield f"{claim}, but {document.address} says {date}"

    def _rival_dates(self, patch: Patch, statements: _Statements) -> Iterator["_Contradiction"]:
        """Yield the places that may give another date of the same record.

        Only dates count with which the rules would not decide for the same group.
        """
        subject = Subject.of(patch.about, self.case.bundle)
        subject = subject.of_recording if patch.is_of_song else subject
        stated_dates = {
            rival.value for rival in statements if rival.is_date and rival.about == patch.about
        }
        would_change = self._would_change(patch, statements)

        def rival_dates(mention: Mention) -> list[str]:
            if any(date.overlaps(patch.date) for date in mention.dates):
                return []
            return [date.text for date in mention.dates if would_change(date.text)]

        def has_rival_date(mention: Mention) -> bool:
            return bool(rival_dates(mention))

        for date in dates_about(self.documents, subject, has_rival_date):
            dates = rival_dates(date.mention)
            is_plain = date.is_plain or not stated_dates.isdisjoint(dates)
            yield _Contradiction(date.place, subject, dates[0], " or ".join(dates), is_plain)

        def is_earlier(mention: Mention) -> bool:
            [months] = mention.dates
            return months.last < patch.date.first and would_change(months.text.partition("/")[2])

        periods = dates_about(
            self.documents, subject, is_earlier, lambda document: find_periods(document.text)
        )
        for date in periods:
            place = date.place
            if says_release(place.row_or_clause):
                first_year = date.mention.dates[0].text[:4]
                yield _Contradiction(place, subject, first_year, place.value)

    def _would_change(self, patch: Patch, statements: _Statements) -> Callable[[str], bool]:
        """Return whether the rules decide otherwise with another value in place of a patch's."""
        decided = self.case.decision_with(statements)

        @cache
        def would_change(value: str) -> bool:
            rival = Patch(patch.about, patch.field, value)
            patches = [rival if statement == patch else statement for statement in statements]
            return adds_to(self.case.bundle, rival) and self.case.decision_with(patches) != decided

        return would_change

    def _rival_values(self, patch: Patch, statements: _Statements) -> Iterator["_Contradiction"]:
        """Yield the places that may give another status, country or type of the same record."""
        subject = Subject.of(patch.about, self.case.bundle)
        would_change = self._would_change(patch, statements)
        for value in fact_words()[patch.field]:
            if value in (patch.value, "Song") or not would_change(value):
                continue
            rival = Patch(patch.about, patch.field, value)
            for statement in values_about(self.documents, subject, rival):
                place, is_plain = statement.place, statement.is_plain
                yield _Contradiction(place, subject, None, value, is_plain, patch.field)

    def _rival_premieres(self, patch: Patch) -> Iterator["_Contradiction"]:
        """Yield the places that may say that the song came out earlier or on another record."""
        record = Subject.of(patch.about, self.case.bundle)
        song, first = record.of_recording, first_day(self.case.bundle, patch.about)

        def is_earlier(mention: Mention) -> bool:
            return len(mention.dates) == 1 and mention.dates[0].last < first

        for mentioned in dates_about(self.documents, song, is_earlier):
            place, document = mentioned.place, mentioned.place.document
            context = (place.row_or_clause, *document.headings(place.start), document.title)
            if says_release(place.row_or_clause) and any(map(song.is_named_in, context)):
                date = mentioned.mention.dates[0].text
                yield _Contradiction(place, song, date, f"that it came out on {date}")
        rivals = {
            group: Subject.of(group, self.case.bundle)
            for group in self.case.labels.titles
            if group != patch.about
        }
        for place in premiere_places(self.documents):
            for group, rival in rivals.items():
                statement = place.row_or_clause
                if rival.is_named_in(statement) and not record.is_named_in(statement):
                    premiere = _premiere_on(group, self.case)
                    yield _Contradiction(place, rival, None, premiere)


@dataclass(frozen=True, slots=True)
class _Contradiction:
    """A place that may contradict a fact, by another date, value or record.

    `statement` says in words what it may say. `value_of` is the field of another value, and empty
    for a date or a record.
    """

    place: Place
    subject: Subject
    date: str | None
    statement: str
    is_plain: bool = True
    value_of: str = ""

    @property
    def question(self) -> ReadingQuestion:
        """The question of the second reading."""
        if self.value_of:
            return value_question(self.value_of, self.subject, self.place)
        return date_question("contradiction", self.subject, self.date, self.place)

    def is_confirmed_by(self, reading: str, patch: Patch) -> bool:
        """Return whether a reading says that the place contradicts a patch."""
        is_value = bool(self.value_of) and reading in fact_words()[self.value_of]
        return reading == FIRST_RELEASE or (is_value and reading != patch.value)


def _is_shown(claim: _ClaimedFact, claims: Sequence[_ClaimedFact]) -> bool:
    """Return whether a fact is part of the result.

    A fact that the model does not cite is, if it was checked, and if no cited fact has the same
    patch and source.
    """
    fact = claim.fact
    if fact.cited:
        return True
    facts_of_page = (
        rival.fact
        for rival in claims
        if (rival.patch, rival.fact.source) == (claim.patch, fact.source)
    )
    if any(rival.cited and rival.verified >= fact.verified for rival in facts_of_page):
        return False
    return fact.verified or bool(fact.readings)


def _repeats(place: Place, sources: Sequence[Place]) -> str | None:
    """Return why a place is not a source independent of others, or None if it is."""
    addresses = [source.document.address for source in (*sources, place)]
    if len(independent_sources(addresses)) == len(sources):
        return "another page of this site says so already"
    copies = (source for source in sources if is_copied(place.passage, source.passage))
    address = next((source.document.address for source in copies), None)
    return address and f"{address} has the same text, so both are one source"


def _premiere_on(group: str, case: OpenCase) -> str:
    return f"that it first came out on {case.labels.name_of(group)}"
