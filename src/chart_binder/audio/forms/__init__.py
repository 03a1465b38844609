"""Kinds of tag: the bytes of their records, read and written."""
