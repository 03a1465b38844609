"""Kinds of audio file: where their tags stand, and how the rest is kept when tags change."""
