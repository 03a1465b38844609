"""What a save keeps of a file, and which files it leaves alone with a reason."""

import hashlib
import os
import shutil
import struct
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from audio.tagging import CONTAINERS, FILES, NOBODY, bare_copy, field_texts, unprivileged
from chart_binder.audio.containers import audio_hash, read_tag_set
from chart_binder.audio.fields import with_fields
from chart_binder.audio.find import find_audio_files
from chart_binder.audio.locks import (
    FileInUseError,
    is_of_another_host,
    new_temporary_name,
    remove_leftovers,
)
from chart_binder.audio.reading import read_tags
from chart_binder.audio.save import (
    PreparedCopy,
    Restoration,
    SaveResult,
    check_restore,
    check_tags,
    restore_file,
    save_tags,
)
from chart_binder.audio.tagset import TagBlock, TagSet
from chart_binder.errors import AudioError, SaveError

AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="needs to be root")


@pytest.fixture
def song(tmp_path: Path) -> Path:
    return bare_copy("bare.flac", tmp_path)


def changed(tags: TagSet) -> TagSet:
    return with_fields(tags, {"album": ["Lateralus"]})


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def must_be_refused(path: Path, reason: str) -> None:
    """Hold a save and its preview to be refused for this reason, and to have changed nothing."""
    before, beside = path.read_bytes(), names(path.parent)
    status = path.stat()
    for save in (
        partial(check_tags, change=changed),
        partial(save_tags, change=changed),
        partial(restore_file, restoration=former(before)),
        partial(check_restore, restorations=[former(before)]),
    ):
        with pytest.raises(SaveError, match=reason) as caught:
            save(path)
        assert repr(str(path)) in str(caught.value)
        assert "\n" not in str(caught.value)
        assert path.read_bytes() == before
        assert path.stat().st_mtime_ns == status.st_mtime_ns
        assert names(path.parent) == beside


def former(content: bytes) -> Restoration:
    """Return what makes the bare file of one that was written, as an undo does."""
    bare = (FILES / "bare.flac").read_bytes()
    old, new = (hashlib.sha256(data).digest() for data in (bare, content))
    return Restoration(old, new, (bare,))


def restored(path: Path, *, keep_mtime: bool = False) -> SaveResult:
    """Make the bare file of a written one."""
    return restore_file(path, former(path.read_bytes()), keep_mtime=keep_mtime)


@contextmanager
def open_folder() -> Iterator[Path]:
    """Yield a song in a folder that others may enter, unlike the folders of pytest."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o777)
        try:
            yield bare_copy("bare.flac", folder)
        finally:
            folder.chmod(0o777)


@contextmanager
def small_disk(folder: Path, size: str) -> Iterator[Path]:
    """Yield a song on a disk of this size; skip the test where none can be made."""
    disk = folder / "disk"
    disk.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(disk)]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("no file system can be mounted here")
    try:
        yield bare_copy("bare.flac", disk)
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_a_file_that_another_run_holds_too_long_is_left_to_it(song: Path) -> None:
    def meanwhile(_: PreparedCopy) -> None:
        with pytest.raises(FileInUseError, match="another run is writing its tags, and did not"):
            save_tags(song, lambda tags: tags, timeout_s=0.1)

    assert save_tags(song, changed, before_replace=meanwhile).changed
    assert not save_tags(song, changed, timeout_s=0).changed


def test_a_change_of_nothing_leaves_even_a_file_that_could_not_be_saved(song: Path) -> None:
    save_tags(song, changed)
    song.with_name("other.flac").hardlink_to(song)
    song.chmod(0o444)
    before = song.stat()
    assert not save_tags(song, changed).changed
    after = song.stat()  # its last access is newer, as the file was read
    assert (after.st_ino, after.st_ctime_ns) == (before.st_ino, before.st_ctime_ns)


def test_mode_and_owner_are_kept_and_the_time_on_request(song: Path) -> None:
    song.chmod(0o640)
    if os.geteuid() == 0:
        os.chown(song, NOBODY, NOBODY)
    os.utime(song, ns=(1_000_000_000, 2_123_456_789))
    before = song.stat()
    for save in (partial(save_tags, change=changed), restored):
        save(song, keep_mtime=True)
        after = song.stat()
        assert after.st_ino != before.st_ino
        preserved = ("st_mode", "st_uid", "st_gid", "st_mtime_ns")
        assert [getattr(after, name) for name in preserved] == [
            getattr(before, name) for name in preserved
        ]
    save_tags(song, changed)
    save_tags(song, lambda tags: with_fields(tags, {"album": ()}))
    assert song.stat().st_mtime_ns > before.st_mtime_ns


# Version 2; owner, user 65534, group, mask, others: acl(5), linux/posix_acl_xattr.h
ACCESS = (2).to_bytes(4, "little") + b"".join(
    struct.pack("<HHi", tag, bits, who)
    for tag, bits, who in [(1, 6, -1), (2, 4, NOBODY), (4, 4, -1), (16, 4, -1), (32, 0, -1)]
)


@pytest.mark.parametrize(
    ("name", "value"), [("user.rating", b"5"), ("system.posix_acl_access", ACCESS)]
)
def test_extended_attributes_and_access_lists_are_kept(song: Path, name: str, value: bytes) -> None:
    try:
        os.setxattr(song, name, value)
    except OSError:
        pytest.skip(f"the file system has no {name}")
    for save in (partial(save_tags, change=changed), restored):
        assert save(song).lost == ()
        assert os.getxattr(song, name) == value


def test_the_times_of_the_folder_are_kept_on_request(song: Path) -> None:
    folder = song.parent
    os.utime(folder, ns=(1_000_000_000, 2_123_456_789))

    def refuse(_: PreparedCopy) -> None:
        raise RuntimeError

    with pytest.raises(RuntimeError):
        save_tags(song, changed, keep_mtime=True, before_replace=refuse)
    for save in (partial(save_tags, change=changed), restored):
        assert save(song, keep_mtime=True).lost == ()
        assert folder.stat().st_mtime_ns == 2_123_456_789
    save_tags(song, changed)
    assert folder.stat().st_mtime_ns != 2_123_456_789


@AS_ROOT
def test_times_of_a_folder_that_cannot_be_kept_are_named() -> None:
    with open_folder() as path:
        os.chown(path, NOBODY, -1)
        with unprivileged():
            saved = save_tags(path, changed, keep_mtime=True)
    assert saved.lost == ("modification time of the folder",)


def test_a_link_stays_a_link_and_its_file_is_written(tmp_path: Path, song: Path) -> None:
    links = tmp_path / "links"
    links.mkdir()
    link = links / "favourite.flac"
    link.symlink_to(Path("..") / song.name)
    saved = save_tags(link, changed)
    assert saved.path == song
    assert link.is_symlink()
    assert read_tag_set(song) == saved.after
    assert restored(link).path == song
    assert link.is_symlink()
    assert names(links) == [link.name]


def test_a_file_of_several_names_is_left_alone(song: Path) -> None:
    song.with_name("other.flac").hardlink_to(song)
    must_be_refused(song, r"it has 2 names \(hard links\), and the others would keep the old")


def test_a_file_of_several_names_gets_a_copy_on_request(song: Path) -> None:
    other = song.with_name("other.flac")
    other.hardlink_to(song)
    before = other.read_bytes()
    prepared: list[PreparedCopy] = []
    assert check_tags(song, changed, copy_links=True)[1] != read_tag_set(song)
    assert save_tags(song, changed, copy_links=True, before_replace=prepared.append).changed
    assert (other.read_bytes(), other.stat().st_nlink) == (before, 1)
    restore_file(song, prepared[0].restoration)
    assert song.read_bytes() == before
    assert not song.samefile(other), "the link is not made again"


@pytest.mark.parametrize(("mode", "folder", "reason"), [
    (0o444, 0o777, r"it is read-only: make it writable \(chmod u\+w\)$"),
    pytest.param(0o644, 0o777, "this user may not write it", marks=AS_ROOT),
    # It may be written, but a new file would be this user's.
    pytest.param(0o666, 0o777, "it belongs to user 0 and group 0, to which", marks=AS_ROOT),
    (0o666, 0o555, "its folder is not writable, and a copy has to be made"),
])  # fmt: skip
def test_a_file_that_cannot_be_replaced_is_left_alone(mode: int, folder: int, reason: str) -> None:
    with open_folder() as path:
        path.chmod(mode)
        path.parent.chmod(folder)
        with unprivileged():
            must_be_refused(path, reason)


@AS_ROOT
def test_an_immutable_file_is_left_alone(song: Path) -> None:
    if subprocess.run(["chattr", "+i", song], capture_output=True, check=False).returncode:
        pytest.skip("the file system has no immutable files")
    try:
        must_be_refused(song, "this user may not write it|it is append-only or immutable")
    finally:
        subprocess.run(["chattr", "-i", song], check=True)


@AS_ROOT
@pytest.mark.parametrize(
    ("of_folder", "reason"), [(False, "it is append-only"), (True, "its folder is append-only")]
)
def test_what_is_append_only_is_left_alone(song: Path, reason: str, *, of_folder: bool) -> None:
    locked = song.parent if of_folder else song
    if subprocess.run(["chattr", "+a", locked], capture_output=True, check=False).returncode:
        pytest.skip("the file system has no append-only files")
    try:
        must_be_refused(song, reason)
        assert names(song.parent) == [song.name]
    finally:
        subprocess.run(["chattr", "-a", locked], check=True)


@AS_ROOT
def test_a_disk_without_room_for_the_copy_is_refused_before_writing(tmp_path: Path) -> None:
    with small_disk(tmp_path, "1m") as path:
        must_be_refused(path, r"the disk has no room for a copy \([0-9,]+ bytes are free")


@AS_ROOT
def test_a_read_only_disk_is_named(tmp_path: Path) -> None:
    with small_disk(tmp_path, "4m") as path:
        subprocess.run(["mount", "-o", "remount,ro", str(path.parent)], check=True)
        must_be_refused(path, "may not (be )?writ")


def test_a_name_of_any_bytes_and_any_length_is_saved(tmp_path: Path) -> None:
    for name in (b"caf\xe9 \xff\n\t'.flac", b"x" * 250 + b".flac", b"-rf.flac", b" .flac"):
        path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + name))
        shutil.copy(FILES / "bare.flac", path)
        assert save_tags(path, changed).changed
        assert read_tags(path).album == "Lateralus"
    assert len(names(tmp_path)) == 4


def test_a_file_changed_replaced_or_removed_meanwhile_is_noticed(song: Path) -> None:
    def edited(_: PreparedCopy) -> None:
        song.write_bytes(song.read_bytes() + b"more")

    def replaced(_: PreparedCopy) -> None:
        other = song.with_name("other")
        shutil.copy2(song, other)
        other.replace(song)

    def removed(_: PreparedCopy) -> None:
        song.unlink()

    for meanwhile, reason, remaining in (
        (edited, "another program changed it meanwhile", [song.name]),
        (replaced, "another program changed it meanwhile", [song.name]),
        (removed, "was removed", []),
    ):
        with pytest.raises(SaveError, match=reason):
            save_tags(song, changed, before_replace=meanwhile)
        assert names(song.parent) == remaining
        assert not remaining or song.read_bytes().endswith(b"more")


def test_the_copy_given_before_the_replacement_is_what_replaces_the_file(song: Path) -> None:
    seen: list[PreparedCopy] = []

    def intend(prepared: PreparedCopy) -> None:
        assert read_tag_set(song) == prepared.before
        assert read_tag_set(prepared.temporary) == prepared.after
        assert prepared.temporary.name.startswith(".canon-save-")
        assert not is_of_another_host(prepared.temporary.name)
        assert [item.path for item in find_audio_files([song.parent])] == [song]  # no walk finds it
        assert list(remove_leftovers(song.parent)) == []  # it is in use
        seen.append(prepared)

    saved = save_tags(song, changed, before_replace=intend)
    (prepared,) = seen
    assert prepared == PreparedCopy(
        song,
        prepared.temporary,
        audio_hash(song),
        saved.before,
        read_tag_set(song),
        prepared.restoration,
    )


def test_an_error_before_the_replacement_leaves_the_file_as_it_was(song: Path) -> None:
    before = song.read_bytes()
    for error in (RuntimeError("no journal"), KeyboardInterrupt()):

        def refuse(_: PreparedCopy, error: BaseException = error) -> None:
            raise error

        with pytest.raises(type(error)):
            save_tags(song, changed, before_replace=refuse)
        assert song.read_bytes() == before
        assert names(song.parent) == [song.name]


def test_tags_that_cannot_be_written_as_they_are_leave_the_file(song: Path) -> None:
    before = song.read_bytes()

    def impossible(tags: TagSet) -> TagSet:
        return TagSet(tags.container, (TagBlock("id3v1"), *tags.blocks))

    with pytest.raises(SaveError, match="only these tags are written: vorbis"):
        save_tags(song, impossible)
    with pytest.raises(SaveError, match=r"the tags are too long for FLAC \(17,0"):
        save_tags(song, lambda tags: with_fields(tags, {"album": ["x" * 17_000_000]}))
    assert song.read_bytes() == before
    assert names(song.parent) == [song.name]


def test_a_damaged_file_is_left_alone(tmp_path: Path) -> None:
    for container in CONTAINERS:
        path = container.fully_tagged(tmp_path)
        original = path.read_bytes()
        for size in (len(original) // 3, 20):
            path.write_bytes(original[:size])
            try:
                save_tags(path, changed)
            except (AudioError, SaveError):
                assert path.read_bytes() == original[:size]
            else:  # cut in the middle of the sound: that much of it is kept
                assert read_tag_set(path).blocks
        assert names(tmp_path) == [path.name]
        path.unlink()


def leftover(folder: Path, *, host: str = "", pid: int = 1 << 23) -> Path:
    """Put a file such as a killed save leaves into the folder."""
    host = host or new_temporary_name(Path("a")).split("-")[2]
    path = folder / f".canon-save-{host}-{pid}-1-{'0' * 16}.part"
    path.write_bytes(b"half a copy")
    return path


def test_leftovers_of_killed_saves_are_removed_and_nothing_else(song: Path) -> None:
    ended, reused = leftover(song.parent), leftover(song.parent, pid=os.getpid())
    foreign = leftover(song.parent, host="00000000")
    others = (
        ".canon-save-notes", f"{ended.name}.flac.bak", f"x{ended.name}",
        ".canon-save-1-2-3-4.part",
    )  # fmt: skip
    for name in others:
        (song.parent / name).touch()
    link, folder = (ended.with_name(ended.name.replace("0" * 16, digit * 16)) for digit in "12")
    link.symlink_to(song)
    folder.mkdir()
    leftovers = {item.path: item.problem for item in remove_leftovers(song.parent)}
    assert (leftovers.pop(ended), leftovers.pop(reused)) == (None, None)
    assert is_of_another_host(foreign.name)
    assert "another machine made it" in str(leftovers.pop(foreign))
    assert set(leftovers) <= {link, folder}
    expected = {*others, song.name, link.name, folder.name, foreign.name}
    assert set(names(song.parent)) == expected
    assert not [item for item in remove_leftovers(song.parent) if item.problem is None]
    assert list(remove_leftovers(song.parent / "gone")) == []


def test_two_runs_that_save_one_file_keep_the_fields_of_each_other(song: Path) -> None:
    code = (
        "import sys; from pathlib import Path\n"
        "from chart_binder.audio.save import save_tags\n"
        "from chart_binder.audio.fields import with_fields\n"
        "for turn in range(15):\n"
        "    save_tags(Path(sys.argv[1]),\n"
        "              lambda tags: with_fields(tags, {sys.argv[2]: [str(turn)]}))\n"
    )
    before = audio_hash(song)
    runs = [
        subprocess.Popen([sys.executable, "-c", code, song, field]) for field in ("album", "media")
    ]
    assert [run.wait() for run in runs] == [0, 0]
    tags = read_tag_set(song)
    assert (field_texts(tags, "album"), field_texts(tags, "media")) == (("14",), ("14",))
    assert audio_hash(song) == before
    assert names(song.parent) == [song.name]
