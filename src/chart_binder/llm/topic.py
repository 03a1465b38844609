"""What a run is about, in the words that a page about it would use."""

from chart_binder.domain.evidence import EvidenceBundle

_MOST_TITLES = 12


def topic(bundle: EvidenceBundle) -> str:
    """Return artist, title and the titles of candidates, each once, for tools to look for."""
    titles = (
        group.title for recording in bundle.recording_candidates for group in recording.groups
    )
    names = (bundle.performer.name, bundle.recording_title, *titles)
    known = dict.fromkeys(name for name in names if name)
    return " / ".join(list(known)[: _MOST_TITLES + 2])
