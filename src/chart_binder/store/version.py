"""Which version of the schema this program knows."""

VERSION = 3
"""What `schema_version` holds once every table stands as `schema` says."""


def from_the_future(name: str, version: int) -> str:
    """Return what is said of a store that a newer program has brought up to date."""
    return (
        f"the store {name!r} was written by a newer canon (schema {version}, this one knows"
        f" {VERSION}): update canon, or name another file in store.url"
    )
