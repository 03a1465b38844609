"""How many of a page's dated facts are in what a model is shown of it."""

import warnings
from functools import cache

from bs4 import BeautifulSoup, XMLParsedAsHTMLWarning

from chart_binder.web import passages
from chart_binder.web.fetch import READERS, WebPage
from web.shapes import Shape, kept

LEAST = 0.9
"""The share of all dated facts that must be kept."""
MOST_CHARS = 2_000
"""Of the characters that a fetched page is shown in (`max_chars`), half."""
IN_A_SEARCH = 950
"""What each of the four pages has that a search opens, about."""


@cache
def retained(shape: Shape, most: int = MOST_CHARS) -> tuple[int, int]:
    """Return how many facts are kept in what is shown, and in as long a beginning of the text."""
    kind = shape.content_type.partition(";")[0]
    url = "https://pages.example/1"
    page = WebPage(url, url, READERS[kind](shape.body), cut=False)
    shown = passages.page_reading(page, most, shape.about).content
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", XMLParsedAsHTMLWarning)
        beginning = BeautifulSoup(shape.body, "html.parser").get_text()[:most]
    counts = [sum(kept(fact, text) for fact in shape.facts) for text in (shown, beginning)]
    return counts[0], counts[1]
