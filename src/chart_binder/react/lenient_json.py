"""JSON as models write it, found in the text around it."""

import json


class LenientJSONError(ValueError):
    """No value can be read; the text is one clause that names the defect."""


def read_json(text: str) -> tuple[object, tuple[str, ...]]:
    """Return the last JSON object in `text` with notes on what was repaired.

    Raises `LenientJSONError`.
    """
    start, end = text.find("{"), text.rfind("}")
    if start < 0:
        raise LenientJSONError("there is no JSON object")
    try:
        return json.loads(text[start : end + 1]), ()
    except ValueError as error:
        raise LenientJSONError(f"the JSON cannot be read ({error})") from error
