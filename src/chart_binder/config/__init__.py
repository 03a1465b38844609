"""Everything that can be configured; each key has a default, limits and a description."""

from pydantic import Field

from chart_binder.config.llm import (
    AcceptanceConfig,
    FetchConfig,
    LLMConfig,
    PromptConfig,
    SearxngConfig,
    ToolsConfig,
    WikipediaConfig,
)
from chart_binder.config.services import (
    BatchConfig,
    LogConfig,
    MusicBrainzConfig,
    RulesConfig,
    Section,
    StoreConfig,
)

__all__ = [
    "AcceptanceConfig",
    "BatchConfig",
    "Config",
    "FetchConfig",
    "LLMConfig",
    "LogConfig",
    "MusicBrainzConfig",
    "PromptConfig",
    "RulesConfig",
    "SearxngConfig",
    "StoreConfig",
    "ToolsConfig",
    "WikipediaConfig",
]


class Config(Section):
    """Everything that can be configured."""

    llm: LLMConfig = Field(default=LLMConfig(), description="the adjudicator and its model")
    musicbrainz: MusicBrainzConfig = Field(
        default=MusicBrainzConfig(), description="where evidence comes from"
    )
    rules: RulesConfig = Field(default=RulesConfig(), description="settings of the rule table")
    store: StoreConfig = Field(default=StoreConfig(), description="what is kept between runs")
    batch: BatchConfig = Field(default=BatchConfig(), description="how much is in hand at once")
    log: LogConfig = Field(default=LogConfig(), description="what is said on standard error")
