"""Secrets in addresses are hidden before an address is shown."""

import re

# Greedy up to the last @: a password may hold @, / and spaces, and more hidden is better than less.
# The address of an SQLite file has neither user nor password, while folders may have an @.
_USER = re.compile(
    r"(?<=://)(?<!sqlite://).*(?=@)"
    r"|(?<!.)(?!mailto:)(?!.*://)/*[^\s:/@]+:.*(?=@)",
    re.DOTALL | re.IGNORECASE,
)
_PARAMETER = re.compile(r"([?&#;](?!timeout=)[^\s=&?#;]+=)[^&#;]+")


def masked(text: str) -> str:
    """Return a configured value with what may be secret in an address hidden.

    That is user name and password, and the values in a query. `text` is one value and no whole
    sentence: of what follows a secret, too much may be hidden, never too little.
    """
    return _PARAMETER.sub(r"\1***", _USER.sub("***", text, count=1))
