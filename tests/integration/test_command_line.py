"""What all commands share: help, misuse, configuration, streams; and the small commands."""

import json
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import httpx
import pytest

from golden.bundles import year_only_single
from integration.conftest import REPOSITORY, Canon, Start
from integration.services import ALBUM, adjudicating, asking, file_of
from servers.musicbrainz import MusicBrainzStandIn
from servers.ollama import OllamaStandIn
from servers.searxng import Searxng, hit

UNLOADED = {
    "--help": (
        "pydantic", "httpx", "ollama", "bs4", "sqlalchemy", "structlog", "mediafile", "mutagen",
        "musicbrainzngs", "msgspec", "platformdirs", "tomli", "tomlkit", "rich", "asyncio",
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


def test_every_command_has_help_that_cuts_no_sentence(canon: Canon) -> None:
    assert re.fullmatch(r"canon \d+\.\d+\.\d+\n", canon("--version").out)
    for command in ("decide", "eval", "transcript show", "tools run", "override set"):
        canon(*command.split(), "--help").must_end(0, "xit status")
    for group in ("config", "override", "review", "runs", "tools", "transcript"):
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


SEED = "[llm]\nseed = {}\n"
OWN, HERE = "config/canon/config.toml", "work/config.toml"
SECRET = {"CANON_LLM__MODEL_ID": "m", "CANON_LLM__BASE_URL": "http://user:secret@host:1"}
SHOWN = (
    'llm.seed = 7 # |config.toml, line 2|llm.model_id = "m" # CANON_LLM__MODEL_ID|'
    "llm.temperature = 0.0 # default|http://***@host:1"
)
PASSED_OVER = {
    "CANON_OFFLINE": "1", "CANON_LLM__MODELL": "x", "CANON_LLM": "x", "CANON_TOKEN__A__B": "s3cret",
    "CANON_LLM__SAMPLES": "3",
}  # fmt: skip
SAID_OF_THEM = (
    "canon: CANON_OFFLINE is ignored: offline: unknown key (did you mean 'musicbrainz.offline'?)|"
    "canon: CANON_LLM__MODELL is ignored: llm.modell: unknown key (did you mean 'llm.model_id'?)|"
    "canon: CANON_LLM is ignored: llm is a table with the keys llm.enabled, |"
    "canon: CANON_TOKEN__A__B is ignored: |canon: CANON_LLM__SAMPLES is ignored: llm.samples: "
)
UNKNOWN = (
    ("llm.provider", "telepathy", "installed are ollama, openai, replay"),
    ("llm.dialect", "klingon", "classic"),
    ("llm.prompt.rules", "{rules} {telepathy}", "{lead_window_days}"),
)
# Files of a home, arguments, environment, exit status, what is said, and what is not.
CONFIGURED: list[tuple[dict[str, str], str, dict[str, str], int, str, str]] = [
    ({OWN: SEED.format(7)}, "config show", SECRET, 0, SHOWN, "secret"),
    ({OWN: "\ufeff[llm]\nseed = 7\n"}, "config show", {}, 0, "llm.seed = 7", ""),
    # A file in the current folder may be somebody else's, and is not read.
    *(({HERE: text}, "-v config show", {}, 0, "llm.seed = 0", "work")
      for text in ("[llm]\nseed = 7\n", "a = [\n")),
    ({OWN: SEED.format(9), HERE: SEED.format(7)}, "config show", {}, 0, "llm.seed = 9", ""),
    ({}, "config path", {}, 0, "your own file|does not exist; `canon init`", ""),
    ({}, "config show", PASSED_OVER, 0, f"{SAID_OF_THEM}|llm.seed = 0", "s3cret"),
    ({}, "-q config show", PASSED_OVER, 0, "llm.seed = 0", "passed over"),
    ({}, 'config set llm.acceptance.trusted_sources ["a.example\\u0000"]', {}, 2,
     "trusted_sources: a value cannot contain the character NUL", "set in"),
    ({HERE: SEED.format(1), "work/named.toml": "[llm]\nseed = 2\n[review]\nplayer = 'mpv'\n"},
     "config show", {"CANON_CONFIG": "named.toml"}, 0, 'llm.seed = 2|review.player = "mpv"', ""),
    ({"work/a.toml": SEED.format(1), "work/b.toml": SEED.format(2)}, "--config a.toml config show",
     {"CANON_CONFIG": "b.toml"}, 0, "llm.seed = 1", ""),
    ({}, "config show", {"CANON_CONFIG": "absent.toml"}, 2, "absent.toml", ""),
    *(({}, "config show", {f"CANON_{key.upper().replace('.', '__')}": value}, 2,
       f"canon: CANON_{key.upper().replace('.', '__')}: {key}: |{word}", "# default")
      for key, value, word in UNKNOWN),
    ({OWN: "[llm.tools]\ntelepathy = false\n"}, "config show", {}, 2,
     "config.toml, line 2: llm.tools.telepathy: no such tool is installed; there are", "# default"),
    ({OWN: "[canon.tags]\nx = 1\n"}, "config show", {}, 2, "canon: unknown key", ""),
    ({OWN: "[llm]\nmodell = 'x'"}, "decide whatever.mp3", {}, 2,
     "config.toml, line 2: llm.modell: unknown key", "whatever"),
    ({OWN: "[llm]\nmodell = 'x'"}, "demo", {}, 0, "decided", ""),  # it needs none
]  # fmt: skip


@pytest.mark.parametrize(("files", "call", "variables", "status", "said", "unsaid"), CONFIGURED)
def test_a_configuration_is_found_and_read(
    canon: Canon, home: Path, files: dict[str, str], call: str, variables: dict[str, str],
    status: int, said: str, unsaid: str,
) -> None:  # fmt: skip
    for name, text in files.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(text, "utf-8", "surrogateescape")
    ran = canon(*call.split(), **variables).must_end(status, *said.split("|"))
    assert not unsaid or unsaid not in ran.out + ran.err


def test_tools_are_listed_and_called_by_hand(canon: Canon) -> None:
    assert "web_search(query)" in canon("tools", "list").out
    with Searxng({"killer queen": [hit("https://a.example/", "Killer Queen")]}) as search:
        for asked in ('{"query": "killer queen"}', "killer queen"):
            ran = canon("tools", "run", "web_search", asked, CANON_LLM__SEARXNG__URL=search.url)
            ran.must_end(0, "https://a.example/")
    canon("tools", "run", "web_fetch", '{"url": "http://127.0.0.1/"}').must_end(1, "127.0.0.1")


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
            "can be written to (schema ", "up to 131072 tokens (llm.num_ctx = ",
            "finds nothing: is any engine on?", "warning  model", "warning  search",
        )  # fmt: skip


ENABLED = {"CANON_LLM__ENABLED": "true"}
NO_MODEL = {"CANON_LLM__BASE_URL": "http://127.0.0.1:1"}
NO_SEARCH = {"CANON_LLM__SEARXNG__URL": "http://127.0.0.1:1"}
NO_MUSICBRAINZ = {"CANON_MUSICBRAINZ__HOSTNAME": "127.0.0.1:1"}


@pytest.mark.parametrize(("changes", "states", "status"), [
    ({}, "ok ok off off", 0), (ENABLED, "ok ok ok ok", 0), (NO_MODEL, "ok ok off off", 0),
    (NO_SEARCH, "ok ok off off", 0), (ENABLED | NO_MODEL, "ok ok failed ok", 1),
    (ENABLED | NO_SEARCH, "ok ok ok warning", 3),
    (ENABLED | NO_SEARCH | {"CANON_LLM__SEARXNG__ENABLED": "false"}, "ok ok ok off", 0),
    (ENABLED | NO_MUSICBRAINZ, "ok failed ok ok", 1),
    (ENABLED | NO_MUSICBRAINZ | NO_MODEL | OFFLINE, "ok off off off", 0),
    (ENABLED | OFFLINE, "ok off off off", 0),
    (ENABLED | {"CANON_STORE__URL": "sqlite:////dev/null/x.db"}, "failed failed ok ok", 1),
    (ENABLED | {"CANON_LLM__MODEL_ID": "absent"}, "ok ok failed ok", 1),
])  # fmt: skip
def test_doctor_rates_each(canon: Canon, changes: dict[str, str], states: str, status: int) -> None:
    with (
        MusicBrainzStandIn([]) as mb,
        Searxng({"musicbrainz": [hit("https://a.example/", "MusicBrainz")]}) as search,
        OllamaStandIn() as model,
    ):
        off = asking(mb) | adjudicating(model, search) | {"CANON_LLM__ENABLED": "false"}
        ran = canon("doctor", "--output=json", **off | changes)
        asked = [*mb.requests, *search.requests, *model.requests]
        is_off = ran.lines[3]["state"] == "off"
        assert not (is_off and (model.requests or search.requests))
    assert not asked or not changes.keys() & OFFLINE.keys()
    assert " ".join(line["state"] for line in ran.lines) == f"ok {states}", ran.out
    assert ran.status == status, ran.out


def test_doctor_first_says_which_configuration_it_read(canon: Canon, home: Path) -> None:
    offline = OFFLINE | {"CANON_LLM__SEARXNG__URL": "http://127.0.0.1:1"}
    own = home / "config/canon/config.toml"
    (home / "work" / "config.toml").write_text("[canon]\n[llm]\nseed = 7\n")
    told = " ".join(canon("doctor", **offline).out.split())
    none = f"no file, so every key has its default; yours would be {own}"
    assert told.startswith(f"ok config {none} ok store ")
    (home / "work" / "named.toml").write_text("")
    line = canon("doctor", "--output=json", "--config=named.toml", **offline).lines[0]
    assert (line["name"], line["said"]) == ("config", f"{home / 'work/named.toml'} was read")
    own.parent.mkdir(parents=True)
    own.write_text("")
    canon("doctor", **offline).must_end(0, f"ok config {own} was read")


def test_doctor_hides_the_secrets_in_addresses(canon: Canon) -> None:
    with MusicBrainzStandIn([]) as mb, Searxng() as search:
        secret = search.url.replace("://", "://u:hunter2@")
        for url in (f"{secret}/absent", "http://u:hunter2/x@h"):
            addresses = {"CANON_LLM__SEARXNG__URL": url, "CANON_LLM__BASE_URL": url}
            ran = canon("doctor", **asking(mb), **ENABLED, **addresses)
            assert "://***@" in ran.out
            assert "hunter2" not in ran.out + ran.err


def test_demo_decides_one_file_by_rules_and_one_by_the_recorded_model(canon: Canon) -> None:
    ran = canon("demo", "--full")
    assert ran.err == "next: canon decide FOLDER\n"
    ran.must_end(
        0, "CRG:SINGLE_TRUE_PREMIERE: see above", "8cm CD", "web_fetch https://sevens.example/",
        "Released | 31 October 1975", "led to that album 21 days later",
    )  # fmt: skip
    for columns in ("80", "100"):
        assert canon("demo", "--full", COLUMNS=columns).out.count("\n") < 60
    lines = canon("demo", "--output=json").lines
    assert [line["decided_by"] for line in lines] == ["rules", "llm"]
    assert [line["state"] for line in lines] == ["decided", "decided"]


def test_the_readme_shows_a_decision_of_the_demo(canon: Canon) -> None:
    readme = (REPOSITORY / "README.md").read_text("utf-8")
    shown = readme.partition("<!-- demo output -->\n```text\n")[2].partition("```\n")[0]
    assert shown.rstrip("\n") in canon("demo", COLUMNS="100").out.split("\n\n")


def test_the_readme_gives_the_test_command_that_ci_runs() -> None:
    readme = (REPOSITORY / "README.md").read_text("utf-8")
    script = (REPOSITORY / ".ci" / "run").read_text("utf-8")
    (command,) = [line for line in script.splitlines() if line.startswith("python3 -m venv")]
    assert command in readme.splitlines()


@pytest.mark.parametrize(("command", "status", "told"), [
    ("demo | head -n 1", 0, ""),
    ("demo | true; exit ${PIPESTATUS[0]}", 130, ""),
    ("--help | true; exit ${PIPESTATUS[0]}", 130, ""), ("config show >&- 2>&-", 0, ""),
    ("--help >&- 2>&-", 0, ""),
    ("config show > /dev/full", 1, "canon: cannot go on: No space left.*\n"),
])  # fmt: skip
def test_a_closed_stream_is_no_error_and_a_full_disk_one_clear_line(
    environment: dict[str, str], command: str, status: int, told: str
) -> None:
    called = ["/bin/bash", "-c", f"{sys.executable} -m chart_binder {command}"]
    done = subprocess.run(called, capture_output=True, env=environment, check=False, timeout=60)
    assert done.returncode == status
    assert re.fullmatch(told, done.stderr.decode())


def test_text_of_a_tag_is_replaced_where_a_terminal_lacks_it_or_would_obey(canon: Canon) -> None:
    artist = {"name": "東京\x1b]0;pwned\x07\x1b[2J"}
    bundle = {"artist": artist, "recording_title": "é", "recording_candidates": []}
    ascii_only = {"PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii", "LC_ALL": "C"}
    for settings in ({}, ascii_only):
        ran = canon("decide", "--evidence=-", stdin=json.dumps(bundle).encode(), **settings)
        assert "\x1b" not in ran.must_end(3, "undecided", "pwned").out


def test_a_file_name_that_the_locale_lacks_is_no_traceback(
    canon: Canon, home: Path, start: Start
) -> None:
    song = file_of(year_only_single(), home, "日本ä.flac")
    plain = {"PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "LC_ALL": "C"}
    canon("decide", song, knowing=[year_only_single()]).must_end(3)
    _, err = start("write", song, "--best-known", **plain).communicate(timeout=60)
    assert b"Traceback" not in err, err
    assert b"next: " in err


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (("man",), "prints a manual page: leave out --json"),
        (("completion", "bash"), "prints a script: leave out --json"),
        (("playlist",), "prints a playlist: leave out --json; canon ls --json prints JSON"),
    ],
)
def test_json_is_refused_where_a_command_prints_something_else(
    canon: Canon, call: tuple[str, ...], told: str
) -> None:
    assert canon(*call, "--json").must_end(2, told).out == ""


def test_review_lists_the_queue_with_any_options_and_paths(canon: Canon, home: Path) -> None:
    song = file_of(year_only_single(), home)
    canon("decide", song, knowing=[year_only_single()]).must_end(3)
    listed = canon("review", "list", "--json").must_end(3).out
    for words in (("--json",), ("--output", "json"), ("--state=undecided", "--json")):
        assert canon("review", *words).must_end(3).out == listed
    canon("review", "-q").must_end(3, "1 case needs you")
    canon("review", song, "--json").must_end(3, listed.strip())
    canon("review", "no-such-command").must_end(2, "No such command")


@pytest.mark.parametrize("becomes", ["KeyboardInterrupt", "RuntimeError('as pydantic does')"])
def test_an_interrupted_import_has_no_traceback(environment: dict[str, str], becomes: str) -> None:
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
    address = f"https://musicbrainz.org/release-group/{ALBUM}"
    answer = json.dumps({"crg_mbid": address, "confidence": "90%"})
    texts = [
        'Action: Web Search\nAction Input: {"query": "x"}',
        f"Final Answer:\n```json\n{answer}\n```", "Action: telepathy\nAction Input: x",
        f"The album came first.\n```json\n{answer}\n```", f"The page says:\n{answer}",
    ]  # fmt: skip
    lines = "".join(json.dumps({"text": text, "dialect": "classic"}) + "\n" for text in texts)
    ran = canon("transcript", "parse", "--jsonl", stdin=lines.encode()).must_end(0)
    act, finish, unknown, unlabelled, quoted = ran.lines
    assert list(act) == ["kind", "tool", "arguments", "answer", "problem", "notes"]
    assert (act["kind"], act["tool"], act["arguments"]) == ("act", "web_search", {"query": "x"})
    assert (finish["kind"], finish["answer"]["crg_mbid"]) == ("finish", ALBUM)
    assert unlabelled == finish | {"notes": ["an answer without its label"]}
    assert (quoted["kind"], quoted["answer"]) == ("malformed", None)
    assert (unknown["kind"], "web_search(query)" in unknown["problem"]) == ("malformed", True)
    assert canon("transcript", "parse", stdin=texts[0].encode()).line == act
    off = canon("transcript", "parse", stdin=texts[0].encode(), CANON_LLM__SEARXNG__ENABLED="false")
    assert off.line["problem"].startswith("There is no tool 'Web Search'. Tools: web_fetch(")
    text = b'{\n\n{"text": "Action: web_search: a"}'
    broken = canon("transcript", "parse", "--jsonl", stdin=text).must_end(2, "canon: line 1: ")
    assert [line["kind"] for line in broken.lines] == ["malformed", "act"]


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
    assert canon("ls", "-q").err == canon("runs", "list", "-q").err == ""
    assert "next: canon decide FOLDER" in canon("runs", "list").err
    canon("-q", "decide", home / "absent.mp3").must_end(1, "absent.mp3")
    assert canon("-q", "undo", home / "absent").must_end(1).err.startswith("canon: ")
