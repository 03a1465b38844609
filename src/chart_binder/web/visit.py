"""Requests to the open web that one deadline holds for, each failure one sentence."""

import re
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from email.message import Message
from importlib.metadata import version
from typing import TypeAlias

import httpx

from chart_binder.config import FetchConfig
from chart_binder.net.deadline import Deadline
from chart_binder.web.body import ACCEPTED_ENCODINGS, Body, read_body
from chart_binder.web.errors import FetchError, UnknownHostError
from chart_binder.web.guard import Guard

MOST_REDIRECTS = 5
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_TYPE = re.compile(r"[\w.+-]+/[\w.+-]+", re.ASCII)
# From the most telling class to the least; the first that fits names the failure.
_FAILURES: tuple[tuple[type[httpx.HTTPError], str], ...] = (
    (httpx.TimeoutException, "did not answer completely in {seconds:g} s"),
    (httpx.ConnectError, "cannot be connected to"),
    (httpx.DecodingError, "sent a body that cannot be unpacked"),
    (httpx.ProtocolError, "broke off or does not speak HTTP"),
    (httpx.HTTPError, "broke off"),
)


@dataclass(frozen=True, slots=True)
class Head:
    """What an answer says of itself before its body; no type where it names none.

    What names no one type, such as `image` or `;`, stands there as it came.
    """

    host: str
    status: int
    reason: str
    content_type: str
    charset: str | None

    @property
    def is_success(self) -> bool:
        """Whether there is what was asked for."""
        return 200 <= self.status <= 299  # noqa: PLR2004

    def __str__(self) -> str:
        return f"{self.host} answered {self.status} {self.reason}".strip()[:300]


@dataclass(frozen=True, slots=True)
class Received:
    """An answer that was read."""

    head: Head
    body: Body


Check: TypeAlias = Callable[[Head], None]
"""Raises `FetchError` for an answer whose body is not worth reading."""


@dataclass(frozen=True, slots=True)
class Visit:
    """Asks one address after the other, over by its deadline."""

    client: httpx.Client
    guard: Guard
    deadline: Deadline
    config: FetchConfig

    def ask(self, target: httpx.URL, check: Check, max_bytes: int) -> Received | httpx.URL:
        """Return the answer, or the address it sends to, held against the guard.

        Raises `FetchError`.
        """
        try:
            with self.client.stream("GET", target, headers=headers(self.config)) as response:
                if response.status_code in _REDIRECTS and "location" in response.headers:
                    return self.guard.target(response.headers["location"], base=target)
                head = _head(target.host, response)
                check(head)
                return Received(head, read_body(response, max_bytes))
        except UnknownHostError as error:
            raise FetchError(str(error)) from error
        except httpx.InvalidURL as error:  # httpx reads where a redirect leads, followed or not
            raise FetchError(f"{target.host} redirects to no well-formed address") from error
        except httpx.HTTPError as error:
            raise FetchError(f"{target.host} {_failure(error, self.deadline)}") from error


def headers(config: FetchConfig) -> dict[str, str]:
    """Say who asks, for what."""
    return {
        "User-Agent": agent(config),
        "Accept": "text/html,application/xhtml+xml,text/plain;q=0.9,application/json;q=0.8,"
        "application/xml;q=0.7",
        "Accept-Encoding": ACCEPTED_ENCODINGS,
        "Accept-Language": "en,*;q=0.5",
    }


def agent(config: FetchConfig) -> str:
    """Return what the program calls itself on the open web."""
    return config.user_agent or f"canon/{version('chart-binder')}"


def _head(host: str, response: httpx.Response) -> Head:
    named = response.headers.get("content-type", "").strip()
    header = Message()
    header["Content-Type"] = named
    return Head(
        host,
        response.status_code,
        response.reason_phrase[:60],
        _type(named),
        header.get_content_charset(),
    )


def _type(named: str) -> str:
    """Return the type a header names, or the header where it names none, or several."""
    given = {each.strip().lower() for each in named.partition(";")[0].split(",")}
    only = next(iter(given))
    return only if len(given) == 1 and _TYPE.fullmatch(only) else named


def _failure(error: httpx.HTTPError, deadline: Deadline) -> str:
    if _concerns_certificate(error):
        return "has no certificate that proves it is that host"
    words = next(words for kind, words in _FAILURES if isinstance(error, kind))
    return words.format(seconds=deadline.seconds)


def _concerns_certificate(error: BaseException | None) -> bool:
    while error is not None and not isinstance(error, ssl.SSLCertVerificationError):
        error = error.__cause__ or error.__context__  # httpcore raises "from None" on its way
    return error is not None
