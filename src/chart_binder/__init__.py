"""Decide which release group a recording belongs to, and show why.

The names here are for other programs; each is imported when it is first used.
"""

from chart_binder.lazy import lazy_exports

TYPE_CHECKING = False  # as in `typing`, which takes longer to import than all else here

if TYPE_CHECKING:
    from chart_binder.batch import BatchOptions as BatchOptions
    from chart_binder.batch import BatchResult as BatchResult
    from chart_binder.batch import Executor as Executor
    from chart_binder.batch import FileResult as FileResult
    from chart_binder.batch import run_batch as run_batch
    from chart_binder.config import Config as Config
    from chart_binder.config import LLMConfig as LLMConfig
    from chart_binder.domain.records import Measures as Measures
    from chart_binder.domain.tags import Policy as Policy
    from chart_binder.errors import CanonError as CanonError
    from chart_binder.jobs.batch.resume import FileSelection as FileSelection
    from chart_binder.jobs.decision import Decision as Decision
    from chart_binder.jobs.decision import State as State
    from chart_binder.llm.react_adjudicator import ReActAdjudicator as ReActAdjudicator

__version__ = "1.0.0"

_EXPORTS = {
    "batch": ("BatchOptions", "BatchResult", "Executor", "FileResult", "run_batch"),
    "config": ("Config", "LLMConfig"),
    "domain.records": ("Measures",),
    "domain.tags": ("Policy",),
    "errors": ("CanonError",),
    "jobs.batch.resume": ("FileSelection",),
    "jobs.decision": ("Decision", "State"),
    "llm.react_adjudicator": ("ReActAdjudicator",),
}

__getattr__, __dir__ = lazy_exports(__name__, _EXPORTS)
