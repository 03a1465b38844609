"""`canon model`: an exam for the configured model."""

from time import monotonic

from chart_binder.cli import options, output
from chart_binder.cli.config import model_build
from chart_binder.config import LLMConfig
from chart_binder.errors import LookupFailedError, UsageError
from chart_binder.jobs.model_check import ExamResult, find_result, save_result
from chart_binder.llm.model_exam import (
    MAX_LET_THROUGH,
    MIN_TAKEN,
    Score,
    examine,
    read_passages,
    read_runs,
)
from chart_binder.llm.react_adjudicator import load_model, load_reader
from chart_binder.react.conversation import ChatError
from chart_binder.wiring import exam_results

_NOTED_EVERY = 10
_BELOW = 3


@options.group("model")
def model() -> None:
    """Examine the configured model."""


@model.command("check")
@options.pass_session
def check(session: options.Session) -> int:
    """Let the model read sixty passages and play ten short runs, and keep what it got.

    A model below the bar may propose and not decide by what prose says. Nothing but the model's
    server is asked; on a fast one it takes a minute.

    Exit status: 0 at or above the bar, 3 below it, 1 the model could not be asked, 130 interrupted.
    """
    config = session.config.llm
    if config.provider == "replay":
        raise UsageError("llm.provider = replay plays a transcript, so there is no model to check")
    if session.config.musicbrainz.offline:
        raise UsageError("canon model check asks the model's server, and this call is offline")
    find_result(exam_results(), config)  # a file that cannot be read shall not cost an exam
    build, started = model_build(config), monotonic()
    if not session.quiet:
        reader = config.acceptance.reader_model_id or config.model_id
        plan = "reads 60 passages, then 10 runs are played; if you interrupt it, no result is kept"
        output.print_notes([f"{config.model_id} at {config.base_url}: {reader} {plan}"])
    score = _examined(session, config)
    result = ExamResult.now(config, score, build, monotonic() - started)
    save_result(exam_results(), result)
    bar = f"the bar: at least {MIN_TAKEN:.0%} of true ones, at most {MAX_LET_THROUGH:.0%} of others"
    said = f"{config.model_id}: {result.text}; {bar}; took {output.duration(result.seconds)}"
    session.show({"is_enough": score.is_enough, "result": result}, output.wrap(said, "", 4))
    words = ("decide", "FOLDER") if config.enabled else ("config", "set", "llm.enabled", "true")
    output.print_next(output.canon_call(*words))
    return 0 if score.is_enough else _BELOW


def _examined(session: options.Session, config: LLMConfig) -> Score:
    """Return the score of the exam; print how far it came if it is interrupted."""
    score, total, started = Score(), len(read_passages()) + len(read_runs()), monotonic()
    try:
        for score in examine(config, load_model(config), load_reader(config)):
            if score.asked % _NOTED_EVERY == 0:
                took = output.duration(monotonic() - started)
                output.print_notes([f"{score.asked} of {total} answered, {took}"])
    except KeyboardInterrupt:
        so_far = f"{score.asked} of {total} answered: {score.text}; no result is kept"
        session.show({"answered": score.asked, "of": total, "score": score}, ["", so_far])
        raise
    except ChatError as error:
        raise LookupFailedError(str(error)) from error
    return score
