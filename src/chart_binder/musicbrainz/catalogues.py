"""The catalogues of the last few artists, for the albums that come after another."""

import logging
import math
import threading
from collections import OrderedDict

from chart_binder.domain.ids import VARIOUS_ARTISTS, ArtistId
from chart_binder.errors import LookupFailedError
from chart_binder.musicbrainz import questions
from chart_binder.musicbrainz.catalogue import Catalogue
from chart_binder.musicbrainz.catalogue_pages import read_catalogue
from chart_binder.musicbrainz.client import Client
from chart_binder.musicbrainz.service import Service

MOST_HELD = 4
"""Artists; the pages of others are in the cache of answers."""
LARGEST_HELD = 20_000
"""Places of recordings on releases: about 8 MB."""
REST_S = 600.0
"""After a failure files are looked up one by one for so long."""
_MOST_SPENT = 10_000
_STRIPES = 16

_log = logging.getLogger(__name__)


class Catalogues:
    """Reads artists' catalogues; threads may share it, and wait for one that another reads."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._held: OrderedDict[ArtistId, Catalogue] = OrderedDict()
        self._lock = threading.Lock()
        self._stripes = tuple(threading.Lock() for _ in range(_STRIPES))
        self._spent: OrderedDict[ArtistId, float] = OrderedDict()
        self._failed_at: float | None = None

    def of(self, artist_id: ArtistId, worth: float) -> Catalogue | None:
        """Return an artist's catalogue if it takes fewer requests than `worth`.

        What the artist's earlier albums took without it counts as well: how many are to come is not
        known, and so all of them take about twice the least at the most. A failure is told in the
        log, not raised: files can be looked up one by one.
        """
        if not worth or artist_id == VARIOUS_ARTISTS or self._is_resting():
            return None
        with self._stripes[hash(artist_id) % _STRIPES]:
            try:
                return self._held_of(artist_id) or self._read(artist_id, worth)
            except LookupFailedError as error:
                self._failed_at = self._service.now()
                _log.warning(
                    "files are looked up one by one in musicbrainz, not by their artist",
                    extra={"why": str(error), "for_s": REST_S},
                )
                return None

    def _is_resting(self) -> bool:
        failed_at = self._failed_at
        return failed_at is not None and self._service.age_s(failed_at) < REST_S

    def _held_of(self, artist_id: ArtistId) -> Catalogue | None:
        with self._lock:
            held = self._held.get(artist_id)
            if held is None or not self._service.is_fresh(held.fetched_at):
                return None
            self._held.move_to_end(artist_id)
            return held

    def _read(self, artist_id: ArtistId, worth: float) -> Catalogue | None:
        if self._service.cost(questions.artist(artist_id)) == math.inf:
            return None
        artist = Client(self._service).artist(artist_id)
        if artist is None:
            return None
        catalogue = Catalogue(artist.id)  # of another id where the asked one was merged into it
        with self._lock:
            spent = self._spent.get(artist_id, 0)
        if not read_catalogue(self._service, catalogue, worth + spent):
            self._remember_spent(artist_id, worth + spent)
            return None
        if catalogue.size <= LARGEST_HELD:
            with self._lock:
                self._held[artist_id] = catalogue
                while len(self._held) > MOST_HELD:
                    self._held.popitem(last=False)
        return catalogue

    def _remember_spent(self, artist_id: ArtistId, requests: float) -> None:
        with self._lock:
            self._spent[artist_id] = requests
            self._spent.move_to_end(artist_id)
            if len(self._spent) > _MOST_SPENT:
                self._spent.popitem(last=False)
