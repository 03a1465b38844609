"""The program `canon`, which `python -m chart_binder` is too."""

import sys

_INTERRUPTED = 130


def main() -> None:
    """Load the command line and run it; an interrupt ends it in one line, at any moment."""
    try:
        from chart_binder.cli.main import main as run

        run()
    except KeyboardInterrupt:
        sys.stderr.write("\ncanon: interrupted\n")
        sys.exit(_INTERRUPTED)


if __name__ == "__main__":
    main()
