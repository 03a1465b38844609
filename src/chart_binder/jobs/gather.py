"""Gather evidence for files: from MusicBrainz, by their tags, or from the store."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeAlias, TypeVar

from chart_binder.audio.open_file import no_audio
from chart_binder.config import RulesConfig
from chart_binder.domain.evidence import EvidenceBundle
from chart_binder.domain.records import DecisionRecord
from chart_binder.domain.tags import TrackTags
from chart_binder.errors import (
    AudioError,
    CanonError,
    LookupFailedError,
    NothingFoundError,
    NotLookedUpError,
)
from chart_binder.jobs.stored_decisions import bundle_with_tags, path_bytes
from chart_binder.react.conversation import wrap_plugin_errors
from chart_binder.rules.decide import decide
from chart_binder.rules.missing_original import needs_siblings

if TYPE_CHECKING:
    from chart_binder.musicbrainz.source import Source
    from chart_binder.store import Store

T = TypeVar("T")
EvidenceLookup: TypeAlias = Callable[[Path], EvidenceBundle]
TagReader: TypeAlias = Callable[[Path], TrackTags | CanonError]
"""Returns the tags by which a file is looked up, or why it cannot be."""
MAX_FAILED_LOOKUPS = 3
"""After so many failed look-ups in a row, each with its own retries, no more are made."""
NOT_NEEDED = "not looked up: the rules need none"
_NEVER = "not looked up: [musicbrainz] siblings is never"
_GIVEN_UP = "{count} look-ups in a row had failed, so no more were made: {last}"


@dataclass(frozen=True, slots=True)
class SiblingNeed:
    """Decides whether siblings are looked up; `when` is the setting `[musicbrainz] siblings`."""

    when: str
    rules: RulesConfig

    def __call__(self, bundle: EvidenceBundle) -> bool:
        """Return whether the siblings of a bundle's recordings are looked up."""
        if self.when == "never" or bundle.siblings == "looked_up":
            return False
        if self.when == "always":
            return True
        return needs_siblings(bundle, decide(bundle, self.rules), self.rules)

    def widened(
        self, bundle: EvidenceBundle, look_up: Callable[[EvidenceBundle], EvidenceBundle]
    ) -> EvidenceBundle:
        """Return evidence with siblings, or with the reason why they were not looked up."""
        if self(bundle):
            return look_up(bundle)
        if bundle.siblings == "looked_up":
            return bundle
        return bundle.noting_siblings(_NEVER if self.when == "never" else NOT_NEEDED)


def limited_lookup(
    look_up: Callable[[T], EvidenceBundle], problem: str = _GIVEN_UP
) -> Callable[[T], EvidenceBundle]:
    """Return a look-up that, after three failures in a row, only raises `LookupFailedError`.

    `problem` is the text of that error, with places for the `count` and the `last` of the failures.
    """
    failures: list[str] = []

    def limited(subject: T) -> EvidenceBundle:
        if len(failures) == MAX_FAILED_LOOKUPS:
            raise LookupFailedError(problem.format(count=len(failures), last=failures[-1]))
        try:
            bundle = look_up(subject)
        except LookupFailedError as error:
            failures.append(str(error))
            raise
        except NothingFoundError:
            failures.clear()  # the service did answer
            raise
        failures.clear()
        return bundle

    return limited


class EvidenceSource(Protocol):
    """A source of evidence for files."""

    def of(self, paths: Sequence[Path]) -> EvidenceLookup:
        """Read the files of an album, and return a function that looks up the evidence of each.

        Only that function raises: `CanonError` if there is no evidence for a file.
        """

    @property
    def requests(self) -> int:
        """Requests that this process has sent to MusicBrainz."""


def tags_or_error(path: Path) -> TrackTags | CanonError:
    """Return the tags that identify a file's recording, or the error if they do not."""
    # Slow to import, and not needed for a decision on an evidence bundle.
    from chart_binder.audio.reading import read_names, require_identity

    def unreadable(error: Exception) -> AudioError:
        return no_audio(path, f"cannot be read: {type(error).__name__}: {error}")

    try:
        with wrap_plugin_errors(unreadable, CanonError):  # a library reads the tags
            tags = read_names(path)
        require_identity(tags, path)
    except CanonError as error:
        return error
    return tags


@dataclass(frozen=True, slots=True)
class MusicBrainzEvidence:
    """Evidence from MusicBrainz by the tags of files, with siblings if `need` asks for them."""

    source: "Source"
    need: SiblingNeed
    read_tags: TagReader = tags_or_error

    @property
    def requests(self) -> int:
        """Requests since the process began, failed tries included."""
        return self.source.requests

    def by_tags(self, tags: TrackTags) -> EvidenceBundle:
        """Return the evidence about one recording. Raises as `MusicBrainzSource.gather` does."""
        return self.need.widened(self.source.gather(tags), self.source.with_siblings)

    def of(self, paths: Sequence[Path]) -> EvidenceLookup:
        """Read the tags of all files, and return a look-up for each; they share requests."""
        tags_of = {path: self.read_tags(path) for path in paths}
        album = [tags for tags in tags_of.values() if isinstance(tags, TrackTags)]
        together = cache(lambda: self.source.together(album))

        @cache
        def gather(tags: TrackTags) -> EvidenceBundle:
            return together()(tags)

        def bundles_in_need() -> Iterator[EvidenceBundle]:
            for tags in album:
                try:
                    bundle = gather(tags)
                except LookupFailedError:
                    return  # the look-up of the file itself reports it
                except CanonError:
                    continue
                if self.need(bundle):
                    yield bundle

        siblings = cache(lambda: self.source.siblings_together([*bundles_in_need()]))

        def widen(bundle: EvidenceBundle) -> EvidenceBundle:
            return siblings()(bundle)

        def look_up(path: Path) -> EvidenceBundle:
            tags = tags_of[path]
            if isinstance(tags, CanonError):
                raise tags
            return self.need.widened(gather(tags), widen)

        return look_up


@dataclass(frozen=True, slots=True)
class StoredEvidence:
    """The latest stored evidence for each file; no request is sent."""

    store: "Store"
    requests: int = 0

    def of(self, paths: Sequence[Path]) -> EvidenceLookup:
        """Read the stored evidence of all files at once, and return a look-up in it."""
        names = {path: path_bytes(path) for path in paths}
        histories = self.store.decisions.histories(names.values())
        latest: dict[Path, tuple[DecisionRecord, str]] = {}
        for path, name in names.items():
            for record in histories.get(name, ()):
                # Evidence stays valid if a later look-up failed.
                if isinstance(record, DecisionRecord) and record.evidence_hash:
                    latest.setdefault(path, (record, record.evidence_hash))
        evidence = self.store.evidence.of({evidence_hash for _, evidence_hash in latest.values()})

        def look_up(path: Path) -> EvidenceBundle:
            record, evidence_hash = latest.get(path, (None, ""))
            if record is None or evidence_hash not in evidence:
                problem = "no evidence is stored for it: look it up without --frozen first"
                raise NotLookedUpError(problem)
            return bundle_with_tags(record, evidence[evidence_hash])

        return look_up
