"""Who may use the server: the browser that opened its address, and pages of the server itself."""

import secrets
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import HTMLResponse, PlainTextResponse, Response

from chart_binder.pages.html import render

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

MAX_BODY = 16_384
"""The most bytes of a request's body."""
TOKEN_HEADER = "X-Canon-Token"  # noqa: S105 - the name of a header
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; media-src 'self';"
    " connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_USED = "This address was used before: it opens the page once. Start canon review --web again."
_NOT_OPENED = "Open the address that canon review --web printed: it works once, in one browser."
_FOREIGN = "This request comes from another page."
_HOST = "The host of this address is not allowed."
TOO_LONG = "This request is too long."
NO_MORE = {"Connection": "close"}
"""The header of a refusal, after which the rest of the request is not read."""
_READING = ("GET", "HEAD")


@dataclass
class Access:
    """The secrets of one server: of the address that opens it, the cookie and the pages."""

    port: int
    opening: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    session: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    token: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    is_opened: bool = False

    @property
    def hosts(self) -> frozenset[str]:
        """The only values of `Host` that are answered."""
        return frozenset((f"127.0.0.1:{self.port}", f"localhost:{self.port}"))

    @property
    def cookie(self) -> str:
        """The cookie's name: browsers send cookies of one port to others, too."""
        return f"canon-{self.port}"

    @property
    def address(self) -> str:
        """The address that opens the page, once."""
        return f"http://127.0.0.1:{self.port}/open?token={self.opening}"

    def open(self, token: str) -> Response:
        """Return the page that gives a browser the cookie, if the token is right and unused.

        It leads on by itself. A redirect would not: after a link on another site, a browser follows
        it without the new cookie, because that is strict.
        """
        if not _is_equal(token, self.opening):
            return PlainTextResponse(_NOT_OPENED, 403)
        if self.is_opened:
            return PlainTextResponse(_USED, 403)
        self.is_opened = True
        page = HTMLResponse(render("open.html"))
        page.set_cookie(self.cookie, self.session, path="/", httponly=True, samesite="strict")
        return page

    def refusal(self, method: str, path: str, headers: Headers) -> Response | None:
        """Return why a request is not answered, or None if it is."""
        checks = self._checks(headers, is_opening=path == "/open", is_change=method not in _READING)
        refused = ((text, status) for is_right, text, status in checks if not is_right)
        text, status = next(refused, ("", 200))
        return PlainTextResponse(text, status, NO_MORE) if text else None

    def _checks(
        self, headers: Headers, *, is_opening: bool, is_change: bool
    ) -> Iterator[tuple[bool, str, int]]:
        """Yield whether each check passes, with the answer if it does not."""
        yield headers.getlist("host") in [[host] for host in self.hosts], _HOST, 421
        if is_opening and not is_change:  # the token in the address is checked
            return
        sites = ("same-origin",) if is_change else (None, "none", "same-origin")
        yield headers.get("sec-fetch-site") in sites, _FOREIGN, 403
        origins = {f"http://{host}" for host in self.hosts}
        yield headers.get("origin") in {None, *origins}, _FOREIGN, 403
        cookies = _cookies(headers, self.cookie)
        is_own = any(_is_equal(value, self.session) for value in cookies)
        yield is_own, _NOT_OPENED, 403
        if is_change:
            yield _is_equal(headers.get(TOKEN_HEADER, ""), self.token), _FOREIGN, 403
            yield headers.get("content-type") == "application/json", "Only JSON is read here.", 415
        yield int(headers.get("content-length") or 0) <= MAX_BODY, TOO_LONG, 413


def _is_equal(text: str, secret: str) -> bool:
    return secrets.compare_digest(text.encode(), secret.encode())


def _cookies(headers: Headers, name: str) -> Iterator[str]:
    """Yield the values of a cookie; servers on other ports may set any beside it, even this one."""
    for line in headers.getlist("cookie"):
        for pair in line.split(";"):
            key, _, value = pair.strip().partition("=")
            if key == name:
                yield value


class RequestGuard:
    """Answers only requests that `Access` allows, and gives every answer the same headers."""

    def __init__(self, app: "ASGIApp", access: Access) -> None:
        self._app = app
        self._access = access
        self._used_at = time.monotonic()

    @property
    def unused_s(self) -> float:
        """The seconds since the last request, or since something of an answer was sent."""
        return time.monotonic() - self._used_at

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return

        async def send_with_headers(message: "Message") -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)  # waits for the browser, which reads nothing while audio is paused
            self._used_at = time.monotonic()

        self._used_at = time.monotonic()
        refusal = self._access.refusal(scope["method"], scope["path"], Headers(scope=scope))
        await (refusal or self._app)(scope, receive, send_with_headers)
