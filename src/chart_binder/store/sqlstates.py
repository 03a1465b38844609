"""What PostgreSQL's error codes mean to the person at the terminal."""

import re

from chart_binder.store.meanings import first_line

_MEANING = {
    "55P03": "is locked by another program: wait for it to end, or stop it",
    "40P01": "is locked by another program: wait for it to end, or stop it",
    "40001": "was changed by another program at the same time: try again",
    "25006": "is read-only: name a server that takes writes",
    "42501": "may not be used: its user is not allowed to",
    "28000": "may not be opened: the server refuses its user",
    "28P01": "may not be opened: the server refuses the password",
    "3D000": "is not there: make the database, or name another in store.url",
    "53100": "cannot be written: no room is left on the server's disk",
    "53300": "cannot be opened: the server has too many connections",
    "57P03": "cannot be reached: the server is starting or stopping",
}
"""By SQLSTATE (postgresql.org/docs/current/errcodes-appendix.html)."""
_MEANING_OF_CLASS = {
    "08": "cannot be reached: the connection to the server failed",
    "28": "may not be opened: the server refuses its user",
    "53": "cannot be used: the server lacks room, memory or connections",
    "57": "cannot be reached: the server was stopped",
    "58": "cannot be read or written: the server's disk failed",
    "XX": "is damaged: the server cannot read its own files",
}
_NO_CODE = (
    ("password authentication failed", _MEANING["28P01"]),
    ("does not exist", _MEANING["3D000"]),
    ("is not permitted to log in", _MEANING["28000"]),
    ("no pg_hba.conf entry", _MEANING["28000"]),
)
"""A connection that is refused has no code, but words: English ones, as a server has by default."""
_SAYS_WHO = re.compile(r'(user|role) "[^"]*"')


def postgres_meaning(cause: BaseException | None) -> str:
    """Return what follows the store's name in a sentence: `is damaged: ...`."""
    code = getattr(cause, "sqlstate", None) or ""
    known = _MEANING.get(code) or _MEANING_OF_CLASS.get(code[:2])
    if known:
        return known
    said = _SAYS_WHO.sub(r"\1 ***", first_line(cause))
    if code:
        return f"cannot be used: {said}"
    return next((told for words, told in _NO_CODE if words in said), f"cannot be reached: {said}")
