"""A look-up that fails says so, and never looks like an absent recording."""

import re
import socket
import time
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from chart_binder.domain.evidence import EvidenceBundle
from chart_binder.domain.tags import TrackTags
from chart_binder.errors import LookupFailedError
from musicbrainz.harness import Harness
from servers.http import Request, Response
from servers.musicbrainz import (
    BUSY,
    GARBAGE,
    HANG_UP,
    HTML_PAGE,
    Behave,
    always,
    busy_for,
    cut_in_half,
    first,
)
from servers.musicbrainz_xml import XML, error

NAMESPACE = 'xmlns="http://musicbrainz.org/ns/mmd-2.0#"'
ENTITIES = "".join(f'<!ENTITY {b} "{f"&{a};" * 10}">' for a, b in pairwise("abcdefghi"))


def xml(text: str, status: int = 200) -> Behave:
    return always(Response(text, status, content_type=XML))


def redirect(location: str) -> Behave:
    return always(Response("", 301, headers=(("Location", location),)))


def circle(number: int, _: Request, __: Response) -> Response:
    return Response("", 301, headers=(("Location", f"/ws/2/recording/{number}"),))


def releases_alone(_: int, request: Request, honest: Response) -> Response:
    return GARBAGE if request.path == "/ws/2/release" else honest


def failure(harness: Harness, tags: TrackTags, behave: Behave, **settings: Any) -> str:
    harness.server.behave = behave
    with pytest.raises(LookupFailedError) as caught:
        harness.source(**settings).gather(tags)
    message = str(caught.value)
    assert harness.server.hostname in message
    assert "\n" not in message
    harness.server.behave = None
    assert harness.source().gather(tags), "nothing bad was kept"
    return message


@pytest.mark.parametrize(("behave", "reason"), [
    (always(BUSY), "503 Service Unavailable (Your requests are exceeding"),
    (always(error(500, "Oops")), "500 Internal Server Error (Oops), 3 times"),
    (always(error(400, "Invalid mbid.")), "400 Bad Request (Invalid mbid.)"),
    (always(Response("no", 403)), "403 Forbidden"),
    (always(replace(HTML_PAGE, status=404)), "404 Not Found"), (always(HTML_PAGE), "not XML"),
    (always(GARBAGE), "not XML"), (always(Response("")), "not XML"), (cut_in_half, "not XML"),
    (releases_alone, "not XML"),
    (xml(f"<metadata {NAMESPACE}></metadata>"), "has no recording"),
    (xml("<rss><channel/></rss>"), "<rss> is not what MusicBrainz answers"),
    (xml(f"<metadata {NAMESPACE}><recording/></metadata>"), "not as MusicBrainz writes it"),
    (xml(f'<!DOCTYPE m [<!ENTITY a "{"a" * 10}">{ENTITIES}]><metadata>&i;</metadata>'), "not XML"),
    (xml('<?xml version="1.0" encoding="foo-bar"?><a/>'),
        "not as MusicBrainz writes it (unknown encoding"),
    (xml('<?xml version="1.0" encoding="foo-bar"?><error><text>x</text></error>', 404),
        "404 Not Found"),
    (always(HANG_UP), "the connection was interrupted"),
    (always(Response(raw=b"hello?\r\n\r\n")), "the connection was interrupted"),
    (always(Response("x" * 1000, drop_after=10)), "the connection was interrupted"),
    (always(Response(iter([b"x" * 1_000_000] * 17))), "longer than 16 MB"),
    (redirect("https://login.test/"), "login.test"),
    (redirect("http://[::1"), "to 'http://[::1'"), (redirect(""), "redirects to ''"),
    (circle, "too many redirects"),
])  # fmt: skip
def test_every_bad_answer_is_a_failed_lookup(
    harness: Harness, tags: TrackTags, behave: Behave, reason: str
) -> None:
    assert reason in failure(harness, tags, behave)


@pytest.mark.parametrize("slow", [
    Response("late", delay_s=5), Response("x" * 1000, drip=(1, 0.1)),
    Response(raw=b"HTTP/1.1 200 OK\r\nX-Slow: " + b"x" * 1000, drip=(1, 0.1)),
], ids=["silent", "dripping body", "dripping header"])  # fmt: skip
def test_one_deadline_holds_for_a_whole_answer(
    harness: Harness, tags: TrackTags, slow: Response
) -> None:
    started = time.monotonic()
    message = failure(harness, tags, always(slow), timeout_s=0.4)
    assert "no whole answer within 0.4 s" in message
    assert time.monotonic() - started < 1.2


def test_a_server_that_is_not_there_is_a_failed_lookup(harness: Harness, tags: TrackTags) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        source = harness.source(f"127.0.0.1:{taken.getsockname()[1]}")
        with pytest.raises(LookupFailedError, match=r"Connection refused.*3 times"):
            source.gather(tags)
    assert harness.waits == [0.5, 1.0]


@pytest.mark.parametrize("host", ["no-such-host.invalid", "x" * 70, "münchen..example"])
def test_a_name_that_leads_nowhere_fails(harness: Harness, tags: TrackTags, host: str) -> None:
    with pytest.raises(LookupFailedError):
        harness.source(host).gather(tags)


@pytest.mark.parametrize("passing", [BUSY, HANG_UP, error(502, "Bad Gateway"), busy_for("x", 429)])
def test_what_may_pass_is_tried_again(
    harness: Harness, queen: EvidenceBundle, tags: TrackTags, passing: Response
) -> None:
    assert harness.gather([queen], tags, first(2, passing)).recording_candidates
    assert harness.waits == [0.5, 1.0]
    targets = harness.server.targets
    assert targets[0] == targets[1] == targets[2] != targets[3]


@pytest.mark.parametrize(("answer", "reason"), [
    (error(400, "No."), "400 Bad Request (No.)"), (busy_for("120"), "try again in 120 s"),
])  # fmt: skip
def test_a_refusal_or_a_long_wait_is_not_tried_again(
    harness: Harness, tags: TrackTags, answer: Response, reason: str
) -> None:
    assert reason in failure(harness, tags, always(answer))
    assert harness.waits == []


@pytest.mark.parametrize("status", [503, 429, 520])
def test_retry_after_is_honoured(
    harness: Harness, queen: EvidenceBundle, tags: TrackTags, status: int
) -> None:
    harness.gather([queen], tags, first(1, busy_for("7", status)))
    assert harness.waits == [7.0]


@pytest.mark.parametrize(("more", "later_pages", "reason"), [
    (100_000, "empty", "the answer is incomplete: {n} of {told} releases"),
    (3, "the first again", "{n} of {told} releases"),
    (1, "of another day", "{n} releases, and {told} a page before"),
])  # fmt: skip
def test_a_list_of_releases_with_a_part_missing_is_a_failed_lookup(
    harness: Harness, queen: EvidenceBundle, tags: TrackTags, more: int, later_pages: str,
    reason: str,
) -> None:  # fmt: skip
    count = sum(len(group.editions) for group in queen.recording_candidates[0].groups)
    told = f'release-list count="{count + more}"'.encode()
    first_page: list[Response] = []

    def behave(_: int, request: Request, honest: Response) -> Response:
        is_later = bool(request.query.get("offset"))
        if request.path != "/ws/2/release" or (is_later and later_pages == "of another day"):
            return honest
        assert isinstance(honest.body, bytes)
        body = re.sub(rb'release-list count="\d+"', told, honest.body)
        first_page.append(replace(honest, body=body))
        return first_page[-1 if later_pages == "empty" else 0]

    assert reason.format(n=count, told=count + more) in failure(harness, tags, behave)
