"""MusicBrainz ids on the command line, bare or as the address of their page."""

import re
from pathlib import Path

from chart_binder.cli.results import readable
from chart_binder.domain.ids import MBID
from chart_binder.errors import UsageError

_PAGE = re.compile(
    rf"(?:https?://)?(?:\w+\.)?musicbrainz\.org/([a-z-]+)/({MBID.pattern})(?:[/?#].*)?",
    re.IGNORECASE,
)


def read_mbid(text: str, entity: str, *, or_else: str = "") -> str:
    """Return the bare id of an `entity` (`release-group`, `release`, `recording`), in lower case.

    Raises `UsageError` with what was found and what is allowed, `or_else` included.
    """
    written = text.strip()
    page = _PAGE.fullmatch(written)
    if page and page[1].lower() == entity:
        return page[2].lower()
    if MBID.fullmatch(written):
        return written.lower()
    thing = "the address of a " + page[1] if page else f"no {entity.replace('-', ' ')} id"
    raise UsageError(
        f"{readable(text)!r} is {thing}; {or_else}a UUID or https://musicbrainz.org/{entity}/UUID"
        " is allowed"
    )


def read_path_or_mbid(text: str) -> str | Path:
    """Return the path of a file that exists, else the bare id of a recording.

    Raises `UsageError` with what was found and what is allowed.
    """
    path = Path(text)
    if path.exists():
        return path
    return read_mbid(text, "recording", or_else="a file that exists, a decision's id, ")
