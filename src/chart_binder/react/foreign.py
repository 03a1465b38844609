"""Code of other people may raise anything: what it raises is translated here alone."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def foreign(
    translated: Callable[[Exception], Exception], *known: type[Exception]
) -> Iterator[None]:
    """Run a plug-in's code: what it raises becomes what `translated` returns, but for `known`.

    A broad except, for a plug-in's own defect must not cost the files and turns beside it.
    """
    try:
        yield
    except known:
        raise
    except Exception as error:
        told = translated(error)
        if told is error:
            raise
        raise told from error
