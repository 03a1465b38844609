"""The pages of a review: one case, the queue, a model's run; and the requests that change it."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlencode

import msgspec
from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from chart_binder.errors import CanonError, StoreError, counted
from chart_binder.files import decode_json
from chart_binder.jobs.choices import FORCE_HINT
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
    ReviewSession,
    SessionVerdict,
    SettledMeanwhileError,
    alike,
    reviewed,
)
from chart_binder.jobs.review_verdicts import PersonVerdict, VerdictAction
from chart_binder.jobs.transcripts import stored_recording
from chart_binder.pages.audio import audio_response
from chart_binder.pages.case import case_values
from chart_binder.pages.html import render, static_file, style_digest
from chart_binder.pages.run import run_page
from chart_binder.pages.security import MAX_BODY, NO_MORE, TOO_LONG, Access, RequestGuard

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.types import ASGIApp

_PER_PAGE = 100
_DIGITS = 7
_EXAMPLES = 8
_REVIEWED = 200
_STATIC = {
    "style.css": "text/css; charset=utf-8",
    "review.css": "text/css; charset=utf-8",
    "review.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
}


class _VerdictBody(msgspec.Struct, frozen=True):
    """The body of a verdict; `filters` is the query of the page, to find the next case."""

    action: VerdictAction
    text: str = ""
    reason: str = ""
    recording: str | None = None
    is_sure: bool = False
    replaces: bool = False
    filters: QueueFilter = QueueFilter()


class _AlikeBody(msgspec.Struct, frozen=True):
    """The body of a bulk acceptance, with the number of cases that the person saw."""

    by: Likeness
    count: int
    filters: QueueFilter = QueueFilter()


class _UndoBody(msgspec.Struct, frozen=True):
    """The body of an undo; without `id` the last verdict is taken back."""

    id: str | None = None


class _Place(NamedTuple):
    """Where a case is among those that are shown."""

    number: int
    total: int
    previous: str | None
    following: str | None


class ReviewPages:
    """The handlers of the review page. Those that read the store run in threads."""

    def __init__(self, session: ReviewSession, index: ReviewIndex, access: Access) -> None:
        self.session = session
        self.index = index
        self.access = access

    def routes(self) -> list[Route]:
        """Return the routes of the review."""
        post = ["POST"]
        return [
            Route("/open", self.open),
            Route("/", self.first_case),
            Route("/queue", self.queue),
            Route("/case/{id}", self.case),
            Route("/case/{id}/verdict", self.verdict, methods=post),
            Route("/case/{id}/alike/{by}", self.alike),
            Route("/case/{id}/alike", self.accept_alike, methods=post),
            Route("/undo", self.undo, methods=post),
            Route("/run/{id}", self.run),
            Route("/audio/{id}", self.audio),
            Route("/static/{name}", self.static),
        ]

    def open(self, request: "Request") -> Response:
        """Give the browser that opens the page its cookie."""
        return self.access.open(request.query_params.get("token", ""))

    def first_case(self, request: "Request") -> Response:
        """Lead to the first case that waits."""
        del request
        waiting = (item for item in self.index.first() if item.id not in self.session.done)
        item = next(waiting, None)
        return RedirectResponse(f"/case/{item.id}" if item else "/queue", 303)

    def queue(self, request: "Request") -> Response:
        """Show the cases that wait, or those of a filter."""
        filters = _filters(request)
        items, done = self._shown(filters), self.session.done
        number = request.query_params.get("page", "")
        page = int(number) if number.isdecimal() and len(number) < _DIGITS else 1
        begin = (page - 1) * _PER_PAGE
        pages = [number for number in (page - 1, page + 1)
                 if 0 < number <= -(-len(items) // _PER_PAGE)]  # fmt: skip
        earlier = [*reviewed(self.session.store, _REVIEWED)] if filters.state == DONE else []
        values = {
            "items": items[begin : begin + _PER_PAGE], "count": len(items), "page": page,
            "pages": [(number, _url("/queue", filters, page=str(number))) for number in pages],
            "filters": filters, "query": _query(filters), "done": done, "reasons": REASONS,
            "confidences": CONFIDENCES, "sorts": SORTS,
            "state_names": [*zip(QUEUED, QUEUED, strict=True), (DONE, "reviewed")],
            "problems": self.index.problems, "reviewed": earlier,
            "files": sum(item.files for item in items),
        }  # fmt: skip
        return self._page("queue.html", title="Queue", place="queue", **values)

    def case(self, request: "Request") -> Response:
        """Show one case, in the order of the filters in the address."""
        filters = _filters(request)
        item = self.index.item(request.path_params["id"])
        case = self.session.case(request.path_params["id"], item.files if item else None)
        place = self._place(case.record.id, filters)
        values = case_values(self.session, case, item, self.index.items)
        title = f"{values['artist'] or ''} {values['heading']}".strip()
        return self._page(
            "case.html", filters=filters, query=_query(filters), title=title, place="case",
            at=place, **values,
        )  # fmt: skip

    async def verdict(self, request: "Request") -> Response:
        """Save a verdict, and lead to the next case."""
        body = await _read(request, _VerdictBody)
        decision_id = request.path_params["id"]
        verdict = PersonVerdict(body.action, body.text, body.reason, body.recording, body.replaces)

        def give() -> Response:
            place = self._place(decision_id, body.filters)
            result = self.session.give(decision_id, verdict, is_sure=body.is_sure)
            return self._done(result, place.following, body.filters)

        return await run_in_threadpool(_answer, give)

    def alike(self, request: "Request") -> Response:
        """Return the number of proposals that are like that of a case, with the first of them."""
        by = request.path_params["by"]
        if by not in {*Likeness}:
            raise HTTPException(404, "Proposals are not compared by that.")
        items = self._alike(request.path_params["id"], Likeness(by))
        return JSONResponse({
            "count": len(items),
            "examples": [item.name for item in items[:_EXAMPLES]],
        })  # fmt: skip

    async def accept_alike(self, request: "Request") -> Response:
        """Accept all proposals that are alike, if they are as many as the person saw."""
        body = await _read(request, _AlikeBody)
        decision_id = request.path_params["id"]

        def accept() -> Response:
            items = self._alike(decision_id, body.by)
            if len(items) != body.count:
                problem = f"there are {counted(len(items), 'proposal')} now: look again"
                return JSONResponse({"problem": problem}, 409)
            result, problems = self.session.accept_all([item.id for item in items])
            left = [f"not accepted: {counted(len(problems), 'case')}"] if problems else []
            place = self._place(decision_id, body.filters)
            return self._done(result, place.following, body.filters, [*left, *problems.values()])

        return await run_in_threadpool(_answer, accept)

    async def undo(self, request: "Request") -> Response:
        """Take back a verdict, and lead to its case."""
        body = await _read(request, _UndoBody)

        def take_back() -> Response:
            decision_id, verdict = self.session.undo(body.id)
            words = f"taken back: {verdict.words}"
            return JSONResponse({
                "message": words, "notes": [], "next": f"/case/{decision_id}", **self._progress(),
            })  # fmt: skip

        return await run_in_threadpool(_answer, take_back)

    def run(self, request: "Request") -> Response:
        """Show the recorded run of a model on a case."""
        store, decision_id = self.session.store, request.path_params["id"]
        case = self.session.case(decision_id)
        page = run_page(case.path.name, stored_recording(store, [case.record], decision_id))
        digest = style_digest(static_file("run.css").decode())
        policy = f"default-src 'none'; style-src 'sha256-{digest}'; frame-ancestors 'none'"
        return HTMLResponse(
            page.encode("utf-8", "replace"), headers={"Content-Security-Policy": policy}
        )

    def audio(self, request: "Request") -> Response:
        """Send the audio of a case's file."""
        return audio_response(self.session.store, request.path_params["id"])

    def static(self, request: "Request") -> Response:
        """Send a style sheet, a script or the icon of the package."""
        name = request.path_params["name"]
        if name not in _STATIC:
            raise HTTPException(404)
        return Response(static_file(name), headers={"Content-Type": _STATIC[name]})

    def _page(self, template: str, **values: object) -> Response:
        common = {"token": self.access.token, "progress": self._progress()}
        refresh = BackgroundTask(self.index.refresh, self.session.done)
        text = render(template, **common, **values)
        return HTMLResponse(text.encode("utf-8", "replace"), background=refresh)

    def _progress(self) -> dict[str, int]:
        done = len(self.session.done)
        return {"done": done, "total": max(self.index.total, done)}

    def _shown(self, filters: QueueFilter) -> Sequence[QueueItem]:
        """Return the items of a filter; in the state `DONE` are those with a verdict from here."""
        done = self.session.done
        items = [
            item
            for item in self.index.all()
            if filters.matches(item) and (filters.state != DONE or item.id in done)
        ]
        return filters.sorted(items)

    def _place(self, decision_id: str, filters: QueueFilter) -> _Place:
        """Return the neighbours of a case: before it any case, after it one that waits."""
        items = self._shown(filters) if filters.values else self.index.items
        ids = [item.id for item in items]
        at = ids.index(decision_id) if decision_id in ids else -1
        waiting = [
            id_ for id_ in (*ids[at + 1 :], *ids[: max(at, 0)]) if id_ not in self.session.done
        ]
        previous = ids[at - 1] if at > 0 else None
        total = len(ids) if filters.values else max(len(ids), self.index.total)
        return _Place(at + 1, total, previous, next(iter(waiting), None))

    def _alike(self, decision_id: str, by: Likeness) -> Sequence[QueueItem]:
        items = [item for item in self.index.all() if item.id not in self.session.done]
        item = next((item for item in items if item.id == decision_id), None)
        return [*alike(items, item, by)] if item else []

    def _done(
        self,
        result: SessionVerdict,
        next_id: str | None,
        filters: QueueFilter,
        notes: Sequence[str] = (),
    ) -> Response:
        settled = f", for {counted(result.files, 'file')}" if result.files > 1 else ""
        return JSONResponse({
            "message": f"{result.words}{settled}",
            "notes": [*result.notes, *notes],
            "next": _url(f"/case/{next_id}" if next_id else "/queue", filters),
            **self._progress(),
        })  # fmt: skip


def make_app(pages: ReviewPages, more: Sequence[Route] = ()) -> "ASGIApp":
    """Return the application: the review and further routes, behind the guard."""
    handlers: Mapping[Any, Callable[..., Response]] = {
        HTTPException: _http_problem,
        CanonError: _problem,
        Exception: _fault,
    }
    app = Starlette(routes=[*pages.routes(), *more], exception_handlers=handlers)
    return RequestGuard(app, pages.access)


def _http_problem(request: "Request", error: HTTPException) -> Response:
    del request
    return _problem_page(error.detail, error.status_code, error.headers)


def _problem(request: "Request", error: CanonError) -> Response:
    del request
    return _problem_page(str(error), 503 if isinstance(error, StoreError) else 404)


def _fault(request: "Request", error: Exception) -> Response:
    del request
    return _problem_page(f"This is a fault of canon: {type(error).__name__}", 500)


def _problem_page(text: str, status: int, headers: Mapping[str, str] | None = None) -> Response:
    return HTMLResponse(render("problem.html", text=text), status, headers)


def _answer(act: Callable[[], Response]) -> Response:
    """Return what a change answers, or as JSON why it is not made and what may help."""
    more: dict[str, object] = {}
    try:
        return act()
    except SettledMeanwhileError as error:
        problem, more = str(error), {"settled": True, "latest": error.latest}
    except ConfirmationNeededError as error:
        problem, more = str(error), {"confirm": {"is_sure": True}}
    except ContradictionError as error:
        problem, more = str(error).partition("; --replace")[0], {"confirm": {"replaces": True}}
    except SeveralRecordingsError as error:
        problem, more = "several recordings are possible", {"recordings": error.recordings}
    except StoreError as error:
        return JSONResponse({"problem": str(error)}, 503)
    except CanonError as error:
        problem = str(error).replace(FORCE_HINT, "")
    return JSONResponse({"problem": problem, **more}, 409)


async def _read(request: "Request", kind: type[Any]) -> Any:
    """Return the body of a request. Raises `HTTPException` if it is too long or ill-formed."""
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_BODY:
            raise HTTPException(413, TOO_LONG, NO_MORE)
    try:
        return decode_json(body, kind)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise HTTPException(400, f"This request is ill-formed: {error}") from error


def _filters(request: "Request") -> QueueFilter:
    names = QueueFilter.__struct_fields__
    values = {name: request.query_params.get(name, "").strip() for name in names}
    return QueueFilter(**values)


def _query(filters: QueueFilter, **more: str) -> str:
    query = urlencode(filters.values | more)
    return f"?{query}" if query else ""


def _url(path: str, filters: QueueFilter, **more: str) -> str:
    return f"{path}{_query(filters, **more)}"
