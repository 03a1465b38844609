"""The errors that the program reports in one sentence, one class for each kind.

`except CanonError` catches all of these:

- `ConfigError`, `UsageError`, `PluginError`: what the caller asked for is not valid
- `EvidenceError`, `TranscriptError`: a document is ill-formed
- `FileError`: a file that was named cannot be read
- `AudioError`: a file cannot be read as audio; `NoAudioError` if it holds none
- `SaveError`: tags were not changed. In `chart_binder.audio`: `FileInUseError`, `NotWritableError`,
  `ChangedSinceError`, `UnconfirmedError`
- `UnidentifiedError`, `NothingFoundError`, `NotLookedUpError`: there is no evidence
- `LookupFailedError`: a service failed, so it is unknown whether there is evidence
    - `SearchError`: the search service
    - `FetchError`: a page; `AddressForbiddenError` if nothing was sent to it
- `StoreError`: the store failed; `DamagedRecordError` if one record did
- `IndexFileError`: an index of MusicBrainz cannot be built or read
- `ClusterError`: a Dask cluster failed

Four errors of `chart_binder.react`, a package that can be used alone, do not derive from
`CanonError`: `ChatError` (a model cannot be asked), `ToolError` (a tool failed; the model is
told), `ToolDefectError` (a function cannot be a tool) and `AnswerRefusedError` (an answer goes
back to the model).
"""

import re
import sys

ERROR_NUMBER = re.compile(r"\[Errno -?\d+\] ")
"""The prefix of the system's error texts: `[Errno 111] `."""


class CanonError(Exception):
    """Something outside the program is wrong; the text is one clear sentence."""


class ConfigError(CanonError):
    """The configuration is not valid; the text has the source, the key, and what is allowed.

    `problem` is the text without source and key, if it is about one value.
    """

    def __init__(self, text: str, problem: str = "") -> None:
        super().__init__(text)
        self.problem = problem or text


class UsageError(CanonError):
    """The command line is not valid."""


class PluginError(CanonError):
    """A plug-in is not installed or cannot be loaded; the text has its name and its group."""


class EvidenceError(CanonError):
    """An evidence bundle is ill-formed; `where` is the path inside the document."""

    def __init__(self, problem: str, where: str = "") -> None:
        super().__init__(
            f"evidence bundle: {where}: {problem}" if where else f"evidence bundle: {problem}"
        )
        self.where = where


class FileError(CanonError):
    """A file that was named is absent, unreadable or too long."""


class AudioError(CanonError):
    """A file cannot be read as audio: absent, empty, unreadable, corrupt or not audio at all.

    The text begins with the `name` of the file, if it is given; `problem` does not.
    """

    def __init__(self, problem: str, name: str = "") -> None:
        super().__init__(f"{name} {problem}" if name else problem)
        self.problem = f"it {problem}" if name else problem


class NoAudioError(AudioError):
    """A file with an audio suffix has no readable audio; reading it again would not help."""


class SaveError(CanonError):
    """The tags of a file could not or must not be changed; the file is as it was."""


class UnidentifiedError(CanonError):
    """A file has neither a recording id, nor an ISRC, nor artist and title."""


class LookupFailedError(CanonError):
    """A service could not be asked, or its answer could not be read, so nothing is known."""


class NothingFoundError(CanonError):
    """A service answered that it knows no such recording."""


class NotLookedUpError(CanonError):
    """No service was asked because the caller forbade it, and no answer is stored."""


class StoreError(CanonError):
    """The store cannot be opened, read or written."""


class DamagedRecordError(StoreError):
    """One record of the store is damaged; others may be whole."""


class IndexFileError(CanonError):
    """An index of MusicBrainz cannot be built or read; the text has the file and the defect."""


class ClusterError(CanonError):
    """A Dask cluster cannot be reached or started, or one of its workers cannot work."""


class TranscriptError(CanonError):
    """A recorded transcript cannot be read; the text names the file, the line and the defect."""


class SearchError(LookupFailedError):
    """The search service could not be asked; the text says what to do about it.

    `brief` is the text for a model, without addresses and settings.
    """

    def __init__(self, problem: str, advice: str, brief: str) -> None:
        super().__init__(f"{problem}; {advice}")
        self.brief = brief


class FetchError(LookupFailedError):
    """A page could not be read; the text may be shown to a model, too."""


class AddressForbiddenError(FetchError):
    """An address may not be fetched: nothing was sent to it."""


class UnknownHostError(Exception):
    """The name service cannot resolve the name of a host."""


# Greedy up to the last @, because a password may contain @, / and spaces. The address of an SQLite
# file has neither user nor password, but its folders may contain an @.
_USER = re.compile(
    r"(?<=://)(?<!sqlite://).*(?=@)"
    r"|(?<!.)(?!mailto:)(?!.*://)/*[^\s:/@]+:.*(?=@)",
    re.DOTALL | re.IGNORECASE,
)
_PARAMETER = re.compile(r"([?&#;](?!timeout=)[^\s=&?#;]+=)[^&#;]+")

INTERRUPTED = 130
"""The exit status of an interrupted run."""


def end_status(error: BaseException) -> int:
    """Return the exit status of a run that an error ended.

    A closed pipe (`| head`) counts as an interruption, like Ctrl-C.
    """
    is_interrupted = isinstance(error, (KeyboardInterrupt, BrokenPipeError))
    return INTERRUPTED if is_interrupted else 1


def masked(text: str) -> str:
    """Return a configured value without user name, password and query values of an address.

    `text` is one value, not a sentence, because text around a secret may be masked, too.
    """
    return _PARAMETER.sub(r"\1***", _USER.sub("***", text, count=1))


def counted(count: int, noun: str, plural: str = "") -> str:
    """Return a count with its noun for a message: `1 host`, `2,000 hosts`, `2 replies`."""
    return f"{count:,} {noun if count == 1 else plural or f'{noun}s'}"


def how_to_install(extra: str) -> str:
    """Return the command that installs an extra into this program, the way it was installed."""
    import json  # with the others, it takes long to import
    import shlex
    from importlib import metadata
    from pathlib import Path
    from urllib.parse import unquote

    source, option = "chart-binder", ""
    try:
        recorded = metadata.distribution(source).read_text("direct_url.json")  # PEP 610
    except metadata.PackageNotFoundError:
        recorded = None
    origin = json.loads(recorded or "{}")
    if (path := unquote(origin.get("url", "")).removeprefix("file://")).startswith("/"):
        is_editable = origin.get("dir_info", {}).get("editable", False)
        source, option = path, " -e" if is_editable else ""
    folders = Path(sys.prefix).parts
    program = "pip install"
    if "pipx" in folders:
        program = "pipx install --force"
    elif {"uv", "tools"} <= {*folders}:
        program = "uv tool install --force"
    return f"`{program}{option} {shlex.quote(f'{source}[{extra}]')}` installs it"
