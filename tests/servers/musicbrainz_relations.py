"""Relations of recordings to recordings and works, as the MusicBrainz stand-in serves them."""

import xml.etree.ElementTree as ET
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from uuid import NAMESPACE_URL, uuid5

from servers.musicbrainz_xml import Known, element, recording_element


@dataclass(frozen=True, slots=True)
class Link:
    """One recording is a `kind` (edit, remaster, remix, karaoke) of another; both are ids."""

    kind: str
    recording: str
    of: str


def relation_list(name: str, links: Iterable[Link], known: Mapping[str, Known]) -> ET.Element:
    """The relations of the recording `name` to others."""
    made = ET.Element("relation-list", {"target-type": "recording"})
    for link in links:
        if name in (link.recording, link.of):
            is_forward = name == link.recording
            other = link.of if is_forward else link.recording
            relation = ET.SubElement(made, "relation", {"type": link.kind})
            direction = None if is_forward else "backward"
            relation.extend(element("relation", target=other, direction=direction))
            relation.append(recording_element(known[other], {"artist-credits"}))
    return made


_URL_TYPES = {
    "wikidata": "b988d08c-5d86-4a57-9557-c83b399e3580",
    "wikipedia": "6578f0e9-1ace-4095-9de8-6e517ddb1ceb",
    "discogs": "99e550f3-5ab4-3110-b5b9-fe01d970b126",
}


def url_list(links: Iterable[str]) -> ET.Element:
    """The addresses of a release group, each as `wikidata https://...`, with `ended` behind it."""
    made = ET.Element("relation-list", {"target-type": "url"})
    for link in links:
        kind, address, *ended = link.split()
        relation = ET.SubElement(made, "relation", {"type": kind, "type-id": _URL_TYPES[kind]})
        target = ET.SubElement(relation, "target", {"id": str(uuid5(NAMESPACE_URL, address))})
        target.text = address
        relation.extend(element("relation", direction="forward", ended="true" if ended else None))
    return made


def work_list(known: Known) -> ET.Element:
    """The relation of a recording to its work.

    With `work-level-rels` MusicBrainz leaves out the other recordings of the work, since 2020.
    """
    made = ET.Element("relation-list", {"target-type": "work"})
    if known.work:
        work = element("work", mbid=known.work, title=known.recording.title)
        relation = element("relation", work, target=known.work)
        relation.set("type", "performance")
        made.append(relation)
    return made
