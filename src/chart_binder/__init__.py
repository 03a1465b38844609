"""Decide which release group a recording belongs to, and show why."""

__version__ = "0.1.0"
