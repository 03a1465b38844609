"""What follows a step and an invented observation cannot count, and need not be waited for."""

from chart_binder.react.dialect import Dialect
from chart_binder.react.dialects.writing import same
from chart_binder.react.reading.observed import begins_observation
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
        """Tell whether a line begins an observation, in the dialect's form or any."""
        is_marked = line.lstrip().startswith(self._marks)
        return is_marked or begins_observation(line, after_action=True)

    def settled(self, text: str, line: str) -> bool:
        """Tell whether a text holds a step that the line after it does not change."""
        step = self._dialect.parse(text)
        return not isinstance(step, Malformed) and same(self._dialect.parse(text + line), step)
