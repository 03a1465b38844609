"""Wikidata's items as Special:EntityData has them (doc.wikimedia.org/Wikibase, "JSON format")."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import NAMESPACE_OID, uuid5

from servers.http import Request, Response, StandIn

Behave = Callable[[Request, Response], Response]
_PATH = re.compile(r"/wiki/Special:EntityData/(Q[0-9]+)\.json")
_CALENDAR = "http://www.wikidata.org/entity/Q1985727"
_PRECISIONS = {1: 9, 2: 10, 3: 11}


def time_value(date: str, **fields: Any) -> dict[str, Any]:
    """The value of a date: its unknown parts are zeros."""
    parts = date.split("-")
    whole = "-".join([*parts, "00", "00"][:3])
    return {
        "time": f"+{whole}T00:00:00Z", "timezone": 0, "before": 0, "after": 0,
        "precision": _PRECISIONS[len(parts)], "calendarmodel": _CALENDAR,
    } | fields  # fmt: skip


def snak(number: str, value: Any, kind: str, datatype: str) -> dict[str, Any]:
    """A snak; without a value it is of the type `somevalue`, and has no `datavalue`."""
    made = {"property": number, "hash": uuid5(NAMESPACE_OID, number).hex, "datatype": datatype}
    if value is None:
        return {"snaktype": "somevalue"} | made
    return {"snaktype": "value"} | made | {"datavalue": {"value": value, "type": kind}}


def entity_snak(number: str, item: str) -> dict[str, Any]:
    value = {"entity-type": "item", "numeric-id": int(item[1:]), "id": item}
    return snak(number, value, "wikibase-entityid", "wikibase-item")


def statement(
    main: Mapping[str, Any], rank: str = "normal", qualifiers: Sequence[Mapping[str, Any]] = ()
) -> dict[str, Any]:
    made: dict[str, Any] = {"mainsnak": main, "type": "statement", "id": "Q1$F1D8", "rank": rank}
    if qualifiers:
        made["qualifiers"] = {each["property"]: [each] for each in qualifiers}
        made["qualifiers-order"] = [each["property"] for each in qualifiers]
    reference: Any = snak(
        "P143", {"entity-type": "item", "id": "Q328"}, "wikibase-entityid", "item"
    )
    made["references"] = [{"hash": "9a24f7c0", "snaks": {"P143": [reference]}}]
    return made


def published(
    date: str | None, rank: str = "normal", *, qualifiers: Sequence[str] = (), **fields: Any
) -> dict[str, Any]:
    """A date of publication, with qualifiers such as `P291 Q145` (place: United Kingdom)."""
    value = None if date is None else time_value(date, **fields)
    pairs = (each.split() for each in qualifiers)
    return statement(
        snak("P577", value, "time", "time"), rank, [entity_snak(*pair) for pair in pairs]
    )


@dataclass
class WikiItem:
    """An item: its English label, classes, dates, and what else is known of it."""

    label: str
    classes: Sequence[str] = ()
    dates: Sequence[Mapping[str, Any]] = ()
    description: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    groups: Sequence[str] = ()
    articles: Mapping[str, str] = field(default_factory=dict)

    def entity(self, number: str) -> dict[str, Any]:
        """The item as JSON; PHP writes what is empty as a list."""
        labels = {"en": self.label} | dict(self.labels)
        claims = {
            "P31": [statement(entity_snak("P31", one)) for one in self.classes],
            "P577": list(self.dates),
            "P436": [statement(snak("P436", one, "string", "external-id")) for one in self.groups],
            "P1476": [statement(snak("P1476", _text("en", self.label), "monolingualtext", "x"))],
        }
        return {
            "pageid": 138, "ns": 0, "title": number, "lastrevid": 1, "type": "item", "id": number,
            "modified": "2026-10-01T10:00:00Z",
            "labels": {code: _text(code, name) for code, name in labels.items()},
            "descriptions": {"en": _text("en", self.description)} if self.description else [],
            "aliases": [],
            "claims": {name: each for name, each in claims.items() if each} or [],
            "sitelinks": {
                f"{code}wiki": {"site": f"{code}wiki", "title": title, "badges": []}
                for code, title in self.articles.items()
            } or [],
        }  # fmt: skip


def _text(language: str, text: str) -> dict[str, str]:
    return {"language": language, "value": text, "text": text}


class WikidataStandIn(StandIn):
    """`with WikidataStandIn({"Q1": WikiItem("Killer Queen")}) as wikidata:` serves items.

    `merged` items are answered with the one that they were merged into, under its number.
    """

    def __init__(
        self,
        items: Mapping[str, WikiItem],
        *,
        merged: Mapping[str, str] | None = None,
        behave: Behave | None = None,
    ) -> None:
        super().__init__(self._answer)
        self.items = items
        self.merged = merged or {}
        self.behave = behave

    def _answer(self, request: Request) -> Response:
        honest = self._honest(request)
        return self.behave(request, honest) if self.behave else honest

    def _honest(self, request: Request) -> Response:
        found = _PATH.fullmatch(request.path)
        number = self.merged.get(found[1], found[1]) if found else ""
        item = self.items.get(number)
        if not request.headers.get("user-agent"):
            return Response("Please set a user-agent", 403, "text/plain")
        if item is None:
            return Response("<!DOCTYPE html><title>Not Found</title>No entity was found.", 404)
        body = json.dumps({"entities": {number: item.entity(number)}})
        return Response(body, content_type="application/json; charset=UTF-8")
