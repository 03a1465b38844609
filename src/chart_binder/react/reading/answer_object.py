"""The JSON object that an answer consists of."""

from typing import Final

from chart_binder.react.json.lenient import LenientJSONError, find_object
from chart_binder.react.json.scanner import scan
from chart_binder.react.json.words import skip_space
from chart_binder.react.reading.fences import skip_opener
from chart_binder.react.reading.own_words import is_lead_in

_QUOTE: Final = (">", "＞")


def read_answer_object(text: str) -> tuple[dict[str, object], tuple[str, ...]]:
    """Return the object that an answer's words are, with notes on what was repaired.

    It comes first, or after a lead-in such as `Here it is:`; one that is dug out of other words is
    quoted. A list of one object is that object.

    Raises `LenientJSONError` with the defect.
    """
    if text.lstrip().startswith(_QUOTE):
        raise LenientJSONError("it is a block quote")
    start = skip_opener(text, skip_space(text, 0))
    if text.startswith("[", start) and text.startswith("{", skip_space(text, start + 1)):
        return _only(text, start)
    found = find_object(text, 0, len(text))
    if found is None:
        raise LenientJSONError("there is no JSON object in it")
    if not is_lead_in(text[: found.start], text[found.end :]):
        raise LenientJSONError("the JSON object stands among other words")
    assert isinstance(found.value, dict)
    return found.value, found.notes


def _only(text: str, start: int) -> tuple[dict[str, object], tuple[str, ...]]:
    found = scan(text, start)
    match found.value:
        case [dict() as only]:
            return only, found.notes
        case _:
            raise LenientJSONError("it is a list of several answers")


__all__ = ["LenientJSONError", "read_answer_object"]
