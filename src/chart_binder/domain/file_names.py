"""Artist and title from the names of files and folders, if the tags lack them.

The forms are `Artist - Title`, `01 - Artist - Title`, `Artist - Album - 01 - Title`,
`Artist/Album (Year)/01 Title` and `Artist - Album (Year)/01 Title`. The number may include a side
(`B2`). A bare number is not an artist, and `Track 01` is not a title.
"""

import re
from dataclasses import replace
from functools import cache
from pathlib import Path

from chart_binder.domain.albums import album_folder
from chart_binder.domain.credit_names import VARIOUS_NAMES
from chart_binder.domain.song_titles import without_noise
from chart_binder.domain.tags import TrackTags
from chart_binder.domain.vocabulary import fold

FROM_NAME = "file name"
_DASH = re.compile(r"\s+[-–—]\s+")
_NUMBER = r"(?:(?:\d{1,2}[-.])?\d{1,3}|[A-H][1-9])"
"""The number of a track: `05`, `1-05` on a disc, `B2` on a side of vinyl."""
_NUMBERED = re.compile(rf"{_NUMBER}(?:\s*-\s*|[.)]\s*|\s+)(?=\S)(.+)")
_NUMBERED_ARTIST = re.compile(
    r"(?:0\d{1,2}|\d{1,3}[.)]|\d{1,2}[-.]\d{2}|[A-H][1-9][.)]?)\s+(?=\S)(.+)"
)
"""A text that certainly begins with a track number; `3 Doors Down` is a band."""
_ALBUM = re.compile(
    r"(?P<title>.*\S)\s*[(\[](?:19|20)\d\d[)\]]"
    r"|(?:(?:19|20)\d\d\s+-|[(\[](?:19|20)\d\d[)\]])\s+(?P<behind>.+)"
)
_NO_TITLE = re.compile(
    r"(?:(?:(?:audio ?|new )?(?:track|titel|piste|pista|spur|traccia|faixa|nummer|recording"
    r"|aufnahme)|untitled|unknown|unbekannt|トラック)\W*\d*)?\W*"
)
_NO_ARTIST = re.compile(
    r"(?:v\W?a\W?|unknown(?: artist)?|unbekannt(?:er \w+)?|compilations?"
    r"|soundtracks?|(?:my )?music|musik|musique|downloads?|[\d\W]*)"
)


def with_file_name(tags: TrackTags, path: Path) -> TrackTags:
    """Return tags with a missing artist or title taken from the name of the file.

    Tags that identify a recording stay unchanged; so do all tags if the name has no known form.
    """
    if tags.recording_mbid or tags.isrcs or (tags.artist and tags.title):
        return tags
    names = _names_in(path)
    if names is None:
        return tags
    artist, album, title = names
    return replace(
        tags,
        artist=tags.artist or artist,
        title=tags.title or title,
        album=tags.album or album,
        named_by=FROM_NAME,
    )


def _names_in(path: Path) -> tuple[str, str | None, str] | None:
    """Return artist, album or None, and title; None if the name has no known form."""
    stem = path.stem if " " in path.stem else path.stem.replace("_", " ")
    parts = [part.strip() for part in _DASH.split(without_noise(stem))]
    album = None
    match [re.fullmatch(_NUMBER, part) is not None for part in parts]:
        case [True, False, False]:
            artist, title = parts[1:]
        case [False, False]:
            artist, title = parts
            if numbered := _NUMBERED_ARTIST.fullmatch(artist):
                artist = numbered[1]
        case [False, True, False]:
            artist, _, title = parts
        case [False, False, True, False]:
            artist, album, _, title = parts
        case [False] | [True, False]:
            return _names_in_folders(path, " - ".join(parts))
        case _:
            return None
    return _if_names(artist, album, title)


def _names_in_folders(path: Path, stem: str) -> tuple[str, str | None, str] | None:
    numbered, folder = _NUMBERED.fullmatch(stem), album_folder(path)
    album = _ALBUM.fullmatch(folder.name)
    if numbered is None or album is None:
        return None
    match _DASH.split(album["title"] or album["behind"]):
        case [artist, title]:
            pass
        case names:
            artist, title = folder.parent.name, " - ".join(names)
    return _if_names(artist, title, numbered[1])


def _if_names(artist: str, album: str | None, title: str) -> tuple[str, str | None, str] | None:
    """Return artist, album and title, or None if artist or title is only a placeholder."""
    folded = fold(artist)
    is_nobody = folded in _various_artists() or _NO_ARTIST.fullmatch(folded)
    return None if is_nobody or _NO_TITLE.fullmatch(fold(title)) else (artist, album, title)


@cache
def _various_artists() -> frozenset[str]:
    return frozenset(map(fold, VARIOUS_NAMES))
