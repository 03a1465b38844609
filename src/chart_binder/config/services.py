"""The sections `[musicbrainz]`, `[rules]`, `[store]`, `[batch]` and `[log]`."""

from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

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


class LogConfig(Section):
    """`[log]`: what is said on standard error."""

    format: Literal["auto", "console", "json"] = Field(
        default="auto", description="auto: console on a terminal, json otherwise"
    )
    level: Literal["debug", "info", "warning", "error"] = Field(
        default="warning", description="least severe level shown"
    )
