"""Requests to a service are paced by reserving the next free moment."""

from sqlalchemy import case

from chart_binder.store.inserting import insert_into
from chart_binder.store.schema import rate_slots
from chart_binder.store.transactions import Transactions

QUEUE_LENGTH = 120
"""Requests that may wait at once. A slot further ahead than that many intervals was left by a
clock that has been set back since: it is forgotten rather than waited for."""


class RateSlots:
    """The next free moment of each service, shared by all threads and processes of a store."""

    def __init__(self, database: Transactions) -> None:
        self._database = database

    def reserve(self, service: str, interval_s: float, now: float) -> float:
        """Take the next free moment of `service`; return how many seconds after `now` it is.

        Moments are `interval_s` seconds apart; `now` is in seconds since the epoch, because other
        processes must mean the same by it. Raises `StoreError`.
        """
        standing = rate_slots.c.next_slot
        is_ahead = standing.between(now, now + QUEUE_LENGTH * interval_s)
        following_now = case((is_ahead, standing), else_=now) + interval_s
        with self._database.writing() as connection:
            reserving = (
                insert_into(connection, rate_slots)
                .values(service=service, next_slot=now + interval_s)
                .on_conflict_do_update(
                    index_elements=["service"], set_={"next_slot": following_now}
                )
                .returning(rate_slots.c.next_slot)
            )
            following = connection.execute(reserving).scalar_one()
        return float(max(0.0, following - interval_s - now))
