"""Turn configuration into objects: the pipeline, evidence, the store and the tools."""

import logging
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from chart_binder.config import Config, LLMConfig
from chart_binder.config.load import data_folder, load_settings
from chart_binder.domain.evidence import EvidenceBundle, ReleaseGroup
from chart_binder.domain.evidence_json import with_recordings
from chart_binder.domain.tags import TrackTags
from chart_binder.domain.verdict import OverrideRecord
from chart_binder.domain.vocabulary import EntityKind, RecordingId, ReleaseGroupId, ReleaseId
from chart_binder.errors import CanonError, LookupFailedError, NothingFoundError, UsageError
from chart_binder.files import absolute_path, path_text
from chart_binder.jobs import pipeline as stages
from chart_binder.jobs.decision import EXIT_STATUS, Decision
from chart_binder.jobs.gather import (
    EvidenceSource,
    MusicBrainzEvidence,
    SiblingNeed,
    TagReader,
    tags_or_error,
)
from chart_binder.jobs.pipeline import OverrideLookup, Pipeline
from chart_binder.jobs.stored_decisions import (
    RunVersions,
    adjudicator_version,
    rules_version,
    saved_run,
)
from chart_binder.llm.tools import default_tools, without_network
from chart_binder.react.tools import Tool
from chart_binder.react.transcript import EventHandler
from chart_binder.store import open_store, read_overrides

if TYPE_CHECKING:
    from chart_binder.domain.evidence import Link, RecordingCandidate
    from chart_binder.domain.tags import WholeRelease
    from chart_binder.jobs.named_records import Lookups, NamedRecord, SongTitles
    from chart_binder.jobs.write import ReleaseLookup
    from chart_binder.musicbrainz.client import Client
    from chart_binder.musicbrainz.source import Source
    from chart_binder.musicbrainz.web_service import MBRelease, MBReleaseGroup, Recording
    from chart_binder.store import Store

_MODEL_IS_OFF = "no language model was asked: `canon config set llm.enabled true` turns one on"
_MAX_RELEASES = 64
"""The number of releases with their tracks in memory; the files of an album are on few."""
_MODEL_IS_OFFLINE = "no model was asked, because this run is offline"
_log = logging.getLogger(__name__)


def store_url(config: Config) -> str:
    """Return the store's address in SQLAlchemy's form."""
    return config.store.url or f"sqlite:///{data_folder() / 'canon.db'}"


def transcripts_folder() -> Path:
    """Return the folder in which runs of the adjudicator are recorded."""
    return data_folder() / "transcripts"


def exam_results() -> Path:
    """Return the file that stores the results of `canon model check`."""
    return data_folder() / "model-checks.json"


def reads_prose(config: LLMConfig) -> bool:
    """Return whether the model may decide from prose, as may one that was never examined.

    Raises `FileError` if the results of exams cannot be read.
    """
    if not exam_results().exists():
        return True
    from chart_binder.llm.model_exam import find_result  # not needed before a model is examined

    result = find_result(exam_results(), config)
    return result is None or result.score.is_enough


def overrides(config: Config) -> Callable[[], Mapping[str, OverrideRecord]]:
    """Return a function that reads the overrides once; without a store there are none."""
    return cache(partial(read_overrides, store_url(config)))


def why_no_model(config: Config) -> str:
    """Return why no model is asked, and how to change that; empty if one is asked."""
    if not config.llm.enabled:
        return _MODEL_IS_OFF
    return (
        _MODEL_IS_OFFLINE if config.musicbrainz.offline and config.llm.provider != "replay" else ""
    )


def run_versions(config: Config, run_id: str) -> RunVersions:
    """Return the versions that are stored with a run's decisions. Raises `CanonError`."""
    rules, llm, adjudicator = config.rules, config.llm, ""
    if not why_no_model(config):
        adjudicator = adjudicator_version(llm, rules, reads_prose=reads_prose(llm))
    return RunVersions(run_id, rules_version(rules), adjudicator)


def rules_and_model(
    config: Config,
    *,
    record: Path | None,
    on_event: EventHandler | None = None,
    on_token: Callable[[str], None] | None = None,
    can_read: bool | None = None,
) -> Pipeline:
    """Return the pipeline with the configured rules and model, without overrides and evidence.

    The model's runs are recorded in the folder `record`; `on_event` is called with every event,
    `on_token` with every piece of a reply. `can_read` is the result of `reads_prose`, if the caller
    has it already. Raises `CanonError`.
    """
    llm = config.llm
    if why_not := why_no_model(config):
        return Pipeline(config.rules, why_not_asked=why_not)
    # Not needed without a model.
    from chart_binder.llm.react_adjudicator import ReActAdjudicator, RunSetup

    setup = RunSetup(
        on_event=on_event,
        on_token=on_token,
        rules=config.rules,
        musicbrainz=partial(_musicbrainz, config),
        find_recordings=partial(_bring_in, config),
        find_links=partial(_links_of, config),
        reads_prose=reads_prose(llm) if can_read is None else can_read,
    )
    return Pipeline(config.rules, ReActAdjudicator(llm, record=record, setup=setup))


def with_store(
    pipeline: Pipeline,
    config: Config,
    store: "Store",
    versions: RunVersions,
    evidence: EvidenceSource | None = None,
) -> Pipeline:
    """Return a pipeline for files: with overrides, and evidence, by default from MusicBrainz."""
    return replace(
        pipeline,
        overrides=MusicBrainzOverrides(config),
        evidence=evidence or musicbrainz_evidence(config, store),
        versions=versions,
    )


def decide_file(path: str | Path, config: Config | None = None) -> Decision:
    """Decide one audio file as `canon decide` does, and save the decision in the store.

    `config` is by default what `canon config show` shows. An error of the file, of MusicBrainz or
    of the model is returned as a decision, too: see `Decision.state` and `failure`.

    Raises `UsageError` for a folder (see `run_batch`), `ConfigError`, `PluginError` and
    `StoreError`.
    """
    path = Path(path)
    if path.is_dir():
        raise UsageError(f"{path_text(path)!r} is a folder: `run_batch` decides folders")
    config = config or load_settings(None, os.environ, {}).config
    url, arguments = store_url(config), [absolute_path(path)]
    with open_store(url) as store, saved_run(store, "decide", arguments) as run:
        model = rules_and_model(config, record=transcripts_folder())
        pipeline = with_store(model, config, store, run_versions(config, run.run.id))
        pipeline = replace(pipeline, asks_years=config.llm.ask == "year")
        case = stages.save_file(pipeline, stages.decide_file(pipeline, path), run)
        run.end(EXIT_STATUS[case.decision.state])
    return case.decision


def tools(config: Config) -> tuple[Tool, ...]:
    """Return the tools of a run; offline, those that open no socket. Raises `PluginError`."""
    llm = without_network(config.llm) if config.musicbrainz.offline else config.llm
    return default_tools(llm, musicbrainz=partial(_musicbrainz, config))


@contextmanager
def _musicbrainz(
    config: Config, since: float = 0.0, bundle: EvidenceBundle | None = None
) -> Iterator["Client"]:
    """Open MusicBrainz for one look-up, which may also use stored answers.

    A look-up for a bundle asks the source that the bundle is from.
    """
    with open_store(store_url(config)) as store:
        yield musicbrainz_source(config, store, since).client(bundle)


def _bring_in(
    config: Config, bundle: EvidenceBundle, kind: str, mbid: str
) -> tuple["RecordingCandidate", ...]:
    """Return the recordings that a record adds to the evidence; this is a `FindRecordings`."""
    from chart_binder.musicbrainz.sibling_lookup import bring_in

    with _musicbrainz(config, bundle=bundle) as client:
        return bring_in(client, bundle, kind, mbid)


def _links_of(config: Config, groups: Sequence[ReleaseGroupId]) -> tuple["Link", ...]:
    """Return what MusicBrainz links release groups to; this is a `llm.tools.FindLinks`."""
    with _musicbrainz(config) as client:
        return client.links_of(groups)


def musicbrainz_evidence(
    config: Config, store: "Store", since: float = 0.0, read_tags: TagReader = tags_or_error
) -> MusicBrainzEvidence:
    """Return MusicBrainz as a source of evidence, without answers from before `since`."""
    need = SiblingNeed(config.musicbrainz.siblings, config.rules)
    return MusicBrainzEvidence(musicbrainz_source(config, store, since), need, read_tags)


def release_lookup(config: Config, store: "Store") -> "ReleaseLookup":
    """Return a function that looks up a release with its tracks, if possible in stored answers.

    It connects at the first call, and raises `LookupFailedError`.
    """

    @cache
    def client() -> "Client":
        return musicbrainz_source(config, store).client()

    @lru_cache(_MAX_RELEASES)
    def look_up(release_id: str) -> "WholeRelease | None":
        from chart_binder.musicbrainz.evidence import whole_release

        release = client().release(ReleaseId(release_id))
        return whole_release(release) if release else None

    return look_up


def stored_evidence(
    config: Config, store: "Store", recording: RecordingId
) -> EvidenceBundle | None:
    """Return stored evidence on a recording, however old, or None. Raises `StoreError`."""
    musicbrainz = config.musicbrainz.model_copy(update={"offline": True})
    try:
        offline = config.model_copy(update={"musicbrainz": musicbrainz})
        return recording_evidence(offline, store, recording)
    except (LookupFailedError, NothingFoundError):
        return None


def recording_evidence(config: Config, store: "Store", recording: RecordingId) -> EvidenceBundle:
    """Return the evidence on a recording, by its id alone and without other recordings.

    Raises `LookupFailedError`, `NothingFoundError` and `StoreError`.
    """
    return musicbrainz_source(config, store).gather(TrackTags(recording_mbid=recording))


def look_up_record(config: Config, kind: EntityKind, mbid: str) -> "NamedRecord | None":
    """Return a record that a person names, if MusicBrainz has it. Raises `LookupFailedError`."""
    from chart_binder.domain.vocabulary import area_name, minutes
    from chart_binder.jobs.named_records import NamedRecord

    record: Recording | MBRelease | MBReleaseGroup | None
    details: tuple[str | None, ...] = ()
    group_of_release = None
    with _musicbrainz(config) as client:
        if kind == "recording":
            record = recording = client.recording(RecordingId(mbid))
            if recording and recording.length_ms:
                details = (minutes(recording.length_ms),)
        elif kind == "release":
            record = release = client.release(ReleaseId(mbid))
            if release:
                details = (area_name(release.country), release.date)
                group_of_release = ReleaseGroup(
                    release.release_group.id, release.release_group.title
                )
        else:
            record = group = client.release_group(ReleaseGroupId(mbid))
            details = (group.primary_type, group.first_release_date) if group else ()
    if record is None:
        return None
    about = ", ".join(filter(None, (record.disambiguation, *details)))
    date = details[-1] if kind != "recording" and details else None
    return NamedRecord(
        kind, record.id, record.title, record.artist_credit_phrase, about, date, group_of_release
    )


def stated_sibling(
    config: Config, bundle: EvidenceBundle, recording_id: RecordingId
) -> "RecordingCandidate":
    """Return the recording that a person calls the same performance, as evidence.

    Raises `LookupFailedError`, and `NothingFoundError` if it does not exist or is on no release.
    """
    from chart_binder.musicbrainz.sibling_lookup import stated_sibling_of

    with _musicbrainz(config, bundle=bundle) as client:
        return stated_sibling_of(client, bundle, recording_id)


def placed_recording(
    config: Config, bundle: EvidenceBundle, override: OverrideRecord
) -> "RecordingCandidate | None":
    """Return the song on the release group of an override as evidence, if the bundle lacks it.

    Raises `LookupFailedError`.
    """
    from chart_binder.musicbrainz.sibling_lookup import placed_recording_of

    if override.crg_mbid is None or override.crg_mbid in bundle.all_ids.ids:
        return None
    with _musicbrainz(config, bundle=bundle) as client:
        return placed_recording_of(client, bundle, override.crg_mbid, override.rr_mbid)


def current_id(config: Config, kind: EntityKind, mbid: str, since: float = 0.0) -> str:
    """Return the present id of a record at MusicBrainz, which differs if it was merged.

    Answers from before `since` are not used. Raises `LookupFailedError`.
    """
    with _musicbrainz(config, since) as client:
        return client.current_id(kind, mbid)


def record_lookups(config: Config) -> "Lookups":
    """Return how the records that a person names are looked up."""
    from chart_binder.jobs.named_records import Lookups  # needed only for what a person names

    return Lookups(
        partial(current_id, config),
        partial(look_up_record, config),
        partial(stated_sibling, config),
    )


class MusicBrainzOverrides(OverrideLookup):
    """The stored overrides, under the ids that MusicBrainz has now.

    Ids are looked up again, because older answers do not show a merge.
    """

    def __init__(self, config: Config) -> None:
        super().__init__(overrides(config))
        self._config = config
        self._since = 0.0 if config.musicbrainz.offline else time.time()
        self._songs: dict[OverrideRecord, SongTitles] = {}

    def with_current_ids(
        self, override: OverrideRecord, bundle: EvidenceBundle
    ) -> tuple[OverrideRecord, EvidenceBundle]:
        """Return an override with its current ids, and save these in the store.

        Also return the evidence with the recording that the override calls the same performance,
        and with the release group that it names. Raises `CanonError` if that recording does not
        exist or cannot be looked up. Only ids that the evidence lacks are looked up; if that fails,
        they do not change.
        """
        from chart_binder.jobs.named_records import current_ids, named_ids  # only for overrides

        look_up = partial(current_id, self._config)
        ids, notes = current_ids(named_ids(override), bundle, look_up)
        current = msgspec.structs.replace(override, **ids)
        if notes:
            level = logging.INFO if current == override else logging.WARNING
            _log.log(level, "ids of an override are not in the evidence", extra={"notes": notes})
        if current != override:
            with open_store(store_url(self._config)) as store:
                store.overrides.rename(override, current)
        bundle = self._with_same_performance(current, bundle)
        try:
            placed = placed_recording(self._config, bundle, current)
        except LookupFailedError as error:
            _log.warning("the release group of an override was not looked up: %s", error)
            placed = None
        return current, with_recordings(bundle, [placed] if placed else [])

    def _with_same_performance(
        self, current: OverrideRecord, bundle: EvidenceBundle
    ) -> EvidenceBundle:
        """Return the evidence with the recording that a person calls the same performance."""
        if current.same_as is None or current.same_as in bundle.all_ids.ids:
            return bundle
        try:
            recording = stated_sibling(self._config, bundle, current.same_as)
        except (LookupFailedError, NothingFoundError) as error:
            kind = LookupFailedError if isinstance(error, LookupFailedError) else CanonError
            raise kind(
                f"recording {current.same_as}, which a person says is the same performance, could"
                f" not be looked up: {error}; `canon override remove` takes that back"
            ) from error
        return with_recordings(bundle, [recording])

    def of_merged_recording(self, bundle: EvidenceBundle) -> OverrideRecord | None:
        """Return the override for a recording that was merged with one of the evidence.

        Raises `LookupFailedError` and `StoreError`.
        """
        stored = self.read_all()
        if not stored:
            return None
        from chart_binder.jobs.named_records import merged_override  # needed for overrides alone

        self._songs = self._songs or self._songs_of(stored.values())
        return merged_override(
            bundle,
            stored.values(),
            lambda override: self._songs.get(override, frozenset()),
            partial(current_id, self._config, since=self._since),
            partial(current_id, self._config),
        )

    def _songs_of(self, stored: Iterable[OverrideRecord]) -> "dict[OverrideRecord, SongTitles]":
        from chart_binder.jobs.named_records import songs_in
        from chart_binder.jobs.overrides import override_effect

        with open_store(store_url(self._config)) as store:
            bundles = {
                override: override_effect(store, override).bundle
                or stored_evidence(self._config, store, override.recording_mbid)
                for override in stored
            }
        return {
            override: songs_in(bundle) if bundle else frozenset()
            for override, bundle in bundles.items()
        }


def tagged_recording(path: Path) -> RecordingId | None:
    """Return the recording id in a file's tags. Raises `AudioError`."""
    from chart_binder.audio.reading import read_tags

    mbid = read_tags(path).recording_mbid
    return RecordingId(mbid) if mbid else None


def index_path(config: Config) -> Path:
    """Return the path of the index of MusicBrainz; there may be no file."""
    setting = config.musicbrainz.index
    return Path(setting).expanduser() if setting else data_folder() / "musicbrainz.index"


def musicbrainz_source(config: Config, store: "Store", since: float = 0.0) -> "Source":
    """Return MusicBrainz as `[musicbrainz] source` names it: the web service, an index, or both.

    Answers of the web service from before `since` are not used. Raises `ConfigError`, and
    `IndexFileError` if an index that is needed cannot be read.
    """
    from chart_binder.musicbrainz.source import open_source
    from chart_binder.store.decisions import AnswersSince

    answers = AnswersSince(store.answers, since) if since else store.answers
    return open_source(config.musicbrainz, index_path(config), answers, store.slots)
