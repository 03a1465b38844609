"""Adjudications by a model of random weights, in one case after the other."""

from collections.abc import Iterator, Mapping
from typing import Final

from chart_binder import plugins
from chart_binder.config import AcceptanceConfig, LLMConfig
from chart_binder.react.dialect import Dialect
from engine.cases import WAYS, Case
from engine.constraint import of_lark
from engine.forms import form_of
from engine.ollama_format import Ollama
from engine.openai_format import OpenAI
from engine.runs import Run, adjudicated
from engine.served import MODEL, Served

SERVERS: Final[Mapping[str, tuple[type[Served], str]]] = {
    "ollama": (Ollama, ""),
    "openai": (OpenAI, "/v1"),
}
TRUSTING: Final = AcceptanceConfig(trusted_sources=("discography.example",))


def runs(case: Case) -> Iterator[Run]:
    """Adjudicate in each of `WAYS`."""
    dialect: Dialect = plugins.load("chart_binder.dialects", case.dialect)()
    server, path = SERVERS[case.provider]
    bounded = case.setting.schema != "without bounds"
    with server(case.setting, of_lark(form_of(dialect, bounded=bounded))) as served:
        for seed, way in enumerate(WAYS * case.setting.times):
            config = LLMConfig(
                enabled=True,
                provider=case.provider,
                model_id=MODEL,
                base_url=served.url + path,
                dialect=case.dialect,
                seed=seed,
                num_ctx=32_768,
                max_tokens=224,
                timeout_s=60.0,
                max_iterations=4,
                final_turn="force" if case.setting.forces else "none",
                acceptance=TRUSTING,
                **way,
            )
            yield adjudicated(config)
        assert not served.broken, served.broken
