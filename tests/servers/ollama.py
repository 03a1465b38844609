"""A real server on loopback that speaks Ollama's wire format."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from servers.http import Repeated, Request, Response, StandIn
from servers.talk import (
    ALWAYS,
    HTML,
    Body,
    Said,
    Talker,
    cut,
    in_order,
    pieces,
    said,
    tokens,
)

__all__ = ["FAULTS", "OllamaStandIn", "Said"]

LLAMA_TOO_LONG: Body = {
    "error": {
        "code": 400,
        "message": "request (6030 tokens) exceeds the available context size (4096 tokens), try "
        "increasing it",
        "type": "exceed_context_size_error",
        "n_prompt_tokens": 6030,
        "n_ctx": 4096,
    }
}
"""As `llama-server` 0.6 said it."""
CREATED = "2026-11-02T09:30:00.123456789Z"


class OllamaStandIn(StandIn):
    """`with OllamaStandIn(replies=["Thought: ..."]) as server: LLMConfig(base_url=server.url)`.

    `replies` are given in order, or made by a function of the messages; when they run out the
    server fails with 500. `stop`, `num_predict` and `num_ctx` are honoured, and a prompt that
    overflows the window is cut in silence, as by the real server; `allotted` makes the window
    smaller than was asked for. A token is three characters here. A schema is declined with the
    status `declines_schema`, if given; `thinks_by_schema` puts what is written by one into the
    thinking. `fault` names a row of `FAULTS` that the first `times`
    requests for `on` meet. `digest` is that of each model. `chats` holds the bodies of all requests
    for a reply.
    """

    def __init__(
        self,
        replies: Iterable[str | Said] | Talker = (),
        *,
        models: tuple[str, ...] = ("llama3.2:latest",),
        context_length: int = 131_072,
        allotted: int | None = None,
        capabilities: tuple[str, ...] = ("completion", "tools"),
        version: str = "0.33.1",
        digest: str = "4ff4e3a9",
        obeys_stop: bool = True,
        thinks_by_schema: bool = False,
        declines_schema: int = 0,
        fault: str | None = None,
        times: int = ALWAYS,
        on: tuple[str, ...] = ("/api/chat", "/api/generate"),
    ) -> None:
        super().__init__(self._answer)
        self._replies = replies if callable(replies) else in_order(replies)
        self._models = models
        self.digest = digest
        self._context_length = context_length
        self._allotted = allotted
        self._capabilities = capabilities
        self._version = version
        self._obeys_stop = obeys_stop
        self._thinks_by_schema = thinks_by_schema
        self._declines_schema = declines_schema
        self._fault, self._times, self._on = fault, times, on
        self._running: dict[str, int] = {}

    @property
    def chats(self) -> list[Body]:
        """What was asked of `/api/chat` and `/api/generate`, in order."""
        asked = ("/api/chat", "/api/generate")
        return [json.loads(each.body) for each in self.requests if each.path in asked]

    def _answer(self, request: Request) -> Response:
        if self._fault is not None and request.path in self._on and self._times > 0:
            self._times -= 1
            return FAULTS[self._fault](self, request)
        row = ROUTES.get((request.method, request.path))
        return row(self, request) if row else Response("404 page not found", 404, "text/plain")

    def chat(self, request: Request) -> Response:
        """`POST /api/chat`."""
        body = json.loads(request.body)
        return self._reply(request, body, body.get("messages") or [], _as_message)

    def generate(self, request: Request) -> Response:
        """`POST /api/generate`: the prompt is what the talker sees, as one message."""
        body = json.loads(request.body)
        prompt = [{"role": "user", "content": body["prompt"]}] if body["prompt"] else []
        return self._reply(request, body, prompt, _as_response)

    def _reply(
        self, request: Request, body: Body, messages: list[Body], written: Callable[..., Body]
    ) -> Response:
        if body["model"] not in self._known():
            return absent(self, request)
        if not messages:
            return _json({**_head(body), **written(""), **_end("load")})
        if body.get("format") and self._declines_schema:
            return _error(self._declines_schema, "invalid JSON schema in format")
        try:
            reply = said(self._replies(messages))
        except LookupError:
            return _error(500, "the stand-in has no more replies")
        if body.get("format") and self._thinks_by_schema:
            reply = Said("", thinking=reply.content)
        parts = self._parts(body, messages, reply, written)
        if body.get("stream", True):
            return _ndjson(parts)
        return _json(_joined(list(parts)))

    def _parts(
        self, body: Body, messages: list[Body], reply: Said, written: Callable[..., Body]
    ) -> Iterator[Body]:
        options = body.get("options", {})
        most = options.get("num_predict", ALWAYS)
        thoughts, _ = cut(reply.thinking or "", (), most)
        stop = options.get("stop") or () if self._obeys_stop else ()
        text, reason = cut(reply.content or "", stop, most, len(thoughts))
        for thought in pieces(thoughts):
            yield {**_head(body), **written("", thought), "done": False}
        for piece in pieces(text, reply.goes_on):
            yield {**_head(body), **written(piece), "done": False}
        window = min(options.get("num_ctx", 4_096), self._allotted or ALWAYS, self._context_length)
        self._running[body["model"]] = window
        count = tokens((message.get("content", "") for message in messages), window)
        count = count if reply.prompt_tokens is None else reply.prompt_tokens
        counts = {"prompt_eval_count": count} if count else {}
        spent = max(1, -(-len(text) // 3))
        yield {**_head(body), **written(""), **_end(reason), **counts, "eval_count": spent}

    def show(self, request: Request) -> Response:
        """`POST /api/show`."""
        body = json.loads(request.body)
        if body["model"] not in self._known():
            return absent(self, request)
        info = {"general.architecture": "llama", "llama.context_length": self._context_length}
        details = {"family": "llama", "parameter_size": "3.2B", "quantization_level": "Q4_K_M"}
        return _json(
            {
                "template": "{{ .Prompt }}",
                "details": details,
                "model_info": info,
                "capabilities": list(self._capabilities),
            }
        )

    def tags(self, _: Request) -> Response:
        """`GET /api/tags`."""
        rows = [{"name": name, "model": name, "digest": self.digest} for name in self._models]
        return _json({"models": rows})

    def ps(self, _: Request) -> Response:
        """`GET /api/ps`."""
        return _json(
            {
                "models": [
                    {"name": self._known()[name], "context_length": window}
                    for name, window in self._running.items()
                ]
            }
        )

    def tell_version(self, _: Request) -> Response:
        """`GET /api/version`."""
        return _json({"version": self._version})

    def _known(self) -> dict[str, str]:
        return {name: name for name in self._models} | {
            name.removesuffix(":latest"): name for name in self._models
        }


ROUTES: Mapping[tuple[str, str], Callable[[OllamaStandIn, Request], Response]] = {
    ("POST", "/api/chat"): OllamaStandIn.chat,
    ("POST", "/api/generate"): OllamaStandIn.generate,
    ("POST", "/api/show"): OllamaStandIn.show,
    ("GET", "/api/tags"): OllamaStandIn.tags,
    ("GET", "/api/ps"): OllamaStandIn.ps,
    ("GET", "/api/version"): OllamaStandIn.tell_version,
}


def absent(_: OllamaStandIn, request: Request) -> Response:
    """A model that was never pulled."""
    return _error(404, f"model '{json.loads(request.body)['model']}' not found")


def _head(body: Body) -> Body:
    return {"model": body["model"], "created_at": CREATED}


def _message(content: str | None, thinking: str | None = None) -> Body:
    message: Body = {"role": "assistant", "content": content}
    return message if thinking is None else {**message, "thinking": thinking}


def _as_message(content: str | None, thinking: str | None = None) -> Body:
    return {"message": _message(content, thinking)}


def _as_response(content: str, thinking: str | None = None) -> Body:
    return {"response": content, **({} if thinking is None else {"thinking": thinking})}


def _end(reason: str) -> Body:
    return {
        "done": True,
        "done_reason": reason,
        "total_duration": 4_883_583,
        "load_duration": 1_334,
    }


def _joined(parts: list[Body]) -> Body:
    if "response" in parts[-1]:
        thoughts = "".join(part.get("thinking", "") for part in parts)
        return {**parts[-1], **_as_response("".join(part["response"] for part in parts), thoughts)}
    content = "".join(part["message"]["content"] for part in parts)
    thinking = "".join(part["message"].get("thinking", "") for part in parts)
    return {**parts[-1], "message": _message(content, thinking or None)}


def _json(value: object, status: int = 200) -> Response:
    return Response(json.dumps(value), status, "application/json; charset=utf-8")


def _error(status: int, words: str) -> Response:
    return _json({"error": words}, status)


@dataclass(frozen=True, slots=True)
class _Lines:
    """Documents as lines, made as they are sent."""

    parts: Iterable[object]

    def __iter__(self) -> Iterator[bytes]:
        return (json.dumps(part).encode() + b"\n" for part in self.parts)


def _ndjson(parts: Iterable[object]) -> Response:
    return Response(_Lines(parts), 200, "application/x-ndjson")


def _some(*last: object) -> list[object]:
    """Return the beginning of a stream, and how it goes on."""
    head = {"model": "llama3.2", "created_at": CREATED}
    begun = [{**head, "message": _message(word), "done": False} for word in ("Thought", ": ")]
    return [*begun, *last]


def _whole(content: str | None) -> list[object]:
    return [{"model": "llama3.2", "message": _message(content), **_end("stop")}]


def _dropped(_: OllamaStandIn, __: Request) -> Response:
    lines = b"".join(json.dumps(part).encode() + b"\n" for part in _some())
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\n"
    chunk = b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n" % (len(lines), lines)
    return Response(raw=head + chunk)


def _falls_silent(server: OllamaStandIn, _: Request) -> Response:
    def lines() -> Iterator[bytes]:
        yield json.dumps(_some()[0]).encode() + b"\n"
        server.closing.wait(60)

    return Response(lines(), 200, "application/x-ndjson")


def _always(response: Response) -> Callable[[OllamaStandIn, Request], Response]:
    return lambda _server, _request: response


FAULTS: Mapping[str, Callable[[OllamaStandIn, Request], Response]] = {
    "absent": absent,
    "absent, old wording": _always(_error(404, 'model "llama3.2" not found, try pulling it first')),
    "400": _always(_error(400, '"llama3.2" does not support chat')),
    "host": _always(Response("", 403)),
    "subscription": _always(_error(403, "this model requires a subscription, upgrade for access")),
    "too old": _always(_error(412, "this model requires a newer version of Ollama.")),
    "401": _always(_error(401, "unauthorized")),
    "404 page": _always(Response(HTML, 404)),
    "500": _always(_error(500, "model runner has unexpectedly stopped")),
    # ollama#10920 and many more: a model that is larger than the machine.
    "memory": _always(
        _error(500, "model requires more system memory (9.2 GiB) than is available (3.9 GiB)")
    ),
    "memory, CUDA": _always(_error(500, "llama runner process has terminated: cudaMalloc failed")),
    # ollama#17638 (0.32.6, gpt-oss:20b): a call is looked for though there are no tools.
    "tool call": _always(
        _error(500, """error parsing tool call: raw='{"input":"x"}]', err=invalid character ']'""")
    ),
    # ollama#12064: the same failure behind a stream that has begun.
    "tool call in mid-stream": _always(
        _ndjson(_some({"error": "error parsing tool call: raw='We need to', err=invalid 'W'"}))
    ),
    # ollama#11781 (0.11.4): the words are the key.
    "tool call as a key": _always(
        _ndjson(_some({"error parsing tool call": "invalid character 'c' looking for beginning"}))
    ),
    # Qwen3-Coder's calls are XML, and Ollama's parser of them says so.
    "tool call, XML": _always(
        _error(500, "XML syntax error on line 35: element <parameter> closed by </function>")
    ),
    # ollama#11439: `think` for a model without it; ollama#12561: a level for one without levels.
    "thinking": _always(_error(400, '"llama3.2" does not support thinking')),
    "thinking by degrees": _always(
        _error(400, 'think value "medium" is not supported for this model')
    ),
    # With `truncate` false: Ollama from 0.12.6, and from 0.40, where llama.cpp's server says it.
    "too long": _always(_error(400, "the input length exceeds the context length")),
    "too long, 0.40": _always(_error(400, json.dumps(LLAMA_TOO_LONG))),
    # The template of Mistral 7B, by llama.cpp's server inside Ollama.
    "roles": _always(_error(500, "Conversation roles must alternate user/assistant/user/...")),
    # A reverse proxy hands on what llama.cpp's server says while it loads.
    "loading, 500": _always(_error(500, "Loading model")),
    "takes long to load": _always(
        _error(500, "timed out waiting for llama runner to start - progress 0.00 - ")
    ),
    "cannot load": _always(_error(500, "unable to load model: /root/.ollama/models/blobs/sha256")),
    "502 page": _always(Response("<html>Bad Gateway</html>", 502)),
    "429": _always(_error(429, "too many requests")),
    "429 for an hour": _always(
        replace(_error(429, "too many requests"), headers=(("Retry-After", "3600"),))
    ),
    "503": _always(_error(503, "server busy, please try again. maximum pending requests exceeded")),
    "garbage": _always(Response(b"\x00\xff\xfe\x8b garbage \n\n", 200, "application/x-ndjson")),
    "html": _always(Response(HTML)),
    "empty body": _always(Response(b"", 200, "application/x-ndjson")),
    "no message": _always(_ndjson([{"text": "hello", "done": True}])),
    "deep": _always(Response(b"[" * 200_000, 200, "application/x-ndjson")),
    "bad gzip": _always(Response(b"not gzip", headers=(("Content-Encoding", "gzip"),))),
    "error in mid-stream": _always(
        _ndjson(_some({"error": "llama runner process has terminated"}))
    ),
    "error object in mid-stream": _always(_ndjson(_some({"error": {"message": "no"}}))),
    "garbage in mid-stream": _always(_ndjson(_some("what?"))),
    "ends without done": _always(_ndjson(_some())),
    "cut in a letter": _always(
        Response(
            raw=b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"
            b'{"message": {"role": "assistant", "content": "Thought"}, "done": false}\n'
            b'{"message": {"role": "assistant", "content": "\xe6\x97'
        )
    ),
    "dropped": _dropped,
    "hangs up": _always(Response(raw=b"")),
    "null content": _always(_ndjson(_whole(None))),
    "empty content": _always(_ndjson(_whole(""))),
    "blank content": _always(_ndjson(_whole(" \n"))),
    "redirect loop": lambda _, request: Response(status=307, headers=(("Location", request.path),)),
    "endless": _always(_ndjson([*_some({"message": _message("x" * 100_000)})] * 20)),
    "endless thinking": _always(_ndjson([*_some({"message": _message("", "x" * 100_000)})] * 20)),
    "endless line": _always(Response(Repeated(b"x" * 100_000, 500), 200, "application/x-ndjson")),
    "slow": _always(Response(delay_s=60)),
    "falls silent": _falls_silent,
    "drips": lambda server, request: Response(
        _ndjson(_some() * 500).body, 200, "application/x-ndjson", drip=(4, 0.02)
    ),
    "drips headers": _always(
        Response(raw=b"HTTP/1.1 200 OK\r\nX: " + b"x" * 5_000, drip=(1, 0.02))
    ),
}
