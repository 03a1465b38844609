"""A recorded run as one page for a browser, from the template `run_page.html`.

Every value that the template prints passes `safe_text`, then Jinja2's escaping.
"""

import base64
import hashlib
from collections.abc import Iterator
from importlib import resources
from typing import Any
from urllib.parse import urlsplit

import msgspec

from chart_binder.cli.output import safe_text
from chart_binder.cli.render.decision import (
    find_entities,
    group_name,
    musicbrainz_page,
    release_name,
)
from chart_binder.errors import counted
from chart_binder.jobs.transcripts import RecordedRun
from chart_binder.react.dialect import Dialect
from chart_binder.react.steps import Act, Finish
from chart_binder.react.transcript import Replied, Stepped, Turn

_MAX_CANDIDATES = 40


def run_page(name: str, recorded: RecordedRun) -> str:
    """Return the page, which runs no script and loads nothing; `name` is the transcript's.

    A policy in the page itself forbids everything but its own style, should markup from outside
    ever get past the escaping.
    """
    from jinja2 import Environment, StrictUndefined
    from markupsafe import Markup

    folder = resources.files("chart_binder.cli.render")
    style = folder.joinpath("run_page.css").read_text("utf-8")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()

    def printable(value: object) -> str:
        if isinstance(value, Markup):
            return value
        return "" if value is None else safe_text(str(value).replace("\r\n", "\n"))

    environment = Environment(
        autoescape=True,
        finalize=printable,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.tests["web_address"] = _is_web_address
    environment.globals["page"] = musicbrainz_page
    environment.filters["json"] = lambda value: msgspec.json.encode(value).decode()
    template = environment.from_string(folder.joinpath("run_page.html").read_text("utf-8"))
    recordings = recorded.bundle.recording_candidates if recorded.bundle else ()
    groups = {group.mb_rg_id: group for each in recordings for group in each.groups}
    candidates = [(group, group_name(group)) for group in groups.values()]
    return template.render(
        style=Markup(style),  # noqa: S704 - our own file
        digest=digest,
        about=(recorded.bundle and recorded.bundle.name) or name,
        recorded=recorded,
        result=recorded.outcome,
        candidates=candidates[:_MAX_CANDIDATES],
        more_candidates=max(len(candidates) - _MAX_CANDIDATES, 0),
        turns=(_turn(turn, recorded.dialect) for turn in recorded.turns),
        particulars=_particulars(name, recorded),
        **_names(recorded),
    )


def _is_web_address(url: str) -> bool:
    """Say whether a text can be a link; anything else that calls itself an address cannot."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    is_plain = url.isprintable() and not any(character.isspace() for character in url)
    return is_plain and parts.scheme in ("http", "https") and bool(parts.hostname)


def _names(recorded: RecordedRun) -> dict[str, Any]:
    result = recorded.outcome
    if result is None:
        return {}
    group, release = find_entities(recorded.bundle, result.crg_mbid, result.rr_mbid)
    subjects = {
        fact.about: find_entities(recorded.bundle, fact.about, None)[0] for fact in result.facts
    }
    return {
        "group": group_name(group) if group else "",
        "release": release_name(release) if release else "",
        "subjects": {mbid: group_name(each) if each else mbid for mbid, each in subjects.items()},
    }


def _turn(turn: Turn, dialect: Dialect | None) -> dict[str, Any]:
    """Return a turn for the template; without its dialect a reply is shown as it was written."""
    reply = turn.reply
    step = dialect.parse(reply.content) if dialect else None
    return {
        "number": turn.number,
        "reply": reply,
        "cost": ", ".join(_cost(reply)),
        "is_parsed": isinstance(step, Act | Finish),
        "thought": step.thought if isinstance(step, Act | Finish) else None,
        "answer": step.answer if isinstance(step, Finish) else None,
        "exchanges": [
            (each.step, _arguments(each.step) if each.step else "", each.observation)
            for each in turn.exchanges
        ],
    }


def _cost(reply: Replied) -> Iterator[str]:
    if reply.seconds:
        yield f"{reply.seconds:.1f} s"
    if reply.prompt_tokens or reply.completion_tokens:
        yield f"{reply.prompt_tokens or 0} + {reply.completion_tokens or 0} tokens"
    if reply.done_reason not in (None, "stop"):
        yield f"ended by {reply.done_reason}"


def _arguments(step: Stepped) -> str:
    if isinstance(step.arguments, str):
        return step.arguments
    return msgspec.json.encode(step.arguments or {}).decode()


def _particulars(name: str, recorded: RecordedRun) -> dict[str, str]:
    rows: dict[str, str | None] = {"transcript": name}
    run, result = recorded.run, recorded.outcome
    if run:
        rows |= {
            "run": run.id,
            "started": run.started_at,
            "model": run.model_id,
            "dialect": run.dialect,
            "prompt": run.prompt_version,
            "evidence": run.evidence_hash,
        }
    if result:
        usage = result.usage
        rows["turns"] = counted(result.iterations, "turn")
        rows["tokens"] = f"{usage.prompt_tokens} read, {usage.completion_tokens} written"
        rows["time"] = f"{usage.model_seconds:.1f} s model, {usage.tool_seconds:.1f} s tools"
    return {key: value for key, value in rows.items() if value}
