"""The adjudicator: a model looks into what the rules leave open, its answer checked by code."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from chart_binder import plugins
from chart_binder.config import LLMConfig, RulesConfig
from chart_binder.domain.evidence import EvidenceBundle
from chart_binder.domain.evidence_json import evidence_hash, read_bundle
from chart_binder.domain.verdict import Verdict
from chart_binder.llm.confidence_map import AS_STATED, ConfidenceMap, read_map
from chart_binder.llm.installed_tools import default_tools
from chart_binder.llm.methods import Way, by_method
from chart_binder.llm.placeholders import numbers
from chart_binder.llm.prompt import Prompt, configured
from chart_binder.llm.result import AdjudicationResult, Outcome
from chart_binder.llm.runs import Asking, Case
from chart_binder.llm.sampling import sampled
from chart_binder.llm.topic import topic
from chart_binder.react.conversation import ChatModel
from chart_binder.react.dialect import Dialect
from chart_binder.react.tools import Tool, Toolbox
from chart_binder.react.transcript import Watch

DISABLED = "LLM adjudication is disabled"


class ReActAdjudicator:
    """Looks into a case that the rules leave open, by reasoning in the open and looking things up.

    Everything after `config` has a default built from configuration. `searxng` is a search client
    for `web_search`, `musicbrainz` what opens MusicBrainz for its tool; `tools` are tools or typed
    functions; `record` is a folder for transcripts; `watch` is told every event as it happens,
    `listen` every piece of a reply as it is written; `knobs` are those of the rules that an answer
    is held against; `prompt` goes before what `[llm.prompt]` says, `calibration` before the
    file of `[llm.acceptance]`. Nothing is opened before `adjudicate`; threads may share one
    adjudicator as far as they may share `chat`.

    Raises `PluginError` for a provider, tool or dialect that is not installed, `ConfigError` for a
    prompt that cannot be meant or a calibration that cannot be read.
    """

    def __init__(
        self,
        config: LLMConfig,
        *,
        searxng: object | None = None,
        chat: ChatModel | None = None,
        tools: Sequence[Tool | Callable[..., object]] | None = None,
        dialect: Dialect | None = None,
        record: Path | None = None,
        watch: Watch | None = None,
        knobs: RulesConfig | None = None,
        listen: Callable[[str], None] | None = None,
        prompt: Prompt | None = None,
        calibration: ConfidenceMap | None = None,
        musicbrainz: object | None = None,
    ) -> None:
        self._config = config
        self._record = record
        self._watch = watch
        self._listen = listen
        self._knobs = knobs or RulesConfig()
        if config.enabled:
            self._calibrated = calibration or _calibration(config)
            self._prompt = prompt or configured(config.prompt)
            self._samples = [(each, chat or _chat_model(each)) for each in _samples(config)]
            self._dialect = dialect or plugins.load("chart_binder.dialects", config.dialect)()
            offered = default_tools(config, searxng, musicbrainz) if tools is None else tools
            self._tools = Toolbox(offered).tools

    def adjudicate(
        self,
        evidence_bundle: EvidenceBundle | Mapping[str, Any] | bytes | str,
        decision_trace: Verdict | Sequence[str] | str | None = None,
    ) -> AdjudicationResult:
        """Return the answer, of whatever outcome; `decision_trace` says why the case is open.

        Raises `EvidenceError` for an ill-formed bundle, a caller's mistake. Whatever the model, the
        network or a page does becomes the outcome.
        """
        bundle = read_bundle(evidence_bundle)
        if not self._config.enabled:
            known = evidence_hash(bundle)
            return AdjudicationResult(Outcome.ERROR, problem=DISABLED, evidence_hash=known)
        task = self._prompt.question(numbers(self._config, self._knobs))
        case = Case.of(bundle, decision_trace, task)
        return by_method(self._config.method, partial(self._ask, case))

    def system_prompt(self) -> str:
        """Return the system prompt: the same bytes for every recording."""
        return self._rendered(() if self._config.method == "direct" else self._tools)

    def _rendered(self, tools: Sequence[Tool]) -> str:
        return self._prompt.render(self._dialect, tools, numbers(self._config, self._knobs))

    def _ask(self, case: Case, way: Way) -> AdjudicationResult:
        """Ask about a case in one way, as often as configured."""
        tools = self._tools if way == "react" else ()
        system_prompt = self._rendered(tools)
        toolbox = Toolbox(tool.for_run(topic(case.bundle)) for tool in tools)

        def ask(sample: int) -> AdjudicationResult:
            config, chat = self._samples[sample]
            asking = Asking(
                config=config.model_copy(update={"method": way}),
                knobs=self._knobs,
                chat=chat,
                dialect=self._dialect,
                toolbox=toolbox,
                prompt=self._prompt,
                system_prompt=system_prompt,
                part_of={
                    "method": self._config.method,
                    "samples": self._config.samples,
                    "sample": sample + 1,
                },
                calibrated=self._calibrated,
                record=self._record,
                watch=self._watch,
                listen=self._listen,
            )
            return asking.about(case)

        return sampled(ask, self._config, case.labels.name_of, self._calibrated)


def _samples(config: LLMConfig) -> Sequence[LLMConfig]:
    """Return the configuration of each sample: of several, each has a seed of its own."""
    if config.samples == 1:
        return (config,)
    warm = {"samples": 1, "temperature": config.sample_temperature}
    return [
        config.model_copy(update=warm | {"seed": config.seed + number})
        for number in range(config.samples)
    ]


def _calibration(config: LLMConfig) -> ConfidenceMap:
    file = config.acceptance.calibration
    return read_map(Path(file).expanduser()) if file else AS_STATED


def _chat_model(config: LLMConfig) -> ChatModel:
    chat: ChatModel = plugins.load("chart_binder.chat_models", config.provider)(config)
    return chat
