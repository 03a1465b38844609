"""A prompt's text names numbers of the configuration in braces."""

import re
from collections.abc import Collection, Mapping
from typing import Final

from chart_binder.config import LLMConfig, RulesConfig
from chart_binder.errors import ConfigError

_BRACES: Final = re.compile(r"\{\{([A-Za-z_]\w*)\}\}|\{([A-Za-z_]\w*)\}")
NUMBERS: Final = (
    "auto_accept_threshold",
    "lead_window_days",
    "max_iterations",
    "min_sources",
    "reissue_long_gap_years",
    "review_threshold",
)
"""What any section may name. None is a secret, and none differs from recording to recording."""


def numbers(config: LLMConfig, knobs: RulesConfig) -> Mapping[str, object]:
    """Return the value of each number that a section may name."""
    known = config.model_dump() | config.acceptance.model_dump() | knobs.model_dump()
    return {name: known[name] for name in NUMBERS}


def filled(text: str, values: Mapping[str, object]) -> str:
    """Put values in for `{name}`; `{{name}}` is the text {name}, any other brace is itself."""

    def value(found: re.Match[str]) -> str:
        escaped, name = found.groups()
        return f"{{{escaped}}}" if escaped else str(values.get(name, found.group()))

    return _BRACES.sub(value, text)


def with_own(text: str, section: str, own: str) -> str:
    """Put a section's own words in where a text names the section."""
    return _BRACES.sub(lambda found: own if found[2] == section else found.group(), text)


def check(key: str, text: str, allowed: Collection[str]) -> None:
    """Raise `ConfigError` that names the key, for a placeholder that there is not."""
    unknown = [name for _, name in _BRACES.findall(text) if name and name not in allowed]
    if unknown:
        names = ", ".join(f"{{{name}}}" for name in sorted(allowed))
        raise ConfigError(
            f"{key}: found {{{unknown[0]}}}; allowed here: {names}"
            f" ({{{{{unknown[0]}}}}} stands for the text itself)"
        )
