"""The library view of the server: figures in plots, and the files behind each number."""

from functools import lru_cache
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse
from starlette.routing import Route

from chart_binder.domain.records import UnreadDecision
from chart_binder.errors import UsageError
from chart_binder.jobs.decision import WAITING_STATES
from chart_binder.jobs.library import LibraryFigures, first_tracks, library_figures
from chart_binder.jobs.listing import DecisionQuery, listing, query_text, read_query
from chart_binder.pages.figures import figure_values, list_call
from chart_binder.pages.html import page_number, render

if TYPE_CHECKING:
    from starlette.requests import Request

    from chart_binder.store import Store

_PER_PAGE = 100
_MOST_HELD = 16
"""The number of queries whose figures are held."""


def library_routes(store: "Store") -> list[Route]:
    """Return the routes of the library view."""
    view = _LibraryView(store)
    return [Route("/library", view.library), Route("/library/files", view.files)]


class _LibraryView:
    """Answers requests of several threads; figures are held until a decision changes."""

    def __init__(self, store: "Store") -> None:
        self.store = store
        self._figures = lru_cache(_MOST_HELD)(self._count)

    def library(self, request: "Request") -> HTMLResponse:
        """Show the figures of the files that the query `q` matches."""
        query = _query(request)
        state = (self.store.decisions.state(), *self.store.overrides.all().values())
        figures, damaged = self._figures(query_text(query), state)
        values = figure_values(figures, lambda figure: _address(figure.query))
        return _page("library.html", title="Library", damaged=damaged, **values)

    def files(self, request: "Request") -> HTMLResponse:
        """Show a page of the files that the query `q` matches, in the order of the lists."""
        query, page = _query(request), page_number(request)
        unread: list[UnreadDecision] = []
        rows = listing(self.store, query, unread.append)
        tracks = first_tracks(rows, page * _PER_PAGE + 1)[(page - 1) * _PER_PAGE :]
        text = query_text(query)
        links = [("Previous", _address(text, page - 1))] if page > 1 else []
        if len(tracks) > _PER_PAGE:
            links.append(("Next", _address(text, page + 1)))
        return _page(
            "library_files.html",
            title="Files",
            query=text,
            call=list_call(text),
            tracks=tracks[:_PER_PAGE],
            waiting=WAITING_STATES,
            links=links,
            damaged=len(unread),
        )

    def _count(self, text: str, state: object) -> tuple[LibraryFigures, int]:
        """Return the figures, and the number of records that cannot be read."""
        del state  # part of the key under which the figures are held
        query, unread = read_query([text]), list[UnreadDecision]()
        figures, _ = library_figures(listing(self.store, query, unread.append), query)
        return figures, len(unread)


def _query(request: "Request") -> DecisionQuery:
    """Return the query of an address. Raises `HTTPException`."""
    try:
        return read_query([request.query_params.get("q", "")])
    except UsageError as error:
        raise HTTPException(400, str(error)) from error


def _address(query: str, page: int = 1) -> str:
    more = {"page": page} if page > 1 else {}
    return f"/library/files?{urlencode({'q': query, **more})}"


def _page(template: str, **values: object) -> HTMLResponse:
    text = render(template, place="library", **values)
    return HTMLResponse(text.encode("utf-8", "replace"))
