"""Servers on this machine are asked whatever the environment says; for others it is named.

Each program is a process of its own, because the client library of Ollama, httpx and Python's ssl
read the environment when they are loaded.
"""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from servers.kinds import KINDS, Kind
from servers.pages import Pages
from servers.tls import make_certificate, served_with
from servers.wikipedia import WikipediaStandIn

ODD: Mapping[str, dict[str, str]] = {
    # What the network settings of GNOME and KDE export for a SOCKS host; httpx knows no `socks`.
    "socks": {"ALL_PROXY": "socks://127.0.0.1:9/", "all_proxy": "socks://127.0.0.1:9/"},
    # httpx needs a package that is not installed.
    "socks5": {"ALL_PROXY": "socks5h://127.0.0.1:9"},
    # As curl's manual writes IPv6 addresses; httpx reads the colons as a port.
    "NO_PROXY": {"NO_PROXY": "localhost,127.0.0.1,[::1]", "HTTP_PROXY": "http://127.0.0.1:9"},
    # The address that `ollama serve` listens on; canon does not use it, but its library reads it.
    "OLLAMA_HOST": {"OLLAMA_HOST": "http://0.0.0.0:11434:11434"},
    # Conda and corporate installers leave these behind.
    "SSL_CERT_FILE": {"SSL_CERT_FILE": "/gone/ca.pem"},
    "all": {
        "ALL_PROXY": "socks://127.0.0.1:9", "NO_PROXY": "[::1]", "OLLAMA_HOST": "[::1",
        "SSL_CERT_FILE": "/gone/ca.pem", "SSL_CERT_DIR": "/gone",
    },
}  # fmt: skip
ENVIRONMENTS = pytest.mark.parametrize("odd", ODD.values(), ids=ODD)
SERVERS = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
ASK = """
import os, sys
from chart_binder.config import LLMConfig
from chart_binder.react.conversation import ChatError, Message, GenerationOptions, ask
from servers.kinds import KINDS
provider, url = sys.argv[1:]
environment = dict(os.environ)
chat = KINDS[provider].connect(LLMConfig(base_url=url, timeout_s=5.0), {})
try:
    print(ask(chat, [Message("user", "Which?")], GenerationOptions()).content)
except ChatError as error:
    print(error)
assert dict(os.environ) == environment
"""


def run(*arguments: str, **environment: str) -> str:
    """Return what a program prints where nothing of the environment is left but the given."""
    names = ("PATH", "HOME", "LANG")
    kept = {name: os.environ[name] for name in names if name in os.environ}
    here = str(Path(__file__).parents[1])
    done = subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, check=False, timeout=60,
        env={**kept, "PYTHONPATH": here, **environment},
    )  # fmt: skip
    assert "Traceback" not in done.stderr, done.stderr
    return done.stdout + done.stderr


@ENVIRONMENTS
@SERVERS
def test_a_model_on_this_machine_is_asked(kind: Kind, odd: dict[str, str]) -> None:
    with kind.serve(["well"]) as server:
        assert run("-c", ASK, kind.provider, server.url, **odd) == "well\n"


ELSEWHERE = "http://models.example:11434"


@SERVERS
@pytest.mark.parametrize(
    ("url", "odd", "told"),
    [
        (ELSEWHERE, ODD["socks"], "ALL_PROXY = 'socks://127.0.0.1:9/': use a proxy of http://"),
        (ELSEWHERE, ODD["socks5"], "ALL_PROXY = 'socks5h://127.0.0.1:9': use a proxy of http://"),
        (ELSEWHERE, {"HTTP_PROXY": "http://u:hunter2@[::1"}, "HTTP_PROXY = 'http://***@[::1'"),
        (ELSEWHERE, ODD["NO_PROXY"], "(HTTP_PROXY: Connection refused): set NO_PROXY"),
        ("https://models.example", ODD["SSL_CERT_FILE"],
         "SSL_CERT_FILE in the environment is '/gone/ca.pem', from which no certificates"),
    ],
)  # fmt: skip
def test_for_a_model_elsewhere_the_variable_is_named(
    kind: Kind, url: str, odd: dict[str, str], told: str
) -> None:
    said = run("-c", ASK, kind.provider, url, **odd)
    assert told in said
    assert "plug-in" not in said
    assert "hunter2" not in said


@SERVERS
def test_a_proxy_for_all_and_one_without_a_scheme_are_used(kind: Kind) -> None:
    for proxy in ("http://127.0.0.1", "127.0.0.1"):
        with kind.serve(["well"]) as server:
            said = run("-c", ASK, kind.provider, ELSEWHERE, ALL_PROXY=f"{proxy}:{server.port}")
        assert said == "well\n"
        assert server.requests[0].target.startswith(ELSEWHERE)


@SERVERS
def test_an_own_authority_is_believed_and_missed_by_name(kind: Kind, tmp_path: Path) -> None:
    certificate = make_certificate(tmp_path, "IP:127.0.0.1")
    server = kind.serve(["well"])
    server.tls = served_with(certificate)
    with server:
        assert "set SSL_CERT_FILE to the file" in run("-c", ASK, kind.provider, server.url)
        said = run("-c", ASK, kind.provider, server.url, SSL_CERT_FILE=str(certificate))
    assert said == "well\n"


def open_to(port: int, **settings: str) -> dict[str, str]:
    fetch = {"PORTS": str(port), "ALLOW_PRIVATE_HOSTS": "127.0.0.1"}
    return {f"CANON_LLM__FETCH__{name}": value for name, value in fetch.items()} | settings


@pytest.mark.parametrize("odd", [ODD["NO_PROXY"], ODD["all"]], ids=["NO_PROXY", "all"])
def test_pages_and_wikipedia_are_read_over_http(odd: dict[str, str]) -> None:
    with Pages({"/": "<p>The album came out in 1974."}) as server:
        settings = open_to(server.port)
        command = ("-m", "chart_binder", "tools", "run")
        assert "1974" in run(*command, "web_fetch", server.url, **settings, **odd)
    with WikipediaStandIn({"Night Tram": "<p>Released in 1981."}) as wiki:
        settings = open_to(wiki.port, CANON_LLM__WIKIPEDIA__URL=wiki.url)
        assert "1981" in run(*command, "wikipedia", "Night Tram", **settings, **odd)


@pytest.mark.parametrize("tool", ["web_fetch", "wikipedia", "web_search"])
def test_over_https_the_variable_is_named(tool: str, tmp_path: Path) -> None:
    server = Pages({"*": "<p>secure"})
    server.tls = served_with(make_certificate(tmp_path, "IP:127.0.0.1"))
    with server:
        settings = open_to(
            server.port,
            CANON_LLM__WIKIPEDIA__URL=server.url, CANON_LLM__SEARXNG__URL=server.url,
        )  # fmt: skip
        command = ("-m", "chart_binder", "tools", "run", tool, server.url)
        said = " ".join(run(*command, **settings, **ODD["SSL_CERT_FILE"]).split())
    assert "SSL_CERT_FILE in the environment is '/gone/ca.pem'" in said
