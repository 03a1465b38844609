"""An artist's releases are read page by page, as long as that is worth it."""

import logging
import math
from typing import Literal

from chart_binder.domain.ids import ReleaseId
from chart_binder.musicbrainz import questions
from chart_binder.musicbrainz.catalogue import Catalogue, tracks_missing
from chart_binder.musicbrainz.questions import Question
from chart_binder.musicbrainz.service import Service

_log = logging.getLogger(__name__)


def read_catalogue(service: Service, catalogue: Catalogue, worth: float) -> bool:
    """Read an artist's releases into a catalogue; return whether all of them are in it.

    It is given up as soon as what is left will take as many requests as `worth`; what has been
    read by then is kept, so that it costs nothing another time. So it is where a page of releases
    has no recording of the artist's, who may be a composer. It is given up with a warning where a
    part is missing from the answers. Raises `LookupFailedError`.
    """
    lists = [
        _Pages(service, catalogue, "artist"),
        _Pages(service, catalogue, "track_artist"),
    ]
    while open_lists := [pages for pages in lists if not pages.is_whole]:
        costs = [pages.cost_left for pages in open_lists]
        if sum(costs) >= worth:
            return False
        cheapest, _ = min(zip(open_lists, costs, strict=True), key=lambda pair: pair[1])
        if (problem := cheapest.read_on()) is not None:
            _log.warning("musicbrainz' list of an artist is incomplete", extra={"why": problem})
            cheapest.forget()
            return False
        if cheapest.has_any and not catalogue.recordings:
            return False
    return True


class _Pages:
    """One of the two lists of an artist's releases."""

    def __init__(
        self, service: Service, catalogue: Catalogue, credit: Literal["artist", "track_artist"]
    ) -> None:
        self._service = service
        self._catalogue = catalogue
        self._credit = credit
        self._asked: list[Question] = []
        self._seen = set[ReleaseId]()
        self._offset = 0
        self._count: int | None = None

    @property
    def has_any(self) -> bool:
        """Whether releases were told."""
        return bool(self._seen)

    @property
    def is_whole(self) -> bool:
        """Whether all pages were read."""
        return self._count is not None and self._offset >= self._count

    @property
    def cost_left(self) -> float:
        """How many requests the other pages will take, if they are as long as those till now."""
        next_one = self._service.cost(self._next)
        if self._count is None or not next_one:
            return next_one
        pages_left = math.ceil((self._count - self._offset) * len(self._asked) / self._offset)
        return pages_left * next_one

    def read_on(self) -> str | None:
        """Read the next page into the catalogue; return what is missing from it, if anything."""
        self._asked.append(self._next)
        answer = self._service.ask(self._asked[-1])
        if answer.metadata is None:
            self.forget()
            raise self._service.failed("it does not list the releases of an artist")
        page = answer.metadata.release_list or ()
        before, self._count = self._count, answer.metadata.release_count or 0
        self._offset += len(page)
        self._seen |= {release.id for release in page}
        self._catalogue.add(page, answer.fetched_at)
        is_torn = self._offset < self._count and not page
        if before not in {None, self._count}:
            return f"there are {self._count} releases, and were {before} a page before"
        if is_torn or (self.is_whole and len(self._seen) < self._count):
            return f"{len(self._seen)} of {self._count} releases were told"
        short = (release.id for release in page if tracks_missing(release))
        return next((f"tracks of release {one} are missing" for one in short), None)

    @property
    def _next(self) -> Question:
        return questions.releases_by(self._credit, self._catalogue.artist, self._offset)

    def forget(self) -> None:
        """Keep none of the pages: one of them is wrong, and kept it would be so again."""
        for question in self._asked:
            self._service.forget(question)
