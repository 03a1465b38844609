"""A run in which a service failed says so, for its answer rests on less."""

from chart_binder.llm.recording import failed_services
from chart_binder.react.tools import SAYS_NOTHING
from chart_binder.react.transcript import AnyEvent, Observed, Replied, Stepped

DOWN = f"The search service refused the connection. {SAYS_NOTHING}"


def call(tool: str, error: str | None) -> tuple[AnyEvent, ...]:
    return Replied("..."), Stepped("act", 1, tool, {}), Observed(error or "1. A page", 1, (), error)


def told(*calls: tuple[AnyEvent, ...]) -> list[str]:
    return [check.detail for check in failed_services(event for each in calls for event in each)]


def test_the_service_that_failed_last_is_named_with_what_it_said() -> None:
    assert told(call("web_search", DOWN), call("web_fetch", None)) == [
        "web_search: The search service refused the connection."
    ]


def test_a_service_that_answered_in_the_end_is_none_that_failed() -> None:
    assert told(call("web_search", DOWN), call("web_search", None)) == []


def test_what_was_asked_wrongly_and_what_is_not_there_is_no_failure() -> None:
    assert told(call("web_search", "query: a text is needed"), call("web_fetch", "404.")) == []
