"""`canon init`, `canon config set` and `canon config edit`: a person's own configuration file."""

import sys
from pathlib import Path

import pytest
import tomli

from chart_binder.errors import how_to_install
from docs.pages import blocks
from integration.conftest import Canon
from integration.services import asking
from integration.terminal import walking
from servers.musicbrainz import MusicBrainzStandIn
from servers.ollama import OllamaStandIn
from servers.searxng import Searxng, hit

OFFLINE = {"CANON_MUSICBRAINZ__OFFLINE": "true"}
COMMENTED = "# mine\n[llm]  # the model\nseed = 3  # lucky\n\n[log]\nlevel = 'info'\n"


@pytest.fixture
def own(home: Path) -> Path:
    """The place of the user's own file, in a folder that is not there yet."""
    return home / "config" / "canon" / "config.toml"


def test_a_key_is_set_and_all_else_stays(canon: Canon, own: Path) -> None:
    canon("config", "set", "llm.seed", "7", "--dry-run").must_end(0, f"would be set in {own}")
    assert not own.exists()
    canon("config", "set", "llm.seed", "7").must_end(0, f"llm.seed = 7 # set in {own}")
    assert tomli.loads(own.read_text()) == {"llm": {"seed": 7}}
    own.write_text(COMMENTED)
    own.chmod(0o600)
    for key, value in (("llm.seed", "4"), ("llm.keep_alive", "-1"), ("llm.fetch.ports", "80,81")):
        canon("config", "set", key, value).must_end(0)
    changed = COMMENTED.replace("seed = 3", "seed = 4").replace(
        "\n\n", "\nkeep_alive = -1\n\n[llm.fetch]\nports = [80, 81]\n\n"
    )
    assert own.read_text() == changed
    assert own.stat().st_mode & 0o777 == 0o600
    assert [file.name for file in own.parent.iterdir()] == [own.name]
    line = canon("config", "set", "llm.seed", "4", "--output=json").line
    assert line == {"key": "llm.seed", "value": 4, "file": str(own), "changed": False}
    named = own.parents[1] / "named.toml"
    ran = canon("config", "set", "llm.seed", "1", CANON_CONFIG=str(named), CANON_LLM__SEED="5")
    ran.must_end(0, "canon: CANON_LLM__SEED is set, and takes precedence")
    assert (tomli.loads(named.read_text()), own.read_text()) == ({"llm": {"seed": 1}}, changed)
    secret = canon("config", "set", "store.url", "postgresql://me:hunter2@host/music")
    assert "hunter2" not in secret.must_end(0).out


@pytest.mark.parametrize(("key", "value", "words"), [
    ("llm.enabld", "true", "llm.enabld: unknown key (did you mean 'llm.enabled'?)"),
    ("llm", "true", "llm is a table with the keys llm.enabled, "),
    ("tags.policy", "zap", "tags.policy: found 'zap'; it must be 'dates', 'note' or 'move'"),
    ("llm.max_tokens", "20000", "max_tokens 20000 must be less than num_ctx 12288"),
    ("llm.provider", "telepathy", "installed are ollama, openai, replay"),
    ("llm.tools.telepathy", "false", "no such tool is installed"),
])  # fmt: skip
def test_a_value_that_is_not_allowed_changes_nothing(
    canon: Canon, own: Path, key: str, value: str, words: str
) -> None:
    own.parent.mkdir(parents=True)
    own.write_text(COMMENTED)
    canon("config", "set", key, value).must_end(2, words)
    assert own.read_text() == COMMENTED


def test_a_wrong_value_in_the_file_can_be_set_right(canon: Canon, own: Path) -> None:
    own.parent.mkdir(parents=True)
    own.write_text("[llm]\nseed = 'x'\n")
    canon("config", "set", "llm.seed", "7").must_end(0)
    assert own.read_text() == "[llm]\nseed = 7\n"


def test_a_file_is_edited_and_saved_only_if_it_is_valid(
    canon: Canon, own: Path, home: Path, environment: dict[str, str]
) -> None:
    editor = home / "editor"
    editor.write_text('#!/bin/sh\necho "[llm]\nseed = $(cat next)" > "$1"\necho 7 > next\n')
    editor.chmod(0o700)
    edits, answer = {"VISUAL": str(editor)}, home / "work" / "next"
    answer.write_text("'x'")
    canon("config", "edit", **edits).must_end(2, f"{own}, line 2: llm.seed: found 'x'")
    assert not own.exists()
    answer.write_text("'")
    with walking(home, environment | edits, "config", "edit") as terminal:
        terminal.until("Edit it again? [Y/n]:")
        terminal.enter("", "saved")
        assert terminal.ended() == 0
    assert own.read_text() == "[llm]\nseed = 7\n"
    canon("config", "edit", **edits).must_end(0, f"{own}: unchanged")
    answer.write_text("'x'")
    with walking(home, environment | edits, "config", "edit") as terminal:
        terminal.until("Edit it again? [Y/n]:")
        terminal.enter("n", "stays as it was")
        assert terminal.ended() == 2
    assert own.read_text() == "[llm]\nseed = 7\n"


def test_init_takes_defaults_without_questions(canon: Canon, own: Path) -> None:
    canon("init", **OFFLINE).must_end(2, "init asks questions, so it needs a terminal; --yes")
    canon("init", "--yes", "--dry-run", **OFFLINE).must_end(0, f"{own}: not written")
    assert not own.exists()
    canon("init", "--yes", **OFFLINE).must_end(0, f"{own}: written", "next: canon decide FOLDER")
    assert tomli.loads(own.read_text()) == {
        "musicbrainz": {"contact": ""},
        "llm": {"enabled": False},
    }
    own.write_text(COMMENTED)
    *_, last = canon("init", "--yes", "--output=json", **OFFLINE).must_end(0).lines
    assert last == {"file": str(own), "changed": {}, "written": False}
    assert own.read_text() == COMMENTED
    own.write_text("[llm]\nseed = 'x'\n")
    canon("init", "--yes", **OFFLINE).must_end(2, f"{own}, line 2: llm.seed: found 'x'")


def test_init_asks_tests_each_service_and_writes_what_is_answered(
    home: Path, environment: dict[str, str], own: Path
) -> None:
    own.parent.mkdir(parents=True)
    own.write_text(COMMENTED)
    with (
        MusicBrainzStandIn([]) as mb,
        Searxng({"musicbrainz": [hit("https://a.example/", "MusicBrainz")]}) as search,
        OllamaStandIn() as model,
    ):
        with walking(home, environment | asking(mb), "init", columns=200) as terminal:
            terminal.until("MusicBrainz asks for [none]:")
            terminal.enter("me@example.org", "ok musicbrainz")
            terminal.until("leave open? [y/N]:")
            terminal.enter("y", "OpenAI's protocol [ollama]:")
            terminal.enter("telepathy", "is not one of ollama, openai, replay")
            terminal.enter("", "[http://127.0.0.1:11434]:")
            terminal.enter("nowhere", "an address of http:// or https:// is allowed")
            terminal.enter("http://127.0.0.1:1", "there [llama3.2]:")
            terminal.enter("", "failed model")
            terminal.until("Answer again? [y/N]:")
            terminal.enter("y", "leave open? [Y/n]:")
            terminal.enter("", "[ollama]:")
            terminal.enter("", "[http://127.0.0.1:1]:")
            terminal.enter(model.url, "[llama3.2]:")
            terminal.enter("", "ok model")
            terminal.until("Wikipedia alone [http://127.0.0.1:8888]:")
            terminal.enter(search.url, "ok search")
            terminal.until(f"Write {own}? [Y/n]:")
            terminal.enter("", f"{own}: written")
            assert terminal.ended() == 0
        document = tomli.loads(own.read_text())
        assert document == {
            "llm": {"seed": 3, "enabled": True, "base_url": model.url,
                "searxng": {"url": search.url}},
            "log": {"level": "info"}, "musicbrainz": {"contact": "me@example.org"},
        }  # fmt: skip
        assert [line for line in COMMENTED.splitlines() if line not in own.read_text()] == []
        before = own.read_text()
        with walking(home, environment | asking(mb), "init", columns=200) as terminal:
            terminal.until("MusicBrainz asks for [me@example.org]:")
            terminal.enter("none", "leave open? [Y/n]:")
            terminal.enter("n", f"Write {own}? [Y/n]:")
            terminal.enter("n", f"{own}: not written")
    assert own.read_text() == before


@pytest.mark.parametrize(("prefix", "program"), [
    ("/home/you/.local/share/pipx/venvs/chart-binder", "pipx install --force"),
    ("/home/you/.local/share/uv/tools/chart-binder", "uv tool install --force"),
    ("/home/you/clone/.venv", "pip install"),
])  # fmt: skip
def test_an_extra_is_installed_as_the_program_was(
    monkeypatch: pytest.MonkeyPatch, prefix: str, program: str
) -> None:
    monkeypatch.setattr(sys, "prefix", prefix)
    command = how_to_install("web")
    assert command.startswith(f"`{program} ")
    assert command.endswith("[web]'` installs it")


def test_init_saves_the_answers_without_a_network(
    home: Path, environment: dict[str, str], own: Path
) -> None:
    unreachable = environment | {"CANON_MUSICBRAINZ__HOSTNAME": "localhost:9"}
    with walking(home, unreachable, "init", columns=200) as terminal:
        terminal.until("MusicBrainz asks for [none]:")
        terminal.enter("me@example.org", "failed musicbrainz")
        terminal.until("init goes on: `canon doctor` tests MusicBrainz again later")
        terminal.until("leave open? [y/N]:")
        terminal.enter("", f"Write {own}? [Y/n]:")
        terminal.enter("", "next: canon doctor")
        assert terminal.ended() == 1
    assert tomli.loads(own.read_text())["musicbrainz"]["contact"] == "me@example.org"


def test_init_asks_what_the_quick_start_shows(
    home: Path, environment: dict[str, str], own: Path
) -> None:
    with MusicBrainzStandIn([]) as mb:
        shown = blocks("docs/quickstart.md", "text")[0].replace("musicbrainz.org", mb.hostname)
        shown = shown.replace("/home/you/.config/canon/config.toml", str(own))
        with walking(home, environment | asking(mb), "init", columns=200) as terminal:
            for line in shown.replace("...\n", "").splitlines():
                question, mark, answer = line.partition("]:")
                terminal.until(question + mark)
                if mark:
                    terminal.enter(answer.strip(), "")
            assert terminal.ended() == 0
