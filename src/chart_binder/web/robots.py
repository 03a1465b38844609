"""Sites' wishes about programs, asked for once a day and host."""

import time

import httpx

from chart_binder.web.charset import decoded
from chart_binder.web.errors import FetchError, RefusedError
from chart_binder.web.robots_txt import NOTHING_FORBIDDEN, Rules
from chart_binder.web.visit import MOST_REDIRECTS, Head, Received, Visit

_KEPT_S = 86_400.0  # RFC 9309, 2.4
_MOST_KEPT = 500
_MOST_BYTES = 512_000  # RFC 9309, 2.5
_GONE = range(400, 500)


class Robots:
    """The rules of the sites asked so far, for the program that calls itself `agent`."""

    def __init__(self, agent: str) -> None:
        self._agent = agent
        self._kept: dict[str, tuple[float, Rules]] = {}

    def check(self, visit: Visit, target: httpx.URL) -> None:
        """Raise `RefusedError` for an address that its site does not want programs to read.

        `FetchError` where the site could not be asked: without an answer nothing is allowed
        (RFC 9309, 2.3.1.4).
        """
        site = _site(target)
        until, rules = self._kept.get(site, (0.0, NOTHING_FORBIDDEN))
        if until < time.monotonic():
            rules = self._asked(visit, httpx.URL(site))
            if len(self._kept) >= _MOST_KEPT:
                self._kept.clear()
            self._kept[site] = (time.monotonic() + _KEPT_S, rules)
        if not rules.allow(target.raw_path.decode("ascii")):
            raise RefusedError(
                f"{target.host} does not want programs to read that page (its robots.txt says so)"
            )

    def delay_s(self, target: httpx.URL) -> float:
        """Return how long a site that was asked wants to be left alone between two requests."""
        until, rules = self._kept.get(_site(target), (0.0, NOTHING_FORBIDDEN))
        return rules.delay_s if until >= time.monotonic() else 0.0

    def _asked(self, visit: Visit, target: httpx.URL) -> Rules:
        host = target.host
        for _ in range(MOST_REDIRECTS + 1):
            try:
                answer = visit.ask(target, _check, _MOST_BYTES)
            except (_NoneError, RefusedError):
                return NOTHING_FORBIDDEN
            if isinstance(answer, Received):
                text = decoded(answer.body.data, "utf-8")
                return Rules.of(text, self._agent)
            if answer.host != host:  # another site's rules are for that site
                return NOTHING_FORBIDDEN
            target = answer
        return NOTHING_FORBIDDEN


def _site(target: httpx.URL) -> str:
    return str(target.copy_with(raw_path=b"/robots.txt"))


class _NoneError(FetchError):
    """The site has no robots.txt."""


def _check(head: Head) -> None:
    if head.status in _GONE:
        raise _NoneError
    if not head.is_success:
        raise FetchError(f"{head}, asked for its robots.txt")
