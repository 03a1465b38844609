"""A real search server reads queries as the stand-in says: Debian's searx with a local engine."""

import shutil
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from chart_binder.config import SearxngConfig
from chart_binder.web.searxng import NothingFound, SearchHits, SearxngClient
from docs.pages import blocks

PACKAGE = Path("/usr/share/python3-searx")
SETTINGS = """
use_default_settings: false
general: {{debug: false, instance_name: test}}
search:
  {{safe_search: 0, autocomplete: "", default_lang: "", ban_time_on_fail: 5,
   max_ban_time_on_fail: 5, formats: [html, json]}}
server:
  {{port: {port}, bind_address: 127.0.0.1, secret_key: test, base_url: "", image_proxy: false,
   http_protocol_version: "1.0", method: GET, default_http_headers: {{}}}}
ui:
  {{static_path: {package}/static, templates_path: {package}/templates, default_theme: oscar,
   default_locale: "", theme_args: {{oscar_style: logicodev}}}}
outgoing:
  {{request_timeout: 2.0, useragent_suffix: "", pool_connections: 10, pool_maxsize: 10}}
engines:
  - {{name: facts, engine: sqlite, shortcut: fa, categories: general, database: {database},
     result_template: default.html, query_str: "SELECT title, url, content FROM facts
     WHERE content LIKE '%' || :query || '%'"}}
doi_resolvers: {{none: "http://127.0.0.1/"}}
default_doi_resolver: none
locales: {{en: English}}
categories_as_tabs: {{general: }}
"""
FACTS = [
    ("MusicBrainz", "https://musicbrainz.org/", "MusicBrainz, what doctor searches for"),
    ("All Killer No Filler", "https://example.org/killer", "Sum 41, released May 8, 2001"),
    ("Louden Up Now", "https://example.org/louden", "!!! Louden Up Now, June 8, 2004"),
    ("Bunkertor 7", "https://example.org/bunkertor", ":wumpscut: 1993"),
    ("Marked", "https://example.org/marked", 'words ":de" "<3" "!fa" "!!g" "?fa" in quotes'),
]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="module")
def searx(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    runner = shutil.which("searx-run")
    if runner is None or not PACKAGE.is_dir():
        pytest.skip("Debian's searx is not installed (apt-get install searx)")
    folder = tmp_path_factory.mktemp("searx")
    database = folder / "facts.db"
    with sqlite3.connect(database) as connection:
        connection.execute("CREATE TABLE facts (title, url, content)")
        connection.executemany("INSERT INTO facts VALUES (?, ?, ?)", FACTS)
    connection.close()
    port = free_port()
    settings = folder / "settings.yml"
    settings.write_text(SETTINGS.format(port=port, package=PACKAGE, database=database))
    with (folder / "log").open("w") as log:
        server = subprocess.Popen(
            [runner], env={"SEARX_SETTINGS_PATH": str(settings)}, stdout=log, stderr=log
        )
    try:
        wait_for(f"http://127.0.0.1:{port}", server)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait(10)


def wait_for(url: str, server: subprocess.Popen[bytes]) -> None:
    for _ in range(100):
        if server.poll() is not None:
            pytest.skip(f"searx ended with {server.returncode} on its own")
        try:
            httpx.get(url, trust_env=False, timeout=5)
        except httpx.TransportError:
            time.sleep(0.1)
        else:
            return
    pytest.skip("searx did not come up within 10 s")


def titles(url: str, query: str) -> list[str]:
    outcome = SearxngClient(SearxngConfig(url=url)).search(query)
    if isinstance(outcome, NothingFound):
        return []
    assert isinstance(outcome, SearchHits)
    return [found.title for found in outcome.hits]


@pytest.mark.parametrize(
    ("query", "title"),
    [
        ("sum 41", "All Killer No Filler"), ("!!! Louden Up Now", "Louden Up Now"),
        (":wumpscut: 1993", "Bunkertor 7"), (":de", "Marked"), ("<3", "Marked"), ("!fa", "Marked"),
        ("!!g", "Marked"), ("?fa", "Marked"),
    ],
)  # fmt: skip
def test_a_band_named_like_a_command_is_searched_for(searx: str, query: str, title: str) -> None:
    assert titles(searx, query) == [title]


def test_the_same_words_are_obeyed_where_they_are_not_neutralised(searx: str) -> None:
    asked = {"q": "!!g x", "format": "json"}
    answer = httpx.get(f"{searx}/search", params=asked, trust_env=False)
    assert answer.status_code == 302


def test_what_nobody_knows_is_nothing_found(searx: str) -> None:
    assert titles(searx, "no such song at all") == []


def test_doctor_says_of_it_what_the_page_shows(searx: str, tmp_path: Path) -> None:
    shown = [line for block in blocks("docs/models.md", "text") for line in block.splitlines()]
    (expected,) = (line for line in shown if "answers in JSON" in line)
    settings = {
        "CANON_LLM__ENABLED": "true", "CANON_LLM__SEARXNG__URL": searx,
        "CANON_LLM__BASE_URL": "http://127.0.0.1:9", "CANON_MUSICBRAINZ__HOSTNAME": "127.0.0.1:9",
    }  # fmt: skip
    doctor = subprocess.run(
        [sys.executable, "-m", "chart_binder", "doctor"], cwd=tmp_path, check=False, text=True,
        env={"HOME": str(tmp_path), **settings}, capture_output=True,
    )  # fmt: skip
    assert expected.replace("http://127.0.0.1:8888", searx) in doctor.stdout.splitlines()
