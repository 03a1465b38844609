"""Pages of the shapes that music is looked up on, each with the dated facts a reader takes from it.

Made here, in the markup such sites use, with as much around the facts as there is in life:
navigation, references, other people's dates. None is a copy of a real page.
"""

from functools import cache

from web.page_shapes import databases, encyclopedias, listings, others, prose
from web.page_shapes.writing import DatedFact, Shape, kept

__all__ = ["DatedFact", "Shape", "kept", "shapes"]

_MAKERS = (
    encyclopedias.encyclopedia_en,
    encyclopedias.encyclopedia_de,
    encyclopedias.encyclopedia_ja,
    databases.release_group,
    databases.release,
    databases.versions,
    databases.pressing,
    prose.guide,
    prose.blog,
    prose.forum,
    listings.catalogue,
    listings.service,
    listings.feed,
    listings.discography,
    listings.chart,
    others.encyclopedia_fr,
    others.lyrics,
    others.shop,
)


@cache
def shapes() -> tuple[Shape, ...]:
    """Return all pages, the same ones every time."""
    return tuple(make() for make in _MAKERS)
