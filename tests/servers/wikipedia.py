"""A Wikipedia of any language, behind MediaWiki's API (mediawiki.org/wiki/API:Main_page)."""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from servers.http import Request, Response, StandIn

Behave = Callable[[Request, Response], Response]

# Of action=query&list=search and of action=parse, in format 2; others are answered by a warning.
_PARAMETERS = {
    "query": {"list", "srsearch", "srlimit", "srprop", "srinfo", "redirects"},
    "parse": {
        "page", "prop", "redirects", "section",
        "disableeditsection", "disabletoc", "disablelimitreport",
    },
}  # fmt: skip
_EVERYWHERE = {"action", "format", "formatversion"}


class WikipediaStandIn(StandIn):
    """`with WikipediaStandIn({"Killer Queen": "<p>..."}) as wiki:` serves rendered pages.

    `redirects` lead from one title to another, or to its section (`Album#Singles`); `languages`
    have the pages of wikis whose host begins with a language; `behave` spoils answers.
    """

    def __init__(
        self,
        pages: Mapping[str, str],
        *,
        redirects: Mapping[str, str] | None = None,
        languages: Mapping[str, Mapping[str, str]] | None = None,
        behave: Behave | None = None,
    ) -> None:
        super().__init__(self._answer)
        self.pages = dict(pages)
        self.redirects = dict(redirects or {})
        self.languages = languages or {}
        self.behave = behave

    def _answer(self, request: Request) -> Response:
        honest = self._honest(request)
        return self.behave(request, honest) if self.behave else honest

    def _honest(self, request: Request) -> Response:
        if request.path != "/w/api.php":
            return Response("<!DOCTYPE html><title>Not found</title>", 404)
        if not request.headers.get("user-agent"):
            return Response("Please set a user-agent", 403, "text/plain")
        query = request.query
        assert (query.get("format"), query.get("formatversion")) == ("json", "2")
        action = query.get("action", "")
        unknown = set(query) - _EVERYWHERE - _PARAMETERS.get(action, set())
        assert not unknown, f"MediaWiki would warn: Unrecognized parameters: {unknown}"
        return told(self._search(query) if action == "query" else self._parse(request))

    def _search(self, query: Mapping[str, str]) -> dict[str, Any]:
        wanted = {*re.findall(r"\w+", query["srsearch"].casefold())}
        scores = {
            title: 10 * len(wanted & {*re.findall(r"\w+", title.casefold())})
            + len(wanted & {*re.findall(r"\w+", text.casefold())})
            for title, text in self.pages.items()
        }
        found = sorted((title for title in scores if scores[title]), key=lambda t: -scores[t])
        hits = [
            {"ns": 0, "title": title, "pageid": number}
            for number, title in enumerate(found[: int(query["srlimit"])], start=1)
        ]
        return {"batchcomplete": True, "query": {"search": hits}}

    def _parse(self, request: Request) -> dict[str, Any]:
        query = request.query
        asked = query["page"]
        title, _, section = self.redirects.get(asked, asked).partition("#")
        if re.search(r"[<>\[\]{}|#]", title) or not title:
            return refusal("invalidtitle", f'Bad title "{title}".')
        language = request.headers.get("host", "").partition(".")[0]
        text = self.languages.get(language, self.pages).get(title)
        if text is None:
            return refusal("missingtitle", "The page you specified doesn't exist.")
        if query.get("section") == "0":
            text = text.partition("<h2")[0]
        body = f'<div class="mw-content-ltr mw-parser-output" lang="en" dir="ltr">{text}</div>'
        answer: dict[str, Any] = {"title": title, "pageid": 1, "text": body}
        if asked != title:
            fragment = {"tofragment": section} if section else {}
            answer["redirects"] = [{"from": asked, "to": title} | fragment]
        if "properties" in query["prop"].split("|"):
            marks = {"disambiguation": ""} if 'id="disambigbox"' in text else {}
            answer["properties"] = marks | {"wikibase_item": "Q1"} if marks else []
        return {"parse": answer}


def told(answer: Mapping[str, Any]) -> Response:
    return Response(json.dumps(answer), content_type="application/json; charset=utf-8")


def refusal(code: str, info: str) -> dict[str, Any]:
    """What MediaWiki says of a question that it does not answer; the status is 200."""
    see = "See https://en.wikipedia.org/w/api.php for API usage."
    return {"error": {"code": code, "info": info, "docref": see}, "servedby": "mw-api"}
