"""A typed function with a docstring, or a model that can be called, is read as a tool."""

import inspect
import re
import typing
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from chart_binder.react.docstrings import Documented, read_docstring
from chart_binder.react.forms import Form, form_of, form_of_model, is_model, is_pydantic

_NAME: Final = re.compile(r"[^\W\d_][\w.-]{0,63}")
_BY_NAME: Final = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


class ToolDefectError(TypeError):
    """A function cannot be a tool; the text names it and says all that is missing."""


@dataclass(frozen=True, slots=True)
class Definition:
    """What is derived from a function: its name, what it is for, how it is called."""

    name: str
    description: str
    function: Callable[..., object]
    form: Form


def define(
    function: Callable[..., object], name: str | None = None, description: str | None = None
) -> Definition:
    """Derive a tool from a typed function, or from a model class with a `__call__`.

    One parameter that is a model (of pydantic, a dataclass, a struct) gives its members as the
    arguments. `name` and `description` go before what the function says of itself. Raises
    `ToolDefectError`.
    """
    called = name if name is not None else _name(function)
    said = read_docstring(description if description is not None else _doc(function))
    defects = [] if _NAME.fullmatch(called) else [f"{called!r} cannot be the name of a tool"]
    if not said.about:
        defects.append("it has no docstring, which tells the model what it is for")
    reading = _of_class if isinstance(function, type) else _of_function
    form = reading(function, said, defects)
    if form is None or defects:
        raise ToolDefectError(f"{_place(function)} cannot be a tool: {'; '.join(defects)}")
    run = _run if isinstance(function, type) else function
    return Definition(called, said.about, run, form)


def _of_class(kind: Any, said: Documented, defects: list[str]) -> Form | None:
    if is_model(kind) and any("__call__" in vars(base) for base in kind.__mro__):
        return _tried(partial(form_of_model, kind, "model", said.arguments), "it", defects)
    defects.append("a class must be a model (pydantic, dataclass, struct) with a `__call__`")
    return None


def _run(model: Callable[[], object]) -> object:
    return model()


def _of_function(
    function: Callable[..., object], said: Documented, defects: list[str]
) -> Form | None:
    if inspect.iscoroutinefunction(function):
        defects.append("it is a coroutine function, and nothing here awaits")
    try:
        hints = _hints(function)
        parameters = tuple(inspect.signature(function).parameters.values())
    except (NameError, AttributeError, TypeError, ValueError) as error:
        defects.append(f"its annotations cannot be resolved ({error})")
        return None
    before = len(defects)
    defects += _unfit(parameters, hints)
    if len(defects) > before:
        return None
    if len(parameters) == 1 and is_model(hints[parameters[0].name]):
        only = parameters[0].name
        make = partial(form_of_model, hints[only], only, said.arguments)
        return _tried(make, f"parameter {only!r}", defects)
    form = _tried(partial(form_of, parameters, hints, said.arguments), "a parameter", defects)
    if form is None:  # one by one, to say which it is
        named: list[str] = []
        for each in parameters:
            _tried(partial(form_of, [each], hints, {}), f"parameter {each.name!r}", named)
        defects[before:] = named or defects[before:]
    return form


def _unfit(parameters: tuple[inspect.Parameter, ...], hints: Mapping[str, Any]) -> Iterator[str]:
    for each in parameters:
        if each.kind not in _BY_NAME:
            yield f"parameter {str(each).split(':')[0]!r} cannot be given by name"
        elif each.name not in hints:
            yield f"parameter {each.name!r} has no type annotation"
        elif len(parameters) > 1 and is_pydantic(hints[each.name]):
            yield f"parameter {each.name!r} is a pydantic model, which must be the only parameter"


def _tried(make: Callable[[], Form], what: str, defects: list[str]) -> Form | None:
    try:
        return make()
    except (TypeError, ValueError) as error:
        defects.append(f"{what} has a type without a JSON schema ({str(error).splitlines()[-1]})")
    return None


def _hints(function: Any) -> Mapping[str, Any]:
    routine = function if inspect.isroutine(function) else type(function).__call__
    return typing.get_type_hints(routine, include_extras=True)


def _name(function: Any) -> str:
    name = getattr(function, "__name__", type(function).__name__)
    is_class = not inspect.isroutine(function)
    return _HUMP.sub("_", name).lower() if is_class else name


def _doc(function: Any) -> str:
    """Return the docstring of the very thing: none that it inherits, none that was made for it."""
    if inspect.isroutine(function):
        return inspect.getdoc(function) or ""
    kind = function if isinstance(function, type) else type(function)
    text = vars(kind).get("__doc__") or ""
    return "" if text.startswith(f"{kind.__name__}(") else text


def _place(function: Any) -> str:
    name = getattr(function, "__qualname__", None) or repr(function)
    return f"{getattr(function, '__module__', '?')}.{name}"
