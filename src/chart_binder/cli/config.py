"""`canon config`: the effective configuration, and where it comes from."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import click
import msgspec

from chart_binder.cli.options import Group, Session, common_options, pass_session
from chart_binder.cli.terminal import columns, fitted, harmless, terminal_width, wrapped
from chart_binder.config.load import config_candidates
from chart_binder.errors import masked
from chart_binder.jobs.parse import effective_prompt
from chart_binder.wiring import store_url, transcripts_folder

_SOURCE = 60
"""The column in which a key's source stands, where there is room for it."""
_INDENT = 4


@click.group("config", cls=Group)
@common_options
def command() -> None:
    """Show the effective configuration and where it comes from."""


@command.command("show")
@common_options
@pass_session
def show(session: Session) -> None:
    """Print every key with its value, and who set it; secrets are masked."""
    settings = session.settings
    rows = list(_rows(settings.config.model_dump(mode="json")))
    if session.as_json:
        for key, value in rows:
            source = settings.origins.get(key, "default")
            click.echo(msgspec.json.encode({"key": key, "value": value, "source": source}))
        return
    for key, value in rows:
        for line in _folded(key, value, settings.origins.get(key, "default"), terminal_width()):
            click.echo(line)


def _folded(key: str, value: object, source: str, width: int) -> Iterator[str]:
    """Yield a key with its value and, beside it or below where there is no room, its source."""
    shown = f"{key} = {json.dumps(value, ensure_ascii=False)}"
    *others, last = wrapped(shown, width, "", _INDENT)
    yield from others
    comment = f"# {source}"
    room = min(_SOURCE, width - columns(comment) - 1)
    if columns(last) <= room:
        yield f"{fitted(last, room)} {comment}"
    elif columns(f"{last} {comment}") <= width:
        yield f"{last} {comment}"
    else:
        yield from (last, f"{'':{_INDENT}}{comment}")


@command.command("path")
@common_options
@pass_session
def path(session: Session) -> None:
    """Print which files are read, and where the store and the transcripts are."""
    settings = session.settings
    places = {
        "config": str(settings.file.absolute()) if settings.file else None,
        "looked_for": [str(candidate) for candidate in config_candidates()],
        "store": masked(store_url(settings.config)),
        "transcripts": str(transcripts_folder()),
    }
    if session.as_json:
        click.echo(msgspec.json.encode(places))
        return
    none = f"none: built-in defaults; make {config_candidates()[-1]} to change them"
    click.echo(f"configuration  {places['config'] or none}")
    click.echo(f"looked for     {', '.join(map(str, config_candidates()))}")
    click.echo(f"store          {places['store']}")
    click.echo(f"transcripts    {places['transcripts']}")


@command.command("prompt")
@common_options
@pass_session
def prompt(session: Session) -> None:
    """Print the system prompt as a run would send it, and what is asked below the evidence."""
    found = effective_prompt(session.config)
    if session.as_json:
        click.echo(msgspec.json.encode(found))
        return
    click.echo(harmless(found.system))
    click.echo(f"\n## Your Task\n{harmless(found.task)}")
    click.echo(f"canon: prompt {found.prompt_version}, dialect {found.dialect}", err=True)


def _rows(tree: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in tree.items():
        if isinstance(value, dict):
            yield from _rows(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", masked(value) if isinstance(value, str) else value
