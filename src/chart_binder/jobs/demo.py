"""What `canon demo` decides: shipped audio, evidence and a transcript, laid out in a folder."""

import json
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path
from tempfile import TemporaryDirectory

from chart_binder.config import Config, LLMConfig, MusicBrainzConfig, StoreConfig
from chart_binder.store.store import Store


@dataclass(frozen=True, slots=True)
class Demo:
    """Audio files to decide, and the configuration that decides them without the outside world."""

    audio: tuple[Path, ...]
    config: Config


@contextmanager
def prepare_demo() -> Iterator[Demo]:
    """Yield the demo, its store in a folder that goes away afterwards."""
    shipped = files("chart_binder.demo")
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="canon-demo-")))
        audio = stack.enter_context(as_file(shipped.joinpath("audio")))
        transcript = stack.enter_context(as_file(shipped.joinpath("transcript.jsonl")))
        url = f"sqlite:///{folder / 'store.db'}"
        _keep_answers(url, shipped.joinpath("answers.jsonl").read_text("utf-8"))
        config = Config(
            llm=LLMConfig(enabled=True, provider="replay", model_id=str(transcript)),
            musicbrainz=MusicBrainzConfig(offline=True),
            store=StoreConfig(url=url),
        )
        yield Demo(tuple(sorted(audio.glob("*.*"))), config)


def _keep_answers(url: str, lines: str) -> None:
    with Store.open(url) as store:
        for line in lines.splitlines():
            answer = json.loads(line)
            store.answers.put(answer["key"], answer["body"].encode(), time.time())
