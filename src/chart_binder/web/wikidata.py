"""Items of Wikidata: what an item is about, and the date of publication that it states.

The format is that of Wikibase (doc.wikimedia.org/Wikibase/master/php/docs_topics_json.html), read
from Special:EntityData. An empty object is an empty list there, because PHP writes it so.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

import msgspec

from chart_binder.domain.dates import PartialDate
from chart_binder.errors import FetchError
from chart_binder.files import decode_json
from chart_binder.net import Deadline
from chart_binder.react.sanitize import one_line
from chart_binder.web.infobox import LINKED_WORDS, first_date, is_vaguer
from chart_binder.web.wikimedia import JsonServer

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
        day for day in unqualified if not any(is_vaguer(day, precise) for precise in unqualified)
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
