"""What stand-ins for model servers have in common: scripts, and how replies are cut."""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

Body: TypeAlias = dict[str, Any]
Talker: TypeAlias = Callable[[list[Body]], "str | Said"]

ALWAYS = 1_000_000
HTML = "<!doctype html><title>Router</title><h1>Please log in</h1>"


@dataclass(frozen=True, slots=True)
class Said:
    """A scripted reply with what the server tells beside it.

    `prompt_tokens` replaces the server's own count, 0 leaves the count out, as old servers did on
    a full cache hit. `goes_on` is written after the content again and again, until the client hangs
    up; a limit is ignored then.
    """

    content: str | None
    thinking: str | None = None
    prompt_tokens: int | None = None
    goes_on: str = ""


def said(reply: "str | Said") -> Said:
    return Said(reply) if isinstance(reply, str) else reply


def in_order(replies: Iterable[str | Said]) -> Talker:
    left = list(replies)
    return lambda _: left.pop(0)


def cut(text: str, stop: Iterable[str], most_tokens: int, spent: int = 0) -> tuple[str, str]:
    """Return what is left of a reply, and why it ends; a token is three characters."""
    most = 3 * most_tokens - spent
    ends = [at for at in map(text.find, stop) if at >= 0]
    stopped = text[: min(ends, default=len(text))]
    return (stopped, "stop") if len(stopped) < most else (stopped[:most], "length")


def pieces(text: str, goes_on: str = "") -> Iterator[str]:
    """Yield the text token by token."""
    yield from re.findall(r"(?s).{1,3}", text)
    while goes_on:
        yield goes_on


def tokens(texts: Iterable[str], window: int) -> int:
    """Count a prompt; one that overflows the window is cut to about its half, in silence."""
    count = sum(len(text) // 3 + 4 for text in texts)
    return count if count <= window else window // 2 + 2
