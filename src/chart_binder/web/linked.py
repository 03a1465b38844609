"""What MusicBrainz links a release group to: its item at Wikidata, its articles at Wikipedia.

The links say which record a page is about, so nothing has to be searched for. A date that an item
or an infobox states counts as that of a trusted source without a second reading, but only if the
item or infobox is about this very record: a single may be linked to the article on its album.

An item is read from Special:EntityData in the format of Wikibase
(doc.wikimedia.org/Wikibase/master/php/docs_topics_json.html). An empty object is an empty list
there, because PHP writes it so.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeVar

import msgspec

from chart_binder.config import LLMConfig
from chart_binder.domain.dates import PartialDate
from chart_binder.domain.evidence import EvidenceBundle, Link
from chart_binder.domain.vocabulary import ReleaseGroupId
from chart_binder.errors import FetchError
from chart_binder.files import decode_json
from chart_binder.net import Deadline
from chart_binder.react.sanitize import one_line
from chart_binder.react.steps import Document
from chart_binder.web.documents import SourceText
from chart_binder.web.infobox import LINKED_WORDS, first_date, is_titled, read_release
from chart_binder.web.passages import CELLS, document_of, excerpt
from chart_binder.web.subject import Subject
from chart_binder.web.transport import Resolve, resolve_by_system
from chart_binder.web.wikimedia import JsonServer, Wikipedia, in_address

INSTANCE_OF, PUBLICATION_DATE, GROUP_ID = "P31", "P577", "P436"
_EXPLAINS_DATE: Final = frozenset({"P291", "P437", "P264", "P123"})
"""Qualifiers with which a date is still the record's: place, format, label, publisher.

With any other (`applies to part`, `has role`) it may be the date of something else.
"""
_TIME: Final = re.compile(r"\+([0-9]{4})-([0-9]{2})-([0-9]{2})T00:00:00Z")
_PARTS: Final = {9: 1, 10: 2, 11: 3}
"""By precision (9 year, 10 month, 11 day), how many parts of a time are known."""
_GREGORIAN: Final = "Q1985727"
_WIKI: Final = re.compile(r"([a-z_]{2,20})wiki")
_LONGEST_NAME: Final = 120
_MOST_NAMES: Final = 500


class _Text(msgspec.Struct, frozen=True):
    value: str


class _SiteLink(msgspec.Struct, frozen=True):
    title: str


class _DataValue(msgspec.Struct, frozen=True):
    value: msgspec.Raw


class _Snak(msgspec.Struct, frozen=True):
    snaktype: str
    datavalue: _DataValue | None = None


class _Statement(msgspec.Struct, frozen=True):
    mainsnak: _Snak
    rank: str = "normal"
    qualifiers: dict[str, msgspec.Raw] | tuple[()] = ()


class _Time(msgspec.Struct, frozen=True):
    time: str
    precision: int
    calendarmodel: str = ""
    before: int = 0
    after: int = 0


class _EntityId(msgspec.Struct, frozen=True):
    id: str


class _Entity(msgspec.Struct, frozen=True):
    id: str
    missing: str | None = None
    labels: dict[str, _Text] | tuple[()] = ()
    descriptions: dict[str, _Text] | tuple[()] = ()
    aliases: dict[str, tuple[_Text, ...]] | tuple[()] = ()
    claims: dict[str, tuple[_Statement, ...]] | tuple[()] = ()
    sitelinks: dict[str, _SiteLink] | tuple[()] = ()


class _Answer(msgspec.Struct, frozen=True):
    entities: dict[str, _Entity]


@dataclass(frozen=True, slots=True)
class WikidataItem:
    """The statements of an item about a record.

    `types` are primary types of MusicBrainz or `Song`, `group_ids` are release groups of
    MusicBrainz, and `articles` are titles at Wikipedia by language. If `date` is None, `problem`
    says why.
    """

    address: str
    title: str
    description: str
    names: Sequence[str]
    types: frozenset[str]
    group_ids: frozenset[str]
    articles: Mapping[str, str]
    date: PartialDate | None
    problem: str


def read_item(server: JsonServer, number: str, deadline: Deadline) -> WikidataItem:
    """Return the item with a number such as `Q209522`, or the one that it was merged into.

    Raises `FetchError` if there is no such item or Wikidata could not be asked.
    """
    path = f"/wiki/Special:EntityData/{number}.json"
    entities = server.read(path, _Answer, deadline).entities
    entity = next(iter(entities.values()), None)
    if entity is None or entity.missing is not None or not re.fullmatch(r"Q[0-9]+", entity.id):
        raise FetchError(f"Wikidata has no item {number}")
    try:
        return _item(f"{server.home}/wiki/{entity.id}", entity)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise FetchError(f"{server.home} does not answer as Wikidata does") from error


def _item(address: str, entity: _Entity) -> WikidataItem:
    labels, descriptions = dict(entity.labels), dict(entity.descriptions)
    label = labels.get("en") or labels.get("mul") or next(iter(labels.values()), _Text(entity.id))
    aliases = (name for names in dict(entity.aliases).values() for name in names)
    names = dict.fromkeys(one_line(name.value) for name in (*labels.values(), *aliases))
    claims = dict(entity.claims)
    classes = {entity_id.id for entity_id in _values(claims.get(INSTANCE_OF, ()), _EntityId)}
    date, problem = _publication(claims.get(PUBLICATION_DATE, ()))
    return WikidataItem(
        address,
        one_line(label.value, _LONGEST_NAME),
        one_line(descriptions["en"].value, _LONGEST_NAME) if "en" in descriptions else "",
        list(names)[:_MOST_NAMES],
        frozenset(kind for kind, ids in LINKED_WORDS["classes"].items() if classes & {*ids}),
        frozenset(group.lower() for group in _values(claims.get(GROUP_ID, ()), str)),
        {
            wiki[1].replace("_", "-"): link.title
            for site, link in dict(entity.sitelinks).items()
            if (wiki := _WIKI.fullmatch(site))
        },
        date,
        problem,
    )


T = TypeVar("T")


def _values(statements: Sequence[_Statement], kind: type[T]) -> list[T]:
    """Return the values of statements that are not deprecated."""
    return [
        decode_json(bytes(statement.mainsnak.datavalue.value), kind)
        for statement in statements
        if statement.rank != "deprecated" and statement.mainsnak.datavalue
    ]


def _publication(statements: Sequence[_Statement]) -> tuple[PartialDate | None, str]:
    """Return the first date of publication among the statements of the best rank, or why not.

    Several dates can be of one record if each is qualified by a place, format or label. Of two
    dates without qualifiers, one must be the vaguer form of the other.
    """
    preferred = [statement for statement in statements if statement.rank == "preferred"]
    best = preferred or [statement for statement in statements if statement.rank == "normal"]
    if not best:
        return None, "it states no date of publication"
    unqualified, qualified, doubtful = list[PartialDate](), list[PartialDate](), list[PartialDate]()
    for statement in best:
        date = _date(statement)
        if date is None:
            return None, "it states a date of publication that is uncertain"
        qualifiers = {*dict(statement.qualifiers)}
        dates = unqualified if not qualifiers else qualified
        (dates if qualifiers <= _EXPLAINS_DATE else doubtful).append(date)
    exact = [
        day
        for day in unqualified
        if not any(day != precise and day.includes(precise) for precise in unqualified)
    ]
    if len(set(exact)) > 1:
        return None, f"it states several dates of publication: {', '.join(sorted(map(str, exact)))}"
    first = first_date([*exact, *qualified], doubtful)
    return first, "" if first else "its earliest date of publication may be of something else"


def _date(statement: _Statement) -> PartialDate | None:
    """Return the date of a statement, or None if it is unknown, vague or of another calendar.

    The first of January counts as the year alone, because it is often a year that was read as a
    day.
    """
    if statement.mainsnak.snaktype != "value" or statement.mainsnak.datavalue is None:
        return None
    value = decode_json(bytes(statement.mainsnak.datavalue.value), _Time)
    parts, count = _TIME.fullmatch(value.time), _PARTS.get(value.precision, 0)
    is_exact = not (value.before or value.after) and value.calendarmodel.endswith(_GREGORIAN)
    if not (parts and count and is_exact):
        return None
    year, month, day = parts.groups()
    is_new_year = (month, day) == ("01", "01")
    try:
        return PartialDate.parse("-".join((year, month, day)[: 1 if is_new_year else count]))
    except ValueError:
        return None


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
