"""One try at MusicBrainz' web service, its redirects understood like its refusals."""

import logging
import time
from http import HTTPStatus
from urllib.parse import urlsplit

from chart_binder.musicbrainz.answers import Metadata, UnreadableError, error_text, read
from chart_binder.musicbrainz.pace import Pace
from chart_binder.musicbrainz.questions import Question
from chart_binder.musicbrainz.tally import Tally
from chart_binder.musicbrainz.transport import FailureError, Reply, Transport
from chart_binder.net.retry_after import retry_after_s

_MOST_REDIRECTS = 3
_REDIRECTING = frozenset({301, 302, 303, 307, 308})
_PASSING = frozenset({429, 500, 502, 503, 504})
_PHRASES = {status.value: status.phrase for status in HTTPStatus}
_WRONG_SERVER = "check that musicbrainz.hostname and musicbrainz.https name a MusicBrainz server"

_log = logging.getLogger(__name__)


class Server:
    """MusicBrainz at one host, asked at a pace; `sent` counts requests, failed ones among them."""

    def __init__(self, host: str, transport: Transport, pace: Pace) -> None:
        self.host = host
        self._transport = transport
        self._pace = pace
        self.sent = Tally()

    def ask(self, question: Question) -> tuple[bytes, Metadata | None]:
        """Return an answer's body with what it says, or raise `FailureError`.

        `None` means that MusicBrainz knows no such thing. A redirect is followed: that is how it
        answers about an id which was merged into another.
        """
        target = question.target
        for _ in range(_MOST_REDIRECTS + 1):
            reply = self._get(target)
            following = _redirected(reply, target)
            if following is None:
                return reply.body, _understood(reply, question)
            target = following
        raise FailureError("the server sends us on for ever", _WRONG_SERVER)

    def _get(self, target: str) -> Reply:
        self._pace.take_turn(f"musicbrainz {self.host}")
        self.sent.add_one()
        started = time.monotonic()
        reply = self._transport.get(target)
        seconds = round(time.monotonic() - started, 3)
        _log.debug(
            "musicbrainz",
            extra={"path": target, "cached": False, "status": reply.status, "seconds": seconds},
        )
        return reply


def _understood(reply: Reply, question: Question) -> Metadata | None:
    """Tell answer, "no such thing" and failure apart: only MusicBrainz' own 404 is an answer."""
    said = error_text(reply.body)
    if reply.status == HTTPStatus.NOT_FOUND and said:
        return None
    if reply.status != HTTPStatus.OK:
        raise _refused(reply, said)
    try:
        return read(reply.body, question.wanted)
    except UnreadableError as error:
        raise FailureError(str(error), _WRONG_SERVER) from error


def _refused(reply: Reply, said: str | None) -> FailureError:
    problem = f"the server answered {reply.status} {_PHRASES.get(reply.status, '')}".rstrip()
    if said:
        problem += f" ({said})"
    if reply.status not in _PASSING:
        return FailureError(problem, _WRONG_SERVER)
    after_s = retry_after_s(reply.headers.get("retry-after", ""))
    return FailureError(problem, "try again later", is_passing=True, retry_after_s=after_s)


def _redirected(reply: Reply, target: str) -> str | None:
    """Return where a redirect leads on this server; our query is kept where it names none."""
    if reply.status not in _REDIRECTING:
        return None
    location = reply.headers.get("location", "")
    try:
        there = urlsplit(location)
    except ValueError as error:  # half of an IPv6 address
        raise _led_astray(location) from error
    query = there.query or urlsplit(target).query
    following = f"{there.path}?{query}" if query else there.path
    leads_on = there.path.startswith("/ws/2/") and following.isascii() and following != target
    if not leads_on:
        raise _led_astray(location)
    return following


def _led_astray(location: str) -> FailureError:
    return FailureError(f"the server sends us on to {location[:200]!r}", _WRONG_SERVER)
