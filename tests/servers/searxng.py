"""A SearXNG server as its clients see it: the JSON, the syntax it reads, the ways it refuses."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Literal

from servers.http import Repeated, Request, Response, StandIn

Mode = Literal[
    "well",  # answers as configured
    "degraded",  # every engine fails: 200, nothing found, `unresponsive_engines`
    "json_off",  # as installed: 403 in HTML for format=json
    "too_many",  # the limiter has had enough: 429
    "bad_request",  # 400 with its reason
    "crashed",  # 500
    "html",  # a page where JSON should be
    "garbage",  # cut JSON
    "not_search",  # JSON of something else
    "redirect",  # 302 to another site
    "slow",  # nothing for a minute
    "dripping",  # a byte at a time
    "endless",  # JSON that never ends
    "packed",  # a body that cannot be unpacked
    "hangs_up",  # no answer at all
]

_COMPUTED = frozenset({"avg", "min", "max", "sum", "prod", "range", "random"})
_FORBIDDEN = "<!doctype html><title>403 Forbidden</title><h1>Forbidden</h1>"


def hit(url: str, title: str, content: str = "", date: str | None = None) -> dict[str, object]:
    """Return one result with the fields SearXNG sends."""
    return {
        "url": url,
        "title": title,
        "content": content,
        "publishedDate": date,
        "engine": "stand-in",
        "engines": ["stand-in"],
        "positions": [1],
        "score": 1.0,
        "category": "general",
        "template": "default.html",
    }


class Searxng(StandIn):
    """`with Searxng({"queen killer queen": [hit(...)]}) as server:` with `server.url` to configure.

    Queries are found whatever their case. `mode` may be changed between requests. Like the real
    one it obeys `!word`, `!!word`, `:de`, `<3` and `sum 41` instead of searching for them, and
    with `limiter` refuses clients that do not look like a browser.
    """

    def __init__(
        self,
        results: Mapping[str, Sequence[Mapping[str, object]]] | None = None,
        mode: Mode = "well",
        *,
        limiter: bool = False,
    ) -> None:
        super().__init__(self._answer)
        self.results = {query.casefold(): found for query, found in (results or {}).items()}
        self.mode: Mode = mode
        self.limiter = limiter

    @property
    def queries(self) -> list[str]:
        """What was asked for, in order, as it arrived."""
        return [request.query.get("q", "") for request in self.requests]

    def _answer(self, request: Request) -> Response:
        if request.path != "/search":
            return Response("<h1>Not Found</h1>", 404)
        if self.limiter and not _looks_like_a_browser(request):
            return Response("Too Many Requests", 429, "text/plain")
        if self.mode == "well":
            return self._search(request.query.get("q", ""))
        return _MISBEHAVIOURS[self.mode]

    def _search(self, query: str) -> Response:
        words = query.split()
        if any(re.fullmatch(r"!!\w.*", word) for word in words):
            return Response("", 302, headers=(("Location", "https://elsewhere.example/"),))
        kept = [word for word in words if not re.fullmatch(r"!\w.*|:\w+|<\d+|!!", word)]
        if not words:
            return Response('{"error": "No query"}', 400, "application/json")
        if kept and kept[0] in _COMPUTED:
            return _json({"query": query, "results": [], "answers": [{"answer": "42"}]})
        found = self.results.get(" ".join(kept).casefold(), [])
        return _json({"query": " ".join(kept), "results": list(found)})


def _json(body: Mapping[str, object]) -> Response:
    rest: dict[str, object] = {
        "answers": [],
        "corrections": [],
        "infoboxes": [],
        "suggestions": [],
        "unresponsive_engines": [],
    }
    return Response(json.dumps({**rest, **body}), content_type="application/json")


def _looks_like_a_browser(request: Request) -> bool:
    takes_html = "text/html" in request.headers.get("accept", "")
    return takes_html and "accept-language" in request.headers


_MISBEHAVIOURS: dict[Mode, Response] = {
    "degraded": _json(
        {
            "query": "anything",
            "results": [],
            "unresponsive_engines": [["google", "Suspended: CAPTCHA"], ["bing", "timeout"]],
        }
    ),
    "json_off": Response(_FORBIDDEN, 403),
    "too_many": Response("Too Many Requests", 429, "text/plain"),
    "bad_request": Response(
        '{"error": "Invalid value xx for parameter language"}', 400, "application/json"
    ),
    "crashed": Response("<h1>Internal Server Error</h1>", 500),
    "html": Response("<!doctype html><title>SearXNG</title><p>welcome"),
    "garbage": Response('{"query": "x", "resul', content_type="application/json"),
    "not_search": Response('{"hello": "world"}', content_type="application/json"),
    "redirect": Response("", 302, headers=(("Location", "https://elsewhere.example/search"),)),
    "packed": Response(b"no", headers=(("Content-Encoding", "gzip"),)),
    "slow": Response("{}", delay_s=60),
    "dripping": Response('{"results": []}' + " " * 600, drip=(1, 0.05)),
    "endless": Response(Repeated(b" " * 65_536, head=b'{"results": [')),
    "hangs_up": Response(raw=b""),
}
