"""Release groups, gathered from the releases that contain a recording."""

from collections.abc import Iterable, Iterator
from itertools import groupby

from chart_binder.domain.dates import UNKNOWN, PartialDate
from chart_binder.domain.evidence import Release, ReleaseGroup
from chart_binder.musicbrainz import answers


def release_groups(
    releases: Iterable[answers.Release], home: str | None
) -> tuple[ReleaseGroup, ...]:
    """Group releases; `home` is the artist's country."""
    groups: dict[str, list[answers.Release]] = {}
    for release in releases:
        groups.setdefault(release.release_group.id, []).append(release)
    return tuple(_group(members, home) for members in groups.values())


def partial_date(text: str | None) -> PartialDate:
    """Read a date as MusicBrainz writes it; one that no calendar knows is unknown."""
    try:
        return PartialDate.parse(text or "")
    except ValueError:
        return UNKNOWN


def _group(members: list[answers.Release], home: str | None) -> ReleaseGroup:
    group = members[0].release_group
    return ReleaseGroup(
        mb_rg_id=group.id,
        title=group.title,
        artist_credit=group.artist_credit_phrase,
        primary_type=group.primary_type,
        secondary_types=tuple(filter(None, group.secondary_type_list)),
        first_release_date=partial_date(group.first_release_date).text or None,
        labels=tuple(sorted({name for release in members for name in _label_names(release)})),
        countries=tuple(
            sorted({land for release in members for _, land in _events(release) if land})
        ),
        releases=tuple(_release(release, home) for release in members),
    )


def _release(release: answers.Release, home: str | None) -> Release:
    date, country = _first_event(release, home)
    numbers = (info.catalog_number for info in release.label_info_list)
    return Release(
        mb_release_id=release.id,
        title=release.title,
        date=date.text or None,
        country=country,
        status=release.status or None,
        label=next(_label_names(release), None),
        catno=next(filter(None, numbers), None),
        format=_format(release),
        disambiguation=release.disambiguation or None,
        artist_credit=release.artist_credit_phrase,
    )


def _label_names(release: answers.Release) -> Iterator[str]:
    return (info.label.name for info in release.label_info_list if info.label and info.label.name)


def _first_event(release: answers.Release, home: str | None) -> tuple[PartialDate, str | None]:
    """Return when and where a release came out first.

    First is what had come out for certain by the earliest day, so a whole date goes before the
    bare year of the same year. Of several countries on that day it is the artist's own if that is
    among them, else the one MusicBrainz names first.
    """
    events = list(_events(release))
    earliest = min(date.last for date, _ in events)
    first = [event for event in events if event[0].last == earliest]
    return next((event for event in first if home and event[1] == home), first[0])


def _events(release: answers.Release) -> Iterator[tuple[PartialDate, str | None]]:
    if not release.release_event_list:
        yield partial_date(release.date), release.country or None
    for event in release.release_event_list:
        codes = event.area.iso_3166_1_code_list if event.area else ()
        yield partial_date(event.date), next(filter(None, codes), None)


def _format(release: answers.Release) -> str | None:
    """Write the media as MusicBrainz' pages do, such as `2×CD + DVD`; unknown ones are left out."""
    formats = (medium.format for medium in release.medium_list if medium.format)
    counted = ((name, len(list(same))) for name, same in groupby(formats))
    return " + ".join(f"{n}×{name}" if n > 1 else name for name, n in counted) or None
