"""The model's tools: which there are, and the services behind them."""

from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from chart_binder.config.values import HttpUrl, Names, Ports, Seconds, Section


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
