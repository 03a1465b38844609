"""`python -m chart_binder` is `canon`."""

from chart_binder.cli.main import main

main()
