"""Load the configuration: flags override variables, which override the file, then defaults."""

import difflib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin

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
_TOOLS = "llm.tools"
"""The section with a key for each installed tool, also for those of plug-ins."""
Tree = dict[str, Any]


def _fields(section: type[BaseModel], prefix: str = "") -> Iterator[tuple[str, FieldInfo]]:
    for name, field in section.model_fields.items():
        if isinstance(field.default, BaseModel):
            yield from _fields(type(field.default), f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", field


KEYS: Mapping[str, FieldInfo] = dict(_fields(Config))
"""Every key by its dotted name."""


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
    layers = [(str(path), tree)] if has_file else []
    warnings = []
    for name in sorted(environment):
        if name.startswith(PREFIX) and name != FILE_VARIABLE:
            key = name.removeprefix(PREFIX).lower().replace("__", ".")
            if _is_key(key):
                layers.append((name, _nested(key, read_value(key, environment[name], name))))
            else:
                warnings.append(f"{name} is ignored: {_unknown_text(key)}")
    layers += [("command line", _nested(key, value)) for key, value in flags.items()]
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
    return Settings(config, path if has_file else None, origins, tuple(warnings))


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
        return tomli.loads(text), _line_numbers(text)
    except tomli.TOMLDecodeError as error:
        raise ConfigError(f"{path}: not TOML: {error}") from error


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


def _is_key(key: str) -> bool:
    return key in KEYS or key.rpartition(".")[0] == _TOOLS


def read_value(key: str, text: str, source: str) -> Any:
    """Return a text as a value of the key's type. Raises `ConfigError`, also for an unknown key."""
    if not _is_key(key):
        raise ConfigError(f"{source}: {_unknown_text(key)}")
    field = KEYS.get(key)
    kind: Any = Annotated[field.annotation, field] if field else bool  # the switch of a tool
    is_list = field is not None and get_origin(field.annotation) is tuple
    try:
        return TypeAdapter(kind).validate_python(
            _read_list(text) if is_list else text, strict=False
        )
    except ValidationError as error:
        texts = _error_texts(error, {}, source, tuple(key.split(".")))
        raise ConfigError(texts, _defect(error.errors()[0], key)) from error


def _unknown_text(key: str) -> str:
    """Return that there is no such key, with the keys of its table, or similar names."""
    if in_table := [name for name in KEYS if name.startswith(f"{key}.")]:
        return f"{key} is a table with the keys {', '.join(in_table)}"
    names = [*KEYS, *{name.rpartition(".")[0]: name for name in KEYS}]
    table, _, last = key.rpartition(".")
    words = {name.rpartition(".")[2] for name in names}
    word = last if last in words else next(iter(difflib.get_close_matches(last, words, n=1)), None)
    similar = [name for name in names if name.rpartition(".")[2] == word]
    similar = [name for name in similar if name.rpartition(".")[0] == table] or similar
    hint = f" (did you mean {' or '.join(map(repr, similar))}?)" if similar else ""
    return f"{key}: unknown key{hint}; {_allowed_beside(key)}"


def _allowed_beside(key: str) -> str:
    """Return the keys and tables that are allowed in the table of an unknown key."""
    table = key
    while table:
        table = table.rpartition(".")[0]
        prefix = f"{table}." if table else ""
        if inner := [name.removeprefix(prefix) for name in KEYS if name.startswith(prefix)]:
            return f"allowed here: {', '.join(dict.fromkeys(name.split('.')[0] for name in inner))}"
    return ""


def _read_list(text: str) -> list[str]:
    """Return the items of a JSON list, or of a list with commas."""
    try:
        value = json.loads(text)
    except ValueError:
        value = text.split(",")
    items = value if isinstance(value, list) else [value]
    return [str(item).strip() for item in items if str(item).strip()]


def _nested(key: str, value: Any) -> Tree:
    for name in reversed(key.split(".")):
        value = {name: value}
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
    is_unknown = detail["type"] == "extra_forbidden"
    problem = _unknown_text(key) if is_unknown else f"{key}: {_defect(detail, key)}"
    return f"{origin or source or 'configuration'}: {problem}"


def _defect(detail: ErrorDetails, key: str) -> str:
    """Return the problem of a key: its value, and what is allowed."""
    if detail["type"] == "value_error":
        return str(detail["ctx"]["error"])
    if detail["type"] == "string_pattern_mismatch" and (field := KEYS.get(key)):
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
        raise ConfigError(_error_texts(error, {}, "options", ("llm",))) from error


_ALLOWED = {
    "int": "a whole number is allowed",
    "float": "a number is allowed",
    "bool": "true or false is allowed",
    "string": "text in quotes is allowed",
    "tuple": "a list is allowed",
    "model": "a table of keys is allowed, such as [llm]",
}
"""What is allowed, by the first word of pydantic's error type: `int_type`, `int_parsing`."""


def values_of(key: str) -> tuple[str, ...]:
    """Return the values that a key may have, if there are few."""
    field = KEYS.get(key)
    kind = field.annotation if field else None
    if kind is bool:
        return "true", "false"
    return get_args(kind) if get_origin(kind) is Literal else ()
