"""`canon model`: test the configured model."""

from time import monotonic

from chart_binder.cli import options, output
from chart_binder.cli.doctor import model_build
from chart_binder.config import LLMConfig
from chart_binder.errors import LookupFailedError, UsageError
from chart_binder.llm.model_exam import (
    MAX_LET_THROUGH,
    MIN_TAKEN,
    ExamResult,
    Score,
    examine,
    find_result,
    read_passages,
    read_runs,
    save_result,
)
from chart_binder.llm.react_adjudicator import load_model, load_reader
from chart_binder.react.conversation import ChatError
from chart_binder.wiring import exam_results

_NOTED_EVERY = 10
_BELOW = 3


@options.group("model")
def model() -> None:
    """Test the configured model."""


@model.command("check")
@options.pass_session
def check(session: options.Session) -> int:
    """Let the model read sixty passages and make ten short runs, and store its score.

    If the score is below the bar, the model may only propose: what it reads in prose decides
    nothing. The check asks only the model's server, and takes about a minute on a fast one.

    Exit status: 0 at or above the bar, 3 below it, 1 the model could not be asked, 130 interrupted.
    """
    config = session.config.llm
    if config.provider == "replay":
        raise UsageError("llm.provider = replay plays a transcript: there is no model to check")
    if session.config.musicbrainz.offline:
        raise UsageError("canon model check asks the model's server, and this call is offline")
    find_result(exam_results(), config)  # fail on an unreadable file before the exam
    build, started = model_build(config), monotonic()
    if not session.quiet:
        reader = config.acceptance.reader_model_id
        plan = f"60 passages{f' (read by {reader})' if reader else ''}, then 10 runs"
        plan += "; an interrupted check stores no result"
        output.print_notes([f"{config.model_id} at {config.base_url}: {plan}"])
    score = _examined(session, config)
    result = ExamResult.now(config, score, build, monotonic() - started)
    save_result(exam_results(), result)
    text = f"{config.model_id} {result.text}"
    bar = f"the bar: at least {MIN_TAKEN:.0%} of the true, at most {MAX_LET_THROUGH:.0%} of others"
    lines = (*output.wrap(text, "", 4), *output.wrap(bar, "  ", 4))
    session.show({"is_enough": score.is_enough, "result": result}, lines)
    words = ("decide", "FOLDER") if config.enabled else ("config", "set", "llm.enabled", "true")
    output.print_next(output.canon_call(*words))
    return 0 if score.is_enough else _BELOW


def _examined(session: options.Session, config: LLMConfig) -> Score:
    """Return the score of the exam; if that is interrupted, print the score so far."""
    score, total, started = Score(), len(read_passages()) + len(read_runs()), monotonic()
    try:
        for score in examine(config, load_model(config), load_reader(config)):
            if score.asked % _NOTED_EVERY == 0:
                took = output.duration(monotonic() - started)
                output.print_notes([f"{score.asked} of {total} answered, {took}"])
    except KeyboardInterrupt:
        so_far = f"{score.asked} of {total} answered: {score.text}; no result is stored"
        session.show({"answered": score.asked, "of": total, "score": score}, ["", so_far])
        raise
    except ChatError as error:
        raise LookupFailedError(str(error)) from error
    return score
