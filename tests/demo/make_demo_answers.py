"""Makes what MusicBrainz would answer for the demo: `python tests/demo/make_demo_answers.py`.

The facts are two golden decisions. In one the single is dated by its year alone, as many are, so
that the rules leave the case open and the demo has something to adjudicate.
"""

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from chart_binder.audio.reading import read_tags  # noqa: E402
from chart_binder.config import MusicBrainzConfig  # noqa: E402
from chart_binder.musicbrainz.source import connect  # noqa: E402
from chart_binder.store import open_store  # noqa: E402
from servers.musicbrainz import MusicBrainzStandIn  # noqa: E402

DEMO = ROOT / "src" / "chart_binder" / "demo"
GOLDEN = ROOT / "tests" / "golden" / "decisions.jsonl"
SINGLE = "361a28b7-4588-44a6-8c96-86c1efb8258f"


def bundles() -> list[dict[str, Any]]:
    """Return the evidence of the demo's two recordings."""
    golden = {case["id"]: case["bundle"] for case in map(json.loads, GOLDEN.open())}
    celebrate, rhapsody = golden["s90-amuro"], golden["lead-bohemian"]
    for group in rhapsody["recording_candidates"][0]["rg_candidates"]:
        if group["mb_rg_id"] == SINGLE:
            group["first_release_date"] = group["releases"][0]["date"] = "1975"
    return [celebrate, rhapsody]


class Kept(dict[str, bytes]):
    """A cache that keeps what passes through it."""

    def put(self, key: str, body: bytes, fetched_at: float) -> None:
        """Keep an answer as if musicbrainz.org had given it."""
        del fetched_at
        path = key[key.index("/") :]
        self[f"musicbrainz.org{path}"] = body

    def forget(self, key: str) -> None:
        """Forget an answer that turned out to be one of an incomplete series."""
        self.pop(key, None)

    def get(self, key: str) -> None:  # type: ignore[override]
        """Know nothing, so that everything is asked for."""


def main() -> None:
    """Ask a stand-in for everything the demo's files lead to, and write it down."""
    kept = Kept()
    with (
        MusicBrainzStandIn(bundles()) as mb,
        tempfile.TemporaryDirectory() as folder,
        open_store(f"sqlite:///{folder}/store.db") as store,
    ):
        config = MusicBrainzConfig(
            hostname=f"127.0.0.1:{mb.port}", https=False, rate_limit_per_s=0.0
        )
        source = connect(config, kept, store.slots)
        for file in sorted((DEMO / "audio").iterdir()):
            source.gather(read_tags(file))
    with (DEMO / "answers.jsonl").open("w", encoding="utf-8") as stream:
        for key, body in sorted(kept.items()):
            stream.write(json.dumps({"key": key, "body": body.decode()}, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
