"""Progress of a command that works in stages."""

import pytest

from chart_binder.cli.progress import end_line, stage_line


@pytest.mark.parametrize(("stage", "line"), [
    (("load tables", 0, 409, "MB", 0.5), "load tables, 0 of 409 MB, 0.5 s"),
    (("load tables", 100, 400, "MB", 4), "load tables, 100 of 400 MB, 25 MB/s, about 12 s left"),
    (("unpack", 6, 60, "MB", 4), "unpack, 6 of 60 MB, 1.5 MB/s, about 36 s left"),
    (("write title", 4e6, 4e6, "rows", 80), "write title, 4,000,000 of 4,000,000 rows, 1 min 20 s"),
    (("join tracks", 25, 100, "%", 3), "join tracks, 25 %, about 9.0 s left"),
    (("check pages", 0, 0, "", 61), "check pages, 1 min 1 s"),
])  # fmt: skip
def test_a_stage_shows_rate_and_time_left(
    stage: tuple[str, float, float, str, float], line: str
) -> None:
    assert stage_line(*stage) == line


@pytest.mark.parametrize(("stage", "line"), [
    (("load tables", 409, "MB", 10), "load tables: 409 MB in 10 s, 41 MB/s"),
    (("join tracks", 100, "%", 61), "join tracks: 1 min 1 s"),
    (("check pages", 0, "", 3), "check pages: 3.0 s"),
])  # fmt: skip
def test_the_end_of_a_stage_shows_its_rate(stage: tuple[str, float, str, float], line: str) -> None:
    assert end_line(*stage) == line
