"""The checks of `canon doctor`, on the services that configuration names."""

from collections.abc import Iterable

from chart_binder.chat import ollama_health, openai_health
from chart_binder.config import Config
from chart_binder.errors import ConfigError, LookupFailedError
from chart_binder.jobs.doctor import Check
from chart_binder.masking import masked
from chart_binder.musicbrainz.source import connect
from chart_binder.plugins import load
from chart_binder.store.store import Store
from chart_binder.web.outcomes import Degraded, Hits
from chart_binder.web.searxng import SearxngClient
from chart_binder.wiring import store_url

_OFFLINE = "not asked: offline (musicbrainz.offline is set)"
_MODEL_SERVERS = {"ollama": ollama_health.check, "openai": openai_health.check}
"""The providers that are asked whether they are well."""


def checks(config: Config) -> tuple[Check, ...]:
    """Return what to look into; a model is needed only where one is enabled."""
    return (
        Check("store", is_needed=True, ask=lambda: _store(config)),
        Check("musicbrainz", is_needed=True, ask=lambda: _musicbrainz(config)),
        Check("model", is_needed=config.llm.enabled, ask=lambda: _model(config)),
        Check("search", is_needed=False, ask=lambda: _search(config)),
    )


def _store(config: Config) -> str:
    with Store.open(store_url(config)) as store:
        store.answers.get("")
    return f"{masked(store_url(config))} can be written to"


def _musicbrainz(config: Config) -> str:
    with Store.open(store_url(config)) as store:
        health = connect(config.musicbrainz, store.answers, store.slots).check()
    if health.is_reachable is None:
        return _OFFLINE
    if not health.is_reachable:
        raise LookupFailedError(_joined(health.problems))
    return f"{health.host} answers" + "".join(f"; {problem}" for problem in health.problems)


def _model(config: Config) -> str:
    llm = config.llm
    advice = "" if llm.enabled else " (no model is asked: llm.enabled is false)"
    check = _MODEL_SERVERS.get(llm.provider)
    if check is None:
        return f"{load('chart_binder.chat_models', llm.provider)(llm).model_id} is loaded{advice}"
    if config.musicbrainz.offline:
        return _OFFLINE + advice
    health = check(llm)
    if health.problems:
        raise LookupFailedError(_joined(health.problems) + advice)
    server = f", {health.server}" if health.server else ""
    return f"{health.model_id} at {health.address}{server}{advice}"


def _search(config: Config) -> str:
    searxng = config.llm.searxng
    if not searxng.enabled:
        raise ConfigError("the model cannot search: set llm.searxng.enabled = true")
    if config.musicbrainz.offline:
        return _OFFLINE
    address = masked(searxng.url)
    outcome = SearxngClient(searxng).check()
    match outcome:
        case Degraded(failing=failing):
            names = ", ".join(f"{engine.engine} ({engine.reason})" for engine in failing)
            raise LookupFailedError(f"{address} answers, but its engines fail: {names}")
        case Hits(failing=failing) if failing:
            names = ", ".join(engine.engine for engine in failing)
            return f"{address} answers in JSON; failing engines: {names}"
        case _:
            return f"{address} answers in JSON"


def _joined(words: Iterable[str]) -> str:
    return "; ".join(words)
