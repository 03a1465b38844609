"""The same behind servers that are really used, where they are installed."""

import json
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from chart_binder import plugins
from chart_binder.config import LLMConfig
from engine.cases import WAYS
from engine.examined import examine
from engine.runs import adjudicated

pytestmark = pytest.mark.engine

OLLAMA = "http://127.0.0.1:11434"
START_S = 60.0
DIALECTS = plugins.names("chart_binder.dialects")


@contextmanager
def llama_server(model: Path) -> Iterator[str]:
    """Start llama.cpp's server with a model."""
    binary = shutil.which("llama-server")
    if binary is None:
        pytest.skip("llama-server is not on PATH")
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    command = [binary, "--model", str(model), "--host", "127.0.0.1", "--port", str(port)]
    log = model.with_suffix(".log")
    with (
        log.open("wb") as out,
        subprocess.Popen(
            [*command, "--ctx-size", "32768", "--threads", "1", "--parallel", "1"],
            stdout=out,
            stderr=out,
        ) as server,
    ):
        try:
            until = time.monotonic() + START_S
            while not _answers(f"http://127.0.0.1:{port}/health"):
                assert server.poll() is None, log.read_text("utf-8", "replace")[-2_000:]
                assert time.monotonic() < until, log.read_text("utf-8", "replace")[-2_000:]
                time.sleep(0.1)
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            server.terminate()


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=1) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def config(provider: str, url: str, model_id: str, seed: int, dialect: str) -> LLMConfig:
    return LLMConfig(
        enabled=True,
        provider=provider,
        model_id=model_id,
        base_url=url,
        dialect=dialect,
        seed=seed,
        num_ctx=32_768,
        max_tokens=224,
        max_iterations=4,
        timeout_s=120.0,
        final_turn="force",
        **WAYS[seed % len(WAYS)],
    )


def test_llama_cpps_server_of_random_weights_gives_typed_outcomes(tmp_path: Path) -> None:
    pytest.importorskip("numpy", reason="numpy comes with the extra `engine`")
    from engine.gguf import write_gguf

    model = tmp_path / "random.gguf"
    write_gguf(model, seed=0)
    with llama_server(model) as url:
        for dialect in DIALECTS:
            for seed in range(len(WAYS)):
                examine(adjudicated(config("openai", url, "random", seed, dialect)))


@pytest.mark.parametrize("dialect", DIALECTS)
def test_ollama_with_the_smallest_model_it_has_gives_typed_outcomes(dialect: str) -> None:
    try:
        with urllib.request.urlopen(f"{OLLAMA}/api/tags", timeout=1) as answer:
            models = json.load(answer)["models"]
    except (OSError, urllib.error.URLError):
        pytest.skip(f"no Ollama server answers at {OLLAMA}")
    if not models:
        pytest.skip("the Ollama server has no model")
    smallest = min(models, key=lambda model: model["size"])["name"]
    for seed in range(2):
        examine(adjudicated(config("ollama", OLLAMA, smallest, seed, dialect)))
