"""One page of the open web, read under guard."""

import ssl
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from types import MappingProxyType

import httpx

from chart_binder.config import FetchConfig
from chart_binder.net.deadline import Deadline
from chart_binder.react.inert import one_line
from chart_binder.web.charset import decoded
from chart_binder.web.errors import FetchError
from chart_binder.web.extract import (
    Extract,
    from_csv,
    from_html,
    from_json,
    from_text,
    from_xml,
)
from chart_binder.web.guard import Guard
from chart_binder.web.robots import Robots
from chart_binder.web.transport import (
    Resolve,
    open_client,
    resolve_by_system,
    trusted_authorities,
)
from chart_binder.web.turns import OF_THIS_PROCESS, Turns
from chart_binder.web.visit import MOST_REDIRECTS, Head, Received, Visit, agent

READERS: Mapping[str, Callable[[str], Extract]] = MappingProxyType(
    {
        "text/html": from_html,
        "application/xhtml+xml": from_html,
        "text/xml": from_xml,
        "application/xml": from_xml,
        "application/rss+xml": from_xml,
        "application/atom+xml": from_xml,
        "text/plain": from_text,
        "text/csv": from_csv,
        "application/json": from_json,
        "application/ld+json": from_json,
    }
)
"""The content types that are read, and what reads them."""
_BINARY_WITHIN = 1_024


@dataclass(frozen=True, slots=True)
class Page:
    """What one address says.

    `url` is where it was read in the end, without a fragment; `asked` what was asked for, `via`
    where that sent to on the way; `cut` tells that the page was longer than what was read of it.
    """

    url: str
    asked: str
    content_type: str
    extract: Extract
    cut: bool
    via: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """The page's title, or its address where it has none."""
        return self.extract.title or self.url

    @property
    def text(self) -> str:
        """All that was read, a block a line."""
        return "\n".join(self.extract.blocks)

    @property
    def sources(self) -> tuple[str, ...]:
        """The addresses the page may be cited by: never two hosts for one page."""
        same = _site(self.asked) == _site(self.url)
        return (self.url, self.asked) if same and self.asked != self.url else (self.url,)


class PageFetcher:
    """Reads pages as one configuration allows; may be shared between threads.

    `resolve` and `trust` stand for the system's resolver and certificate authorities; of `turns`
    there is one for all that asks in a process.
    """

    def __init__(
        self,
        config: FetchConfig,
        *,
        resolve: Resolve = resolve_by_system,
        trust: ssl.SSLContext | None = None,
        turns: Turns = OF_THIS_PROCESS,
    ) -> None:
        self._config = config
        self._guard = Guard.of(config)
        self._resolve = resolve
        self._trust = trust
        self._turns = turns
        self._robots = Robots(agent(config))

    def address(self, url: str) -> str:
        """Return an address in its one normal spelling, or raise `FetchError`."""
        return str(self._guard.target(url))

    def fetch(self, url: str) -> Page:
        """Read a page and return what it says, or raise `FetchError`.

        `RefusedError`, a kind of it, means that the address, or one it redirects to, is forbidden.
        """
        deadline = Deadline.after(self._config.timeout_s)
        trail = [self._guard.target(url)]
        trust = self._trust or trusted_authorities()
        with (
            open_client(self._guard.admit, deadline, self._resolve, trust) as client,
            ExitStack() as turn,
        ):
            visit = Visit(client, self._guard, deadline, self._config)
            while len(trail) <= MOST_REDIRECTS + 1:
                self._arrive(visit, trail, turn)
                answer = visit.ask(trail[-1], _check, self._config.max_bytes)
                if isinstance(answer, Received):
                    return _page(trail, answer)
                trail.append(answer)
        raise FetchError(f"{trail[-1].host} redirects more than {MOST_REDIRECTS} times")

    def _arrive(self, visit: Visit, trail: list[httpx.URL], turn: ExitStack) -> None:
        """Wait for one's turn at the host that is asked next, and heed what it forbids."""
        target = trail[-1]
        if len(trail) == 1 or trail[-2].host != target.host:
            turn.close()
            turn.enter_context(self._turns.at(target.host, self._pause_s(target), visit.deadline))
        if self._config.robots == "obey":
            self._robots.check(visit, target)

    def _pause_s(self, target: httpx.URL) -> float:
        """Return how long a host is left alone between pages; an operator's own needs no pause."""
        if self._guard.is_private(target.host):
            return 0.0
        return max(self._config.host_pause_s, self._robots.delay_s(target))


def _site(url: str) -> str:
    return httpx.URL(url).host.removeprefix("www.")


def _check(head: Head) -> None:
    if not head.is_success:
        raise FetchError(str(head))
    if head.content_type and head.content_type not in READERS:
        raise FetchError(
            f"{head.host} sent {one_line(head.content_type, 60)}: only web pages and text are read"
        )


def _page(trail: list[httpx.URL], received: Received) -> Page:
    asked, *_, url = map(str, [trail[0], *trail])
    text = decoded(received.body.data, received.head.charset)
    if "\0" in text[:_BINARY_WITHIN]:
        raise FetchError(f"{received.head.host} sent something that is not text")
    content_type = received.head.content_type
    if not content_type:
        content_type = "text/html" if text.lstrip()[:1] == "<" else "text/plain"
    extract = READERS[content_type](text)
    via = tuple(map(str, trail[1:-1]))
    return Page(url, asked, content_type, extract, received.body.cut or extract.cut, via)
