import io
import stat
import tarfile
import zipfile

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mbert_atlas.errors import DataError
from mbert_atlas.sources import extract_members

FILES = {"top/a.txt": b"alpha" * 1000, "top/sub/b.txt": b"beta", "c.txt": b""}


def make(path, files=FILES, links=None):
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.mkdir("top")
            for name, content in files.items():
                archive.writestr(name, content)
            for name, target in (links or {}).items():
                info = zipfile.ZipInfo(name)
                info.external_attr = (stat.S_IFLNK | 0o777) << 16
                archive.writestr(info, target)
    else:
        mode = {".tar": "w", ".tgz": "w:gz", ".bz2": "w:bz2", ".xz": "w:xz"}[path.suffix]
        with tarfile.open(path, mode) as archive:
            folder = tarfile.TarInfo("top")
            folder.type = tarfile.DIRTYPE
            archive.addfile(folder)
            for name, content in files.items():
                info = tarfile.TarInfo(name)
                info.size = len(content)
                archive.addfile(info, io.BytesIO(content))
            for name, target in (links or {}).items():
                info = tarfile.TarInfo(name)
                info.type, info.linkname = tarfile.SYMTYPE, target
                archive.addfile(info)
    return path


KINDS = ["a.zip", "a.tar", "a.tgz", "a.tar.bz2", "a.tar.xz"]


@pytest.mark.parametrize("name", KINDS)
def test_named_members_and_no_others_are_unpacked(tmp_path, name):
    archive = make(tmp_path / name)
    out = tmp_path / "out"
    out.mkdir()
    (out / "old").write_text("from before")
    paths = extract_members(archive, ["top/sub/b.txt", "top/a.txt"], out)
    assert paths == [out / "top/a.txt", out / "top/sub/b.txt"]
    assert [path.read_bytes() for path in paths] == [FILES["top/a.txt"], FILES["top/sub/b.txt"]]
    assert sorted(p.name for p in out.rglob("*") if p.is_file()) == ["a.txt", "b.txt"]


@pytest.mark.parametrize("name", KINDS)
def test_members_are_chosen_by_a_function(tmp_path, name):
    archive = make(tmp_path / name)
    paths = extract_members(archive, lambda member: "/" not in member, tmp_path / "out")
    assert paths == [tmp_path / "out/c.txt"]
    with pytest.raises(DataError, match="no member has the wanted name"):
        extract_members(archive, lambda member: False, tmp_path / "none")
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize("name", KINDS)
def test_a_missing_member_names_near_ones(tmp_path, name):
    archive = make(tmp_path / name)
    with pytest.raises(DataError, match=r"member top/d\.txt: no such member \(near it: top/a\.txt"):
        extract_members(archive, ["top/a.txt", "top/d.txt"], tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", KINDS)
def test_truncated_archives_are_one_sentence(tmp_path, name):
    archive = make(tmp_path / name)
    content = archive.read_bytes()
    for length in (0, 3, len(content) // 3, len(content) // 2):
        archive.write_bytes(content[:length])
        with pytest.raises(DataError, match=r"cut short, damaged or no archive .*fetch it again"):
            extract_members(archive, lambda member: True, tmp_path / "out")
        assert not (tmp_path / "out").exists()


def test_damaged_content_fails_its_checksum(tmp_path):
    archive = tmp_path / "a.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_STORED) as file:
        file.writestr("a.txt", b"alpha")
    archive.write_bytes(archive.read_bytes().replace(b"alpha", b"alphb"))
    with pytest.raises(DataError, match="cut short, damaged or no archive"):
        extract_members(archive, ["a.txt"], tmp_path / "out")


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("evil", ["../out.txt", "/etc/evil.txt", "a/../../b.txt", "a\\..\\b.txt"])
def test_names_that_lead_outside_are_refused(tmp_path, name, evil):
    archive = make(tmp_path / name, {"good.txt": b"", evil: b"evil"})
    with pytest.raises(DataError, match="its name leads outside the folder"):
        extract_members(archive, lambda member: True, tmp_path / "sub/out")
    assert not (tmp_path / "sub/out").exists()
    assert not list(tmp_path.rglob("*b.txt"))
    # and a member that nobody asked for does no harm
    extract_members(archive, ["good.txt"], tmp_path / "sub/out")


@pytest.mark.parametrize("name", ["a.zip", "a.tgz"])
def test_links_are_refused(tmp_path, name):
    archive = make(tmp_path / name, links={"link": "/etc/passwd"})
    with pytest.raises(DataError, match="member link: it is a link, a device or encrypted"):
        extract_members(archive, lambda member: True, tmp_path / "out")


@pytest.mark.parametrize("name", ["a.zip", "a.tgz"])
def test_a_bomb_is_stopped_before_it_fills_the_disk(tmp_path, name):
    archive = make(tmp_path / name, {"small": b"x", "zeros": bytes(50_000_000)})
    assert archive.stat().st_size < 200_000
    with pytest.raises(DataError, match="member zeros: the members are larger than 10000000 bytes"):
        extract_members(archive, lambda m: True, tmp_path / "out", maximum_bytes=10_000_000)
    assert not (tmp_path / "out").exists()


def test_a_member_that_is_there_twice_is_refused(tmp_path):
    archive = tmp_path / "a.zip"
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("a.txt", b"one")
        with pytest.warns(UserWarning, match="Duplicate"):
            file.writestr("a.txt", b"two")
    with pytest.raises(DataError, match=r"member a\.txt: it is there twice"):
        extract_members(archive, lambda member: True, tmp_path / "out")


def test_what_is_no_archive_is_named(tmp_path):
    page = tmp_path / "ud.tgz"
    page.write_text("<!DOCTYPE html><html>log in</html>")
    with pytest.raises(DataError, match=r"ud\.tgz: cut short, damaged or no archive"):
        extract_members(page, ["a"], tmp_path / "out")
    with pytest.raises(DataError, match="no such file"):
        extract_members(tmp_path / "none.zip", ["a"], tmp_path / "out")


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    files=st.dictionaries(
        st.from_regex(r"[a-zé0-9 ]{1,8}\.txt", fullmatch=True), st.binary(max_size=200), min_size=1
    ),
    kind=st.sampled_from(KINDS),
)
def test_everything_comes_out_as_it_went_in(tmp_path, files, kind):
    archive = make(tmp_path / kind, files)
    paths = extract_members(archive, files.keys(), tmp_path / "out")
    assert {path.name: path.read_bytes() for path in paths} == files
