"""The outside world of the command line: golden evidence, audio files that name it, settings."""

import copy
import json
from pathlib import Path
from typing import Any

from audio.tagging import CONTAINERS
from servers.http import StandIn
from servers.musicbrainz import MusicBrainzStandIn

Bundle = dict[str, Any]

_LINES = (Path(__file__).parents[1] / "golden" / "decisions.jsonl").read_text("utf-8").splitlines()
GOLDEN: dict[str, dict[str, Any]] = {case["id"]: case for case in map(json.loads, _LINES)}
RHAPSODY = GOLDEN["lead-bohemian"]
SINGLE, ALBUM = "361a28b7-4588-44a6-8c96-86c1efb8258f", "6b47c9a0-b9e1-3df9-a5e8-50a6ce0dbdbd"
LP = "6defd963-fe91-4550-b18e-82c685603c2b"
_KEYS = {"title": "TITLE", "artist": "ARTIST", "recording": "MUSICBRAINZ_TRACKID", "isrc": "ISRC"}


def bundle_of(name: str) -> Bundle:
    """Return a copy of a golden bundle, to change at will."""
    bundle: Bundle = copy.deepcopy(GOLDEN[name]["bundle"])
    return bundle


def open_rhapsody() -> Bundle:
    """Return evidence that the rules leave open: the single is dated by its year alone."""
    bundle = bundle_of("lead-bohemian")
    single = bundle["recording_candidates"][0]["rg_candidates"][0]
    single["first_release_date"] = single["releases"][0]["date"] = "1975"
    return bundle


def flac(folder: Path, name: str = "song.flac", **tags: str) -> Path:
    """Make an audio file with tags: title, artist, recording, isrc."""
    container = next(each for each in CONTAINERS if each.name == "flac")
    made = container.tagged(folder, [(_KEYS[key], (text,)) for key, text in tags.items()])
    return made.rename(folder / name)


def file_of(bundle: Bundle, folder: Path, name: str = "song.flac") -> Path:
    """Make an audio file that has the recording id of a bundle."""
    recording = bundle["recording_candidates"][0]
    return flac(folder, name, recording=recording["mb_recording_id"], title=recording["title"])


def asking(mb: MusicBrainzStandIn) -> dict[str, str]:
    """Return the environment that makes a stand-in the MusicBrainz to ask."""
    return {
        "CANON_MUSICBRAINZ__HOSTNAME": mb.hostname,
        "CANON_MUSICBRAINZ__HTTPS": "false",
        "CANON_MUSICBRAINZ__RATE_LIMIT_PER_S": "0",
        "CANON_MUSICBRAINZ__TIMEOUT_S": "2",
    }


def adjudicating(model: StandIn, search: StandIn, pages: StandIn | None = None) -> dict[str, str]:
    """Return the environment that turns the adjudicator on, with stand-ins for its services."""
    settings = {
        "CANON_LLM__ENABLED": "true",
        "CANON_LLM__BASE_URL": model.url,
        "CANON_LLM__TIMEOUT_S": "3",
        "CANON_LLM__SEARXNG__URL": search.url,
        "CANON_LLM__SEARXNG__TIMEOUT_S": "2",
    }
    if pages:
        settings["CANON_LLM__FETCH__ALLOW_PRIVATE_HOSTS"] = pages.host
        settings["CANON_LLM__FETCH__PORTS"] = str(pages.port)
    return settings
