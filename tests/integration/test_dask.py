"""`canon batch --executor dask`: the same library by the workers of a real Dask cluster."""

import contextlib
import gc
import importlib.util
import json
import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from chart_binder.batch import BatchOptions, WorkerSetup
from chart_binder.config import Config, StoreConfig
from chart_binder.domain.evidence_json import read_bundle
from chart_binder.errors import ClusterError, PluginError, StoreError, UsageError
from chart_binder.jobs.batch import Album
from chart_binder.jobs.batch.dask import (
    DaskExecutor,
    PackedRun,
    close_run,
    connect,
    gather_album,
    prepare_workers,
    start_local_cluster,
    stop_run,
)
from chart_binder.jobs.decision import Case, Cause, Decision, FileCase, State
from chart_binder.jobs.stored_decisions import RunVersions
from chart_binder.store import open_store
from golden.bundles import golden
from integration.conftest import Canon, Start, in_store
from integration.services import UNSURE, adjudicating, asking, file_of, flac, open_bundles
from integration.test_years import ALONE, compilation
from musicbrainz.index.small_index import write_index
from servers.cluster import RESOURCES, DaskCluster, Poison
from servers.http import Response
from servers.musicbrainz import MusicBrainzStandIn
from servers.ollama import OllamaStandIn
from servers.postgres import NoServerError, Postgres
from servers.searxng import Searxng

if TYPE_CHECKING:
    from distributed import Scheduler

NAMES = ("lead-bohemian", "lead-hanae", "s90-aiko", "s90-bump")
BUNDLES = [golden(name) for name in NAMES]

needs_dask = pytest.mark.skipif(
    importlib.util.find_spec("distributed") is None,
    reason="distributed is not installed: pip install 'chart-binder[dask]'",
)


@pytest.fixture(scope="module")
def cluster() -> Iterator[DaskCluster]:
    """A cluster for the tests of this module that leave its workers alive."""
    with DaskCluster() as running:
        yield running


@pytest.fixture
def losing_cluster() -> Iterator[DaskCluster]:
    """A cluster for a test that kills workers: no other has to wait until they are back."""
    with DaskCluster() as running:
        yield running


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, home: Path) -> Iterator[str]:
    """The URL of an empty store: in a file, and on a server."""
    if request.param == "sqlite":
        yield f"sqlite:///{home / 'store.db'}"
        return
    try:
        with Postgres() as server:
            yield server.database()
    except NoServerError as error:
        pytest.skip(str(error))


def many_decided(folder: Path, count: int) -> None:
    """Make files of one recording, in folders that are looked up each by itself."""
    for number in range(count):
        (folder / str(number) / "album").mkdir(parents=True)
        file_of(BUNDLES[0], folder / str(number) / "album")


def warn(text: str) -> None:
    """Log a warning, where this is called."""
    logging.getLogger("chart_binder.elsewhere").warning(text)


def plugins(dask_scheduler: "Scheduler") -> list[str]:
    """Name what a scheduler has for workers that join it (this runs there)."""
    return list(dask_scheduler.worker_plugins)


def wait_until_gone(group: int) -> None:
    """Wait until no process of a group is left; the test's time limit ends that."""
    with contextlib.suppress(ProcessLookupError):
        while True:
            os.killpg(group, 0)
            time.sleep(0.02)


@needs_dask
def test_a_cluster_decides_as_threads_do(canon: Canon, home: Path, cluster: DaskCluster) -> None:
    for name, bundle in zip(NAMES, BUNDLES, strict=True):
        (home / "music" / name).mkdir(parents=True)
        file_of(bundle, home / "music" / name)
    flac(home / "music", "unknown.flac", recording="00000000-0000-4000-8000-000000000000")
    with MusicBrainzStandIn(BUNDLES) as mb:
        call = ("batch", "../music", "--output=json", "--refresh")
        ours = canon(*call, **asking(mb))
        requests = len(mb.requests)
        theirs = canon(*call, "--executor=dask", "--scheduler", cluster.address, **asking(mb))
        assert len(mb.requests) == 2 * requests
    assert theirs.status == ours.status == 3, theirs.err
    assert sorted(theirs.out.splitlines()) == sorted(ours.out.splitlines())
    assert f" {requests} requests to MusicBrainz" in theirs.err


@needs_dask
def test_workers_read_one_index(canon: Canon, home: Path, cluster: DaskCluster) -> None:
    for name, bundle in zip(NAMES, BUNDLES, strict=True):
        (home / "music" / name).mkdir(parents=True)
        file_of(bundle, home / "music" / name)
    path = write_index(home / "index", [read_bundle(bundle) for bundle in BUNDLES])
    settings = {"CANON_MUSICBRAINZ__SOURCE": "index", "CANON_MUSICBRAINZ__INDEX": str(path)}
    call = ("batch", "../music", "--output=json", "--refresh")
    ours = canon(*call, **settings)
    theirs = canon(*call, "--executor=dask", "--scheduler", cluster.address, **settings)
    assert theirs.status == ours.status == 0, theirs.err
    assert sorted(theirs.out.splitlines()) == sorted(ours.out.splitlines())
    assert len(theirs.out.splitlines()) == len(NAMES)


@needs_dask
def test_workers_take_as_many_cases_as_they_declare(
    canon: Canon, home: Path, cluster: DaskCluster
) -> None:
    bundles = open_bundles(6)
    for number, bundle in enumerate(bundles):
        (home / "music" / str(number)).mkdir(parents=True)
        file_of(bundle, home / "music" / str(number))
    limit, lock, now, at_once = 2 * RESOURCES["model"], threading.Lock(), [0], [0]
    is_full = threading.Event()

    def talk(_: object) -> str:
        with lock:
            now[0] += 1
            at_once[0] = max(at_once[0], now[0])
        if now[0] >= limit:
            is_full.set()
        assert is_full.wait(60)
        time.sleep(0.1)  # in which no more may come
        with lock:
            now[0] -= 1
        return UNSURE

    with MusicBrainzStandIn(bundles) as mb, Searxng() as search, OllamaStandIn(talk) as model:
        settings = asking(mb) | adjudicating(model, search)
        settings |= {"CANON_BATCH__MODEL_JOBS": "12", "CANON_LLM__TIMEOUT_S": "60"}
        call = ("batch", home / "music", "--executor=dask", "--scheduler", cluster.address)
        ran = canon(*call, "--output=json", **settings)
        assert len(model.chats) == 6
    assert ran.status == 3, ran.err
    assert Counter(line["state"] for line in ran.lines) == {"undecided": 6}
    assert at_once[0] == limit
    assert in_store(home, "SELECT count(*) FROM transcripts") == [(6,)]


@needs_dask
def test_years_are_asked_for_after_a_cluster_has_decided(
    canon: Canon, home: Path, cluster: DaskCluster
) -> None:
    bundle = compilation()
    (home / "music").mkdir()
    for number in range(2):
        file_of(bundle, home / "music", f"{number}.flac", date="1999")
    with (
        MusicBrainzStandIn([bundle]) as mb,
        Searxng() as search,
        OllamaStandIn([UNSURE] * 9) as model,
    ):
        settings = asking(mb) | adjudicating(model, search) | ALONE
        call = ("batch", home / "music", "--executor=dask", "--scheduler", cluster.address)
        ran = canon(*call, "--ask-years", "--output=json", **settings).must_end(0)
        assert len(model.chats) == 1
    assert [line["year_answer"]["outcome"] for line in ran.lines] == ["rejected"] * 2


@needs_dask
def test_a_lost_worker_costs_no_file(
    home: Path, start: Start, losing_cluster: DaskCluster, url: str
) -> None:
    many_decided(home / "music", 16)
    with MusicBrainzStandIn(BUNDLES) as mb:
        settings = asking(mb) | {
            "CANON_MUSICBRAINZ__RATE_LIMIT_PER_S": "40",
            "CANON_STORE__URL": url,
            "CANON_MUSICBRAINZ__CACHE_TTL_S": "0",
        }
        call = ("batch", home / "music", "--executor=dask", "--output=json")
        process = start(*call, "--scheduler", losing_cluster.address, **settings)
        assert process.stdout
        first = process.stdout.readline()
        os.kill(losing_cluster.workers[0], signal.SIGKILL)
        out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    lines = [json.loads(line) for line in (first + out).splitlines()]
    assert Counter(line["state"] for line in lines) == {"decided": 16}
    files = sorted(str(path) for path in (home / "music").rglob("*.flac"))
    assert sorted(line["path"] for line in lines) == files
    with open_store(url) as store:
        for file in files:
            assert len(store.decisions.history(os.fsencode(file))) == 1


@needs_dask
def test_what_kills_its_workers_fails_alone(home: Path, losing_cluster: DaskCluster) -> None:
    many_decided(home, 1)
    album = Album((home / "0" / "album" / "song.flac",))
    case = Case(Decision(State.UNDECIDED, evidence_hash="known"))
    with open_store(f"sqlite:///{home / 'store.db'}") as store:
        here = WorkerSetup(Config(), RunVersions("poison", "rules")).worker(store)
        with connect(losing_cluster.address) as connection:
            executor = DaskExecutor(connection, PackedRun.of("poison", Poison().open), here, 1, 1)
            gathered = executor.gather(album)
            adjudicated = executor.adjudicate(FileCase(album.paths[0], None, case))
            (file,), answer = gathered.result(300).outcomes, adjudicated.result(300)
            executor.close()
    told = "the Dask worker died each of 2 times that it was begun"
    for settled in (file, answer):
        decision = settled.decision
        assert (decision.state, decision.cause, decision.error) == ("error", Cause.FAULT, told)
        assert settled.path == album.paths[0]
    assert file.stored
    assert answer.decision.evidence_hash == "known"


@needs_dask
def test_a_file_given_twice_is_answered_twice_until_recalled(
    home: Path, cluster: DaskCluster
) -> None:
    many_decided(home, 1)
    twice = (Path("0/album/song.flac"), Path("0/../0/album/song.flac"), Path("0/album/song.flac"))
    config = Config(store=StoreConfig(url=f"sqlite:///{home / 'store.db'}"))
    with open_store(config.store.url) as store:
        setup = WorkerSetup(config, RunVersions("twice", "rules"), BatchOptions(frozen=True))
        packed, here = PackedRun.of("twice", setup.for_other_processes().open), setup.worker(store)
        with (
            contextlib.chdir(home),
            connect(cluster.address) as there,
            prepare_workers(there, packed),
        ):
            executor = DaskExecutor(there, packed, here, 1, 1)
            gathered = executor.gather(Album(twice)).result(300)
            executor.finish_early()
            recalled = executor.gather(Album(twice)).result(300)
            for_others = there.client.run_on_scheduler(plugins)
            executor.close()
            in_the_end = there.client.run_on_scheduler(plugins)
    assert [settled.path for settled in gathered.outcomes] == list(twice)
    assert not recalled.outcomes
    assert not recalled.open_cases
    assert [name for name in for_others if name not in in_the_end] == ["chart-binder-stop-twice"]


def test_a_worker_that_joins_a_run_that_is_to_stop_begins_nothing(tmp_path: Path) -> None:
    many_decided(tmp_path, 1)
    config = Config(store=StoreConfig(url=f"sqlite:///{tmp_path / 'store.db'}"))
    with open_store(config.store.url):
        setup = WorkerSetup(
            config, RunVersions("stopped", "rules"), BatchOptions(frozen=True)
        ).for_other_processes()
        stop_run("stopped")
        gathered = gather_album(
            PackedRun.of("stopped", setup.open), (str(tmp_path / "0" / "album" / "song.flac"),)
        )
        close_run("stopped")
    assert not gathered.outcomes
    assert gathered.worker


@needs_dask
def test_two_runs_each_keep_their_logs(
    cluster: DaskCluster, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    config = Config(store=StoreConfig(url=f"sqlite:///{tmp_path / 'canon.db'}"))
    open_store(config.store.url).close()  # it is there before workers look for it, as in a run

    def packed(run: str) -> PackedRun:
        setup = WorkerSetup(config, RunVersions(run, "rules")).for_other_processes()
        return PackedRun.of(run, setup.open)

    with (
        connect(cluster.address) as one,
        connect(cluster.address) as other,
        prepare_workers(one, packed("one")),
    ):
        with prepare_workers(other, packed("other")):
            pass
        workers = len(one.client.run(warn, "still told"))
        assert workers > 0
        while caplog.messages.count("still told") < workers:
            time.sleep(0.02)
    assert caplog.messages.count("still told") == workers


@needs_dask
def test_ctrl_c_at_a_terminal_reaches_the_run_and_not_its_workers(home: Path, start: Start) -> None:
    many_decided(home / "music", 30)
    is_interrupted = threading.Event()

    def hold(number: int, _: object, honest: Response) -> Response:
        """Answer the first files at once, and the others when Ctrl-C has been heard."""
        assert number < 12 or is_interrupted.wait(60)
        return honest

    with MusicBrainzStandIn(BUNDLES, behave=hold) as mb:
        settings = asking(mb) | {
            "CANON_MUSICBRAINZ__TIMEOUT_S": "60",
            "CANON_MUSICBRAINZ__CACHE_TTL_S": "0",
        }
        call = ("batch", home / "music", "--executor=dask", "--jobs=2", "--output=json")
        process = start(*call, **settings)
        assert process.stdout
        assert process.stderr
        first = process.stdout.readline()
        os.killpg(process.pid, signal.SIGINT)
        said_first = iter(process.stderr.readline, b"")  # on a slow day progress comes before it
        asked = b"canon: stops when the workers have finished their current albums; press Ctrl-C"
        asked += b" again to stop at once\n"
        assert asked in said_first
        is_interrupted.set()
        out, err = process.communicate(timeout=120)
    assert process.returncode == 130, err
    lines = [json.loads(line) for line in (first + out).splitlines()]
    assert 0 < len(lines) < 30
    assert {line["state"] for line in lines} == {"decided"}
    said = err.decode().splitlines()
    assert any(line.startswith("files ") for line in said)
    assert not any(word in line for line in said for word in ("distributed", "Traceback", "rror"))
    wait_until_gone(process.pid)


@needs_dask
@pytest.mark.parametrize("address", ["127.0.0.1:1", "tls://127.0.0.1:1"])
def test_an_address_where_nobody_is_is_told_and_nothing_is_left_open(address: str) -> None:
    began = time.monotonic()
    with pytest.raises(ClusterError, match="no Dask scheduler can be reached"):
        connect(address, timeout_s=0.2).__enter__()
    gc.collect()
    assert time.monotonic() - began < 5


@pytest.mark.parametrize(
    "address", ["nonsense", "carrier://pigeon:1", "head:", "head:http", "[::1", ":1"]
)
def test_an_address_that_can_be_none_is_refused_at_once(address: str) -> None:
    with pytest.raises(UsageError, match="is not the address of a Dask scheduler"):
        connect(address).__enter__()


@needs_dask
def test_a_script_without_a_guard_is_told_so(home: Path, environment: dict[str, str]) -> None:
    (home / "music").mkdir()
    (home / "script.py").write_text(
        "from chart_binder import BatchOptions, Executor, run_batch\n"
        "run_batch('music', options=BatchOptions(executor=Executor.DASK, dry_run=True))\n"
    )
    ran = subprocess.run(
        [sys.executable, "script.py"], cwd=home, env=environment, capture_output=True, text=True,
        timeout=300, check=False,
    )  # fmt: skip
    assert ran.returncode == 1
    last = ran.stderr.splitlines()[-1]
    assert last.startswith("chart_binder.errors.ClusterError: no Dask cluster can be started")
    assert "has to do so under `if __name__ == '__main__':`" in last


def test_without_dask_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(PluginError, match=r"install .*\[dask\]'` installs it"):
        start_local_cluster(1, 1).__enter__()


def test_a_worker_that_sees_another_file_as_the_store_does_not_work(tmp_path: Path) -> None:
    config = Config(store=StoreConfig(url=f"sqlite:///{tmp_path / 'store.db'}"))
    with open_store(config.store.url):
        setup = WorkerSetup(config, RunVersions("run", "rules")).for_other_processes()
        with setup.open() as worker:
            assert worker.pipeline.versions.run_id == "run"
    with pytest.raises(StoreError, match="need a store on PostgreSQL"):
        replace(setup, file=(0, 0)).open().__enter__()
    (tmp_path / "store.db").unlink()
    with pytest.raises(StoreError, match="need a store on PostgreSQL"):
        setup.open().__enter__()
    assert not (tmp_path / "store.db").exists()
