"""Whether MusicBrainz can be asked as it is configured."""

from dataclasses import dataclass

from chart_binder.config import MusicBrainzConfig
from chart_binder.domain.ids import VARIOUS_ARTISTS
from chart_binder.musicbrainz import questions
from chart_binder.musicbrainz.server import Server
from chart_binder.musicbrainz.transport import FailureError

_PUBLIC = frozenset({"musicbrainz.org", "www.musicbrainz.org", "beta.musicbrainz.org"})
_PUBLIC_RATE = 1.0
"""Requests a second and address (musicbrainz.org/doc/MusicBrainz_API/Rate_Limiting)."""


@dataclass(frozen=True, slots=True)
class Health:
    """How the service at `host` is: each of `problems` is a sentence that ends in its remedy.

    `is_reachable` is `None` where it was not asked, being offline.
    """

    host: str
    is_reachable: bool | None
    problems: tuple[str, ...] = ()


def examine(config: MusicBrainzConfig, server: Server | None) -> Health:
    """Ask for what every MusicBrainz server has, once; never raises for a failure of it."""
    problems = _misfits(config)
    if server is None:
        return Health(config.hostname, is_reachable=None, problems=problems)
    try:
        _, metadata = server.ask(questions.artist(VARIOUS_ARTISTS))
    except FailureError as error:
        return Health(
            config.hostname, is_reachable=False, problems=(f"{error}: {error.advice}", *problems)
        )
    if metadata is None:
        empty = "the server has no data: import MusicBrainz' data into the mirror"
        return Health(config.hostname, is_reachable=True, problems=(empty, *problems))
    return Health(config.hostname, is_reachable=True, problems=problems)


def _misfits(config: MusicBrainzConfig) -> tuple[str, ...]:
    if config.hostname.partition(":")[0].lower() not in _PUBLIC:
        return ()
    rate = config.rate_limit_per_s
    too_fast = f"the public service allows {_PUBLIC_RATE:g} request a second, not {rate:g}"
    found = (
        (not config.contact, "no contact for MusicBrainz to write to: set musicbrainz.contact"),
        (rate > _PUBLIC_RATE, f"{too_fast}: lower musicbrainz.rate_limit_per_s"),
        (not rate, "the public service has a rate limit: set musicbrainz.rate_limit_per_s to 1"),
        (not config.https, "the public service speaks https: set musicbrainz.https to true"),
    )
    return tuple(problem for is_so, problem in found if is_so)
