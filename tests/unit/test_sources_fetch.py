"""Fetching against a server on the loopback interface that can misbehave in known ways."""

import gzip
import hashlib
import lzma
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from unittest.mock import Mock

import huggingface_hub
import pytest
import requests
import yaml
from internet import Answer

from mbert_atlas.errors import AtlasError, DataError, TransientError
from mbert_atlas.sources import download as download_module
from mbert_atlas.sources.batch import fetch_all
from mbert_atlas.sources.download import AnswerError, Session, download
from mbert_atlas.sources.fetch import (
    Sources,
    fetch,
    fetch_snapshot,
    origin_of,
    require_available,
)
from mbert_atlas.sources.mirror import Mirror, write_manifest
from mbert_atlas.sources.register import Address, Register, snapshot_path

REVISION = "0123456789abcdef0123456789abcdef01234567"
EMPTY = Register(Path("sources.yaml"), (), {})
CONTENT = bytes(range(256)) * 20_000  # 5 MB, so that it comes in several blocks


def sha256(content):
    return hashlib.sha256(content).hexdigest()


@pytest.fixture
def upstream(internet):
    return internet


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch):
    monkeypatch.setattr("urllib3.util.retry.time.sleep", lambda seconds: None)
    monkeypatch.setattr(download_module.time, "sleep", lambda seconds: None)


@pytest.fixture
def register(tmp_path, upstream):
    """A register whose folder `data` is on the loopback server and whose `private` is by hand."""
    base = {"kind": "file", "licence": "CC0", "citation": "Nobody"}
    path = tmp_path / "sources.yaml"
    entries = [
        {
            **base,
            "id": "data",
            "title": "Data",
            "folder": "data",
            "pattern": r"[\w.-]+",
            "url": upstream.url + "/{path}",
            "examples": ["known.bin"],
            "sha256": {"known.bin": sha256(CONTENT)},
        },
        {
            **base,
            "id": "private",
            "title": "Private corpus",
            "folder": "private",
            "pattern": r"[\w.-]+",
            "examples": ["corpus.zip"],
            "sha256": {"corpus.zip": sha256(b"corpus")},
            "access": "registration",
            "steps": "register at https://example.org",
        },
    ]
    path.write_text(yaml.safe_dump({"sources": entries}), encoding="utf-8")
    return Register.read(path)


def make_mirror(folder, files, listed=None):
    folder.mkdir(exist_ok=True)
    lines = ["path\tbytes\tsha256\tnote"]
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    for name, content in (files if listed is None else listed).items():
        lines.append(f'{name}\t{len(content)}\t{sha256(content)}\ta "quoted note')
    (folder / "MANIFEST.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


def left_in(folder):
    return sorted(path.name for path in folder.iterdir())


# ------------------------------------------------------------------ downloads


def downloaded(upstream, folder, sha256=None):
    address = Address(upstream.url + "/file.bin", sha256)
    download(address, folder / "file.bin", name="file.bin")
    return (folder / "file.bin").read_bytes()


def test_a_download_is_complete_checked_and_leaves_no_other_file(tmp_path, upstream, register):
    upstream.files["/known.bin"] = CONTENT
    target = tmp_path / "out" / "known.bin"
    assert fetch("data/known.bin", target, Sources(register)) == target
    assert target.read_bytes() == CONTENT
    assert left_in(target.parent) == ["known.bin"]
    assert target.stat().st_mode & 0o444 == 0o444  # not the private mode of temporary files


def test_an_existing_file_is_not_requested_again(tmp_path, upstream, register):
    upstream.files |= {"/known.bin": CONTENT, "/other.bin": b"new"}
    (tmp_path / "known.bin").write_bytes(CONTENT)
    (tmp_path / "other.bin").write_bytes(b"old")  # no checksum is known
    fetch("data/known.bin", tmp_path / "known.bin", Sources(register))
    fetch("data/other.bin", tmp_path / "other.bin", Sources(register))
    assert upstream.asked == []
    (tmp_path / "known.bin").write_bytes(b"damaged")
    fetch("data/known.bin", tmp_path / "known.bin", Sources(register))
    assert (tmp_path / "known.bin").read_bytes() == CONTENT


def test_an_interrupted_transfer_resumes_at_its_byte(tmp_path, upstream):
    upstream.files["/file.bin"] = CONTENT
    upstream.break_off = 2
    assert downloaded(upstream, tmp_path, sha256(CONTENT)) == CONTENT
    half, quarter = len(CONTENT) // 2, len(CONTENT) // 4
    expected = [None, f"bytes={half}-", f"bytes={half + quarter}-"]
    assert [header for _, header in upstream.asked] == expected
    assert left_in(tmp_path) == ["file.bin"]


def test_a_transfer_without_new_bytes_ends_and_resumes_at_the_next_call(tmp_path, upstream):
    upstream.files["/file.bin"] = CONTENT
    upstream.break_off = 100
    with pytest.raises(DataError, match=r"file\.bin broke off .* bytes are kept; check"):
        downloaded(upstream, tmp_path, sha256(CONTENT))
    assert not (tmp_path / "file.bin").exists()
    kept = (tmp_path / ".file.bin.part").stat().st_size
    assert kept >= len(CONTENT) - 1
    upstream.break_off, upstream.asked[:] = 0, []
    assert downloaded(upstream, tmp_path, sha256(CONTENT)) == CONTENT
    assert [header for _, header in upstream.asked] == [f"bytes={kept}-"]


@pytest.mark.parametrize(
    ("part", "version", "asked"),
    [
        (CONTENT[:1000], '"one"', ["bytes=1000-"]),  # of an earlier process
        (CONTENT, '"one"', [f"bytes={len(CONTENT)}-"]),  # which ended before it renamed the part
        (b"x" * 1000, '"zero"', ["bytes=1000-"]),  # of another version: the server sends all
        (b"x" * 1000, None, [None]),
        (CONTENT + b"more", '"one"', [f"bytes={len(CONTENT) + 4}-", None]),
    ],
)
def test_a_part_is_completed_or_thrown_away(tmp_path, upstream, part, version, asked):
    upstream.files["/file.bin"] = CONTENT
    (tmp_path / ".file.bin.part").write_bytes(part)
    if version:
        source = upstream.url + "/file.bin"
        (tmp_path / ".file.bin.part.version").write_text(f"{source}\n{version}")
    assert downloaded(upstream, tmp_path) == CONTENT
    assert [header for _, header in upstream.asked] == asked
    assert left_in(tmp_path) == ["file.bin"]


LAST = len(CONTENT) - 1
WRONG = {
    "from the start": (CONTENT, f"bytes 0-{LAST}/{len(CONTENT)}", {}),
    "from earlier": (CONTENT[-9:], f"bytes {LAST - 8}-{LAST}/{len(CONTENT)}", {}),
    "of another version": (b"x" * (len(CONTENT) // 2), None, {"ETag": '"two"'}),
    "in several parts": (b"--a\r\n", "", {"Content-Type": "multipart/byteranges; boundary=a"}),
}


@pytest.mark.parametrize("kind", WRONG)
def test_a_rest_that_was_not_requested_is_never_joined(tmp_path, upstream, kind):
    body, span, headers = WRONG[kind]
    span = f"bytes {len(CONTENT) // 2}-{LAST}/{len(CONTENT)}" if span is None else span
    wrong = Answer(body, 206, {"Content-Range": span, **headers})
    upstream.others = lambda path, headers: wrong if "Range" in headers else CONTENT
    upstream.break_off = 1
    assert downloaded(upstream, tmp_path) == CONTENT


def test_a_rest_that_is_too_short_is_completed(tmp_path, upstream):
    half, more = len(CONTENT) // 2, 1000
    span = f"bytes {half}-{half + more - 1}/{len(CONTENT)}"
    short = Answer(CONTENT[half : half + more], 206, {"Content-Range": span})
    upstream.others = lambda path, headers: (
        short if headers.get("Range") == f"bytes={half}-" else CONTENT
    )
    upstream.break_off = 1
    assert downloaded(upstream, tmp_path) == CONTENT
    assert [wanted for _, wanted in upstream.asked][2] == f"bytes={half + more}-"


def test_a_part_of_another_address_is_thrown_away(tmp_path, upstream):
    upstream.files["/file.bin"] = CONTENT
    (tmp_path / ".file.bin.part").write_bytes(b"x" * 1000)
    (tmp_path / ".file.bin.part.version").write_text(f'{upstream.url}/other\n"one"')
    assert downloaded(upstream, tmp_path) == CONTENT
    assert [header for _, header in upstream.asked] == [None]


def test_an_answer_that_is_packed_all_the_same_is_unpacked(tmp_path, upstream):
    packed = Answer(gzip.compress(CONTENT), 200, {"Content-Encoding": "gzip"})
    upstream.others = lambda path, headers: (
        packed if headers["Accept-Encoding"] == "identity" else CONTENT
    )
    assert downloaded(upstream, tmp_path) == CONTENT
    # A file that is itself packed stays as it is, whatever the server calls it.
    download(Address(upstream.url + "/a.tgz"), tmp_path / "a.tgz", name="a.tgz")
    assert (tmp_path / "a.tgz").read_bytes() == packed.body


def test_a_host_gets_four_requests_at_a_time(upstream):
    upstream.others = lambda path, headers: Answer(b"a", delay=0.05)
    session = Session()
    with ThreadPoolExecutor(16) as pool:
        list(pool.map(lambda n: session.get(f"{upstream.url}/{n}"), range(16)))
    assert 4 <= upstream.at_once <= 8  # what has just been answered counts for a moment


def test_a_host_that_answers_now_and_then_is_not_given_up(upstream):
    upstream.files |= {"/file.bin": b"a", "/slow.bin": Answer(b"a", delay=0.5)}
    session = Session(tries=0, give_up=2, timeout=(1, 0.1))
    for _ in range(3):
        with pytest.raises(requests.RequestException, match="timed out"):
            session.get(f"{upstream.url}/slow.bin")
        assert session.get(f"{upstream.url}/file.bin").content == b"a"
    for _ in range(2):
        with pytest.raises(requests.RequestException, match="timed out"):
            session.get(f"{upstream.url}/slow.bin")
    with pytest.raises(requests.ConnectionError, match="has not answered 2 requests"):
        session.get(f"{upstream.url}/file.bin")


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (Answer(b""), r"sent an empty file instead"),
        (
            Answer(b"<head><title>", 200, {"Content-Type": "text/html"}),
            r"sent an HTML page instead",
        ),
        (Answer(b"ten bytes."), r"the size of file\.bin is 10, not 11"),
        (Answer(b"", 204), r"answered 204"),
    ],
)
def test_what_cannot_be_the_file_is_an_error(tmp_path, upstream, answer, message):
    upstream.files["/file.bin"] = answer
    address = Address(upstream.url + "/file.bin", bytes=11)
    with pytest.raises(DataError, match=message):
        download(address, tmp_path / "file.bin", name="file.bin")
    assert not (tmp_path / "file.bin").exists()


@pytest.mark.parametrize(
    ("server", "asked"),
    [({"ranges": False}, f"bytes={len(CONTENT) // 2}-"), ({"etag": 'W/"weak"'}, None)],
)
def test_a_server_that_cannot_resume_makes_it_start_over(tmp_path, upstream, server, asked):
    upstream.files["/file.bin"] = CONTENT
    upstream.break_off = 1
    for name, value in server.items():
        setattr(upstream, name, value)
    assert downloaded(upstream, tmp_path) == CONTENT
    assert [header for _, header in upstream.asked] == [None, asked]


def test_a_busy_server_is_retried_when_it_says(tmp_path, upstream, monkeypatch, caplog):
    waits = []
    monkeypatch.setattr(download_module.time, "sleep", waits.append)
    upstream.files["/file.bin"] = b"data"
    upstream.statuses = [503, (429, "7"), (503, "soon"), (503, "7200")]
    assert downloaded(upstream, tmp_path) == b"data"
    # 8 without a number that it can read, at most a quarter of an hour.
    assert [*filter(None, waits)] == [7, 8, 900]
    assert "the server is busy and requests a pause of 7 s" in caplog.text
    upstream.statuses = [429] * 9
    with pytest.raises(TransientError, match="429 Too Many Requests for file"):
        downloaded(upstream, tmp_path / "other")


def test_what_broke_off_is_tried_once_more_after_the_others(tmp_path, upstream, register):
    whole = iter([b"a"] + [Answer(b"", 503)] * 6)  # to the check, and to the first fetch
    upstream.others = lambda path, headers: next(whole, b"a") if path == "/a.zip" else CONTENT
    fetch_all(["data/a.zip", "data/known.bin"], [], tmp_path, Sources(register))
    assert (tmp_path / "data/a.zip").read_bytes() == b"a"
    order = [path for path, _ in upstream.asked][2:]
    assert order == ["/a.zip"] * 6 + ["/known.bin", "/a.zip"]


def test_a_failure_does_not_keep_other_files_from_being_fetched(tmp_path, upstream, register):
    upstream.files["/known.bin"] = CONTENT
    paths = ["data/gone.zip", "private/corpus.zip", "data/known.bin"]
    with pytest.raises(AtlasError, match="2 could not be fetched:") as caught:
        fetch_all(paths, [], tmp_path, Sources(register))
    assert "the server answered 404 Not Found for data/gone.zip" in str(caught.value)
    assert "private/corpus.zip" in str(caught.value)
    assert (tmp_path / "data/known.bin").read_bytes() == CONTENT
    asked = [path for path, wanted in upstream.asked if not wanted]
    assert sorted(asked) == ["/gone.zip", "/known.bin"]
    assert left_in(tmp_path / "data") == ["known.bin"]


def test_a_server_that_is_not_there_is_named(tmp_path):
    with pytest.raises(TransientError, match=r"of x broke off.*check network and address"):
        download(Address("http://127.0.0.1:9/x"), tmp_path / "x", name="x")


@pytest.mark.parametrize("target", ["http://[/x", "ftp://127.0.0.1/x", "/file.bin"])
def test_an_address_that_leads_nowhere_is_not_tried_again(tmp_path, upstream, target):
    """A wrong address, and redirects to another protocol and to itself."""
    upstream.files["/file.bin"] = Answer(b"", 302, {"Location": target})
    with pytest.raises(AnswerError, match=r"the address leads nowhere .*; correct it in") as caught:
        downloaded(upstream, tmp_path)
    assert not isinstance(caught.value, TransientError)


def test_a_wrong_checksum_names_both_sums_and_leaves_nothing(tmp_path, upstream):
    upstream.files["/file.bin"] = b"something else"
    sums = f"is {sha256(b'something else')}, not {sha256(CONTENT)}"
    with pytest.raises(DataError, match=sums):
        downloaded(upstream, tmp_path, sha256(CONTENT))
    assert left_in(tmp_path) == []


@pytest.mark.parametrize("page", [b"<!DOCTYPE html><html>", b"\xef\xbb\xbf \n<HTML lang=en><HEAD>"])
def test_a_web_page_instead_of_an_archive_is_an_error(tmp_path, upstream, page):
    upstream.files["/file.bin"] = page
    with pytest.raises(DataError, match=r"sent an HTML page instead of file\.bin"):
        downloaded(upstream, tmp_path)
    assert left_in(tmp_path) == []
    upstream.files["/file.bin"] = b"<?xml version='1.0'?>\n<!DOCTYPE mediawiki>"
    assert downloaded(upstream, tmp_path).startswith(b"<?xml")


def test_a_full_disk_is_one_sentence(tmp_path, upstream, monkeypatch):
    upstream.files["/file.bin"] = CONTENT

    def full(*args, **options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(download_module, "track", full)
    with pytest.raises(AtlasError, match=r"file\.bin: no space left while writing"):
        downloaded(upstream, tmp_path)
    assert not (tmp_path / "file.bin").exists()


# ------------------------------------------------------------------ mirror


def test_the_mirror_comes_first_and_unpacks_xz(tmp_path, upstream, register):
    upstream.files |= {"/known.bin": CONTENT, "/absent.bin": b"absent"}
    packed = lzma.compress(b"two ") + lzma.compress(b"streams")
    mirror = make_mirror(
        tmp_path / "mirror", {"data/known.bin": b"the mirror's own", "data/text.txt.xz": packed}
    )
    for name, content in {
        "known.bin": b"the mirror's own",
        "text.txt": b"two streams",
        "text.txt.xz": packed,
    }.items():
        fetch(f"data/{name}", tmp_path / name, Sources(register, mirror, True))
        assert (tmp_path / name).read_bytes() == content
    assert upstream.asked == []
    fetch("data/absent.bin", tmp_path / "absent.bin", Sources(register, mirror))
    assert (tmp_path / "absent.bin").read_bytes() == b"absent"


def test_what_was_taken_from_the_mirror_is_not_copied_again(tmp_path, register):
    """A new copy would be newer than what has been made of it."""
    content = {"data/known.bin": b"the mirror's own", "data/text.txt.xz": lzma.compress(CONTENT)}
    mirror, paths = make_mirror(tmp_path / "mirror", content), ["data/known.bin", "data/text.txt"]
    fetch_all(paths, [], tmp_path, Sources(register, mirror))
    for path in paths:
        os.utime(tmp_path / path, (1, 1))
    (tmp_path / paths[1]).write_bytes(b"another file")
    fetch_all(paths, [], tmp_path, Sources(register, mirror))
    assert (tmp_path / paths[0]).stat().st_mtime == 1
    assert (tmp_path / paths[1]).read_bytes() == CONTENT


def test_a_file_that_the_manifest_does_not_list_is_not_available(tmp_path, register):
    mirror = make_mirror(tmp_path / "mirror", {"data/a.bin": b"a"}, listed={})
    with pytest.raises(DataError, match=r"MANIFEST\.tsv, data/a\.bin: .*not in the manifest"):
        require_available(["data/a.bin"], Sources(register, mirror))


def test_a_damaged_file_in_the_mirror_is_named(tmp_path, register):
    whole, name = lzma.compress(CONTENT), "data/a.bin.xz"
    bad, cut = whole[:200] + b"x" + whole[201:], whole[:-20]
    for listed, message in (
        (whole, f"its sha256 is {sha256(bad)}, but in MANIFEST.tsv it is {sha256(whole)}"),
        (cut, "cut short or damaged"),
    ):
        held = bad if listed == whole else cut
        mirror = make_mirror(tmp_path / "mirror", {name: held}, listed={name: listed})
        with pytest.raises(DataError, match=rf"a\.bin\.xz: .*{message}"):
            fetch("data/a.bin", tmp_path / "a.bin", Sources(register, mirror))
        assert left_in(tmp_path) == ["mirror", "sources.yaml"]


def test_a_downloads_folder_becomes_a_mirror_by_write_manifest(tmp_path, register):
    folder, path = tmp_path / "downloads", snapshot_path("org/name", REVISION)
    files = {f"{path}/{name}": content for name, content in SNAPSHOT.items()}
    files |= {"data/text.txt.xz": lzma.compress(b"text"), "private/corpus.zip": b"corpus"}
    # the last is Snakemake's, in every folder that is an output
    ignored = ["README.md", "data/.known.bin.part", f"{path}/.snakemake_timestamp"]
    for name, content in (files | dict.fromkeys(ignored, b"ignored")).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    assert write_manifest(folder, register) == len(files)
    assert set(Mirror.read(folder).rows) == set(files)
    fetch("private/corpus.zip", tmp_path / "c.zip", Sources(register, folder))
    assert (tmp_path / "c.zip").read_bytes() == b"corpus"
    made = fetch_snapshot("org/name", REVISION, tmp_path / "m", Sources(EMPTY, folder, True))
    assert {file.name: file.read_bytes() for file in made.iterdir()} == SNAPSHOT
    for name in SNAPSHOT:
        (folder / path / name).unlink()
    write_manifest(folder, register)
    with pytest.raises(DataError, match=r"the mirror .* lacks it"):
        fetch_snapshot("org/name", REVISION, tmp_path / "n", Sources(EMPTY, folder, True))
    with pytest.raises(AtlasError, match="no files to list"):
        write_manifest(folder / path, register)


def test_a_users_file_needs_only_a_line_in_the_manifest(tmp_path, register):
    folder, path = tmp_path / "mirror", "mine/lines.txt"
    (folder / "mine").mkdir(parents=True)
    (folder / path).write_bytes(b"one\n")
    assert write_manifest(folder, register) == 1
    require_available([path], Sources(register, folder, True))
    fetch(path, tmp_path / "lines.txt", Sources(register, folder, True))
    assert (tmp_path / "lines.txt").read_bytes() == b"one\n"
    assert origin_of(path, folder / path, Sources(register, folder))["dataset"] == "own"
    # What a person writes into the line stays when the folder is listed again.
    manifest = folder / "MANIFEST.tsv"
    written = "own\tmy desk\t\tCC0\tfirst draft"
    manifest.write_text(manifest.read_text().replace("own\t\t\t\tnot in the register", written))
    (folder / path).write_bytes(b"one\ntwo\n")
    assert write_manifest(folder, register) == 1
    assert Mirror.read(folder).rows[path]["sha256"] == sha256(b"one\ntwo\n")
    found = origin_of(path, folder / path, Sources(register, folder))
    assert found == {
        "dataset": "own",
        "licence": "CC0",
        "citation": "my desk, first draft",
        "read_from": f"{path}: my desk, first draft",
    }
    for elsewhere in (None, make_mirror(tmp_path / "other", {})):
        sources = Sources(register, elsewhere)
        message = r"mine/lines\.txt.*no mirror holds.*into a mirror"
        with pytest.raises(DataError, match=message):
            require_available([path], sources)
        with pytest.raises(DataError, match=message):
            fetch(path, tmp_path / "x", sources)


# ------------------------------------------------------------------ offline and by hand


def test_offline_says_which_file_and_where_it_is(tmp_path, upstream, register):
    upstream.files["/known.bin"] = CONTENT
    with pytest.raises(DataError, match=r"offline is set and no mirror is set; .*/known\.bin"):
        fetch("data/known.bin", tmp_path / "k", Sources(register, None, True))
    mirror = make_mirror(tmp_path / "mirror", {})
    with pytest.raises(DataError, match=r"offline is set and the mirror .*mirror lacks it"):
        fetch("data/known.bin", tmp_path / "k", Sources(register, mirror, True))
    assert upstream.asked == []
    (tmp_path / "k").write_bytes(CONTENT)
    fetch("data/known.bin", tmp_path / "k", Sources(register, None, True))


def test_a_file_that_a_person_has_to_get_names_the_steps(tmp_path, register):
    with pytest.raises(
        DataError, match=r"Private corpus cannot be .*registration\); register at https://example"
    ):
        fetch("private/corpus.zip", tmp_path / "corpus.zip", Sources(register))
    (tmp_path / "corpus.zip").write_bytes(b"not it")
    with pytest.raises(DataError, match="cannot be downloaded by a program"):
        fetch("private/corpus.zip", tmp_path / "corpus.zip", Sources(register))
    (tmp_path / "corpus.zip").write_bytes(b"corpus")
    fetch("private/corpus.zip", tmp_path / "corpus.zip", Sources(register))


def test_all_missing_files_are_named_at_once(tmp_path, register):
    mirror = make_mirror(tmp_path / "mirror", {"data/a": b"a", "data/b.xz": lzma.compress(b"b")})
    downloads = tmp_path / "downloads"
    (downloads / "data").mkdir(parents=True)
    (downloads / "data/c").write_bytes(b"c")
    snapshot = snapshot_path("org/name", REVISION)
    paths = ["data/a", "data/b", "data/c", "data/d", "private/corpus.zip", snapshot]
    online, offline = (Sources(register, mirror, offline) for offline in (False, True))
    with pytest.raises(DataError) as caught:
        require_available(paths, offline, downloads)
    message = str(caught.value)
    assert "3 needed files are missing and offline is set" in message
    assert all(f"{path} (" in message for path in ("data/d", "private/corpus.zip", snapshot))
    assert f"https://huggingface.co/org/name/tree/{REVISION}" in message
    with pytest.raises(DataError) as caught:
        require_available(paths, online, downloads)
    message = str(caught.value)
    assert "1 needed file is missing and must be downloaded manually: private/corpus.zip" in message
    assert "data/d" not in message
    require_available(["data/a", "data/c", "data/d"], online, downloads)
    require_available(["data/a"], offline, downloads)
    with pytest.raises(DataError, match="no source is registered"):
        require_available(["dota/a"], online, downloads)


# ------------------------------------------------------------------ hub snapshots

SNAPSHOT = {
    "config.json": b'{"model_type": "bert"}',
    "model.safetensors": b"weights",
    "tokenizer.json": b"{}",
    "vocab.txt": b"[PAD]\n",
}


@pytest.fixture
def hub(monkeypatch):
    """The files of one repository, downloaded as the hub's client does."""
    files = {**SNAPSHOT, "pytorch_model.bin": b"pickle", "onnx/config.json": b"{}", "run.py": b""}

    def download(repository, *, revision, local_dir, **patterns):
        if (repository, revision) != ("org/name", REVISION):
            raise huggingface_hub.errors.HfHubHTTPError("401 Client Error.\nMore.", response=Mock())
        (local_dir / ".cache").mkdir(parents=True)
        for name in huggingface_hub.utils.filter_repo_objects(files, **patterns):
            (local_dir / name).write_bytes(files[name])

    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
    return files


def test_a_snapshot_is_fetched_without_pickles_and_code(tmp_path, hub):
    folder = fetch_snapshot("org/name", REVISION, tmp_path / "model", Sources(EMPTY))
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == SNAPSHOT
    assert left_in(tmp_path) == ["model"]
    del hub["model.safetensors"]
    with pytest.raises(DataError, match=r"not a complete encoder, without model\.safetensors"):
        fetch_snapshot("org/name", REVISION, tmp_path / "other", Sources(EMPTY))
    assert not (tmp_path / "other").exists()
    with pytest.raises(DataError, match=r"revision .*: the hub did not return it \(401 Client Er"):
        fetch_snapshot("org/other", REVISION, tmp_path / "model", Sources(EMPTY))


def test_a_snapshot_comes_from_the_mirror(tmp_path):
    path = snapshot_path("org/name", REVISION)
    more = {"pytorch_model.bin": b"pickle", "run.py": b"", "onnx/config.json": b"{}"}
    files = {f"{path}/{name}": content for name, content in {**SNAPSHOT, **more}.items()}
    packed = files.pop(f"{path}/vocab.txt")
    mirror = make_mirror(
        tmp_path / "mirror", {**files, f"{path}/vocab.txt.xz": lzma.compress(packed)}
    )
    folder = fetch_snapshot("org/name", REVISION, tmp_path / "m", Sources(EMPTY, mirror, True))
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == SNAPSHOT
    (mirror / path / "model.safetensors").write_bytes(b"tampered")
    with pytest.raises(DataError, match=r"model\.safetensors: its sha256 is"):
        fetch_snapshot("org/name", REVISION, tmp_path / "n", Sources(EMPTY, mirror))
    (mirror / path / "extra.json").write_bytes(b"{}")
    with pytest.raises(DataError, match=r"MANIFEST\.tsv, .*extra\.json"):
        fetch_snapshot("org/name", REVISION, tmp_path / "n", Sources(EMPTY, mirror))
    assert not (tmp_path / "n").exists()


def test_a_snapshot_needs_a_network(tmp_path):
    with pytest.raises(DataError, match="offline is set and no mirror is set"):
        fetch_snapshot("org/name", REVISION, tmp_path / "m", Sources(EMPTY, None, True))


@pytest.mark.parametrize(
    ("missing", "message"),
    [
        (["tokenizer.json", "vocab.txt"], r"without tokenizer\.json or vocab\.txt"),
        (["config.json", "model.safetensors"], r"without config\.json and model\.safetensors"),
    ],
)
def test_snapshots_are_checked(tmp_path, missing, message):
    path = snapshot_path("org/name", REVISION)
    files = {f"{path}/{name}": text for name, text in SNAPSHOT.items() if name not in missing}
    mirror = make_mirror(tmp_path / "mirror", files)
    with pytest.raises(DataError, match=message):
        fetch_snapshot("org/name", REVISION, tmp_path / "m", Sources(EMPTY, mirror))
