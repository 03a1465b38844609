"""How a library is decided."""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Final

from chart_binder.batch.hands import Executor
from chart_binder.domain.tagging import Policy
from chart_binder.errors import UsageError
from chart_binder.jobs.batch.resuming import Which

MOST_JOBS: Final = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchOptions:
    """How a library is decided.

    `jobs` is how many albums are looked up at once, in place of `batch.jobs`. `write` writes tags
    where that is allowed, as `policy` says. `dry_run` decides, and keeps and writes nothing.
    `only` chooses files by how their last decision stands; `refresh` decides all of them anew on
    new evidence; `frozen` asks for no evidence, and goes by what is kept. `scheduler` is the
    address of a Dask scheduler; without one, a cluster is started on this machine.
    """

    jobs: int | None = None
    write: bool = False
    policy: Policy = Policy.IDS
    keep_mtime: bool = False
    dry_run: bool = False
    only: frozenset[Which] = frozenset()
    refresh: bool = False
    frozen: bool = False
    executor: Executor = Executor.THREADS
    scheduler: str | None = None

    def check(self) -> None:
        """Raise `UsageError` for what cannot be meant."""
        for problem in self._problems():
            raise UsageError(problem)

    def _problems(self) -> Iterator[str]:
        if self.refresh and self.frozen:
            yield "refresh asks for new evidence, frozen for none: choose one of them"
        if self.jobs is not None and not 1 <= self.jobs <= MOST_JOBS:
            yield f"jobs: found {self.jobs}; 1 to {MOST_JOBS} are allowed"
        for name, found, allowed in (
            ("executor", (self.executor,), Executor),
            ("policy", (self.policy,), Policy),
            ("only", self.only, Which),
        ):
            for odd in found:
                if odd not in (*allowed,):
                    yield f"{name}: found {odd!r}; {', '.join(allowed)} are allowed"
        if self.scheduler is not None and self.executor != Executor.DASK:
            yield "a scheduler is Dask's: choose the executor dask with it"
        if self.scheduler == "":
            yield "scheduler: the address is empty: is a variable of the shell not set?"

    @property
    def flags(self) -> tuple[str, ...]:
        """What of it is not as by default, as `canon batch` takes it."""
        chosen = {
            field.name: getattr(self, field.name)
            for field in fields(self)
            if getattr(self, field.name) != field.default
        }
        return tuple(_flag(name, value) for name, value in chosen.items())


def _flag(name: str, value: object) -> str:
    if isinstance(value, frozenset | set | list | tuple):
        value = ",".join(sorted(map(str, value)))
    return f"--{name.replace('_', '-')}" + ("" if value is True else f"={value}")
