"""Why the open web could not be used."""

from chart_binder.errors import LookupFailedError


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
