"""Builds the site: `sphinx-build -W docs _site`, with the extra `docs`.

The pages are the Markdown files of this folder; `reference/` is made of the program at each build.
"""

import inspect
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import click

sys.path.insert(0, str(Path(__file__).parent))

import pictures

from chart_binder import __version__
from chart_binder.audio.field_table import FIELDS, FREE
from chart_binder.cli.main import canon
from chart_binder.rules.premiere import RULES

project = "canon"
author = "The canon authors"
copyright = author  # noqa: A001 (the name that Sphinx reads)
release = __version__
extensions = ["myst_parser", "sphinx.ext.autodoc"]
html_theme = "furo"
html_title = f"canon {release}"
myst_heading_anchors = 3
default_role = "code"  # docstrings put names in single backquotes
autodoc_typehints = "signature"
autodoc_member_order = "bysource"
exclude_patterns = ["_site"]
suppress_warnings = ["misc.highlighting_failure"]  # of examples with comments in JSON

REFERENCE = Path(__file__).parent / "reference"
PUBLIC = ("chart_binder", "chart_binder.react", "chart_binder.testing")


def commands(context: click.Context, depth: int = 2) -> Iterator[str]:
    """Yield the help of a command and of all commands below it."""
    command = context.command
    heading = "#" * min(depth, 4)
    yield f"{heading} {context.command_path}\n\n```text\n{command.get_help(context)}\n```\n"
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            member = command.get_command(context, name)
            if member and not member.hidden:
                yield from commands(click.Context(member, context, name), depth + 1)


def rules() -> Iterator[str]:
    """Yield each rule of the table with what its function says of it."""
    for code, rule in RULES:
        yield f"## {code}\n\n{inspect.getdoc(rule)}\n"


def tag_keys() -> Iterator[str]:
    """Yield the rows of a table of the tag fields with their keys in each format."""
    yield "| field | ID3 | Vorbis comment | MP4 | APE | ASF |\n|---|---|---|---|---|---|"
    for field in FIELDS:
        keys = (" ".join(f"`{key}`" for key in cell.primary) for cell in field.keys.values())
        yield f"| `{field.name}` | {' | '.join(keys)} |".replace(FREE, "")


def names(module: str) -> Iterator[str]:
    """Yield what documents each public name of a module."""
    exported = import_module(module)
    yield f"## {module}\n\n```{{eval-rst}}\n.. automodule:: {module}\n   :no-members:\n"
    lazy = getattr(exported, "_EXPORTS", {"": getattr(exported, "__all__", ())})
    for name in sorted(name for group in lazy.values() for name in group):
        value = getattr(exported, name)
        is_of_react = module == "chart_binder" and value.__module__.startswith(f"{module}.react.")
        if callable(value) and not is_of_react:
            is_class = inspect.isclass(value)
            directive, option = ("class", "   :members:\n") if is_class else ("function", "")
            yield f".. auto{directive}:: {module}.{name}\n{option}"
    yield "```\n"


def page(name: str, title: str, *parts: str) -> None:
    """Write a page of the reference."""
    REFERENCE.mkdir(exist_ok=True)
    (REFERENCE / f"{name}.md").write_text("\n".join((f"# {title}\n", *parts)), "utf-8")


page(
    "commands", "Commands", *commands(click.Context(canon, info_name="canon", max_content_width=80))
)
page("rules", "Rules", *rules())
page("tags", "Tag keys", *tag_keys())
page("keys", "Configuration keys", "```{literalinclude} ../../config.toml\n:language: toml\n```\n")
page("api", "Python API", *(part for module in PUBLIC for part in names(module)))

(REFERENCE / "timeline.svg").write_text(pictures.timeline(), "utf-8")
for name, title in pictures.SCREENS.items():
    (REFERENCE / f"{name}.svg").write_text(pictures.screen(name, title), "utf-8")
images = {"timeline": f"Where {pictures.CASE} may have come out first", **pictures.SCREENS}
page(
    "pictures",
    "Pictures",
    "Made of the golden cases and of the screens that the tests hold.\n",
    *(f"## {title}\n\n![{title}]({name}.svg)\n" for name, title in images.items()),
)
