"""The program `canon`, which `python -m chart_binder` also runs."""

import signal
import sys
from types import FrameType

from chart_binder.errors import INTERRUPTED


def main() -> None:
    """Run the command line. An interrupt prints one line, even while modules are imported."""
    is_interrupted = False

    def interrupt(number: int, frame: FrameType | None) -> None:
        nonlocal is_interrupted
        del number, frame
        is_interrupted = True
        raise KeyboardInterrupt

    try:
        if (
            signal.getsignal(signal.SIGINT) is signal.default_int_handler
        ):  # else the parent ignores it
            signal.signal(signal.SIGINT, interrupt)
        from chart_binder.cli.main import main as run

        run()
    except (KeyboardInterrupt, Exception) as error:
        if not (is_interrupted or isinstance(error, KeyboardInterrupt)):
            raise
        sys.stderr.write("\ncanon: interrupted\n")
        sys.exit(INTERRUPTED)


if __name__ == "__main__":
    main()
