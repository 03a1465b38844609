"""The effective configuration: flags over environment over a file over the defaults."""

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
    """A configuration, the file it was read from, and the source of each key that was set."""

    config: Config
    file: Path | None
    origins: Mapping[str, str]
    warnings: tuple[str, ...] = ()
    """Sentences about variables of the environment that are no keys."""

    def refuse(self, problems: Mapping[str, str]) -> None:
        """Raise `ConfigError` if there are problems, with each key's source."""
        if problems:
            sources = {key: self.origins.get(key, "configuration") for key in problems}
            sentences = (f"{sources[key]}: {problem}" for key, problem in problems.items())
            raise ConfigError("; ".join(sentences))


def data_folder() -> Path:
    """Where the store and recorded transcripts live on this platform."""
    return platformdirs.user_data_path("canon", appauthor=False)


def user_file() -> Path:
    """Where the user's own configuration is on this platform, whether it exists or not."""
    return platformdirs.user_config_path("canon", appauthor=False) / "config.toml"


def load_settings(
    file: Path | None,
    environment: Mapping[str, str],
    flags: Mapping[str, Any],
    text: str | None = None,
) -> Settings:
    """Merge the layers; `flags` has dotted keys, `text` is read in place of what the file holds.

    Raises `ConfigError` that names the source.
    """
    named = file or environment.get(FILE_VARIABLE)
    found = Path(named or user_file())
    has_file = bool(named) or found.is_file()
    if text is None:
        text = read_file(found) if has_file else ""
    tree, lines = parse_file(text, found)
    variables = sorted(
        name for name in environment if name.startswith(PREFIX) and name != FILE_VARIABLE
    )
    warnings = dict(_unknown_variables(variables))
    layers = [(str(found), tree)] if has_file else []
    layers += [
        (name, _from_text(name, environment[name])) for name in variables if name not in warnings
    ]
    layers += [("command line", _nested(key.split("."), value)) for key, value in flags.items()]
    places = {key: f"{found}, line {line}" for key, line in lines.items()}
    origins: dict[str, str] = {}
    merged: Tree = {}
    for source, layer in layers:
        _merge(merged, layer)
        of_layer = places if layer is tree else {}
        origins |= {key: of_layer.get(key, source) for key, _ in dotted_keys(layer)}
    try:
        config = Config.model_validate(merged)
    except ValidationError as error:
        read = found if has_file else None
        raise ConfigError(_error_texts(error, places | origins, read)) from error
    return Settings(config, found if has_file else None, origins, tuple(warnings.values()))


def _unknown_variables(names: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield the variables that are no keys, each with a sentence that says so."""
    for name in names:
        keys = _keys_of(name)
        key = ".".join(keys)
        if _field(keys) or (_is_open(keys) and keys[-1] in _installed_tools()):
            continue
        removed = REMOVED_KEYS.get(key)
        reason = f"no such key any more: {removed}" if removed else f"no key {key}{_meant(keys)}"
        if _is_open(keys):
            reason = f"no tool {keys[-1]} installed; there are {', '.join(_installed_tools())}"
        yield name, f"{name} is passed over: there is {reason}"


def _installed_tools() -> Sequence[str]:
    from importlib.metadata import entry_points  # slow, and needed for few variables

    return sorted({point.name for point in entry_points(group="chart_binder.tools")})


def dotted_keys(tree: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every key of nested tables in dotted form, with its value."""
    for key, value in tree.items():
        if isinstance(value, dict) and value:
            yield from dotted_keys(value, f"{prefix}{key}.")
        elif prefix:  # a table without keys says nothing, a key that holds none does
            yield f"{prefix}{key}", value


def read_file(path: Path) -> str:
    """Return the text of a configuration file. Raises `ConfigError`."""
    try:
        return path.read_text(encoding="utf-8-sig")  # some editors put a byte-order mark first
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read ({error.strerror or error})") from error
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise ConfigError(f"{path}, line {line}: no TOML: {error}") from error


def parse_file(text: str, path: Path) -> tuple[Tree, dict[str, int]]:
    """Return the tables of a file, and the line of each table and key by its dotted name.

    Raises `ConfigError`.
    """
    try:
        tree = tomli.loads(text)
    except tomli.TOMLDecodeError as error:
        defect = str(error).replace("Cannot overwrite a value", "a key is there twice")
        if twice := _TABLE_TWICE.fullmatch(defect):  # it shows Python's values
            table = ".".join(re.findall(r"'([^']*)'", twice[1]))
            defect = (
                f"the table [{table}] is there twice {twice[2]}: put the keys of the second"
                " into the first"
            )
        raise ConfigError(f"{path}: no TOML: {defect}") from error
    if tree.get("canon") == {}:  # earlier versions had this table, without keys
        del tree["canon"]
    return tree, _line_numbers(text)


def _line_numbers(text: str) -> dict[str, int]:
    """Return where tables and keys stand, for messages; tomli does not tell."""
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
    """Return a text as the type of a key. Raises `ConfigError`, also if there is no such key."""
    field = _field(keys)
    kind: Any = bool  # of a plug-in's tool
    if field:
        kind = Annotated[field.annotation, field]
    elif not _is_open(keys):
        raise ConfigError(_unknown_text(keys, source))
    is_list = field is not None and get_origin(field.annotation) is tuple
    try:
        return TypeAdapter(kind).validate_python(_listed(text) if is_list else text, strict=False)
    except ValidationError as error:
        raise ConfigError(_error_texts(error, {}, source, tuple(keys))) from error


def _unknown_text(keys: Sequence[str], source: object) -> str:
    key = ".".join(keys)
    if removed := REMOVED_KEYS.get(key):
        return f"{source}: {key}: there is no such key any more: {removed}"
    if section := _section(keys):
        names = ", ".join(section.model_fields)
        return f"{source}: {key} is a table; its keys are {names}"
    return f"{source}: {key}: unknown key{_keys_beside(keys)}"


def _is_open(keys: Sequence[str]) -> bool:
    """Tell whether a section may have keys that it does not name, as `[llm.tools]` may."""
    section = _section(keys[:-1])
    return section is not None and section.model_config.get("extra") == "allow"


def _section(keys: Sequence[str]) -> type[BaseModel] | None:
    """Return the section that keys lead to, if they lead to one."""
    model: type[BaseModel] = Config
    for key in keys:
        field = model.model_fields.get(key)
        if field is None or not _is_section(field.annotation):
            return None
        model = cast("type[BaseModel]", field.annotation)
    return model


def _field(keys: Sequence[str]) -> FieldInfo | None:
    """Return the field that keys lead to, unless they lead to a section or nowhere."""
    section = _section(keys[:-1])
    field = section.model_fields.get(keys[-1]) if section else None
    return None if field is None or _is_section(field.annotation) else field


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
    known = next((origins[each] for each in keys if each in origins), None)
    place = f"{known or source or 'configuration'}: {key}"
    if detail["type"] == "extra_forbidden":
        return _unknown_text(path, known or source or "configuration")
    return f"{place}: {_defect(detail, path)}"


def _defect(detail: ErrorDetails, path: tuple[str, ...]) -> str:
    """Return what was found for a key, and what is allowed."""
    if detail["type"] == "value_error":
        return detail["msg"].removeprefix("Value error, ")
    if detail["type"] == "string_pattern_mismatch" and (field := _field(path)):
        allowed = f"{field.description} is allowed"
    else:
        kind, _, defect = detail["type"].partition("_")
        known = _ALLOWED.get(kind) if defect in ("type", "parsing") else None
        allowed = known or detail["msg"].replace("Input should be", "it must be")
    value = detail["input"]
    found = repr(masked(value)) if isinstance(value, str) else masked(repr(value))
    if isinstance(value, bool):
        found = str(value).lower()  # as TOML writes it
    return f"found {found}; {allowed}"


def model_options(options: Mapping[str, Any]) -> LLMConfig:
    """Return the configuration of a model that a program makes with these arguments.

    Raises `ConfigError` that names the arguments.
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


REMOVED_KEYS = {
    "llm.samples": "each case has one run, and llm.acceptance.min_sources says how well its facts"
    " must be borne out",
    "llm.sample_temperature": "each case has one run, at llm.temperature",
    "llm.method": "a run has the tools that [llm.tools] turns on; without any the model answers"
    " from the evidence",
    "llm.auto_accept_threshold": "rules accept an answer, whatever its confidence;"
    " llm.acceptance.min_sources says how many independent sources that takes",
    "llm.prompt.version": "there is one prompt; the keys of [llm.prompt] replace its sections",
    "llm.prompt.exemplars": "the prompt has no examples",
    "llm.acceptance.basis": "rules decide in any case, and min_sources says how many independent"
    " sources that takes",
    "llm.acceptance.calibration": "confidence decides nothing; llm.review_threshold alone is"
    " compared with it, as the model states it",
    "llm.acceptance.write_min_sources": "what is accepted may be written, and min_sources says"
    " how many independent sources that takes",
}
"""What to use in place of keys that there are no more."""
_ALLOWED = {
    "int": "a whole number is allowed",
    "float": "a number is allowed",
    "bool": "true or false is allowed",
    "string": "text in quotes is allowed",
    "tuple": "a list is allowed",
    "model": "a table of keys is allowed, such as [llm]",
}
"""What is allowed, by the type in pydantic's name for the error: `int_type`, `int_parsing`."""


def _keys_beside(path: Sequence[str]) -> str:
    """Return what may be meant by an unknown key, and the keys that are allowed in its place."""
    section = _section(path[:-1])
    names = ", ".join(section.model_fields) if section else ""
    allowed = f"allowed here: {names}" if names else "no key is allowed here"
    return f"{_meant(path)}; {allowed}"


def _meant(path: Sequence[str]) -> str:
    """Return what may be meant by an unknown key, in brackets; nothing if no key is like it."""
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
