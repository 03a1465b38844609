"""A real PostgreSQL server of the test's own: the system's, or the one `pgserver` brings."""

import importlib.util
import os
import re
import secrets
import shutil
import subprocess
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import quote

_SYSTEM = Path("/usr/lib/postgresql")
_NOBODY = 65_534
_NUMBER = re.compile(r"\d+")
_SETTINGS = (
    "listen_addresses=''",
    "fsync=off",  # no test pulls the plug
    "full_page_writes=off",
    "wal_level=minimal",
    "max_wal_senders=0",
    "shared_buffers=16MB",
    "max_connections=60",
    "lc_messages='C'",
)


class NoServerError(Exception):
    """There is no PostgreSQL to start here; the text says why."""


class Postgres:
    """A server on a socket in a folder of its own; who is root runs it as nobody."""

    def __init__(self) -> None:
        self._bin = _binaries()
        room = os.environ.get("PYTEST_DEBUG_TEMPROOT", "/tmp")  # sockets want short paths
        self.folder = Path(tempfile.mkdtemp(prefix="pg-", dir=room))
        self._as: dict[str, object] = {}
        if os.geteuid() == 0:
            os.chown(self.folder, _NOBODY, _NOBODY)
            self._as = {"user": _NOBODY, "group": _NOBODY, "extra_groups": []}

    def __enter__(self) -> Self:
        try:
            data = str(self.folder / "data")
            self._run("initdb", "-D", data, "-U", "canon", "-A", "trust", "-E", "UTF8", "-N")
            with (self.folder / "data" / "postgresql.conf").open("a") as settings:
                settings.write("\n".join((*_SETTINGS, f"unix_socket_directories='{self.folder}'")))
            self.start()
        except BaseException:
            shutil.rmtree(self.folder, ignore_errors=True)
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def start(self) -> None:
        """Start the server and wait until it answers."""
        self._control("start", "-w", "-l", str(self.folder / "log"))

    def stop(self) -> None:
        """Stop the server at once, whoever is connected."""
        self._control("stop", "-m", "immediate", "-w")

    def database(self, name: str = "") -> str:
        """Make an empty database and return the URL of a store in it."""
        name = name or f"canon_{secrets.token_hex(4)}"
        self.query("postgres", f"CREATE DATABASE {name} TEMPLATE template0")
        return self.url(name)

    def url(self, name: str, user: str = "canon") -> str:
        """Return the URL of a store in the database `name`."""
        host = quote(str(self.folder), safe="")
        return f"postgresql+psycopg://{user}:a%20secret@/{name}?host={host}"

    def query(self, database: str, statement: str) -> list[tuple[object, ...]]:
        """Run one statement as the server's owner, without the program under test."""
        import psycopg

        place = f"host={self.folder} dbname={database} user=canon"
        with psycopg.connect(place, autocommit=True) as connection:
            cursor = connection.execute(statement)
            return cursor.fetchall() if cursor.description else []

    def _control(self, *arguments: str) -> None:
        self._run("pg_ctl", "-D", str(self.folder / "data"), *arguments)

    def _run(self, program: str, *arguments: str) -> None:
        # Files, no pipes: the server inherits them, and a pipe would be read until it stops.
        with (self.folder / f"{program}.out").open("wb") as output:
            try:
                done = subprocess.run(
                    [str(self._bin / program), *arguments],
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    cwd=self.folder,
                    timeout=60,
                    check=False,
                    env={"PATH": os.environ["PATH"], "LC_ALL": "C"},
                    **self._as,  # type: ignore[call-overload]  # one of the user's three forms
                )
            except PermissionError as error:
                raise NoServerError(f"{self._bin} is not open to the user nobody") from error
        if done.returncode:
            said = (self.folder / f"{program}.out").read_text(errors="replace")
            raise RuntimeError(f"{program} ended with {done.returncode}: {said[-300:]}")


def _binaries() -> Path:
    """Return the folder of `initdb` and `pg_ctl`, of the newest version there is."""
    if importlib.util.find_spec("psycopg") is None:
        raise NoServerError("psycopg is not installed: pip install 'chart-binder[postgres]'")
    found = [path.parent for path in _SYSTEM.glob("*/bin/initdb")]
    if found:
        return max(found, key=lambda path: [int(n) for n in _NUMBER.findall(str(path))])
    if on_path := shutil.which("initdb"):
        return Path(on_path).resolve().parent
    brought = importlib.util.find_spec("pgserver")
    if brought and brought.origin:
        return Path(brought.origin).parent / "pginstall" / "bin"
    raise NoServerError(
        "no PostgreSQL server is here: pip install 'chart-binder[test-postgres]' brings one"
    )
