"""`canon transcript html`: one page, whole on its own, and safe whatever a page had in it."""

import base64
import hashlib
import json
import re
import shutil
import subprocess
import time
from html.parser import HTMLParser
from pathlib import Path

import pytest
from bs4 import BeautifulSoup

from chart_binder.cli.main import run
from chart_binder.react.conversation import Reply
from cli.recording import PAGE, QUOTE, RUN, answer, recording

Shown = pytest.CaptureFixture[str]
TAGS = {
    "html", "head", "meta", "title", "style", "body", "main", "section", "article", "div", "h1",
    "h2", "h3", "h4", "p", "ul", "li", "dl", "dt", "dd", "pre", "code", "b", "strong", "small",
    "span", "time", "meter", "details", "summary", "a",
}  # fmt: skip
ATTRIBUTES = {
    "lang", "charset", "http-equiv", "content", "name", "class", "dir", "role", "min", "max",
    "value", "aria-label", "href", "rel", "id", "tabindex",
}  # fmt: skip
HOSTILE = [
    "<script>alert(1)</script>", "</style><script>alert(1)</script>", "</pre></main></html>",
    '" onmouseover="alert(1)', "' onfocus='alert(1)", "<img src=x onerror=alert(1)>", "<!--",
    "&lt;script&gt;", "<![CDATA[", "\x00\x1b[31m\x08\x7f\x9b", "\u202eevil\u2066", "]]>", "\\u003c",
    "<a href=javascript:alert(1)>x</a>", "{{7*7}}", "\ufffe", "<svg/onload=alert(1)>",
]  # fmt: skip
ADDRESSES = [
    "javascript:alert(1)", "JaVaScRiPt:alert(1)", " javascript:alert(1)", "java\nscript:alert(1)",
    "data:text/html,<script>alert(1)</script>", "vbscript:x", "file:///etc/passwd", "//e.example",
    'https://a.example/" onclick="alert(1)', "https://[broken", "http:", "",
]  # fmt: skip


class Strict(HTMLParser):
    """Collects elements and what is not closed in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def page_of(file: Path, capsys: Shown) -> BeautifulSoup:
    """Return the page, after a look at what no page may have."""
    assert run(["transcript", "html", str(file)]) == 0
    text = capsys.readouterr().out
    strict = Strict()
    strict.feed(text)
    strict.close()
    assert strict.open == []
    assert {tag for tag, _ in strict.seen} <= TAGS
    assert {name for _, attributes in strict.seen for name in attributes} <= ATTRIBUTES
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", text)
    for tag, attributes in strict.seen:
        if tag == "a":
            assert re.match(r"https?://[^/]", attributes["href"] or "")
            assert "noopener" in (attributes["rel"] or "")
    return BeautifulSoup(text, "html.parser")


def edited(file: Path, **changes: object) -> Path:
    """Change a key in every line that has it."""
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    for line in lines:
        line |= {key: value for key, value in changes.items() if key in line}
    file.write_text("\n".join(map(json.dumps, lines)))
    return file


def test_the_page_shows_the_answer_and_every_turn(tmp_path: Path, capsys: Shown) -> None:
    first = Reply(f"{RUN[0]}\nObservation: made up", "Let me think.", "stop", 812, 44, 1.9)
    page = page_of(recording(tmp_path, [first, *RUN[1:]]), capsys)
    assert page.title
    assert page.title.string == "Queen - Bohemian Rhapsody: accepted - canon"
    text = page.get_text(" ")
    for word in (
        "confidence 0.90", "A Night at the Opera (Album)", "1975-11-21, GB", "so", "ok: candidate",
        "verified:", "first_release_date 1975 -> 1975-10-31 of Bohemian Rhapsody (Single)", QUOTE,
        "second reading (support): first_release", "Second reading of fact 1 (support)",
        "Evidence as the model read it", "Turn 5",
        "I look.", "web_search", '{"query":"Queen"}', "1. Queen", "Let me think.", "1.9 s",
        "812 + 44 tokens", "invented observation", "https://gone.example/ answered 404",
        "not understood", "llama3.2", "react-5",
    ):  # fmt: skip
        assert word in text, word
    assert {str(link["href"]) for link in page("a")} >= {PAGE}
    assert [item.span.string for item in page("li", class_="chosen") if item.span] == [
        "A Night at the Opera (Album)"
    ]


def test_the_page_loads_nothing_and_its_policy_allows_only_its_style(
    tmp_path: Path, capsys: Shown
) -> None:
    page = page_of(recording(tmp_path), capsys)
    (style,) = page("style")
    digest = base64.b64encode(hashlib.sha256(style.string.encode()).digest()).decode()
    (policy,) = (str(meta["content"]) for meta in page("meta", {"http-equiv": True}))
    assert policy.startswith(f"default-src 'none'; style-src 'sha256-{digest}'")
    assert not re.search(r"url\(|@import", style.string)
    for wish in ("prefers-color-scheme: dark", "@media print", "max-width"):
        assert wish in style.string
    assert page("meta", {"name": "viewport"})


@pytest.mark.parametrize("text", HOSTILE)
def test_markup_in_a_run_and_its_result_is_escaped(
    tmp_path: Path, capsys: Shown, text: str
) -> None:
    file = recording(tmp_path, [f"Thought: {text}\n{RUN[0]}", f"{text} hm", *RUN[3:]])
    texts = {"content": text, "thinking": text, "notes": [text], "tool": text, "error": text,
             "arguments": {text: [text]}, "model_id": text, "id": text, "done_reason": text,
             "sources": [text], "source": text, "reading": text}  # fmt: skip
    page = page_of(edited(file, **texts), capsys)
    whole = "".join(each if each.isprintable() or each == "\n" else "" for each in text)
    assert whole in "".join(
        each for each in page.get_text() if each.isprintable() and each != "\ufffd"
    )


def test_markup_in_every_field_of_a_result_is_escaped(tmp_path: Path, capsys: Shown) -> None:
    text = " ".join(HOSTILE)
    reading = {"kind": text, "source": text, "passage": text, "reading": text}
    fact = {"about": text, "field": text, "value": text, "source": text, "verified": True,
            "quote": text, "before": text, "problem": text, "readings": [reading]}  # fmt: skip
    result = {"outcome": "review", "crg_mbid": text, "rr_mbid": text, "rationale": text,
              "problem": text, "facts": [fact], "checks": [{"name": text, "passed": False,
              "detail": text}], "confidence": 0.5}  # fmt: skip
    page_of(edited(recording(tmp_path), result=result), capsys)


CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)


@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")
def test_a_browser_shows_the_page_in_its_style_and_runs_nothing_of_it(tmp_path: Path) -> None:
    hostile = f"{' '.join(HOSTILE)} <img src=https://a.example/x onerror=document.title='ran'>"
    file = edited(recording(tmp_path), content=hostile, notes=[hostile], sources=[hostile])
    page = tmp_path / "page.html"
    assert run(["transcript", "html", str(file), "-o", str(page)]) == 0
    shown, log = browsed(page)
    assert "<title>Queen - Bohemian Rhapsody: accepted - canon</title>" in shown
    assert not BeautifulSoup(shown, "html.parser")(["img", "script", "svg"])
    assert "Content Security Policy" not in log
    # What the browser refuses is found in its log: a style that the policy does not name is.
    page.write_text(page.read_text("utf-8").replace("</style>", " </style>"), "utf-8")
    assert "Content Security Policy" in browsed(page)[1]


def browsed(page: Path) -> tuple[str, str]:
    """Return the document after a browser has shown the page, and the browser's log."""
    assert CHROMIUM
    options = ("--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr")
    profile = f"--user-data-dir={page.parent / 'profile'}"
    command = [CHROMIUM, *options, profile, "--dump-dom", page.as_uri()]
    done = subprocess.run(command, capture_output=True, timeout=100, check=True)
    return done.stdout.decode(), done.stderr.decode(errors="replace")


@pytest.mark.parametrize("address", ADDRESSES)
def test_only_web_addresses_are_links(tmp_path: Path, capsys: Shown, address: str) -> None:
    page = page_of(edited(recording(tmp_path), sources=[address], source=address), capsys)
    sources = page("ul", class_="sources")
    assert sources
    assert "<a" not in str(sources)


def test_a_canned_transcript_has_a_page(tmp_path: Path, capsys: Shown) -> None:
    file = tmp_path / "canned.jsonl"
    file.write_text(json.dumps({"type": "reply", "content": answer()}))
    page = page_of(file, capsys)
    assert not page("p", class_="unfinished")
    assert "canned.jsonl" in page.get_text()


def test_a_huge_transcript_takes_a_moment(tmp_path: Path, capsys: Shown) -> None:
    reply = {"type": "reply", "content": "<" * 1_000_000}
    file = tmp_path / "huge.jsonl"
    file.write_text("\n".join([json.dumps(reply)] * 3 + ['{"type":"reply","content":"x"}'] * 5_000))
    started = time.process_time()
    assert run(["transcript", "html", str(file)]) == 0
    assert time.process_time() - started < 10
    assert len(capsys.readouterr().out) > 12_000_000


def test_the_page_is_written_to_a_file(tmp_path: Path, capsys: Shown) -> None:
    file, out = recording(tmp_path), tmp_path / "page.html"
    assert run(["transcript", "html", str(file), "-o", str(out)]) == 0
    assert capsys.readouterr().out == ""
    assert out.read_text("utf-8").startswith("<!doctype html>")
    nowhere = tmp_path / "no" / "such" / "folder.html"
    assert run(["transcript", "html", str(file), "-o", str(nowhere)]) == 1
    assert str(nowhere) in capsys.readouterr().err


def test_a_transcript_is_never_replaced_by_its_page(tmp_path: Path, capsys: Shown) -> None:
    file = recording(tmp_path)
    before = file.read_bytes()
    link = tmp_path / "link.html"
    link.symlink_to(file)
    for out in (file, link):
        assert run(["transcript", "html", str(file), "-o", str(out)]) == 2
        assert "the transcript itself" in capsys.readouterr().err
    assert file.read_bytes() == before
