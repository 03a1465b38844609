"""The former place of the lenient JSON reader."""
