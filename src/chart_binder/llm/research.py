"""Research by code: what the pages of a run say about the open questions, and what to search next.

The model does not have to write facts down. For each open question, code searches the passages
about the record, on all pages that were read, for values that the evidence allows. These findings
are verified like the facts that a model cites.
"""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from chart_binder.domain.dates_in_text import Mention
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
    fact_words,
    records_with_id,
)
from chart_binder.domain.verdict import Question, QuestionKind
from chart_binder.domain.vocabulary import fold
from chart_binder.errors import counted
from chart_binder.llm.answer import CONFIDENCE_WORDS
from chart_binder.llm.open_case import SOURCES_IF_UNCITED, OpenCase
from chart_binder.llm.prompt import READ_SO_FAR, WRITE_NEXT
from chart_binder.llm.result import Fact
from chart_binder.react.dialect import Dialect
from chart_binder.react.steps import FinalAnswer, ToolCall
from chart_binder.react.tools import call_key
from chart_binder.react.transcript import AnyEvent, ObservationEvent, StepEvent
from chart_binder.web.clauses import says_release
from chart_binder.web.documents import (
    LINKED_PAGES,
    SourceText,
    independent_sources,
    is_checked_page,
)
from chart_binder.web.infobox import LINKED_WORDS
from chart_binder.web.judgement import MentionedDate, Statement, dates_about, values_about
from chart_binder.web.linked import groups_about, languages_of
from chart_binder.web.links import links_to_follow
from chart_binder.web.places import Place
from chart_binder.web.subject import Subject

SEARCH, FETCH, WIKIPEDIA = "web_search", "web_fetch", "wikipedia"
_QUERIES: Mapping[QuestionKind, Sequence[str]] = {
    "date": ('{artist} "{title}" {kind} release date', "{artist} {title} {kind} discography"),
    "type": ('{artist} "{title}" single or album', "{artist} {title} discography"),
    "status": ('{artist} "{title}" official release', "{artist} {title} discography"),
    "tie": ('{artist} "{song}" first released on', "{artist} {song} discography"),
    "which_copy": ('{artist} "{song}" original version', "{artist} {song} discography"),
    "contradiction": ('{artist} "{title}" {kind} release date', "{artist} {title} discography"),
    "missing_original": ('{artist} "{song}" original single first released', "{artist} {song} 45"),
    "year": ('{artist} "{song}" original single release date', "{artist} {song} singles"),
}
"""Queries by the kind of an open question; the second is for when the first finds nothing."""
_FIELDS: Mapping[QuestionKind, Sequence[str]] = {
    "type": (PRIMARY_TYPE, SECONDARY_TYPES),
    "status": (STATUS,),
    "tie": (PREMIERE,),
}
"""The fields besides dates that may settle a question."""
_MAX_REMARKED = 3
"""Findings in one remark."""
_FIRST_QUERIES = 2
"""Queries that come before links of other sites and further articles."""


@dataclass(frozen=True)
class Finding:
    """A value that passages give for a group or a release, with one statement of each page."""

    patch: Patch
    statements: tuple[Statement, ...]

    @property
    def documents(self) -> Sequence[SourceText]:
        """The pages."""
        return [statement.place.document for statement in self.statements]

    def strength(self, trusted: Sequence[str]) -> tuple[bool, bool, int, int, int]:
        """Return a key that is greater for a finding with better support."""
        in_structure = sum(statement.is_in_structure for statement in self.statements)
        return (*self.weight(trusted), in_structure, len(self.patch.value))

    def weight(self, trusted: Sequence[str]) -> tuple[bool, bool, int]:
        """Return the weight of its sources; two values with the same weight tie."""
        return self._is_linked, self._is_stated(trusted), self._count

    def is_enough(self, trusted: Sequence[str]) -> bool:
        """Return whether it has sources enough without being cited (`OpenCase.sources_needed`)."""
        return self._is_linked or self._is_stated(trusted) or self._count >= SOURCES_IF_UNCITED

    @property
    def _is_linked(self) -> bool:
        return any(document.linked for document in self.documents)

    @property
    def _count(self) -> int:
        return len(independent_sources(document.address for document in self.documents))

    def _is_stated(self, trusted: Sequence[str]) -> bool:
        """Return whether a fetched page of a trusted site states it in structure."""
        pairs = zip(self.statements, self.documents, strict=True)
        pages = (page for statement, page in pairs if page.is_fetched and statement.is_in_structure)
        return any(is_checked_page(page.address, trusted) for page in pages)

    def facts(self) -> Iterator[Fact]:
        """Yield an uncited fact for each page."""
        patch = self.patch
        for document in self.documents:
            yield Fact(patch.about, patch.field, patch.value, document.address, cited=False)


@dataclass(frozen=True)
class Research:
    """What the documents read so far in a run say about the open questions of a case."""

    case: OpenCase
    documents: Sequence[SourceText]

    @cached_property
    def questions(self) -> Sequence[Question]:
        """The open questions; empty if the rules decide."""
        return self.case.questions

    @cached_property
    def findings(self) -> Mapping[tuple[str, str], Sequence[Finding]]:
        """The findings for each field of each group or release, the best supported first."""
        fields = dict.fromkeys(
            (about, field)
            for question in self.questions
            for about in question.about
            for field in self._fields(question.kind, about)
        )
        fields |= {(release, COUNTRY): None for release in self._releases_without_country()}
        fields |= {(group, FIRST_DATE): None for group in self.linked}
        trusted = self.case.config.acceptance.trusted_sources
        findings = {}
        for about, field in fields:
            values = list(self._find(about, field))
            values.sort(key=lambda finding: finding.strength(trusted), reverse=True)
            if values:
                findings[about, field] = values
        return findings

    def facts(self) -> Iterator[Fact]:
        """Yield the best finding of each field as uncited facts."""
        for best, *_ in self.findings.values():
            yield from best.facts()

    @cached_property
    def linked(self) -> Mapping[str, Sequence[SourceText]]:
        """The pages that MusicBrainz links to each group and that have its date in structure."""
        pages: dict[str, list[SourceText]] = {}
        for document in self.documents:
            if document.linked:
                pages.setdefault(document.linked[0], []).append(document)
        return pages

    @property
    def is_settled(self) -> bool:
        """Whether the rules decide with what linked pages state."""
        dates = [page.linked for pages in self.linked.values() for page in pages if page.linked]
        facts = [Patch(group, FIRST_DATE, date) for group, date in dict(reversed(dates)).items()]
        return bool(facts) and self.case.decision_with(facts) is not None

    def _fields(self, kind: QuestionKind, about: str) -> Iterator[str]:
        if about == THE_RECORDING:
            yield FIRST_RELEASE
        elif about in self.case.labels.titles:
            yield FIRST_DATE
            yield from (field for field in _FIELDS.get(kind, ()) if field != STATUS)
        elif about in self.case.labels.home:
            yield DATE
            yield from (field for field in _FIELDS.get(kind, ()) if field == STATUS)

    def _releases_without_country(self) -> Iterator[str]:
        """Yield the releases that would settle a tie if they came out in the artist's country."""
        bundle = self.case.bundle
        ties = (question for question in self.questions if question.kind == "tie")
        groups = {about for question in ties for about in question.about}
        for group in bundle.groups:
            for release in group.editions if group.mb_rg_id in groups else ():
                home = Patch(release.mb_release_id, COUNTRY, bundle.performer.country or "")
                is_open = release.is_official and not release.place and home.value
                if is_open and self.case.decision_with((home,)):
                    yield release.mb_release_id

    def _find(self, about: str, field: str) -> Iterator[Finding]:
        subject = Subject.of(about, self.case.bundle)
        is_date = field in (FIRST_DATE, DATE, FIRST_RELEASE)
        statements = (self._dates if is_date else self._values)(subject, about, field)
        by_value: dict[Patch, dict[str, Statement]] = {}
        for patch, statement in statements:
            pages, address = by_value.setdefault(patch, {}), statement.place.document.address
            if address not in pages or statement.is_in_structure:
                pages[address] = statement
        for patch, pages in by_value.items():
            yield Finding(patch, tuple(pages.values()))

    def _dates(self, subject: Subject, about: str, field: str) -> Iterator[tuple[Patch, Statement]]:
        is_new: dict[str, bool] = {}
        linked = self.linked.get(about, ())

        def is_new_date(mention: Mention) -> bool:
            if len(mention.dates) != 1 or mention.is_span:
                return False
            text = mention.dates[0].text
            if text not in is_new:
                is_new[text] = adds_to(self.case.bundle, Patch(about, field, text))
            return is_new[text]

        for document in linked:
            if mention := next(filter(is_new_date, document.mentions), None):
                place = Place.of(document, mention)
                date = MentionedDate(place, subject, mention)
                yield Patch(about, field, mention.dates[0].text), date
        unlinked = [document for document in self.documents if not document.linked]
        for date in dates_about(unlinked, subject, is_new_date):
            place = date.place
            if place.is_structured or any(map(says_release, (place.clause, *place.above))):
                yield Patch(about, field, date.mention.dates[0].text), date

    def _values(
        self, subject: Subject, about: str, field: str
    ) -> Iterator[tuple[Patch, Statement]]:
        for value in fact_words()[field]:
            patch = Patch(about, field, value)
            if value == "Song" or not adds_to(self.case.bundle, patch):
                continue
            for statement in values_about(self.documents, subject, patch):
                if statement.is_plain:
                    yield patch, statement


# Remarks.


@dataclass(frozen=True)
class Remark:
    """A remark below an observation: what was read so far, and what to write next.

    `step` is a call or an answer that the model may copy, or None. `crg` is the group that the
    rules give with what was read, if they decide.
    """

    text: str = ""
    step: ToolCall | FinalAnswer | None = None
    crg: str | None = None

    def shown(self, dialect: Dialect) -> str:
        """Return the remark in the words of a dialect."""
        if self.step is None:
            return self.text
        return f"{self.text} {WRITE_NEXT}:\n{dialect.render(self.step)}"


def remark_on(research: Research, steps: Iterable[ToolCall], *, is_last: bool = False) -> Remark:
    """Return a remark on what the pages read so far settle, with the first of `steps` or an answer.

    Records are named as in the evidence, and pages by the numbers of their results, so that no page
    can put words into a remark. If something is missing, but the next turn `is_last` or there is no
    step, the proposed answer says so and has less confidence.
    """
    case, step = research.case, next(iter(steps), None)
    if not research.questions:
        return Remark()
    if not research.findings:
        subjects = (about for question in research.questions for about in question.about)
        about = next(subjects, None)
        name = case.labels.name_of(about) if about else THE_RECORDING
        return Remark(f"Nothing read so far settles it for {name}.", step or _cannot_tell())
    findings_shown = [*research.findings.values()][:_MAX_REMARKED]
    summary = "; ".join(_summary(case, findings) for findings in findings_shown)
    best = [findings[0] for findings in research.findings.values()]
    outcome = case.outcome([finding.patch for finding in best])
    if not outcome.is_settled or outcome.crg is None:
        text = f"{READ_SO_FAR}: {summary}. It is still open: {outcome.text}."
        return Remark(text, step or _cannot_tell())
    text = f"{READ_SO_FAR}: {summary}. If that is right, {outcome.text}."
    missing = " ".join(_missing(research, best))
    if step and missing and not is_last:
        return Remark(f"{text} {missing}", step, outcome.crg)
    answer = _answer(case, outcome.crg, best, missing)
    return Remark(f"{text} {missing}".strip(), answer, outcome.crg)


def _missing(research: Research, best: Sequence[Finding]) -> Iterator[str]:
    """Yield sentences on what a decision lacks: another site, or a page that decides a tie."""
    case = research.case
    trusted = case.config.acceptance.trusted_sources
    patches = [finding.patch for finding in best]
    needed, decision = case.needed(patches), case.decision_with(patches)
    if any(finding.patch in needed and not finding.is_enough(trusted) for finding in best):
        yield "Another site has to say so, too."
    for first, *rivals in research.findings.values():
        for rival in rivals:
            is_tied = rival.weight(trusted) == first.weight(trusted)
            replaced = [rival.patch if patch == first.patch else patch for patch in patches]
            if is_tied and case.decision_with(replaced) not in (None, decision):
                dates = f"{first.patch.value} and {rival.patch.value}"
                name = case.labels.name_of(first.patch.about)
                yield f"{dates} of {name} are borne out alike: another page has to tell which."
                return


def _answer(case: OpenCase, crg: str, findings: Sequence[Finding], missing: str) -> FinalAnswer:
    """Return the answer that the rules give with these findings, as a model would write it."""
    label = next((key for key, group in case.labels.ids.items() if group == crg), crg)
    rationale = "; ".join(_value_of(finding, case) for finding in findings[:_MAX_REMARKED])
    answer = {
        "crg_mbid": label,
        "rr_mbid": None,
        "confidence": CONFIDENCE_WORDS["medium" if missing else "high"],
        "rationale": f"{rationale}. {missing}" if missing else rationale,
    }
    thought = "It is not certain." if missing else "What was read settles it."
    return FinalAnswer(json.dumps(answer, ensure_ascii=False), thought)


def _cannot_tell() -> FinalAnswer:
    because = "nothing that was read settles it"
    answer = {"crg_mbid": None, "rr_mbid": None, "confidence": 0.2, "rationale": because}
    return FinalAnswer(json.dumps(answer), "Nothing is left to look up.")


def _summary(case: OpenCase, findings: Sequence[Finding]) -> str:
    best, *rivals = findings
    summary = f"{_value_of(best, case)}, by {_pages(best)}"
    for rival in rivals[: _MAX_REMARKED - 1]:
        summary += f", but {rival.patch.value} by {_pages(rival)}"
    return summary


def _value_of(finding: Finding, case: OpenCase) -> str:
    name, patch = case.labels.name_of(finding.patch.about), finding.patch
    if patch.field == PREMIERE:
        return f"it first came out on {name}"
    if patch.field == COUNTRY:
        return f"{name} came out in {patch.value}"
    return f"{name} came out {patch.value}" if patch.is_date else f"{name} is {patch.value}"


def _pages(finding: Finding) -> str:
    """Return the result numbers of a finding's pages, and the count of pages without one."""
    numbers = sorted({document.number for document in finding.documents} - {None}, key=str)
    unnumbered = sum(document.number is None for document in finding.documents)
    pages = [f"result {number}" for number in numbers]
    pages += [counted(unnumbered, "page")] * bool(unnumbered)
    return " and ".join(pages)


# Steps.


def linked_search(research: Research) -> ToolCall | None:
    """Return the call that reads what MusicBrainz links to the groups in question."""
    subjects = (about for question in research.questions for about in question.about)
    groups = groups_about(subjects, research.case.bundle)
    if not groups:
        return None
    thought = f"It is open: {research.questions[0].text} What does MusicBrainz link to?"
    return ToolCall(LINKED_PAGES, {"release_groups": list(groups)}, thought)


def first_search(research: Research) -> ToolCall | None:
    """Return the search with which code begins a run, None if there is no open question."""
    queries = _queries(research)
    query = next(queries, None)
    if query is None or not research.questions:
        return None
    question = research.questions[0].text
    return ToolCall(SEARCH, {"query": query}, f"It is open: {question} I look it up.")


def further_steps(
    research: Research, tools: Collection[str], events: Sequence[AnyEvent]
) -> Iterator[ToolCall]:
    """Yield calls that were not made yet, the most promising first.

    They open a link on a page that was read, find words in a long page, look up an article of
    Wikipedia on the record, search again, or open a result that was not opened.
    """
    earlier = {
        _key(step.tool or "", step.arguments or {})
        for step in events
        if isinstance(step, StepEvent)
    }
    leads = [*_leads(research)]
    trusted = [step for step, is_trusted in leads if is_trusted]
    untrusted = [step for step, is_trusted in leads if not is_trusted]
    articles = [*_articles(research)]
    queries = [ToolCall(SEARCH, {"query": query}) for query in _queries(research)]
    steps = (
        *trusted, *articles[:1], *queries[:_FIRST_QUERIES], *untrusted,
        *articles[1:], *queries[_FIRST_QUERIES:], *_unopened(events),
    )  # fmt: skip
    for step in steps:
        if step.tool in tools and _key(step.tool, step.arguments) not in earlier:
            yield step


def _key(tool: str, arguments: Mapping[str, object] | str) -> str:
    """Return a key that is the same for equal calls; an empty argument is the recorded default."""
    if isinstance(arguments, str):
        return call_key(tool, arguments)
    return call_key(tool, {name: value for name, value in arguments.items() if value != ""})


def _leads(research: Research) -> Iterator[tuple[ToolCall, bool]]:
    """Yield calls that pages suggest, and whether the page's site is trusted.

    They follow a link, or find the record in a long page whose shown passages do not name it.
    """
    bundle, trusted = research.case.bundle, research.case.config.acceptance.trusted_sources
    subjects = [Subject.of(group, bundle) for group in _groups(research)]
    for address, is_trusted in links_to_follow(research.documents, subjects, trusted):
        yield ToolCall(FETCH, {"url": address}), is_trusted
    for document in research.documents:
        for subject in subjects if document.is_cut else ():
            if subject.is_told_apart_in(document.text) and not subject.is_named_in(document.text):
                step = ToolCall(FETCH, {"url": document.address, "find": subject.title})
                yield step, is_checked_page(document.address, trusted)


def _articles(research: Research) -> Iterator[ToolCall]:
    artist = research.case.bundle.performer
    for language in (*languages_of(artist.country), ""):
        for title, kind in _subjects(research):
            query = " ".join(f"{title} {artist.name or ''} {kind}".split())
            yield ToolCall(
                WIKIPEDIA, {"query": query} | ({"language": language} if language else {})
            )


def _unopened(events: Sequence[AnyEvent]) -> Iterator[ToolCall]:
    for event in events:
        if isinstance(event, ObservationEvent) and event.documents:
            for document in event.documents:
                if document.number and not document.is_fetched and document.address:
                    yield ToolCall(FETCH, {"url": document.address})


def _queries(research: Research) -> Iterator[str]:
    """Yield queries for the open questions without repetition, the most promising first.

    After the first query of each question come the catalogue number, then the other records of the
    evidence, whose pages name the songs on them and their singles, then discographies.
    """
    bundle = research.case.bundle
    subjects = [*_subjects(research)] or [(bundle.recording_title or "", "")]
    artist = bundle.performer.name or ""
    names = {"artist": artist, "song": bundle.recording_title or ""}
    kinds = dict.fromkeys(question.kind for question in research.questions)
    first, last = (
        [
            _QUERIES[kind][turn].format(title=title, kind=noun, **names)
            for kind in kinds
            for title, noun in subjects
        ]
        for turn in range(2)
    )
    numbers = (f"{artist} {title} {number}" for title, number in _numbers(research))
    records = [f'{artist} "{title}" {noun}' for title, noun in _other_records(research)]
    words = LINKED_WORDS["discography"]
    lists = [
        f"{artist} {title} {words[language][0]}"
        for language in languages_of(bundle.performer.country)
        for title, _ in subjects
    ]
    further = (*numbers, *records[:1], *lists[:1], *records[1:], *lists[1:])
    queries = (" ".join(query.split()) for query in (*first, *further, *last))
    yield from dict.fromkeys(query for query in queries if '""' not in query)


def _numbers(research: Research) -> Iterator[tuple[str, str]]:
    """Yield the title of each group asked about, with label and number of its first release."""
    for identifier, (title, _) in zip(_groups(research), _subjects(research), strict=True):
        groups, _ = records_with_id(research.case.bundle, identifier)
        releases = sorted(
            (
                release
                for group in groups
                for release in group.editions
                if release.label or release.catno
            ),
            key=lambda release: release.date or "9",
        )
        for release in releases[:1]:
            yield title, f"{release.label or ''} {release.catno or ''}"


def _other_records(research: Research) -> Iterator[tuple[str, str]]:
    """Yield title and noun of the groups that no question is about."""
    labels, groups = research.case.labels, {*_groups(research)}
    titles = {fold(title) for title, _ in _subjects(research)}
    for identifier, title in labels.titles.items():
        if identifier not in groups and title and fold(title) not in titles:
            yield title, labels.kinds[identifier]


def _subjects(research: Research) -> Iterator[tuple[str, str]]:
    """Yield title and noun of each group that a question is about, or whose release it is."""
    labels, song = research.case.labels, research.case.bundle.recording_title or ""
    for identifier in _groups(research):
        if identifier == THE_RECORDING:
            yield song, "single"
        else:
            yield labels.titles[identifier] or "", labels.kinds[identifier]


def _groups(research: Research) -> Iterator[str]:
    """Yield each group that a question is about, or whose release it is, and the recording."""
    labels = research.case.labels
    ids = dict.fromkeys(
        labels.home.get(about, about) for question in research.questions for about in question.about
    )
    yield from (group for group in ids if group in labels.titles or group == THE_RECORDING)
