"""What is understood from a model's reply, without evidence to hold it against."""

from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import msgspec

from chart_binder import plugins
from chart_binder.config import Config, LLMConfig
from chart_binder.errors import UsageError
from chart_binder.llm.answer import FinalAnswer, read_answer
from chart_binder.llm.prompt import configured_prompt, prompt_numbers
from chart_binder.llm.tools import default_tools
from chart_binder.react.dialect import Dialect
from chart_binder.react.loop import RefusedError
from chart_binder.react.steps import Act, Finish, Malformed
from chart_binder.react.tools import Toolbox, ToolError
from chart_binder.typed_json import decode_json


class ReplyToParse(msgspec.Struct, frozen=True):
    """A reply to read, in a dialect."""

    text: str
    dialect: str = "classic"


class ParsedReply(msgspec.Struct, frozen=True):
    """What a reply asks for: arguments as the tool would get them, the answer in normal form.

    Where any step is taken, they are as the reply has them, and the answer is text.
    """

    kind: str
    tool: str | None = None
    arguments: dict[str, Any] | str | None = None
    answer: dict[str, Any] | str | None = None
    problem: str | None = None
    notes: tuple[str, ...] = ()


def read_reply_line(line: bytes | str) -> ReplyToParse:
    """Read one JSON line, or raise `UsageError`."""
    try:
        return decode_json(line, ReplyToParse)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(f"no reply to read: {error}") from error


class ReplyParser:
    """Reads replies one after the other; tools and dialects are looked up once.

    A reply is judged as the adjudicator would judge it, by its tools and its form of an answer;
    with `takes_any`, it is read by its dialect alone.
    """

    def __init__(self, config: LLMConfig, *, takes_any: bool = False) -> None:
        self._config = config
        self._takes_any = takes_any
        self._dialects: dict[str, Dialect] = {}

    def of(self, written: ReplyToParse) -> ParsedReply:
        """Read a reply. Raises `PluginError` for a dialect that is not installed."""
        match self.dialect(written.dialect).parse(written.text):
            case Act() as act:
                return self._call(act)
            case Finish(answer=answer, notes=notes) if self._takes_any:
                return ParsedReply("finish", answer=answer, notes=notes)
            case Finish() as finish:
                return _answer(finish)
            case Malformed(advice=advice, notes=notes):
                return ParsedReply("malformed", problem=advice, notes=notes)

    def dialect(self, name: str) -> Dialect:
        """Return a dialect. Raises `PluginError` for one that is not installed."""
        if name not in self._dialects:
            self._dialects[name] = plugins.load("chart_binder.dialects", name)()
        return self._dialects[name]

    @cached_property
    def _toolbox(self) -> Toolbox:
        return Toolbox(default_tools(self._config))

    def _call(self, act: Act) -> ParsedReply:
        """Show the first call of a turn; the others are named in the notes."""
        notes = (*act.notes, *(f"also calls {other.tool}" for other in act.also))
        if self._takes_any:
            given = act.arguments if isinstance(act.arguments, str) else dict(act.arguments)
            return ParsedReply("act", act.tool, given, notes=notes)
        try:
            call = self._toolbox.resolve(act)
        except ToolError as error:
            return ParsedReply("malformed", problem=str(error), notes=notes)
        return ParsedReply("act", call.tool.name, call.arguments, notes=notes)


def _answer(finish: Finish) -> ParsedReply:
    try:
        answer = read_answer(finish.answer)
    except RefusedError as refusal:
        return ParsedReply("malformed", problem=str(refusal), notes=finish.notes)
    return ParsedReply("finish", answer=_shown(answer), notes=finish.notes + answer.notes)


def _shown(answer: FinalAnswer) -> dict[str, Any]:
    return {
        "crg_mbid": answer.crg,
        "rr_mbid": answer.rr,
        "confidence": answer.confidence,
        "rationale": answer.rationale,
        "facts": [asdict(fact) for fact in answer.facts],
    }


@dataclass(frozen=True, slots=True)
class EffectivePrompt:
    """What every run begins with; `task` is what stands below the evidence."""

    prompt_version: str
    dialect: str
    system: str
    task: str


def effective_prompt(config: Config) -> EffectivePrompt:
    """Return the prompt that the configuration leads to.

    Raises `ConfigError` and `PluginError`.
    """
    prompt, dialect = configured_prompt(config.llm.prompt), config.llm.dialect
    values = prompt_numbers(config.llm, config.rules)
    tools = () if config.llm.method == "direct" else default_tools(config.llm)
    writing = plugins.load("chart_binder.dialects", dialect)()
    return EffectivePrompt(
        prompt.name, dialect, prompt.render(writing, tools, values), prompt.question(values)
    )
