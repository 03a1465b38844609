"""The screens of docs/beets.md are what `beet` prints about the files of the demo."""

import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest

pytest.importorskip("beets", reason="needs the extra `beets`")

from chart_binder.store import open_store
from docs.pages import ROOT, blocks, page

DEMO = ROOT / "src" / "chart_binder" / "demo"
PAGE = "docs/beets.md"


def screens() -> list[tuple[str, str]]:
    """Return the commands of the page, in order, each with what it prints."""
    text = "".join(blocks(PAGE, "console"))
    return re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", text, re.MULTILINE)


def test_each_command_prints_what_the_page_says(tmp_path: Path) -> None:
    store = tmp_path / "data" / "canon" / "canon.db"
    store.parent.mkdir(parents=True)
    with open_store(f"sqlite:///{store}") as answers:
        for line in (DEMO / "answers.jsonl").read_text("utf-8").splitlines():
            answer = msgspec.json.decode(line)
            answers.answers.put(answer["key"], answer["body"].encode(), time.time())
    shutil.copytree(DEMO / "audio", tmp_path / "inbox")
    (tmp_path / "config.yaml").write_text(
        "plugins: canon\ndirectory: ~/Music\nlibrary: ~/library.db\nui: {color: no}\n", "utf-8"
    )
    environment = {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "HOME": str(tmp_path), "BEETSDIR": str(tmp_path),
        "PYTHONUTF8": "1", "XDG_DATA_HOME": str(tmp_path / "data"),
        "CANON_MUSICBRAINZ__OFFLINE": "true", "CANON_BATCH__JOBS": "1",
    }  # fmt: skip

    def printed(command: str) -> str:
        done = subprocess.run(
            ["bash", "-c", f"set -o pipefail; {command}"],
            env=environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout.replace(str(tmp_path), "/home/ada")

    printed(f"beet import -qAs {tmp_path / 'inbox'}")
    shown = screens()
    assert len(shown) >= 6
    for command, output in shown:
        assert printed(command) == output, command


def test_the_page_has_every_key_and_field() -> None:
    from beetsplug.canon import _DEFAULTS
    from beetsplug.canon.fields import ITEM_TYPES

    assert [name for name in (*_DEFAULTS, *ITEM_TYPES) if name not in page(PAGE)] == []
