"""`canon doctor`: check the store and the services that the configuration names."""

from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from itertools import chain

import click
import msgspec

from chart_binder import plugins
from chart_binder.chat import ollama, openai
from chart_binder.cli import options, output
from chart_binder.config import Config, LLMConfig
from chart_binder.config.load import Settings, user_file
from chart_binder.errors import CanonError, LookupFailedError, masked
from chart_binder.llm.model_exam import HOW_TO_CHECK, find_result
from chart_binder.musicbrainz.index.dump import ADDRESS
from chart_binder.musicbrainz.index.layout import open_index, read_summary
from chart_binder.store import VERSION, open_store
from chart_binder.web.searxng import Degraded, NothingFound, SearchHits, SearxngClient
from chart_binder.wiring import exam_results, index_path, musicbrainz_source, store_url

_OFFLINE = "not asked: offline (musicbrainz.offline is set)"
_MODEL_SERVERS = {"ollama": ollama.check, "openai": openai.check}
_MORE_ENGINES = "turn others on, or these off, under engines in its settings.yml"
_NO_MODEL = "none is used: `canon config set llm.enabled true` turns one on"
_HOW_TO_FETCH = (
    f"for a newer one: `curl -O {ADDRESS}/$(curl -s {ADDRESS}/LATEST)/mbdump.tar.bz2`, then"
    " `canon index build mbdump.tar.bz2`"
)


_Check = tuple[str, str]
"""What a check found, and a remark if there is one."""


class DoctorFinding(msgspec.Struct, frozen=True, rename={"text": "said"}):
    """The result of a check, or its problem and how to fix it; `is_well` if the check is off."""

    name: str
    state: str
    is_needed: bool
    is_well: bool
    text: str


@click.command("doctor")
@options.pass_session
def doctor(session: options.Session) -> int:
    """Check the store, MusicBrainz, an index, the model and the search service.

    Each is `ok`, `off` (by the configuration or --offline), `warning` (there is a remark, or it
    fails but is optional) or `failed`.

    Exit status: 0 everything that is on works, 3 something optional does not, 1 something needed
    does not.
    """
    status = 0
    for finding in chain([_configuration(session.settings)], findings(session.config)):
        status = output.worst(status, show_finding(session, finding))
    call = "canon decide FOLDER" if session.settings.file else "canon init"
    output.print_next(call if status == 0 else "")
    return status


def show_finding(session: options.Session, finding: DoctorFinding) -> int:
    """Print a finding, and return the exit status that it leads to."""
    session.show(finding, output.wrap(finding.text, f"{finding.state:<8} {finding.name:<12} "))
    return 0 if finding.is_well else 1 if finding.is_needed else 3


def _configuration(settings: Settings) -> DoctorFinding:
    """Return which file was read; to have none is fine."""
    text = f"no file, so every key has its default; yours would be {user_file()}"
    if settings.file:
        text = f"{settings.file.absolute()} was read"
    return DoctorFinding("config", "ok", is_needed=True, is_well=True, text=text)


def findings(config: Config, only: str = "") -> Iterator[DoctorFinding]:
    """Check every service, or only one, and yield the results."""
    model_off = "" if config.llm.enabled else _NO_MODEL
    search_off = model_off and "not in use: only the model needs it"
    if not config.llm.searxng.enabled:
        search_off = "not in use: llm.searxng.enabled is false"
    is_offline = config.musicbrainz.offline
    source = config.musicbrainz.source
    needs_index = source in {"index", "index_then_web"}
    has_index = needs_index or (source == "auto" and index_path(config).is_file())
    names_index = has_index or (source == "auto" and config.musicbrainz.index)
    checks: tuple[tuple[str, bool, str, bool, Callable[[Config], _Check]], ...] = (
        ("store", True, "", True, _store),
        ("musicbrainz", True, "", not is_offline or has_index, _musicbrainz),
        *([("index", needs_index, "", True, _index)] if names_index else []),
        ("model", not model_off, model_off,
         config.llm.provider not in _MODEL_SERVERS or not is_offline, _model),
        ("search", False, search_off, not is_offline, _search),
    )  # fmt: skip
    for name, is_needed, why_off, is_asked, check in checks:
        if only not in ("", name):
            continue
        if why_off or not is_asked:
            yield DoctorFinding(name, "off", is_needed, is_well=True, text=why_off or _OFFLINE)
            continue
        try:
            (result, remark), is_well = check(config), True
        except CanonError as error:
            result, remark, is_well = str(error), "", False
        state = "ok" if is_well and not remark else "warning"
        if is_needed and not is_well:
            state = "failed"
        text = "; ".join(filter(None, (result, remark)))
        yield DoctorFinding(name, state, is_needed, is_well, text)


def _store(config: Config) -> _Check:
    with open_store(store_url(config)) as store:
        store.answers.forget("")  # changes nothing, because no answer has an empty key
    return f"{masked(store_url(config))} can be written to (schema {VERSION})", ""


def _musicbrainz(config: Config) -> _Check:
    with open_store(store_url(config)) as store:
        health = musicbrainz_source(config, store).check()
    if not health.is_reachable:
        raise LookupFailedError("; ".join(health.problems))
    return f"{health.host} answers", "; ".join(health.problems)


def _index(config: Config) -> _Check:
    path = index_path(config)
    with closing(open_index(path)) as file:
        summary = read_summary(file)
    age_days = summary.age_days(datetime.now(UTC))
    text = f"{path} has the dump of {summary.dumped_at:%Y-%m-%d}, {age_days:,.0f} days old"
    return text, _HOW_TO_FETCH if age_days > config.musicbrainz.max_age_days else ""


def _model(config: Config) -> _Check:
    llm = config.llm
    check = _MODEL_SERVERS.get(llm.provider)
    if check is None:
        model = plugins.load("chart_binder.chat_models", llm.provider)(llm)
        return f"{model.model_id} is loaded", ""
    health = check(llm)
    if health.problems:
        raise LookupFailedError("; ".join(health.problems))
    server = f", {health.server}" if health.server else ""
    window, remark, loaded = "", health.remark, health.loaded_length
    if health.context_length:
        window = f", up to {health.context_length} tokens (llm.num_ctx = {llm.num_ctx})"
    if loaded is not None:
        window += f", loaded with {loaded} tokens"
    if loaded is not None and loaded < llm.num_ctx:
        window += " only"
        remark += "; " * bool(remark) + (
            "canon will ask for more; if it is still so after a run, lower llm.num_ctx to"
            f" {loaded}, or give the server more memory"
        )
    text = f"{health.model_id} at {health.address}{server}{window}"
    text = f"{text}{_NOT_REPORTED.get(llm.provider, '')}"
    return f"{text}; {_checked(llm, health.build)}", remark


def _checked(llm: LLMConfig, build: str) -> str:
    """Return the result of `canon model check` for the model, as half a sentence."""
    result = find_result(exam_results(), llm)
    if result is None:
        return f"not checked yet, so it counts as above the bar: {HOW_TO_CHECK}"
    if result.build and build and result.build != build:
        return f"the model has changed since it was checked: {HOW_TO_CHECK}"
    return result.text


def model_build(llm: LLMConfig) -> str:
    """Return the build of the reading model, as its server reports it; empty if unknown."""
    check = _MODEL_SERVERS.get(llm.provider)
    reader_id = llm.acceptance.reader_model_id
    reader = llm.model_copy(update={"model_id": reader_id}) if reader_id else llm
    return check(reader).build if check else ""


_NOT_REPORTED = {
    "ollama": "; it does not report how many replies it writes at a time: to allow several, set"
    " OLLAMA_NUM_PARALLEL on the server; each takes memory for llm.num_ctx tokens"
}
"""Settings that a kind of server does not report, and how to set them."""


def _search(config: Config) -> _Check:
    searxng = config.llm.searxng
    answers = f"{masked(searxng.url)} answers"
    outcome = SearxngClient(searxng).search("MusicBrainz")  # a word that every engine finds
    failing = ", ".join(outcome.failing) if isinstance(outcome, Degraded | SearchHits) else ""
    if isinstance(outcome, Degraded):
        problem = "no result has a readable address: see its log"
        if failing:
            problem = f"its engines fail: {failing}: wait, or {_MORE_ENGINES}"
        raise LookupFailedError(f"{answers}, but {problem}")
    remark = f"failing engines: {failing}: {_MORE_ENGINES}" if failing else ""
    if not failing and isinstance(outcome, NothingFound):
        remark = "it finds nothing: is any engine on?"
    return f"{answers} in JSON", remark
