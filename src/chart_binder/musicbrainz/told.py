"""What a model is told of a release group, of a release, of a search: what the evidence would say.

The addresses are MusicBrainz' own whatever mirror was asked, so that one record has one source.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from chart_binder.domain.evidence import Release
from chart_binder.musicbrainz import answers
from chart_binder.musicbrainz.releases import partial_date, release_groups
from chart_binder.react.inert import one_line
from chart_binder.react.tools import Observation

_HOME: Final = "https://musicbrainz.org"
_LONGEST_NAME: Final = 120
_SPARE: Final = 25  # characters kept for the last line


def nothing_found(wanted: str) -> Observation:
    """Say that MusicBrainz was asked, and knows no such thing."""
    return Observation(one_line(f"MusicBrainz knows no {wanted}."))


def groups_found(groups: Sequence[answers.ReleaseGroup], max_chars: int) -> Observation:
    """Show release groups that a search found, whole entries only; each has its address."""
    lines = ["At MusicBrainz:"]
    sources: list[str] = []
    for number, each in enumerate(groups, start=1):
        entry = f"{number}. {_titled(each)}{_first(each)}\n   {_address(each)}"
        if sum(map(len, lines)) + len(lines) + len(entry) + _SPARE > max_chars:
            lines.append(f"({len(groups) - number + 1} more not shown)")
            break
        lines.append(entry)
        sources.append(_address(each))
    return Observation("\n".join(lines)[:max_chars], tuple(sources))


def describe_group(
    group: answers.ReleaseGroup, releases: Sequence[answers.Release], count: int, max_chars: int
) -> Observation:
    """Show a group with its first releases; `count` is how many it has."""
    head = [
        f"Release group {_titled(group)}{_first(group)}",
        f"Address: {_address(group)}",
        f"Releases: {count}" if count else "No release is listed.",
    ]
    dated = sorted(_as_evidence(releases), key=_by_date)
    return Observation(_bounded(head, map(_line, dated), count, max_chars), (_address(group),))


def describe_release(release: answers.Release, max_chars: int) -> Observation:
    """Show a release with its group and its tracks."""
    (known,) = _as_evidence((release,))
    address = f"{_HOME}/release/{release.id}"
    home = f"{_titled(release.release_group)}{_first(release.release_group)}"
    lines = [
        f'Release "{_name(release.title)}"{_by(release.artist_credit_phrase)}',
        f"Address: {address}",
        _line(known),
        f"In release group {home}, id {release.release_group.id}",
    ]
    tracks = "; ".join(_tracks(release))
    if tracks:
        lines.append(f"Tracks: {tracks}")
    text = "\n".join(lines)
    return Observation(text if len(text) <= max_chars else f"{text[: max_chars - 1]}…", (address,))


def _as_evidence(releases: Sequence[answers.Release]) -> tuple[Release, ...]:
    return tuple(each for known in release_groups(releases, None) for each in known.editions)


def _bounded(head: Sequence[str], lines: Iterable[str], count: int, max_chars: int) -> str:
    told = list(head)
    room = max_chars - sum(len(line) + 1 for line in head) - _SPARE
    for line in lines:
        if len(line) + 1 > room:
            break
        told.append(line)
        room -= len(line) + 1
    if (more := count - (len(told) - len(head))) > 0:
        told.append(f"({more} more not shown)")
    return "\n".join(told)[:max_chars]


def _by_date(release: Release) -> tuple[bool, int, str]:
    return not release.when.is_known, release.when.last, release.mb_release_id


def _titled(group: answers.ReleaseGroup) -> str:
    kinds = (group.primary_type, *group.secondary_type_list)
    kind = " + ".join(filter(None, kinds)) or "type unknown"
    remark = f" ({_name(group.disambiguation)})" if group.disambiguation else ""
    return (
        f'"{_name(group.title)}"{remark} ({_name(kind)}{_by(group.artist_credit_phrase, ", by")})'
    )


def _by(credit: str | None, joint: str = " by") -> str:
    return f"{joint} {_name(credit)}" if credit else ""


def _first(group: answers.ReleaseGroup) -> str:
    """Say MusicBrainz' own first date, for which bootlegs and promos count."""
    first = partial_date(group.first_release_date)
    return f", first release of any status {first if first.is_known else 'unknown'}"


def _line(release: Release) -> str:
    imprint = " ".join(filter(None, (release.label, release.catno)))
    parts = (
        str(release.when) if release.when.is_known else "date unknown",
        release.place or "country unknown",
        release.standing or "status unknown",
        *filter(None, (imprint, release.format, release.disambiguation)),
        f"id {release.mb_release_id}",
    )
    return f"- {', '.join(map(_name, parts))}"


def _tracks(release: answers.Release) -> Iterator[str]:
    for medium in release.medium_list:
        for track in medium.track_list:
            title = track.title or (track.recording.title if track.recording else None)
            if title:
                yield _name(title)


def _address(group: answers.ReleaseGroup) -> str:
    return f"{_HOME}/release-group/{group.id}"


def _name(text: str | None) -> str:
    return one_line(text or "", _LONGEST_NAME)
