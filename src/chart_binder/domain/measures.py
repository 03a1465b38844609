"""What a run over a library cost, and how its files ended."""

from collections.abc import Mapping

import msgspec


class StageCost(msgspec.Struct, frozen=True):
    """How many files went through a stage of the job, and the seconds that all of them took."""

    files: int = 0
    seconds: float = 0.0


class SlowFile(msgspec.Struct, frozen=True):
    """A file that took long, in seconds over all stages."""

    path: str
    seconds: float


class Measures(msgspec.Struct, frozen=True, kw_only=True):
    """Counts and costs of one run.

    `states` are of `files`, and of `folders` that could not be read or had nothing in them. Of the
    files `resumed` were settled by an earlier run, `pinned` of these because they are pinned.
    `seconds` is by the clock, `rules` counts rule codes, `causes` why files failed in one word.
    `errors` counts the sentences that say why, `unwritten` those why tags were not written: of
    several that say the same the first, and `examples` has the file that it was said of. `spent`
    counts what was asked of others: `musicbrainz_requests` (tries that came to nothing among them),
    `model_runs`, `model_replies`, `prompt_tokens`, `completion_tokens`. `stopped` says why the run
    ended before its time.
    """

    files: int = 0
    folders: int = 0
    resumed: int = 0
    pinned: int = 0
    seconds: float = 0.0
    states: Mapping[str, int] = {}
    decided_by: Mapping[str, int] = {}
    rules: Mapping[str, int] = {}
    tags: Mapping[str, int] = {}
    causes: Mapping[str, int] = {}
    errors: Mapping[str, int] = {}
    unwritten: Mapping[str, int] = {}
    examples: Mapping[str, str] = {}
    stages: Mapping[str, StageCost] = {}
    spent: Mapping[str, int] = {}
    slowest: tuple[SlowFile, ...] = ()
    stopped: str | None = None
