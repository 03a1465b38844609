"""The tiny model in OpenAI's wire format."""

import json
from collections.abc import Callable, Iterator, Mapping

from engine.inference import Written
from engine.served import MODEL, Asked, Body, Served, in_json, spoken
from servers.http import Response

WINDOW = 131_072  # no request says how much context it wants
HEAD = {"id": "chatcmpl-1", "created": 1_795_253_400, "model": MODEL}


class OpenAI(Served):
    """`/v1/chat/completions`, `/v1/completions` and `/v1/models`."""

    def routes(self) -> Mapping[tuple[str, str], Callable[[Body], Response]]:
        """Return what is answered to each method and path."""
        models = {"object": "list", "data": [{"id": MODEL, "object": "model"}]}
        return {
            ("POST", "/v1/chat/completions"): self._chat,
            ("POST", "/v1/completions"): self._complete,
            ("GET", "/v1/models"): lambda _: in_json(models),
        }

    def refusal(self) -> Response:
        """Return the answer to a schema that is refused."""
        return in_json({"error": {"message": "json_schema is not supported", "code": 500}}, 500)

    def _chat(self, body: Body) -> Response:
        key = "delta" if body.get("stream") else "message"
        return self._reply(
            body,
            spoken(body["messages"]),
            lambda text: {key: {"role": "assistant", "content": text}},
        )

    def _complete(self, body: Body) -> Response:
        return self._reply(body, body["prompt"], lambda text: {"text": text})

    def _reply(self, body: Body, prompt: str, shaped: Callable[[str], Body]) -> Response:
        stop = body.get("stop") or ()
        asked = Asked(
            prompt=prompt,
            most_tokens=body.get("max_tokens") or body.get("max_completion_tokens") or 16,
            window=WINDOW,
            temperature=body.get("temperature", 1.0),
            seed=body.get("seed", 0),
            stop=(stop,) if isinstance(stop, str) else tuple(stop),
            schema=_schema(body.get("response_format") or {}),
        )
        pieces = self.pieces(asked)
        if body.get("stream"):
            counted = (body.get("stream_options") or {}).get("include_usage", False)
            events = _events(pieces, shaped, counted=counted)
            return Response(events, 200, "text/event-stream")
        return in_json(_whole(list(pieces), shaped))


def _schema(wanted: Body) -> Mapping[str, object] | None:
    match wanted.get("type"):
        case "json_schema":
            schema: Body = wanted["json_schema"]["schema"]
            return schema
        case "json_object":
            return {"type": "object"}
    return None


def _events(
    pieces: Iterator[Written], shaped: Callable[[str], Body], *, counted: bool
) -> Iterator[bytes]:
    for piece in pieces:
        choice = {"index": 0, **shaped(piece.text), "finish_reason": piece.reason}
        yield _event(HEAD | {"choices": [choice]})
        if piece.reason and counted:
            yield _event(HEAD | {"choices": [], "usage": _usage(piece)})
    yield b"data: [DONE]\n\n"


def _event(value: Body) -> bytes:
    return b"data: " + json.dumps(value).encode() + b"\n\n"


def _whole(pieces: list[Written], shaped: Callable[[str], Body]) -> Body:
    last = pieces[-1]
    said = shaped("".join(piece.text for piece in pieces))
    choice = {"index": 0, **said, "finish_reason": last.reason}
    return HEAD | {"choices": [choice], "usage": _usage(last)}


def _usage(last: Written) -> Body:
    total = last.prompt_tokens + last.tokens
    return {
        "prompt_tokens": last.prompt_tokens,
        "completion_tokens": last.tokens,
        "total_tokens": total,
    }
