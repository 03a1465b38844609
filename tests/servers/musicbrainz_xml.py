"""MusicBrainz' XML (github.com/metabrainz/mmd-schema), written from evidence."""

import re
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import NAMESPACE_OID, uuid5

from msgspec.structs import replace

from chart_binder.domain.evidence import Artist, RecordingCandidate, Release, ReleaseGroup
from chart_binder.domain.vocabulary import VARIOUS_ARTISTS, ArtistId
from servers.http import Response

DEFAULT_PAGE, MOST_PAGE = 25, 100
VARIOUS_NAME = "Various Artists"
XML = "application/xml; charset=UTF-8"


@dataclass(frozen=True, slots=True)
class Known:
    """A recording, with the artist it is credited to and the work that it is of."""

    artist: Artist
    recording: RecordingCandidate
    work: str | None = None
    is_video: bool = False


def release_artist(release: Release, artist: Artist) -> Artist:
    """Who a release is credited to, which is the artist of its bundle if not various artists."""
    various = Artist(VARIOUS_NAME, VARIOUS_ARTISTS)
    return various if release.artist_credit == VARIOUS_NAME else artist


def error(status: int, text: str, *headers: tuple[str, str]) -> Response:
    """An error document."""
    usage = "For usage, please see: https://musicbrainz.org/development/mmd"
    body = f"<error><text>{text}</text><text>{usage}</text></error>"
    return Response('<?xml version="1.0" encoding="UTF-8"?>\n' + body, status, XML, headers)


def search_hit(known: Known, score: int, *, with_releases: bool = True) -> ET.Element:
    """A recording as search shows it: its releases without labels, in groups without dates.

    Without `with_releases` they have titles alone.
    """
    hit = recording_element(known, {"artist-credits", "isrcs"})
    hit.set("ns2:score", str(score))
    pairs = [(group, one) for group in known.recording.groups for one in group.editions]
    if with_releases:
        releases = [
            release_element(one, group, known.artist, {"release-groups", "media", _SEARCHED})
            for group, one in pairs
        ]
    else:
        releases = [
            element("release", title=title)
            for title in dict.fromkeys(one.title for _, one in pairs)
        ]
    hit.append(list_element("release-list", releases, len(releases), 0))
    return hit


_SEARCHED = "search"


def document(content: ET.Element) -> Response:
    root = ET.Element("metadata", created="2026-11-21T00:00:00.000Z")
    root.set("xmlns", "http://musicbrainz.org/ns/mmd-2.0#")
    root.set("xmlns:ns2", "http://musicbrainz.org/ns/ext#-2.0")
    root.append(content)
    return Response(ET.tostring(root, "UTF-8", xml_declaration=True), content_type=XML)


def element(
    tag: str, /, *children: ET.Element, mbid: str | None = None, **texts: object
) -> ET.Element:
    """An element with an id, text elements for what is known (`_` becomes `-`), then children."""
    made = ET.Element(tag, {} if mbid is None else {"id": mbid})
    made.extend(
        text_element(name.replace("_", "-"), str(text))
        for name, text in texts.items()
        if text is not None and str(text)
    )
    made.extend(children)
    return made


def list_element(name: str, items: list[ET.Element], count: int, offset: int) -> ET.Element:
    made = ET.Element(name, count=str(count))
    if offset:
        made.set("offset", str(offset))
    made.extend(items)
    return made


def area_element(name: str, *, country: str | None = None, part: str | None = None) -> ET.Element:
    area = element(name, mbid="8a754a16-0027-3a29-b6d7-2b40ea0481ed", name="Somewhere")
    for code, level in ((country, 1), (part, 2)):
        if code:
            codes = ET.SubElement(area, f"iso-3166-{level}-code-list")
            ET.SubElement(codes, f"iso-3166-{level}-code").text = code
    return area


def artist_element(artist: Artist, *, with_areas: bool = False) -> ET.Element:
    made = element("artist", mbid=artist.mb_artist_id, name=artist.name, sort_name=artist.name)
    if with_areas and (country := artist.begin_area_country):
        ET.SubElement(made, "country").text = country
        made.append(area_element("area", country=country))
        made.append(area_element("begin-area", part=f"{country}-01"))
    return made


def credit_element(artist: Artist, name: str | None) -> ET.Element:
    """A credit; of an artist with several ids, joined by `+`, one for each part of the name."""
    ids = (artist.mb_artist_id or "").split("+")
    if len(ids) == 1:
        shown = name if name != artist.name else None
        return element("artist-credit", element("name-credit", artist_element(artist), name=shown))
    made = element("artist-credit")
    texts = [*_JOINED.split(artist.name or ""), ""]
    for one, shown, joined in zip(ids, texts[::2], texts[1::2], strict=True):
        part = artist_element(replace(artist, mb_artist_id=ArtistId(one), name=shown))
        made.append(element("name-credit", part))
        made[-1].set("joinphrase", joined)
    return made


_JOINED = re.compile("( (?:feat[.]|&|vs[.]) )")


def recording_element(known: Known, asked: set[str]) -> ET.Element:
    recording = known.recording
    made = element(
        "recording",
        mbid=recording.mb_recording_id,
        title=recording.title,
        length=recording.length_ms,
        disambiguation=recording.disambiguation,
        first_release_date=recording.first_release_date,
        video="true" if known.is_video else None,
    )
    if asked & {"artist-credits", "artists"}:
        made.append(credit_element(known.artist, known.artist.name))
    if "isrcs" in asked and recording.isrcs:
        codes = [ET.Element("isrc", id=code) for code in recording.isrcs]
        made.append(list_element("isrc-list", codes, len(codes), 0))
    return made


def release_element(
    release: Release,
    group: ReleaseGroup,
    artist: Artist,
    asked: set[str],
    tracks: Sequence[Known] = (),
) -> ET.Element:
    date = release.when.text
    made = element(
        "release",
        mbid=release.mb_release_id,
        title=release.title,
        status=release.status,
        disambiguation=release.disambiguation,
    )
    is_various = release.artist_credit == VARIOUS_NAME
    if "artist-credits" in asked or (_SEARCHED in asked and is_various):
        by = release_artist(release, artist)
        made.append(credit_element(by, release.artist_credit or artist.name))
    if "release-groups" in asked:
        made.append(group_element(group, artist, asked))
    if date or release.country:
        made.extend(element("dated", date=date, country=release.country))
        event = element("release-event", date=date)
        if release.country:
            event.append(area_element("area", country=release.country))
        made.append(list_element("release-event-list", [event], 1, 0))
    if "labels" in asked and (release.label or release.catno):
        info = element("label-info", catalog_number=release.catno)
        if release.label:
            info.append(element("label", name=release.label))
        made.append(list_element("label-info-list", [info], 1, 0))
    if "media" in asked:
        media = [element("medium", format=name) for name in media_of(release.format)]
        if "recordings" in asked and media:
            listed = [
                track_element(number, one, asked, release.mb_release_id)
                for number, one in enumerate(tracks, start=1)
            ]
            media[0].append(list_element("track-list", listed, len(listed), 0))
        made.append(list_element("medium-list", media, len(media), 0))
    return made


def track_element(number: int, known: Known, asked: set[str], release_id: str) -> ET.Element:
    mbid = track_id(release_id, known.recording.mb_recording_id)
    played = recording_element(known, asked)
    return element("track", played, mbid=mbid, position=number, number=number)


def track_id(release_id: str, recording_id: str) -> str:
    """The id of the track on which a release has a recording."""
    return str(uuid5(NAMESPACE_OID, f"{release_id} {recording_id}"))


def group_element(group: ReleaseGroup, artist: Artist, asked: set[str]) -> ET.Element:
    date = group.first_release_date if _SEARCHED not in asked else None
    made = element(
        "release-group",
        mbid=group.mb_rg_id,
        title=group.title,
        first_release_date=date,
        primary_type=group.primary_type,
    )
    if "artist-credits" in asked:
        ids = "+".join(group.artist_ids or ())
        by = replace(artist, mb_artist_id=ArtistId(ids)) if ids else artist
        by = Artist(VARIOUS_NAME, VARIOUS_ARTISTS) if group.artist_credit == VARIOUS_NAME else by
        made.append(credit_element(by, group.artist_credit or artist.name))
    if group.kinds:
        kinds = ET.SubElement(made, "secondary-type-list")
        kinds.extend(text_element("secondary-type", kind) for kind in group.kinds)
    return made


def text_element(name: str, text: str) -> ET.Element:
    made = ET.Element(name)
    made.text = text
    return made


def media_of(format: str | None) -> list[str | None]:  # noqa: A002
    """One format for each medium: `2×CD + DVD` is three of them."""
    media: list[str | None] = []
    for part in (format or "").split(" + "):
        count, times, name = part.partition("×")
        media += [name] * int(count) if times else [part or None]
    return media
