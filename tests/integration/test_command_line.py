"""What all commands share: help, misuse, configuration, streams; and the small commands."""

import json
import re
import shlex
import signal
import sqlite3
import subprocess
import sys
import time
import tomllib
from contextlib import closing
from pathlib import Path

import httpx
import pytest

from integration.conftest import REPOSITORY, Canon, Start
from integration.services import ALBUM, adjudicating, asking, flac
from servers.http import Response
from servers.musicbrainz import MusicBrainzStandIn, always
from servers.ollama import OllamaStandIn
from servers.searxng import Mode, Searxng, hit

UNLOADED = {
    "--help": (
        "pydantic", "httpx", "ollama", "bs4", "sqlalchemy", "structlog", "mediafile", "mutagen",
        "musicbrainzngs", "msgspec", "platformdirs", "tomli", "asyncio",
    ),
    "decide": (
        "chart_binder.domain.dates_in_text", "chart_binder.llm.old_dates",
        "chart_binder.domain.dates_in_text", "mediafile", "httpx", "sqlalchemy", "bs4",
    ),
}  # fmt: skip
OFFLINE = {"CANON_MUSICBRAINZ__OFFLINE": "true"}


@pytest.mark.parametrize("command", UNLOADED)
def test_help_and_a_decision_by_rules_load_nothing_heavy(open_bundle: Path, command: str) -> None:
    options = ["--evidence", str(open_bundle)] if command == "decide" else []
    program = (
        "import sys\n"
        "from chart_binder.cli.main import run\n"
        f"run({[command, *options]!r})\n"
        f"sys.exit(', '.join(set(sys.modules) & set({UNLOADED[command]!r})) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr


def test_help_names_every_command_and_cuts_no_sentence(canon: Canon) -> None:
    assert re.fullmatch(r"canon \d+\.\d+\.\d+\n", canon("--version").out)
    ran = canon("--help")
    for name in ("decide", "explain", "eval", "demo", "doctor"):
        assert f"\n  {name} " in ran.out
        canon(name, "--help").must_end(0)
    for command in ("transcript show", "transcript parse", "tools run", "override set"):
        canon(*command.split(), "--help").must_end(0, "xit status")
    for group in ("config", "drift", "override", "review", "runs", "tools", "transcript"):
        assert f"\n  {group} " in ran.out
        listed = canon(group, "--help").out.partition("Commands:")[2]
        assert listed
        assert "..." not in listed


MISUSE = [
    line.split(" | ", 2)
    for line in Path(__file__).with_name("misuse.txt").read_text("utf-8").splitlines()
    if not line.startswith("#")
]


@pytest.mark.parametrize(("status", "arguments", "words"), [(*row, "")[:3] for row in MISUSE])
def test_misuse_is_one_line_and_prints_no_result(
    canon: Canon, home: Path, status: str, arguments: str, words: str
) -> None:
    golden = str(REPOSITORY / "tests" / "golden" / "decisions.jsonl")
    bundle, report = home / "work" / "bundle.json", home / "work" / "report.jsonl"
    recording = {"mb_recording_id": "my-own-7", "rg_candidates": []}
    bundle.write_text(
        json.dumps({"artist": {"name": "Queen"}, "recording_candidates": [recording]})
    )
    report.write_text("earlier")
    call = arguments.removesuffix(" |").replace("{golden}", golden).replace("{id}", ALBUM)
    ran = canon(*shlex.split(call)).must_end(int(status), words)
    assert ran.err.startswith(("canon: ", "Usage: "))
    assert (ran.out, report.read_text()) == ("", "earlier")
    assert not (home / "data").exists() or not call.startswith("override")


def test_a_wrong_configuration_stops_before_any_file(canon: Canon, home: Path) -> None:
    (home / "work" / "config.toml").write_text("[canon]\n[llm]\nmodell = 'x'\n")
    ran = canon("decide", "whatever.mp3")
    assert ran.out == ""
    ran.must_end(2, "config.toml, line 3: llm.modell: unknown key", "--config FILE names")
    canon("demo").must_end(0)  # it needs no configuration


@pytest.mark.parametrize(
    ("key", "value", "word"),
    [
        ("llm.provider", "telepathy", "installed are ollama, openai, replay"),
        ("llm.dialect", "klingon", "classic"),
        ("llm.tools.telepathy", "false", "wikipedia"),
        ("llm.prompt.rules", "{rules} {telepathy}", "{lead_window_days}"),
        ("llm.prompt.version", "react-1", "no such key any more: there is one prompt"),
    ],
)
def test_an_unknown_name_is_refused_without_a_model(
    canon: Canon, key: str, value: str, word: str
) -> None:
    variable = f"CANON_{key.upper().replace('.', '__')}"
    ran = canon("config", "show", **{variable: value})
    assert ran.out == ""
    ran.must_end(2, f"canon: {variable}: {key}: ", word)


def test_config_show_names_sources_and_hides_secrets(canon: Canon, home: Path) -> None:
    (home / "work" / "config.toml").write_text("[canon]\n[llm]\nseed = 7\n")
    ran = canon(
        "config", "show", CANON_LLM__MODEL_ID="m", CANON_LLM__BASE_URL="http://user:secret@host:1"
    ).must_end(0)
    assert re.search(r"llm\.seed = 7 +# config\.toml", ran.out)
    assert re.search(r'llm\.model_id = "m" +# CANON_LLM__MODEL_ID', ran.out)
    assert re.search(r"llm\.temperature = 0\.0 +# default", ran.out)
    assert "secret" not in ran.out
    assert "http://***@host:1" in ran.out


def test_a_users_configuration_gives_way_to_that_of_the_folder(canon: Canon, home: Path) -> None:
    (home / "config" / "canon").mkdir(parents=True)
    for folder, seed in ((home / "config" / "canon", 9), (home / "work", 7)):
        (folder / "config.toml").write_text(f"[canon]\n[llm]\nseed = {seed}\n")
        assert f"llm.seed = {seed}" in canon("config", "show").out


@pytest.mark.parametrize("mark", ["\ufeff[canon]", "canon = {}", '["canon"]'])
def test_a_configuration_is_known_by_its_table_however_it_is_written(
    canon: Canon, home: Path, mark: str
) -> None:
    (home / "work" / "config.toml").write_text(f"{mark}\n[llm]\nseed = 7\n", "utf-8")
    assert "llm.seed = 7" in canon("config", "show").must_end(0).out


def test_the_table_that_marks_a_configuration_has_no_keys(canon: Canon, home: Path) -> None:
    (home / "work" / "config.toml").write_text("[canon.tags]\nx = 1\n")
    canon("config", "show").must_end(2, "canon.tags: unknown key", "; no key is allowed here (")


@pytest.mark.parametrize("text", ["[llm]\nseed = 7\n", "title = 'Hugo'\n", "a = [\n", "\xff"])
def test_somebody_elses_file_of_that_name_is_passed_over(
    canon: Canon, home: Path, text: str
) -> None:
    (home / "work" / "config.toml").write_bytes(text.encode("latin-1"))
    ran = canon("config", "show").must_end(0)
    assert "llm.seed = 0" in ran.out
    assert "config.toml" not in ran.err
    told = canon("-v", "config", "show").must_end(0).err
    unread = "config.toml is not read: it has no table [canon]"
    assert told.count(unread) == 1
    assert " ".join(canon("config", "path").out.split()).count(unread) == 1


def test_a_file_is_named_by_option_or_variable_and_needs_no_mark(canon: Canon, home: Path) -> None:
    for name, seed in (("config.toml", 1), ("named.toml", 2), ("other.toml", 3)):
        (home / "work" / name).write_text(f"[canon]\n[llm]\nseed = {seed}\n")
    (home / "work" / "named.toml").write_text("[llm]\nseed = 2\n[review]\nplayer = 'mpv'\n")
    assert "llm.seed = 2" in canon("config", "show", CANON_CONFIG="named.toml").out
    ran = canon("--config", "other.toml", "config", "show", CANON_CONFIG="named.toml")
    assert "llm.seed = 3" in ran.out
    assert 'review.player = "mpv"' in canon("config", "show", CANON_CONFIG="named.toml").out
    canon("config", "show", CANON_CONFIG="absent.toml").must_end(2, "absent.toml")


def test_a_program_is_never_taken_from_the_current_folder(canon: Canon, home: Path) -> None:
    text = "[canon]\n[review]\nplayer = 'rm -rf'\n[llm]\napi_key_env = 'SOME_TOKEN'\n"
    (home / "work" / "config.toml").write_text(text)
    ran = canon("config", "show").must_end(0)
    assert 'llm.api_key_env = ""' in ran.out
    assert "llm.api_key_env is not taken from" in ran.err
    assert 'review.player = ""' in ran.out
    assert "review.player is not taken from" in ran.err
    assert "rm -rf" not in ran.out + ran.err


def test_tools_are_listed_and_called_by_hand(canon: Canon) -> None:
    assert "web_search(query)" in canon("tools", "list").out
    with Searxng({"killer queen": [hit("https://a.example/", "Killer Queen")]}) as search:
        for asked in ('{"query": "killer queen"}', "killer queen"):
            ran = canon("tools", "run", "web_search", asked, CANON_LLM__SEARXNG__URL=search.url)
            ran.must_end(0, "https://a.example/")
    canon("tools", "run", "web_fetch", '{"url": "http://127.0.0.1/"}').must_end(1, "127.0.0.1")


@pytest.mark.parametrize(
    ("mode", "fixes"),
    [
        ("json_off", ("formats: [html, json]", "ollama serve")),
        ("degraded", ("google (Suspended: CAPTCHA)", "under engines in its settings.yml")),
    ],
)
def test_doctor_names_the_fix_of_a_search(canon: Canon, mode: Mode, fixes: tuple[str, ...]) -> None:
    with MusicBrainzStandIn([]) as mb, Searxng(mode=mode) as search:
        canon("doctor", **asking(mb), CANON_LLM__SEARXNG__URL=search.url).must_end(0, *fixes)


def test_doctor_reports_what_a_model_is_loaded_with(canon: Canon) -> None:
    with (
        MusicBrainzStandIn([]) as mb,
        Searxng({}) as search,
        OllamaStandIn(["yes"], allotted=2_048) as model,
    ):
        chat = {"model": "llama3.2", "messages": [{"role": "user", "content": "?"}]}
        httpx.post(f"{model.url}/api/chat", json=chat)
        canon("doctor", **asking(mb) | adjudicating(model, search)).must_end(
            0, "loaded with 2048 tokens only", "lower llm.num_ctx to 2048", "OLLAMA_NUM_PARALLEL",
            "can be written to (schema ", "made for 131072 tokens (llm.num_ctx = ",
            "finds nothing: is any engine on?", "warning  model", "warning  search",
        )  # fmt: skip


ENABLED = {"CANON_LLM__ENABLED": "true"}
NO_MODEL = {"CANON_LLM__BASE_URL": "http://127.0.0.1:1"}
NO_SEARCH = {"CANON_LLM__SEARXNG__URL": "http://127.0.0.1:1"}
NO_MUSICBRAINZ = {"CANON_MUSICBRAINZ__HOSTNAME": "127.0.0.1:1"}


@pytest.mark.parametrize(
    ("changes", "states", "status"),
    [
        ({}, "ok ok off off", 0),
        (ENABLED, "ok ok ok ok", 0),
        (NO_MODEL, "ok ok off off", 0),
        (NO_SEARCH, "ok ok off off", 0),
        (ENABLED | NO_MODEL, "ok ok failed ok", 1),
        (ENABLED | NO_SEARCH, "ok ok ok warning", 3),
        (ENABLED | NO_SEARCH | {"CANON_LLM__SEARXNG__ENABLED": "false"}, "ok ok ok off", 0),
        (ENABLED | NO_MUSICBRAINZ, "ok failed ok ok", 1),
        (ENABLED | NO_MUSICBRAINZ | NO_MODEL | OFFLINE, "ok off off off", 0),
        (ENABLED | OFFLINE, "ok off off off", 0),
        (ENABLED | {"CANON_STORE__URL": "sqlite:////dev/null/x.db"}, "failed failed ok ok", 1),
        (ENABLED | {"CANON_LLM__MODEL_ID": "absent"}, "ok ok failed ok", 1),
    ],
)
def test_doctor_has_a_word_for_each(
    canon: Canon, changes: dict[str, str], states: str, status: int
) -> None:
    with (
        MusicBrainzStandIn([]) as mb,
        Searxng({"musicbrainz": [hit("https://a.example/", "MusicBrainz")]}) as search,
        OllamaStandIn() as model,
    ):
        off = asking(mb) | adjudicating(model, search) | {"CANON_LLM__ENABLED": "false"}
        ran = canon("doctor", "--output=json", **off | changes)
        asked = [*mb.requests, *search.requests, *model.requests]
    assert not asked or not changes.keys() & OFFLINE.keys()
    assert " ".join(line["state"] for line in ran.lines) == states, ran.out
    assert ran.status == status, ran.out


def test_doctor_finds_a_store_that_another_program_holds(canon: Canon, home: Path) -> None:
    url = f"sqlite:///{home / 'held.db'}"
    canon("doctor", **OFFLINE, CANON_STORE__URL=url)
    with closing(sqlite3.connect(home / "held.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        ran = canon("doctor", **OFFLINE, CANON_STORE__URL=f"{url}?timeout=0.1")
    ran.must_end(1, "locked by another program")


def test_doctor_hides_the_secrets_in_addresses(canon: Canon) -> None:
    with Searxng({"musicbrainz": [hit("https://a.example/", "MusicBrainz")]}) as search:
        secret = search.url.replace("://", "://u:hunter2@")
        for url in (secret, f"{secret}/absent", "http://u:hunter2/x@h"):
            ran = canon(
                "doctor",
                CANON_MUSICBRAINZ__HOSTNAME="127.0.0.1:1",
                CANON_LLM__SEARXNG__URL=url,
                CANON_LLM__BASE_URL="http://u:hunter2/x@h",
            )
            assert "://***@" in ran.out
            assert "hunter2" not in ran.out + ran.err


def test_an_invalid_proxy_is_one_clear_line(canon: Canon, home: Path) -> None:
    song = flac(home / "work", title="Song", artist="Somebody")
    ran = canon("decide", song, HTTPS_PROXY="http://[::1", https_proxy="http://[::1")
    assert "HTTPS_PROXY" in ran.out + ran.err


def test_demo_decides_one_file_by_rules_and_one_by_the_recorded_model(canon: Canon) -> None:
    ran = canon("demo", "--full")
    assert ran.err == ""
    ran.must_end(
        0, "CRG:SINGLE_TRUE_PREMIERE", "8cm CD", "LOVE STORIES", "Action: web_fetch",
        "31 October 1975", "1975 -> 1975-10-31",
        "second reading (support): first_release", "CRG:ALBUM_LEAD_WINDOW gives",
        "canon doctor", "llm.searxng",
    )  # fmt: skip
    lines = canon("demo", "--output=json").lines
    assert [line["decided_by"] for line in lines] == ["rules", "llm"]
    assert [line["state"] for line in lines] == ["decided", "decided"]


def test_the_readme_shows_what_the_demo_prints(canon: Canon) -> None:
    readme = (REPOSITORY / "README.md").read_text("utf-8")
    shown = readme.partition("<!-- demo output -->\n```text\n")[2].partition("```\n")[0]
    assert shown == canon("demo").out


def test_the_readme_gives_the_test_command_that_ci_runs() -> None:
    readme = (REPOSITORY / "README.md").read_text("utf-8")
    script = (REPOSITORY / ".ci" / "run").read_text("utf-8")
    (command,) = [line for line in script.splitlines() if line.startswith("python3 -m venv")]
    assert command in readme.splitlines()


@pytest.mark.parametrize(
    ("command", "status", "told"),
    [
        ("demo | head -n 1", 0, ""),
        ("demo | true; exit ${PIPESTATUS[0]}", 130, ""),
        ("--help | true; exit ${PIPESTATUS[0]}", 130, ""),
        ("config show >&- 2>&-", 0, ""),
        ("--help >&- 2>&-", 0, ""),
        ("config show > /dev/full", 1, "canon: cannot go on: No space left.*\n"),
    ],
)
def test_a_closed_stream_is_no_error_and_a_full_disk_one_clear_line(
    environment: dict[str, str], command: str, status: int, told: str
) -> None:
    called = ["/bin/bash", "-c", f"{sys.executable} -m chart_binder {command}"]
    done = subprocess.run(called, capture_output=True, env=environment, check=False, timeout=60)
    assert done.returncode == status
    assert re.fullmatch(told, done.stderr.decode())


def test_letters_that_the_terminal_lacks_are_replaced(canon: Canon) -> None:
    bundle = {"artist": {"name": "東京"}, "recording_title": "é", "recording_candidates": []}
    ran = canon(
        "decide", "--evidence=-", stdin=json.dumps(bundle).encode(), PYTHONUTF8="0",
        PYTHONIOENCODING="ascii", LC_ALL="C",
    )  # fmt: skip
    ran.must_end(3, "undecided")


def test_an_interrupt_has_its_own_exit_status(start: Start, home: Path) -> None:
    file = flac(home, recording="00000000-0000-4000-8000-000000000000")
    with MusicBrainzStandIn([], behave=always(Response("", delay_s=30))) as mb:
        running = start("decide", file, **asking(mb) | {"CANON_MUSICBRAINZ__TIMEOUT_S": "30"})
        while not mb.requests:
            assert running.poll() is None
            time.sleep(0.05)
        running.send_signal(signal.SIGINT)
        _, err = running.communicate(timeout=20)
    assert running.returncode == 130
    assert err == b"\ncanon: interrupted\n"


@pytest.mark.parametrize("becomes", ["KeyboardInterrupt", "RuntimeError('as pydantic does')"])
def test_an_interrupt_during_import_shows_no_traceback(
    environment: dict[str, str], becomes: str
) -> None:
    document = tomllib.loads((REPOSITORY / "pyproject.toml").read_text("utf-8"))
    program = (
        "import os, signal, sys\n"
        "class Interrupting:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'click':\n"
        "            try: os.kill(os.getpid(), signal.SIGINT)\n"
        f"            except KeyboardInterrupt: raise {becomes}\n"
        "sys.meta_path.insert(0, Interrupting())\n"
        "from importlib.metadata import EntryPoint\n"
        f"EntryPoint('canon', {document['project']['scripts']['canon']!r}, '').load()()\n"
    )
    command = [sys.executable, "-c", program, "--help"]
    done = subprocess.run(command, capture_output=True, env=environment, check=False, timeout=20)
    assert (done.returncode, done.stdout) == (130, b"")
    assert done.stderr == b"\ncanon: interrupted\n"


def test_each_parsed_reply_is_one_line(canon: Canon) -> None:
    said = {"about": "C2", "field": "date", "value": "1974", "quote": "in 1974",
            "source": "a.example"}  # fmt: skip
    url = f"https://musicbrainz.org/release-group/{ALBUM}"
    answer = json.dumps({"crg_mbid": url, "confidence": "90%", "facts": [said]})
    texts = [
        'Action: Web Search\nAction Input: {"query": "x"}',
        f"Final Answer:\n```json\n{answer}\n```",
        "Final Answer: it is the album",
        "hm",
        "Action: telepathy\nAction Input: x",
    ]
    lines = "".join(json.dumps({"text": text, "dialect": "classic"}) + "\n" for text in texts)
    ran = canon("transcript", "parse", "--jsonl", stdin=lines.encode()).must_end(0)
    act, finish, unreadable, idle, unknown = ran.lines
    assert list(act) == ["kind", "tool", "arguments", "answer", "problem", "notes"]
    assert (act["kind"], act["tool"], act["arguments"]) == ("act", "web_search", {"query": "x"})
    assert (finish["kind"], finish["answer"]["crg_mbid"]) == ("finish", ALBUM)
    assert finish["answer"]["confidence"] == 0.9
    assert finish["answer"]["facts"] == [said | {"question": ""}]
    assert [each["kind"] for each in (unreadable, idle, unknown)] == ["malformed"] * 3
    assert "web_search(query)" in unknown["problem"]
    assert canon("transcript", "parse", stdin=texts[0].encode()).line == act
    broken = canon(
        "transcript", "parse", "--jsonl", stdin=b'{\n\n{"text": "Action: web_search: a"}'
    )
    broken.must_end(2, "canon: line 1: ")
    assert [line["kind"] for line in broken.lines] == ["malformed", "act"]


def test_escape_sequences_of_a_tag_do_nothing_to_a_terminal(canon: Canon) -> None:
    bundle = {"artist": {"name": "\x1b]0;pwned\x07\x1b[2J"}, "recording_candidates": []}
    ran = canon("decide", "--evidence=-", stdin=json.dumps(bundle).encode())
    assert "pwned" in ran.out
    assert "\x1b" not in ran.out


@pytest.mark.parametrize(
    "words",
    ["decide .", "explain .", "batch .", "ls", "review list", "drift", "write .", "runs list",
     "override list", "config path", "verify .", "eval -", "audit --report", "tools list", "undo",
     "doctor"],
)  # fmt: skip
def test_common_options_stand_before_or_after_every_command(canon: Canon, words: str) -> None:
    options, call = ("--offline", "-q", "--output=json"), words.split()
    before, after = canon(*options, *call), canon(*call, *options)
    assert before.status == after.status != 2, before.err
    assert " ".join(before.err.split()) == " ".join(after.err.split())
    assert len(before.lines) == len(after.lines)
    canon("-v", *call, "-q").must_end(2, "-q and -v contradict each other")


def test_a_quiet_call_prints_results_and_errors_alone(canon: Canon, home: Path) -> None:
    assert canon("review", "list", "-q").err == ""
    assert "nothing to look at" in canon("review", "list").err
    canon("-q", "decide", home / "absent.mp3").must_end(1, "absent.mp3")
    assert canon("-q", "undo", home / "absent").must_end(1).err.startswith("canon: ")
