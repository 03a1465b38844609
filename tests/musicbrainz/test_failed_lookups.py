"""A look-up that fails says so, and never looks like an absent recording."""

import email.utils
import re
import socket
import time
from dataclasses import replace
from itertools import pairwise

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
    MusicBrainzStandIn,
    always,
    busy_for,
    cut_in_half,
    first,
)
from servers.musicbrainz_xml import XML, error

BOAST = 'release-list count="100000"'
NOTHING = Response(
    '<metadata xmlns="http://musicbrainz.org/ns/mmd-2.0#"></metadata>', content_type=XML
)
OTHER_XML = Response("<rss><channel/></rss>", content_type=XML)
ODD = Response(
    '<metadata xmlns="http://musicbrainz.org/ns/mmd-2.0#"><recording><title>x</title></recording>'
    "</metadata>",
    content_type=XML,
)
UNKNOWN_ENCODING = Response('<?xml version="1.0" encoding="foo-bar"?><a/>', content_type=XML)
UNKNOWN_ENCODING_OF_AN_ERROR = Response(
    '<?xml version="1.0" encoding="foo-bar"?><error><text>x</text></error>', 404, content_type=XML
)
ENTITIES = Response(
    '<!DOCTYPE m [<!ENTITY a "aaaaaaaaaa">'
    + "".join(f'<!ENTITY {b} "{f"&{a};" * 10}">' for a, b in pairwise("abcdefghi"))
    + ']><metadata xmlns="http://musicbrainz.org/ns/mmd-2.0#">&i;</metadata>',
    content_type=XML,
)


def tags_of(bundle: EvidenceBundle) -> TrackTags:
    return TrackTags(recording_mbid=bundle.recording_candidates[0].mb_recording_id)


def failure(harness: Harness, bundle: EvidenceBundle, behave: Behave, **settings: object) -> str:
    with MusicBrainzStandIn([bundle], behave=behave) as server:
        with pytest.raises(LookupFailedError) as caught:
            harness.source(server.hostname, **settings).gather(tags_of(bundle))
        message = str(caught.value)
        assert server.hostname in message
        assert "\n" not in message
        server.behave = None
        assert harness.source(server.hostname).gather(tags_of(bundle)), "nothing bad was kept"
    return message


@pytest.mark.parametrize(
    ("behave", "reason"),
    [
        (always(BUSY), "503 Service Unavailable (Your requests are exceeding"),
        (always(error(500, "Oops")), "500 Internal Server Error (Oops), 3 times"),
        (always(error(400, "Invalid mbid.")), "400 Bad Request (Invalid mbid.)"),
        (always(Response("no", 403)), "403 Forbidden"),
        (always(replace(HTML_PAGE, status=404)), "404 Not Found"),
        (always(HTML_PAGE), "no XML"),
        (always(GARBAGE), "no XML"),
        (always(Response("")), "no XML"),
        (cut_in_half, "no XML"),
        (always(NOTHING), "has no recording"),
        (always(OTHER_XML), "<rss> is not what MusicBrainz answers"),
        (always(ODD), "not as MusicBrainz writes it"),
        (always(ENTITIES), "no XML"),
        (always(UNKNOWN_ENCODING), "not as MusicBrainz writes it (unknown encoding"),
        (always(UNKNOWN_ENCODING_OF_AN_ERROR), "404 Not Found"),
        (always(HANG_UP), "the connection broke off"),
        (always(Response(raw=b"hello?\r\n\r\n")), "the connection broke off"),
        (always(Response("x" * 1000, drop_after=10)), "the connection broke off"),
        (always(Response(iter([b"x" * 1_000_000] * 17))), "longer than 16 MB"),
        (always(Response("", 302, headers=(("Location", "https://login.test/"),))), "login.test"),
        (always(Response("", 302, headers=(("Location", "http://[::1"),))), "to 'http://[::1'"),
        (always(Response("", 301)), "sends us on to ''"),
    ],
)
def test_every_bad_answer_is_a_failed_lookup(
    harness: Harness, queen: EvidenceBundle, behave: Behave, reason: str
) -> None:
    assert reason in failure(harness, queen, behave)


@pytest.mark.parametrize(
    "slow",
    [
        Response("late", delay_s=5),
        Response("x" * 1000, drip=(1, 0.1)),
        Response(raw=b"HTTP/1.1 200 OK\r\nX-Slow: " + b"x" * 1000, drip=(1, 0.1)),
    ],
    ids=["silent", "dripping body", "dripping header"],
)
def test_one_deadline_holds_for_a_whole_answer(
    harness: Harness, queen: EvidenceBundle, slow: Response
) -> None:
    started = time.monotonic()
    message = failure(harness, queen, always(slow), timeout_s=0.4)
    assert "no whole answer within 0.4 s" in message
    assert time.monotonic() - started < 1.2


def test_a_server_that_is_not_there_is_a_failed_lookup(
    harness: Harness, queen: EvidenceBundle
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        source = harness.source(f"127.0.0.1:{taken.getsockname()[1]}")
        with pytest.raises(LookupFailedError, match=r"Connection refused.*3 times"):
            source.gather(tags_of(queen))
    assert harness.waits == [0.5, 1.0]


@pytest.mark.parametrize("host", ["no-such-host.invalid", "x" * 70, "münchen..example"])
def test_a_name_that_leads_nowhere_is_a_failed_lookup(
    harness: Harness, queen: EvidenceBundle, host: str
) -> None:
    with pytest.raises(LookupFailedError):
        harness.source(host).gather(tags_of(queen))


@pytest.mark.parametrize("passing", [BUSY, HANG_UP, error(502, "Bad Gateway"), busy_for("x", 429)])
def test_what_may_pass_is_tried_again(
    harness: Harness, queen: EvidenceBundle, passing: Response
) -> None:
    with MusicBrainzStandIn([queen], behave=first(2, passing)) as server:
        assert harness.source(server.hostname).gather(tags_of(queen)).recording_candidates
    assert harness.waits == [0.5, 1.0]
    assert server.targets[0] == server.targets[1] == server.targets[2] != server.targets[3]


def test_a_refused_request_is_tried_once(harness: Harness, queen: EvidenceBundle) -> None:
    with (
        MusicBrainzStandIn([queen], behave=always(error(400, "No."))) as server,
        pytest.raises(LookupFailedError),
    ):
        harness.source(server.hostname).gather(tags_of(queen))
    assert len(server.requests) == 1


@pytest.mark.parametrize("status", [503, 429])
def test_retry_after_is_honoured(harness: Harness, queen: EvidenceBundle, status: int) -> None:
    with MusicBrainzStandIn([queen], behave=first(1, busy_for("7", status))) as server:
        harness.source(server.hostname).gather(tags_of(queen))
    assert harness.waits == [7.0]


def test_retry_after_may_be_a_date(harness: Harness, queen: EvidenceBundle) -> None:
    def behave(number: int, _: Request, honest: Response) -> Response:
        date = email.utils.formatdate(time.time() + 20, usegmt=True)
        return busy_for(date) if number == 0 else honest

    with MusicBrainzStandIn([queen], behave=behave) as server:
        harness.source(server.hostname).gather(tags_of(queen))
    (wait,) = harness.waits
    assert 17 < wait <= 20


def test_a_server_that_wants_to_be_left_alone_for_long_is_not_waited_for(
    harness: Harness, queen: EvidenceBundle
) -> None:
    message = failure(harness, queen, always(busy_for("120")))
    assert "wants to be left alone for 120 s" in message
    assert harness.waits == []


def test_a_failure_half_way_is_a_failed_lookup(harness: Harness, queen: EvidenceBundle) -> None:
    def behave(_: int, request: Request, honest: Response) -> Response:
        return GARBAGE if request.path == "/ws/2/release" else honest

    assert "no XML" in failure(harness, queen, behave)


def test_a_part_of_the_releases_is_a_failed_lookup(harness: Harness, queen: EvidenceBundle) -> None:
    honest_count = sum(len(g.editions) for g in queen.recording_candidates[0].groups)

    def behave(_: int, request: Request, honest: Response) -> Response:
        body = honest.body
        assert isinstance(body, (bytes, str))
        text = body if isinstance(body, str) else body.decode()
        return replace(honest, body=re.sub(r'release-list count="\d+"', BOAST, text))

    message = failure(harness, queen, behave)
    assert f"the answer is incomplete: {honest_count} of 100000 releases" in message


def test_a_page_that_comes_again_is_no_other_page(harness: Harness, queen: EvidenceBundle) -> None:
    honest_count = sum(len(g.editions) for g in queen.recording_candidates[0].groups)
    pages: list[Response] = []

    def behave(_: int, request: Request, honest: Response) -> Response:
        if request.path != "/ws/2/release":
            return honest
        assert isinstance(honest.body, (bytes, str))
        text = honest.body if isinstance(honest.body, str) else honest.body.decode()
        boast = f'release-list count="{honest_count * 2}"'
        page = re.sub(r'release-list count="\d+"', boast, text)
        pages.append(replace(honest, body=page))
        return pages[0]

    assert f"{honest_count} of {2 * honest_count} releases" in failure(harness, queen, behave)


def test_pages_of_different_days_are_no_whole(harness: Harness, queen: EvidenceBundle) -> None:
    """The count may fit the page that is kept from before, and a release be missing."""
    honest_count = sum(len(g.editions) for g in queen.recording_candidates[0].groups)

    def behave(_: int, request: Request, honest: Response) -> Response:
        if request.path != "/ws/2/release" or request.query.get("offset"):
            return honest
        assert isinstance(honest.body, (bytes, str))
        text = honest.body if isinstance(honest.body, str) else honest.body.decode()
        grown = f'release-list count="{honest_count + 1}"'
        return replace(honest, body=re.sub(r'release-list count="\d+"', grown, text))

    message = failure(harness, queen, behave)
    assert f"{honest_count} releases, and {honest_count + 1} a page before" in message


def test_a_redirect_in_circles_ends(harness: Harness, queen: EvidenceBundle) -> None:
    def behave(number: int, _: Request, honest: Response) -> Response:
        return Response("", 301, headers=(("Location", f"/ws/2/recording/{number}"),))

    assert "for ever" in failure(harness, queen, behave)
