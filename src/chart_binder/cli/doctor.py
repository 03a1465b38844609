"""`canon doctor`: check the services that the configuration names, and say what to do."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import click

from chart_binder.chat import ollama, openai
from chart_binder.chat.served_model import Health
from chart_binder.cli.options import Session, pass_session
from chart_binder.cli.output import terminal_width, wrap
from chart_binder.config import Config
from chart_binder.errors import CanonError, ConfigError, LookupFailedError, masked
from chart_binder.musicbrainz.source import connect
from chart_binder.plugins import load
from chart_binder.store.sqlite_file import VERSION
from chart_binder.store.store import Store
from chart_binder.web.searxng import Degraded, Hits, NothingFound, SearxngClient
from chart_binder.wiring import store_url

_OFFLINE = "not asked: offline (musicbrainz.offline is set)"
_MODEL_SERVERS = {"ollama": ollama.check, "openai": openai.check}
"""How the server of a provider is checked."""
_NOT_REPORTED = {
    "ollama": "; how many replies it writes at a time it does not tell: for several, set"
    " OLLAMA_NUM_PARALLEL there, each takes memory for llm.num_ctx tokens"
}
"""What a kind of server does not report though it matters, and where it is set."""
_MORE_ENGINES = "turn others on, or these off, under engines in its settings.yml"


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of a check: what was found, or what is wrong and how to fix it."""

    name: str
    is_needed: bool
    is_well: bool
    said: str

    @property
    def mark(self) -> str:
        """The word that stands before it."""
        return "ok" if self.is_well else "BROKEN" if self.is_needed else "missing"


@click.command("doctor")
@pass_session
def doctor(session: Session) -> int:
    """Check the store, MusicBrainz, the model and the search service; say what to do.

    Exit status: 0 all well, 3 something optional missing, 1 something needed broken.
    """
    status = 0
    for finding in _findings(session.config):
        if not finding.is_well:
            status = 1 if finding.is_needed else status or 3
        head = f"{finding.mark:<8} {finding.name:<12} "
        session.show(finding, wrap(finding.said, terminal_width(), head, len(head)))
    return status


def _findings(config: Config) -> Iterator[Finding]:
    """Carry out every check; a model is needed only where one is enabled."""
    checks: tuple[tuple[str, bool, Callable[[Config], str]], ...] = (
        ("store", True, _store),
        ("musicbrainz", True, _musicbrainz),
        ("model", config.llm.enabled, _model),
        ("search", False, _search),
    )
    for name, is_needed, check in checks:
        try:
            yield Finding(name, is_needed, is_well=True, said=check(config))
        except CanonError as error:
            yield Finding(name, is_needed, is_well=False, said=str(error))


def _store(config: Config) -> str:
    with Store.open(store_url(config)) as store:
        store.answers.forget("")  # a write that changes nothing: no answer has an empty key
    return f"{masked(store_url(config))} can be written to (schema {VERSION})"


def _musicbrainz(config: Config) -> str:
    with Store.open(store_url(config)) as store:
        health = connect(config.musicbrainz, store.answers, store.slots).check()
    if health.is_reachable is None:
        return _OFFLINE
    if not health.is_reachable:
        raise LookupFailedError("; ".join(health.problems))
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
        raise LookupFailedError("; ".join(health.problems) + advice)
    server = f", {health.server}" if health.server else ""
    window = f", made for {health.context_length} tokens" if health.context_length else ""
    asked = f" (llm.num_ctx = {llm.num_ctx})" if window else ""
    more = _loaded_window(health, llm.num_ctx) + _NOT_REPORTED.get(llm.provider, "")
    return f"{health.model_id} at {health.address}{server}{window}{asked}{more}{advice}"


def _loaded_window(health: Health, num_ctx: int) -> str:
    """Return the context window that the model is loaded with, where the server reports it."""
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
    answers = f"{masked(searxng.url)} answers"
    outcome = SearxngClient(searxng).check()
    failing = ", ".join(map(str, outcome.failing)) if isinstance(outcome, Degraded | Hits) else ""
    match outcome:
        case Degraded() if failing:
            advice = f"wait, or {_MORE_ENGINES}"
            raise LookupFailedError(f"{answers}, but its engines fail: {failing}: {advice}")
        case Degraded():
            problem = "no result has an address that can be read: see its log"
            raise LookupFailedError(f"{answers}, but {problem}")
        case Hits() if failing:
            return f"{answers} in JSON; failing engines: {failing}: {_MORE_ENGINES}"
        case NothingFound():
            return f"{answers} in JSON, but finds nothing: is any engine on?"
        case _:
            return f"{answers} in JSON"
