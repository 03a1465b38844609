"""All configuration keys, each with its default, limits and meaning.

A section is a class whose docstring begins with its table in the file.
"""

import json
import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, PlainValidator, model_validator

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


def _as_think(value: object) -> bool | str:
    by_word: Mapping[str, bool | str] = {
        "true": True, "false": False, "low": "low", "medium": "medium", "high": "high", "": "",
    }  # fmt: skip
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value in by_word:
        return by_word[value]
    raise ValueError(f"found {value!r}; true, false, low, medium, high or empty text is allowed")


_DURATION = re.compile(r"(-?(\d+(\.\d+)?(ms|s|m|h))+)?")


def _as_keep_alive(value: object) -> int | str:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str) and re.fullmatch(r"-?[0-9]+", value):
        return int(value)
    if isinstance(value, str) and _DURATION.fullmatch(value):
        return value
    raise ValueError(
        f"found {value!r}; whole seconds, a duration such as 10m or 1h30m, or empty text is allowed"
    )


_RESERVED_FIELDS = frozenset({"model", "messages", "prompt", "stream", "raw"})
"""Fields of a request that only canon may set, for every kind of server."""


def _as_extra_body(value: object) -> Mapping[str, Any]:
    try:
        fields = json.loads(value) if isinstance(value, str) else value
        json.dumps(fields, allow_nan=False)
    except (ValueError, TypeError, RecursionError) as error:
        raise ValueError(f"found {value!r}, which JSON cannot hold") from error
    if not isinstance(fields, dict):
        raise ValueError(f"found {value!r}; a table is allowed")  # noqa: TRY004 (pydantic's)
    if reserved := sorted(_RESERVED_FIELDS & fields.keys()):
        raise ValueError(f"found {', '.join(reserved)}, which canon sets itself")
    return fields


Think = Annotated[bool | str, PlainValidator(_as_think)]
KeepAlive = Annotated[int | str, PlainValidator(_as_keep_alive)]
ExtraBody = Annotated[Mapping[str, Any], PlainValidator(_as_extra_body)]


class Section(BaseModel):
    """A table of the configuration; it refuses unknown keys and wrong types, and is frozen."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, protected_namespaces=())


class MusicBrainzConfig(Section):
    """`[musicbrainz]`: the MusicBrainz web service or a mirror of it, and an index of a dump."""

    source: Literal["auto", "index", "web", "index_then_web"] = "auto"
    """`index`: only an index; `index_then_web`: the web for what the index lacks; `auto`: the same
    if there is an index that is not too old, else `web`."""
    index: str = ""
    """File of the index; empty: musicbrainz.index in the platform's data folder."""
    max_age_days: int = Field(default=90, ge=1, le=36_500)
    """Days after which `auto` ignores an index, unless offline."""
    hostname: Host = "musicbrainz.org"
    """Server by name or IPv4 address, with :port for a mirror."""
    https: bool = True
    """Use https; mirrors often need `false`."""
    rate_limit_per_s: Annotated[float, Field(ge=0, le=1_000, allow_inf_nan=False)] = 1.0
    """Requests a second, for all processes on this machine; 0: no limit (for a mirror)."""
    timeout_s: Seconds = 20.0
    """Seconds for one whole answer."""
    contact: str = ""
    """E-mail or address in the User-Agent, as MusicBrainz asks."""
    cache_ttl_s: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 604_800.0
    """Seconds an answer stays fresh (a week); 0: always ask again."""
    offline: bool = False
    """Open no socket: cached answers only, however old."""
    siblings: Literal["when_needed", "always", "never"] = "when_needed"
    """Look up other recordings of the performance: when_needed, always or never."""


_REISSUE_TERMS = (
    "remaster", "deluxe", "anniversary", "expanded", "reissue", "re-release", "reprint", "repress",
    "legacy edition", "special edition", "limited edition", "collector", "bonus",
    "リマスター", "デラックス", "再発", "復刻",
)  # fmt: skip


class RulesConfig(Section):
    """`[rules]`: the settings of the rule table."""

    lead_window_days: int = Field(default=90, ge=1, le=3_650)
    """A single this many days before its album leads to the album."""
    reissue_long_gap_years: int = Field(default=10, ge=1, le=200)
    """A release this much later than an official one is a reissue."""
    reissue_terms: Names = _REISSUE_TERMS
    """Words in a title or comment that mark a reissue."""
    label_authority_order: Names = ()
    """Labels that win a tie, best first."""
    compilation_premiere: bool = True
    """Let a lone compilation count as the record on which a recording first came out."""


class StoreConfig(Section):
    """`[store]`: where decisions, evidence and the journal of tags are kept."""

    url: StoreUrl = ""
    """The URL of the store; empty: an SQLite file in the platform's data folder."""


class BatchConfig(Section):
    """`[batch]`: how much a batch does at once."""

    jobs: Annotated[int, Field(ge=1, le=256)] = 4
    """Albums looked up at once; MusicBrainz is asked at its own rate."""
    model_jobs: Annotated[int, Field(ge=1, le=256)] = 2
    """Open cases the model works on at once, as many as its server can."""
    write_jobs: Annotated[int, Field(ge=1, le=64)] = 1
    """Files written at once."""


class ReviewConfig(Section):
    """`[review]`: how a person looks at open cases."""

    player: str = ""
    """Command that plays a file in `canon review --interactive`; empty: none."""


class TagsConfig(Section):
    """`[tags]`: what `canon write` and `canon batch --write` write."""

    policy: Literal["dates", "note", "move"] = "dates"
    """`dates`: when each track first came out; `note`: only CANON_* keys; `move`: the whole
    representative release."""
    navidrome_before_055: bool = False
    """Leave out what would split an album in Navidrome before 0.55."""


class LogConfig(Section):
    """`[log]`: the messages on standard error."""

    format: Literal["auto", "console", "json"] = "auto"
    """`auto`: console on a terminal, json otherwise."""
    level: Literal["debug", "info", "warning", "error"] = "warning"
    """The least severe level that is shown."""


class ToolsConfig(Section):
    """`[llm.tools]`: which tools the model is offered.

    The tool of an installed plug-in is on; its name with `false` turns it off.
    """

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, bool] = Field(init=False)

    web_search: bool = True
    """Search with the [llm.searxng] server."""
    web_fetch: bool = True
    """Read a web page."""
    musicbrainz: bool = True
    """Look up release groups and releases."""
    wikipedia: bool = True
    """Search and read Wikipedia."""

    def offers(self, name: str) -> bool:
        """Tell whether the installed tool `name` is on."""
        return bool(self.model_dump().get(name, True))


class SearxngConfig(Section):
    """`[llm.searxng]`: the search service behind `web_search`."""

    enabled: bool = True
    """Offer web_search to the model."""
    url: HttpUrl = "http://127.0.0.1:8888"
    """Base address of the SearXNG instance."""
    timeout_s: Seconds = 10.0
    """Seconds for one whole search."""
    max_results: int = Field(default=5, ge=1, le=50)
    """Results shown to the model."""
    language: str = Field(default="all", min_length=1)
    """Search language: `all`, `en`, `ja` and so on."""


class FetchConfig(Section):
    """`[llm.fetch]`: what `web_fetch` may reach and how much it reads."""

    timeout_s: Seconds = 15.0
    """Seconds for one whole page, redirects included."""
    max_bytes: int = Field(default=2_000_000, ge=1_000, le=100_000_000)
    """Most bytes read of a page."""
    max_chars: int = Field(default=4_000, ge=200, le=100_000)
    """Most characters that the model sees of a page or search."""
    allow_private_hosts: Names = ()
    """Private hosts that may be fetched from: names, addresses, networks."""
    ports: Ports = (80, 443)
    """Ports that may be fetched from."""
    user_agent: UserAgent = ""
    """User-Agent for pages, perhaps with an address to write to; empty: canon/VERSION."""
    host_pause_s: Annotated[float, Field(ge=0, le=60, allow_inf_nan=False)] = 1.0
    """Seconds between two pages of one public host."""
    robots: Literal["ignore", "obey"] = "ignore"
    """Ignore or obey robots.txt; it is always obeyed for pages that canon opens by itself."""
    never: Names = (
        "rateyourmusic.com", "sonemic.com", "facebook.com", "instagram.com", "x.com", "twitter.com",
        "tiktok.com", "pinterest.com", "quora.com", "linkedin.com", "reddit.com",
    )  # fmt: skip
    """Sites that refuse or ban programs; canon never opens their pages by itself."""


class WikipediaConfig(Section):
    """`[llm.wikipedia]`: the Wikipedia that `wikipedia` reads, with the limits of `[llm.fetch]`."""

    url: WikiUrl = "https://{language}.wikipedia.org"
    """Address of its wikis; {language} is the code of the language."""
    language: Language = "en"
    """Language if the model names none: a code, such as en or ja."""
    wikidata_url: WikiUrl = "https://www.wikidata.org"
    """Address of Wikidata; MusicBrainz links its items to release groups."""


class AcceptanceConfig(Section):
    """`[llm.acceptance]`: the sources and readings that an answer needs."""

    min_sources: int = Field(default=2, ge=0, le=10)
    """Independent sources of each fact a decision turns on."""
    trusted_sources: Names = ("musicbrainz.org", "wikipedia.org", "wikidata.org", "discogs.com")
    """Sites where a single fetched page is enough as a source."""
    second_reading: bool = True
    """Ask the model in a separate question what a passage says about a record."""
    reader_model_id: str = ""
    """Another model on the same server for that; empty: the same model."""


class PromptConfig(Section):
    """`[llm.prompt]`: the sections of the prompt; for an empty one, the default text is used."""

    role: str = ""
    """Who the model is."""
    tools: str = ""
    """Which tools there are; {tools} is their list."""
    format: str = ""
    """How a step is written; {format} is the text of the dialect."""
    answer: str = ""
    """What a final answer holds."""
    rules: str = ""
    """The rules of evidence; {rules} is the default text, to add to it."""
    task: str = ""
    """The task, which follows the evidence."""
    year: str = ""
    """The task if only the year is open."""


class LLMConfig(Section):
    """`[llm]`: the adjudicator and the model behind it."""

    enabled: bool = False
    """Ask the model about cases the rules leave open."""
    provider: str = Field(default="ollama", min_length=1)
    """`ollama`, `openai` or `replay` (any name in chart_binder.chat_models)."""
    model_id: str = Field(default="llama3.2", min_length=1)
    """The model's name on its server; for replay: a transcript file."""
    base_url: HttpUrl = "http://127.0.0.1:11434"
    """Address of the model server."""
    temperature: Annotated[float, Field(ge=0, le=2, allow_inf_nan=False)] = 0.0
    """0 gives the most repeatable replies."""
    seed: int = Field(default=0, ge=0)
    """Random seed sent to the model server."""
    num_ctx: int = Field(default=12_288, ge=1_024, le=1_048_576)
    """Context window in tokens, asked for at every call."""
    max_tokens: int = Field(default=1_024, ge=64, le=65_536)
    """Most tokens of one reply."""
    timeout_s: Seconds = 120.0
    """Seconds for one whole reply."""
    max_iterations: int = Field(default=5, ge=1, le=20)
    """Turns the model has, the final answer included."""
    max_run_s: Seconds = 600.0
    """Seconds for one whole run, model and tools together."""
    max_run_tokens: int = Field(default=0, ge=0)
    """Tokens for one whole run, prompts and replies; 0: no limit."""
    final_turn: Literal["none", "force"] = "force"
    """`force`: the last turn asks only for the answer; `none`: it is like the others."""
    ask: Literal["year", "open"] = "year"
    """`open`: decide asks about open cases; `year`: also for uncertain years."""
    first_search: bool = True
    """Let code make the first search, before the model is asked."""
    dialect: str = Field(default="classic", min_length=1)
    """How the model writes its steps: classic, pause, xml (chart_binder.dialects)."""
    prompting: Literal["chat", "raw"] = "chat"
    """`chat`: messages; `raw`: one growing text that the model continues."""
    observation_role: Literal["user", "tool"] = "user"
    """Role of the message that shows an observation, in a chat."""
    stream: bool = True
    """Receive replies while they are written, to stop them early."""
    review_threshold: Share = 0.60
    """Confidence from which a person is shown an answer; below, it is rejected."""
    think: Think = ""
    """Let the model think: true, false, low, medium or high; empty: its default."""
    reasoning_effort: Annotated[str, _form(r"^[a-z]*$", "one word in small letters")] = ""
    """How much it thinks, if the server has levels: none, low, medium, high; empty: not sent."""
    keep_alive: KeepAlive = ""
    """How long the server keeps the model loaded: 10m, seconds, -1 forever; empty: its default."""
    extra_body: ExtraBody = {}
    """More fields of a request, as the server names them: { top_k = 20, options = { ... } }."""
    api_key_env: str = ""
    """Environment variable that holds the server's API key; empty: none."""
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

    llm: LLMConfig = LLMConfig()
    musicbrainz: MusicBrainzConfig = MusicBrainzConfig()
    rules: RulesConfig = RulesConfig()
    store: StoreConfig = StoreConfig()
    batch: BatchConfig = BatchConfig()
    tags: TagsConfig = TagsConfig()
    review: ReviewConfig = ReviewConfig()
    log: LogConfig = LogConfig()
