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
    from chart_binder.domain.evidence import EvidenceBundle as EvidenceBundle
    from chart_binder.domain.evidence_json import read_bundle as read_bundle
    from chart_binder.domain.records import Measures as Measures
    from chart_binder.domain.tag_policies import Policy as Policy
    from chart_binder.domain.verdict import FirstRelease as FirstRelease
    from chart_binder.errors import CanonError as CanonError
    from chart_binder.jobs.batch.items import Order as Order
    from chart_binder.jobs.batch.resume import FileSelection as FileSelection
    from chart_binder.jobs.decision import Decision as Decision
    from chart_binder.jobs.decision import State as State
    from chart_binder.llm.react_adjudicator import ReActAdjudicator as ReActAdjudicator
    from chart_binder.llm.react_adjudicator import RunSetup as RunSetup
    from chart_binder.llm.result import AdjudicationResult as AdjudicationResult
    from chart_binder.llm.result import Outcome as Outcome
    from chart_binder.react.steps import Document as Document
    from chart_binder.react.steps import Observation as Observation
    from chart_binder.react.tools import RunContext as RunContext
    from chart_binder.react.tools import Tool as Tool
    from chart_binder.react.tools import ToolError as ToolError
    from chart_binder.wiring import decide_file as decide_file

__version__ = "1.0.0"

_EXPORTS = {
    "batch": ("BatchOptions", "BatchResult", "Executor", "FileResult", "run_batch"),
    "config": ("Config", "LLMConfig"),
    "domain.evidence": ("EvidenceBundle",),
    "domain.evidence_json": ("read_bundle",),
    "domain.records": ("Measures",),
    "domain.tag_policies": ("Policy",),
    "domain.verdict": ("FirstRelease",),
    "errors": ("CanonError",),
    "jobs.batch.items": ("Order",),
    "jobs.batch.resume": ("FileSelection",),
    "jobs.decision": ("Decision", "State"),
    "llm.react_adjudicator": ("ReActAdjudicator", "RunSetup"),
    "llm.result": ("AdjudicationResult", "Outcome"),
    "react.steps": ("Document", "Observation"),
    "react.tools": ("RunContext", "Tool", "ToolError"),
    "wiring": ("decide_file",),
}

__getattr__, __dir__ = lazy_exports(__name__, _EXPORTS)
