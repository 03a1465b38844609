"""What each part of the store needs of its database."""

from contextlib import AbstractContextManager
from typing import Protocol

from sqlalchemy import Connection


class Transactions(Protocol):
    """Where to read and write; leaving a block may raise `StoreError`."""

    @property
    def name(self) -> str:
        """The store, for a message."""
        ...

    def reading(self) -> AbstractContextManager[Connection]:
        """Begin a transaction that changes nothing."""
        ...

    def writing(self) -> AbstractContextManager[Connection]:
        """Begin a transaction that is kept if the block ends well."""
        ...
