"""The page of a recorded run of a model: one file without scripts."""

from collections.abc import Iterator
from typing import Any

import msgspec

from chart_binder.errors import counted
from chart_binder.jobs import transcripts, wording
from chart_binder.pages.html import render_file
from chart_binder.react.steps import FinalAnswer, ToolCall
from chart_binder.react.transcript import ReplyEvent, StepEvent, TranscriptTurn

_MAX_CANDIDATES = 40


def run_page(name: str, recorded: transcripts.RecordedRun) -> str:
    """Return the page; its content policy forbids scripts and loading anything."""
    groups = recorded.bundle.groups if recorded.bundle else ()
    by_id = {group.mb_rg_id: group for group in groups}
    candidates = [(group, wording.group_name(group)) for group in by_id.values()]
    about = (recorded.bundle and recorded.bundle.name) or name
    return render_file(
        "run.html",
        "run.css",
        title=f"{about}: {recorded.result.outcome if recorded.result else 'no result'}",
        about=about,
        recorded=recorded,
        result=recorded.result,
        candidates=candidates[:_MAX_CANDIDATES],
        more_candidates=max(len(candidates) - _MAX_CANDIDATES, 0),
        turns=(_turn(turn, recorded) for turn in recorded.turns),
        particulars=_particulars(name, recorded),
        **_names(recorded),
    )


def _names(recorded: transcripts.RecordedRun) -> dict[str, Any]:
    result = recorded.result
    if result is None:
        return {}
    return {
        "names": wording.entity_names(recorded.bundle),
        "subjects": wording.entity_names(recorded.bundle, whole=True),
        "facts": wording.facts_by_claim(result.facts),
        "checks": wording.shown_checks(result),
    }


def _turn(turn: TranscriptTurn, recorded: transcripts.RecordedRun) -> dict[str, Any]:
    """Return a turn for the template; a reply of an unknown dialect is shown as plain text."""
    reply = turn.reply
    step = recorded.step(reply.content) if reply else None
    calls = [exchange.step for exchange in turn.exchanges if exchange.step]
    return {
        "number": turn.number,
        "reply": reply,
        "cost": ", ".join(_cost(reply)) if reply else "",
        "is_parsed": isinstance(step, ToolCall | FinalAnswer),
        "thoughts": [step.thought]
        if isinstance(step, ToolCall | FinalAnswer)
        else [call.thought for call in calls if call.thought],
        "answer": step.answer if isinstance(step, FinalAnswer) else None,
        "exchanges": [
            (item.step, _arguments(item.step) if item.step else "", item.observation)
            for item in turn.exchanges
        ],
        "readings": recorded.readings.get(turn.number, ()),
    }


def _cost(reply: ReplyEvent) -> Iterator[str]:
    if reply.seconds:
        yield f"{reply.seconds:.1f} s"
    if reply.prompt_tokens or reply.completion_tokens:
        yield f"{reply.prompt_tokens or 0} + {reply.completion_tokens or 0} tokens"
    if reply.done_reason not in (None, "stop"):
        yield f"ended by {reply.done_reason}"


def _arguments(step: StepEvent) -> str:
    if isinstance(step.arguments, str):
        return step.arguments
    return msgspec.json.encode(step.arguments or {}).decode()


def _particulars(name: str, recorded: transcripts.RecordedRun) -> dict[str, str]:
    rows: dict[str, str | None] = {"transcript": name}
    run, result = recorded.run, recorded.result
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
        rows["second readings"] = str(usage.readings or "")
        rows["time"] = f"{usage.model_seconds:.1f} s model, {usage.tool_seconds:.1f} s tools"
    return {key: value for key, value in rows.items() if value}
