"""What ends before its end is told, and ends as it would have."""

from collections.abc import Callable
from contextlib import ExitStack
from types import TracebackType


def breaking_off(tell: Callable[[BaseException], None]) -> ExitStack:
    """Return a context that tells what error or interruption it ends with, if any; it goes on."""

    def ended(
        _kind: type[BaseException] | None, error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        if error is not None:
            tell(error)

    stack = ExitStack()
    stack.push(ended)
    return stack
