"""A real server on loopback that speaks OpenAI's wire format, as several servers do."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from servers.http import Repeated, Request, Response, StandIn
from servers.ollama import LLAMA_TOO_LONG
from servers.talk import ALWAYS, HTML, Body, Said, Talker, cut, in_order, pieces, said, tokens

CHAT, COMPLETIONS = "/v1/chat/completions", "/v1/completions"
EVENTS = "text/event-stream; charset=utf-8"
JSON = "application/json"
DONE = b"data: [DONE]\n\n"


class OpenAIStandIn(StandIn):
    """`with OpenAIStandIn(["Thought: ..."]) as server: LLMConfig(base_url=server.url)`.

    `replies` are given in order, or made by a function of the messages. `stop` and `max_tokens` are
    honoured, a prompt over `window` is cut in silence; a token is three characters. `streams=False`
    is a server that never streams, `thinks_by_schema` puts what is written by a schema into the
    thinking, `declines` names the fields that it refuses with 400 in so many words, `refuses` those
    it refuses with that status without a word. `answers_any_name` is llama.cpp's server. `roles`
    are those it takes, `key` the one it wants; `tells` what it says at other addresses. `fault`
    names a row of `FAULTS` that the first `times` requests for `on` meet. `chats` holds the bodies
    of the requests for a reply.
    """

    def __init__(
        self,
        replies: Iterable[str | Said] | Talker = (),
        *,
        models: tuple[Body, ...] = ({"id": "llama3.2", "object": "model"},),
        window: int = ALWAYS,
        obeys_stop: bool = True,
        thinks_by_schema: bool = False,
        streams: bool = True,
        declines: tuple[str, ...] = (),
        refuses: Mapping[str, int] | None = None,
        answers_any_name: bool = False,
        roles: tuple[str, ...] = ("system", "user", "assistant", "tool"),
        key: str = "",
        thinks_in: str = "reasoning_content",
        tells: Mapping[str, Body] | None = None,
        fault: str | None = None,
        times: int = ALWAYS,
        on: tuple[str, ...] = (CHAT, COMPLETIONS),
    ) -> None:
        super().__init__(self._answer)
        self._replies = replies if callable(replies) else in_order(replies)
        self._models = models
        self._window = window
        self._obeys_stop = obeys_stop
        self._thinks_by_schema = thinks_by_schema
        self._streams = streams
        self._declines = declines
        self._refuses = refuses or {}
        self._answers_any_name = answers_any_name
        self._roles = roles
        self._key = key
        self._thinks_in = thinks_in
        self._tells = tells or {}
        self._fault, self._times, self._on = fault, times, on

    @property
    def chats(self) -> list[Body]:
        """What was asked for a reply, in order."""
        return [json.loads(each.body) for each in self.requests if each.path in (CHAT, COMPLETIONS)]

    def _answer(self, request: Request) -> Response:
        if self._fault is not None and request.path in self._on and self._times > 0:
            self._times -= 1
            return FAULTS[self._fault](self, request)
        if self._key and request.headers.get("authorization") != f"Bearer {self._key}":
            return error(401, f"Invalid API Key: {request.headers.get('authorization', 'none')}")
        if request.path in self._tells:
            return _json(self._tells[request.path])
        row = ROUTES.get((request.method, request.path))
        return row(self, request) if row else Response('{"detail":"Not Found"}', 404, JSON)

    def list_models(self, _: Request) -> Response:
        """`GET /v1/models`."""
        return _json({"object": "list", "data": list(self._models)})

    def chat(self, request: Request) -> Response:
        """`POST /v1/chat/completions`."""
        body = json.loads(request.body)
        for message in body["messages"]:
            if message["role"] not in self._roles:
                return error(400, f"Unexpected role {message['role']!r} after role 'assistant'")
        return self._reply(body, body["messages"], Form("chat.completion", self._thinks_in))

    def complete(self, request: Request) -> Response:
        """`POST /v1/completions`: the prompt is what the talker sees, as one message."""
        body = json.loads(request.body)
        messages = [{"role": "user", "content": body["prompt"]}]
        return self._reply(body, messages, Form("text_completion", self._thinks_in))

    def _reply(self, body: Body, messages: list[Body], form: "Form") -> Response:
        is_listed = any(model["id"] == body["model"] for model in self._models)
        if not (is_listed or self._answers_any_name):
            return error(404, f"The model `{body['model']}` does not exist.", "NotFoundError")
        for field in self._declines:
            if field in body:
                return error(400, f"Unrecognized request argument supplied: {field}")
        for field, status in self._refuses.items():
            if field in body:
                return Response("Internal Server Error", status, "text/plain")
        try:
            reply = said(self._replies(messages))
        except LookupError:
            return error(500, "the stand-in has no more replies")
        if body.get("response_format") and self._thinks_by_schema:
            reply = Said("", thinking=reply.content)
        streamed = body.get("stream", False) and self._streams
        written = form.streamed if streamed else form.whole
        return written(self._cut(body, messages, reply), body)

    def _cut(self, body: Body, messages: list[Body], reply: Said) -> "Spoken":
        most = body.get("max_tokens", ALWAYS)
        thoughts, _ = cut(reply.thinking or "", (), most)
        stop = body.get("stop") or () if self._obeys_stop else ()
        text, reason = cut(reply.content or "", stop, most, len(thoughts))
        count = tokens((message["content"] for message in messages), self._window)
        count = count if reply.prompt_tokens is None else reply.prompt_tokens
        spent = -(-len(text + thoughts) // 3)
        usage = {"prompt_tokens": count, "completion_tokens": spent, "total_tokens": count + spent}
        return Spoken(text, thoughts, reason, usage, reply.goes_on)


@dataclass(frozen=True, slots=True)
class Spoken:
    """A reply as the server gives it."""

    text: str
    thoughts: str
    reason: str
    usage: Body
    goes_on: str = ""


@dataclass(frozen=True, slots=True)
class Form:
    """How a chat or a completion is written."""

    kind: str
    thinks_in: str

    def streamed(self, spoken: Spoken, body: Body) -> Response:
        """Write it as events, with a comment that keeps the line awake before the first."""
        return Response(Events(lambda: self._events(spoken, body)), 200, EVENTS)

    def _events(self, spoken: Spoken, body: Body) -> Iterator[bytes]:
        yield b": keep-alive\n\n"
        counted = bool(body.get("stream_options", {}).get("include_usage"))
        for thought in pieces(spoken.thoughts):
            yield event(self._chunk({self.thinks_in: thought}))
        for piece in pieces(spoken.text, spoken.goes_on):
            yield event(self._chunk({"content": piece}))
        yield event(self._chunk({"content": ""}, spoken.reason))
        if counted:
            yield event({**_head(self.kind), "choices": [], "usage": spoken.usage})
        yield DONE

    def _chunk(self, delta: Body, reason: str | None = None) -> Body:
        said = {"delta": delta} if self.is_chat else {"text": delta.get("content", "")}
        choice = {"index": 0, **said, "logprobs": None, "finish_reason": reason}
        return {**_head(f"{self.kind}.chunk" if self.is_chat else self.kind), "choices": [choice]}

    def whole(self, spoken: Spoken, body: Body) -> Response:
        """Write it as one document."""
        message = {"role": "assistant", "content": spoken.text}
        if spoken.thoughts:
            message[self.thinks_in] = spoken.thoughts
        said = {"message": message} if self.is_chat else {"text": spoken.text}
        choice = {"index": 0, **said, "finish_reason": spoken.reason}
        return _json({**_head(self.kind), "choices": [choice], "usage": spoken.usage})

    @property
    def is_chat(self) -> bool:
        return self.kind == "chat.completion"


@dataclass(frozen=True, slots=True)
class Events:
    """A stream that is made as it is sent, anew for each request."""

    make: Callable[[], Iterator[bytes]]

    def __iter__(self) -> Iterator[bytes]:
        return self.make()


ROUTES: Mapping[tuple[str, str], Callable[[OpenAIStandIn, Request], Response]] = {
    ("POST", CHAT): OpenAIStandIn.chat,
    ("POST", COMPLETIONS): OpenAIStandIn.complete,
    ("GET", "/v1/models"): OpenAIStandIn.list_models,
}


def event(document: object) -> bytes:
    return b"data: " + json.dumps(document, ensure_ascii=False).encode() + b"\n\n"


def error(status: int, words: str, kind: str = "BadRequestError", code: object = None) -> Response:
    """A refusal in the form most servers write."""
    about = {"message": words, "type": kind, "param": None, "code": code or status}
    return _json({"error": about}, status)


def delta(content: str | None = None, reason: str | None = None, **more: object) -> Body:
    choice = {"index": 0, "delta": {"content": content, **more}, "finish_reason": reason}
    return {**_head("chat.completion.chunk"), "choices": [choice]}


def stream(*documents: object, is_done: bool = False) -> Response:
    parts = [each if isinstance(each, bytes) else event(each) for each in documents]
    return Response([*parts, *([DONE] if is_done else [])], 200, EVENTS)


def _head(kind: str) -> Body:
    return {"id": "chatcmpl-7", "object": kind, "created": 1_793_612_000, "model": "llama3.2"}


def _json(value: object, status: int = 200) -> Response:
    return Response(json.dumps(value), status, JSON)


def _begun(*last: object) -> Response:
    return stream(delta("", role="assistant"), delta("Thought"), delta(": "), *last)


def _dropped(_: OpenAIStandIn, __: Request) -> Response:
    lines = event(delta("Thought"))
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
    chunk = b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n" % (len(lines), lines)
    return Response(raw=head + chunk)


def _falls_silent(server: OpenAIStandIn, _: Request) -> Response:
    def lines() -> Iterator[bytes]:
        yield event(delta("Thought"))
        server.closing.wait(60)

    return Response(Events(lines), 200, EVENTS)


def _always(response: Response) -> Callable[[OpenAIStandIn, Request], Response]:
    return lambda _server, _request: response


_VLLM_TOO_LONG = (
    "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens "
    "(3976 in the messages, 1024 in the completion). Please reduce the length of the messages."
)
NOTHING_LOADED = (
    "No models loaded. Please load a model in the developer page or use the `lms load` command."
)
NO_QUOTA = (
    "You exceeded your current quota, please check your plan and billing details. For more "
    "information on this error, read the docs."
)
WITHOUT_LENGTH = b"HTTP/1.1 200 OK\r\nContent-Type: %s\r\nConnection: close\r\n\r\n%s"
_EXTRA = {"detail": [{"type": "extra_forbidden", "loc": ["body", "top_k"], "msg": "Extra inputs"}]}

FAULTS: Mapping[str, Callable[[OpenAIStandIn, Request], Response]] = {
    "absent, vLLM": _always(error(404, "The model `llama3.2` does not exist.", "NotFoundError")),
    "absent, Ollama": _always(error(404, 'model "llama3.2" not found, try pulling it first')),
    "absent, 400": _always(error(400, 'Invalid model identifier "llama3.2".', "invalid_request")),
    "400": _always(error(400, "Image input is not supported")),
    "key in a 400": _always(error(400, "API key not valid. Please pass a valid API key.")),
    "max_tokens": _always(
        error(
            400,
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use "
            "'max_completion_tokens' instead.",
        )
    ),
    "401": _always(error(401, "Invalid API Key", "authentication_error")),
    "403": _always(error(403, "Forbidden")),
    "404": _always(Response('{"detail":"Not Found"}', 404, JSON)),
    "404 page": _always(Response(HTML, 404)),
    "too long, vLLM": _always(
        _json({"object": "error", "message": _VLLM_TOO_LONG, "type": "x", "code": 400}, 400)
    ),
    "too long, llama.cpp": _always(_json(LLAMA_TOO_LONG, 400)),
    "too long, 500": _always(error(500, "Context size has been exceeded.", "server_error")),
    "too long, 200": _always(_json(LLAMA_TOO_LONG)),
    "422": _always(_json(_EXTRA, 422)),
    "429": _always(error(429, "Rate limit reached")),
    "429 for an hour": _always(
        replace(error(429, "Rate limit reached"), headers=(("Retry-After", "3600"),))
    ),
    "500": _always(error(500, "the engine is dead")),
    # vLLM and TabbyAPI hand on what PyTorch says.
    "memory": _always(error(500, "CUDA out of memory. Tried to allocate 2.00 GiB")),
    # LM Studio's guardrail, when it would load the model.
    "memory, LM Studio": _always(
        error(400, "Model loading was stopped due to insufficient system resources.")
    ),
    # LM Studio without just-in-time loading; some versions say it with 404.
    "nothing loaded": _always(error(400, NOTHING_LOADED)),
    "nothing loaded, 404": _always(error(404, NOTHING_LOADED)),
    # vLLM with the template of Mistral 7B (vllm#6862); Gemma 2's; Mistral 7B v0.1's.
    "alternation": _always(
        error(400, "After the optional system message, conversation roles must alternate user/")
    ),
    "no system": _always(error(400, "System role not supported")),
    "two roles": _always(error(400, "Only user and assistant roles are supported!")),
    # LM Studio with Ministral 3 (lmstudio-bug-tracker#2219); llama.cpp says it with 500.
    "no later system": _always(
        error(500, "Only user, assistant and tool roles are supported, got system.")
    ),
    # Ollama's /v1 (ollama#12561); vLLM for an effort that it does not know.
    "thinking by degrees": _always(
        error(400, 'think value "medium" is not supported for this model')
    ),
    "effort": _always(
        error(400, "body.reasoning_effort: Input should be 'low', 'medium' or 'high'")
    ),
    # Proxies: LiteLLM hands on a 503 as 500, HAProxy has a page, Caddy nothing, Envoy two words.
    "loading, 500": _always(
        error(500, "litellm.InternalServerError: OpenAIException - Loading model")
    ),
    "503 page": _always(Response("<html><body><h1>503 Service Unavailable</h1>", 503)),
    "502 empty": _always(Response(b"", 502)),
    "502 text": _always(Response("Bad Gateway", 502, "text/plain")),
    # LM Studio, of a model that will never be loaded.
    "cannot load": _always(error(500, "Error loading model. (Exit code: 6). Unknown error.")),
    "cannot load, 503": _always(error(503, "failed to load model: file missing")),
    # OpenAI's and OpenRouter's servers, with a key whose account is empty.
    "no quota": _always(error(429, NO_QUOTA, "insufficient_quota", "insufficient_quota")),
    "no credit": _always(error(402, "Insufficient credits. Add more using /settings/credits")),
    "402": _always(Response("", 402)),
    # Go's server, as that of Ollama behind a proxy of Go.
    "https": _always(
        Response("Client sent an HTTP request to an HTTPS server.\n", 400, "text/plain")
    ),
    "500 text": _always(Response("Internal Server Error", 500, "text/plain")),
    "502 page": _always(Response("<html>Bad Gateway</html>", 502)),
    "504 page": _always(Response("<html><h1>504 Gateway Time-out</h1><hr>nginx</html>", 504)),
    "503 Envoy": _always(Response("no healthy upstream", 503, "text/plain")),
    "504 Envoy": _always(Response("upstream request timeout", 504, "text/plain")),
    "503": _always(error(503, "Loading model", "unavailable_error")),
    "503 in a 200": _always(_json({"error": {"code": 503, "message": "Loading model"}})),
    "error with 200": _always(
        _json({"error": "Unexpected endpoint or method. (POST /v1/chat). Returning 200 anyway"})
    ),
    "garbage": _always(Response(b"\x00\xff\xfe\x8b garbage \n\n", 200, EVENTS)),
    "garbage event": _always(stream(b"data: {what?\n\n")),
    "garbage document": _always(Response("{what?", 200, JSON)),
    "html": _always(Response(HTML)),
    "empty body": _always(Response(b"", 200, EVENTS)),
    "empty document": _always(Response(b"", 200, JSON)),
    "no choices": _always(_json({"response": "hello", "done": True})),
    "content is a number": _always(stream({"choices": [{"delta": {"content": 7}}]})),
    "deep": _always(Response(b"data: " + b"[" * 200_000 + b"\n\n", 200, EVENTS)),
    "bad gzip": _always(Response(b"not gzip", headers=(("Content-Encoding", "gzip"),))),
    "error in mid-stream": _always(_begun({"error": {"message": "the engine died", "code": 500}})),
    "error text in mid-stream": _always(_begun(b'event: error\ndata: {"error": "it crashed"}\n\n')),
    "error field in mid-stream": _always(_begun(b'error: {"code":500,"message":"it broke"}\n\n')),
    "garbage in mid-stream": _always(_begun(b"data: what?\n\n")),
    "ends without done": _always(_begun()),
    "cut in a letter": _always(
        Response(raw=WITHOUT_LENGTH % (EVENTS.encode(), event(delta("日")).partition(b"\xa5")[0]))
    ),
    **{
        reason: _always(stream(delta("Final Answer: 8"), delta("", reason), is_done=True))
        for reason in ("abort", "error", "network_error", "content_filter")
    },
    "refuses": _always(
        stream(delta(None, refusal="I cannot "), delta(None, "stop", refusal="help"))
    ),
    "dropped": _dropped,
    "hangs up": _always(Response(raw=b"")),
    "nothing but done": _always(stream(is_done=True)),
    "null content": _always(stream(delta(None, "stop"), is_done=True)),
    "empty content": _always(stream(delta("", "stop"), is_done=True)),
    "blank content": _always(stream(delta(" \n", "stop"), is_done=True)),
    "no choice": _always(stream({"choices": [], "usage": {"prompt_tokens": 9}}, is_done=True)),
    "calls no tool": _always(stream(delta(None, "tool_calls", tool_calls=[{"id": "7"}, 3]))),
    "filtered": _always(stream(delta("", "content_filter"), is_done=True)),
    "redirect loop": lambda _, request: Response(status=307, headers=(("Location", request.path),)),
    "endless": _always(stream(*[delta("x" * 100_000)] * 20)),
    "endless thinking": _always(stream(*[delta(None, reasoning="x" * 100_000)] * 20)),
    "endless comments": _always(
        Response(Repeated((b": awake".ljust(998) + b"\n\n") * 100, 500), 200, EVENTS)
    ),
    "endless line": _always(Response(Repeated(b"x" * 100_000, 500), 200, EVENTS)),
    "slow": _always(Response(delay_s=60)),
    "falls silent": _falls_silent,
    "drips": _always(
        Response([event(delta("Thought"))] * 500, 200, EVENTS, drip=(4, 0.02)),
    ),
    "drips headers": _always(
        Response(raw=b"HTTP/1.1 200 OK\r\nX: " + b"x" * 5_000, drip=(1, 0.02))
    ),
}
