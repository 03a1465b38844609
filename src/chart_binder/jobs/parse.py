"""What is understood from a model's reply, without evidence to hold it against."""

from dataclasses import asdict
from typing import Any

import msgspec

from chart_binder import plugins
from chart_binder.config import LLMConfig
from chart_binder.errors import UsageError
from chart_binder.llm.answer import FinalAnswer, read_answer
from chart_binder.llm.installed_tools import default_tools
from chart_binder.react.loop import RefusedError
from chart_binder.react.steps import Act, Finish, Malformed
from chart_binder.react.tools import Toolbox, ToolError


class Written(msgspec.Struct, frozen=True):
    """A reply to read, in a dialect."""

    text: str
    dialect: str = "classic"


class Understood(msgspec.Struct, frozen=True):
    """What a reply asks for: arguments as the tool would get them, the answer in normal form."""

    kind: str
    tool: str | None = None
    arguments: dict[str, Any] | str | None = None
    answer: dict[str, Any] | None = None
    problem: str | None = None
    notes: tuple[str, ...] = ()


def read_written(line: bytes | str, number: int) -> Written:
    """Read one JSON line, or raise `UsageError` that names it."""
    try:
        return msgspec.json.decode(line, type=Written)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise UsageError(f"line {number}: {error}") from error


def understand(written: Written, config: LLMConfig) -> Understood:
    """Read a reply. Raises `PluginError` for a dialect that is not installed."""
    dialect = plugins.load("chart_binder.dialects", written.dialect)()
    match dialect.parse(written.text):
        case Act() as act:
            return _call(act, config)
        case Finish() as finish:
            return _answer(finish)
        case Malformed(advice=advice, notes=notes):
            return Understood("malformed", problem=advice, notes=notes)
        case step:
            raise AssertionError(f"{step!r} is no step")


def _call(act: Act, config: LLMConfig) -> Understood:
    try:
        call = Toolbox(default_tools(config)).resolve(act)
    except ToolError as error:
        return Understood("malformed", problem=str(error), notes=act.notes)
    return Understood("act", call.tool.name, call.arguments, notes=act.notes)


def _answer(finish: Finish) -> Understood:
    try:
        answer = read_answer(finish.answer)
    except RefusedError as refusal:
        return Understood("malformed", problem=str(refusal), notes=finish.notes)
    return Understood("finish", answer=_shown(answer), notes=finish.notes + answer.notes)


def _shown(answer: FinalAnswer) -> dict[str, Any]:
    return {
        "crg_mbid": answer.crg,
        "rr_mbid": answer.rr,
        "confidence": answer.confidence,
        "rationale": answer.rationale,
        "facts": [asdict(fact) for fact in answer.facts],
    }
