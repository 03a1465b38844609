"""How a library is decided."""

from dataclasses import dataclass, fields

from chart_binder.batch.hands import Executor
from chart_binder.domain.tagging import Policy
from chart_binder.jobs.batch.resuming import Which


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
    written = ",".join(sorted(value)) if isinstance(value, frozenset) else str(value)
    return f"--{name.replace('_', '-')}" + ("" if value is True else f"={written}")
