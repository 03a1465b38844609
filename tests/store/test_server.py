"""What can go wrong with a store on a server is one sentence, without the password."""

import subprocess
import sys

import pytest

from chart_binder.domain.verdict import OverrideRecord
from chart_binder.domain.vocabulary import RecordingId, ReleaseGroupId
from chart_binder.errors import StoreError
from chart_binder.store import open_store, read_overrides
from servers.postgres import NoServerError, Postgres
from store.records import decision, refusal


def test_a_server_that_is_not_there_is_named() -> None:
    message = refusal("postgresql+psycopg://me:secret@127.0.0.1:1/canon?timeout=2")
    assert "'postgresql://127.0.0.1:1/canon' cannot be reached" in message


def test_a_database_that_is_not_there_is_named(postgres: Postgres) -> None:
    assert "create the database" in refusal(postgres.url("absent"))


def test_a_user_whom_the_server_does_not_know_is_refused_without_a_name(
    postgres: Postgres,
) -> None:
    postgres.database("known")
    message = refusal(postgres.url("known", user="secretary"))
    assert "postgres" in message
    assert "secretary" not in message


def test_a_database_of_another_program_is_left_alone(postgres: Postgres) -> None:
    url = postgres.database("others")
    postgres.query("others", "CREATE TABLE items (id INTEGER)")
    assert "is a database of another program" in refusal(url)


def test_overrides_are_read_without_making_a_store(postgres: Postgres) -> None:
    url = postgres.database("unmade").replace("+psycopg", "")
    assert read_overrides(url) == {}
    assert postgres.query("unmade", "SELECT 1 FROM pg_tables WHERE schemaname = 'public'") == []
    ruled = OverrideRecord(RecordingId("r"), ReleaseGroupId("g"), None, "why", "2026-11-02")
    with open_store(url) as store:
        store.overrides.put(ruled)
    assert read_overrides(url) == {"r": ruled}


def test_a_lock_of_another_program_is_waited_for_and_named(postgres: Postgres) -> None:
    psycopg = pytest.importorskip("psycopg")
    url = postgres.database("locked")
    with open_store(f"{url}&timeout=0.2") as store:
        place = f"host={postgres.folder} dbname=locked user=canon"
        with psycopg.connect(place) as other:
            other.execute("LOCK TABLE decisions IN EXCLUSIVE MODE")
            with pytest.raises(StoreError, match="locked by another program"):
                store.decisions.put(decision(1))
            assert store.decisions.by_id("decision1") is None, "reading goes on beside a writer"
        store.decisions.put(decision(1))
        assert store.decisions.by_id("decision1") == decision(1)


def test_a_user_who_may_only_read_is_told_so(postgres: Postgres) -> None:
    url = postgres.database("readonly")
    open_store(url).close()
    postgres.query("readonly", "ALTER DATABASE readonly SET default_transaction_read_only = on")
    with open_store(url) as store, pytest.raises(StoreError, match="is read-only"):
        store.decisions.put(decision(1))


def test_a_store_outlives_a_restart_of_its_server() -> None:
    try:
        server = Postgres()
    except NoServerError as error:
        pytest.skip(str(error))
    with server, open_store(f"{server.database('restarted')}&timeout=2") as store:
        store.decisions.put(decision(1))
        server.stop()
        with pytest.raises(StoreError, match="cannot be reached"):
            store.decisions.put(decision(2))
        server.start()
        store.decisions.put(decision(3))
        kept = [one.id for one in store.decisions.history(decision(1).path)]
        assert kept == ["decision3", "decision1"]


def test_without_its_driver_the_extra_is_named() -> None:
    program = """
import sys
sys.modules["psycopg"] = None
from chart_binder.errors import StoreError
from chart_binder.store import open_store
try:
    open_store("postgresql+psycopg://me:secret@host/canon")
except StoreError as error:
    print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert "[postgres]'` installs it" in done.stdout
    assert "secret" not in done.stdout
