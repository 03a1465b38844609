"""The server is reached as configured: name, port, https, proxy, User-Agent."""

from pathlib import Path

import pytest

from chart_binder import __version__
from chart_binder.domain.evidence import EvidenceBundle
from chart_binder.domain.tags import TrackTags
from chart_binder.errors import ConfigError, LookupFailedError
from chart_binder.net import environment_proxy
from musicbrainz.harness import Harness
from servers.musicbrainz import MusicBrainzStandIn
from servers.tls import make_certificate, served_with


@pytest.mark.parametrize(("contact", "user_agent"), [
    ("", f"canon/{__version__}"),
    ("me@example.org", f"canon/{__version__} ( me@example.org )"),
    ("jürgen@example.org", f"canon/{__version__} ( j?rgen@example.org )"),
])  # fmt: skip
def test_the_user_agent_says_who_asks(
    harness: Harness, queen: EvidenceBundle, tags: TrackTags, contact: str, user_agent: str
) -> None:
    harness.gather([queen], tags, contact=contact)
    assert {each.headers["user-agent"] for each in harness.server.requests} == {user_agent}


def test_a_contact_that_no_header_can_hold_is_a_failed_lookup(
    harness: Harness, queen: EvidenceBundle, tags: TrackTags
) -> None:
    with pytest.raises(LookupFailedError, match="could not be sent"):
        harness.gather([queen], tags, contact="a\r\nX-Evil: 1")
    assert harness.server.requests == []


def test_https_requires_a_certificate_that_is_trusted(
    harness: Harness, queen: EvidenceBundle, tags: TrackTags, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    certificate = make_certificate(tmp_path, "IP:127.0.0.1")
    with MusicBrainzStandIn([queen]) as server:
        server.tls = served_with(certificate)
    with server:
        with pytest.raises(LookupFailedError, match="self-signed certificate"):
            harness.source(server.hostname, https=True).gather(tags)
        assert server.requests == []
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        assert harness.source(server.hostname, https=True).gather(tags).recording_candidates


@pytest.mark.parametrize(
    ("login", "header"),
    [("me:se%20cret", "Basic bWU6c2UgY3JldA=="), ("me:%C3%A9", "Basic bWU6w6k=")],
)
def test_a_proxy_in_the_environment_is_used(
    harness: Harness, tags: TrackTags, monkeypatch: pytest.MonkeyPatch, login: str, header: str
) -> None:
    monkeypatch.setenv("http_proxy", f"http://{login}@{harness.server.hostname}")
    assert harness.source("mirror.test:5000").gather(tags).recording_candidates
    request = harness.server.requests[0]
    assert request.target.startswith("http://mirror.test:5000/ws/2/recording/")
    assert request.headers["proxy-authorization"] == header


@pytest.mark.parametrize(
    "proxy", ["http://[::1", "http://a:999999", "http://:80", "http://a\u00e9"]
)
def test_a_proxy_without_a_possible_address_is_named_by_its_variable(
    harness: Harness, monkeypatch: pytest.MonkeyPatch, proxy: str
) -> None:
    monkeypatch.setenv("http_proxy", proxy)
    with pytest.raises(ConfigError, match=r"HTTP_PROXY in the environment .* http://host:port"):
        harness.source("mirror.test")


def test_a_proxy_is_not_used_for_this_machine_or_excepted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("https_proxy", "http://proxy.test:3128")
    monkeypatch.setenv("no_proxy", "mirror.test")
    assert environment_proxy("https", "musicbrainz.org")
    for host in ("mirror.test:5000", "localhost:5000", "127.0.0.2", "[::1]"):
        assert environment_proxy("https", host) is None
