"""`check` says whether MusicBrainz can be asked, and what to do if not."""

import pytest

from musicbrainz.harness import Harness
from servers.http import Response
from servers.musicbrainz import BUSY, HTML_PAGE, NOT_FOUND, always, busy_for


def test_a_server_that_answers_is_well(harness: Harness) -> None:
    health = harness.source().check()
    host = harness.server.hostname
    assert (health.host, health.is_reachable, health.problems) == (host, True, ())
    assert len(harness.server.requests) == 1


@pytest.mark.parametrize(("answer", "problem", "remedy"), [
    (BUSY, "503 Service Unavailable", "try again"),
    (busy_for("900"), "503", "try again in 900 s"),
    (HTML_PAGE, "not XML", "musicbrainz.hostname"),
    (Response(raw=b""), "was interrupted", "musicbrainz.https"),
    (Response("", delay_s=9), "within 0.2 s", "musicbrainz.timeout_s"),
])  # fmt: skip
def test_a_server_that_does_not_is_named_with_the_remedy(
    harness: Harness, answer: Response, problem: str, remedy: str
) -> None:
    harness.server.behave = always(answer)
    health = harness.source(timeout_s=0.2).check()
    assert health.is_reachable is False
    assert problem in health.problems[0]
    assert remedy in health.problems[0]
    assert len(harness.server.requests) == 1, "a check is asked once"


def test_a_mirror_without_data_is_named(harness: Harness) -> None:
    harness.server.behave = always(NOT_FOUND)
    health = harness.source().check()
    assert health.is_reachable
    assert "import" in health.problems[0]


def test_the_public_service_has_rules_of_its_own(harness: Harness) -> None:
    def problems(**settings: object) -> list[str]:
        found = harness.source("musicbrainz.org", offline=True, **settings).check().problems
        return [problem.rpartition(": ")[2] for problem in found]

    polite = {"contact": "me@example.org", "rate_limit_per_s": 1.0, "https": True}
    assert problems(**polite) == []
    for name, rude, problem in (
        ("contact", "", "set musicbrainz.contact"),
        ("https", False, "set musicbrainz.https to true"),
        ("rate_limit_per_s", 5.0, "lower musicbrainz.rate_limit_per_s"),
        ("rate_limit_per_s", 0.0, "set musicbrainz.rate_limit_per_s to 1"),
    ):
        assert problems(**polite | {name: rude}) == [problem]
