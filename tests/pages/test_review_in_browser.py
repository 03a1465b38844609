"""The review page in a real browser: by keys, by hand, in two tabs, and when the server is gone."""

import signal
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from integration.conftest import Canon
from integration.services import LP, SINGLE, asking, open_bundles
from pages.conftest import Page, Serve, Waiting, eventually, left
from servers.musicbrainz import MusicBrainzStandIn
from servers.pages import Pages

axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="so is its axe")

Open = Callable[..., Any]
SECONDS_A_VERDICT = 6.0
NARROW = {"width": 360, "height": 740}
GONE = "The server does not answer"


@pytest.fixture
def opened(browser: Any) -> Iterator[Open]:
    """Open the address of a server in a browser of its own; its console must stay empty."""
    contexts: list[Any] = []
    problems: list[str] = []

    def run(server: Page, **options: object) -> Any:
        context = browser.new_context(**options)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(15_000)
        page.on("console", lambda message: problems.append(message.text))
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.goto(server.address)
        page.wait_for_selector("#main h1")
        page.wait_for_load_state()  # the script is there
        return page

    yield run
    for context in contexts:
        context.close()
    assert [problem for problem in problems if "Failed to load resource" not in problem] == []


@pytest.fixture
def reviewed(serve: Serve, waiting: Waiting, opened: Open) -> Open:
    """Open the review of so many cases, of which some have a proposal."""

    def run(count: int, proposed: int = 0, **options: object) -> Any:
        waiting(count, proposed)
        return opened(serve(), **options)

    return run


def press(page: Any, key: str, says: str) -> str:
    """Press a key, wait for what the page then says, and return the heading."""
    page.keyboard.press(key)
    page.wait_for_selector(f'#status:has-text("{says}"), #alert:has-text("{says}")')
    return str(page.inner_text("h1"))


def answer(page: Any, key: str, text: str, says: str) -> None:
    """Press a key, enter a text in its dialog, and wait for an element."""
    page.keyboard.press(key)
    page.wait_for_selector("dialog[open] input:focus")
    page.keyboard.insert_text(text)
    page.keyboard.press("Enter")
    page.wait_for_selector(says)


def test_the_address_becomes_a_cookie(serve: Serve, waiting: Waiting, opened: Open) -> None:
    waiting(1)
    server = serve()
    page = opened(server)
    assert "token" not in page.url
    (cookie,) = page.context.cookies()
    assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Strict")
    page.go_back(wait_until="commit")
    assert "token" not in page.url
    other = opened(serve())
    other.goto(server.address)
    assert "was used before" in other.inner_text("body")


def test_a_case_is_reviewed_by_hand(canon: Canon, reviewed: Open) -> None:
    page = reviewed(2, proposed=1)
    assert "before or after 1975-08-23?" in page.inner_text("#need")
    page.click("text=Accept")
    page.wait_for_selector('#status:has-text("accepted")')
    assert left(canon) == ["1.flac"]
    page.click("#undo")
    page.wait_for_selector('#status:has-text("taken back: accepted")')
    assert left(canon) == ["0.flac", "1.flac"]
    page.click("[aria-label^='Choose C2']")  # the proposed one
    page.wait_for_selector('#progress:has-text("1 of 2")')
    page.click("[aria-label^='Choose C1']")
    page.wait_for_selector('#status:has-text("C1 is right")')
    assert left(canon) == []
    assert page.url.endswith("/queue")
    page.select_option("select[name=state]", "done")
    page.click("text=Show")
    page.wait_for_selector("tr.done >> nth=1")


def test_everything_works_by_keys_alone(canon: Canon, reviewed: Open) -> None:
    files = [f"{number}.flac" for number in range(8)]
    page = reviewed(8, proposed=3)
    page.keyboard.press("n")
    page.wait_for_selector("#previous")
    page.keyboard.press("p")
    page.wait_for_selector('.steps:has-text("1 of 8")')
    press(page, "1", "C1 is right")
    press(page, "u", "taken back: C1 is right")
    page.keyboard.press("e")
    page.wait_for_selector('dialog[open]:has-text("Accept 3 proposals?")')
    page.keyboard.press("Enter")
    page.wait_for_selector('#status:has-text("accepted together: 3")')
    assert left(canon) == files[3:]
    press(page, "k", "kept out of the queue")
    answer(page, "d", "1975-10-31", '#status:has-text("1975-10-31 is right")')
    press(page, "x", "not this recording")
    assert left(canon) == files[6:]
    press(page, "9", "not this recording")  # there is no ninth candidate: nothing happens
    page.keyboard.press("d")
    page.wait_for_selector("dialog[open]")
    page.keyboard.press("Escape")
    page.wait_for_selector("dialog", state="hidden")
    assert left(canon) == files[6:]
    page.keyboard.press("?")
    assert page.locator("dialog[open] .keys dt").count() > 10
    page.keyboard.press("Escape")
    page.keyboard.press("/")
    page.keyboard.type("7.flac")
    page.keyboard.press("Enter")
    page.wait_for_selector('#count:has-text("1 case")')
    page.wait_for_load_state()
    page.keyboard.press("q")
    page.wait_for_selector("h1:focus")


def test_a_verdict_takes_less_than_six_seconds(canon: Canon, reviewed: Open) -> None:
    page = reviewed(12, proposed=4)
    began = time.monotonic()
    for number in range(12):
        key = "a" if page.locator("[data-act=accept]").count() else "2"
        page.keyboard.press(key)
        page.wait_for_selector(f'#progress:has-text("{number + 1} of 12")')
    assert (time.monotonic() - began) / 12 < SECONDS_A_VERDICT
    assert left(canon) == []


def test_two_tabs_do_not_lose_a_verdict(canon: Canon, reviewed: Open) -> None:
    page = reviewed(2, proposed=1)
    other = page.context.new_page()
    other.goto(page.url)
    press(page, "a", "accepted")
    press(other, "k", "a person said accept at")
    assert "Your verdict: accepted" in other.inner_text("#need")
    press(other, "u", "taken back: accepted")
    assert left(canon) == ["0.flac", "1.flac"]


def test_a_tab_takes_back_its_own_verdict(
    canon: Canon, serve: Serve, waiting: Waiting, opened: Open
) -> None:
    waiting(2)
    server = serve()
    page = opened(server)
    other = page.context.new_page()
    other.goto(f"http://{server.host}/")
    other.keyboard.press("n")
    other.wait_for_selector("#previous")
    press(page, "k", "kept out")
    press(other, "k", "kept out")
    page.click("#undo")
    page.wait_for_selector('#status:has-text("taken back")')
    assert page.locator("[data-waits]").count() == 1
    assert left(canon) == ["0.flac"]


def test_a_long_press_or_a_double_click_is_one_verdict(canon: Canon, reviewed: Open) -> None:
    page = reviewed(4)
    page.dblclick("text=Keep open", delay=0)
    page.wait_for_selector('#status:has-text("kept out")')
    page.wait_for_timeout(300)
    assert len(left(canon)) == 3
    page.keyboard.down("k")
    for _ in range(3):
        page.wait_for_timeout(150)
        page.keyboard.down("k")  # the key repeats
    page.keyboard.up("k")
    page.wait_for_timeout(300)
    assert len(left(canon)) == 2


def test_the_page_can_be_reloaded_in_the_middle(canon: Canon, reviewed: Open) -> None:
    page = reviewed(4)
    press(page, "2", "C2 is right")
    before = page.url
    page.reload()
    assert page.url == before
    assert page.inner_text("#progress") == "1 of 4"
    press(page, "u", "taken back: C2 is right")
    page.go_back()
    page.wait_for_selector('.steps:has-text("2 of 4")')
    press(page, "k", "kept out of the queue")
    assert len(left(canon)) == 3


def test_the_page_says_that_the_server_is_gone(
    canon: Canon, serve: Serve, waiting: Waiting, opened: Open
) -> None:
    waiting(2)
    server = serve()
    page = opened(server)
    press(page, "k", "kept out")
    server.end(signal.SIGKILL)
    press(page, "k", GONE)
    press(page, "n", GONE)
    assert len(left(canon)) == 1


def test_a_record_is_pasted_and_confirmed(
    canon: Canon, serve: Serve, waiting: Waiting, opened: Open
) -> None:
    waiting(2)
    with MusicBrainzStandIn(open_bundles(2)) as mb:
        page = opened(serve(**asking(mb)))
        answer(page, "o", f"https://musicbrainz.org/release/{LP}", '#status:has-text("is right")')
        unknown = "00000000-0000-4000-8000-00000000ffff"
        answer(page, "w", unknown, 'dialog[open] #ask-problem:has-text("check the id")')
        page.keyboard.insert_text(SINGLE)
        page.keyboard.press("Enter")
        page.wait_for_selector('#status:has-text("it came out on")')
    assert left(canon) == []


def test_a_doubtful_date_is_asked_about(canon: Canon, reviewed: Open) -> None:
    page = reviewed(1)
    for key, files in (("Escape", 1), ("Enter", 0)):
        answer(page, "d", "1999", 'dialog[open]:has-text("1999 is later than 1975")')
        page.keyboard.press(key)
        eventually(lambda files=files: len(left(canon)) == files)  # type: ignore[misc]


@pytest.mark.parametrize("key", ["d", "w", "o", "=", "r"])
def test_a_refused_answer_stays_in_its_dialog(canon: Canon, key: str, reviewed: Open) -> None:
    page = reviewed(1, proposed=1)
    page.keyboard.press(key)
    page.wait_for_selector("dialog[open] input:focus")
    page.keyboard.type("banana")
    if key == "r":  # the reason is free text, the record is not
        page.keyboard.press("Tab")
        page.keyboard.type("banana")
    page.keyboard.press("Enter")
    page.wait_for_selector('dialog[open] #ask-problem:has-text("banana")')
    field = page.locator("dialog[open] input:focus")
    assert field.input_value() == "banana"
    assert field.get_attribute("aria-invalid") == "true"
    assert "ask-problem" in field.get_attribute("aria-describedby").split()
    page.keyboard.type("1984")
    assert field.input_value() == "1984"
    page.keyboard.press("Escape")
    page.wait_for_selector("dialog", state="hidden")
    assert left(canon) == ["0.flac"]


def test_keys_typed_after_a_dialog_was_closed_by_an_error_do_nothing(
    canon: Canon, serve: Serve, waiting: Waiting, opened: Open
) -> None:
    file, _ = waiting(2)
    page = opened(serve())
    page.keyboard.press("d")
    page.wait_for_selector("dialog[open] input:focus")
    canon("review", "keep", file).must_end(0)
    page.keyboard.type("1974")
    page.keyboard.press("Enter")
    page.wait_for_selector('#alert:has-text("a person said keep")')
    page.keyboard.press("n")
    page.wait_for_timeout(200)
    assert page.locator("[data-waits]").count() == 0
    page.wait_for_timeout(1000)
    page.keyboard.press("n")
    page.wait_for_selector("[data-waits]")
    assert left(canon) == ["1.flac"]


def test_the_file_is_played(reviewed: Open) -> None:
    page = reviewed(1)
    page.keyboard.press("Space")
    played = "audio => audio.currentTime > 0 || audio.ended"
    eventually(lambda: bool(page.locator("#audio").evaluate(played)))
    assert page.locator("#no-audio").is_hidden()


def test_text_of_strangers_stays_text(
    canon: Canon, serve: Serve, waiting: Waiting, opened: Open
) -> None:
    (file,) = waiting(1, album="<img src=x onerror=alert(1)><script>alert(2)</script>")
    page = opened(serve())
    page.on("dialog", lambda dialog: pytest.fail(dialog.message))
    assert page.locator("main img, main script").count() == 0
    assert "<img src=x onerror" in page.inner_text("main")
    page.goto(page.url.partition("/case")[0] + "/queue?text=%3Cscript%3E")
    assert page.locator("main script").count() == 0
    assert left(canon) == [file.name]


def test_a_page_of_another_port_changes_nothing(
    canon: Canon, serve: Serve, waiting: Waiting, opened: Open, browser: Any
) -> None:
    waiting(1)
    server = serve()
    page = opened(server)
    case = page.url
    attack = f"""<script>
        const body = '{{"verdict": {{"action": "keep"}}}}';
        for (const type of ["text/plain", "application/json"])
          fetch("{case}/verdict", {{method: "POST", credentials: "include", body,
            headers: {{"Content-Type": type}}, mode: type[0] == "t" ? "no-cors" : "cors"}})
            .catch(() => 0);
        </script><iframe src="{case}"></iframe><img src="{case}">
        <form id="f" method="POST" enctype="text/plain" action="{case}/verdict">
        <input name='{{"verdict": {{"action": "keep"}}, "x": "' value='"}}'></form>"""
    with Pages({"/attack": attack}) as evil:
        foreign = page.context.new_page()
        foreign.goto(f"{evil.url}/attack")
        foreign.wait_for_timeout(500)
        frames = [frame for frame in foreign.frames if frame.url == case]
        assert all("Bohemian" not in frame.content() for frame in frames)
        foreign.locator("#f").evaluate("form => form.submit()")
        foreign.wait_for_selector('body:has-text("another page")')
    assert len(left(canon)) == 1


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [NARROW, {"width": 1200, "height": 900}])
def test_axe_finds_nothing_serious(reviewed: Open, size: dict[str, int], scheme: str) -> None:
    page = reviewed(3, proposed=2, viewport=size, color_scheme=scheme, bypass_csp=True)

    def check(place: str) -> None:
        result = axe.Axe().run(page)
        problems = [
            (place, found["id"], found["nodes"][0]["html"])
            for found in result.response["violations"]
            if found["impact"] in ("serious", "critical")
        ]
        assert problems == []
        assert page.locator("html").evaluate("html => html.scrollWidth") <= size["width"]

    check("case")
    press(page, "k", "kept out")
    check("message")
    page.keyboard.press("p")
    page.wait_for_selector('#need:has-text("Your verdict")')
    check("settled")
    page.keyboard.press("n")
    page.wait_for_selector("[data-waits]")
    page.keyboard.press("d")
    page.wait_for_selector("dialog[open]")
    check("dialog")
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    check("help")
    page.keyboard.press("Escape")
    page.keyboard.press("q")
    page.wait_for_selector("#count")
    check("queue")
    background = "body => getComputedStyle(body).backgroundColor.match(/[0-9]+/g).map(Number)"
    assert (max(page.locator("body").evaluate(background)) < 100) == (scheme == "dark")


def test_a_screen_reader_is_told_what_happens(reviewed: Open) -> None:
    page = reviewed(2, proposed=1)
    names = page.locator("button").evaluate_all("all => all.map(b => b.ariaLabel || b.innerText)")
    assert all(name.strip() for name in names)
    assert page.get_by_role("main").count() == page.get_by_role("banner").count() == 1
    assert page.get_by_role("navigation", name="Cases").count() == 1
    assert page.get_by_role("search").count() == 1
    press(page, "a", "accepted")
    page.wait_for_selector("h1:focus")
    assert page.get_by_role("status").first.inner_text() == "Accepted"
    page.keyboard.press("Tab")
    assert page.locator("a:focus, button:focus, audio:focus").count() == 1


def test_single_keys_can_be_turned_off(canon: Canon, reviewed: Open) -> None:
    page = reviewed(1)
    page.keyboard.press("?")
    page.uncheck("#keys-on")
    page.click("text=Close")
    page.keyboard.press("k")
    page.wait_for_timeout(200)
    assert len(left(canon)) == 1
    page.click("text=Keep open")
    page.wait_for_selector('#status:has-text("kept out of the queue")')
