"""Plug-ins of the whole test run: canned transcripts, and pytest inside a test."""

pytest_plugins = ["chart_binder.testing", "pytester"]
