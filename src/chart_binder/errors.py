"""What can go wrong outside the program, one class for each way.

CanonError                     one clear sentence for the person at the terminal
├── ConfigError                a configuration that cannot be meant
├── UsageError                 a call that cannot be meant
├── PluginError                a plug-in that is not there or cannot be loaded
├── EvidenceError              an ill-formed evidence bundle (`where` is the path inside it)
├── FileError                  a file that was named and cannot be read, whatever it should hold
├── AudioError                 a file that cannot be read as audio
├── SaveError                  a file whose tags are not changed (it is as it was)
├── UnidentifiedError          a file that says too little to be looked up
├── LookupFailedError          a service that could not be asked; says nothing about the music
├── NothingFoundError          a service that answered: it knows no such recording
├── NotLookedUpError           nobody was asked, as the caller wished, and nothing is kept
├── StoreError                 the store cannot be opened, read or written
├── ClusterError               a Dask cluster that cannot be reached, or cannot work
└── TranscriptError            a transcript that cannot be read
"""

import re


class CanonError(Exception):
    """Something outside the program is not as it must be; the text is one clear sentence."""


class ConfigError(CanonError):
    """The configuration cannot be meant: names the source, the key, what was found and allowed."""


class UsageError(CanonError):
    """The command line cannot be meant."""


class PluginError(CanonError):
    """A plug-in is not installed or cannot be loaded: names it, its group and what there is."""


class EvidenceError(CanonError):
    """An evidence bundle is ill-formed.

    `where` is the path inside the document, such as `recording_candidates[0].rg_candidates`.
    """

    def __init__(self, problem: str, where: str = "") -> None:
        super().__init__(
            f"evidence bundle: {where}: {problem}" if where else f"evidence bundle: {problem}"
        )
        self.where = where


class FileError(CanonError):
    """A file that was named is absent, unreadable or too long: names it and says which."""


class AudioError(CanonError):
    """A file cannot be read as audio: absent, empty, unreadable, corrupt or not audio at all."""


class SaveError(CanonError):
    """The tags of a file could not be changed, or must not be: it is as it was, with the reason."""


class UnidentifiedError(CanonError):
    """A file has neither a recording id, nor an ISRC, nor artist and title."""


class LookupFailedError(CanonError):
    """A service could not be asked or its answer not read; says nothing about the music."""


class NothingFoundError(CanonError):
    """A service answered, and knows no such recording."""


class NotLookedUpError(CanonError):
    """Nobody was asked, as the caller wished, and nothing is kept; says nothing of the music."""


class StoreError(CanonError):
    """The store cannot be opened, read or written."""


class DamagedRecordError(StoreError):
    """One record in the store is not what was put there; others may be whole."""


class ClusterError(CanonError):
    """A Dask cluster cannot be reached or started, or a worker of it cannot work: says which."""


class TranscriptError(CanonError):
    """A recorded transcript cannot be read: names the file, the line and the defect."""


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


class SearchError(LookupFailedError):
    """The search service could not be asked.

    The text is one sentence for the operator, with what to do about it; `brief` is what a model
    may be told: no addresses, no settings.
    """

    def __init__(self, problem: str, advice: str, brief: str) -> None:
        super().__init__(f"{problem}; {advice}")
        self.brief = brief


class FetchError(LookupFailedError):
    """A page could not be read; the text is one sentence fit for a model and for the operator."""


class RefusedError(FetchError):
    """An address that may not be asked, whoever asks: nothing was sent to it."""


class UnknownHostError(Exception):
    """The name service knows no such host."""
