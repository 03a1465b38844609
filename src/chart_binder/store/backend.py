"""A kind of database that a store may be in."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field

from sqlalchemy import Engine


@dataclass(frozen=True, slots=True)
class Backend:
    """An open database: two ways into it, and what is said of it.

    `name` is what a message calls it and has no secrets; `noun` is the kind of thing that it is.
    `writers` begin transactions that wait for one another where the database has one writer alone.
    `lock` is what a transaction says before it changes the schema, where beginning does not say it.
    `turn` is held by the thread that writes, where the database has one writer alone.
    """

    name: str
    noun: str
    readers: Engine
    writers: Engine
    meaning: Callable[[BaseException | None], str]
    lock: str = ""
    turn: AbstractContextManager[object] = field(default_factory=nullcontext)
