"""How long a write waits for another program's, as a store's URL says it."""

from collections.abc import Mapping

from sqlalchemy.engine import URL

from chart_binder.errors import StoreError
from chart_binder.masking import masked

PATIENCE_S = 10.0
"""Where the URL does not say."""
MOST_PATIENCE_S = 86_400.0

Query = Mapping[str, str | tuple[str, ...]]


def patience_s(url: URL) -> tuple[float, Query]:
    """Return the seconds of `?timeout=`, and what else stands in the query."""
    query = dict(url.query)
    text = query.pop("timeout", str(PATIENCE_S))
    try:
        patience = float(text)  # type: ignore[arg-type]  # a tuple where it stands there twice
    except (ValueError, TypeError) as error:
        raise _odd(url) from error
    if not 0 <= patience <= MOST_PATIENCE_S:
        raise _odd(url)
    return patience, query


def _odd(url: URL) -> StoreError:
    said = masked(url.render_as_string())
    return StoreError(
        f"store.url {said!r} has an odd timeout: only ?timeout=SECONDS may follow, up to"
        f" {MOST_PATIENCE_S:.0f}"
    )
