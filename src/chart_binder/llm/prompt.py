"""The system prompt: static sections from package data, steps in the dialect's own writing."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files

import tomli

from chart_binder.react.dialect import Dialect
from chart_binder.react.steps import Act, Finish
from chart_binder.react.tools import Tool

PROMPT_VERSION = "react-1"
"""The prompt in use: the name of its file under `prompts/`."""


@dataclass(frozen=True, slots=True)
class ExemplarStep:
    """One step of an exemplar: an action with what was observed, or an answer."""

    thought: str
    tool: str = ""
    arguments: Mapping[str, object] | None = None
    observation: str = ""
    answer: str = ""


@dataclass(frozen=True, slots=True)
class Exemplar:
    """A short run that shows how it is done."""

    about: str
    question: str
    steps: tuple[ExemplarStep, ...]


@dataclass(frozen=True, slots=True)
class Prompt:
    """The sections of a system prompt, before the numbers are put in."""

    version: str
    role: str
    rules: str
    answer: str
    exemplars: tuple[Exemplar, ...]

    def render(self, dialect: Dialect, tools: Sequence[Tool], numbers: Mapping[str, object]) -> str:
        """Return the system prompt: the same bytes for the same dialect, tools and numbers."""
        sections = (section.strip() for section in self._sections(dialect, tools, numbers))
        return "\n\n".join(filter(None, sections))

    def _sections(
        self, dialect: Dialect, tools: Sequence[Tool], numbers: Mapping[str, object]
    ) -> Iterator[str]:
        yield self.role
        yield dialect.tools(tools)
        yield dialect.form(tools)
        yield self.answer.format_map(numbers)
        yield self.rules.format_map(numbers)
        names = {tool.name for tool in tools}
        for exemplar in self.exemplars:
            if all(not step.tool or step.tool in names for step in exemplar.steps):
                yield "\n".join(_exemplar(exemplar, dialect))


def _exemplar(exemplar: Exemplar, dialect: Dialect) -> Iterator[str]:
    yield f"Example ({exemplar.about}). {exemplar.question}\n"
    for step in exemplar.steps:
        if step.tool:
            yield dialect.render(Act(step.tool, step.arguments or {}, step.thought))
            yield dialect.observation(step.observation)
        else:
            yield dialect.render(Finish(step.answer.strip(), step.thought))


@lru_cache
def load_prompt(version: str = PROMPT_VERSION) -> Prompt:
    """Read a prompt from package data."""
    text = files("chart_binder.llm").joinpath("prompts", f"{version}.toml").read_text("utf-8")
    sections = tomli.loads(text)
    exemplars = tuple(
        Exemplar(
            about=exemplar["about"],
            question=exemplar["question"],
            steps=tuple(ExemplarStep(**step) for step in exemplar["steps"]),
        )
        for exemplar in sections["exemplars"]
    )
    return Prompt(version, sections["role"], sections["rules"], sections["answer"], exemplars)
