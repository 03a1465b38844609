"""The server is reached as configured: name, port, https, proxy, User-Agent."""

import shutil
import ssl
import subprocess
from pathlib import Path

import pytest

from chart_binder import __version__
from chart_binder.domain.evidence import EvidenceBundle
from chart_binder.domain.tags import TrackTags
from chart_binder.errors import ConfigError, LookupFailedError
from chart_binder.musicbrainz.http import environment_proxy
from musicbrainz.harness import Harness
from servers.musicbrainz import MusicBrainzStandIn


@pytest.fixture
def tags(queen: EvidenceBundle) -> TrackTags:
    return TrackTags(recording_mbid=queen.recording_candidates[0].mb_recording_id)


@pytest.mark.parametrize(
    ("contact", "user_agent"),
    [
        ("", f"canon/{__version__}"),
        ("me@example.org", f"canon/{__version__} ( me@example.org )"),
        ("jürgen@example.org", f"canon/{__version__} ( j?rgen@example.org )"),
    ],
)
def test_the_user_agent_says_who_asks(
    harness: Harness, queen: EvidenceBundle, tags: TrackTags, contact: str, user_agent: str
) -> None:
    with MusicBrainzStandIn([queen]) as server:
        harness.source(server.hostname, contact=contact).gather(tags)
    assert {request.headers["user-agent"] for request in server.requests} == {user_agent}


def test_a_contact_that_no_header_can_hold_is_a_failed_lookup(
    harness: Harness, queen: EvidenceBundle, tags: TrackTags
) -> None:
    with MusicBrainzStandIn([queen]) as server, pytest.raises(LookupFailedError, match="not be se"):
        harness.source(server.hostname, contact="a\r\nX-Evil: 1").gather(tags)
    assert server.requests == []


def test_a_mirror_may_have_a_name_with_a_port(
    harness: Harness, queen: EvidenceBundle, tags: TrackTags
) -> None:
    with MusicBrainzStandIn([queen]) as server:
        harness.source(f"localhost:{server.port}").gather(tags)
    assert server.requests[0].headers["host"] == f"localhost:{server.port}"


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    if shutil.which("openssl") is None:
        pytest.skip("there is no openssl to make a certificate with")
    path = tmp_path / "both.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
         "-nodes", "-keyout", path, "-out", tmp_path / "cert.pem", "-days", "2",
         "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"],
        check=True, capture_output=True,
    )  # fmt: skip
    path.write_bytes(path.read_bytes() + (tmp_path / "cert.pem").read_bytes())
    return path


def test_https_is_spoken_with_those_who_prove_who_they_are(
    harness: Harness,
    queen: EvidenceBundle,
    tags: TrackTags,
    certificate: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    with MusicBrainzStandIn([queen]) as server:
        server.tls = context
    with server:
        with pytest.raises(LookupFailedError, match="self-signed certificate"):
            harness.source(server.hostname, https=True).gather(tags)
        assert server.requests == []
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        assert harness.source(server.hostname, https=True).gather(tags).recording_candidates


def test_https_to_a_server_that_speaks_http_is_a_failed_lookup(
    harness: Harness, queen: EvidenceBundle, tags: TrackTags
) -> None:
    with (
        MusicBrainzStandIn([queen]) as server,
        pytest.raises(LookupFailedError, match="no secure connection"),
    ):
        harness.source(server.hostname, https=True).gather(tags)


def test_a_proxy_in_the_environment_is_used(
    harness: Harness, queen: EvidenceBundle, tags: TrackTags, monkeypatch: pytest.MonkeyPatch
) -> None:
    with MusicBrainzStandIn([queen]) as proxy:
        monkeypatch.setenv("http_proxy", f"http://me:se%20cret@{proxy.hostname}")
        assert harness.source("mirror.test:5000").gather(tags).recording_candidates
    assert proxy.requests[0].target.startswith("http://mirror.test:5000/ws/2/recording/")
    assert proxy.requests[0].headers["proxy-authorization"] == "Basic bWU6c2UgY3JldA=="


@pytest.mark.parametrize(
    "proxy", ["http://[::1", "http://a:999999", "http://:80", "http://a\u00e9"]
)
def test_a_proxy_without_a_possible_address_is_named_by_its_variable(
    harness: Harness, monkeypatch: pytest.MonkeyPatch, proxy: str
) -> None:
    monkeypatch.setenv("http_proxy", proxy)
    with pytest.raises(ConfigError, match=r"HTTP_PROXY in the environment .* http://host:port"):
        harness.source("mirror.test")


def test_the_password_of_a_proxy_may_have_any_letter(
    harness: Harness, queen: EvidenceBundle, tags: TrackTags, monkeypatch: pytest.MonkeyPatch
) -> None:
    with MusicBrainzStandIn([queen]) as proxy:
        monkeypatch.setenv("http_proxy", f"http://me:%C3%A9@{proxy.hostname}")
        harness.source("mirror.test").gather(tags)
    assert proxy.requests[0].headers["proxy-authorization"] == "Basic bWU6w6k="


def test_a_proxy_is_not_used_for_this_machine_or_where_it_is_excepted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("https_proxy", "http://proxy.test:3128")
    monkeypatch.setenv("no_proxy", "mirror.test")
    found = {
        host: environment_proxy("https", host)
        for host in ("musicbrainz.org", "mirror.test:5000", "localhost:5000", "127.0.0.2", "[::1]")
    }
    assert found.pop("musicbrainz.org") == "http://proxy.test:3128"
    assert set(found.values()) == {None}
