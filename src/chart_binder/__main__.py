"""The program `canon`, which `python -m chart_binder` is too."""

import signal
import sys
from types import FrameType

_INTERRUPTED = 130


def main() -> None:
    """Run the command line; an interrupt ends it in one line, also while libraries are loaded."""
    is_interrupted = False

    def interrupt(number: int, frame: FrameType | None) -> None:
        nonlocal is_interrupted
        del number, frame
        is_interrupted = True
        raise KeyboardInterrupt

    try:
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # else it is ignored
            signal.signal(signal.SIGINT, interrupt)
        from chart_binder.cli.main import main as run

        run()
    except (KeyboardInterrupt, Exception) as error:
        if not (is_interrupted or isinstance(error, KeyboardInterrupt)):
            raise
        sys.stderr.write("\ncanon: interrupted\n")
        sys.exit(_INTERRUPTED)


if __name__ == "__main__":
    main()
