"""Choose where evidence comes from: the web service, an index of a dump, or both in turn."""

import logging
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import TypeAlias

from chart_binder.config import MusicBrainzConfig
from chart_binder.domain.evidence import EvidenceBundle
from chart_binder.domain.tags import TrackTags
from chart_binder.errors import IndexFileError, NothingFoundError
from chart_binder.musicbrainz.client import Client, ServiceHealth
from chart_binder.musicbrainz.index.service import IndexService
from chart_binder.musicbrainz.server import AnswerCache
from chart_binder.musicbrainz.source import MusicBrainzSource, connect
from chart_binder.net import RateLimiter

Source: TypeAlias = "MusicBrainzSource | IndexThenWeb"
_log = logging.getLogger(__name__)


def open_source(
    config: MusicBrainzConfig, index_path: Path, answers: AnswerCache, limiter: RateLimiter
) -> Source:
    """Return the source that `[musicbrainz] source` names.

    Raises `ConfigError`, and `IndexFileError` if the index that it needs cannot be read.
    """
    index = _index(config, index_path)
    if index and config.source == "index":
        return MusicBrainzSource(index)
    web = connect(config, answers, limiter)
    return IndexThenWeb(MusicBrainzSource(index, is_last=False), web) if index else web


def _index(config: MusicBrainzConfig, path: Path) -> IndexService | None:
    if config.source == "web" or (config.source == "auto" and not path.is_file()):
        return None
    try:
        state = path.stat()
        index = _opened(path, state.st_ino, state.st_mtime_ns)
    except OSError:
        index = IndexService(path)  # raises the error that says what to do
    except IndexFileError as error:
        if config.source != "auto":
            raise
        _warn_once(f"the index is not used: {error}")
        return None
    if config.source == "auto" and not config.offline and index.age_days > config.max_age_days:
        _warn_once(
            f"{index.host} is not used, because it is older than musicbrainz.max_age_days ="
            f" {config.max_age_days}: build a new one, or set musicbrainz.source to index_then_web"
        )
        return None
    return index


@lru_cache(maxsize=4)
def _opened(path: Path, *_: int) -> IndexService:
    """Return the index in a file; it is opened again only if the file was replaced."""
    return IndexService(path)


@cache
def _warn_once(text: str) -> None:
    _log.warning(text)


class IndexThenWeb:
    """Gathers evidence from an index, and from the web service what the index lacks.

    The evidence about a file is from one of them alone. Threads may share it.
    """

    def __init__(self, index: MusicBrainzSource, web: MusicBrainzSource) -> None:
        self._index, self._web = index, web

    @property
    def requests(self) -> int:
        """The number of requests sent to MusicBrainz, including failed ones."""
        return self._web.requests

    def gather(self, tags: TrackTags) -> EvidenceBundle:
        """Return the evidence on the recording in a file; see `MusicBrainzSource.gather`."""
        return self.together([tags])(tags)

    def together(self, album: Sequence[TrackTags]) -> Callable[[TrackTags], EvidenceBundle]:
        """Look up an album's shared data; return a function like `gather` for its files."""
        in_index = self._index.together(album)

        def is_lacking(tags: TrackTags) -> bool:
            try:
                in_index(tags)
            except NothingFoundError:
                return True
            return False

        @cache
        def on_web() -> Callable[[TrackTags], EvidenceBundle]:
            return self._web.together([*filter(is_lacking, album)])

        def gather(tags: TrackTags) -> EvidenceBundle:
            try:
                return in_index(tags)
            except NothingFoundError:
                return on_web()(tags)

        return gather

    def with_siblings(self, bundle: EvidenceBundle) -> EvidenceBundle:
        """Add other recordings of the performance from the source that the evidence is from."""
        return self._source_of(bundle).with_siblings(bundle)

    def siblings_together(
        self, bundles: Sequence[EvidenceBundle]
    ) -> Callable[[EvidenceBundle], EvidenceBundle]:
        """Look up an album's shared data; return a function like `with_siblings` for bundles."""
        look_ups = {
            source: source.siblings_together(
                [bundle for bundle in bundles if self._source_of(bundle) is source]
            )
            for source in (self._index, self._web)
        }
        return lambda bundle: look_ups[self._source_of(bundle)](bundle)

    def client(self, bundle: EvidenceBundle | None = None) -> Client:
        """Return a client of the source that a bundle is from, else of both."""
        if bundle is not None:
            return self._source_of(bundle).client()
        return Client(self._index.service, fallback=self._web.service)

    def check(self) -> ServiceHealth:
        """Check both; the web service may be out of reach."""
        index, web = self._index.check(), self._web.check()
        if web.is_reachable:
            return web._replace(host=f"{index.host}, and for what it lacks {web.host}")
        problems = tuple(f"{web.host}: {problem}" for problem in web.problems)
        return index._replace(problems=() if web.is_reachable is None else problems)

    def _source_of(self, bundle: EvidenceBundle) -> MusicBrainzSource:
        is_of_index = bundle.provenance is not None and bundle.provenance.index is not None
        return self._index if is_of_index else self._web
