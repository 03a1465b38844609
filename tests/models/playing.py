"""Play a world through the adjudicator: a chat researches, pages and searches come from sockets.

The chat is a `robot` that writes what the program proposes, a `model` behind a server, or none
(`code`): then the one answer that is asked for is what the program has found by itself. Second
readings are answered by a reader: `honest`, `agreeing`, or `real`, which is the model; by `none`
for a model below the bar of `canon model check`.
"""

import json
import os
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv6Address, ip_address
from urllib.parse import unquote, urlsplit

from chart_binder import plugins
from chart_binder.config import FetchConfig, LLMConfig, RulesConfig, SearxngConfig, WikipediaConfig
from chart_binder.domain.verdict import FirstRelease
from chart_binder.jobs.pipeline import Pipeline, decide_bundle
from chart_binder.llm.react_adjudicator import ReActAdjudicator, RunSetup
from chart_binder.llm.result import AdjudicationResult, Outcome
from chart_binder.react.conversation import ChatModel, GenerationOptions, Message, Reply
from chart_binder.react.tools import Tool
from chart_binder.web.fetch import PageFetcher
from chart_binder.web.tools import web_fetch, web_search, wikipedia
from llm.verdicts.play import AGREED, Case, HonestReader, Page, placed
from models.worlds import YEAR_SETS, Result, World
from servers.http import Request, Response, StandIn
from servers.pages import redirect
from servers.searxng import hit
from servers.wikipedia import WikipediaStandIn

URL, MODEL = "CANON_TEST_MODEL_URL", "CANON_TEST_MODEL"
CHATS = ("robot", "model", "code")
READERS = ("honest", "agreeing", "real", "none")
_TIMEOUT_S = 1.5
_SECOND_READING = "# Second reading"


def _on_loopback(host: str, port: int) -> Sequence[IPv4Address | IPv6Address]:
    return (ip_address("127.0.0.1"),)


# The web of a world.


@dataclass
class Web:
    """A world's pages under their own hosts, its search, and the Wikipedias it has articles of."""

    world: World
    server: StandIn = field(init=False)
    place: Mapping[str, str] = field(init=False)

    def __post_init__(self) -> None:
        self.server = StandIn(self._answer)

    @property
    def pages_read(self) -> int:
        """How many requests for pages have come, those for articles by title included."""
        paths = [request.path for request in self.server.requests]
        return sum(path not in ("/search", "/robots.txt") for path in paths)

    def addressed(self, url: str) -> str:
        """Return the address of a page of the world on this server."""
        return placed(url, self.place)

    def settle(self) -> None:
        """Put the server's port behind the names of the hosts."""
        urls = [result.page.url for result in self.world.pages.values()]
        hosts = {urlsplit(url).hostname or "" for url in urls}
        self.place = {host: f"http://{host}:{self.server.port}" for host in hosts}

    def _answer(self, request: Request) -> Response:
        if request.path == "/search":
            return self._search(request.query["q"])
        host = request.headers["host"].partition(":")[0]
        if request.path == "/robots.txt":
            return self._robots(host)
        if request.path == "/w/api.php":
            return self._wikipedia(host).handler(request)
        for result in self.world.pages.values():
            if _target(result) == (host, request.target):
                return self._page(result)
        return Response("<h1>Not Found</h1>", 404)

    def _search(self, query: str) -> Response:
        found = [
            hit(each.page.url, each.title, each.page.snippet) for each in self.world.finds(query)
        ]
        body = {"query": query, "results": found, "answers": [], "corrections": [],
                "infoboxes": [], "suggestions": [], "unresponsive_engines": []}  # fmt: skip
        written = placed(json.dumps(body, ensure_ascii=False), self.place)
        return Response(written, content_type="application/json")

    def _robots(self, host: str) -> Response:
        closed = [
            urlsplit(result.page.url).path
            for result in self.world.pages.values()
            if result.status == "robots" and _target(result)[0] == host
        ]
        lines = ["User-agent: *", *(f"Disallow: {path}" for path in closed)]
        return Response("\n".join(lines), content_type="text/plain")

    def _page(self, result: Result) -> Response:
        if to := result.page.to:
            return redirect(placed(to, self.place))
        match result.status:
            case "":
                return Response(placed(result.page.html, self.place))
            case "timeout":
                return Response("", delay_s=2 * _TIMEOUT_S)
            case "pdf":
                return Response(b"%PDF-1.4\n", content_type="application/pdf")
            case "robots":
                return Response(placed(result.page.html, self.place))
            case status:
                return Response("<h1>No</h1>", int(status))

    def _wikipedia(self, host: str) -> WikipediaStandIn:
        """Return the wiki at a host: the articles among the world's pages that can be read."""
        articles = {
            unquote(urlsplit(result.page.url).path.removeprefix("/wiki/")).replace("_", " "):
                result.page.html.partition("</title>")[2]
            for result in self.world.pages.values()
            if _target(result)[0] == host and not (result.status or result.page.to)
        }  # fmt: skip
        return WikipediaStandIn(
            {title: placed(html, self.place) for title, html in articles.items()}
        )


def _target(result: Result) -> tuple[str, str]:
    parts = urlsplit(result.page.url)
    query = f"?{parts.query}" if parts.query else ""
    return parts.hostname or "", f"{parts.path or '/'}{query}"


@contextmanager
def serving(world: World) -> Iterator[tuple[Web, LLMConfig, Sequence[Tool]]]:
    """Serve a world, with the configuration and the tools that reach it."""
    web = Web(world)
    with web.server as server:
        web.settle()
        config = LLMConfig(
            enabled=True,
            fetch=FetchConfig(
                ports=(server.port,),
                allow_private_hosts=("127.0.0.0/8",),
                host_pause_s=0,
                timeout_s=_TIMEOUT_S,
            ),
            searxng=SearxngConfig(url=server.url),
            wikipedia=WikipediaConfig(url=f"http://{{language}}.wikipedia.org:{server.port}"),
        )

        pages = PageFetcher(config.fetch, resolve=_on_loopback)
        tools = [web_search(config, pages=pages), web_fetch(config, pages)]
        if any(host.endswith(".wikipedia.org") for host in web.place):
            tools.append(wikipedia(config, _on_loopback))
        yield web, config, tools


# Who is asked.

_PROPOSED = re.compile(r"Write next:\n(.*?)(?:\n\n|\Z)", re.DOTALL)
_EXAMPLE = re.compile(r'\{"rationale".*\}')
_GIVEN = re.compile(r"the rules give (?:group )?(C\d+)")
_FIRST = '{"rationale": "", "crg_mbid": %s, "rr_mbid": null, "confidence": 0.9}'


@dataclass
class Robot:
    """Writes what the last message proposes, word for word; if nothing is proposed, `C1`.

    Asked for the answer alone, it gives what was proposed or is said to be given by the rules; only
    where it `guesses`, it copies the example of the request.
    """

    guesses: bool = True
    model_id: str = "robot"

    def reply(self, messages: Sequence[Message], options: GenerationOptions) -> Reply:
        """Return the next step."""
        text = messages[-1].content
        proposed = _PROPOSED.findall(text)
        if options.schema is None:
            first = f"Thought: It is the first.\nFinal Answer: {_FIRST % json.dumps('C1')}"
            return _counted(messages, proposed[-1].strip() if proposed else first)
        if proposed and '"crg_mbid"' in proposed[-1]:
            return _counted(messages, "{" + proposed[-1].partition("{")[2])
        example, given = _EXAMPLE.search(text), _GIVEN.findall(text)
        if self.guesses and example:
            return _counted(messages, example[0])
        return _counted(messages, _FIRST % (json.dumps(given[-1]) if given else "null"))


def _counted(messages: Sequence[Message], text: str) -> Reply:
    size = sum(len(each.content) for each in messages)
    return Reply(text, prompt_tokens=size // 4, completion_tokens=len(text) // 4)


@dataclass
class Table:
    """The chat of a run: second readings go to a reader, all else to who researches."""

    researcher: ChatModel
    reader: ChatModel | HonestReader | None
    """None agrees to everything."""
    asked: list[tuple[str, str]] = field(default_factory=list)

    @property
    def model_id(self) -> str:
        """The name of who researches."""
        return self.researcher.model_id

    def reply(self, messages: Sequence[Message], options: GenerationOptions) -> Reply:
        """Return a reply of the one that is asked."""
        asked = messages[-1].content
        if not asked.startswith(_SECOND_READING):
            return self.researcher.reply(messages, options)
        if self.reader is None:
            reply = _counted(messages, AGREED)
        elif isinstance(self.reader, HonestReader):
            reply = _counted(messages, self.reader.reply(asked))
        else:
            reply = self.reader.reply(messages, options)
        self.asked.append((asked, reply.content))
        return reply


def _configured(config: LLMConfig, chat: str, reader: str) -> LLMConfig:
    """Return the configuration for a chat and a reader: one turn without a model, or its server."""
    if chat == "code":
        config = config.model_copy(update={"max_iterations": 1})
    if chat != "model" and reader != "real":
        return config
    model = {
        "provider": "openai", "base_url": os.environ[URL], "num_ctx": 12_288,
        "model_id": os.environ.get(MODEL, "model"), "max_run_s": 1_800.0,
    }  # fmt: skip
    return LLMConfig(**config.model_dump() | model)


def _seated(chat: str, reader: str, config: LLMConfig, world: World) -> Table:
    model: ChatModel | None = None
    if chat == "model" or reader == "real":
        model = plugins.load("chart_binder.chat_models", config.provider)(config)
    researcher = model if chat == "model" and model else Robot(guesses=chat == "robot")
    readers = {"honest": HonestReader(world.evidence, world.truths), "real": model}
    return Table(researcher, readers.get(reader))


# Playing.


@dataclass(frozen=True)
class Played:
    """What came of a world."""

    world: World
    result: AdjudicationResult
    asked: Sequence[tuple[str, str]]
    """The second readings, each with its answer."""
    pages: int
    seconds: float
    first: FirstRelease | None = None
    """What was decided of the year, if that was asked for."""

    @property
    def named(self) -> str:
        """The record that was decided or proposed; an empty text for none of the evidence."""
        ids = self.world.evidence.ids.items()
        return next((key for key, each in ids if each == self.result.crg_mbid), "")

    @property
    def outcome(self) -> str:
        """What came of it: `right`, `wrong`, `proposed right`, `proposed other`, `cannot tell`.

        `untold` is a right decision where no page tells the truth.
        """
        if self.first:
            return self._outcome_of_year(self.first)
        is_right = self.named != "" and self.named == self.world.answer
        if self.result.outcome is Outcome.ACCEPTED:
            is_told = bool(self.world.told_by)
            return ("right" if is_told else "untold") if is_right else "wrong"
        if self.result.outcome is Outcome.REVIEW and self.named:
            return "proposed right" if is_right else "proposed other"
        return "cannot tell"

    def _outcome_of_year(self, first: FirstRelease) -> str:
        is_right = str(first.year) == self.world.answer
        if first.year_certain:
            is_told = bool(self.world.told_by)
            return ("right" if is_told else "untold") if is_right else "wrong"
        found = [fact.value[:4] for fact in self.result.facts]
        if self.world.answer in found:
            return "proposed right"
        return "proposed other" if found else "cannot tell"


def play(world: World, chat: str = "robot", reader: str = "honest") -> Played:
    """Play a world through the adjudicator as it is installed."""
    with serving(world) as (web, reachable, tools):
        config = _configured(reachable, chat, reader)
        table = _seated(chat, reader, config, world)
        setup = RunSetup(reads_prose=reader != "none")
        adjudicator = ReActAdjudicator(config, chat=table, tools=tools, setup=setup)
        bundle, started = world.evidence.bundle, time.monotonic()
        pipeline = Pipeline(RulesConfig(), adjudicator, asks_years=world.set in YEAR_SETS)
        decision = decide_bundle(pipeline, bundle).decision
        seconds = time.monotonic() - started
        assert decision.model_answer is not None
        first = decision.first_release if decision.year_answer else None
        return Played(world, decision.model_answer, table.asked, web.pages_read, seconds, first)


def world_of(case: Case, name: str = "verdicts") -> World:
    """Return a case of the verdicts as a world: a search finds all that any of its searches does.

    Where no answer is known, any decision is wrong.
    """
    pages = {url: Result(page, page.title, "") for url, page in case.pages.items()}
    found: list[str] = []
    for each in (each for hits in case.search.values() for each in hits):
        url = each if isinstance(each, str) else each["url"]
        if not isinstance(each, str) and url not in pages:
            pages[url] = Result(Page(url, "", (), each.get("snippet", "")), each["title"], "404")
        found += [url] * (url not in found)
    answer = case.wanted or case.answer
    told = "sites" if answer else ""
    return World(
        case.id, name, case.kind, "", "", case.evidence, answer, case.truth, told, {}, "", pages,
        [((), found)], case.all_truths,
    )  # fmt: skip
