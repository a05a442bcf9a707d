"""Fetching against a server on the loopback interface that can misbehave in known ways."""

import contextlib
import functools
import gzip
import hashlib
import json
import lzma
import os
import re
import threading
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import huggingface_hub
import pytest
import yaml

from mbert_atlas.errors import AtlasError, DataError
from mbert_atlas.files import sha256_of
from mbert_atlas.sources import (
    Mirror,
    Register,
    fetch,
    fetch_all,
    fetch_snapshot,
    origin_of,
    require_available,
    snapshot_path,
    write_manifest,
)
from mbert_atlas.sources import download as download_module
from mbert_atlas.sources.download import download

RESOURCES = Path(__file__).parents[2] / "resources"
REVISION = "0123456789abcdef0123456789abcdef01234567"
CONTENT = bytes(range(256)) * 20_000  # 5 MB, so that it comes in several blocks


def sha256(content):
    return hashlib.sha256(content).hexdigest()


@dataclass
class Upstream:
    """What the server serves, how it misbehaves, and what it was asked."""

    files: dict[str, bytes] = field(default_factory=dict)
    break_off: int = 0  # how many answers stop half-way
    statuses: list[int] = field(default_factory=list)  # sent first, one per request
    ranges: bool = True
    if_range: bool = True
    etag: str | None = '"one"'
    headers: dict[str, str] = field(default_factory=dict)
    asked: list[tuple[str, str | None]] = field(default_factory=list)
    url: str = ""


@pytest.fixture
def upstream():
    state = Upstream()

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *args):
            pass

        def do_GET(self):
            wanted = self.headers.get("Range")
            state.asked.append((self.path, wanted))
            if state.statuses:
                self.send_error(state.statuses.pop(0))
                return
            if self.path not in state.files:
                self.send_error(404)
                return
            content, start, status = state.files[self.path], 0, 200
            fresh = not state.if_range or self.headers.get("If-Range") in (None, state.etag)
            if state.ranges and wanted and fresh:
                start, status = int(re.fullmatch(r"bytes=(\d+)-", wanted)[1]), 206
                if start >= len(content):
                    self.send_response(416)
                    self.send_header("Content-Range", f"bytes */{len(content)}")
                    self.send_header("Content-Length", "0")
                    self.end_headers()
                    return
            rest = content[start:]
            self.send_response(status)
            if status == 206:
                last = len(content) - 1
                self.send_header("Content-Range", f"bytes {start}-{last}/{len(content)}")
            self.send_header("Content-Length", str(len(rest)))
            if state.etag:
                self.send_header("ETag", state.etag)
            for name, value in state.headers.items():
                self.send_header(name, value)
            self.end_headers()
            if state.break_off:
                state.break_off -= 1
                self.wfile.write(rest[: len(rest) // 2])
                self.close_connection = True
                return
            self.wfile.write(rest)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    state.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield state
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch):
    monkeypatch.setattr("urllib3.util.retry.time.sleep", lambda seconds: None)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


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


def test_a_download_is_complete_checked_and_leaves_no_other_file(tmp_path, upstream, register):
    upstream.files["/known.bin"] = CONTENT
    target = tmp_path / "out" / "known.bin"
    assert fetch("data/known.bin", target, register=register) == target
    assert target.read_bytes() == CONTENT
    assert left_in(target.parent) == ["known.bin"]
    assert target.stat().st_mode & 0o444 == 0o444  # not the private mode of temporary files


def test_an_existing_file_is_not_requested_again(tmp_path, upstream, register):
    upstream.files |= {"/known.bin": CONTENT, "/other.bin": b"new"}
    (tmp_path / "known.bin").write_bytes(CONTENT)
    (tmp_path / "other.bin").write_bytes(b"old")  # no checksum is known
    fetch("data/known.bin", tmp_path / "known.bin", register=register)
    fetch("data/other.bin", tmp_path / "other.bin", register=register)
    assert upstream.asked == []
    (tmp_path / "known.bin").write_bytes(b"damaged")
    fetch("data/known.bin", tmp_path / "known.bin", register=register)
    assert (tmp_path / "known.bin").read_bytes() == CONTENT


def test_an_interrupted_transfer_resumes(tmp_path, upstream, register):
    upstream.files["/known.bin"] = CONTENT
    upstream.break_off = 2
    for _ in range(2):
        with pytest.raises(DataError, match=r"data/known\.bin broke off .* bytes are kept"):
            fetch("data/known.bin", tmp_path / "known.bin", register=register)
        assert not (tmp_path / "known.bin").exists()
    fetch("data/known.bin", tmp_path / "known.bin", register=register)
    assert (tmp_path / "known.bin").read_bytes() == CONTENT
    half, quarter = len(CONTENT) // 2, len(CONTENT) // 4
    assert [header for _, header in upstream.asked] == [
        None,
        f"bytes={half}-",
        f"bytes={half + quarter}-",
    ]


def test_a_part_of_an_earlier_process_is_continued(tmp_path, upstream, register):
    upstream.files["/known.bin"] = CONTENT
    (tmp_path / ".known.bin.part").write_bytes(CONTENT[:1000])
    (tmp_path / ".known.bin.part.version").write_text('"one"')
    fetch("data/known.bin", tmp_path / "known.bin", register=register)
    assert (tmp_path / "known.bin").read_bytes() == CONTENT
    assert upstream.asked == [("/known.bin", "bytes=1000-")]
    assert not [name for name in left_in(tmp_path) if name.startswith(".")]


@pytest.mark.parametrize("version", ['"zero"', None])
def test_halves_of_two_versions_are_never_joined(tmp_path, upstream, version):
    upstream.files["/file.bin"] = CONTENT
    (tmp_path / ".file.bin.part").write_bytes(b"x" * 1000)
    if version:
        (tmp_path / ".file.bin.part.version").write_text(version)
    download(upstream.url + "/file.bin", tmp_path / "file.bin", sha256=None, name="file")
    assert (tmp_path / "file.bin").read_bytes() == CONTENT


def test_a_server_that_sends_the_rest_of_another_version_makes_it_start_over(tmp_path, upstream):
    upstream.files["/file.bin"] = CONTENT
    upstream.if_range = False
    (tmp_path / ".file.bin.part").write_bytes(b"x" * 1000)
    (tmp_path / ".file.bin.part.version").write_text('"zero"')
    download(upstream.url + "/file.bin", tmp_path / "file.bin", sha256=None, name="file")
    assert (tmp_path / "file.bin").read_bytes() == CONTENT
    assert [header for _, header in upstream.asked] == ["bytes=1000-", None]


def test_a_server_that_ignores_ranges_makes_it_start_over(tmp_path, upstream, register):
    upstream.files["/known.bin"] = CONTENT
    upstream.ranges, upstream.break_off = False, 1
    with pytest.raises(DataError, match="broke off"):
        fetch("data/known.bin", tmp_path / "known.bin", register=register)
    fetch("data/known.bin", tmp_path / "known.bin", register=register)
    assert (tmp_path / "known.bin").read_bytes() == CONTENT
    assert len(upstream.asked) == 2


def test_a_part_that_is_already_whole_is_taken_as_it_is(tmp_path, upstream):
    upstream.files["/file.bin"] = CONTENT
    (tmp_path / ".file.bin.part").write_bytes(CONTENT)
    (tmp_path / ".file.bin.part.version").write_text('"one"')
    download(upstream.url + "/file.bin", tmp_path / "file.bin", sha256=None, name="file")
    assert (tmp_path / "file.bin").read_bytes() == CONTENT
    assert len(upstream.asked) == 1


def test_a_part_that_is_too_long_is_thrown_away(tmp_path, upstream):
    upstream.files["/file.bin"] = CONTENT
    (tmp_path / ".file.bin.part").write_bytes(CONTENT + b"more")
    (tmp_path / ".file.bin.part.version").write_text('"one"')
    download(upstream.url + "/file.bin", tmp_path / "file.bin", sha256=None, name="file")
    assert (tmp_path / "file.bin").read_bytes() == CONTENT


def test_a_busy_server_is_retried(tmp_path, upstream):
    upstream.files["/file.bin"] = b"data"
    upstream.statuses = [503, 429]
    download(upstream.url + "/file.bin", tmp_path / "file.bin", sha256=None, name="file")
    assert (tmp_path / "file.bin").read_bytes() == b"data"


def test_a_missing_file_is_not_requested_again(tmp_path, upstream, register):
    with pytest.raises(DataError, match=r"answered 404 Not Found for data/gone\.zip"):
        fetch("data/gone.zip", tmp_path / "gone.zip", register=register)
    assert len(upstream.asked) == 1
    assert not [name for name in left_in(tmp_path) if "gone" in name]


def test_a_failure_does_not_keep_other_files_from_being_fetched(tmp_path, upstream, register):
    upstream.files["/known.bin"] = CONTENT
    paths = ["data/gone.zip", "private/corpus.zip", "data/known.bin"]
    with pytest.raises(AtlasError, match="2 could not be fetched:") as caught:
        fetch_all(paths, [], tmp_path, register=register)
    assert "404 Not Found for data/gone.zip" in str(caught.value)
    assert "private/corpus.zip" in str(caught.value)
    assert (tmp_path / "data/known.bin").read_bytes() == CONTENT


def test_a_server_that_is_not_there_is_named(tmp_path, upstream):
    for address in ("http://127.0.0.1:9/x", "http://[/x"):
        with pytest.raises(DataError, match=r"the download of x broke off.*correct the address"):
            download(address, tmp_path / "x", sha256=None, name="x")


def test_a_wrong_checksum_names_both_sums_and_leaves_nothing(tmp_path, upstream, register):
    upstream.files["/known.bin"] = b"something else"
    with pytest.raises(DataError) as caught:
        fetch("data/known.bin", tmp_path / "known.bin", register=register)
    assert sha256(b"something else") in str(caught.value)
    assert sha256(CONTENT) in str(caught.value)
    assert not [name for name in left_in(tmp_path) if "known" in name]


@pytest.mark.parametrize("page", [b"<!DOCTYPE html><html>", b"\xef\xbb\xbf \n<HTML lang=en>"])
def test_a_web_page_instead_of_an_archive_is_an_error(tmp_path, upstream, register, page):
    upstream.files["/ud.tgz"] = page
    with pytest.raises(DataError, match=r"sent a web page \(HTML\) instead of data/ud\.tgz"):
        fetch("data/ud.tgz", tmp_path / "ud.tgz", register=register)
    assert not [name for name in left_in(tmp_path) if "ud" in name]


def test_an_xml_dump_is_not_taken_for_a_web_page(tmp_path, upstream, register):
    upstream.files["/dump.xml"] = b"<?xml version='1.0'?>\n<!DOCTYPE mediawiki>"
    fetch("data/dump.xml", tmp_path / "dump.xml", register=register)
    assert (tmp_path / "dump.xml").read_bytes().startswith(b"<?xml")


def test_a_compressed_transfer_is_an_error(tmp_path, upstream):
    upstream.files["/a.tsv"] = gzip.compress(b"a\tb\n")
    upstream.headers["Content-Encoding"] = "gzip"
    with pytest.raises(DataError, match="the server compresses the transfer"):
        download(upstream.url + "/a.tsv", tmp_path / "a.tsv", sha256=None, name="a.tsv")


def test_a_server_without_etag_or_with_a_weak_one_still_works(tmp_path, upstream):
    upstream.files["/file.bin"] = CONTENT
    upstream.etag, upstream.break_off = 'W/"weak"', 1
    with pytest.raises(DataError, match="broke off"):
        download(upstream.url + "/file.bin", tmp_path / "file.bin", sha256=None, name="file")
    download(upstream.url + "/file.bin", tmp_path / "file.bin", sha256=None, name="file")
    assert (tmp_path / "file.bin").read_bytes() == CONTENT
    assert [header for _, header in upstream.asked] == [None, None]  # it had to start over


def test_a_full_disk_is_one_sentence(tmp_path, upstream, monkeypatch):
    upstream.files["/file.bin"] = CONTENT

    def full(*args, **options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(download_module, "track", full)
    with pytest.raises(AtlasError, match=r"file\.bin: no space left while writing"):
        download(upstream.url + "/file.bin", tmp_path / "file.bin", sha256=None, name="file")
    assert not (tmp_path / "file.bin").exists()


# ------------------------------------------------------------------ mirror


def test_the_mirror_comes_first_and_unpacks_xz(tmp_path, upstream, register):
    upstream.files["/known.bin"] = CONTENT
    mirror = make_mirror(
        tmp_path / "mirror",
        {"data/known.bin": b"the mirror's own", "data/text.txt.xz": lzma.compress(CONTENT)},
    )
    fetch("data/known.bin", tmp_path / "a", register=register, mirror=mirror)
    fetch("data/text.txt", tmp_path / "b", register=register, mirror=mirror, offline=True)
    assert (tmp_path / "a").read_bytes() == b"the mirror's own"
    assert (tmp_path / "b").read_bytes() == CONTENT
    assert upstream.asked == []


def test_what_was_taken_from_the_mirror_is_not_copied_again(tmp_path, register):
    """A new copy would be newer than what has been made of it."""
    content = {"data/known.bin": b"the mirror's own", "data/text.txt.xz": lzma.compress(CONTENT)}
    mirror, paths = make_mirror(tmp_path / "mirror", content), ["data/known.bin", "data/text.txt"]
    fetch_all(paths, [], tmp_path, register=register, mirror=mirror)
    for path in paths:
        os.utime(tmp_path / path, (1, 1))
    (tmp_path / paths[1]).write_bytes(b"another file")
    fetch_all(paths, [], tmp_path, register=register, mirror=mirror)
    assert (tmp_path / paths[0]).stat().st_mtime == 1
    assert (tmp_path / paths[1]).read_bytes() == CONTENT


def test_two_xz_streams_in_one_file_are_both_read(tmp_path, register):
    content = lzma.compress(b"one ") + lzma.compress(b"two")
    mirror = make_mirror(tmp_path / "mirror", {"data/text.txt.xz": content})
    fetch("data/text.txt", tmp_path / "b", register=register, mirror=mirror)
    assert (tmp_path / "b").read_bytes() == b"one two"


def test_an_xz_file_requested_by_its_name_stays_compressed(tmp_path, register):
    content = lzma.compress(b"text")
    mirror = make_mirror(tmp_path / "mirror", {"data/text.txt.xz": content})
    fetch("data/text.txt.xz", tmp_path / "b.xz", register=register, mirror=mirror)
    assert (tmp_path / "b.xz").read_bytes() == content


def test_what_the_mirror_lacks_is_downloaded(tmp_path, upstream, register):
    upstream.files["/known.bin"] = CONTENT
    mirror = make_mirror(tmp_path / "mirror", {"data/other.bin": b"other"})
    fetch("data/known.bin", tmp_path / "known.bin", register=register, mirror=mirror)
    assert (tmp_path / "known.bin").read_bytes() == CONTENT


def test_a_file_that_the_manifest_does_not_list_is_an_error(tmp_path, register):
    mirror = make_mirror(tmp_path / "mirror", {"data/a.bin": b"a"}, listed={})
    with pytest.raises(DataError, match=r"MANIFEST\.tsv, data/a\.bin: .*not in the manifest"):
        fetch("data/a.bin", tmp_path / "a.bin", register=register, mirror=mirror)
    with pytest.raises(DataError, match=r"MANIFEST\.tsv"):
        require_available(["data/a.bin"], register=register, mirror=mirror)


@pytest.mark.parametrize("name", ["data/a.bin", "data/a.bin.xz"])
def test_a_wrong_checksum_in_the_mirror_names_both_sums(tmp_path, register, name):
    good = lzma.compress(CONTENT) if name.endswith(".xz") else CONTENT
    bad = good[:200] + b"x" + good[201:]
    mirror = make_mirror(tmp_path / "mirror", {name: bad}, listed={name: good})
    with pytest.raises(DataError) as caught:
        fetch("data/a.bin", tmp_path / "a.bin", register=register, mirror=mirror)
    assert sha256(bad) in str(caught.value)
    assert sha256(good) in str(caught.value)
    assert not [left for left in left_in(tmp_path) if "a.bin" in left]


def test_a_truncated_xz_with_a_matching_checksum_is_damaged(tmp_path, register):
    content = lzma.compress(CONTENT)[:-20]
    mirror = make_mirror(tmp_path / "mirror", {"data/a.bin.xz": content})
    with pytest.raises(DataError, match=r"a\.bin\.xz: not a whole xz file"):
        fetch("data/a.bin", tmp_path / "a.bin", register=register, mirror=mirror)
    assert not (tmp_path / "a.bin").exists()


@pytest.mark.parametrize(
    ("manifest", "message"),
    [
        (None, "the mirror has no manifest"),
        ("path\tsha\n", "line 1: no columns path and sha256"),
        ("path\tsha256\na\tabc\n", "line 2: 'abc' is not a sha256"),
        ("path\tsha256\na\n", "line 2: '' is not a sha256"),
        (f"path\tsha256\na\t{'0' * 64}\tb\n", "line 2: 3 tab-separated cells where the header"),
        (f"path\tsha256\na\t{'0' * 64}\na\t{'0' * 64}\n", "line 3: a is listed twice"),
    ],
)
def test_a_wrong_manifest_names_its_line(tmp_path, manifest, message):
    if manifest is not None:
        (tmp_path / "MANIFEST.tsv").write_text(manifest)
    with pytest.raises(DataError, match=message):
        Mirror.read(tmp_path)


def test_a_mirror_that_does_not_exist_is_named(tmp_path):
    with pytest.raises(DataError, match="no such mirror folder; correct `mirror` in the config"):
        Mirror.read(tmp_path / "nowhere")


def test_a_folder_becomes_a_mirror_by_write_manifest(tmp_path, register):
    folder = tmp_path / "downloads"
    (folder / "data").mkdir(parents=True)
    (folder / "private").mkdir()
    (folder / "data/known.bin").write_bytes(CONTENT)
    (folder / "data/text.txt.xz").write_bytes(lzma.compress(b"text"))
    (folder / "private/corpus.zip").write_bytes(b"corpus")
    (folder / "data/.known.bin.part").write_bytes(b"half")
    (folder / "README.md").write_text("mine")
    path = folder / snapshot_path("org/name", REVISION)
    path.mkdir(parents=True)
    (path / "config.json").write_text("{}")
    assert write_manifest(folder, register) == 4
    mirror = Mirror.read(folder)
    assert set(mirror.rows) == {
        "data/known.bin",
        "data/text.txt.xz",
        "private/corpus.zip",
        f"hf/org--name@{REVISION}/config.json",
    }
    fetch("private/corpus.zip", tmp_path / "c.zip", register=register, mirror=folder)
    assert (tmp_path / "c.zip").read_bytes() == b"corpus"
    (tmp_path / "empty").mkdir()
    with pytest.raises(AtlasError, match="no files to list"):
        write_manifest(tmp_path / "empty", register)


def test_a_users_file_needs_only_a_line_in_the_manifest(tmp_path, register):
    folder, path = tmp_path / "mirror", "mine/lines.txt"
    (folder / "mine").mkdir(parents=True)
    (folder / path).write_bytes(b"one\n")
    assert write_manifest(folder, register) == 1
    require_available([path], register=register, mirror=folder, offline=True)
    fetch(path, tmp_path / "lines.txt", register=register, mirror=folder, offline=True)
    assert (tmp_path / "lines.txt").read_bytes() == b"one\n"
    stated = {"register": register, "mirror": folder}
    assert origin_of(path, folder / path, **stated)["dataset"] == "own"
    # What a person writes into the line stays when the folder is listed again.
    manifest = folder / "MANIFEST.tsv"
    written = "own\tmy desk\t\tCC0\tfirst draft"
    manifest.write_text(manifest.read_text().replace("own\t\t\t\tnot in the register", written))
    (folder / path).write_bytes(b"one\ntwo\n")
    assert write_manifest(folder, register) == 1
    assert Mirror.read(folder).rows[path]["sha256"] == sha256(b"one\ntwo\n")
    found = origin_of(path, folder / path, **stated)
    assert found == {
        "dataset": "own",
        "licence": "CC0",
        "citation": "my desk, first draft",
        "read_from": f"{path}: my desk, first draft",
    }
    for elsewhere in (None, tmp_path / "other"):
        if elsewhere:
            elsewhere.mkdir()
            (elsewhere / "MANIFEST.tsv").write_text("path\tsha256\n")
        options = {"register": register, "mirror": elsewhere}
        for wanted in (
            lambda: require_available([path], **options),  # noqa: B023
            lambda: fetch(path, tmp_path / "x", **options),  # noqa: B023
        ):
            with pytest.raises(DataError, match=r"mine/lines\.txt.*no mirror holds.*into a mirror"):
                wanted()


# ------------------------------------------------------------------ offline and by hand


def test_offline_says_which_file_and_where_it_is(tmp_path, upstream, register):
    upstream.files["/known.bin"] = CONTENT
    with pytest.raises(DataError, match=r"offline is set and no mirror is set; .*/known\.bin"):
        fetch("data/known.bin", tmp_path / "k", register=register, offline=True)
    mirror = make_mirror(tmp_path / "mirror", {})
    with pytest.raises(DataError, match=r"offline is set and the mirror .*mirror lacks it"):
        fetch("data/known.bin", tmp_path / "k", register=register, offline=True, mirror=mirror)
    assert upstream.asked == []
    (tmp_path / "k").write_bytes(CONTENT)
    fetch("data/known.bin", tmp_path / "k", register=register, offline=True)


def test_a_file_that_a_person_has_to_get_names_the_steps(tmp_path, register):
    with pytest.raises(
        DataError, match=r"Private corpus cannot be .*registration\); register at https://example"
    ):
        fetch("private/corpus.zip", tmp_path / "corpus.zip", register=register)
    (tmp_path / "corpus.zip").write_bytes(b"not it")
    with pytest.raises(DataError, match="cannot be downloaded by a program"):
        fetch("private/corpus.zip", tmp_path / "corpus.zip", register=register)
    (tmp_path / "corpus.zip").write_bytes(b"corpus")
    fetch("private/corpus.zip", tmp_path / "corpus.zip", register=register)


def test_addresses_are_tried_in_order(tmp_path, register, upstream):
    entry = register.entries[0]

    def fetched(*urls):
        entries = (entry.model_copy(update={"url": urls[0], "more_urls": list(urls[1:])}),)
        fetch("data/file.bin", tmp_path / "file.bin", register=replace(register, entries=entries))
        return (tmp_path / "file.bin").read_bytes()

    upstream.files["/file.bin"] = CONTENT
    assert fetched(upstream.url + "/not-{path}", entry.url) == CONTENT
    (tmp_path / "file.bin").unlink()
    problem = r"data/file\.bin: no address worked .*not-file\.bin: .*404.*no-file"
    with pytest.raises(DataError, match=problem):
        fetched(upstream.url + "/not-{path}", upstream.url + "/no-{path}")
    assert not (tmp_path / "file.bin").exists()


def test_all_missing_files_are_named_at_once(tmp_path, register):
    mirror = make_mirror(tmp_path / "mirror", {"data/a": b"a", "data/b.xz": lzma.compress(b"b")})
    downloads = tmp_path / "downloads"
    (downloads / "data").mkdir(parents=True)
    (downloads / "data/c").write_bytes(b"c")
    snapshot = snapshot_path("org/name", REVISION)
    paths = ["data/a", "data/b", "data/c", "data/d", "private/corpus.zip", snapshot]
    places = {"register": register, "mirror": mirror, "downloads": downloads}
    with pytest.raises(DataError) as caught:
        require_available(paths, **places, offline=True)
    message = str(caught.value)
    assert "3 needed files are missing and offline is set" in message
    assert all(f"{path} (" in message for path in ("data/d", "private/corpus.zip", snapshot))
    assert f"https://huggingface.co/org/name/tree/{REVISION}" in message
    with pytest.raises(DataError) as caught:
        require_available(paths, **places)
    message = str(caught.value)
    assert "1 needed file is missing and must be downloaded manually: private/corpus.zip" in message
    assert "data/d" not in message
    require_available(["data/a", "data/c", "data/d"], **places)
    require_available(["data/a"], **places, offline=True)
    with pytest.raises(DataError, match="no source is registered"):
        require_available(["dota/a"], **places)


# ------------------------------------------------------------------ hub snapshots

SNAPSHOT = {
    "config.json": b'{"model_type": "bert"}',
    "model.safetensors": b"weights",
    "tokenizer.json": b"{}",
    "vocab.txt": b"[PAD]\n",
}


@pytest.fixture
def hub(monkeypatch, tmp_path):
    """A hub on the loopback interface with one repository, as far as its client asks."""
    files = {**SNAPSHOT, "pytorch_model.bin": b"pickle", "onnx/config.json": b"{}", "run.py": b""}
    asked = []

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *args):
            pass

        def answer(self, content, **headers):
            self.send_response(200)
            for name, value in headers.items():
                self.send_header(name.replace("_", "-"), value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(content)

        def do_GET(self):
            asked.append(self.path)
            path = self.path.split("?")[0]
            if path == f"/api/models/org/name/tree/{REVISION}":
                rows = [
                    {
                        "type": "file",
                        "path": name,
                        "size": len(content),
                        "oid": sha256(content)[:40],
                    }
                    for name, content in files.items()
                ]
                self.answer(json.dumps(rows).encode(), Content_Type="application/json")
            elif path.startswith(f"/org/name/resolve/{REVISION}/"):
                content = files[path.split(f"{REVISION}/")[1]]
                self.answer(content, ETag=f'"{sha256(content)}"', X_Repo_Commit=REVISION)
            else:
                self.send_response(404)
                self.send_header("X-Error-Code", "RepoNotFound")
                self.send_header("Content-Length", "0")
                self.end_headers()

        do_HEAD = do_GET

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    address = f"http://127.0.0.1:{server.server_address[1]}"
    download = functools.partial(huggingface_hub.snapshot_download, endpoint=address)
    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
    yield files, asked
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_snapshot_is_fetched_without_pickles_and_code(tmp_path, hub):
    _, requests = hub
    folder = fetch_snapshot("org/name", REVISION, tmp_path / "model")
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == SNAPSHOT
    assert not any("pytorch_model" in path or "run.py" in path for path in requests)
    assert left_in(tmp_path) == ["model"]


def test_a_snapshot_without_safetensors_is_an_error(tmp_path, hub):
    files, _ = hub
    del files["model.safetensors"]
    with pytest.raises(DataError, match=r"not a complete encoder, without model\.safetensors"):
        fetch_snapshot("org/name", REVISION, tmp_path / "model")
    assert not (tmp_path / "model").exists()


def test_an_unknown_repository_is_one_sentence(tmp_path, hub):
    with pytest.raises(DataError, match=r"org/other, revision .*: the hub did not return it \("):
        fetch_snapshot("org/other", REVISION, tmp_path / "model")


def test_a_snapshot_comes_from_the_mirror(tmp_path):
    path = snapshot_path("org/name", REVISION)
    files = {f"{path}/{name}": content for name, content in SNAPSHOT.items()}
    packed = files.pop(f"{path}/vocab.txt")
    mirror = make_mirror(
        tmp_path / "mirror", {**files, f"{path}/vocab.txt.xz": lzma.compress(packed)}
    )
    folder = fetch_snapshot("org/name", REVISION, tmp_path / "m", mirror=mirror, offline=True)
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == SNAPSHOT
    (mirror / path / "model.safetensors").write_bytes(b"tampered")
    with pytest.raises(DataError, match=r"model\.safetensors: its sha256 is"):
        fetch_snapshot("org/name", REVISION, tmp_path / "n", mirror=mirror)
    (mirror / path / "extra.json").write_bytes(b"{}")
    with pytest.raises(DataError, match=r"MANIFEST\.tsv, .*extra\.json"):
        fetch_snapshot("org/name", REVISION, tmp_path / "n", mirror=mirror)
    assert not (tmp_path / "n").exists()


def test_a_downloads_folder_of_snakemake_becomes_a_mirror(tmp_path, register):
    path = snapshot_path("org/name", REVISION)
    folder = tmp_path / "downloads" / path
    folder.mkdir(parents=True)
    (folder / ".snakemake_timestamp").touch()  # Snakemake's, in every folder that is an output
    (tmp_path / "downloads" / "data").mkdir()
    (tmp_path / "downloads/data/a").write_bytes(b"a")
    write_manifest(tmp_path / "downloads", register)
    assert not Mirror.read(tmp_path / "downloads").holds_folder(path)
    for name, content in SNAPSHOT.items():
        (folder / name).write_bytes(content)
    write_manifest(tmp_path / "downloads", register)
    made = fetch_snapshot(
        "org/name", REVISION, tmp_path / "m", mirror=tmp_path / "downloads", offline=True
    )
    assert {file.name: file.read_bytes() for file in made.iterdir()} == SNAPSHOT


def test_only_wanted_files_of_a_mirrors_snapshot_are_taken(tmp_path):
    path = snapshot_path("org/name", REVISION)
    more = {"pytorch_model.bin": b"pickle", "run.py": b"", "onnx/config.json": b"{}"}
    files = {f"{path}/{name}": content for name, content in {**SNAPSHOT, **more}.items()}
    mirror = make_mirror(tmp_path / "mirror", files)
    made = fetch_snapshot("org/name", REVISION, tmp_path / "m", mirror=mirror)
    assert {file.name for file in made.iterdir()} == set(SNAPSHOT)
    (mirror / path / "model.safetensors").unlink()
    whole = f"{mirror / path}: not a complete encoder, without model.safetensors"
    with pytest.raises(DataError, match=re.escape(whole)):
        fetch_snapshot("org/name", REVISION, tmp_path / "n", mirror=mirror)
    assert left_in(tmp_path) == ["m", "mirror"]


def test_a_snapshot_needs_a_pinned_revision_and_a_network(tmp_path):
    with pytest.raises(DataError, match="'main': not a full commit hash"):
        fetch_snapshot("org/name", "main", tmp_path / "m")
    with pytest.raises(DataError, match="offline is set and no mirror is set"):
        fetch_snapshot("org/name", REVISION, tmp_path / "m", offline=True)


@pytest.mark.parametrize(
    ("missing", "message"),
    [
        (["config.json"], "without config.json"),
        (["vocab.txt"], None),
        (["tokenizer.json", "vocab.txt"], r"without tokenizer\.json or vocab\.txt"),
        (["config.json", "model.safetensors"], r"without config\.json and model\.safetensors"),
    ],
)
def test_snapshots_are_checked(tmp_path, missing, message):
    path = snapshot_path("org/name", REVISION)
    files = {f"{path}/{name}": text for name, text in SNAPSHOT.items() if name not in missing}
    mirror = make_mirror(tmp_path / "mirror", files)
    expected = pytest.raises(DataError, match=message) if message else contextlib.nullcontext()
    with expected:
        fetch_snapshot("org/name", REVISION, tmp_path / "m", mirror=mirror)


# ------------------------------------------------------------------ the real mirror


@pytest.mark.parametrize(
    "path",
    [
        "xquad/xquad.es.json",
        "gold-alignments/XL-WA/data/es/test.tsv",
        "xnli/xtreme/test-es.tsv",
        "wals/cldf/languages.csv",
        "universal-dependencies/UD_English-EWT/en_ewt-ud-dev.conllu",
        "mediawiki/dbpedia-minidumps/es/wiki.xml.bz2",
    ],
)
def test_files_of_the_real_mirror_are_fetched_whole(tmp_path, path):
    mirror = os.environ.get("MBERT_ATLAS_MIRROR")
    if not mirror:
        pytest.skip("MBERT_ATLAS_MIRROR is not set")
    register = Register.read(RESOURCES / "sources.yaml")
    target = fetch(path, tmp_path / "file", register=register, mirror=mirror, offline=True)
    plain = Path(mirror) / path
    if plain.exists():
        assert target.read_bytes() == plain.read_bytes()
    else:
        assert target.read_bytes() == lzma.decompress((Path(mirror) / f"{path}.xz").read_bytes())
    if not path.startswith("universal-dependencies"):  # newer than the registered release
        assert sha256_of(target) == register.locate(path).sha256
