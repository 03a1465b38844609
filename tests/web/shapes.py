"""Pages of the shapes that music is looked up on, each with the dated facts a reader takes from it.

Made here, in the markup such sites use, with as much around the facts as there is in life:
navigation, references, other people's dates. None is a copy of a real page.
"""

from web.page_shapes import others, references  # noqa: F401 - they add their pages
from web.page_shapes.writing import SHAPES, Shape, kept

__all__ = ["SHAPES", "Shape", "kept"]
