"""The prompt: sections from package data, which configuration or a caller may replace."""

import hashlib
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

import msgspec
import tomli

from chart_binder.config import LLMConfig, PromptConfig, RulesConfig
from chart_binder.errors import ConfigError, counted
from chart_binder.files import convert_json

if TYPE_CHECKING:  # a decision by rules names the prompt, and needs no tools
    from chart_binder.react.dialect import Dialect
    from chart_binder.react.tools import Tool

_BRACES: Final = re.compile(r"\{\{([A-Za-z_]\w*)\}\}|\{([A-Za-z_]\w*)\}")
READ_SO_FAR: Final = "Read so far"
WRITE_NEXT: Final = "Write next"
NOT_TAKEN: Final = "cannot be taken yet"
RESERVED_LABELS: Final = frozenset(
    label.casefold() for label in (READ_SO_FAR, WRITE_NEXT, NOT_TAKEN)
)
"""The labels of what code tells the model during a run; text from outside cannot use them."""
PROMPT_SETTINGS: Final = (
    "independent_sites", "lead_window_days", "max_iterations",
    "min_sources", "reissue_long_gap_years", "review_threshold", "trusted_sources",
)  # fmt: skip
"""The settings that a placeholder in any section may name; none is secret."""


def prompt_settings(config: LLMConfig, rules_config: RulesConfig) -> Mapping[str, object]:
    """Return the value of each of `PROMPT_SETTINGS`."""
    values = config.model_dump() | config.acceptance.model_dump() | rules_config.model_dump()
    values["independent_sites"] = counted(config.acceptance.min_sources, "independent site")
    values["trusted_sources"] = ", ".join(config.acceptance.trusted_sources) or "no site at all"
    return {name: values[name] for name in PROMPT_SETTINGS}


def fill_placeholders(text: str, values: Mapping[str, object]) -> str:
    """Replace each `{name}` by its value; `{{name}}` becomes {name}, other braces stay."""

    def value(match: re.Match[str]) -> str:
        escaped, name = match.groups()
        return f"{{{escaped}}}" if escaped else str(values.get(name, match.group()))

    return _BRACES.sub(value, text)


def _with_original(text: str, section: str, original: str) -> str:
    return _BRACES.sub(lambda match: original if match[2] == section else match.group(), text)


def _check_placeholders(key: str, text: str, allowed: Collection[str]) -> None:
    unknown = [name for _, name in _BRACES.findall(text) if name and name not in allowed]
    if unknown:
        names = ", ".join(f"{{{name}}}" for name in sorted(allowed))
        raise ConfigError(
            f"{key}: found {{{unknown[0]}}}; allowed here: {names}"
            f" ({{{{{unknown[0]}}}}} stands for the text itself)"
        )


TEXT_SECTIONS: Final = ("role", "tools", "format", "answer", "rules", "task", "year")
"""The sections of a prompt."""
_DIALECT_SECTIONS: Final = ("tools", "format")


@dataclass(frozen=True, slots=True)
class Prompt:
    """The sections of a prompt, with placeholders. Raises `ConfigError` for an unknown one.

    `{tools}` in `tools` is the list of tools, `{format}` in `format` the dialect's form of a step.
    `task` is the question below the evidence, or `year` if only the year is open. Empty sections
    are left out. `version` names the text that this prompt was made from.
    """

    version: str
    role: str
    tools: str
    format: str
    answer: str
    rules: str
    task: str
    year: str

    def __post_init__(self) -> None:
        """Check the placeholders."""
        for section in TEXT_SECTIONS:
            placeholder = (section,) if section in _DIALECT_SECTIONS else ()
            text = getattr(self, section)
            _check_placeholders(f"llm.prompt.{section}", text, (*PROMPT_SETTINGS, *placeholder))

    @property
    def name(self) -> str:
        """The version, with the replaced sections and a hash of them: `react-4+rules@1f0c2a9b`."""
        shipped = load_prompt()
        replaced = [
            section
            for section in TEXT_SECTIONS
            if getattr(self, section) != getattr(shipped, section)
        ]
        if not replaced:
            return self.version
        words = msgspec.json.encode([getattr(self, section) for section in replaced])
        return f"{'+'.join((self.version, *replaced))}@{hashlib.sha256(words).hexdigest()[:8]}"

    def overridden(self, **sections: str) -> "Prompt":
        """Return the prompt with sections replaced; `{rules}` in `rules` is the original text."""
        replaced: dict[str, Any] = {}
        for section, text in sections.items():
            _check_placeholders(f"llm.prompt.{section}", text, (*PROMPT_SETTINGS, section))
            replaced[section] = _with_original(text, section, getattr(self, section, ""))
        return replace(self, **replaced)

    def render(
        self, dialect: "Dialect", tools: Sequence["Tool"], settings: Mapping[str, object]
    ) -> str:
        """Return the system prompt: the same bytes for the same dialect, tools and settings."""
        tool_values = {**settings, "tools": dialect.tools(tools)} if tools else {}
        sections = (
            fill_placeholders(self.role, settings),
            fill_placeholders(self.tools, tool_values) if tools else "",
            fill_placeholders(self.format, {**settings, "format": dialect.form(tools)}),
            fill_placeholders(self.answer, settings),
            fill_placeholders(self.rules, settings),
        )
        return "\n\n".join(filter(None, map(str.strip, sections)))

    def question(self, settings: Mapping[str, object], *, asks_year: bool = False) -> str:
        """Return the question that is asked below the evidence."""
        return fill_placeholders(self.year if asks_year else self.task, settings).strip()


@cache
def load_prompt() -> Prompt:
    """Return the shipped prompt, read from package data."""
    sections = tomli.loads(files("chart_binder.llm").joinpath("prompt.toml").read_text("utf-8"))
    texts = {section: sections[section].strip() for section in TEXT_SECTIONS}
    return convert_json(sections | texts, Prompt)


def configured_prompt(config: PromptConfig) -> Prompt:
    """Return the prompt with the sections of `[llm.prompt]`. Raises `ConfigError`."""
    words = {name: text for name in TEXT_SECTIONS if (text := getattr(config, name))}
    return load_prompt().overridden(**words)
