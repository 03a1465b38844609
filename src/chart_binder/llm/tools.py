"""The tools that are installed and turned on, and code's own tool, which reads linked pages."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from chart_binder import plugins
from chart_binder.config import LLMConfig, PromptConfig, ToolsConfig
from chart_binder.domain.evidence import EvidenceBundle, Link
from chart_binder.domain.vocabulary import ReleaseGroupId
from chart_binder.errors import CanonError, ConfigError, LookupFailedError, PluginError
from chart_binder.react.conversation import wrap_plugin_errors
from chart_binder.react.steps import Document, Observation
from chart_binder.react.tool_definition import ToolDefectError
from chart_binder.react.tools import ServiceFailedError, Tool, tool_from_plugin

if TYPE_CHECKING:
    from chart_binder.musicbrainz.tool import Open as OpenMusicBrainz
    from chart_binder.web.searxng import SearxngClient

_GROUP: Final = "chart_binder.tools"
_SEARCH: Final = "web_search"
_ON_THE_NETWORK: Final = (_SEARCH, "web_fetch", "musicbrainz", "wikipedia")
_INSTALLED: Final = (("provider", "chart_binder.chat_models"), ("dialect", "chart_binder.dialects"))


def unknown_names(config: LLMConfig) -> Iterator[tuple[str, str]]:
    """Yield each configuration key that names something unknown, with a sentence about it.

    No provider, dialect or tool is loaded.
    """
    for key, group in _INSTALLED:
        installed, name = plugins.names(group), getattr(config, key)
        if name not in installed:
            listed_names = ", ".join(installed) or "none"
            yield f"llm.{key}", f"llm.{key}: found {name!r}; installed are {listed_names}"
    yield from unknown_tool_names(config.tools)
    if config.prompt == PromptConfig():
        return
    from chart_binder.llm.prompt import TEXT_SECTIONS, load_prompt

    for section in TEXT_SECTIONS:
        text = getattr(config.prompt, section)
        try:
            load_prompt().overridden(**{section: text} if text else {})
        except ConfigError as error:
            yield f"llm.prompt.{section}", str(error)


def unknown_tool_names(config: ToolsConfig) -> Iterator[tuple[str, str]]:
    """Yield the tools that `[llm.tools]` turns on or off but that are not installed."""
    installed = plugins.names(_GROUP)
    installed_names = ", ".join(installed)
    for name in sorted({*(config.model_extra or {})} - {*installed}):
        key = f"llm.tools.{name}"
        yield key, f"{key}: no such tool is installed; there are {installed_names}"


def default_tools(
    config: LLMConfig,
    searxng: "SearxngClient | None" = None,
    musicbrainz: "OpenMusicBrainz | None" = None,
) -> tuple[Tool, ...]:
    """Return the tools that are installed and turned on; none opens a socket yet.

    `searxng` is a search client, and `musicbrainz` opens MusicBrainz. Raises `ConfigError` if
    `[llm.tools]` names a tool that is not installed, `PluginError` if a plug-in makes no tool.
    """
    installed = plugins.names(_GROUP)
    clients = {_SEARCH: searxng, "musicbrainz": musicbrainz}
    tools = tuple(
        as_tool(plugins.load(_GROUP, name), name, config, clients.get(name))
        for name in _turned_on(installed, config)
    )
    for name, count in Counter(tool.name for tool in tools).items():
        if count > 1:
            raise PluginError(f"{count} plug-ins of {_GROUP!r} have a tool called {name!r}")
    return tools


FindLinks: TypeAlias = Callable[[Sequence[ReleaseGroupId]], Sequence[Link]]
"""Returns what MusicBrainz links release groups to. Raises `LookupFailedError`."""


def linked_pages(bundle: EvidenceBundle, config: LLMConfig, find_links: FindLinks) -> Tool:
    """Return the tool with which code reads the pages that MusicBrainz links to groups.

    If a page has the first date of its group in structure, that date is also a document of its own
    (`web.documents.linked_document`).
    """

    def linked_pages(release_groups: list[str]) -> Observation:
        """Read what MusicBrainz links these release groups to at Wikidata and Wikipedia."""
        from chart_binder.react.sanitize import one_line  # loads the parser of replies
        from chart_binder.web.documents import linked_document
        from chart_binder.web.linked import read_linked
        from chart_binder.web.passages import excerpt

        try:
            links = find_links([ReleaseGroupId(group) for group in release_groups])
        except LookupFailedError as error:
            raise ServiceFailedError("MusicBrainz could not be asked for links.") from error
        sources = read_linked(links, bundle, config)
        if not sources:
            return Observation("MusicBrainz links the record to no page of Wikidata or Wikipedia.")
        lines, documents = ["What MusicBrainz links the record to:"], list[Document]()
        statements = [
            linked_document(source.document, source.group, source.date.text, source.quote)
            for source in sources
            if source.document and source.date
        ]
        room = config.fetch.max_chars - sum(len(document.text) + 1 for document in statements)
        room = max(0, room) // len(sources)
        for source in sources:
            quote = source.quote if source.date else f"({source.problem or 'no date in structure'})"
            lines += [one_line(source.title), f"   {source.address}", f"> {one_line(quote)}"]
            if source.document is None:
                continue
            if source.date:
                documents.append(statements.pop(0))
            blocks = source.document.text.split("\n")
            passages = excerpt(blocks, room, source.title, per_line=3)
            documents.append(replace(source.document, text="\n".join(passages.lines)))
        addresses = dict.fromkeys(document.address for document in documents)
        return Observation("\n".join(lines), tuple(addresses), documents=tuple(documents))

    return Tool.of(linked_pages)


def without_network(config: LLMConfig) -> LLMConfig:
    """Return the configuration with the built-in network tools turned off."""
    off = config.tools.model_copy(update=dict.fromkeys(_ON_THE_NETWORK, False))
    return config.model_copy(update={"tools": off})


def with_installed_tools(config: LLMConfig) -> LLMConfig:
    """Return the configuration without keys of tools that are not installed."""
    installed = plugins.names(_GROUP)
    switches = {
        name: is_on for name, is_on in config.tools.model_dump().items() if name in installed
    }
    return config.model_copy(update={"tools": ToolsConfig.model_validate(switches)})


def _turned_on(installed: Sequence[str], config: LLMConfig) -> Iterator[str]:
    for _, problem in unknown_tool_names(config.tools):
        raise ConfigError(problem)
    shipped = [name for name in ToolsConfig.model_fields if name in installed]
    for name in dict.fromkeys([*shipped, *installed]):
        if config.tools.offers(name) and (name != _SEARCH or config.searxng.enabled):
            yield name


def as_tool(plugin: Any, name: str, config: LLMConfig, client: object | None = None) -> Tool:
    """Return the tool that the plug-in `name` is or makes. Raises `PluginError`."""

    def defect(error: Exception) -> PluginError:
        problem = str(error) if isinstance(error, ToolDefectError) else f"makes no tool: {error}"
        return PluginError(f"plug-in {name!r} of {_GROUP!r}: {problem}")

    with wrap_plugin_errors(defect, CanonError):
        return tool_from_plugin(plugin, config, client)
