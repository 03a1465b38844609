"""What a model's answer depends on beside the evidence, as one hash."""

import hashlib
from pathlib import Path
from typing import Any

import msgspec

from chart_binder.config import LLMConfig, RulesConfig
from chart_binder.llm.confidence_map import AS_STATED, read_map
from chart_binder.llm.prompt import configured
from chart_binder.rules.table import TABLE_VERSION

_NO_MATTER: dict[str, Any] = {
    "enabled": True,
    "base_url": True,
    "timeout_s": True,
    "stream": True,
    "api_key_env": True,
    "searxng": {"url", "timeout_s"},
    "fetch": {"timeout_s", "user_agent", "host_pause_s"},
    "acceptance": {"write_min_sources", "calibration"},
}
"""Where and how patiently a model is asked, and what is made of its answer later."""
_DIGITS = 16


def adjudicator_version(llm: LLMConfig, knobs: RulesConfig) -> str:
    """Return a hash that is the same as long as a model is asked the same in the same way.

    It is over the model, its options, tools and prompt, what its confidence is read by, and the
    rules that an answer is held against. Raises `ConfigError` where the configuration names a
    prompt or a calibration that there is not.
    """
    file = llm.acceptance.calibration
    confidence = read_map(Path(file).expanduser()) if file else AS_STATED
    said = [
        TABLE_VERSION,
        knobs.model_dump(mode="json"),
        llm.model_dump(mode="json", exclude=_NO_MATTER),
        configured(llm.prompt).name,
        confidence,
    ]
    return hashlib.sha256(msgspec.json.encode(said, order="sorted")).hexdigest()[:_DIGITS]
