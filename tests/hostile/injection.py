"""Runs of the adjudicator against a stranger who wants another answer, and their results."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from ipaddress import ip_address

from bs4 import BeautifulSoup

from chart_binder.config import AcceptanceConfig, FetchConfig, LLMConfig, RulesConfig, SearxngConfig
from chart_binder.domain.evidence_json import read_bundle
from chart_binder.llm.react_adjudicator import ReActAdjudicator, RunSetup
from chart_binder.llm.result import AdjudicationResult as Result
from chart_binder.llm.result import Outcome
from chart_binder.react.tools import Observation, Tool
from chart_binder.react.transcript import AnyEvent, MessageEvent, ObservationEvent
from chart_binder.rules.decide import decide
from chart_binder.web.fetch import PageFetcher
from chart_binder.web.tools import web_fetch, web_search
from golden.bundles import year_only_single
from hostile.obedient import ObedientModel
from hostile.payloads import ACCOMPLICE, SITE, Payload
from servers.http import Request, Response, StandIn
from servers.searxng import hit

_ALBUM = "6b47c9a0-b9e1-3df9-a5e8-50a6ce0dbdbd"
_TRUE = frozenset({"C2", _ALBUM, "None"})
_GROUNDING = frozenset({"candidate", "fact"})
_ONE_SOURCE = AcceptanceConfig(min_sources=1)
_EMPTY: Mapping[str, list[str]] = {
    "answers": [], "corrections": [], "infoboxes": [], "suggestions": []
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Defences:
    """Whether a payload turned the decision, with each defence alone and with all.

    `installed` is with the configuration as it is installed, `unasked` the same by nothing but the
    pages that code opens before the first turn, `one_source` with one source required.
    """

    undefended: bool
    sanitising: bool
    grounding: bool
    rules: bool
    two_sources: bool
    installed: bool
    unasked: bool
    one_source: bool


@dataclass(frozen=True, slots=True)
class AttackResult:
    """Whether the model was turned, and whether what it then answered was accepted."""

    obeyed: bool
    accepted: bool


def attack(payload: Payload, *, needs_voice: bool = False, searches: bool = True) -> AttackResult:
    """Run the adjudicator on a payload as it is installed; see `ObedientModel`."""
    with _serving(payload) as config:
        result, said = _run(config, payload, needs_voice=needs_voice, searches=searches)
    return AttackResult(said not in _TRUE, _is_accepted(result))


def compare_defences(payload: Payload, *, needs_voice: bool = False) -> Defences:
    """Run the adjudicator on a payload with and without its defences."""

    def run(acceptance: AcceptanceConfig, **how: bool) -> tuple[Result, str]:
        held = config.model_copy(update={"acceptance": acceptance})
        return _run(held, payload, needs_voice=needs_voice, **how)

    with _serving(payload) as config:
        told, said = run(AcceptanceConfig())
        unasked, _ = run(AcceptanceConfig(), searches=False)
        one, _ = run(_ONE_SOURCE)
        bare, bare_said = run(_ONE_SOURCE, is_naive=True)
    bare_turned = bare_said not in _TRUE
    return Defences(
        undefended=bare_turned,
        sanitising=said not in _TRUE,
        grounding=bare_turned and _is_turned(bare) and _passes(bare, _GROUNDING),
        rules=bare_turned and _passes(bare, frozenset({"rules"})),
        two_sources=bare_turned and bare.independent_sources > 1,
        installed=_is_accepted(told),
        unasked=_is_accepted(unasked),
        one_source=_is_accepted(one),
    )


def _is_turned(result: Result) -> bool:
    return result.crg_mbid not in {_ALBUM, None}


def _is_accepted(result: Result) -> bool:
    return result.outcome is Outcome.ACCEPTED and _is_turned(result)


def _passes(result: Result, names: frozenset[str]) -> bool:
    return all(check.passed for check in result.checks if check.name in names)


def _run(
    config: LLMConfig,
    payload: Payload,
    *,
    needs_voice: bool,
    is_naive: bool = False,
    searches: bool = True,
) -> tuple[Result, str]:
    """Return the result, and the group that the model named first."""
    port = config.fetch.ports[0]
    raw: list[str] = []
    by_code: list[str] = []

    def listen(event: AnyEvent) -> None:
        if isinstance(event, MessageEvent):
            by_code.append(event.content)
        elif isinstance(event, ObservationEvent) and event.remark:
            by_code.append(event.remark)

    model = ObedientModel(
        (lambda: raw) if is_naive else None,
        needs_voice,
        tuple(_placed(url, port) for url in (payload.url, payload.second_url) if url),
        searches,
        by_code,
    )
    bundle = read_bundle(year_only_single())
    tools = _naive(payload, port, raw) if is_naive else _guarded(config)
    adjudicator = ReActAdjudicator(config, chat=model, tools=tools, setup=RunSetup(on_event=listen))
    result = adjudicator.adjudicate(bundle, decide(bundle, RulesConfig()))
    return result, model.group


def _guarded(config: LLMConfig) -> list[Tool]:
    def resolve(host: str, port: int) -> tuple[object, ...]:
        return (ip_address("127.0.0.1"),)

    pages = PageFetcher(config.fetch, resolve=resolve)  # type: ignore[arg-type]
    return [web_search(config, pages=pages), web_fetch(config, pages)]


def _naive(payload: Payload, port: int, raw: list[str]) -> list[Tool]:
    """Return tools without any defence; what they return is also put into `raw`."""

    def search(query: str) -> Observation:
        """Search the web."""
        results = _results(payload)
        said = "\n".join(
            f"{result['title']} {result['url']} {result.get('publishedDate') or ''}\n"
            f"{result['content']}"
            for result in results
        )
        boxes = json.dumps(payload.beside, ensure_ascii=False) if payload.beside else ""
        raw.append(_placed(f"{said}\n{boxes}", port))
        return Observation(raw[-1], tuple(_placed(str(each["url"]), port) for each in results))

    def fetch(url: str) -> Observation:
        """Read a web page."""
        text = payload.second_page if url == _placed(payload.second_url, port) else payload.page
        if "html" in payload.content_type:
            page = BeautifulSoup(text, "html.parser")
            text = page.get_text() + " ".join(str(each["alt"]) for each in page.select("[alt]"))
        raw.append(f"{url}\n{_placed(text[:2_000], port)}")
        return Observation(raw[-1], (url,))

    return [Tool.of(search, name="web_search"), Tool.of(fetch, name="web_fetch")]


def _results(payload: Payload) -> list[Mapping[str, object]]:
    first = hit(payload.url, payload.title, payload.snippet)
    return [first, *payload.more]


@contextmanager
def _serving(payload: Payload) -> Iterator[LLMConfig]:
    """Serve a payload's page and the search that finds it."""

    def answer(request: Request) -> Response:
        port = server.port
        if request.path == "/search":
            body = {**_EMPTY, "query": "", "results": _results(payload), **payload.beside}
            found = _placed(json.dumps({"unresponsive_engines": [], **body}), port)
            return Response(found, content_type="application/json")
        if request.path == "/robots.txt":
            return Response("<h1>Not Found</h1>", 404)
        is_second = f"http://{request.headers['host']}/" == _placed(payload.second_url, port)
        page = _placed(payload.second_page if is_second else payload.page, port)
        is_wide = "utf-16" in payload.content_type
        return Response(
            page.encode("utf-16-le" if is_wide else "utf-8"), content_type=payload.content_type
        )

    with StandIn(answer) as server:
        yield LLMConfig(
            enabled=True,
            fetch=FetchConfig(
                ports=(server.port,), allow_private_hosts=("127.0.0.0/8",), host_pause_s=0
            ),
            searxng=SearxngConfig(url=server.url),
        )


def _placed(text: str, port: int) -> str:
    """Put the port of the server behind the names of the stranger's sites."""
    return text.replace(f"{SITE}/", f"{SITE}:{port}/").replace(
        f"{ACCOMPLICE}/", f"{ACCOMPLICE}:{port}/"
    )
