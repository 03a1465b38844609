"""Verification: which cited facts stand, by what was read in this run and by second readings.

Facts are grounded first: the quote, word for word, with the value in it or beside it, in a place
that is about the record. Those that the rules' decision turns on are read a second time, with what
else was read that says the same, or otherwise.
"""

import contextlib
import dataclasses
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from msgspec.structs import replace

from chart_binder.domain.clauses import Subject, says_release
from chart_binder.domain.dates import PartialDate
from chart_binder.domain.dates_in_text import Mention, find_periods, states
from chart_binder.domain.patches import (
    Patch,
    adds_to,
    apply_patches,
    fact_words,
    field_named,
    first_day,
    is_overlapping,
    is_stated,
)
from chart_binder.domain.vocabulary import find_words, spaced_words
from chart_binder.llm.open_case import RECORDING, OpenCase, is_in_evidence, read_patch
from chart_binder.llm.recording import SITE, RecordFinder
from chart_binder.llm.result import Fact, Reading
from chart_binder.llm.second_reading import (
    FIRST_RELEASE,
    UNCLEAR,
    Kind,
    ReadingQuestion,
    SecondReader,
    inquiry,
    value_inquiry,
)
from chart_binder.llm.year import year_doubts
from chart_binder.react.sanitize import one_line
from chart_binder.web.documents import (
    SourceText,
    documents_named,
    independent_sources,
    is_checked_page,
)
from chart_binder.web.places import (
    Place,
    dates_about,
    find_quote,
    is_copied,
    link_problem,
    nearest_line,
    premieres_said,
    value_doubt,
    values_about,
)
from chart_binder.web.structure import is_in_structure

BELOW_BAR = (
    "the model is below the bar of `canon model check`, so prose is a proposal, and so is structure"
    " that code does not understand"
)


@dataclass(slots=True)
class _Claim:
    """A fact under examination; `number` is its place among the answer's facts."""

    number: int
    fact: Fact
    patch: Patch | None = None
    grounds: tuple[Place, ...] = ()

    def update(self, **found: Any) -> None:
        """Set attributes of the fact to what was found."""
        self.fact = replace(self.fact, **found)

    def at(self, address: str) -> "_Claim":
        """Return the same claim of another source."""
        one = self.fact
        fact = Fact(
            one.about, one.field, one.value, address, one.quote, one.question, cited=one.cited
        )
        return _Claim(self.number, fact, self.patch)


@dataclass(frozen=True, slots=True)
class Verifier:
    """Verifies the facts of an answer by what was read before turn `turn`."""

    case: OpenCase
    documents: Sequence[SourceText]
    reader: SecondReader
    finder: RecordFinder
    turn: int

    def verify(self, cited: Sequence[Fact]) -> tuple[tuple[Fact, ...], tuple[str, ...]]:
        """Return the facts, with those that code found beside them, and the contradictions."""
        claims = [self._grounded(number, fact) for number, fact in enumerate(cited)]
        statements: dict[Patch, list[_Claim]] = {}
        for claim in claims:
            if claim.patch and claim.grounds:
                statements.setdefault(claim.patch, []).append(claim)
        news = [patch for patch in statements if adds_to(self.case.bundle, patch)]
        read: list[Patch] = []
        verifier = self
        claims += verifier.verify_turning(news, statements, read)
        if not (self.case.asks_year or self._turning(news, statements)):
            verifier = dataclasses.replace(
                self, case=dataclasses.replace(self.case, asks_date=True)
            )
            claims += verifier.verify_turning(news, statements, read)
        for patch in (one for one in statements if one not in read):
            claims += self._settle_rest(patch, statements[patch])
        contradictions = [
            text
            for patch in read
            if patch in news
            for text in verifier.find_contradictions(patch, statements)
        ]
        for patch in (one for one in read if one in news and one.is_of_song):
            contradictions += year_doubts(patch, self.documents, self.case.bundle)
        for claim in claims:
            self._verify_by_found(claim, claims)
        facts = (claim.fact for claim in claims if _is_shown(claim, claims))
        stated = (replace(fact, problem=None) if fact.verified else fact for fact in facts)
        return tuple(stated), tuple(contradictions)

    def verify_turning(
        self, news: list[Patch], statements: Mapping[Patch, Sequence[_Claim]], read: list[Patch]
    ) -> Iterator[_Claim]:
        """Verify what decides until that stands; yield further claims.

        What was examined is added to `read`, and what does not stand is removed from `news`.
        """
        while unread := [one for one in self._turning(news, statements) if one not in read]:
            read += unread
            for patch in unread:
                yield from self._verify_statement(patch, statements[patch])
                if not any(claim.fact.verified for claim in statements[patch]):
                    news.remove(patch)

    def _verify_by_found(self, claim: _Claim, claims: Sequence[_Claim]) -> None:
        """Verify a cited fact if code has verified the same in structure of the page it names."""
        patch = claim.patch
        if patch is None or claim.fact.verified or not claim.fact.cited:
            return
        subject = Subject.of(patch.about, self.case.bundle)
        named = documents_named(claim.fact.source, self.documents)
        for other in (each for each in claims if each.patch == patch and each.fact.verified):
            places = (place for place in other.grounds if place.document in named)
            if any(is_in_structure(place, patch, subject) for place in places):
                cited = claim.fact
                claim.fact = replace(
                    other.fact, quote=cited.quote, question=cited.question, cited=True
                )
                return

    def _turning(
        self, news: Sequence[Patch], statements: Mapping[Patch, Sequence[_Claim]]
    ) -> Sequence[Patch]:
        """Return what decides, cited facts before others.

        If all of them leave the case open, it is the cited ones alone, or that with most pages.
        """
        cited = [one for one in news if any(claim.fact.cited for claim in statements[one])]
        others = [one for one in news if one not in cited]  # the first are the first to be left out
        alone = sorted(others, key=lambda one: -len(statements[one]))
        choices = ((*others, *cited), cited, *((one,) for one in alone))
        return next(filter(None, map(self.case.needed, choices)), ())

    def _settle_rest(self, patch: Patch, claims: Sequence[_Claim]) -> Sequence[_Claim]:
        bundle = self.case.bundle
        if apply_patches(bundle, (patch,)).findings:
            return self._verify_statement(patch, claims)
        for claim in claims:
            claim.update(
                verified=is_stated(bundle, patch),
                problem="the rules do not turn on it, so it was not read a second time",
            )
        return ()

    def _grounded(self, number: int, fact: Fact) -> _Claim:
        case, about = self.case, self.case.labels.meant_by(fact.about)
        claim = _Claim(number, replace(fact, about=about))
        if field_named(fact.field) == RECORDING:
            problem = self.finder.why_not(case, claim.fact)
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
            claim.grounds = ground_fact(fact, claim.patch, self.documents, subject)
        except (ValueError, GroundingError) as error:
            claim.update(problem=str(error))
            return claim
        before = apply_patches(case.bundle, (claim.patch,)).changes.get(claim.patch)
        claim.update(source=claim.grounds[0].document.address, before=before)
        return claim

    def _verify_statement(self, patch: Patch, claims: Sequence[_Claim]) -> list[_Claim]:
        """Verify the facts that state a patch until it has sources enough; return further ones."""
        more = list[_Claim]()
        supports = [(ground, claim) for claim in claims for ground in claim.grounds]
        cited = {ground.document.address for ground, _ in supports}
        subject = Subject.of(patch.about, self.case.bundle)
        supports += self._corroborated(patch, claims[0], cited)
        supports.sort(
            key=lambda each: (
                not _is_linked(each[0], patch),
                not self._is_trusted(each[0].document),
                not is_in_structure(each[0], patch, subject),
            )
        )
        is_cited = any(claim.fact.cited for claim in claims)
        standing: list[Place] = []
        for ground, claim in supports:
            address = ground.document.address
            if doubt := _said_by(ground, standing):
                claim.update(problem=claim.fact.problem or doubt)
                continue
            if claim.fact.verified:
                claim = claim.at(address)  # noqa: PLW2901
            if not self._stands(claim, ground):
                continue
            is_known = _is_linked(ground, patch) or (
                self._is_trusted(ground.document)
                and (is_cited or is_in_structure(ground, patch, subject))
            )
            before = claims[0].fact.before
            claim.update(verified=True, source=address, before=before, trusted=is_known)
            if all(claim is not each for each in claims):
                more.append(claim)
            standing.append(ground)
            if is_known or len(standing) >= self.case.sources_needed(is_cited=is_cited):
                break
        for claim in claims:
            if not claim.fact.verified and claim.fact.problem is None:
                claim.update(problem="enough other sources say so")
        return more

    def _is_trusted(self, document: SourceText) -> bool:
        trusted = self.case.config.acceptance.trusted_sources
        return document.is_fetched and is_checked_page(document.address, trusted)

    def _corroborated(
        self, patch: Patch, first: _Claim, cited: Container[str]
    ) -> Iterator[tuple[Place, _Claim]]:
        subject = Subject.of(patch.about, self.case.bundle)
        for address in dict.fromkeys(each.address for each in self.documents):
            if address not in cited:
                claim = first.at(address)
                claim.update(quote="")
                with contextlib.suppress(GroundingError):
                    yield ground_fact(claim.fact, patch, self.documents, subject)[0], claim

    def _stands(self, claim: _Claim, ground: Place) -> bool:
        """Return whether a place bears out a fact, by the second reading where it is needed."""
        patch = claim.patch
        if patch is None or _is_linked(ground, patch):
            return True
        subject = Subject.of(patch.about, self.case.bundle)
        if is_in_structure(ground, patch, subject):
            return True
        if not self.case.config.acceptance.second_reading:
            claim.update(problem="without a second reading a fact needs a quote")
            return bool(claim.fact.quote)
        if not self.reader.reads_prose:
            claim.update(problem=BELOW_BAR)
            return False
        if patch.is_value:
            asked = value_inquiry(patch.field, subject, ground)
        else:
            asked = inquiry("support", subject, patch.value if patch.is_date else None, ground)
        reading = self._reading("support", claim, ground, asked)
        claim.update(problem=f"a second reading of {reading.source} says {reading.reading}")
        return reading.reading in (FIRST_RELEASE, patch.value)

    def _reading(self, kind: Kind, claim: _Claim, ground: Place, asked: ReadingQuestion) -> Reading:
        reading = self.reader.read(claim.number, kind, asked, ground, self.turn)
        claim.update(readings=(*claim.fact.readings, reading))
        return reading

    def find_contradictions(
        self, patch: Patch, statements: Mapping[Patch, Sequence[_Claim]]
    ) -> Iterator[str]:
        """Yield what else was read that says otherwise, within the evidence.

        What plainly says so counts until a reading says what else it is, any other date only if a
        reading says that it is the release's.
        """
        first = statements[patch][0]
        if any(
            _is_linked(ground, patch) for claim in statements[patch] for ground in claim.grounds
        ):
            yield from self._linked_otherwise(patch, first)
            return
        others, claimed = self._other_firsts(patch), _first_on(patch.about, self.case)
        if patch.is_date:
            others, claimed = self._other_dates(patch, statements), patch.value
        elif patch.is_value:
            others, claimed = self._other_values(patch, statements), patch.value
        found: dict[tuple[str, str], _Contrary] = {}
        for one in others:
            key = one.says, one.ground.document.address
            if key not in found or (one.is_plain and not found[key].is_plain):
                found[key] = one
        source = f"{first.fact.source} says {claimed} {_shown(first.grounds[0].passage)}"
        for (says, address), one in sorted(found.items(), key=lambda each: not each[1].is_plain):
            reading, is_asked = UNCLEAR, self.case.config.acceptance.second_reading
            is_left = is_asked and not self.reader.is_used_up
            if is_left:
                reading = self._reading("contradiction", first, one.ground, one.asked).reading
            if one.is_said_otherwise(reading, patch) or (one.is_plain and reading == UNCLEAR):
                is_open = is_asked and reading == UNCLEAR
                yield (
                    f"{source}, but {address} {'may say' if is_open else 'says'} {says}"
                    f" {_shown(one.ground.passage)}{'; it could not be read' if is_open else ''}"
                )
            if is_asked and not is_left:
                return  # one that nobody can read is enough

    def _linked_otherwise(self, patch: Patch, first: _Claim) -> Iterator[str]:
        """Yield what another page says that MusicBrainz links to the same group."""
        for document in self.documents:
            if document.linked and document.linked[0] == patch.about:
                date = PartialDate.parse(document.linked[1])
                if not is_overlapping(date, patch.date):
                    said = f"{first.fact.source} says {patch.value}"
                    yield f"{said}, but {document.address} says {date}"

    def _other_dates(
        self, patch: Patch, statements: Mapping[Patch, Sequence[_Claim]]
    ) -> Iterator["_Contrary"]:
        """Yield where another date of the same record may stand, however it is to be read.

        Only those count with which the rules would not decide for the same group.
        """
        subject = Subject.of(patch.about, self.case.bundle)
        subject = subject.of_recording if patch.is_of_song else subject
        cited = {each.value for each in statements if each.is_date and each.about == patch.about}

        is_possible = self._would_change(patch, statements)

        def possible(mention: Mention) -> list[str]:
            is_same = any(is_overlapping(date, patch.date) for date in mention.dates)
            return [] if is_same else [d.text for d in mention.dates if is_possible(d.text)]

        def is_other(mention: Mention) -> bool:
            return bool(possible(mention))

        for mention, ground, is_clear in dates_about(self.documents, subject, is_other):
            dates = possible(mention)
            is_plain = is_clear or not cited.isdisjoint(dates)
            yield _Contrary(ground, subject, dates[0], " or ".join(dates), is_plain)

        def is_earlier(mention: Mention) -> bool:
            [months] = mention.dates
            return months.last < patch.date.first and is_possible(months.text.partition("/")[2])

        periods = dates_about(
            self.documents, subject, is_earlier, lambda each: find_periods(each.text)
        )
        for mention, ground, _ in periods:
            if says_release(ground.statement):
                said = ground.document.text[mention.start : mention.end]
                yield _Contrary(ground, subject, mention.dates[0].text[:4], said)

    def _would_change(
        self, patch: Patch, statements: Mapping[Patch, Sequence[_Claim]]
    ) -> Callable[[str], bool]:
        """Return whether the rules decide otherwise with another value in place of a patch's."""
        decided = self.case.settles(statements)

        @cache
        def is_possible(value: str) -> bool:
            other = Patch(patch.about, patch.field, value)
            changed = [other if each == patch else each for each in statements]
            return adds_to(self.case.bundle, other) and self.case.settles(changed) != decided

        return is_possible

    def _other_values(
        self, patch: Patch, statements: Mapping[Patch, Sequence[_Claim]]
    ) -> Iterator["_Contrary"]:
        """Yield where another status, country or type of the same record may stand."""
        subject = Subject.of(patch.about, self.case.bundle)
        is_possible = self._would_change(patch, statements)
        for value in fact_words()[patch.field]:
            if value in (patch.value, "Song") or not is_possible(value):
                continue
            other = Patch(patch.about, patch.field, value)
            for place, is_plain in values_about(self.documents, subject, other):
                yield _Contrary(place, subject, None, value, is_plain, patch.field)

    def _other_firsts(self, patch: Patch) -> Iterator["_Contrary"]:
        """Yield where the recording may be said to have come out before, or on another record."""
        own = Subject.of(patch.about, self.case.bundle)
        song, since = own.of_recording, first_day(self.case.bundle, patch.about)
        earlier = dates_about(self.documents, song, lambda each: _is_before(each, since))
        for mention, ground, _ in earlier:
            about = (
                ground.statement,
                *ground.document.headings(ground.start),
                ground.document.title,
            )
            if says_release(ground.statement) and any(map(song.is_named_in, about)):
                date = mention.dates[0].text
                yield _Contrary(ground, song, date, f"that it came out on {date}")
        subjects = {
            group: Subject.of(group, self.case.bundle)
            for group in self.case.labels.titles
            if group != patch.about
        }
        for ground in premieres_said(self.documents):
            for group, subject in subjects.items():
                said = ground.statement
                if subject.is_named_in(said) and not own.is_named_in(said):
                    yield _Contrary(ground, subject, None, _first_on(group, self.case))


@dataclass(frozen=True, slots=True)
class _Contrary:
    """A place that may say otherwise: another date or value, or another record as the first.

    `value_of` is the field of another value, and empty for a date or a record.
    """

    ground: Place
    subject: Subject
    date: str | None
    says: str
    is_plain: bool = True
    value_of: str = ""

    @property
    def asked(self) -> ReadingQuestion:
        """The question of the second reading."""
        if self.value_of:
            return value_inquiry(self.value_of, self.subject, self.ground)
        return inquiry("contradiction", self.subject, self.date, self.ground)

    def is_said_otherwise(self, reading: str, patch: Patch) -> bool:
        """Return whether a reading says that a patch is not so."""
        is_value = bool(self.value_of) and reading in fact_words()[self.value_of]
        return reading == FIRST_RELEASE or (is_value and reading != patch.value)


def _is_shown(claim: _Claim, claims: Sequence[_Claim]) -> bool:
    """Return whether a fact is shown: one that only code found, if it was verified or read.

    What was read of a page that the model cites for the same is shown once.
    """
    fact = claim.fact
    same = (c.fact for c in claims if (c.patch, c.fact.source) == (claim.patch, fact.source))
    if fact.cited or not any(each.cited and each.verified >= fact.verified for each in same):
        return fact.cited or fact.verified or bool(fact.readings)
    return False


def _is_linked(ground: Place, patch: Patch) -> bool:
    """Return whether a page states the date that MusicBrainz links to the very group."""
    return ground.document.linked == (patch.about, patch.value)


def _is_before(mention: Mention, day: int) -> bool:
    return len(mention.dates) == 1 and mention.dates[0].last < day


def _said_by(ground: Place, standing: Sequence[Place]) -> str | None:
    """Return why a place is no further source beside those that stand, or None."""
    addresses = [each.document.address for each in (*standing, ground)]
    if len(independent_sources(addresses)) == len(standing):
        return "another page of this site says so already"
    same = (one for one in standing if is_copied(ground.passage, one.passage))
    copied = next((one.document.address for one in same), None)
    return copied and f"{copied} has the same text, so both are one source"


def _first_on(group: str, case: OpenCase) -> str:
    return f"that it first came out on {case.labels.name_of(group)}"


_BESIDE = 60
_MAX_SHOWN = 200
_MIN_NAME = 4


class GroundingError(Exception):
    """A fact does not stand; the text says what was looked for, where, and what was found."""


def ground_fact(
    fact: Fact, patch: Patch, documents: Sequence[SourceText], subject: Subject
) -> tuple[Place, ...]:
    """Return where the sources of a fact say it, or raise `GroundingError` where none does."""
    named = sorted(documents_named(fact.source, documents), key=lambda d: not d.is_fetched)
    found: list[Place] = []
    problem = f"{fact.source} was not read in this run" if fact.source else "nothing was read yet"
    if fact.source and "//" not in fact.source:
        problem = f"{fact.source!r} names nothing that was read in this run"
    for number, document in enumerate(named):
        place = _ground_in(document, fact, patch, subject)
        if isinstance(place, Place):
            found.append(place)
        elif number == 0:
            problem = place
    if not found:
        raise GroundingError(problem)
    return tuple(found)


def _ground_in(document: SourceText, fact: Fact, patch: Patch, subject: Subject) -> Place | str:
    """Return where a document says a fact, or what it says instead."""
    spans, beside, where = [(0, len(document.text))], 0, document.address
    if fact.quote:
        spans, beside = find_quote(document, fact.quote), _BESIDE
        where = f"{_shown(fact.quote)}, in {document.address},"
    if not spans:
        near = _near(document, fact, subject)
        return f"{document.address} does not say {_shown(fact.quote)}{near}"
    problem = None
    for start, end in spans:
        for ground in _values(document, patch, start, end, beside):
            why_not = link_problem(ground, subject) or value_doubt(ground, patch, subject)
            if why_not is None or _is_linked(ground, patch):
                return ground
            problem = problem or f"{why_not}: {_shown(ground.line)}"
    missing = f"{where} does not give {fact.value!r}{_near(document, fact, subject)}"
    return problem or missing


def _values(
    document: SourceText, patch: Patch, start: int, end: int, beside: int
) -> Iterator[Place]:
    """Yield the places of a value in a span, then those beside it in the same line."""
    if patch.is_date:
        found = [m for m in document.mentions if states(m, patch.date)]
        spans = [(each.start, each.end) for each in found]
    else:
        words = fact_words()[patch.field].get(patch.value, (patch.value,))  # any country's code
        spans = list(find_words(words, document.text, document.normal))
    first, last = document.line(start)[0], document.line(max(start, end - 1))[1]
    for near in (0, beside) if beside else (0,):
        low, high = max(first, start - near), min(last, end + near)
        yield from (Place(document, a, b) for a, b in spans if a < high and b > low)


def states_words(fact: Fact, documents: Sequence[SourceText]) -> bool:
    """Return whether a source says the value of a field that moves nothing, word for word."""
    words = spaced_words(fact.value)
    named = documents_named(fact.source, documents)
    return len(words) > _MIN_NAME and any(words in spaced_words(d.text) for d in named)


def _near(document: SourceText, fact: Fact, subject: Subject) -> str:
    line = nearest_line(document, f"{fact.quote} {fact.value} {subject.title}")
    return f"; it says {_shown(line)}" if line else ""


def _shown(text: str) -> str:
    return f"‹{one_line(text, _MAX_SHOWN)}›"
