"""`canon` on a real terminal, with somebody who types."""

import os
import pty
import re
import select
import subprocess
import sys
import termios
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path


class Terminal:
    """A process on a terminal of its own, typed to when it waits."""

    def __init__(self, leader: int, process: "subprocess.Popen[bytes]") -> None:
        self.leader, self._process = leader, process
        self._unseen = ""

    def until(self, text: str) -> str:
        """Read until the text is shown, and return what came since the last that was waited for.

        Any of its spaces may be the end of a line: where lines end depends on how long paths are.
        """
        words = re.compile(r"\s+".join(map(re.escape, text.split(" "))))
        deadline = time.monotonic() + 30
        while not (found := words.search(self._unseen)):
            ready, _, _ = select.select(
                [self.leader], [], [], max(0.0, deadline - time.monotonic())
            )
            assert ready, f"no {text!r} in: {self._unseen}"
            piece = os.read(self.leader, 65536)
            self._unseen += piece.decode("utf-8", "replace").replace("\r\n", "\n")
        seen, self._unseen = self._unseen[: found.end()], self._unseen[found.end() :]
        return seen

    def press(self, *keys: tuple[str, str]) -> None:
        """Press each key once the program waits for one, and wait for what it then says, if any.

        What is typed before it waits is thrown away.
        """
        for key, said in keys:
            deadline = time.monotonic() + 30
            while termios.tcgetattr(self.leader)[3] & termios.ICANON:
                assert time.monotonic() < deadline
                time.sleep(0.005)
            os.write(self.leader, key.encode())
            if said:
                self.until(said)

    def enter(self, line: str, said: str) -> None:
        os.write(self.leader, line.encode() + b"\r")
        self.until(said)

    def ended(self) -> int:
        return self._process.wait(30)


@contextmanager
def walking(
    home: Path, environment: dict[str, str], *arguments: str, folder: str = "work",
    columns: int = 100, rows: int = 40,
    program: Sequence[str] = (sys.executable, "-m", "chart_binder"),
) -> Iterator[Terminal]:  # fmt: skip
    """Run `canon`, or another program, in a folder of a home, on a terminal without colours."""
    leader, follower = pty.openpty()
    termios.tcsetwinsize(follower, (rows, columns))
    # The first terminal that a session opens is the one whose Ctrl-C it is told of.
    opening = ["sh", "-c", 'exec "$@" <"$0" >"$0" 2>&1', os.ttyname(follower)]
    with subprocess.Popen(
        [*opening, *program, *arguments],
        cwd=home / folder, env={"NO_COLOR": "1"} | environment | {"TERM": "xterm"},
        start_new_session=True,
    ) as process:  # fmt: skip
        try:
            yield Terminal(leader, process)
        finally:
            process.kill()
            os.close(leader)
            os.close(follower)
