"""The effective configuration: flags over environment over a file over the defaults."""

import difflib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, get_origin

import platformdirs
import tomli
from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from chart_binder.config import Config
from chart_binder.errors import ConfigError, masked

PREFIX = "CANON_"
_TABLE_TWICE = re.compile(r"Cannot declare \((.*)\) twice (\(.*\))")
_FOUND_HERE = " (it was read because it is in this folder; --config FILE names another)"
Tree = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Settings:
    """A configuration, the file it was read from, and the source of each key that was set."""

    config: Config
    file: Path | None
    origins: Mapping[str, str]
    hint: str = ""
    """Added to an error in a file that was found and not named."""

    def refuse(self, problems: Mapping[str, str]) -> None:
        """Raise `ConfigError` if there are problems, with each key's source."""
        if problems:
            sources = {key: self.origins.get(key, "configuration") for key in problems}
            sentences = (f"{sources[key]}: {problem}" for key, problem in problems.items())
            hint = self.hint if str(self.file) in sources.values() else ""
            raise ConfigError("; ".join(sentences) + hint)


def data_folder() -> Path:
    """Where the store and recorded transcripts live on this platform."""
    return platformdirs.user_data_path("canon", appauthor=False)


def config_candidates() -> tuple[Path, ...]:
    """Where `config.toml` is looked for; the first that exists is read, files are not merged."""
    return Path("config.toml"), platformdirs.user_config_path(
        "canon", appauthor=False
    ) / "config.toml"


def found_file() -> Path | None:
    """Return the configuration file that is read where none is named."""
    return next((path for path in config_candidates() if path.is_file()), None)


def load_settings(
    file: Path | None, environment: Mapping[str, str], flags: Mapping[str, Any]
) -> Settings:
    """Merge the layers; `flags` has dotted keys.

    Raises `ConfigError` that names the source, the key, what was found and what is allowed.
    """
    found = file or found_file()
    layers: list[tuple[str, Tree]] = [(str(found), _read_file(found))] if found else []
    variables = sorted(name for name in environment if name.startswith(PREFIX))
    layers += [(name, _from_text(name, environment[name])) for name in variables]
    layers += [("command line", _nested(key.split("."), value)) for key, value in flags.items()]
    merged: Tree = {}
    origins: dict[str, str] = {}
    for source, tree in layers:
        _merge(merged, tree)
        origins |= {key: source for key, _ in dotted_keys(tree)}
    hint = "" if file or found != config_candidates()[0] else _FOUND_HERE
    try:
        return Settings(Config.model_validate(merged), found, origins, hint)
    except ValidationError as error:
        raise ConfigError(_error_texts(error, origins, found) + hint) from error


def dotted_keys(tree: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every key of nested tables in dotted form, with its value."""
    for key, value in tree.items():
        if isinstance(value, dict):
            yield from dotted_keys(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _read_file(path: Path) -> Tree:
    try:
        return tomli.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read ({error.strerror or error})") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: no TOML: {error}") from error
    except tomli.TOMLDecodeError as error:
        defect = str(error).replace("Cannot overwrite a value", "a key stands there twice")
        if twice := _TABLE_TWICE.fullmatch(defect):  # it shows Python's values
            table = ".".join(re.findall(r"'([^']*)'", twice[1]))
            defect = (
                f"the table [{table}] stands there twice {twice[2]}: put the keys of the second"
                " into the first"
            )
        raise ConfigError(f"{path}: no TOML: {defect}") from error


def _from_text(name: str, text: str) -> Tree:
    """Read a variable's text as the type of its key; unknown keys are reported by validation."""
    if "__" not in name:
        raise ConfigError(
            f"{name}: no such variable; section and key are joined by two underscores, as in"
            " CANON_LLM__MODEL_ID"
        )
    keys = name.removeprefix(PREFIX).lower().split("__")
    field = _field(keys)
    if field is None:
        return _nested(keys, text)
    is_list = get_origin(field.annotation) is tuple
    kind: Any = Annotated[field.annotation, field]
    try:
        value = TypeAdapter(kind).validate_python(_listed(text) if is_list else text, strict=False)
        return _nested(keys, value)
    except ValidationError as error:
        raise ConfigError(_error_texts(error, {}, name, tuple(keys))) from error


def _field(keys: list[str]) -> FieldInfo | None:
    """Return the field that dotted keys lead to, unless they lead to a section or nowhere."""
    model: Any = Config
    field = None
    for key in keys:
        field = model.model_fields.get(key) if _is_section(model) else None
        model = field.annotation if field else None
    return None if _is_section(model) else field


def _listed(text: str) -> list[str]:
    """Read a JSON list, or words between commas."""
    try:
        read = json.loads(text)
    except ValueError:
        read = text.split(",")
    items = read if isinstance(read, list) else [read]
    return [str(item).strip() for item in items if str(item).strip()]


def _nested(keys: list[str], value: Any) -> Tree:
    for key in reversed(keys):
        value = {key: value}
    return dict(value)


def _merge(below: Tree, above: Tree) -> None:
    for key, value in above.items():
        if isinstance(value, dict) and isinstance(below.get(key), dict):
            _merge(below[key], value)
        else:
            below[key] = value


def _error_texts(
    error: ValidationError, origins: Mapping[str, str], source: object, below: tuple[str, ...] = ()
) -> str:
    """Return one sentence for each wrong key, the innermost where a list and its item are wrong."""
    told: dict[tuple[str, ...], str] = {}
    for detail in error.errors():
        path = (*below, *map(str, detail["loc"]))
        if not any(inner[: len(path)] == path for inner in told):
            told[path] = _error_text(detail, path, origins, source)
    return "; ".join(told.values())


def _error_text(
    detail: ErrorDetails, path: tuple[str, ...], origins: Mapping[str, str], source: object
) -> str:
    key = ".".join(path)
    place = f"{origins.get(key) or source or 'configuration'}: {key}"
    if detail["type"] == "extra_forbidden" and key in KEYS_OF_EARLIER_VERSIONS:
        return f"{place}: there is no such key any more: {KEYS_OF_EARLIER_VERSIONS[key]}"
    if detail["type"] == "extra_forbidden":
        return f"{place}: unknown key; allowed here: {_keys_beside(path)}"
    if detail["type"] == "value_error":
        return f"{place}: {detail['msg'].removeprefix('Value error, ')}"
    if detail["type"] == "string_pattern_mismatch" and (field := _field(list(path))):
        allowed = f"this is its meaning: {field.description}"
    else:
        kind, _, defect = detail["type"].partition("_")
        known = _ALLOWED.get(kind) if defect in ("type", "parsing") else None
        allowed = known or detail["msg"].replace("Input should be", "it must be")
    value = detail["input"]
    found = repr(masked(value)) if isinstance(value, str) else masked(repr(value))
    return f"{place}: found {found}; {allowed}"


KEYS_OF_EARLIER_VERSIONS = {
    "llm.acceptance.write_min_sources": "what is accepted may be written, and min_sources says"
    " how many independent sources that takes",
}
"""What to use in place of keys of earlier versions."""
_ALLOWED = {
    "int": "a whole number is allowed",
    "float": "a number is allowed",
    "bool": "true or false is allowed",
    "string": "text in quotes is allowed",
    "tuple": "a list is allowed",
    "model": "a table of keys is allowed, such as [llm]",
}
"""What is allowed, by the type in pydantic's name for the error: `int_type`, `int_parsing`."""


def _keys_beside(path: tuple[str, ...]) -> str:
    model: Any = Config
    for key in path[:-1]:
        model = model.model_fields[key].annotation
    names = list(model.model_fields) if _is_section(model) else []
    close = difflib.get_close_matches(path[-1], names, n=1)
    return ", ".join(names) + (f" (did you mean {close[0]!r}?)" if close else "")


def _is_section(model: Any) -> bool:
    return isinstance(model, type) and issubclass(model, BaseModel)
