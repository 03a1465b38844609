"""Files whose sizes, flags, order and ends are changed at random keep their sound."""

import hashlib
import random
import re
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import mutagen
import pytest

from audio.odd_files import RECORDING, ape_tag, chunk, id3, id3v1, texts
from audio.tagging import VARIANTS, Variant
from chart_binder.audio.containers import audio_hash, layout_of, read_tag_set
from chart_binder.audio.fields import with_fields
from chart_binder.audio.open_file import ByteSpan, open_audio
from chart_binder.audio.save import PreparedCopy, check_tags, restore_file, save_tags
from chart_binder.audio.tagset import TagSet
from chart_binder.errors import AudioError, SaveError

try:
    import av
except ImportError:
    av: Any = None  # type: ignore[no-redef]

FILES_PER_VARIANT = 80
FIELDS = {"release_mbid": (RECORDING,), "album": ("Ænima / 東京" * 40,)}

# Names beside which sizes, counts and offsets stand.
NAMES = re.compile(
    rb"RIFF|FORM|DSD |data|fmt |SSND|COMM|LIST|id3 |ID3|moov|mdat|udta|meta|ilst|trak|mdia|minf"
    rb"|stbl|stco|free|moof|traf|tfhd|mfra|tfra|OggS|OpusTags|fLaC|APETAGEX|T[A-Z]{3}|\x75\xb2\x26\x30"
    rb"|\x8c\xab\xdc\xa1|\x03vorbis|MPCK|MAC |wvpk"
)

Mutation = Callable[[bytes, random.Random], bytes]


def another_size(content: bytes, rng: random.Random) -> bytes:
    place = rng.choice([*NAMES.finditer(content), *re.finditer(rb"\A", content)])
    width = rng.choice((1, 2, 4, 4, 4, 8))
    at = rng.choice((place.start() - width, place.end(), place.end() + 2, place.end() + 4))
    at = max(0, min(at, len(content) - width))
    order: Any = rng.choice(("big", "little"))
    old, most = int.from_bytes(content[at : at + width], order), (1 << 8 * width) - 1
    remaining = len(content) - at
    new = rng.choice(
        (
            0,
            1,
            old + 1,
            old - 1,
            old + 8,
            old // 2,
            old * 2,
            most,
            remaining,
            remaining + 1,
            rng.randrange(most),
        )
    )
    return content[:at] + (new & most).to_bytes(width, order) + content[at + width :]


def another_flag(content: bytes, rng: random.Random) -> bytes:
    at = rng.choice(
        [*range(min(400, len(content))), *range(max(0, len(content) - 200), len(content))]
    )
    return content[:at] + bytes((content[at] ^ 1 << rng.randrange(8),)) + content[at + 1 :]


def another_order(content: bytes, rng: random.Random) -> bytes:
    """Swap two parts that begin at names, with the size before them or not."""
    before = rng.choice((0, 4))
    starts = sorted({max(0, match.start() - before) for match in NAMES.finditer(content)})
    if len(starts) < 3:
        return content[len(content) // 2 :] + content[: len(content) // 2]
    a, b, c = sorted(rng.sample([*starts, len(content)], 3))
    return content[:a] + content[b:c] + content[a:b] + content[c:]


def cut(content: bytes, rng: random.Random) -> bytes:
    size = rng.choice((rng.randrange(1, len(content)), len(content) - rng.randrange(1, 40)))
    return content[:size] if rng.random() < 0.8 else content[-size:]


def junk(rng: random.Random) -> bytes:
    size = rng.choice((1, 2, 7, 100, 1024, 5000))
    return rng.choice(
        (
            bytes(size), rng.randbytes(size), b"junk" * size, id3(3, 0, texts(3), size),
            id3(4, 0, texts(4)), id3v1(), ape_tag(Title="x"), chunk(b"LIST", b"INFO", "<"),
            chunk(b"id3 ", id3(4, 0, texts(4)), "<"), chunk(b"ID3 ", id3(4, 0, texts(4)), ">"),
        )
    )  # fmt: skip


def junk_before(content: bytes, rng: random.Random) -> bytes:
    return junk(rng) + content


def junk_behind(content: bytes, rng: random.Random) -> bytes:
    return content + junk(rng)


MUTATIONS: tuple[Mutation, ...] = (
    another_size, another_size, another_flag, another_order, cut, junk_before, junk_behind,
)  # fmt: skip


def sound_of(path: Path) -> bytes:
    """Return the longest part of the sound of a sound file."""
    original = path.read_bytes()
    with open_audio(path) as source:
        spans = [piece for piece in layout_of(source).audio() if isinstance(piece, ByteSpan)]
    longest = max(spans, key=lambda span: span.size)
    return original[longest.start : longest.end]


def as_played(path: Path) -> list[str]:
    """Return what others make of the sound: its length, and the packets that ffmpeg would play.

    The last packet is left out: of a file that is cut short, ffmpeg may take a tag for its end.
    """
    seen = []
    with suppress(Exception):  # mutagen raises anything
        seen.append(str(mutagen.File(path).info.length))
    if av is not None and path.suffix != ".ape":
        with (
            suppress(av.FFmpegError, IndexError),
            av.open(str(path), metadata_errors="replace") as container,
        ):
            packets = [bytes(packet) for packet in container.demux(audio=0)]
            digest = hashlib.sha256(b"".join(list(filter(None, packets))[:-1]))
            seen.append(digest.hexdigest())
    return seen


def outcome(path: Path, sound: bytes) -> str:
    """Write tags and take them back; return how it went."""
    content = path.read_bytes()
    prepared: list[PreparedCopy] = []
    before = as_played(path)

    def change(tags: TagSet) -> TagSet:
        return with_fields(tags, FIELDS)

    planned: tuple[TagSet, TagSet] | str
    try:
        planned = check_tags(path, change)
    except (AudioError, SaveError) as error:
        planned = str(error)
    try:
        tags, hashed = read_tag_set(path), audio_hash(path)
        saved = save_tags(path, change, before_replace=prepared.append)
    except (AudioError, SaveError) as error:
        assert "\n" not in str(error)  # noqa: PT017
        assert path.read_bytes() == content
        assert isinstance(planned, str), f"the preview plans what the save refuses: {error}"  # noqa: PT017
        return "refused"
    new = path.read_bytes()
    assert planned == (saved.before, saved.after)
    assert (saved.audio_hash, saved.before, saved.after) == (hashed, tags, read_tag_set(path))
    assert audio_hash(path) == hashed
    assert sound not in content or sound in new
    after = as_played(path)
    assert before == after or len(before) < len(after)
    restore_file(path, prepared[0].restoration)
    assert path.read_bytes() == content
    return "written"


@pytest.mark.slow
@pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: variant.name)
def test_a_mutated_file_keeps_its_sound_and_is_undone(tmp_path: Path, variant: Variant) -> None:
    path = variant.make(tmp_path)
    original, sound = path.read_bytes(), sound_of(path)
    counts: Counter[str] = Counter()
    for number in range(FILES_PER_VARIANT):
        rng = random.Random(f"{variant.name} {number}")
        content = original
        for mutate in rng.sample(MUTATIONS, rng.choice((1, 1, 2))):
            content = mutate(content, rng) or content
        path.write_bytes(content)
        counts[outcome(path, sound)] += 1
    assert counts.total() == FILES_PER_VARIANT
    assert counts["written"] > FILES_PER_VARIANT // 20
