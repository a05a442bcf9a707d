"""Whole files or none."""

import os
from pathlib import Path

import pytest

from mbert_atlas import files
from mbert_atlas.files import atomic_directory, atomic_path


def contents(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir()}


def write_half(path: Path) -> None:
    path.write_text("half")
    raise RuntimeError


def test_a_failure_leaves_the_older_file_or_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("old")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "a").write_text("old")
    with pytest.raises(RuntimeError), atomic_path(tmp_path / "file") as temporary:
        write_half(temporary)
    with pytest.raises(RuntimeError), atomic_directory(tmp_path / "folder") as temporary:
        write_half(temporary / "a")
    assert (tmp_path / "file").read_text() == "old"
    assert contents(tmp_path / "folder") == {"a": "old"}
    assert sorted(os.listdir(tmp_path)) == ["file", "folder"]


def test_an_older_folder_is_replaced_as_a_whole(tmp_path: Path) -> None:
    for number in range(2):
        with atomic_directory(tmp_path / "folder") as temporary:
            (temporary / str(number)).write_text("x")
    assert contents(tmp_path / "folder") == {"1": "x"}
    assert os.listdir(tmp_path) == ["folder"]


def test_an_older_folder_is_never_there_in_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whenever something is deleted, the folder is whole: a kill then does no harm."""
    target = tmp_path / "folder"
    with atomic_directory(target) as temporary:
        (temporary / "a").write_text("old")
    seen = []
    remove = files.shutil.rmtree

    def watched(path: Path, **more: bool) -> None:
        if Path(path).exists():
            seen.append((Path(path) == target, contents(target)))
        remove(path, **more)

    monkeypatch.setattr(files.shutil, "rmtree", watched)
    with atomic_directory(target) as temporary:
        (temporary / "a").write_text("new")
    assert seen == [(False, {"a": "new"})]


def test_what_killed_jobs_left_goes_after_a_day(tmp_path: Path) -> None:
    old, young = tmp_path / ".file.1.partial", tmp_path / ".file.2.partial"
    folder = tmp_path / ".file.3.partial"
    for path in (old, young):
        path.write_text("half")
    folder.mkdir()
    (folder / "a").write_text("half")
    for path in (old, folder):
        os.utime(path, (0, 0))
    with atomic_path(tmp_path / "file") as temporary:
        temporary.write_text("whole")
    assert sorted(os.listdir(tmp_path)) == [".file.2.partial", "file"]
