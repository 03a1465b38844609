"""`canon runs` as a process: what earlier calls did, and the metrics of a batch."""

import json
import time
from pathlib import Path

import pytest

from integration.conftest import Canon, in_store
from integration.services import asking, file_of
from integration.test_batch import BUNDLES, NAMES
from servers.musicbrainz import GARBAGE, MusicBrainzStandIn, always
from servers.prometheus import read_text


@pytest.fixture
def library(home: Path) -> Path:
    """Two albums of two files, one of which MusicBrainz does not know."""
    for name, bundle in zip(NAMES[:3], BUNDLES[:3], strict=True):
        (home / "music" / name[:4]).mkdir(parents=True, exist_ok=True)
        file_of(bundle, home / "music" / name[:4], f"{name} ♪.flac")
    return home / "music"


def ran(canon: Canon, *arguments: object) -> list[str]:
    """Run a batch over what MusicBrainz has two recordings of, and return its summary."""
    return canon("batch", *arguments, knowing=BUNDLES[:2]).out.splitlines()


def arguments(canon: Canon) -> list[list[str]]:
    """Return the arguments of every run kept, the newest first."""
    return [run["arguments"] for run in canon("runs", "list", "--output=json").lines]


def test_a_batch_is_shown_with_what_it_cost(canon: Canon, library: Path, home: Path) -> None:
    summary = ran(canon, library, "--write", "--jobs=3")
    shown = canon("runs", "show").must_end(0, "lead-hanae ♪.flac", "no recording with the id").out
    assert set(summary[1:-2]) <= set(shown.splitlines())  # all but how to see more of it
    label = {line[:13].strip(): line[15:] for line in shown.splitlines()}
    assert label["command"] == f"canon batch --jobs=3 --write {library}"
    assert "failures" not in label  # that nothing was found is a result
    for stage in ("read", "evidence", "rules", "store", "write"):
        assert f"  {stage} " in shown
    assert canon(*label["undo"].split()[1:]).status == 0
    before = canon("runs", "show", label["run"][:19]).out
    assert "tags now       2 taken back" in before
    assert "undo " not in before
    undone = canon("runs", "show").must_end(0, "tags now       2 put back").out
    assert "write again    canon undo " in undone
    place = str(home / "work" / "music")
    Path(place).symlink_to(library)
    canon("write", "--apply", "music")
    canon("undo", "music")
    assert arguments(canon)[:3] == [[place], ["--apply", place], [label["run"]]]


def test_a_stored_command_runs_from_any_folder(canon: Canon, library: Path, home: Path) -> None:
    (home / "work" / "music").symlink_to(library)
    (home / "own.toml").write_text("")
    call = ("--config", "../own.toml", "batch", "music", "--offline", "--report", "r.jsonl")
    canon(*call, "--write", "--policy=dates", "-v", COLUMNS="60")
    work = home / "work"
    (kept,) = arguments(canon)
    assert kept == [
        "--write", "--policy=dates", f"--report={work}/r.jsonl", "--verbose", "--offline",
        f"--config={work}/../own.toml", f"{work}/music",
    ]  # fmt: skip
    canon("batch", *kept).must_end(1, "error          3")
    assert sorted(arguments(canon)[0]) == sorted(kept)
    canon("decide", "music", "--offline")
    assert arguments(canon)[0] == ["--offline", f"{work}/music"]


def test_runs_are_listed_the_newest_first(canon: Canon, library: Path) -> None:
    ran(canon, library, "--write")
    canon("undo")
    ran(canon, library, "--only", "unmatched")
    listed = canon("runs", "list", COLUMNS="80").must_end(0)
    head, *rows = listed.out.splitlines()
    assert head.split() == ["RUN", "STARTED", "TOOK", "ENDED"]
    calls = [row.partition(": canon ") for row in rows[1::2]]
    assert [files for files, _, _ in calls] == [
        "  1 unmatched", "  2 put back", "  2 decided, 1 unmatched",
    ]  # fmt: skip
    assert [call.split()[0] for _, _, call in calls] == ["batch", "undo", "batch"]
    newest, *_ = rows[0].split()
    assert listed.err == f"next: canon runs show {newest}\n"
    assert canon("--json", "runs", "list").err == canon("-q", "runs", "list").err == ""
    lines = canon("runs", "list", "--command=batch", "--output=json").lines
    assert [line["ended"] for line in lines] == ["some need you"] * 2
    assert lines[0]["arguments"] == ["--only=unmatched", str(library)]
    assert lines[1]["counts"] == {"decided": 2, "unmatched": 1}
    assert canon("runs", "list", "--limit=1", "--output=json").line == lines[0]
    whole = canon("runs", "show", "--output=json").line
    assert whole["measures"]["causes"] == {"nothing_found": 1}
    assert whole["writes"] == {}


def test_a_killed_run_shows_what_it_had_done(canon: Canon, library: Path, home: Path) -> None:
    ran(canon, library)
    in_store(home, "UPDATE runs SET ended_at_utc = NULL, status = NULL")
    ((measures,),) = in_store(home, "SELECT measures FROM runs")
    canon("runs", "list").must_end(0, " no end ")
    canon("runs", "show").must_end(
        0, "ended          it is still going on, or was killed; it was last seen ",
        "decided        2\n", f"next: canon batch {library}",
    )  # fmt: skip
    in_store(home, "UPDATE runs SET measures = NULL, counts = '{}'")
    canon("runs", "show").must_end(
        0, "it is still going on, or was killed\n", "stored         3 decisions\n"
    )
    in_store(home, "UPDATE runs SET measures = ?", measures[:-1])
    for damaged in (canon("runs", "show"), canon("runs", "list")):
        damaged.must_end(1, "cost cannot be read")
        assert "canon batch" in damaged.out, "the rest is shown"
    ran(canon, library)
    in_store(home, "UPDATE runs SET counts = '{' WHERE seq = 1")
    (broken,), (sound,) = in_store(home, "SELECT id FROM runs ORDER BY seq")
    listed = canon("runs", "list").must_end(1, broken, sound)
    assert (broken in listed.err, sound in listed.out, broken in listed.out) == (True, True, False)


def test_how_to_continue_is_shown_where_a_service_failed(canon: Canon, library: Path) -> None:
    with MusicBrainzStandIn(BUNDLES[:2], behave=always(GARBAGE)) as mb:
        canon("batch", library, "--frozen", **asking(mb))
        canon("batch", library / "s90-", "--refresh", **asking(mb))
    runs = canon("runs", "list", "--output=json").lines
    anew, frozen = (canon("runs", "show", run["id"]) for run in runs)
    assert frozen.err == ""  # the same call would not look anything up either
    assert "\nfailures       3 not looked up\n" in frozen.out
    assert anew.err == f"next: canon batch --refresh {library}/s90-\n"
    assert "\nfailures       1 could not be looked up\n" in anew.out


def test_an_unknown_or_ambiguous_run_is_an_error(canon: Canon, library: Path) -> None:
    ran(canon, library)
    canon("decide", library, "--offline")
    several, absent = canon("runs", "show", "0"), canon("runs", "show", "%")
    assert (several.status, absent.status) == (1, 1)
    assert "several runs begin with '0'" in several.err
    assert absent.err == "canon: there is no run '%'; see `canon runs list`\n"
    assert canon("runs", "show").status == 0
    canon("runs", "show", "--metrics=json").must_end(1, "only `canon batch` takes them")


def test_metrics_are_valid_prometheus_text(canon: Canon, library: Path, home: Path) -> None:
    file = home / "metrics" / "canon.prom"
    file.parent.mkdir()
    ran(canon, library, "--metrics", file)
    families = read_text(file.read_text())
    assert families["canon_batch_files_total"].samples[(("state", "decided"),)] == 2
    assert families["canon_batch_errors_total"].samples[(("cause", "nothing_found"),)] == 1
    assert families["canon_batch_exit_status"].samples == {(): 3}
    assert time.time() - 60 < families["canon_batch_end_time_seconds"].samples[()] < time.time()
    again = read_text(canon("runs", "show", "--metrics=prometheus").out)
    differing = {name for name in again if again[name].samples != families[name].samples}
    assert differing <= {"canon_batch_start_time_seconds", "canon_batch_end_time_seconds"}
    ran(canon, library, "--metrics", file.with_suffix(".json"), "--dry-run")
    assert json.loads(file.with_suffix(".json").read_text())["states"] == {
        "decided": 2, "unmatched": 1,
    }  # fmt: skip
