"""Everything that can be configured: each key with its default and limits.

A section is a class whose docstring begins with its table in the file. `config.toml` at the top of
the repository says what each key means.
"""

from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

Seconds = Annotated[float, Field(gt=0, le=86_400, allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Names = Annotated[tuple[Annotated[str, Field(min_length=1)], ...], Field(strict=False)]
_LAST_PORT = 65_535
Port = Annotated[int, Field(ge=1, le=_LAST_PORT)]
Ports = Annotated[tuple[Port, ...], Field(strict=False, min_length=1)]


def _form(pattern: str, allowed: str) -> Any:
    """Return the limit of a text; `allowed` completes the error: "... is allowed"."""
    return Field(pattern=pattern, description=allowed)


def _with_possible_port(host: str) -> str:
    port = host.partition(":")[2]
    if port and not 1 <= int(port) <= _LAST_PORT:
        raise ValueError(f"found {host!r}; a port from 1 to {_LAST_PORT} is allowed")
    return host


Host = Annotated[
    str,
    _form(
        r"^[^\s/:\[\]@?#\\\x00-\x1f\x7f]+(:[0-9]{1,5})?$",
        "a name or an IPv4 address, with or without :port",
    ),
    AfterValidator(_with_possible_port),
]
HttpUrl = Annotated[str, _form(r"^https?://[^\s/]+", "an address of http:// or https://")]
StoreUrl = Annotated[
    str,
    _form(
        r"^$|^sqlite:///(/|[A-Za-z]:[/\\])|^postgresql(\+psycopg)?://",
        "sqlite:////absolute/path.db or postgresql+psycopg://user@host/database",
    ),
]
WikiUrl = Annotated[str, _form(r"^https?://[^/?#\s]+/?$", "an http(s) address without a path")]
Language = Annotated[
    str, _form(r"^[a-z]{2,12}(-[a-z]{2,12}){0,3}$", "a code such as en, ja or zh-yue")
]
UserAgent = Annotated[str, _form(r"^[\x20-\x7e]*$", "printable ASCII text")]


class Section(BaseModel):
    """A table of the configuration: unknown keys and wrong types are refused, values are fixed."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, protected_namespaces=())


class CanonConfig(Section):
    """`[canon]`: marks a `config.toml` in the current folder as canon's; it has no keys."""


class MusicBrainzConfig(Section):
    """`[musicbrainz]`: the MusicBrainz web service or a mirror of it."""

    hostname: Host = "musicbrainz.org"
    https: bool = True
    rate_limit_per_s: Annotated[float, Field(ge=0, le=1_000, allow_inf_nan=False)] = 1.0
    timeout_s: Seconds = 20.0
    contact: str = ""
    cache_ttl_s: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 604_800.0
    offline: bool = False
    siblings: Literal["when_needed", "always", "never"] = "when_needed"


_REISSUE_TERMS = (
    "remaster", "deluxe", "anniversary", "expanded", "reissue", "re-release", "reprint", "repress",
    "legacy edition", "special edition", "limited edition", "collector", "bonus",
    "リマスター", "デラックス", "再発", "復刻",
)  # fmt: skip


class RulesConfig(Section):
    """`[rules]`: the settings of the rule table."""

    lead_window_days: int = Field(default=90, ge=1, le=3_650)
    reissue_long_gap_years: int = Field(default=10, ge=1, le=200)
    reissue_terms: Names = _REISSUE_TERMS
    label_authority_order: Names = ()
    compilation_premiere: bool = True


class StoreConfig(Section):
    """`[store]`: where decisions, evidence and the journal of tags are kept."""

    url: StoreUrl = ""


class BatchConfig(Section):
    """`[batch]`: how much of a library is worked on at once."""

    jobs: Annotated[int, Field(ge=1, le=256)] = 4
    model_jobs: Annotated[int, Field(ge=1, le=256)] = 2
    write_jobs: Annotated[int, Field(ge=1, le=64)] = 1


class ReviewConfig(Section):
    """`[review]`: a person's look at open cases."""

    player: str = ""


class TagsConfig(Section):
    """`[tags]`: what `canon write` and `canon batch --write` write."""

    policy: Literal["dates", "note", "move"] = "dates"


class LogConfig(Section):
    """`[log]`: what is said on standard error."""

    format: Literal["auto", "console", "json"] = "auto"
    level: Literal["debug", "info", "warning", "error"] = "warning"


class ToolsConfig(Section):
    """`[llm.tools]`: which tools the model is offered.

    A plug-in's tool is on where it is installed; its name with `false` turns it off.
    """

    model_config = ConfigDict(extra="allow")
    # A plug-in's key in the environment is text, for no field here says that it is none.
    __pydantic_extra__: dict[str, Annotated[bool, Field(strict=False)]] = Field(init=False)

    web_search: bool = True
    web_fetch: bool = True
    musicbrainz: bool = True
    wikipedia: bool = True
    days_between: bool = True

    def offers(self, name: str) -> bool:
        """Tell whether the installed tool `name` is on."""
        return bool(self.model_dump().get(name, True))


class SearxngConfig(Section):
    """`[llm.searxng]`: the search service behind `web_search`."""

    enabled: bool = True
    url: HttpUrl = "http://127.0.0.1:8888"
    timeout_s: Seconds = 10.0
    max_results: int = Field(default=5, ge=1, le=50)
    language: str = Field(default="all", min_length=1)


class FetchConfig(Section):
    """`[llm.fetch]`: what `web_fetch` may reach and how much it reads."""

    timeout_s: Seconds = 15.0
    max_bytes: int = Field(default=2_000_000, ge=1_000, le=100_000_000)
    max_chars: int = Field(default=2_000, ge=200, le=100_000)
    allow_private_hosts: Names = ()
    ports: Ports = (80, 443)
    user_agent: UserAgent = ""
    host_pause_s: Annotated[float, Field(ge=0, le=60, allow_inf_nan=False)] = 1.0
    robots: Literal["ignore", "obey"] = "ignore"


class WikipediaConfig(Section):
    """`[llm.wikipedia]`: which Wikipedia `wikipedia` asks; `[llm.fetch]` says how."""

    url: WikiUrl = "https://{language}.wikipedia.org"
    language: Language = "en"


class AcceptanceConfig(Section):
    """`[llm.acceptance]`: what an answer must rest on."""

    min_sources: int = Field(default=2, ge=0, le=10)
    trusted_sources: Names = ("musicbrainz.org", "wikipedia.org", "wikidata.org", "discogs.com")
    second_reading: bool = True


class PromptConfig(Section):
    """`[llm.prompt]`: the sections of the prompt; an empty one is the prompt's own."""

    role: str = ""
    tools: str = ""
    format: str = ""
    answer: str = ""
    rules: str = ""
    task: str = ""


class LLMConfig(Section):
    """`[llm]`: the adjudicator and the model behind it."""

    enabled: bool = False
    provider: str = Field(default="ollama", min_length=1)
    model_id: str = Field(default="llama3.2", min_length=1)
    base_url: HttpUrl = "http://127.0.0.1:11434"
    temperature: Annotated[float, Field(ge=0, le=2, allow_inf_nan=False)] = 0.0
    seed: int = Field(default=0, ge=0)
    num_ctx: int = Field(default=8_192, ge=1_024, le=1_048_576)
    max_tokens: int = Field(default=1_024, ge=64, le=65_536)
    timeout_s: Seconds = 120.0
    max_iterations: int = Field(default=5, ge=1, le=20)
    max_run_s: Seconds = 600.0
    max_run_tokens: int = Field(default=0, ge=0)
    final_turn: Literal["none", "force"] = "force"
    dialect: str = Field(default="classic", min_length=1)
    prompting: Literal["chat", "raw"] = "chat"
    observation_role: Literal["user", "tool"] = "user"
    stream: bool = True
    review_threshold: Share = 0.60
    api_key_env: str = ""
    prompt: PromptConfig = PromptConfig()
    tools: ToolsConfig = ToolsConfig()
    searxng: SearxngConfig = SearxngConfig()
    fetch: FetchConfig = FetchConfig()
    wikipedia: WikipediaConfig = WikipediaConfig()
    acceptance: AcceptanceConfig = AcceptanceConfig()

    @model_validator(mode="after")
    def _limits_agree(self) -> Self:
        if self.max_tokens >= self.num_ctx:
            raise ValueError(
                f"max_tokens {self.max_tokens} must be less than num_ctx {self.num_ctx}"
            )
        return self


class Config(Section):
    """Everything that can be configured."""

    canon: CanonConfig = CanonConfig()
    llm: LLMConfig = LLMConfig()
    musicbrainz: MusicBrainzConfig = MusicBrainzConfig()
    rules: RulesConfig = RulesConfig()
    store: StoreConfig = StoreConfig()
    batch: BatchConfig = BatchConfig()
    tags: TagsConfig = TagsConfig()
    review: ReviewConfig = ReviewConfig()
    log: LogConfig = LogConfig()
