"""The pages of a review: one case, the queue, a model's run; and the requests that change it."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial, wraps
from typing import Any, NamedTuple
from urllib.parse import urlencode

import msgspec
from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from chart_binder.errors import CanonError, StoreError, counted
from chart_binder.files import convert_json, decode_json
from chart_binder.jobs.overrides import ContradictionError, SeveralRecordingsError
from chart_binder.jobs.review import QUEUED
from chart_binder.jobs.review_index import (
    CONFIDENCES,
    DONE,
    REASONS,
    SORTS,
    QueueFilter,
    QueueItem,
    ReviewIndex,
)
from chart_binder.jobs.review_session import (
    ConfirmationNeededError,
    Likeness,
    PersonVerdict,
    ReviewSession,
    SettledMeanwhileError,
    alike,
    reviewed,
)
from chart_binder.jobs.transcripts import stored_recording
from chart_binder.pages.audio import audio_response
from chart_binder.pages.case import case_values
from chart_binder.pages.html import page_number, render, static_file, style_digest, style_of
from chart_binder.pages.run import run_page
from chart_binder.pages.security import MAX_BODY, NO_MORE, TOO_LONG, Access, RequestGuard

_PER_PAGE, _EXAMPLES, _REVIEWED = 100, 8, 200
_DECIDE_AGAIN = "the next `canon decide` applies this verdict"
_STATIC = {
    "style.css": "text/css; charset=utf-8",
    "review.css": "text/css; charset=utf-8",
    "review.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
}


class _Change(msgspec.Struct, frozen=True):
    """The body of a change: a verdict, the likeness of `count` proposals, or the `id` to undo.

    `filters` are those of the page, to find the next case.
    """

    verdict: PersonVerdict | None = None
    is_sure: bool = False
    by: Likeness | None = None
    count: int = 0
    id: str | None = None
    filters: QueueFilter = QueueFilter()


class _Place(NamedTuple):
    """Where a case is among those that are shown."""

    number: int
    total: int
    previous: str | None
    following: str | None


def _changing(
    change_it: "Callable[[ReviewPages, str, _Change], Response]",
) -> "Callable[[ReviewPages, Request], Awaitable[Response]]":
    """Return a handler that reads the body of a change, and makes the change in a thread."""

    @wraps(change_it)
    async def handle(pages: "ReviewPages", request: Request) -> Response:
        change = await _read(request)
        decision_id = request.path_params.get("id", "")
        return await run_in_threadpool(_answer, partial(change_it, pages, decision_id, change))

    return handle


class ReviewPages:
    """The handlers of the review page. Those that read the store run in threads."""

    def __init__(self, session: ReviewSession, index: ReviewIndex, access: Access) -> None:
        self.session = session
        self.index = index
        self.access = access

    def routes(self) -> list[Route]:
        """Return the routes of the review."""
        reading = {
            "/open": self.open, "/": self.first_case, "/queue": self.queue,
            "/case/{id}": self.case, "/case/{id}/alike/{by}": self.alike, "/run/{id}": self.run,
            "/audio/{id}": self.audio, "/static/{name}": self.static,
        }  # fmt: skip
        changing = {
            "/case/{id}/verdict": self.verdict, "/case/{id}/alike": self.accept_alike,
            "/undo": self.undo,
        }  # fmt: skip
        changes = [Route(path, handler, methods=["POST"]) for path, handler in changing.items()]
        return [*(Route(path, handler) for path, handler in reading.items()), *changes]

    async def open(self, request: Request) -> Response:
        """Give the browser that opens the page its cookie; no two requests run at once here."""
        return self.access.open(request.query_params.get("token", ""))

    def first_case(self, request: Request) -> Response:
        """Lead to the first case that waits."""
        del request
        waiting = (item.id for item in self.index.first() if item.id not in self.session.done)
        first = next(waiting, None)
        return RedirectResponse(f"/case/{first}" if first else "/queue", 303)

    def queue(self, request: Request) -> Response:
        """Show the cases that wait, or those of a filter."""
        filters, page = _filters(request), page_number(request)
        items = self._shown(filters)
        last = -(-len(items) // _PER_PAGE)
        others = [other for other in (page - 1, page + 1) if 0 < other <= last]
        is_done = filters.state == DONE
        values = {
            "items": items[(page - 1) * _PER_PAGE : page * _PER_PAGE], "count": len(items),
            "files": sum(item.files for item in items), "done": self.session.done,
            "pages": [(other, _url("/queue", filters, page=str(other))) for other in others],
            "reasons": REASONS, "confidences": CONFIDENCES, "sorts": SORTS,
            "state_names": [*zip(QUEUED, QUEUED, strict=True), (DONE, "reviewed")],
            "reviewed": [*reviewed(self.session.store, _REVIEWED)] if is_done else [],
            "problems": self.index.problems,
        }  # fmt: skip
        return self._page("queue.html", filters, title="Queue", place="queue", **values)

    def case(self, request: Request) -> Response:
        """Show one case, in the order of the filters in the address."""
        filters, decision_id = _filters(request), request.path_params["id"]
        item = self.index.item(decision_id)
        case = self.session.case(decision_id, item.files if item else None)
        values = case_values(self.session, case, item, self.index.items)
        title = f"{values['artist'] or ''} {values['heading']}".strip()
        at = self._place(decision_id, filters)
        return self._page("case.html", filters, title=title, place="case", at=at, **values)

    @_changing
    def verdict(self, decision_id: str, change: _Change) -> Response:
        """Save a verdict, and lead to the next case."""
        if change.verdict is None:
            raise CanonError("this request has no verdict")
        following = self._place(decision_id, change.filters).following
        result = self.session.give(decision_id, change.verdict, is_sure=change.is_sure)
        notes = [*result.notes, *[_DECIDE_AGAIN] * result.decide_again]
        return self._moved(result.words, result.files, notes, following, change.filters)

    def alike(self, request: Request) -> Response:
        """Return the number of proposals that are like that of a case, with the first of them."""
        if request.path_params["by"] not in {*Likeness}:
            raise HTTPException(404, "Proposals are not compared by that.")
        items = self._alike(request.path_params["id"], Likeness(request.path_params["by"]))
        names = [item.name for item in items[:_EXAMPLES]]
        return JSONResponse({"count": len(items), "examples": names})

    @_changing
    def accept_alike(self, decision_id: str, change: _Change) -> Response:
        """Accept all proposals that are alike, if they are as many as the person saw."""
        items = self._alike(decision_id, change.by or Likeness.ALBUM)
        if len(items) != change.count:
            raise CanonError(f"there are {counted(len(items), 'proposal')} now: look again")
        result, problems = self.session.accept_all([item.id for item in items])
        left = [f"not accepted: {counted(len(problems), 'case')}"] if problems else []
        notes = [*left, *[*dict.fromkeys(problems.values())][:_EXAMPLES]]
        if not result.saved:
            raise CanonError("; ".join(notes))
        following = self._place(decision_id, change.filters).following
        return self._moved(result.words, result.files, notes, following, change.filters)

    @_changing
    def undo(self, _: str, change: _Change) -> Response:
        """Take back a verdict, and lead to its case."""
        decision_id, verdict = self.session.undo(change.id)
        return self._moved(f"taken back: {verdict.words}", 1, (), decision_id, change.filters)

    def run(self, request: Request) -> Response:
        """Show the recorded run of a model on a case."""
        case = self.session.case(request.path_params["id"])
        recorded = stored_recording(self.session.store, [case.record], case.record.id)
        digest = style_digest(style_of("run.css"))
        policy = f"default-src 'none'; style-src 'sha256-{digest}'; frame-ancestors 'none'"
        page = run_page(case.path.name, recorded).encode("utf-8", "replace")
        return HTMLResponse(page, headers={"Content-Security-Policy": policy})

    def audio(self, request: Request) -> Response:
        """Send the audio of a case's file."""
        return audio_response(self.session.store, request.path_params["id"])

    def static(self, request: Request) -> Response:
        """Send a style sheet, a script or the icon of the package."""
        name = request.path_params["name"]
        if name not in _STATIC:
            raise HTTPException(404)
        return Response(static_file(name), headers={"Content-Type": _STATIC[name]})

    def _page(self, template: str, filters: QueueFilter, **values: object) -> Response:
        values |= {"filters": filters, "query": _url("", filters), "progress": self._progress()}
        text = render(template, token=self.access.token, **values)
        refresh = BackgroundTask(self.index.refresh, self.session.done)
        return HTMLResponse(text.encode("utf-8", "replace"), background=refresh)

    def _progress(self) -> dict[str, int]:
        done = len(self.session.done)
        return {"done": done, "total": max(self.index.total, done)}

    def _shown(self, filters: QueueFilter) -> Sequence[QueueItem]:
        """Return the items of a filter; in the state `DONE` are those with a verdict from here."""
        items = [item for item in self.index.all() if filters.matches(item)]
        if filters.state == DONE:
            items = [item for item in items if item.id in self.session.done]
        return filters.sorted(items)

    def _place(self, decision_id: str, filters: QueueFilter) -> _Place:
        """Return the neighbours of a case: before it any case, after it one that waits."""
        ids = [item.id for item in (self._shown(filters) if filters.values else self.index.items)]
        at = ids.index(decision_id) if decision_id in ids else -1
        others = (*ids[at + 1 :], *ids[: max(at, 0)])
        following = next((other for other in others if other not in self.session.done), None)
        total = len(ids) if filters.values else max(len(ids), self.index.total)
        return _Place(at + 1, total, ids[at - 1] if at > 0 else None, following)

    def _alike(self, decision_id: str, by: Likeness) -> Sequence[QueueItem]:
        items = [item for item in self.index.all() if item.id not in self.session.done]
        item = next((item for item in items if item.id == decision_id), None)
        return [*alike(items, item, by)] if item else []

    def _moved(
        self, words: str, files: int, notes: Sequence[str], case: str | None, filters: QueueFilter
    ) -> Response:
        """Return what was changed, and the address of the case to show."""
        settled = f", for {counted(files, 'file')}" if files > 1 else ""
        following = _url(f"/case/{case}" if case else "/queue", filters)
        answer = {"message": f"{words}{settled}", "notes": notes, "next": following}
        return JSONResponse(answer | self._progress())


def make_app(pages: ReviewPages, more: Sequence[Route] = ()) -> RequestGuard:
    """Return the application: the review and further routes, behind the guard."""
    handlers = dict.fromkeys((HTTPException, CanonError, Exception), _problem)
    app = Starlette(routes=[*pages.routes(), *more], exception_handlers={**handlers})
    return RequestGuard(app, pages.access)


def _problem(request: Request, error: Exception) -> Response:
    """Return a page that says what is wrong."""
    del request
    text, status, headers = f"This is a fault of canon: {type(error).__name__}", 500, None
    if isinstance(error, HTTPException):
        text, status, headers = error.detail, error.status_code, error.headers
    elif isinstance(error, CanonError):
        text, status = str(error), 503 if isinstance(error, StoreError) else 404
    return HTMLResponse(render("problem.html", text=text), status, headers)


def _answer(change: Callable[[], Response]) -> Response:
    """Make a change, and return its answer, or as JSON why it is not made and what may help."""
    more: Mapping[str, object] = {}
    try:
        return change()
    except SettledMeanwhileError as error:
        problem, more = str(error), {"settled": True, "latest": error.latest}
    except ConfirmationNeededError as error:
        problem, more = str(error), {"confirm": {"is_sure": True}}
    except ContradictionError as error:
        problem, more = str(error), {"confirm": {"replaces": True}}
    except SeveralRecordingsError as error:
        problem, more = "several recordings are possible", {"recordings": error.recordings}
    except CanonError as error:
        problem = str(error)
    return JSONResponse({"problem": problem, **more}, 409)


async def _read(request: Request) -> _Change:
    """Return the body of a request. Raises `HTTPException` if it is too long or ill-formed."""
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_BODY:
            raise HTTPException(413, TOO_LONG, NO_MORE)
    try:
        return decode_json(body, _Change)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise HTTPException(400, f"This request is ill-formed: {error}") from error


def _filters(request: Request) -> QueueFilter:
    return convert_json(dict(request.query_params), QueueFilter)


def _url(path: str, filters: QueueFilter, **more: str) -> str:
    query: dict[str, Any] = filters.values | more
    return f"{path}?{urlencode(query)}" if query else path
