"""The tiny model in Ollama's wire format."""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from engine.inference import Written
from engine.served import MODEL, Asked, Body, Served, in_json, spoken
from servers.http import Response

CREATED = "2026-11-21T09:30:00.123456789Z"
DEFAULTS = {"num_ctx": 4_096, "num_predict": 256, "temperature": 0.8, "seed": 0, "stop": []}


class Ollama(Served):
    """`/api/chat`, `/api/generate` and what tells about the server and its model."""

    _allotted: int = 0

    def routes(self) -> Mapping[tuple[str, str], Callable[[Body], Response]]:
        """Return what is answered to each method and path."""
        there = {"name": MODEL, "model": MODEL}
        info = {"general.architecture": "tiny", "tiny.context_length": 131_072}
        shown = {"model_info": info, "capabilities": ["completion"], "details": {"family": "tiny"}}
        return {
            ("POST", "/api/chat"): self._chat,
            ("POST", "/api/generate"): self._generate,
            ("POST", "/api/show"): lambda _: in_json(shown),
            ("GET", "/api/tags"): lambda _: in_json({"models": [there]}),
            ("GET", "/api/version"): lambda _: in_json({"version": "0.33.1"}),
            ("GET", "/api/ps"): lambda _: in_json(
                {"models": [there | {"context_length": self._allotted}]}
            ),
        }

    def refusal(self) -> Response:
        """Return the answer to a schema that is refused."""
        return in_json({"error": "failed to create grammar: unsupported schema"}, 500)

    def _chat(self, body: Body) -> Response:
        return self._reply(body, spoken(body["messages"]), _message)

    def _generate(self, body: Body) -> Response:
        return self._reply(body, body["prompt"], lambda text: {"response": text})

    def _reply(self, body: Body, prompt: str, shaped: Callable[[str], Body]) -> Response:
        options = DEFAULTS | body.get("options", {})
        self._allotted = self.window(options["num_ctx"])
        wanted = body.get("format") or None
        asked = Asked(
            prompt=prompt,
            most_tokens=options["num_predict"],
            window=options["num_ctx"],
            temperature=options["temperature"],
            seed=options["seed"],
            stop=tuple(options["stop"]),
            schema={"type": "object"} if wanted == "json" else wanted,
        )
        parts = _parts(body["model"], self.pieces(asked), shaped)
        if body.get("stream", True):
            lines = (json.dumps(part).encode() + b"\n" for part in parts)
            return Response(lines, 200, "application/x-ndjson")
        return in_json(_joined(list(parts), shaped))


def _parts(model: str, pieces: Iterator[Written], shaped: Callable[[str], Body]) -> Iterator[Body]:
    head = {"model": model, "created_at": CREATED}
    for piece in pieces:
        end: Body = {"done": piece.reason is not None}
        if piece.reason:
            end |= {
                "done_reason": piece.reason,
                "prompt_eval_count": piece.prompt_tokens,
                "eval_count": piece.tokens,
                "total_duration": 4_883_583,
            }
        yield head | shaped(piece.text) | end


def _joined(parts: list[Body], shaped: Callable[[str], Body]) -> Body:
    return parts[-1] | shaped("".join(map(_text, parts)))


def _text(part: Body) -> str:
    said: Any = part.get("response", part.get("message"))
    return said if isinstance(said, str) else str(said["content"])


def _message(text: str) -> Body:
    return {"message": {"role": "assistant", "content": text}}
