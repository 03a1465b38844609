"""Change keys of a configuration file, but not its comments and order."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import tomli
import tomlkit

from chart_binder.config.load import parse_file, read_file
from chart_binder.errors import ConfigError, FileError
from chart_binder.files import replace_file

NEW_FILE = "# canon: `canon config show` lists every key with its value and where it comes from.\n"
"""The text of a new configuration file, before any key is set."""


def text_of(path: Path) -> str:
    """Return the text of a configuration file, or `NEW_FILE`. Raises `ConfigError`."""
    return read_file(path) if path.exists() else NEW_FILE


def with_values(text: str, values: Mapping[str, Any], path: Path) -> str:
    """Return the text of a configuration file with some keys set; `values` has dotted keys.

    Raises `ConfigError`, also if any other key would change.
    """
    expected, _ = parse_file(text, path)
    try:
        document = tomlkit.parse(text)
        for key, value in values.items():
            plain = list(value) if isinstance(value, tuple) else value
            _set(expected, key.split("."), plain)
            if isinstance(value, Mapping):
                plain = tomlkit.inline_table()
                plain.update(value)
            _set(document, key.split("."), plain, tomlkit.table)
        changed = f"{document.as_string().rstrip()}\n"
        is_right = tomli.loads(changed) == expected
    except (ValueError, TypeError) as error:  # tomlkit's errors are ValueErrors
        raise ConfigError(f"{path}: cannot be changed: {error}; try canon config edit") from error
    if not is_right:
        raise ConfigError(f"{path}: other keys would change; try canon config edit")
    return changed


def _set(tree: Any, keys: list[str], value: Any, table: Callable[[], Any] = dict) -> None:
    """Set a key of nested tables; missing tables are added."""
    *tables, name = keys
    is_new = False
    for key in tables:
        if is_new := key not in tree:
            tree[key] = table()
        tree = tree[key]
    tree[name] = value
    if is_new and isinstance(tree, tomlkit.items.Table):
        tree.add(tomlkit.nl())


def save_text(path: Path, text: str) -> None:
    """Replace a configuration file in one step, so that it always has the old or the new text.

    Raises `FileError`.
    """
    try:
        path.resolve().parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, text.encode())
    except OSError as error:
        raise FileError(f"{path}: cannot be written ({error.strerror or error})") from error
