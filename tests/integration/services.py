"""The outside world of the command line: audio files that name golden evidence, settings."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from audio.tagging import CONTAINERS
from golden.bundles import CASES, Bundle, year_only_single
from servers.http import StandIn
from servers.musicbrainz import MusicBrainzStandIn
from servers.pages import Pages
from servers.searxng import Searxng, hit
from servers.talk import Body, Said, Talker

RHAPSODY = CASES["lead-bohemian"]
SINGLE, ALBUM = "361a28b7-4588-44a6-8c96-86c1efb8258f", "6b47c9a0-b9e1-3df9-a5e8-50a6ce0dbdbd"
LP = "6defd963-fe91-4550-b18e-82c685603c2b"
ANSWER = {
    "crg_mbid": "C2", "rr_mbid": "C2.R1", "confidence": 0.95,
    "rationale": "The single came out 21 days before the album.",
}  # fmt: skip
"""What a model says of `year_only_single`, where it is right."""
UNSURE = (
    "Final Answer:\n"
    '```json\n{"crg_mbid": null, "rr_mbid": null, "confidence": 0.1, "rationale": "no"}\n```'
)
_KEYS = {"title": "TITLE", "artist": "ARTIST", "recording": "MUSICBRAINZ_TRACKID", "isrc": "ISRC",
         "album": "ALBUM", "date": "DATE"}  # fmt: skip


def flac(folder: Path, name: str = "song.flac", **tags: str) -> Path:
    """Make an audio file with tags: title, artist, recording, isrc, album, date."""
    container = next(each for each in CONTAINERS if each.name == "flac")
    made = container.tagged(folder, [(_KEYS[key], (text,)) for key, text in tags.items()])
    return made.rename(folder / name)


def file_of(bundle: Bundle, folder: Path, name: str = "song.flac", **tags: str) -> Path:
    """Make an audio file that has the recording id of a bundle, and more tags."""
    recording = bundle["recording_candidates"][0]
    return flac(folder, name, recording=recording["mb_recording_id"], title=recording["title"],
                **tags)  # fmt: skip


def open_bundles(count: int) -> list[Bundle]:
    """Return bundles of different recordings that the rules leave open."""
    bundles = [year_only_single() for _ in range(count)]
    for number, bundle in enumerate(bundles):
        recording = bundle["recording_candidates"][0]
        recording["mb_recording_id"] = f"00000000-0000-4000-8000-0000000000{number:02}"
        recording["length_ms"] = 300_000 + number
    return bundles


def asking(mb: MusicBrainzStandIn) -> dict[str, str]:
    """Return the environment that makes a stand-in the MusicBrainz to ask."""
    return {
        "CANON_MUSICBRAINZ__HOSTNAME": mb.hostname, "CANON_MUSICBRAINZ__HTTPS": "false",
        "CANON_MUSICBRAINZ__RATE_LIMIT_PER_S": "0", "CANON_MUSICBRAINZ__TIMEOUT_S": "2",
    }  # fmt: skip


def replaying(folder: Path, reply: str) -> dict[str, str]:
    """Return the environment that turns on a replayed model, which replies always alike."""
    canned = folder / "canned.jsonl"
    canned.write_text(json.dumps({"type": "reply", "content": reply}) + "\n", "utf-8")
    return {
        "CANON_LLM__ENABLED": "true",
        "CANON_LLM__PROVIDER": "replay",
        "CANON_LLM__MODEL_ID": str(canned),
    }


def adjudicating(model: StandIn, search: StandIn, pages: StandIn | None = None) -> dict[str, str]:
    """Return the environment that turns the adjudicator on, with stand-ins for its services."""
    settings = {
        "CANON_LLM__ENABLED": "true", "CANON_LLM__BASE_URL": model.url,
        "CANON_LLM__TIMEOUT_S": "3", "CANON_LLM__SEARXNG__URL": search.url,
        "CANON_LLM__SEARXNG__TIMEOUT_S": "2",
    }  # fmt: skip
    if pages:
        settings["CANON_LLM__FETCH__ALLOW_PRIVATE_HOSTS"] = pages.host
        settings["CANON_LLM__FETCH__PORTS"] = str(pages.port)
    return settings


TRUSTING = {"CANON_LLM__ACCEPTANCE__TRUSTED_SOURCES": "musicbrainz.org,127.0.0.1"}
"""One page of a stand-in suffices."""


def answering(*replies: str | Said, reading: str = "first_release") -> Talker:
    """Return a model that gives replies in order, and answers each second reading alike."""
    left = list(replies)

    def talk(messages: list[Body]) -> str | Said:
        if str(messages[-1]["content"]).startswith("# Second reading"):
            return json.dumps({"reading": reading})
        return left.pop(0)

    return talk


@contextmanager
def dated_page() -> Iterator[tuple[Pages, Searxng, list[str], dict[str, str]]]:
    """Serve a page that dates the single of `year_only_single`, and a search that finds it.

    Yields both, the calls with which a model reads the page, and the fact that it then cites.
    """
    page = "<title>Bohemian Rhapsody</title><p>Released: 31 October 1975 by EMI.</p>"
    with (
        Pages({"/rhapsody": page}) as pages,
        Searxng({"queen single": [hit(f"{pages.url}/rhapsody", "Bohemian Rhapsody")]}) as search,
    ):
        url = f"{pages.url}/rhapsody"
        calls = [call("web_search", query="queen single"), call("web_fetch", url=url)]
        yield pages, search, calls, {
            "about": "C1", "field": "first_release_date", "value": "31 October 1975 (UK)",
            "quote": "Released: 31 October 1975 by EMI", "source": url,
        }  # fmt: skip


def call(tool: str, **arguments: object) -> str:
    """Return a model's reply that calls a tool."""
    return f"Thought: I look it up.\nAction: {tool}\nAction Input: {json.dumps(arguments)}"


def final(**changes: object) -> str:
    """Return a model's reply that ends a run with `ANSWER`, changed."""
    answer = json.dumps(ANSWER | changes)
    return f"Thought: I know enough.\nFinal Answer:\n```json\n{answer}\n```"
