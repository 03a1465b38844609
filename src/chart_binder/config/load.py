"""Load the configuration: flags override variables, which override the file, then defaults."""

import difflib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, cast, get_args, get_origin

import platformdirs
import tomli
from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from chart_binder.config import Config, LLMConfig
from chart_binder.errors import ConfigError, masked

PREFIX = "CANON_"
FILE_VARIABLE = "CANON_CONFIG"
_TABLE = re.compile(r"\s*\[{1,2}([^\[\]#]+)\]")
_KEY = re.compile(r"\s*((?:[\w.\s-]|\"[^\"]*\"|'[^']*')+?)\s*=")
_TABLE_TWICE = re.compile(r"Cannot declare \((.*)\) twice (\(.*\))")
Tree = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Settings:
    """A configuration, the file that it was read from, and the source of each key that is set."""

    config: Config
    file: Path | None
    origins: Mapping[str, str]
    warnings: tuple[str, ...] = ()
    """Sentences about environment variables that are not keys."""

    def refuse(self, problems: Mapping[str, str]) -> None:
        """Raise `ConfigError` with each key's source and problem, if there are any."""
        if problems:
            sources = {key: self.origins.get(key, "configuration") for key in problems}
            sentences = (f"{sources[key]}: {problem}" for key, problem in problems.items())
            raise ConfigError("; ".join(sentences))


def data_folder() -> Path:
    """Return the folder of the store and of recorded transcripts on this platform."""
    return platformdirs.user_data_path("canon", appauthor=False)


def user_file() -> Path:
    """Return the path of the user's configuration on this platform; it may not exist."""
    return platformdirs.user_config_path("canon", appauthor=False) / "config.toml"


def load_settings(
    file: Path | None,
    environment: Mapping[str, str],
    flags: Mapping[str, Any],
    text: str | None = None,
) -> Settings:
    """Return the merged settings; `flags` has dotted keys, and `text` replaces the file's content.

    Raises `ConfigError`, which names the source.
    """
    chosen_file = file or environment.get(FILE_VARIABLE)
    path = Path(chosen_file or user_file())
    has_file = bool(chosen_file) or path.is_file()
    if text is None:
        text = read_file(path) if has_file else ""
    tree, lines = parse_file(text, path)
    variables = sorted(
        name for name in environment if name.startswith(PREFIX) and name != FILE_VARIABLE
    )
    warnings = dict(_unknown_variables(variables))
    layers = [(str(path), tree)] if has_file else []
    layers += [
        (name, _from_text(name, environment[name])) for name in variables if name not in warnings
    ]
    layers += [("command line", _nested(key.split("."), value)) for key, value in flags.items()]
    places = {key: f"{path}, line {line}" for key, line in lines.items()}
    origins: dict[str, str] = {}
    merged: Tree = {}
    for source, layer in layers:
        _merge(merged, layer)
        layer_places = places if layer is tree else {}
        origins |= {key: layer_places.get(key, source) for key, _ in dotted_keys(layer)}
    try:
        config = Config.model_validate(merged)
    except ValidationError as error:
        source_file = path if has_file else None
        raise ConfigError(_error_texts(error, places | origins, source_file)) from error
    return Settings(config, path if has_file else None, origins, tuple(warnings.values()))


def _unknown_variables(names: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield the variables that are not keys, each with a sentence that says so."""
    for name in names:
        keys = _keys_of(name)
        key = ".".join(keys)
        if _field(keys) or (_accepts_any_key(keys) and keys[-1] in _installed_tools()):
            continue
        reason = f"no key {key}{_suggestion(keys)}"
        if _accepts_any_key(keys):
            reason = f"no tool {keys[-1]} installed; there are {', '.join(_installed_tools())}"
        yield name, f"{name} is ignored: there is {reason}"


def _installed_tools() -> Sequence[str]:
    from importlib.metadata import entry_points  # slow, and rarely needed

    return sorted({point.name for point in entry_points(group="chart_binder.tools")})


def dotted_keys(tree: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every key of nested tables in dotted form, with its value."""
    for key, value in tree.items():
        if isinstance(value, dict) and value:
            yield from dotted_keys(value, f"{prefix}{key}.")
        elif prefix:  # an empty table is skipped, an empty value is not
            yield f"{prefix}{key}", value


def read_file(path: Path) -> str:
    """Return the text of a configuration file. Raises `ConfigError`."""
    try:
        return path.read_text(encoding="utf-8-sig")  # some editors write a byte-order mark
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read ({error.strerror or error})") from error
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise ConfigError(f"{path}, line {line}: not TOML: {error}") from error


def parse_file(text: str, path: Path) -> tuple[Tree, dict[str, int]]:
    """Return the tables of a file, and the line of each table and key by its dotted name.

    Raises `ConfigError`.
    """
    try:
        tree = tomli.loads(text)
    except tomli.TOMLDecodeError as error:
        defect = str(error).replace("Cannot overwrite a value", "a key occurs twice")
        if twice := _TABLE_TWICE.fullmatch(defect):  # tomli shows a Python tuple
            table = ".".join(re.findall(r"'([^']*)'", twice[1]))
            defect = (
                f"the table [{table}] occurs twice {twice[2]}: put the keys of the second"
                " into the first"
            )
        raise ConfigError(f"{path}: not TOML: {defect}") from error
    if tree.get("canon") == {}:  # earlier versions had this table, without keys
        del tree["canon"]
    return tree, _line_numbers(text)


def _line_numbers(text: str) -> dict[str, int]:
    """Return the line number of each table and key; tomli does not tell them."""
    table = ""
    lines: dict[str, int] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if header := _TABLE.match(line):
            table = f"{_bare(header[1])}."
            lines.setdefault(table[:-1], number)
        elif key := _KEY.match(line):
            lines.setdefault(table + _bare(key[1]), number)
    return lines


def _bare(key: str) -> str:
    return re.sub(r"[\s\"']", "", key)


def _keys_of(name: str) -> list[str]:
    """Return the key that a variable sets: `CANON_LLM__MODEL_ID` is `llm`, `model_id`."""
    return name.removeprefix(PREFIX).lower().split("__")


def _from_text(name: str, text: str) -> Tree:
    keys = _keys_of(name)
    return _nested(keys, read_value(keys, text, name))


def read_value(keys: Sequence[str], text: str, source: str) -> Any:
    """Return a text as a value of the key's type. Raises `ConfigError`, also for an unknown key."""
    field = _field(keys)
    kind: Any = bool  # the switch of a plug-in's tool
    if field:
        kind = Annotated[field.annotation, field]
    elif not _accepts_any_key(keys):
        raise ConfigError(_unknown_text(keys, source))
    is_list = field is not None and get_origin(field.annotation) is tuple
    try:
        return TypeAdapter(kind).validate_python(
            _read_list(text) if is_list else text, strict=False
        )
    except ValidationError as error:
        raise ConfigError(_error_texts(error, {}, source, tuple(keys))) from error


def _unknown_text(keys: Sequence[str], source: object) -> str:
    key = ".".join(keys)
    if section := _section(keys):
        names = ", ".join(section.model_fields)
        return f"{source}: {key} is a table; its keys are {names}"
    return f"{source}: {key}: unknown key{_keys_beside(keys)}"


def _accepts_any_key(keys: Sequence[str]) -> bool:
    """Return whether a key's section accepts further keys, as `[llm.tools]` does."""
    section = _section(keys[:-1])
    return section is not None and section.model_config.get("extra") == "allow"


def _section(keys: Sequence[str]) -> type[BaseModel] | None:
    """Return the section at a path of keys, if there is one."""
    model: type[BaseModel] = Config
    for key in keys:
        field = model.model_fields.get(key)
        if field is None or not _is_section(field.annotation):
            return None
        model = cast("type[BaseModel]", field.annotation)
    return model


def _field(keys: Sequence[str]) -> FieldInfo | None:
    """Return the field at a path of keys, None for a section and for an unknown path."""
    section = _section(keys[:-1])
    field = section.model_fields.get(keys[-1]) if section else None
    return None if field is None or _is_section(field.annotation) else field


def _read_list(text: str) -> list[str]:
    """Return the items of a JSON list, or of a list with commas."""
    try:
        value = json.loads(text)
    except ValueError:
        value = text.split(",")
    items = value if isinstance(value, list) else [value]
    return [str(item).strip() for item in items if str(item).strip()]


def _nested(keys: list[str], value: Any) -> Tree:
    for key in reversed(keys):
        value = {key: value}
    return dict(value)


def _merge(merged: Tree, layer: Tree) -> None:
    for key, value in layer.items():
        if isinstance(value, dict) and isinstance(merged.get(key), dict):
            _merge(merged[key], value)
        else:
            merged[key] = value


def _error_texts(
    error: ValidationError, origins: Mapping[str, str], source: object, below: tuple[str, ...] = ()
) -> str:
    """Return a sentence for each wrong key; for a list, only about its wrong items."""
    texts: dict[tuple[str, ...], str] = {}
    for detail in error.errors():
        path = (*below, *map(str, detail["loc"]))
        if not any(inner[: len(path)] == path for inner in texts):
            texts[path] = _error_text(detail, path, origins, source)
    return "; ".join(texts.values())


def _error_text(
    detail: ErrorDetails, path: tuple[str, ...], origins: Mapping[str, str], source: object
) -> str:
    key = ".".join(path)
    keys = (".".join(path[:end]) for end in range(len(path), 0, -1))
    origin = next((origins[name] for name in keys if name in origins), None)
    place = f"{origin or source or 'configuration'}: {key}"
    if detail["type"] == "extra_forbidden":
        return _unknown_text(path, origin or source or "configuration")
    return f"{place}: {_defect(detail, path)}"


def _defect(detail: ErrorDetails, path: tuple[str, ...]) -> str:
    """Return the problem of a key: its value, and what is allowed."""
    if detail["type"] == "value_error":
        return detail["msg"].removeprefix("Value error, ")
    if detail["type"] == "string_pattern_mismatch" and (field := _field(path)):
        allowed = f"{field.description} is allowed"
    else:
        kind, _, defect = detail["type"].partition("_")
        allowed_type = _ALLOWED.get(kind) if defect in ("type", "parsing") else None
        allowed = allowed_type or detail["msg"].replace("Input should be", "it must be")
    value = detail["input"]
    value_text = repr(masked(value)) if isinstance(value, str) else masked(repr(value))
    if isinstance(value, bool):
        value_text = str(value).lower()  # as TOML writes it
    return f"found {value_text}; {allowed}"


def model_options(options: Mapping[str, Any]) -> LLMConfig:
    """Return the configuration of a model from arguments of a program.

    Raises `ConfigError`, which names the arguments.
    """
    try:
        return LLMConfig.model_validate(options)
    except ValidationError as error:
        texts: dict[str, str] = {}
        for detail in error.errors():
            path = tuple(map(str, detail["loc"]))
            name = f"{path[0]}: " if path else ""
            texts.setdefault(name, f"{name}{_defect(detail, ('llm', *path))}")
        raise ConfigError("; ".join(texts.values())) from error


_ALLOWED = {
    "int": "a whole number is allowed",
    "float": "a number is allowed",
    "bool": "true or false is allowed",
    "string": "text in quotes is allowed",
    "tuple": "a list is allowed",
    "model": "a table of keys is allowed, such as [llm]",
}
"""What is allowed, by the first word of pydantic's error type: `int_type`, `int_parsing`."""


def _keys_beside(path: Sequence[str]) -> str:
    """Return a suggestion for an unknown key, and the keys that are allowed in its section."""
    section = _section(path[:-1])
    names = ", ".join(section.model_fields) if section else ""
    allowed = f"allowed here: {names}" if names else "see all keys: canon config show"
    return f"{_suggestion(path)}; {allowed}"


def _suggestion(path: Sequence[str]) -> str:
    """Return a suggestion in brackets for an unknown key; empty if no key is similar."""
    if section := _section(path):
        key = ".".join((*path, next(iter(section.model_fields))))
        return f" (it is a section: did you mean '{key}'?)"
    section = _section(path[:-1])
    close = difflib.get_close_matches(path[-1], section.model_fields, n=1) if section else []
    elsewhere = [key for key in _all_keys(Config) if key.rpartition(".")[2] == path[-1]]
    names = " or ".join(map(repr, elsewhere or close))
    return f" (did you mean {names}?)" if names else ""


def key_names() -> Iterator[str]:
    """Yield the dotted name of every key."""
    return (key for key in _all_keys(Config) if _field(key.split(".")))


def values_of(key: str) -> tuple[str, ...]:
    """Return the values that a key may have, if there are few."""
    field = _field(key.split("."))
    kind = field.annotation if field else None
    if kind is bool:
        return "true", "false"
    return get_args(kind) if get_origin(kind) is Literal else ()


def _all_keys(model: Any, prefix: str = "") -> Iterator[str]:
    """Yield the dotted names of all sections and keys."""
    for name, field in model.model_fields.items():
        yield f"{prefix}{name}"
        if _is_section(field.annotation):
            yield from _all_keys(field.annotation, f"{prefix}{name}.")


def _is_section(model: Any) -> bool:
    return isinstance(model, type) and issubclass(model, BaseModel)
