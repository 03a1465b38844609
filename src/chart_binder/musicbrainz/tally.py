"""Something is counted by many threads."""

import threading


class Tally:
    """How often something happened."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.count = 0

    def add_one(self) -> None:
        """Count one more."""
        with self._lock:
            self.count += 1
