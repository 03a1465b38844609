"""Screenshots of the review page: `python docs/screenshots.py` (extra `test-web`, and Chromium).

A model that follows a script answers about golden cases, through real pages and a real search.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from playwright.sync_api import sync_playwright

ROOT = Path(__file__).parents[1]
IMAGES = Path(__file__).parent / "images"
sys.path.insert(0, str(ROOT / "tests"))

from golden.bundles import Bundle, golden, year_only_single
from integration.services import adjudicating, answering, asking, dated_page, file_of, final
from servers.musicbrainz import MusicBrainzStandIn
from servers.ollama import OllamaStandIn

OPEN = {
    "Sounds of the Seventies": ("queen-wwry", "rule-8-isrc-decades-before",
                                "rule-4-bare-year-of-another-group", "rule-6-live-take-fits"),
    "At the Movies": ("soundtrack-old-isrc", "soundtrack-reservoir-dogs",
                      "soundtrack-pulp-fiction", "soundtrack-then-box-set"),
    "Nineties Gold": ("own-date-undated-original", "rule-9-promo-too-early",
                      "missing-original-same-year", "promo-only-localh"),
}  # fmt: skip
"""Golden cases that the rules leave open, by the album of the file."""
DECIDED = ("lead-bohemian", "pf-time", "s90-amuro")
WIDE, NARROW = {"width": 1100, "height": 860}, {"width": 380, "height": 800}


def canon(home: Path, *arguments: object, **variables: str) -> None:
    """Run a command in a home of its own."""
    call = [sys.executable, "-m", "chart_binder", *map(str, arguments)]
    environment = {**os.environ, **_home(home), **variables}
    subprocess.run(call, env=environment, check=False, stdout=subprocess.DEVNULL)  # noqa: S603


def _home(home: Path) -> dict[str, str]:
    return {"HOME": str(home), "XDG_DATA_HOME": str(home), "XDG_CONFIG_HOME": str(home)}


def fill(home: Path) -> None:
    """Decide the files of a small library; a model proposes an answer to the first."""
    first = year_only_single()
    bundles = [golden(name) for names in OPEN.values() for name in names]
    decided = [golden(name) for name in DECIDED]
    folder = home / "Music"
    files = [_file(folder, first, "Sounds of the Seventies", 1)]
    albums = [album for album, names in OPEN.items() for _ in names]
    files += [_file(folder, bundle, album, number) for number, (bundle, album) in
              enumerate(zip(bundles, albums, strict=True), 2)]  # fmt: skip
    files += [_file(folder, bundle, "Decided", number) for number, bundle in enumerate(decided)]
    with dated_page() as (pages, search, calls, fact), MusicBrainzStandIn([first]) as mb:
        reply = final(confidence=0.85, facts=[fact], crg_mbid="C2",
                      rationale="The single came out on 31 October 1975, three weeks before the"
                      " album, so it announced the album.")  # fmt: skip
        with OllamaStandIn(answering(*calls, reply, reply)) as model:
            settings = asking(mb) | adjudicating(model, search, pages)
            canon(home, "decide", files[0], **settings)
    with MusicBrainzStandIn([*bundles, *decided]) as mb:
        canon(home, "decide", *files[1:], **asking(mb))


def _file(folder: Path, bundle: Bundle, album: str, number: int) -> Path:
    place = folder / album
    place.mkdir(parents=True, exist_ok=True)
    artist = (bundle.get("artist") or {}).get("name") or ""
    title = bundle["recording_candidates"][0].get("title") or "song"
    name = f"{number:02} {title.replace('/', '-')}.flac"
    return file_of(bundle, place, name, artist=artist, album=album, date="2004")


@contextmanager
def served(home: Path) -> Iterator[str]:
    """Serve the review page, and yield the address that opens it."""
    call = [sys.executable, "-m", "chart_binder", "review", "--web", "--no-open"]
    with subprocess.Popen(  # noqa: S603
        call, env={**os.environ, **_home(home)}, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout
        yield process.stdout.readline().strip()
        process.terminate()


def take(address: str) -> None:
    """Take the screenshots."""
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path="/usr/bin/chromium")
        context = browser.new_context(viewport=WIDE)
        page = context.new_page()
        page.goto(address)
        page.wait_for_selector("#case")
        _shot(page, "review_case")
        server = page.url.partition("/case")[0]
        page.goto(f"{server}/queue")
        _shot(page, "review_queue")
        narrow = browser.new_context(
            viewport=NARROW, color_scheme="dark", storage_state=context.storage_state()
        ).new_page()
        narrow.goto(f"{server}/")
        narrow.wait_for_selector("#case")
        _shot(narrow, "review_narrow")


def _shot(page: Any, name: str) -> None:
    IMAGES.mkdir(exist_ok=True)
    page.screenshot(path=IMAGES / f"{name}.png")


if __name__ == "__main__":
    with TemporaryDirectory() as folder:
        fill(Path(folder))
        with served(Path(folder)) as opening:
            take(opening)
