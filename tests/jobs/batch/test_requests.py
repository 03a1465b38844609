"""Lines of JSON from another program are read, or named as invalid."""

import base64
import json
import time
from pathlib import Path

import pytest

from chart_binder.errors import EvidenceError
from chart_binder.jobs.batch import Album
from chart_binder.jobs.batch.requests import (
    BundleRequest,
    NoInputYet,
    PendingRequests,
    RequestReader,
    read_request,
)


@pytest.mark.parametrize(
    ("line", "path"),
    [
        (b'{"path": "a/b.flac"}', Path("a/b.flac")),
        (json.dumps({"path_b64": base64.b64encode(b"a\xff").decode()}).encode(), Path("a\udcff")),
    ],
)
def test_a_line_names_a_file(line: bytes, path: Path) -> None:
    assert read_request(line, 1).target == path


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (b"{", "^line 7: "),
        (b'{"path": "a.flac", "bundle": {}}', "^line 7: found both a path and a bundle; allowed"),
        (b'{"path_b64": "YQ==", "bundle": {}}', "^line 7: found both a path and a bundle"),
        (b'{"bundle": null}', "^line 7: found bundle; allowed is"),
        (b"[" * 5_000, "line 7: "),
        (b"\xff", "line 7: "),
        (b"[1]", "^line 7: found list '\\[1\\]'; allowed is"),
        (b"{}", "^line 7: found no keys; allowed is"),
        (b'{"path": 3}', "^line 7: found int '3' as path; the name of a file is"),
        (b'{"path_b64": "%"}', "^line 7: path_b64: "),
        (b'{"bundle": 3}', "evidence bundle: "),
        (b'{"recording_candidates": 3}', "recording_candidates"),
    ],
)
def test_a_line_that_asks_for_nothing_is_told_what_may_stand_there(line: bytes, told: str) -> None:
    asked = read_request(line, 7).target
    assert isinstance(asked, BundleRequest)
    with pytest.raises(EvidenceError, match=told):
        asked.bundle()


def test_files_of_a_folder_that_came_together_are_an_album() -> None:
    paths = ["a/1", "a/2", "b/1"]
    lines = [json.dumps({"path": path, "id": path}).encode() for path in paths]
    pending = PendingRequests()
    reader = RequestReader([*lines, b" ", b"{}"])
    time.sleep(0.05)  # until they have come
    found = [item for item in reader.items(pending) if not isinstance(item, NoInputYet)]
    albums = [item.paths for item in found if isinstance(item, Album)]
    assert albums == [(Path("a/1"), Path("a/2")), (Path("b/1"),)]
    assert [pending.pop(Path(path), is_given=False).id for path in paths] == paths
    assert pending.pop(Path("line 5"), is_given=True).number == 5
