"""Tiny models of random weights behind a socket: a request's seed chooses which."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from engine.constraint import of_schema, unbounded
from engine.inference import Wanted, Written, written
from engine.moods import liking
from engine.network import network
from engine.settings import Setting
from servers.http import Request, Response, StandIn

Body: TypeAlias = dict[str, Any]
MODEL = "random:latest"


@dataclass(frozen=True, slots=True)
class Asked:
    """A request for a reply, whatever the wire format it came in."""

    prompt: str
    most_tokens: int
    window: int
    temperature: float
    seed: int
    stop: tuple[str, ...]
    schema: Mapping[str, object] | None


class SchemaRefusedError(Exception):
    """This server answers a JSON schema with 500."""


class Served(StandIn):
    """A model in one of the settings; `form` is the grammar of a step, for where it is kept to.

    `broken` holds what went wrong here rather than by a setting: it stays empty.
    """

    def __init__(self, setting: Setting, form: str) -> None:
        super().__init__(self._answer)
        self._setting, self._form = setting, form
        self._liking = liking(setting.mood)
        self.broken: list[Exception] = []

    def routes(self) -> Mapping[tuple[str, str], Callable[[Body], Response]]:
        """Return what is answered to each method and path, given the body."""
        raise NotImplementedError

    def refusal(self) -> Response:
        """Return the answer to a schema that is refused."""
        raise NotImplementedError

    def window(self, asked: int) -> int:
        """Return the context that is really allotted."""
        return min(asked, self._setting.window or asked)

    def pieces(self, asked: Asked) -> Iterator[Written]:
        """Yield the reply; raise `SchemaRefusedError` before its first piece."""
        setting = self._setting
        wanted = Wanted(
            prompt=asked.prompt,
            most_tokens=min(asked.most_tokens, setting.longest or asked.most_tokens),
            window=self.window(asked.window),
            temperature=asked.temperature,
            seed=asked.seed,
            liking=self._liking,
            stop=asked.stop if setting.obeys_stop else (),
            grammar=self._grammar(asked.schema),
        )
        return self._watched(written(network(asked.seed), wanted))

    def _watched(self, pieces: Iterator[Written]) -> Iterator[Written]:
        try:
            yield from pieces
        except Exception as error:
            self.broken.append(error)
            raise

    def _grammar(self, schema: Mapping[str, object] | None) -> str | None:
        form = self._form if self._setting.by_form else None
        if schema is None:
            return form
        match self._setting.schema:
            case "exactly":
                return of_schema(json.dumps(schema))
            case "without bounds":
                return of_schema(json.dumps(unbounded(schema)))
            case "with 500":
                raise SchemaRefusedError
            case "not":
                return form

    def _answer(self, request: Request) -> Response:
        answer = self.routes().get((request.method, request.path))
        if answer is None:
            return Response("404 page not found", 404, "text/plain")
        try:
            return answer(json.loads(request.body or b"{}"))
        except SchemaRefusedError:
            return self.refusal()
        except Exception as error:
            self.broken.append(error)
            raise


def spoken(messages: list[Body]) -> str:
    """Return messages as one prompt, by the plainest of templates."""
    return "".join(f"{each['role']}: {each.get('content') or ''}\n" for each in messages)


def in_json(value: object, status: int = 200) -> Response:
    """Return an answer in JSON."""
    return Response(json.dumps(value), status, "application/json")
