"""The checks of `canon doctor`, on the services that configuration names."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from chart_binder.chat import ollama, openai
from chart_binder.chat.served_model import Health
from chart_binder.config import Config
from chart_binder.errors import CanonError, ConfigError, LookupFailedError, masked
from chart_binder.musicbrainz.source import connect
from chart_binder.plugins import load
from chart_binder.store.sqlite_file import VERSION
from chart_binder.store.store import Store
from chart_binder.web.searxng import Degraded, Hits, NothingFound, SearxngClient
from chart_binder.wiring import store_url


@dataclass(frozen=True, slots=True)
class Check:
    """One thing to look into: `ask` returns what was found, or raises `CanonError` with the fix."""

    name: str
    is_needed: bool
    ask: Callable[[], str]


@dataclass(frozen=True, slots=True)
class Finding:
    """What came of a check."""

    name: str
    is_needed: bool
    is_well: bool
    said: str


def examine(checks: Iterable[Check]) -> Iterator[Finding]:
    """Carry the checks out, one after the other."""
    for check in checks:
        try:
            yield Finding(check.name, check.is_needed, is_well=True, said=check.ask())
        except CanonError as error:
            yield Finding(check.name, check.is_needed, is_well=False, said=str(error))


def status(findings: Iterable[Finding]) -> int:
    """Return the exit status: 0 all well, 3 something optional amiss, 1 something needed."""
    broken = [finding.is_needed for finding in findings if not finding.is_well]
    return 1 if any(broken) else 3 if broken else 0


_OFFLINE = "not asked: offline (musicbrainz.offline is set)"
_MODEL_SERVERS = {"ollama": ollama.check, "openai": openai.check}
"""The providers that are asked whether they are well."""
_UNTOLD = {
    "ollama": "; how many replies it writes at a time it does not tell: for several, set"
    " OLLAMA_NUM_PARALLEL there, each takes memory for llm.num_ctx tokens"
}
"""What a kind of server keeps to itself though it matters, and where it is set."""
_MORE_ENGINES = "turn others on, or these off, under engines in its settings.yml"


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
        store.answers.forget("")  # what was never kept: a write that changes nothing
    return f"{masked(store_url(config))} can be written to (schema {VERSION})"


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
    window = f", made for {health.context_length} tokens" if health.context_length else ""
    asked = f" (llm.num_ctx = {llm.num_ctx})" if window else ""
    more = _loaded(health, llm.num_ctx) + _UNTOLD.get(llm.provider, "")
    return f"{health.model_id} at {health.address}{server}{window}{asked}{more}{advice}"


def _loaded(health: Health, num_ctx: int) -> str:
    """Say what context the model really has, where it is loaded and the server tells."""
    tokens = health.loaded_length
    if tokens is None:
        return ""
    if tokens >= num_ctx:
        return f"; loaded with {tokens} tokens"
    return (
        f"; loaded with {tokens} tokens only, until canon asks for more; where it has no more after"
        f" a run, lower llm.num_ctx to {tokens}, or give the server more memory"
    )


def _search(config: Config) -> str:
    searxng = config.llm.searxng
    if not searxng.enabled:
        raise ConfigError("the model cannot search: set llm.searxng.enabled = true")
    if config.musicbrainz.offline:
        return _OFFLINE
    address = masked(searxng.url)
    outcome = SearxngClient(searxng).check()
    match outcome:
        case Degraded(failing=()):
            raise LookupFailedError(
                f"{address} answers, but no result has an address that can be read: see its log"
            )
        case Degraded(failing=failing):
            names = ", ".join(map(str, failing))
            raise LookupFailedError(
                f"{address} answers, but its engines fail: {names}: wait, or {_MORE_ENGINES}"
            )
        case Hits(failing=failing) if failing:
            names = ", ".join(map(str, failing))
            return f"{address} answers in JSON; failing engines: {names}: {_MORE_ENGINES}"
        case NothingFound():
            return f"{address} answers in JSON, but finds nothing: is any engine on?"
        case _:
            return f"{address} answers in JSON"


def _joined(words: Iterable[str]) -> str:
    return "; ".join(words)
