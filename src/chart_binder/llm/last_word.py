"""The form of an answer as a JSON schema, for a turn that asks for nothing else."""

from chart_binder.llm.labels import Labels
from chart_binder.react.loop import LastWord

_MOST_LABELS = 400
_MOST_FACTS = 4
_REQUEST = """\
No turn is left. Answer now with what you know: write one JSON object and nothing else, such as
{"rationale": "one line", "crg_mbid": "C1", "rr_mbid": "C1.R1", "confidence": 0.9, "facts": []}
"crg_mbid": null means that you cannot tell."""


def last_word(labels: Labels) -> LastWord:
    """Return how to ask for an answer alone.

    A server that keeps to a schema writes keys in its order, so that the reasons come before the
    choice; and it can write no label that is not there. What comes is trusted no more for that.
    """
    groups = [label for label in labels.ids if "." not in label]
    releases = [label for label in labels.ids if "." in label][:_MOST_LABELS]
    text = {"type": "string"}
    fact = {"about": {"enum": [*groups, *releases]}, "field": text, "value": text, "source": text}
    properties: dict[str, object] = {
        "rationale": text,
        "crg_mbid": {"enum": [*groups, None]},
        "rr_mbid": {"enum": [*releases, None]},
        "confidence": {"type": "number", "minimum": 0, "maximum": 1},
        "facts": {"type": "array", "items": _object(fact), "maxItems": _MOST_FACTS},
    }
    return LastWord(_REQUEST, _object(properties))


def _object(properties: dict[str, object]) -> dict[str, object]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
