"""What is looked up by a value of any length is indexed by a short one."""

import hashlib

_KEY_BYTES = 16
_MOST_TEXT = 500
_HEAD = 200


def path_key(path: bytes) -> bytes:
    """Return 16 bytes of a path's SHA-256: PostgreSQL indexes no value over 2,704 bytes."""
    return hashlib.sha256(path).digest()[:_KEY_BYTES]


def short_key(key: str) -> str:
    """Return a text key as it is, or its beginning and its hash where it is long."""
    if len(key) <= _MOST_TEXT:
        return key
    return f"{key[:_HEAD]}...{hashlib.sha256(key.encode()).hexdigest()}"
