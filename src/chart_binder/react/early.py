"""What follows a step and an invented observation cannot count, and need not be waited for."""

from chart_binder.react.dialect import Dialect
from chart_binder.react.dialects.writing import same
from chart_binder.react.reading.around import Around
from chart_binder.react.reading.labels import labels
from chart_binder.react.reading.tags import tags
from chart_binder.react.steps import Malformed


class Early:
    """Finds enough where a step stands, and the model goes on with an observation of its own.

    The dialect has the last word: an observation that is thought, quoted or part of an answer ends
    nothing, for with it the same reply is another step, or none.
    """

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        self._marks = tuple(filter(None, (each.strip() for each in dialect.stop)))

    def suspects(self, line: str) -> bool:
        """Tell whether a line begins like an observation, in any dialect's form."""
        return line.lstrip().startswith(self._marks) or is_observation(line)

    def settled(self, text: str, line: str) -> bool:
        """Tell whether a text holds a step that the line after it does not change."""
        step = self._dialect.parse(text)
        return not isinstance(step, Malformed) and same(self._dialect.parse(text + line), step)


def is_observation(line: str) -> bool:
    """Tell whether a line begins with a label or a tag of an observation."""
    if any(label.kind == "observation" for label in labels(line)):
        return True
    return any(tag.kind == "observation" and tag.leads for tag in tags(line, Around(line)))
