"""`canon report` as a process: one page about a library, complete in its file, and as JSON."""

import base64
import hashlib
import os
import re
import shlex
from pathlib import Path

import pytest
from bs4 import BeautifulSoup, Tag

from cli.test_transcript_html import HOSTILE, Strict
from golden.bundles import golden
from integration.conftest import Canon, in_store
from integration.services import file_of, flac

BUNDLES = {
    "queen": golden("lead-bohemian"), "slts": golden("lead-slts"),
    "hanae": golden("lead-hanae"),
}  # fmt: skip
YEARS = {"queen": "2004-05-01", "slts": "1999", "hanae": "2016"}


@pytest.fixture
def library(canon: Canon, home: Path) -> Path:
    """Two files that are older than their tags say, one that is not, and files with odd texts."""
    (home / "music").mkdir()
    for name, bundle in BUNDLES.items():
        file_of(bundle, home / "music", f"{name}.flac", album="Best of", date=YEARS[name])
    for number, text in enumerate(text for text in HOSTILE if "\0" not in text):
        tags = {"artist": text, "title": f"{text} {number}", "album": text, "date": "1999"}
        flac(home / "music", f"{number}.flac", **tags)
    odd = home / "music" / os.fsdecode(b"\xff <b>\xe2\x80\xae&amp;.flac")
    flac(home / "music", odd.name, artist="Nobody", title="Nothing")
    canon("batch", home / "music", knowing=BUNDLES.values()).must_end(3)
    return home / "music"


def page_of(file: Path) -> BeautifulSoup:
    """Return the page, after a look at what no page may have."""
    text = file.read_bytes().decode()
    strict = Strict()
    strict.feed(text)
    strict.close()
    assert strict.open == []
    tags = {tag for tag, _ in strict.seen}
    assert not tags & {"script", "img", "b", "iframe", "form", "link", "object", "style/"}
    assert not {name for _, attributes in strict.seen for name in attributes if name[:2] == "on"}
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", text)
    ids = [attributes["id"] for _, attributes in strict.seen if "id" in attributes]
    assert len(ids) == len(set(ids))
    links = [attributes["href"] or "" for tag, attributes in strict.seen if tag == "a"]
    assert all(link.startswith("#") for link in links), "it leads nowhere else"
    return BeautifulSoup(text, "html.parser")


def by_id(page: BeautifulSoup, name: object) -> Tag:
    """Return the only element with an id, which may have a number sign in front."""
    (element,) = page(id=str(name).removeprefix("#"))
    assert isinstance(element, Tag)
    return element


def test_each_number_of_the_page_leads_to_its_files(
    canon: Canon, library: Path, home: Path
) -> None:
    out = home / "report.html"
    ran = canon("report", "--html", out).must_end(0)
    assert (ran.out, ran.err) == ("", f"{out}: a page about {len(list(library.iterdir()))} files\n")
    page = page_of(out)
    headline = "2 tracks of 20 first came out before the year of their album"
    assert headline in " ".join(by_id(page, "main").get_text().split())
    links = page("a")
    assert len(links) > 30
    for link in links:
        target = by_id(page, link["href"])
        number = re.search(r"([\d,]+)(?: tracks?)?$", link.get_text())
        assert number
        assert target.name == "div"
        assert len(target("li")) == int(number[1].replace(",", ""))
    older = by_id(page, links[0]["href"])
    assert [item.get_text() for item in older(class_="file")] == [
        str(library / "queen.flac"), str(library / "slts.flac"),
    ]  # fmt: skip
    assert "1975-10-31" in older.get_text()
    assert "album of 2004" in older.get_text()


def test_the_page_is_complete_and_its_policy_allows_only_its_style(
    canon: Canon, library: Path, home: Path
) -> None:
    canon("report", "--html", home / "report.html").must_end(0)
    page = page_of(home / "report.html")
    (style,) = page("style")
    digest = base64.b64encode(hashlib.sha256(str(style.string).encode()).digest()).decode()
    (policy,) = (str(meta["content"]) for meta in page("meta", {"http-equiv": True}))
    assert policy.startswith(f"default-src 'none'; style-src 'sha256-{digest}'")
    assert not re.search(r"url\(|@import", str(style.string))
    for table in page("table"):
        assert table.find("thead")
    assert len(page("svg")) == len(page("table")) - 1, "all but the table of decades and years"
    text = page.get_text()
    for hostile in ("<script>alert(1)</script>", "]]>", "{{7*7}}", "<b>"):
        assert hostile in text


def test_json_has_the_figures_with_queries_that_list_the_files(
    canon: Canon, library: Path, home: Path
) -> None:
    figures = canon("report", "--json").must_end(0).line
    assert figures["older"] == {"count": 2, "query": "older:1.."}
    assert figures["older_by_decade"] == [
        {"name": "1970s", "figures": {
            "certain": {"count": 1, "query": "older:1.. decade:1970s certain:yes"},
        }},
        {"name": "1990s", "figures": {
            "uncertain": {"count": 1, "query": "older:1.. decade:1990s certain:no"},
        }},
    ]  # fmt: skip
    for row in (*figures["older_by_years"], *figures["states"], *figures["open"]):
        for figure in row["figures"].values():
            assert len(canon("ls", "--json", figure["query"]).lines) == figure["count"]
    odd = canon("report", "--json", os.fsdecode(b"path:/music/\xff")).must_end(0).line
    assert odd["files"] == {"count": 0, "query": 'path:"/music/\ufffd"'}
    part = canon("report", "--output=json", "--html", home / "part.html", "-state:decided").line
    assert part["files"] == {"count": 18, "query": "-state:decided"}
    (code, *_) = page_of(home / "part.html")("code")
    assert code.get_text() == "-state:decided"


def test_a_long_list_is_cut_and_names_the_command_that_lists_all(
    canon: Canon, library: Path, home: Path
) -> None:
    for number in range(60):
        flac(library, f"more {number}.flac", artist="Nobody", title=f"Nothing {number}")
    canon("batch", library, knowing=BUNDLES.values()).must_end(3)
    page = page_of_stdout(canon("report", "--html=-", "title:nothing", "^by:llm").out, home)
    (shown,) = (item for item in page("details") if item.get_text().strip().startswith("All files"))
    assert len(shown("li")) == 50
    assert "11 more." in shown.get_text()
    (call,) = shown("code")
    words = shlex.split(call.get_text())
    assert words[:2] == ["canon", "ls"]
    assert len(canon(*words[1:]).out.splitlines()) == 1 + 61


def page_of_stdout(text: str, home: Path) -> BeautifulSoup:
    file = home / "printed.html"
    file.write_text(text, "utf-8")
    return page_of(file)


def test_a_file_is_replaced_whole_and_a_link_stays(canon: Canon, library: Path, home: Path) -> None:
    target, link = home / "pages" / "old.html", home / "link.html"
    target.parent.mkdir()
    target.write_text("old")
    target.chmod(0o640)
    link.symlink_to(target)
    canon("report", "--html", link).must_end(0)
    assert link.is_symlink()
    assert page_of(target).title
    assert target.stat().st_mode & 0o777 == 0o640
    assert [path.name for path in target.parent.iterdir()] == ["old.html"]
    canon("report", "--html", "/dev/null").must_end(0)


def test_what_cannot_be_written_is_refused(canon: Canon, library: Path, home: Path) -> None:
    canon("report").must_end(2, "--html FILE", "--json")
    canon("report", "--html=-", "--json").must_end(2, "leave out one of them")
    canon("report", "--html", library / "queen.flac").must_end(2, "never replaced")
    canon("report", "--html", home / "none" / "r.html").must_end(1, "cannot be written")
    canon("report", "--html", home).must_end(1, "cannot be written")
    canon("report", "--html=-", "older:why").must_end(2, "give 5, 1..4, 10.., ..-1")
    in_store(home, "UPDATE decisions SET document = 'x' WHERE state = 'decided'")
    canon("report", "--html", home / "r.html").must_end(1, "left out", "a page about 18 files")
