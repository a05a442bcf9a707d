"""Trust on first use: what was fetched once must stay the same, and where it came from is known."""

import hashlib
import os
from pathlib import Path
from typing import Any

import pytest
import yaml
from internet import Answer, Internet

from mbert_atlas.errors import DataError
from mbert_atlas.sources import download as download_module
from mbert_atlas.sources.fetch import Sources, fetch, origin_of
from mbert_atlas.sources.lock import Lock
from mbert_atlas.sources.mirror import write_manifest
from mbert_atlas.sources.register import Register

SUMS = {name: hashlib.sha256(name.encode()).hexdigest() for name in ("zip", "tar")}
BASE = {"kind": "file", "licence": "CC0", "citation": "Nobody"}


@pytest.fixture
def register(internet: Internet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Register:
    """`open` has no checksum; `twice` has two addresses with other bytes; `manual` none."""
    monkeypatch.setattr(download_module.time, "sleep", lambda seconds: None)
    entries: list[dict[str, Any]] = [
        {"id": "open", "url": f"{internet.url}/{{path}}"},
        {
            "id": "twice",
            "url": f"{internet.url}/first/{{path}}",
            "others": [{"url": f"{internet.url}/second", "sha256": {"a.zip": SUMS["tar"]}}],
            "sha256": {"a.zip": SUMS["zip"]},
        },
        {"id": "manual", "access": "manual", "steps": "make it yourself"},
    ]
    rows = [
        {"title": item["id"], "folder": item["id"], "pattern": r"[\w.]+", "examples": ["a.zip"]}
        | BASE
        | item
        for item in entries
    ]
    path = tmp_path / "sources.yaml"
    path.write_text(yaml.safe_dump({"sources": rows}))
    return Register.read(path)


def test_a_file_without_checksum_gets_one_when_it_is_first_fetched(
    register: Register, internet: Internet, tmp_path: Path
) -> None:
    internet.files["/a.zip"] = b"first"
    file = tmp_path / "open/a.zip"
    fetch("open/a.zip", file, Sources(register, downloads=tmp_path))
    (row,) = Lock(tmp_path).files.values()
    assert (row.path, row.bytes, row.url) == ("open/a.zip", 5, f"{internet.url}/a.zip")
    assert row.sha256 == hashlib.sha256(b"first").hexdigest()
    # Upstream changes, or another copy of the repository fetches with the committed lock.
    internet.files["/a.zip"] = b"other"
    file.unlink()
    with pytest.raises(DataError, match=f"the sha256 of open/a.zip is .*, not {row.sha256}"):
        fetch("open/a.zip", file, Sources(register, downloads=tmp_path))
    assert not file.exists()
    internet.files["/a.zip"] = b"first"
    fetch("open/a.zip", file, Sources(register, downloads=tmp_path))
    lines = (tmp_path / "sources.lock").read_text().splitlines()
    assert [line[:2] for line in lines] == ["# ", "# ", "op"]  # no line is repeated
    internet.files["/a.zip"] = b"other"
    file.unlink()
    (tmp_path / "sources.lock").unlink()
    fetch("open/a.zip", file, Sources(register, downloads=tmp_path))
    assert file.read_bytes() == b"other"


def test_a_file_that_changed_is_named_at_the_next_start(
    register: Register, internet: Internet, tmp_path: Path
) -> None:
    internet.files["/a.zip"] = b"first"
    file = tmp_path / "open/a.zip"
    fetch("open/a.zip", file, Sources(register, downloads=tmp_path))
    Lock(tmp_path).require(["open/a.zip", "open/b.zip"])
    for content in (b"cut", b"FIRST"):  # of another size, and of the same
        file.write_bytes(content)
        os.utime(file, (2e9, 2e9))
        with pytest.raises(DataError, match=r"sources\.lock: changed since .*open/a\.zip; delete"):
            Lock(tmp_path).require(["open/a.zip"])
        with pytest.raises(DataError, match=r"a\.zip: its sha256 is \w+, but it is \w+ for"):
            origin_of("open/a.zip", file, Sources(register, downloads=tmp_path, notes=False))
    Lock(tmp_path).require(["open/b.zip"])  # not needed
    fetch("open/a.zip", file, Sources(register, downloads=tmp_path))
    assert file.read_bytes() == b"first"


def test_a_file_is_hashed_again_only_if_it_was_written_since(
    register: Register, internet: Internet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    internet.files["/a.zip"] = b"first"
    file = tmp_path / "open/a.zip"
    fetch("open/a.zip", file, Sources(register, downloads=tmp_path))
    hashed: list[Any] = []
    for module in ("lock", "fetch"):
        whole = f"mbert_atlas.sources.{module}.sha256_of"
        monkeypatch.setattr(
            whole, lambda path: hashed.append(path) or hashlib.sha256(b"first").hexdigest()
        )
    Lock(tmp_path).require(["open/a.zip"])
    fetch("open/a.zip", file, Sources(register, downloads=tmp_path))
    assert hashed == []
    os.utime(file)  # copied without its times
    Lock(tmp_path).require(["open/a.zip"])
    Lock(tmp_path).require(["open/a.zip"])
    assert hashed == [file]


def test_the_address_that_had_it_is_on_the_card(
    register: Register, internet: Internet, tmp_path: Path
) -> None:
    internet.files["/second"] = b"tar"
    internet.statuses = [404]
    file = tmp_path / "twice/a.zip"
    fetch("twice/a.zip", file, Sources(register, downloads=tmp_path))
    assert file.read_bytes() == b"tar"
    sources = Sources(register, downloads=tmp_path, notes=False)
    assert origin_of("twice/a.zip", file, sources)["read_from"] == (
        f"twice/a.zip: {internet.url}/second"
    )
    fetch("twice/a.zip", file, Sources(register))  # its bytes are those of one address


def test_all_addresses_that_failed_are_in_one_sentence(
    register: Register, internet: Internet, tmp_path: Path
) -> None:
    internet.files["/second"] = Answer(b"<html><body>")
    with pytest.raises(DataError) as caught:
        fetch("twice/a.zip", tmp_path / "a.zip", Sources(register))
    assert str(caught.value) == (
        f"twice/a.zip: no address has it ({internet.url}/first/a.zip: the server answered 404 Not "
        f"Found for twice/a.zip; {internet.url}/second: the server sent an HTML page instead "
        "of twice/a.zip); correct its entry in resources/sources.yaml or put it into a mirror "
        "folder."
    )


def test_a_file_that_a_person_put_there_is_locked_as_well(
    register: Register, tmp_path: Path
) -> None:
    file = tmp_path / "manual/a.zip"
    file.parent.mkdir()
    file.write_bytes(b"made")
    fetch("manual/a.zip", file, Sources(register, downloads=tmp_path))
    assert Lock(tmp_path).files["manual/a.zip"].url == ""
    sources = Sources(register, downloads=tmp_path)
    read_from = origin_of("manual/a.zip", file, sources)["read_from"]
    assert read_from == "manual/a.zip: a file that was put there, make it yourself"
    file.write_bytes(b"make")
    os.utime(file, (2e9, 2e9))
    with pytest.raises(DataError, match=r"and the sha256 of .*a\.zip is not the known one; make"):
        fetch("manual/a.zip", file, Sources(register, downloads=tmp_path))


def test_jobs_that_read_do_not_write_the_lock(register: Register, tmp_path: Path) -> None:
    file = tmp_path / "manual/a.zip"
    file.parent.mkdir()
    file.write_bytes(b"made")
    origin_of("manual/a.zip", file, Sources(register, downloads=tmp_path, notes=False))
    assert not (tmp_path / "sources.lock").exists()


def test_a_mirror_replaces_what_was_fetched(
    register: Register, internet: Internet, tmp_path: Path
) -> None:
    internet.files["/a.zip"] = b"first"
    downloads, mirror = tmp_path / "downloads", tmp_path / "mirror"
    fetch("open/a.zip", downloads / "open/a.zip", Sources(register, downloads=downloads))
    (mirror / "open").mkdir(parents=True)
    (mirror / "open/a.zip").write_bytes(b"of the mirror")
    write_manifest(mirror, register)
    fetch("open/a.zip", downloads / "open/a.zip", Sources(register, mirror, downloads=downloads))
    assert (downloads / "open/a.zip").read_bytes() == b"of the mirror"
    # Without the mirror it is the first one again.
    fetch("open/a.zip", downloads / "open/a.zip", Sources(register, downloads=downloads))
    assert (downloads / "open/a.zip").read_bytes() == b"first"
    # The lock itself is no file of a mirror.
    assert write_manifest(downloads, register) == 1


def test_wrong_lines_of_the_lock_are_named(tmp_path: Path) -> None:
    (tmp_path / "sources.lock").write_text("# comment\na\tb\n")
    message = r"sources\.lock, line 2: not path, bytes, sha256, url between tabs"
    with pytest.raises(DataError, match=message):
        Lock(tmp_path).require(["a"])
