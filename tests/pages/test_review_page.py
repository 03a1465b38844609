"""The review page as a process: verdicts, undo, filters, and what others do meanwhile."""

import os
import re
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from chart_binder.jobs.named_records import ON_PAGE
from integration.conftest import REPOSITORY, Canon, Start, in_store
from integration.services import ALBUM, SINGLE, asking, file_of, open_bundles
from pages.conftest import Page, Serve, Waiting, eventually, left
from servers.musicbrainz import MusicBrainzStandIn

LIMIT = 100_000


def give(page: Page, case: str, action: str, **body: object) -> Any:
    """Give a verdict as the script does: `filters` and `is_sure` are not part of it."""
    others = {name: body.pop(name) for name in {"filters", "is_sure"} & {*body}}
    change = {"verdict": {"action": action, **body}, **others}
    return page.post(f"/case/{case}/verdict", change).json


def test_a_case_is_shown_at_a_glance(page: Page) -> None:
    proposed, plain = (page.get(f"/case/{case}").text for case in page.ids())
    for words in (
        "Bohemian Rhapsody", "Queen", "before or after 1975-08-23?", "A Night at the Opera",
        "if before 1975-08-23", "The single came out 21 days before the album.",
        'data-act="accept"',
        "confidence 0.70", "See the whole run of the model", "<audio", "<rect", "1975-11-21", "GB",
        "compilation", f"https://musicbrainz.org/release-group/{SINGLE}",
    ):  # fmt: skip
        assert words in proposed, words
    assert 'data-act="accept"' not in plain
    assert "before or after 1975-08-23?" in plain
    links = re.findall(r"<a href=\"(?:https?:)[^>]*>", proposed)
    assert links
    assert all('rel="noopener noreferrer nofollow"' in link for link in links)


def test_the_whole_run_is_one_click_away(page: Page) -> None:
    proposed, plain = page.ids()
    run = page.get(f"/run/{proposed}")
    assert (run.status, "The single came out 21 days" in run.text) == (200, True)
    assert page.get(f"/run/{plain}").status == 404


def test_the_page_is_light(page: Page) -> None:
    case = page.get(f"/case/{page.ids()[0]}").body
    queue = page.get("/queue").body
    files = [
        page.get(f"/static/{name}").body
        for name in ("style.css", "review.css", "review.js", "icon.svg")
    ]
    assert sum(map(len, (case, queue, *files))) < LIMIT
    assert not re.search(rb"(?:src|href)=\"(?:https?:)?//", case.replace(b"https://musicbr", b""))


def test_verdicts_are_those_of_the_terminal(
    canon: Canon, serve: Serve, waiting: Waiting, home: Path
) -> None:
    waiting(6, proposed=1)
    page = serve().open()
    first, *cases = page.ids()
    answer = give(page, first, "accept")
    assert (answer["message"], answer["next"]) == ("accepted", f"/case/{cases[0]}")
    assert (answer["done"], answer["total"]) == (1, 6)
    answer = give(page, cases[0], "choose", text="1")
    assert answer["message"] == "C1 is right"
    assert answer["notes"][-1] == "the next `canon decide` applies this verdict"
    assert not any("--" in note for note in answer["notes"])
    assert give(page, cases[1], "date", text="1975-10-31")["message"] == "1975-10-31 is right"
    assert give(page, cases[2], "not_this")["message"] == "not this recording: correct its tags"
    assert give(page, cases[3], "reject", reason="")["problem"] == (
        "say in a few words what is wrong"
    )
    assert give(page, cases[3], "reject", reason="a cover")["message"] == "rejected"
    assert give(page, cases[4], "keep")["next"] == "/queue"
    assert left(canon) == []
    overrides = canon("override", "list", "--output=json").lines
    said = sorted((one["crg_mbid"] or "", one["first_date"] or "") for one in overrides)
    assert said == sorted([(ALBUM, ""), (SINGLE, ""), ("", "1975-10-31")])
    kinds = in_store(home, "SELECT verdict FROM verdicts ORDER BY seq")
    assert [kind for (kind,) in kinds] == ["accept", "reject", "keep", "reject", "reject", "keep"]


def test_what_is_not_valid_is_refused_in_words(page: Page) -> None:
    case = page.ids()[1]
    for action, text, words in (
        ("date", "yesterday", "is not a date"), ("date", "2999", "in the future"),
        ("choose", "9", "no such candidate; there is C1, C2, C3"), ("choose", "x", "is not"),
        ("same", "x", "is not a recording id"), ("accept", "", "nothing is proposed"),
    ):  # fmt: skip
        answer = give(page, case, action, text=text)
        assert words in answer["problem"], answer
        assert "--" not in answer["problem"]
    assert len(page.ids()) == 2


def test_an_unreadable_file_comes_last_and_has_no_player(
    canon: Canon, serve: Serve, waiting: Waiting, home: Path
) -> None:
    empty = home / "music" / "empty.flac"
    empty.parent.mkdir(exist_ok=True)
    empty.touch()
    canon("batch", empty, "--offline")
    waiting(1)
    last = canon("review", "list", "--output=json").lines[-1]
    assert (last["path"], last["state"]) == (str(empty), "unreadable")
    page = serve().open()
    readable, unreadable = page.ids()
    assert "<audio" in page.get(f"/case/{readable}").text
    assert "<audio" not in page.get(f"/case/{unreadable}").text
    empty.unlink()
    assert ON_PAGE.keep in page.get(f"/case/{unreadable}").text


def test_every_verdict_can_be_taken_back(canon: Canon, serve: Serve, waiting: Waiting) -> None:
    waiting(3, proposed=1)
    page = serve().open()
    first, second, third = page.ids()
    give(page, first, "accept")
    give(page, second, "choose", text="2")
    assert "Your verdict: C2 is right" in page.get(f"/case/{second}").text
    undone = page.post("/undo", {}).json
    assert (undone["message"], undone["next"]) == ("taken back: C2 is right", f"/case/{second}")
    assert page.post("/undo", {"id": first}).json["message"] == "taken back: accepted"
    assert "no verdict of this session" in page.post("/undo", {}).json["problem"]
    assert len(left(canon)) == 3
    assert canon("override", "list", "--output=json").lines == []
    give(page, third, "date", text="1975")
    assert page.end() == 3
    again = serve().open()
    assert len(again.ids()) == 2
    earlier = re.findall(r'/case/(\w+)"', again.get("/queue?state=done").text)
    assert earlier == [third]
    assert 'data-act="undo"' in again.get(f"/case/{third}").text
    assert again.post("/undo", {"id": third}).json["message"] == "taken back: keep"
    assert len(left(canon)) == 3


def test_proposals_that_are_alike_are_accepted_together(
    canon: Canon, serve: Serve, waiting: Waiting
) -> None:
    waiting(4, proposed=3)
    page = serve().open()
    case = page.ids()[0]
    for by in ("album", "reason", "proposal"):
        answer = page.get(f"/case/{case}/alike/{by}").json
        assert (answer["count"], len(answer["examples"])) == (3, 3)
    assert page.get(f"/case/{case}/alike/x").status == 404
    wrong = page.post(f"/case/{case}/alike", {"by": "reason", "count": 2})
    assert (wrong.status, wrong.json["problem"]) == (409, "there are 3 proposals now: look again")
    assert len(left(canon)) == 4
    answer = page.post(f"/case/{case}/alike", {"by": "reason", "count": 3}).json
    assert (answer["message"], answer["done"]) == ("accepted together: 3, for 3 files", 3)
    assert len(left(canon)) == 1
    assert page.post("/undo", {}).json["message"] == "taken back: accepted together: 3"
    assert len(left(canon)) == 4


def test_nothing_is_accepted_together_if_all_are_settled(
    canon: Canon, serve: Serve, waiting: Waiting
) -> None:
    files = waiting(3, proposed=2)
    page = serve().open()
    proposed, plain = page.ids()[:2], page.ids()[2]
    give(page, plain, "keep")
    for file in files[:2]:
        canon("review", "keep", file).must_end(0)
    refused = page.post(f"/case/{proposed[0]}/alike", {"by": "album", "count": 2})
    assert (refused.status, "next" in refused.json) == (409, False)
    assert refused.json["problem"].startswith("not accepted: 2 cases; a person said keep at ")
    assert page.post("/undo", {}).json["next"] == f"/case/{plain}"


def test_the_queue_is_filtered_and_sorted(canon: Canon, serve: Serve, waiting: Waiting) -> None:
    waiting(3, proposed=1)
    page = serve().open()
    for query, count in (
        ("", 3), ("state=review", 1), ("state=undecided", 2), ("state=unmatched", 0),
        ("reason=date", 3), ("reason=tie", 0), ("artist=quee", 3), ("artist=abba", 0),
        ("album=HITS", 3), ("album=b", 0), ("confidence=medium", 1), ("confidence=none", 2),
        ("text=1.flac", 1), ("text=rhapsod%C3%BD", 3), ("state=review&artist=Queen", 1),
        ("sort=confidence", 3), ("page=9", 3), ("page=x", 3), ("page=-1", 3),
        ("sort=nonsense", 3), ("text=%00%FF", 0),
    ):  # fmt: skip
        shown = page.get(f"/queue?{query}").text
        assert f'role="status">{count} case' in shown, query
    first = page.ids()[0]
    assert f"/case/{first}?sort=confidence" in page.get("/queue?sort=confidence").text
    case = page.get(f"/case/{first}?state=review").text
    assert "1 of 1" in case
    assert give(page, first, "accept", filters={"state": "review"})["next"] == "/queue?state=review"


def test_a_case_that_was_settled_meanwhile_is_refused(
    canon: Canon, serve: Serve, waiting: Waiting
) -> None:
    files = waiting(4, proposed=1)
    page, other = serve().open(), serve().open()
    first, second, third, fourth = page.ids()
    give(other, first, "accept")
    refused = page.post(f"/case/{first}/verdict", {"verdict": {"action": "keep"}})
    assert (refused.status, refused.json["settled"]) == (409, True)
    assert refused.json["problem"].startswith("a person said accept at ")
    canon("review", "choose", files[1], "C1").must_end(0)
    assert "a person said reject" in give(page, second, "accept")["problem"]
    with MusicBrainzStandIn(open_bundles(4)) as mb:
        canon("decide", files[2], **asking(mb)).must_end(3)
    again = give(page, third, "keep")
    assert "the file was decided again at" in again["problem"]
    assert again["latest"] not in (None, third)
    assert f"/case/{again['latest']}" in page.get(f"/case/{third}").text
    canon("forget", files[3]).must_end(0)
    assert "is not the id of a decision" in give(page, fourth, "keep")["problem"]
    assert page.get(f"/case/{fourth}").status == 404


def test_a_verdict_is_not_saved_in_a_store_that_is_gone(page: Page, home: Path) -> None:
    case = page.ids()[0]
    give(page, case, "keep")
    page.post("/undo", {})
    store = home / "data" / "canon" / "canon.db"
    moved = store.rename(store.with_name("moved.db"))
    assert "was moved or deleted: start canon again" in give(page, case, "keep")["problem"]
    moved.rename(store)
    assert "next" in give(page, case, "keep")


def test_two_pages_at_once_lose_no_verdict(page: Page) -> None:
    case = page.ids()[0]
    answers = [give(page, case, action) for action in ("keep", "accept")]
    assert [("next" in answer, "settled" in answer) for answer in answers] == [
        (True, False), (False, True),
    ]  # fmt: skip
    assert page.post("/undo", {}).json["next"] == f"/case/{case}"
    assert give(page, case, "accept")["message"] == "accepted"


def test_page_batch_and_terminal_share_a_store(
    canon: Canon, serve: Serve, start: Start, waiting: Waiting, home: Path
) -> None:
    waiting(6)
    page = serve().open()
    cases = page.ids()
    more = open_bundles(20)
    for number, bundle in enumerate(more[6:]):
        file_of(bundle, home / "music", f"new {number}.flac", artist="Queen", album="Hits")
    with MusicBrainzStandIn(more) as mb:
        batch = start("batch", home / "music", **asking(mb))
        for case in cases[:4]:
            assert "next" in give(page, case, "keep")
        canon("review", "keep", cases[4]).must_end(0)
        assert batch.wait(60) == 3
    assert "a person said keep" in give(page, cases[4], "accept")["problem"]
    eventually(lambda: sum(case not in cases for case in page.ids()) == 14)
    assert len(left(canon)) == 15


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_server_with_an_honest_status(
    serve: Serve, waiting: Waiting, number: int
) -> None:
    waiting(1)
    page = serve().open()
    with socket.create_connection(("127.0.0.1", page.port)):  # an open connection holds nothing up
        assert page.end(number) == 3
    page = serve().open()
    give(page, page.ids()[0], "keep")
    assert page.end(number) == 0
    assert page.process.stderr
    assert b"Traceback" not in page.process.stderr.read()


IDLE_SERVER = """
import sys
from chart_binder.config import Config
from chart_binder.jobs.review_index import ReviewIndex
from chart_binder.pages.server import serve_review
from chart_binder.store import open_store
with open_store(f"sqlite:///{sys.argv[1]}/data/canon/canon.db") as store:
    index = ReviewIndex(store, ["undecided"])
    index.start()
    serve_review(store, Config(), index, lambda text: print(text, flush=True), idle_s=1)
"""


def idle_server(home: Path, environment: dict[str, str]) -> "subprocess.Popen[bytes]":
    """Start a server that ends when it was not used for a second."""
    command = [sys.executable, "-c", IDLE_SERVER, str(home)]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, env=environment, stdout=pipe, stderr=pipe)


def test_the_server_ends_when_nobody_uses_it(
    home: Path, environment: dict[str, str], waiting: Waiting
) -> None:
    waiting(1)
    with idle_server(home, environment) as process:
        out, err = process.communicate(timeout=30)
    assert (process.returncode, err) == (0, b"")
    assert out.startswith(b"http://127.0.0.1:")


def test_audio_that_is_paused_does_not_keep_the_server(
    home: Path, environment: dict[str, str], waiting: Waiting
) -> None:
    (file,) = waiting(1)
    [(case,)] = in_store(home, "SELECT id FROM decisions")
    with file.open("r+b") as audio:
        audio.truncate(50_000_000)
    with idle_server(home, environment) as process:
        assert process.stdout
        page = Page(process, process.stdout.readline().decode().strip()).open()
        lines = (
            f"GET /audio/{case} HTTP/1.1",
            f"Host: {page.host}",
            f"Cookie: {page.cookie}",
        )
        with socket.create_connection(("127.0.0.1", page.port)) as connection:
            connection.sendall("\r\n".join((*lines, "", "")).encode())
            assert connection.recv(12) == b"HTTP/1.1 200"
            assert process.wait(15) == 0


def test_a_port_that_is_taken_is_named(canon: Canon, serve: Serve) -> None:
    page = serve()
    canon("review", "--web", "--no-open", f"--port={page.port}").must_end(
        1, f"port {page.port} cannot be used", "without --port"
    )
    assert page.end() == 0


def test_an_empty_queue_says_so(serve: Serve) -> None:
    page = serve().open()
    first = page.get("/")
    assert (first.status, first.headers["Location"]) == (303, "/queue")
    assert "Nothing waits for you here." in page.get("/queue").text


def test_only_named_paths_and_states_are_shown(
    canon: Canon, serve: Serve, waiting: Waiting, home: Path
) -> None:
    waiting(2, proposed=1)
    assert len(serve("--state=review").open().ids()) == 1
    assert len(serve(home / "music" / "1.flac").open().ids()) == 1
    canon("review", "--web", "--json").must_end(2, "leave out --json")


def test_the_browser_is_opened(start: Start, home: Path, waiting: Waiting) -> None:
    waiting(1)
    tools = home / "tools"
    tools.mkdir()
    opener = tools / "xdg-open"
    opener.write_text(f'#!/bin/sh\necho "$1" > {home}/opened\n')
    opener.chmod(0o755)
    process = start("review", "--web", PATH=f"{tools}:{os.environ['PATH']}")
    assert process.stdout
    select.select([process.stdout], [], [], 30)
    address = process.stdout.readline().decode().strip()
    opened = home / "opened"
    eventually(lambda: opened.exists() and opened.read_text("utf-8").strip() == address)


def test_without_the_extra_the_error_says_what_to_install(
    cold_start: Callable[..., "subprocess.CompletedProcess[bytes]"], home: Path
) -> None:
    hidden = home / "hidden"
    hidden.mkdir()
    (hidden / "starlette.py").write_text('raise ImportError("No module named starlette")')
    done = cold_start("review", "--web", "--no-open", PYTHONPATH=str(hidden))
    assert done.returncode == 1
    assert "[web]'` installs it" in " ".join(done.stderr.decode().split())


def test_ci_installs_the_browser() -> None:
    script = (REPOSITORY / ".ci" / "run").read_text("utf-8")
    assert "chromium" in script
    assert "[test-web]" in script
