"""Kinds of WAV that nothing here reads are known by how they begin, and called by their names.

Formats: EBU Tech 3306 (RF64); ITU-R BS.2088 (BW64); Sony Wave64.
"""

_KINDS: tuple[tuple[bytes, bytes, str], ...] = (
    (b"RF64", b"WAVE", "RF64, a WAV with sizes of 64 bits"),
    (b"BW64", b"WAVE", "BW64, a broadcast WAV with sizes of 64 bits"),
    (b"RIFX", b"WAVE", "RIFX, a WAV with its bytes the other way round"),
    (b"riff\x2e\x91\xcf\x11", b"", "Wave64, Sony's WAV with sizes of 64 bits"),
)
_FORM_AT = 8
LOOKED_AT = 12


def unread_wave(head: bytes) -> str | None:
    """Return what kind of WAV begins so that is not read, with what can be done."""
    for magic, form, name in _KINDS:
        if head.startswith(magic) and head[_FORM_AT:].startswith(form):
            return f"is {name}, which is not read; a WAV of less than 4 GiB is, or FLAC of any size"
    return None
