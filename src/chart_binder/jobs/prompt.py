"""The prompt as a run would send it, without a model to send it to."""

from dataclasses import dataclass

from chart_binder import plugins
from chart_binder.config import Config
from chart_binder.llm.installed_tools import default_tools
from chart_binder.llm.placeholders import numbers
from chart_binder.llm.prompt import configured


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
    prompt, dialect = configured(config.llm.prompt), config.llm.dialect
    values = numbers(config.llm, config.rules)
    tools = () if config.llm.method == "direct" else default_tools(config.llm)
    writing = plugins.load("chart_binder.dialects", dialect)()
    return EffectivePrompt(
        prompt.name, dialect, prompt.render(writing, tools, values), prompt.question(values)
    )
