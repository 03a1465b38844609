"""The examples of the README and the docs run as they stand."""

import json
import math
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import tomli
import yaml

from chart_binder import plugins
from chart_binder.config import Config, LLMConfig, PromptConfig, RulesConfig
from chart_binder.domain.evidence import (
    Artist,
    EvidenceBundle,
    Provenance,
    RecordingCandidate,
    Release,
    ReleaseGroup,
)
from chart_binder.domain.evidence_json import read_bundle
from chart_binder.domain.verdict import Decided
from chart_binder.domain.vocabulary import MBID
from chart_binder.llm.answer import ANSWER_KEYS
from chart_binder.llm.prompt import configured_prompt
from chart_binder.llm.react_adjudicator import ReActAdjudicator
from chart_binder.llm.result import Outcome
from chart_binder.llm.tools import as_tool
from chart_binder.react import INSTRUCTIONS, StepEvent, read_transcript
from chart_binder.react.dialect import Dialect, read_step
from chart_binder.react.sanitize import sanitize
from chart_binder.react.steps import FinalAnswer, Step, ToolCall, Unreadable
from chart_binder.react.tools import RunContext, Tool, Toolbox
from chart_binder.rules.decide import decide
from chart_binder.rules.first_release import first_release
from docs.pages import ROOT, blocks, page
from servers.openai import OpenAIStandIn


def run(code: str) -> dict[str, Any]:
    names: dict[str, Any] = {"__name__": "example"}
    exec(compile(code, "example", "exec"), names)
    return names


def test_the_models_example_answers() -> None:
    connect = run(blocks("docs/plugins.md", "python")[-1])["connect"]
    adjudicator = ReActAdjudicator(LLMConfig(enabled=True), chat=connect(None), tools=[])
    result = adjudicator.adjudicate(json.loads(blocks("docs/evidence.md", "jsonc")[0]))
    assert (result.outcome, result.rationale) == (Outcome.REJECTED, "The oracle is silent.")


def test_the_tools_examples_are_tools() -> None:
    function, reader, maker, _ = map(run, blocks("docs/plugins.md", "python"))
    days = as_tool(function["time_between"], "time_between", LLMConfig())
    asked = {"first": "1975/10/31", "second": "1975-11-21", "unit": "WEEKS"}
    assert days.call(asked).run().content == "3"
    assert days.about == {"second": "the later one", "unit": "what to count in"}
    (listing,) = blocks("docs/plugins.md", "console")
    assert days.signature in listing
    sleeve = Tool.of(reader["read_sleeve"]).call("EMI 2229").run()
    assert [document.is_fetched for document in sleeve.documents] == [True]
    assert sleeve.documents[0].text in sleeve.content
    made = as_tool(maker["connect"], "ask_a_friend", LLMConfig(model_id="mine"))
    friend = made.for_run(RunContext("Queen"))
    told = [friend.call("which label?").run().content for _ in range(2)]
    assert told[1] == "mine wants to know about Queen? That is question 2."


def test_the_prompts_example_is_a_prompt() -> None:
    text = next(text for text in blocks("docs/adjudicator.md", "toml") if "[llm.prompt]" in text)
    words = tomli.loads(text)["llm"]["prompt"]
    assert configured_prompt(PromptConfig.model_validate(words)).name.startswith(
        "react-5+role+rules@"
    )


def test_the_bundle_of_the_docs_is_one() -> None:
    (document,) = blocks("docs/evidence.md", "jsonc")
    bundle = read_bundle(document)
    assert all(map(MBID.fullmatch, bundle.all_ids.ids))
    assert bundle.all_ids.is_each_once
    rules = RulesConfig()
    verdict = decide(bundle, rules)
    first = first_release(bundle, verdict, rules)
    assert isinstance(verdict, Decided)
    assert first
    assert (verdict.crg_rule, first.date) == ("CRG:ALBUM_LEAD_WINDOW", "1975-10-31")
    assert verdict.crg == "6b47c9a0-b9e1-3df9-a5e8-50a6ce0dbdbd"
    for kind in (EvidenceBundle, Artist, RecordingCandidate, ReleaseGroup, Release, Provenance):
        assert [key for key in kind.__struct_fields__ if f'"{key}"' not in document] == []


def test_a_bundle_is_decided_from_python(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bundle.json").write_text(blocks("docs/evidence.md", "jsonc")[0], "utf-8")
    (program,) = blocks("docs/evidence.md", "python")
    assert run(program)["verdict"].crg == "6b47c9a0-b9e1-3df9-a5e8-50a6ce0dbdbd"


def test_the_compose_file_serves_what_canon_asks_by_default() -> None:
    compose, settings = map(yaml.safe_load, blocks("docs/models.md", "yaml"))
    ollama, searxng = (compose["services"][name] for name in ("ollama", "searxng"))
    ports = [service["ports"] for service in (ollama, searxng)]
    assert ports == [["127.0.0.1:11434:11434"], ["127.0.0.1:8888:8080"]]
    default = LLMConfig()
    addresses = [f"http://{port.rpartition(':')[0]}" for (port,) in ports]
    assert addresses == [default.base_url, default.searxng.url]
    (mounted,) = searxng["volumes"]
    folder = mounted.partition(":")[0].removeprefix("./")
    assert f"Save this as `{folder}/settings.yml`" in page("docs/models.md")
    assert {volume.partition(":")[0] for volume in ollama["volumes"]} == set(compose["volumes"])
    assert "json" in settings["search"]["formats"]
    assert settings["server"]["limiter"] is False
    assert settings["server"]["secret_key"]
    assert f"ollama pull {default.model_id} " in blocks("docs/models.md", "sh")[0]


def test_the_model_servers_lines_are_configuration() -> None:
    [options] = blocks("docs/servers.md", "toml")
    assert Config.model_validate(tomli.loads(options)).llm.extra_body == {"top_k": 20}
    table = page("docs/models.md").partition("## Other servers")[2].partition("## ")[0]
    rows = re.findall(r"^\|.*\|(.*)\|$", table, re.MULTILINE)
    settings = ["\n".join(re.findall(r"`([^`]* = [^`]*)`", row)) for row in rows]
    providers = [
        LLMConfig.model_validate(tomli.loads(lines)).provider for lines in filter(None, settings)
    ]
    assert len(providers) == 5
    assert set(providers) <= set(plugins.names("chart_binder.chat_models"))


def test_the_failures_of_the_page_are_those_that_servers_have() -> None:
    faults = (ROOT / "src/chart_binder/chat/faults.toml").read_text("utf-8")
    sentences = re.findall(r"sentence = (?:'(.*?)'|\"(.*?)\")(?:$|,)", faults, re.MULTILINE)
    sentences = [("".join(each).replace("{llm}", "llm.")) for each in sentences]
    forms = [re.sub(r"\\\{.*?\\\}", ".+", re.escape(each)) for each in sentences]
    lines = re.findall(r"^(model .*|the template .*)$", page("docs/servers.md"), re.MULTILINE)
    assert len(lines) == 2
    for line in lines:
        assert any(re.fullmatch(form, line) for form in forms), line


@pytest.mark.parametrize(
    ("name", "language"),
    [
        ("library", "console"),
        ("review", "console"),
        ("configuration", "console"),
        ("configuration", "text"),
        ("tags", "console"),
        ("undo", "console"),
        ("undo", "text"),
        ("questions", "text"),
    ],
)
def test_the_screens_of_a_users_page_are_printed(name: str, language: str) -> None:
    screens = (ROOT / "tests/integration/screens").glob("*.txt")
    texts = [page("docs/walkthrough.md"), *(file.read_text("utf-8") for file in screens)]
    printed = " ".join(" ".join(texts).split())
    found = blocks(f"docs/{name}.md", language)
    assert found
    for part in re.split(r"^ *\.\.\.$", "...\n".join(found), flags=re.MULTILINE):
        assert " ".join(part.split()) in printed, part


def test_every_link_of_the_docs_leads_somewhere() -> None:
    for file in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]:
        for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", file.read_text("utf-8")):
            assert (file.parent / target).exists(), f"{file.name}: {target}"


@pytest.mark.parametrize(
    ("shelf", "most_words"), [("Using canon", 900), ("Building on canon", 1_800)]
)
def test_a_page_can_be_read_in_one_sitting(shelf: str, most_words: int) -> None:
    listed = page("docs/index.md").partition(f":caption: {shelf}\n")[2].partition("```")[0]
    names = {line for line in listed.splitlines() if line and not line.startswith(":")}
    assert len(names) > 8
    words = {name: len(page(f"docs/{name}.md").split()) for name in names - {"decisions"}}
    limits = {"react": 1_200}
    too_long = {
        name: count for name, count in words.items() if count > limits.get(name, most_words)
    }
    assert too_long == {}


def dialect(name: str) -> Dialect:
    made: Dialect = plugins.load("chart_binder.dialects", name)()
    return made


def rows(head: str = "| rule | dialect |") -> list[tuple[str, ...]]:
    lines = page("docs/replies.md").partition(head)[2].splitlines()[2:]
    table = [re.findall(r"\| (.*?) (?=\|)", line) for line in lines[: lines.index("")]]
    return [tuple(cell.strip("`") for cell in row) for row in table]


def test_the_agent_for_train_times_answers(capsys: pytest.CaptureFixture[str]) -> None:
    program = blocks("docs/react.md", "python")[0]
    assert len(program.splitlines()) <= 15
    replies = (
        'Thought: I need the list.\nAction: departures\nAction Input: {"city": "Lyon"}',
        "Thought: 07:04 is before 8.\nFinal Answer: 08:30",
    )
    with OpenAIStandIn(replies, models=({"id": "qwen3:4b"},)) as server:
        run(program.replace("http://127.0.0.1:11434", server.url))
    assert capsys.readouterr().out == "08:30\n"
    assert server.chats[0]["model"] == "qwen3:4b"
    system, question, _, shown = (message["content"] for message in server.chats[1]["messages"])
    assert system.startswith(INSTRUCTIONS)
    assert "departures(city)" in system
    assert "Final Answer:" in system
    assert question == "When does the first train to Lyon leave after 8?"
    assert '["07:04","08:30","09:10"]' in shown


def test_the_agent_with_every_setting_answers(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    names = run(blocks("docs/react.md", "python")[1])
    assert capsys.readouterr().out == "08:30:00 after 4 turns\n"
    system = names["model"].asked[0][0].content
    assert system.startswith("You are the clerk of a railway station.")
    shown = [asked[-1].content for asked in names["model"].asked[1:]]
    advice = ("No train goes to Paris: ask for Lyon.", "08:30", "Write the time alone")
    assert all(text in observation for text, observation in zip(advice, shown, strict=True))
    events = list(read_transcript(tmp_path / "run.jsonl"))
    assert [event.tool for event in events if isinstance(event, StepEvent)] == [
        "timetable", "timetable", None, None,
    ]  # fmt: skip


def add(a: float, b: float) -> float:
    """Add two numbers."""
    return a + b


def multiply(a: float, b: float) -> float:
    """Multiply two numbers."""
    return a * b


def log(x: float) -> float:
    """Return the natural logarithm of a number."""
    return math.log(x)


@pytest.mark.parametrize("row", rows(), ids=lambda row: row[0])
def test_a_reply_of_the_table_is_read_as_it_says(row: tuple[str, ...]) -> None:
    _, name, reply, said = row
    toolbox = Toolbox((add, multiply, log))
    step = dialect(name).parse(reply.replace("⏎", "\n"))
    if said.startswith("advice: "):
        assert isinstance(step, Unreadable)
        assert said.removeprefix("advice: ") in step.advice
    else:
        assert shown(step, toolbox) == meant(said)


def shown(step: Step, toolbox: Toolbox) -> tuple[str, object]:
    if isinstance(step, ToolCall):
        call = toolbox.resolve(step)
        return call.tool.name, call.arguments
    assert isinstance(step, FinalAnswer), step
    return "answer:", step.answer


def meant(said: str) -> tuple[str, object]:
    name, _, rest = said.partition(" ")
    return name, rest if name == "answer:" else json.loads(rest)


@pytest.mark.parametrize("name", plugins.names("chart_binder.dialects"))
def test_an_answer_without_its_label_is_read_as_the_page_says(name: str) -> None:
    table = rows("| whole reply |")
    assert len(table) == 5
    for reply, outcome in table:
        text = reply.replace("⏎", "\n").replace("...", '"confidence": 0.9')
        kind = FinalAnswer if outcome == "an answer" else Unreadable
        assert isinstance(read_step(dialect(name), text, ANSWER_KEYS), kind), reply


def test_text_from_outside_is_shown_as_the_page_says() -> None:
    table = rows("| on the page |")
    assert len(table) == 3
    assert [(told, sanitize(told)) for told, _ in table] == table


@pytest.mark.parametrize("place", range(3))
def test_a_dialect_is_written_as_it_is_shown(place: int) -> None:
    name = ("classic", "pause", "xml")[place]
    act = ToolCall(
        "multiply", {"a": 2, "b": 4}, "The product first.", id="1" if name == "xml" else ""
    )
    parts = (
        dialect(name).render(act),
        dialect(name).observation("8.0", act),
        dialect(name).render(FinalAnswer("8", "Now I know.")),
    )
    assert blocks("docs/react.md", "text")[place] == "\n\n".join(parts) + "\n"


def test_the_programs_of_the_page_are_typed_to_the_end(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    lists = (
        "tools = [departures, departure_time]\n"
        "run('?', model, tools)\nrun('?', model, (departures,))\n"
        "more: list[ToolLike] = [departures, Tool.of(departure_time)]\nrun('?', model, more)\n"
        "text: str | None = run('?', model).answer\n"
    )
    first, second, terse = blocks("docs/react.md", "python")
    used = (
        "\nfrom chart_binder.react import ToolLike, run\nfrom chart_binder.chat import Scripted\n"
    )
    programs = (
        first,
        second + used + lists,
        f"{terse}{used}run('?', Scripted([]), dialect=Terse())",
    )
    for number, program in enumerate(programs):
        (tmp_path / f"program_{number}.py").write_text(program, "utf-8")
    checked = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--config-file=", "program_0.py",
         "program_1.py", "program_2.py"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert checked.stdout.startswith("Success"), checked.stdout


def test_the_dialect_of_the_page_is_short_and_reads_what_it_writes() -> None:
    code = blocks("docs/react.md", "python")[-1]
    assert 15 < len(code.splitlines()) < 50
    terse = run(code)["Terse"]()
    for step in (ToolCall("add", {"a": 1}, "First."), FinalAnswer("7", "So."), FinalAnswer("a\nb")):
        assert terse.parse(terse.render(step)) == step
    assert isinstance(terse.parse(terse.observation("7\nSAY 9")), Unreadable)
