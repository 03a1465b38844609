"""Everything that can be configured; each key has a default, limits and a description.

A section is a class whose docstring begins with its table in the file.
"""

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from chart_binder.errors import replaced_policy

Seconds = Annotated[float, Field(gt=0, le=86_400, allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Names = Annotated[tuple[Annotated[str, Field(min_length=1)], ...], Field(strict=False)]
_LAST_PORT = 65_535
Port = Annotated[int, Field(ge=1, le=_LAST_PORT)]
Ports = Annotated[tuple[Port, ...], Field(strict=False, min_length=1)]


def _with_possible_port(host: str) -> str:
    port = host.partition(":")[2]
    if port and not 1 <= int(port) <= _LAST_PORT:
        raise ValueError(f"found {host!r}; a port from 1 to {_LAST_PORT} is allowed")
    return host


Host = Annotated[
    str,
    Field(pattern=r"^[^\s/:\[\]@?#\\\x00-\x1f\x7f]+(:[0-9]{1,5})?$"),
    AfterValidator(_with_possible_port),
]
"""A name or an IPv4 address, with or without a port."""
HttpUrl = Annotated[str, Field(pattern=r"^https?://[^\s/]+")]


class Section(BaseModel):
    """A table of the configuration: unknown keys and wrong types are refused, values are fixed."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, protected_namespaces=())


class CanonConfig(Section):
    """`[canon]`: marks a `config.toml` in the current folder as canon's; it has no keys."""


class MusicBrainzConfig(Section):
    """`[musicbrainz]`: the MusicBrainz web service or a mirror of it."""

    hostname: Host = Field(
        default="musicbrainz.org",
        description="server by name or IPv4 address, with :port for a mirror",
    )
    https: bool = Field(default=True, description="speak https; mirrors often need false")
    rate_limit_per_s: Annotated[float, Field(ge=0, le=1_000, allow_inf_nan=False)] = Field(
        default=1.0, description="requests a second, over all processes here; 0: none (a mirror)"
    )
    timeout_s: Seconds = Field(default=20.0, description="seconds for one whole answer")
    contact: str = Field(
        default="", description="e-mail or address in the User-Agent, as MusicBrainz asks"
    )
    cache_ttl_s: Annotated[float, Field(ge=0, allow_inf_nan=False)] = Field(
        default=604_800.0, description="seconds an answer stays fresh (a week); 0: always ask again"
    )
    offline: bool = Field(
        default=False, description="open no socket: cached answers only, however old"
    )
    siblings: Literal["when_needed", "always", "never"] = Field(
        default="when_needed",
        description="look up other recordings of the performance: when_needed, always or never",
    )


_REISSUE_TERMS = (
    "remaster", "deluxe", "anniversary", "expanded", "reissue", "re-release", "reprint", "repress",
    "legacy edition", "special edition", "limited edition", "collector", "bonus",
    "リマスター", "デラックス", "再発", "復刻",
)  # fmt: skip


class RulesConfig(Section):
    """`[rules]`: the settings of the rule table."""

    lead_window_days: int = Field(
        default=90,
        ge=1,
        le=3_650,
        description="a single this many days before its album leads to the album",
    )
    reissue_long_gap_years: int = Field(
        default=10,
        ge=1,
        le=200,
        description="a release this much later than an official one is a reissue",
    )
    reissue_terms: Names = Field(
        default=_REISSUE_TERMS, description="words in a title or comment that mark a reissue"
    )
    label_authority_order: Names = Field(
        default=(), description="labels that win a tie, best first"
    )
    compilation_premiere: bool = Field(
        default=True, description="a lone compilation may be where a recording came out"
    )


class StoreConfig(Section):
    """`[store]`: where decisions, evidence and the journal of tags are kept."""

    url: str = Field(
        default="",
        pattern=r"^$|^sqlite:///|^postgresql(\+psycopg)?://",
        description="sqlite:////absolute/path.db or postgresql+psycopg://user@host/database;"
        " empty: the platform's data folder",
    )


class BatchConfig(Section):
    """`[batch]`: how much of a library is in hand at once."""

    jobs: Annotated[int, Field(ge=1, le=256)] = Field(
        default=4, description="albums looked up at once; MusicBrainz is asked at its own rate"
    )
    model_jobs: Annotated[int, Field(ge=1, le=256)] = Field(
        default=2, description="open cases the model looks into at once, as many as its server can"
    )
    write_jobs: Annotated[int, Field(ge=1, le=64)] = Field(
        default=1, description="files written at once"
    )


class ReviewConfig(Section):
    """`[review]`: a person's look at open cases."""

    player: str = Field(
        default="",
        description="command that plays a file in `canon review --interactive`; empty: none",
    )


def _without_replaced(policy: str) -> str:
    if replaced := replaced_policy(policy):
        raise ValueError(replaced)
    return policy


class TagsConfig(Section):
    """`[tags]`: what `canon write` and `canon batch --write` write."""

    policy: Annotated[Literal["dates", "note", "move"], BeforeValidator(_without_replaced)] = Field(
        default="dates",
        description="dates: when each track first came out; note: CANON_* keys alone; move: the"
        " whole representative release",
    )


class LogConfig(Section):
    """`[log]`: what is said on standard error."""

    format: Literal["auto", "console", "json"] = Field(
        default="auto", description="auto: console on a terminal, json otherwise"
    )
    level: Literal["debug", "info", "warning", "error"] = Field(
        default="warning", description="least severe level shown"
    )


class ToolsConfig(Section):
    """`[llm.tools]`: which tools the model is offered.

    A plug-in's tool is on where it is installed; its name with `false` turns it off.
    """

    model_config = ConfigDict(extra="allow")
    # A plug-in's key in the environment is text, for no field here says that it is none.
    __pydantic_extra__: dict[str, Annotated[bool, Field(strict=False)]] = Field(init=False)

    web_search: bool = Field(default=True, description="search with the [llm.searxng] server")
    web_fetch: bool = Field(default=True, description="read a web page")
    musicbrainz: bool = Field(default=True, description="look release groups and releases up")
    wikipedia: bool = Field(default=True, description="search and read Wikipedia")
    days_between: bool = Field(default=True, description="count the days between two dates")

    def offers(self, name: str) -> bool:
        """Tell whether the installed tool `name` is on."""
        return bool(self.model_dump().get(name, True))


class SearxngConfig(Section):
    """`[llm.searxng]`: the search service behind `web_search`."""

    enabled: bool = Field(default=True, description="offer web_search to the model")
    url: HttpUrl = Field(
        default="http://127.0.0.1:8888", description="base address of the SearXNG instance"
    )
    timeout_s: Seconds = Field(default=10.0, description="seconds for one whole search")
    max_results: int = Field(default=5, ge=1, le=50, description="results shown to the model")
    language: str = Field(
        default="all", min_length=1, description='search language: "all", "en", "ja" ...'
    )


class FetchConfig(Section):
    """`[llm.fetch]`: what `web_fetch` may reach and how much it reads."""

    timeout_s: Seconds = Field(
        default=15.0, description="seconds for one whole page, redirects included"
    )
    max_bytes: int = Field(
        default=2_000_000, ge=1_000, le=100_000_000, description="most bytes read of a page"
    )
    max_chars: int = Field(
        default=2_000,
        ge=200,
        le=100_000,
        description="most characters of a page or search the model sees",
    )
    allow_private_hosts: Names = Field(
        default=(), description="private hosts allowed all the same: names, addresses, networks"
    )
    ports: Ports = Field(default=(80, 443), description="ports that may be fetched from")
    user_agent: str = Field(
        default="",
        pattern=r"^[\x20-\x7e]*$",
        description="User-Agent for pages, with whom to write to if you like; empty: canon/VERSION",
    )
    host_pause_s: Annotated[float, Field(ge=0, le=60, allow_inf_nan=False)] = Field(
        default=1.0, description="seconds between two pages of one public host"
    )
    robots: Literal["ignore", "obey"] = Field(
        default="ignore", description="what sites ask of programs in robots.txt: ignore, obey"
    )


class WikipediaConfig(Section):
    """`[llm.wikipedia]`: which Wikipedia `wikipedia` asks; `[llm.fetch]` says how."""

    url: Annotated[HttpUrl, Field(pattern=r"^https?://[^/?#\s]+/?$")] = Field(
        default="https://{language}.wikipedia.org",
        description="where its wikis are; {language} is the code of the language asked for",
    )
    language: Annotated[str, Field(pattern=r"^[a-z]{2,12}(-[a-z]{2,12}){0,3}$")] = Field(
        default="en", description="language where the model names none: a code, such as en or ja"
    )


class AcceptanceConfig(Section):
    """`[llm.acceptance]`: what an answer must rest on, and what its confidence is worth."""

    basis: Literal["rules", "confidence"] = Field(
        default="rules",
        description="rules: they decide, with verified facts in; confidence: the thresholds do",
    )
    min_sources: int = Field(
        default=2, ge=0, le=10, description="independent sources of each fact a decision turns on"
    )
    trusted_sources: Names = Field(
        default=("musicbrainz.org", "wikipedia.org", "wikidata.org", "discogs.com"),
        description="sites of which one fetched page suffices",
    )
    second_reading: bool = Field(
        default=True, description="ask the model once more what a passage says of a date"
    )
    calibration: str = Field(
        default="", description="file of `canon calibrate` that confidence is read by; empty: none"
    )


class PromptConfig(Section):
    """`[llm.prompt]`: the sections of the prompt; an empty one is the prompt's own."""

    version: str = Field(
        default="react-4",
        min_length=1,
        description="which of the shipped prompts: react-1, react-2, react-3, react-4",
    )
    role: str = Field(default="", description="who the model is, instead of the prompt's own words")
    tools: str = Field(default="", description="which tools there are; {tools} is their list")
    format: str = Field(
        default="", description="how a step is written; {format} is what the dialect says"
    )
    answer: str = Field(default="", description="what a final answer holds")
    rules: str = Field(
        default="", description="the rules of evidence; {rules} is the prompt's own, to add to"
    )
    task: str = Field(default="", description="what is asked below the evidence")
    exemplars: bool = Field(default=True, description="show examples of a run")


class LLMConfig(Section):
    """`[llm]`: the adjudicator and the model behind it."""

    enabled: bool = Field(
        default=False, description="ask the model about cases the rules leave open"
    )
    provider: str = Field(
        default="ollama",
        min_length=1,
        description="ollama, openai or replay (any name in chart_binder.chat_models)",
    )
    model_id: str = Field(
        default="llama3.2",
        min_length=1,
        description="the model's name on its server; for replay: a transcript file",
    )
    base_url: HttpUrl = Field(
        default="http://127.0.0.1:11434", description="address of the model server"
    )
    temperature: Annotated[float, Field(ge=0, le=2, allow_inf_nan=False)] = Field(
        default=0.0, description="0 is the most repeatable"
    )
    seed: int = Field(default=0, ge=0, description="random seed sent to the model server")
    num_ctx: int = Field(
        default=8_192,
        ge=1_024,
        le=1_048_576,
        description="context window in tokens, asked for at every call",
    )
    max_tokens: int = Field(default=1_024, ge=64, le=65_536, description="most tokens of one reply")
    timeout_s: Seconds = Field(default=120.0, description="seconds for one whole reply")
    max_iterations: int = Field(
        default=5, ge=1, le=20, description="turns the model has, the final answer included"
    )
    max_run_s: Seconds = Field(
        default=600.0, description="seconds for one whole run, model and tools together"
    )
    max_run_tokens: int = Field(
        default=0, ge=0, description="tokens for one whole run, prompts and replies; 0: no limit"
    )
    final_turn: Literal["none", "force"] = Field(
        default="force",
        description="force: the last turn asks for the answer alone; none: it is like the others",
    )
    dialect: str = Field(
        default="classic",
        min_length=1,
        description="how the model writes its steps: classic, pause, xml (chart_binder.dialects)",
    )
    prompting: Literal["chat", "raw"] = Field(
        default="chat", description="chat: messages; raw: one growing text that the model continues"
    )
    observation_role: Literal["user", "tool"] = Field(
        default="user", description="whose message an observation is, in a chat"
    )
    stream: bool = Field(
        default=True, description="take replies as they are written, so as to stop them early"
    )
    samples: int = Field(
        default=1, ge=1, le=20, description="runs a case; over 1, the majority is the answer"
    )
    sample_temperature: Annotated[float, Field(gt=0, le=2, allow_inf_nan=False)] = Field(
        default=0.7, description="temperature of the runs where there are several"
    )
    method: Literal["react", "direct", "react_then_direct", "direct_then_react"] = Field(
        default="react",
        description="react: with tools; direct: without; the second where the first gives nothing",
    )
    auto_accept_threshold: Share = Field(
        default=0.85, description="confidence from which an answer is accepted"
    )
    review_threshold: Share = Field(
        default=0.60,
        description="confidence from which an answer goes to a person; below: rejected",
    )
    api_key_env: str = Field(
        default="", description="environment variable that holds the server's API key; empty: none"
    )
    prompt: PromptConfig = PromptConfig()
    tools: ToolsConfig = ToolsConfig()
    searxng: SearxngConfig = SearxngConfig()
    fetch: FetchConfig = FetchConfig()
    wikipedia: WikipediaConfig = WikipediaConfig()
    acceptance: AcceptanceConfig = AcceptanceConfig()

    @model_validator(mode="after")
    def _limits_agree(self) -> Self:
        if self.review_threshold > self.auto_accept_threshold:
            raise ValueError(
                f"review_threshold {self.review_threshold} must be at most"
                f" auto_accept_threshold {self.auto_accept_threshold}"
            )
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
