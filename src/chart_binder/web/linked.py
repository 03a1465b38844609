"""What MusicBrainz links a release group to: its item at Wikidata, its articles at Wikipedia.

The links say which record a page is about, so nothing has to be searched for. A date that an item
or an infobox states counts as that of a trusted source without a second reading, but only if the
item or infobox is about this very record: a single may be linked to the article on its album.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from chart_binder.config import LLMConfig
from chart_binder.domain.dates import PartialDate
from chart_binder.domain.evidence import EvidenceBundle, Link
from chart_binder.domain.vocabulary import ReleaseGroupId
from chart_binder.errors import FetchError
from chart_binder.net import Deadline
from chart_binder.react.steps import Document
from chart_binder.web.documents import SourceText
from chart_binder.web.infobox import LINKED_WORDS, is_titled, read_release
from chart_binder.web.passages import CELLS, document_of, excerpt
from chart_binder.web.subject import Subject
from chart_binder.web.transport import Resolve, resolve_by_system
from chart_binder.web.wikidata import WikidataItem, read_item
from chart_binder.web.wikimedia import JsonServer, Wikipedia, in_address

_MOST_ARTICLES = 2
_TOTAL_TIMEOUTS = 3
"""The time for all links of a case, as a multiple of `timeout_s`."""
_ITEM = re.compile(r"https?://(?:www\.|m\.)?wikidata\.org/(?:wiki|entity)/(Q[1-9][0-9]{0,11})/?")


@dataclass(frozen=True, slots=True)
class LinkedSource:
    """A page that MusicBrainz links a group to, with the date that its structure states.

    `quote` is the statement or row with the date. If there is no date, `problem` says why.
    `document` is None if nothing could be read or the page is about something else.
    """

    group: ReleaseGroupId
    address: str
    title: str = ""
    document: Document | None = None
    date: PartialDate | None = None
    quote: str = ""
    problem: str = ""


def languages_of(country: str | None) -> tuple[str, ...]:
    """Return the languages, except English, whose Wikipedia says most about a country's artists."""
    return tuple(name for name, homes in LINKED_WORDS["languages"].items() if country in homes)


def groups_about(about: Iterable[str], bundle: EvidenceBundle) -> tuple[ReleaseGroupId, ...]:
    """Return the release groups with the given ids, or with a release or recording of these ids."""
    recordings = bundle.recording_candidates
    return tuple(
        dict.fromkeys(
            group.mb_rg_id
            for identifier in about
            for recording in recordings
            for group in recording.groups
            if identifier in (group.mb_rg_id, recording.mb_recording_id)
            or any(identifier == release.mb_release_id for release in group.editions)
        )
    )


def read_linked(
    links: Sequence[Link],
    bundle: EvidenceBundle,
    config: LLMConfig,
    *,
    resolve: Resolve = resolve_by_system,
) -> tuple[LinkedSource, ...]:
    """Read the pages that groups are linked to; a failure becomes the `problem` of a source.

    For each group, read its items and at most two articles: the English one and that in the
    language of the artist's country come first.
    """
    addresses: dict[ReleaseGroupId, list[str]] = {}
    for link in links:
        addresses.setdefault(link.group, []).append(link.address)
    reader = _Reader(bundle, config, Deadline(_TOTAL_TIMEOUTS * config.fetch.timeout_s), resolve)
    return tuple(source for group in addresses for source in reader.read(group, addresses[group]))


@dataclass(frozen=True, slots=True)
class _Reader:
    bundle: EvidenceBundle
    config: LLMConfig
    deadline: Deadline
    resolve: Resolve

    def read(self, group: ReleaseGroupId, addresses: Sequence[str]) -> Iterator[LinkedSource]:
        """Yield a source for each item and article of a group."""
        subject = Subject.of(group, self.bundle)
        items = filter(None, map(_ITEM.fullmatch, addresses))
        numbers = dict.fromkeys(item[1] for item in items)
        articles = dict(title for title in map(in_address, addresses) if title and title[0])
        types = frozenset[str]()
        for number in numbers:
            source, item = self._read_item(LinkedSource(group, number), subject)
            if len(numbers) > 1:
                problem = f"MusicBrainz links the record to {len(numbers)} items"
                source = replace(source, date=None, problem=source.problem or problem)
            elif item and source.document:
                types, articles = item.types, {**item.articles, **articles}
            yield source
        for language in self._languages(articles):
            source = LinkedSource(group, "", articles[language])
            yield self._read_article(source, language, subject, types)

    def _read_item(
        self, source: LinkedSource, subject: Subject
    ) -> tuple[LinkedSource, WikidataItem | None]:
        home, fetch = self.config.wikipedia.wikidata_url, self.config.fetch
        server = JsonServer("Wikidata", home.rstrip("/"), fetch, self.resolve)
        number = source.address
        source = replace(source, address=f"{server.home}/wiki/{number}")
        try:
            item = read_item(server, number, self._deadline())
        except FetchError as error:
            return replace(source, problem=str(error)), None
        source = replace(source, address=item.address, title=item.title)
        if problem := _item_problem(item, source.group, subject):
            return replace(source, problem=problem), item
        statement = f"publication date{CELLS}{item.date}" if item.date else ""
        text = "\n".join(filter(None, (f"# {item.title}", item.description, statement)))
        document = Document(item.address, item.title, text=text, is_fetched=True)
        return LinkedSource(
            source.group, item.address, item.title, document, item.date, statement, item.problem
        ), item

    def _read_article(
        self, source: LinkedSource, language: str, subject: Subject, types: frozenset[str]
    ) -> LinkedSource:
        config = self.config
        wikipedia = Wikipedia(config.wikipedia, config.fetch, language, self.resolve)
        source = replace(source, address=wikipedia.address(source.title))
        try:
            article = wikipedia.article(source.title, self._deadline())
        except FetchError as error:
            return replace(source, problem=str(error))
        if article is None or article.is_disambiguation:
            problem = "it is a disambiguation page" if article else "Wikipedia has no such article"
            return replace(source, problem=problem)
        page, topic = article.page, f"{subject.artist.name} / {subject.title}"
        chosen = excerpt(page.extract.blocks, config.fetch.max_chars, topic)
        document = document_of(page, chosen)
        source = LinkedSource(source.group, page.url, page.title, document)
        if article.is_section:
            return replace(source, problem="the link leads to a section of another article")
        row = read_release(SourceText.of(document), article.markup, subject, types)
        return replace(source, date=row.date, quote=row.text, problem=row.problem)

    def _languages(self, articles: Mapping[str, str]) -> Sequence[str]:
        preferred = ("en", *languages_of(self.bundle.performer.country))
        available = [language for language in preferred if language in articles]
        return (available or list(articles))[:_MOST_ARTICLES]

    def _deadline(self) -> Deadline:
        return Deadline(min(self.config.fetch.timeout_s, self.deadline.left_s))


def _item_problem(item: WikidataItem, group: ReleaseGroupId, subject: Subject) -> str:
    """Return why an item is not about this very group, or an empty string if it is.

    An item of type `Song` alone has the date of the song, which may be that of an earlier album.
    """
    primary_type = subject.primary_type
    other_types = item.types - {primary_type} - ({"Song"} if primary_type == "Single" else set())
    if item.group_ids - {group.lower()}:
        return "the item is that of another release group"
    if not item.group_ids and not any(is_titled(name, subject) for name in item.names):
        return f"the item is not called {subject.title!r}"
    if other_types or primary_type not in item.types:
        types = " and ".join(sorted(item.types)) or "no known type"
        return f"the item is of {types}, where the record is {primary_type or 'of no known type'}"
    return ""
