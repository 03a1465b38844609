"""The tool with which a model looks records up at MusicBrainz."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, TypeAlias

from chart_binder.errors import CanonError
from chart_binder.react.tools import SAYS_NOTHING, Observation, Tool, ToolError

if TYPE_CHECKING:
    from chart_binder.config import LLMConfig
    from chart_binder.musicbrainz.client import Client

Open: TypeAlias = Callable[[], AbstractContextManager["Client"]]
"""Opens MusicBrainz for one look-up; a failure is a `CanonError`."""


def musicbrainz(config: "LLMConfig", open_client: Open | None = None) -> Tool:
    """Return the tool that asks what `open_client` opens: by default the public service.

    What that one answers is kept in memory, at the pace of one request a second for this process.
    """
    opened = open_client or _public_service

    def musicbrainz(query: str, artist: str = "") -> Observation:
        """Look a record up at MusicBrainz: query is its title, or an id. Returns dates and ids."""
        from chart_binder.musicbrainz.lookup import look_up

        try:
            with opened() as client:
                return look_up(client, query, artist, config.fetch.max_chars)
        except CanonError as error:
            raise ToolError(f"The look-up at MusicBrainz failed. {SAYS_NOTHING}") from error

    return Tool.of(musicbrainz)


@contextmanager
def _public_service() -> Iterator["Client"]:
    from chart_binder.config import MusicBrainzConfig
    from chart_binder.musicbrainz.lookup import process_memory
    from chart_binder.musicbrainz.source import connect

    memory = process_memory()
    yield connect(MusicBrainzConfig(), memory, memory).client()
