"""What a conversation may take in all: seconds, tokens."""

import math
import time
from collections.abc import Callable

from chart_binder.react.conversation import Reply

Clock = Callable[[], float]


class Budget:
    """Seconds of wall-clock time from now on, and tokens of all prompts and replies together.

    No limit is infinite seconds, 0 tokens.
    """

    def __init__(
        self, seconds: float = math.inf, tokens: int = 0, clock: Clock = time.monotonic
    ) -> None:
        self._seconds = seconds
        self._most_tokens = tokens
        self._clock = clock
        self._began = clock()
        self._turns = 0
        self._tokens = 0
        self._prompt = 0
        self._written = 0

    @property
    def seconds_left(self) -> float:
        """Seconds until the time is over; 0 after it."""
        return max(0.0, self._seconds - self._spent)

    @property
    def _spent(self) -> float:
        return self._clock() - self._began

    def take(self, reply: Reply, prompt: int, written: int) -> None:
        """Take a turn's tokens: as its server counted them, else by these estimates."""
        self._prompt = prompt if reply.prompt_tokens is None else reply.prompt_tokens
        written = written if reply.completion_tokens is None else reply.completion_tokens
        self._turns += 1
        self._tokens += self._prompt + written
        self._written += written

    def out_of_time(self) -> str | None:
        """Return a sentence if the time is over."""
        if self.seconds_left > 0:
            return None
        return f"the run took longer than max_run_s = {self._seconds:g} allows"

    def out_of_tokens(self, prompt: int) -> str | None:
        """Return a sentence if a next turn, with a prompt of so many tokens, is not affordable."""
        if not self._most_tokens or self._after(1, prompt) <= self._most_tokens:
            return None
        return (
            f"the run took {self._tokens} tokens and one more turn about"
            f" {self._after(1, prompt) - self._tokens}, over max_run_tokens = {self._most_tokens}"
        )

    def has_one_turn(self, prompt: int) -> bool:
        """Tell whether the tokens do not last for two more turns."""
        return bool(self._most_tokens) and self._after(2, prompt) > self._most_tokens

    def is_short_of_time(self) -> bool:
        """Tell whether the time left does not last for two more turns like those before."""
        return self._turns > 0 and 2 * self._spent / self._turns > self.seconds_left

    def _after(self, turns: int, prompt: int) -> int:
        """Return the tokens after so many more turns, no prompt shorter than the last one."""
        written = self._written // self._turns if self._turns else 0
        return self._tokens + turns * (max(prompt, self._prompt) + written)
