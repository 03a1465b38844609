"""The review page as a process, spoken to over its socket; `waiting` makes cases to review."""

import http.client
import json
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from integration.conftest import (
    Canon,
    Start,
    canon,
    environment,
    forked,
    home,
    start,
)
from integration.services import adjudicating, asking, file_of, final, open_bundles
from servers.musicbrainz import MusicBrainzStandIn
from servers.ollama import OllamaStandIn
from servers.searxng import Searxng

__all__ = ["canon", "environment", "forked", "home", "start"]
UNSURE = final(confidence=0.7)


@dataclass(frozen=True, slots=True)
class Answer:
    """A response of the server."""

    status: int
    headers: http.client.HTTPMessage
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Page:
    """A running review page, with the cookie and token of a browser that opened it."""

    process: "subprocess.Popen[bytes]"
    address: str
    cookie: str = ""
    token: str = ""

    @property
    def port(self) -> int:
        port = urlsplit(self.address).port
        assert port
        return port

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"

    def send(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes | None = None
    ) -> Answer:
        """Send a request with these headers and no others, not even `Host`."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        try:
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            for name, value in headers.items():
                connection.putheader(name, value)
            if body is not None and "Content-Length" not in headers:
                connection.putheader("Content-Length", str(len(body)))
            connection.endheaders(body)
            response = connection.getresponse()
            return Answer(response.status, response.headers, response.read())
        finally:
            connection.close()

    def open(self) -> "Page":
        """Open the address as a browser does, and read the token of the first page."""
        parts = urlsplit(self.address)
        opened = self.send("GET", f"{parts.path}?{parts.query}", {"Host": self.host})
        assert opened.status == 200, opened.text
        self.cookie = opened.headers["Set-Cookie"].partition(";")[0]
        page = self.get("/queue")
        self.token = page.text.partition('name="canon-token" content="')[2].partition('"')[0]
        return self

    def get(self, path: str, **headers: str) -> Answer:
        """Get a page as the browser does that opened it."""
        own = {"Host": self.host, "Cookie": self.cookie, "Sec-Fetch-Site": "same-origin"}
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.send("GET", path, own | named)

    def post(self, path: str, document: object, **headers: str) -> Answer:
        """Send a change as the page's own script does."""
        own = {
            "Host": self.host, "Cookie": self.cookie, "Sec-Fetch-Site": "same-origin",
            "Origin": f"http://{self.host}", "Content-Type": "application/json",
            "X-Canon-Token": self.token,
        }  # fmt: skip
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.send("POST", path, own | named, json.dumps(document).encode())

    def ids(self) -> list[str]:
        """Return the ids of the cases in the queue, in its order."""
        return [part.partition('"')[0].partition("?")[0]
                for part in self.get("/queue").text.split('href="/case/')[1:]]  # fmt: skip

    def end(self, number: int = signal.SIGINT) -> int:
        """End the server by a signal, and return its exit status."""
        self.process.send_signal(number)
        return self.process.wait(20)


Serve = Callable[..., Page]
Waiting = Callable[..., list[Path]]


@pytest.fixture
def serve(start: Start) -> Serve:
    """Start `canon review --web --no-open`, and wait for the address."""

    def run(*arguments: object, **variables: str) -> Page:
        process = start("review", "--web", "--no-open", *arguments, **variables)
        assert process.stdout
        assert process.stderr
        ready, _, _ = select.select([process.stdout], [], [], 60)
        line = process.stdout.readline().decode().strip() if ready else ""
        assert line.startswith("http://127.0.0.1:"), process.stderr.read().decode()
        return Page(process, line)

    return run


@pytest.fixture
def waiting(canon: Canon, home: Path) -> Waiting:
    """Make files of different recordings: the rules leave them open, the model proposes albums."""

    def make(count: int, proposed: int = 0, album: str = "Hits") -> list[Path]:
        bundles = open_bundles(count)
        folder = home / "music"
        folder.mkdir(exist_ok=True)
        files = [
            file_of(bundle, folder, f"{number}.flac", artist="Queen", album=album)
            for number, bundle in enumerate(bundles)
        ]
        with MusicBrainzStandIn(bundles) as mb:
            if proposed:
                with Searxng() as search, OllamaStandIn([UNSURE, UNSURE] * proposed) as model:
                    settings = asking(mb) | adjudicating(model, search)
                    canon("decide", *files[:proposed], **settings).must_end(3)
            if files[proposed:]:
                canon("decide", *files[proposed:], **asking(mb)).must_end(3)
        return files

    return make


def left(canon: Canon) -> list[str]:
    """Return the names of the files in the queue."""
    return [Path(line["path"]).name for line in canon("review", "list", "--output=json").lines]


def eventually(holds: Callable[[], bool], seconds: float = 15) -> None:
    """Wait until something holds."""
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.fixture
def page(serve: Serve, waiting: Waiting) -> Page:
    """A page with one proposed case and one without a proposal, open in a browser."""
    waiting(2, proposed=1)
    return serve().open()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A browser of the system; without one, or without Playwright, the test is skipped."""
    playwright = pytest.importorskip("playwright.sync_api", reason="the extra test-web is missing")
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        pytest.skip("there is no Chromium")
    with playwright.sync_playwright() as play:
        browser = play.chromium.launch(executable_path=chromium)
        yield browser
        browser.close()


@pytest.fixture
def cold_start(
    home: Path, environment: dict[str, str]
) -> Callable[..., "subprocess.CompletedProcess[bytes]"]:
    """Run `canon` in a Python of its own, to its end."""

    def run(*arguments: str, **variables: str) -> "subprocess.CompletedProcess[bytes]":
        return subprocess.run(
            [sys.executable, "-m", "chart_binder", *arguments], env=environment | variables,
            cwd=home / "work", capture_output=True, timeout=60, check=False,
        )  # fmt: skip

    return run
