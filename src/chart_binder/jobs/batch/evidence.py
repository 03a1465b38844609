"""Evidence for the files of an album: looked up together, or as it was kept."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from chart_binder.audio.files import shown
from chart_binder.audio.identity import require_identity
from chart_binder.audio.reading import read_tags
from chart_binder.domain.evidence import EvidenceBundle
from chart_binder.domain.kept import KeptDecision, KeptEvidence
from chart_binder.domain.track import TrackTags
from chart_binder.errors import AudioError, CanonError, NotLookedUpError
from chart_binder.jobs.batch.worker import Facts
from chart_binder.jobs.file_names import names_of
from chart_binder.jobs.keeping import bundle_of
from chart_binder.react.foreign import foreign

if TYPE_CHECKING:
    from chart_binder.store.store import Store


class AlbumSource(Protocol):
    """A source of evidence that looks up the files of one album together."""

    @property
    def requests(self) -> int:
        """Requests since the process began, tries that came to nothing among them."""
        ...

    def together(self, tags: Sequence[TrackTags]) -> Callable[[TrackTags], EvidenceBundle]:
        """Return what gathers the evidence for each of these files."""
        ...


@dataclass(frozen=True, slots=True)
class LookedUp:
    """Evidence from a source, by what the tags of the files say."""

    source: AlbumSource

    @property
    def requests(self) -> int:
        """Requests since the process began, tries that came to nothing among them."""
        return self.source.requests

    def of(self, paths: Sequence[Path]) -> Facts:
        """Read the tags of all files, and return what looks each of them up."""
        said = {path: _tags(path) for path in paths}
        found = [tags for tags in said.values() if isinstance(tags, TrackTags)]
        shared = _Shared(self.source, found)

        def facts(path: Path) -> EvidenceBundle:
            tags = said[path]
            if isinstance(tags, CanonError):
                raise tags
            return shared.gather(tags)

        return facts


@dataclass(slots=True)
class _Shared:
    """Look-ups that begin when the first file asks for them."""

    source: AlbumSource
    tags: Sequence[TrackTags]
    begun: list[Callable[[TrackTags], EvidenceBundle]] = field(default_factory=list)

    def gather(self, tags: TrackTags) -> EvidenceBundle:
        if not self.begun:
            self.begun.append(self.source.together(self.tags))
        return self.begun[0](tags)


@dataclass(frozen=True, slots=True)
class AsKept:
    """The evidence that was last found for each file; nothing is asked."""

    store: "Store"
    requests: int = 0

    def of(self, paths: Sequence[Path]) -> Facts:
        """Return what finds the kept evidence of a file, all of it read at once."""
        names = {path: names_of(path) for path in paths}
        history = self.store.decisions.histories({name for each in names.values() for name in each})
        kept: dict[Path, KeptDecision] = {}
        for path, each in names.items():
            made = (one for name in each for one in history.get(name, ()))
            # A look-up that failed since takes nothing away.
            known = (one for one in made if isinstance(one, KeptDecision) and one.evidence_hash)
            if last := next(known, None):
                kept[path] = last
        hashes = {one.evidence_hash for one in kept.values() if one.evidence_hash}
        return partial(_kept_of, kept, self.store.evidence.of(hashes))


def _kept_of(
    kept: Mapping[Path, KeptDecision], evidence: Mapping[str, KeptEvidence], path: Path
) -> EvidenceBundle:
    one = kept.get(path)
    found = evidence.get(one.evidence_hash or "") if one else None
    if one is None or found is None:
        raise NotLookedUpError("no evidence is kept for it: look it up without --frozen first")
    return bundle_of(one, found)


def _tags(path: Path) -> TrackTags | CanonError:
    def defect(error: Exception) -> AudioError:
        return AudioError(f"{shown(path)} cannot be read: {type(error).__name__}: {error}")

    try:
        with foreign(defect, CanonError):  # what reads tags is other people's code
            tags = read_tags(path)
        require_identity(tags, path)
    except CanonError as error:
        return error
    return tags
