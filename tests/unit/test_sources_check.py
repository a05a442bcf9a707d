"""The register of the paper preset against servers that behave as those of the real internet."""

import hashlib
import json
import re
from pathlib import Path
from typing import Any

import pytest
from configs import LANGUAGES, ROOT, config
from internet import Answer, Internet

from mbert_atlas.errors import AtlasError, DataError
from mbert_atlas.files import read_sums
from mbert_atlas.plan.plan import Plan
from mbert_atlas.sources import check
from mbert_atlas.sources import download as download_module
from mbert_atlas.sources.addresses import nearest_dump
from mbert_atlas.sources.batch import check_all, fetch_all
from mbert_atlas.sources.check import report
from mbert_atlas.sources.download import Session
from mbert_atlas.sources.fetch import Sources, fetch, origin_of, require_available
from mbert_atlas.sources.lock import Lock
from mbert_atlas.sources.mirror import write_manifest
from mbert_atlas.sources.register import Register

PAGE = b"<!DOCTYPE html><html><title>Sign in</title>"
POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0" * 64 + b"\nsize 12\n"
DUMP = "wikipedia/{}wiki-20210420-pages-articles.xml.bz2"
DATES = {"ru": ["20210320", "20210401", "20210601"], "la": []}
"""Dumps that archive.org has of some wikis; of others it has the requested one."""


def search_result(wiki: str, dates: list[str]) -> bytes:
    """What archive.org's search returns of a wiki."""
    items = [{"identifier": f"{wiki}wiki-{date}"} for date in dates]
    header = {"status": 0, "params": {"qin": f"identifier:{wiki}wiki-*", "rows": "500"}}
    return json.dumps({"responseHeader": header, "response": {"docs": items}}).encode()


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def redirected(internet: Internet, folder: Path) -> Register:
    """The register of the repository with its addresses on the loopback server."""
    text = (ROOT / "resources/sources.yaml").read_text("utf-8")
    path = folder / "sources.yaml"
    path.write_text(internet.redirect(text.replace("checksums: ", f"checksums: {ROOT}/resources/")))
    return Register.read(path)


@pytest.fixture
def world(internet: Internet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The internet with the real register, the hub of models included."""
    monkeypatch.setattr(download_module.time, "sleep", lambda seconds: None)
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", f"{internet.url}/huggingface.co")
    register = redirected(internet, tmp_path)
    sizes = {
        address.url: address.bytes
        for entry in register.files()
        for rest in entry.bytes
        for address in register.locate(f"{entry.folder}/{rest}").addresses
    }

    def answer(path: str, headers: dict[str, str]) -> Answer | None:
        host, _, rest = path[1:].partition("/")
        agent = headers.get("User-Agent", "")
        if host == "dumps.wikimedia.org" and "mbert-atlas" not in agent:
            return Answer(b"name yourself", 403)
        if host == "archive.org" and (found := re.search(r"identifier:(\w+)wiki-", rest)):
            return Answer(search_result(found[1], DATES.get(found[1], [])))
        if host == "archive.org" and (found := re.search(r"(\w+)wiki-(\d{8})", rest)):
            wiki, date = found.groups()
            name = f"{wiki}wiki-{date}-pages-articles.xml.bz2"
            if date not in DATES.get(wiki, ["20210420"]):
                return Answer(b"{}") if rest.startswith("metadata") else None
            if rest.startswith("metadata"):
                file = {"name": name, "size": "1000000", "md5": "0" * 32}
                return Answer(json.dumps({"files": [{"name": "a.torrent"}, file]}).encode())
            elsewhere = internet.url.replace("127.0.0.1", "localhost")
            return Answer(b"", 302, {"Location": f"{elsewhere}/ia800.us.archive.org/{name}"})
        if found := re.fullmatch(r"api/models/([^?]*)/revision/(\w+).*", rest):
            files = [{"rfilename": "model.safetensors", "size": 700}, {"rfilename": "a.bin"}]
            body = json.dumps({"id": found[1], "sha": found[2], "siblings": files})
            return Answer(body.encode(), 200, {"Content-Type": "application/json"})
        return Answer(b"BZh9", size=sizes.get(f"{internet.url}{path}", 1_000_000))

    internet.others = answer
    return register, internet


def planned() -> tuple[list[str], list[tuple[str, str]]]:
    plan = Plan(config(), LANGUAGES, home=ROOT)
    hubs = [item.hub for item in plan.config.encoders.values() if item.hub]
    return plan.upstream_files, [(hub.repository, hub.revision) for hub in hubs]


def test_the_whole_paper_preset_is_checked_and_nothing_is_fetched(
    world: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("INFO")
    register, internet = world
    paths, hubs = planned()
    assert (len(paths), len(hubs)) == (196, 2)
    faults = {
        "xquad/xquad.vi.json": Answer(b"gone", 404),
        "muse/dictionaries/en-es.txt": Answer(b"no", 403),
        "muse/dictionaries/en-de.txt": Answer(PAGE, headers={"Content-Type": "text/html"}),
        "wals/v2014/cldf/codes.csv": Answer(POINTER),
        "mlqa/MLQA_V1.zip": Answer(b"PK", size=75_719_051),
        "xnli/XNLI-1.0.zip": Answer(b"", 500),
        "squad/dev-v1.1.json": Answer(b"", 301, {"Location": f"{internet.url}/new.org/dev.json"}),
        "wikimatrix/WikiMatrix.en-hi.tsv.gz": Answer(b"", size=0),
        "wikimatrix/WikiMatrix.en-ru.tsv.gz": Answer(b"late", delay=1),
    }
    monkeypatch.setattr(check, "_TIMEOUT", (1, 0.2))
    for path, fault in faults.items():
        internet.files[register.locate(path).url.removeprefix(internet.url)] = fault
    internet.files["/new.org/dev.json"] = Answer(b"{", size=4_854_279)
    internet.files[register.locate("wikiann/panx_dataset.zip").url.removeprefix(internet.url)] = (
        Answer(b"", 404)
    )
    internet.statuses = [(429, "7"), 503]
    downloads = tmp_path / "downloads"
    findings = check.check(paths, hubs, Sources(register, downloads=downloads))
    states = {one.path: one.state for one in findings}
    assert len(states) == 198
    assert {path: state for path, state in states.items() if state != "found"} == {
        "xquad/xquad.vi.json": "missing",
        "muse/dictionaries/en-es.txt": "locked",
        "muse/dictionaries/en-de.txt": "not the data",
        "wals/v2014/cldf/codes.csv": "not the data",
        "mlqa/MLQA_V1.zip": "changed",
        "xnli/XNLI-1.0.zip": "no answer",
        "squad/dev-v1.1.json": "moved",
        "wikimatrix/WikiMatrix.en-hi.tsv.gz": "not the data",
        "wikimatrix/WikiMatrix.en-ru.tsv.gz": "no answer",
        "wikiann/panx_dataset.zip": "moved",
        DUMP.format("la"): "missing",
    }
    text = report(findings, downloads)
    for path in [*faults, DUMP.format("la"), DUMP.format("ru"), "wikiann/panx_dataset.zip"]:
        assert text.count(f"  {path}\n") == 1
    assert "the dump of 2021-04-01, as there is none of 2021-04-20" in text
    assert "sends a Git LFS pointer" in text
    assert "has 75719051 bytes, not 75719050" in text
    assert "there is no dump of 2021-04-20 or near it; take another form" in text
    assert "panx_dataset.tar has it" in text
    assert "198 sources: 187 found" in text
    assert "To fetch: 1.1 GB; free in" in text
    searches = [path for path, _ in internet.asked if "advancedsearch" in path]
    assert len(searches) == 2  # of the languages without that date
    redirects = [line for line in caplog.messages if "redirects to localhost" in line]
    assert len(redirects) == 1  # of 121
    # No byte beyond the first ones, four requests to a host at a time, and nothing on the disk.
    asked = {
        wanted for path, wanted in internet.asked if not re.search("metadata|/api/|search", path)
    }
    assert asked == {"bytes=0-511"}
    assert internet.at_once <= 2 * 4 + 2  # the server is reached under two names, and the hub
    assert not downloads.exists()
    assert not any("python-requests" in agent for agent in internet.agents)


def test_small_files_come_first_each_failure_at_once_and_the_rest_goes_on(
    world: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    register, internet = world
    bodies = {"muse/dictionaries/en-es.txt": b"the el\n" * 9, "xquad/xquad.vi.json": b"{}" * 99}
    bodies["muse/dictionaries/en-de.txt"] = b"the die\n" * 50
    for path, body in bodies.items():
        internet.files[register.locate(path).url.removeprefix(internet.url)] = body
    caplog.set_level("INFO")
    with pytest.raises(AtlasError, match=r"2 could not be fetched:\n.*") as caught:
        fetch_all(
            [*bodies, "muse/dictionaries/en-fr.txt", DUMP.format("la")],
            [],
            tmp_path,
            Sources(register, downloads=tmp_path),
        )
    assert "the sha256 of xquad/xquad.vi.json is" in str(caught.value)
    assert "there is no dump of 2021-04-20" in str(caught.value)
    whole = [path.removeprefix(f"{internet.url}/") for path, wanted in internet.asked if not wanted]
    assert [path.rpartition("/")[2] for path in whole if "archive.org" not in path] == [
        "en-es.txt",  # by size
        "xquad.vi.json",
        "en-de.txt",
        "en-fr.txt",
    ]
    lines = [record.getMessage() for record in caplog.records]
    failed = next(n for n, line in enumerate(lines) if "the sha256 of xquad" in line)
    assert any("downloading muse/dictionaries/en-fr" in line for line in lines[failed:])


def test_a_disk_that_is_too_small_stops_before_the_first_transfer(
    world: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    register, _ = world
    monkeypatch.setattr(check.shutil, "disk_usage", lambda path: type("", (), {"free": 900_000}))
    sources, paths = Sources(register, downloads=tmp_path / "d"), ["muse/dictionaries/en-es.txt"]
    with pytest.raises(AtlasError, match=r"1\.0 MB are to be fetched, 0\.9 MB are free; free disk"):
        fetch_all(paths, [], tmp_path / "d", sources)
    assert not (tmp_path / "d").exists()
    with pytest.raises(AtlasError, match="free disk space"):
        check_all(paths, [], tmp_path / "d", sources)
    with pytest.raises(AtlasError, match="offline is set"):
        check_all(paths, [], tmp_path / "d", Sources(register, offline=True))


def test_a_host_that_is_down_is_given_up_soon(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(download_module.time, "sleep", lambda seconds: None)
    text = (ROOT / "resources/sources.yaml").read_text("utf-8")
    text = text.replace("checksums: ", f"checksums: {ROOT}/resources/")
    (tmp_path / "s.yaml").write_text(re.sub(r"\bhttps://[\w.]+", "http://127.0.0.1:9", text))
    paths, _ = planned()
    findings = check.check(paths[:60], [], Sources(Register.read(tmp_path / "s.yaml")))
    assert {one.state for one in findings} == {"no answer"}
    assert sum("has not answered" in one.detail for one in findings) > 40


# ------------------------------------------------------------------ dumps


def test_the_nearest_dump_is_taken_and_its_date_stays(world: Any, tmp_path: Path) -> None:
    register, internet = world
    body = b"BZh91 dump"
    path, name = DUMP.format("ru"), "ruwiki-20210401-pages-articles.xml.bz2"
    internet.files[f"/ia800.us.archive.org/{name}"] = body
    md5 = hashlib.md5(body).hexdigest()
    files = {"files": [{"name": name, "size": str(len(body)), "md5": md5}]}
    item = "/archive.org/metadata/ruwiki-20210401"
    internet.files[item] = json.dumps(files).encode()
    sources = Sources(register, downloads=tmp_path)
    fetch(path, tmp_path / path, sources)
    assert (tmp_path / path).read_bytes() == body
    stated = origin_of(path, tmp_path / path, Sources(register, downloads=tmp_path, notes=False))
    assert stated["read_from"].endswith(
        f"ruwiki-20210401/{name}, dump of 2021-04-01, the nearest to 2021-04-20"
    )
    # Once it is known, no other date is looked for.
    (tmp_path / path).unlink()
    internet.asked.clear()
    (finding,) = check.check([path], [], Sources(register, downloads=tmp_path))
    assert finding.detail == "the dump of 2021-04-01, as sources.lock has it"
    fetch(path, tmp_path / path, Sources(register, downloads=tmp_path))
    assert not [path for path, _ in internet.asked if "metadata" in path]
    assert (tmp_path / path).read_bytes() == body


def test_a_dump_whose_md5_is_not_that_of_the_metadata_is_an_error(
    world: Any, tmp_path: Path
) -> None:
    register, _ = world
    path = DUMP.format("de")
    with pytest.raises(DataError, match=f"the md5 of {path} is [0-9a-f]{{32}}, not 0{{32}}"):
        fetch(path, tmp_path / path, Sources(register))
    assert not list((tmp_path / path).parent.iterdir())


def test_exact_refuses_another_date(world: Any, tmp_path: Path) -> None:
    register, _ = world
    path = DUMP.format("ru")
    with pytest.raises(DataError, match=r"no dump of 2021-04-20; set `exact: false`"):
        fetch(path, tmp_path / path, Sources(register, exact={path}))


def test_exact_holds_for_files_that_are_there(world: Any, tmp_path: Path) -> None:
    register, internet = world
    path = DUMP.format("ru")
    internet.others = served_dump(internet.others, "ruwiki-20210401", b"BZh91")
    fetch(path, tmp_path / path, Sources(register, downloads=tmp_path))
    sources = Sources(register, downloads=tmp_path, exact={path})
    with pytest.raises(DataError, match=r"it is .*ruwiki-20210401.*; delete the file to fetch"):
        sources.require_exact([path])
    sources.require_exact([DUMP.format("en")])
    Sources(register, downloads=tmp_path).require_exact([path])
    (tmp_path / path).unlink()
    (finding,) = check.check([path], [], sources)
    assert (finding.state, "exact: false" in finding.fix) == ("missing", True)
    with pytest.raises(DataError, match=r"no dump of 2021-04-20; set `exact: false`"):
        fetch(path, tmp_path / path, sources)


def served_dump(others: Any, item: str, body: bytes) -> Any:
    """Answers in which one item has a file with this content."""
    name = f"{item}-pages-articles.xml.bz2"
    file = {"name": name, "size": str(len(body)), "md5": hashlib.md5(body).hexdigest()}
    answers = {f"/archive.org/metadata/{item}": json.dumps({"files": [file]}).encode()}
    answers[f"/archive.org/download/{item}/{name}"] = body
    return lambda path, headers: Answer(answers[path]) if path in answers else others(path, headers)


def test_a_dump_that_a_person_put_there_stays_the_same(world: Any, tmp_path: Path) -> None:
    register, internet = world
    path = DUMP.format("ru")
    (tmp_path / path).parent.mkdir()
    (tmp_path / path).write_bytes(b"mine")
    sources = Sources(register, downloads=tmp_path)
    fetch(path, tmp_path / path, sources)
    read_from = origin_of(path, tmp_path / path, sources)["read_from"]
    assert read_from.endswith(": a dump that was put there, of a date that is not known")
    (tmp_path / path).unlink()
    internet.others = served_dump(internet.others, "ruwiki-20210401", b"BZh91")
    with pytest.raises(DataError, match=r"the size of .* is 5, not 4"):
        fetch(path, tmp_path / path, Sources(register, downloads=tmp_path))


def test_the_nearest_date_is_one_that_the_archive_lists_or_that_is_tried(
    world: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    register, internet = world
    hosts, session, dates_of = internet.others, Session(), {}
    for dates in (["20230101"], ["20210410", "20210430"], ["20210401"], ["20210520", "20210401"]):
        for is_listed in (True, False):
            monkeypatch.setitem(DATES, "xx", dates)
            internet.others = lambda path, headers, is_listed=is_listed: (
                None if "advancedsearch" in path and not is_listed else hosts(path, headers)
            )
            try:
                dated, _ = nearest_dump(register.locate(DUMP.format("xx")), session)
                dates_of[dates[0], is_listed] = f"{dated.date:%Y%m%d}"
            except DataError as error:
                dates_of[dates[0], is_listed] = error.problem
    missing = "there is no dump of 2021-04-20 or near it"
    assert dates_of == {
        ("20230101", True): "20230101",  # however far
        ("20230101", False): missing,
        ("20210410", True): "20210410",  # of two as near the earlier
        ("20210410", False): missing,  # no dump begins on these days, as a rule
        ("20210401", True): "20210401",
        ("20210401", False): "20210401",
        ("20210520", True): "20210401",
        ("20210520", False): "20210401",
    }


@pytest.mark.parametrize("body", [b"<html><body>", b'{"files": null}', b'{"files": ["a"]}', b"[1]"])
def test_metadata_of_another_form_is_one_sentence(world: Any, body: bytes) -> None:
    register, internet = world
    internet.files["/archive.org/metadata/enwiki-20210420"] = body
    (finding,) = check.check([DUMP.format("en")], [], Sources(register))
    assert finding.state == "no answer"
    assert "the answer is not what it should be" in finding.detail


@pytest.mark.parametrize(
    ("status", "state"),
    [(401, "locked"), (403, "locked"), (451, "locked"), (410, "missing"), (502, "no answer")],
)
def test_an_error_decides_the_state(world: Any, status: int, state: str) -> None:
    register, internet = world
    path = "xnli/XNLI-1.0.zip"
    internet.files[register.locate(path).url.removeprefix(internet.url)] = Answer(b"", status)
    (finding,) = check.check([path], [], Sources(register))
    assert finding.state == state


def test_a_registered_checksum_counts_more_than_the_lock(world: Any, tmp_path: Path) -> None:
    register, _ = world
    path = "squad/dev-v1.1.json"
    (tmp_path / "other").write_bytes(b"{}")
    Lock(tmp_path).add(path, tmp_path / "other", "http://127.0.0.1:9/old")
    source = register.locate(path)
    dated, addresses = Sources(register, downloads=tmp_path).addresses(path, source, Session())
    assert (dated, [item.url for item in addresses]) == (source, [source.url])
    assert addresses[0].sha256 == source.sha256


# ------------------------------------------------------------------ folders


def content_export(internet: Internet, date: str, parts: dict[str, bytes]) -> None:
    folder = f"/dumps.wikimedia.org/other/mediawiki_content_current/lawiki/{date}/xml/bzip2"
    lines = [f"{sha256(body)}  {name}" for name, body in parts.items()]
    lines.append(f"{sha256(b'')}  README.txt")
    internet.files |= {f"{folder}/{name}": body for name, body in parts.items()}
    internet.files[f"{folder}/SHA256SUMS"] = "\n".join(lines).encode() + b"\n"


def test_a_content_export_is_a_folder_of_checked_parts(world: Any, tmp_path: Path) -> None:
    register, internet = world
    hosts = internet.others
    internet.others = lambda path, headers: (
        None if path.endswith("/SHA256SUMS") else hosts(path, headers)
    )
    parts = {
        "lawiki-2026-10-01-p1p9.xml.bz2": b"BZh9one",
        "lawiki-2026-10-01-p12p99.xml.bz2": b"BZ",
    }
    content_export(internet, "2026-10-01", parts)
    index = b'<html><body><a href="2026-10-01/">2026-10-01/</a> <a href="2026-11-01/">..</a>'
    internet.files["/dumps.wikimedia.org/other/mediawiki_content_current/lawiki/"] = index
    path = "wikipedia-content/lawiki-20260501/SHA256SUMS"
    sources = Sources(register, downloads=tmp_path)
    (finding,) = check.check([path], [], sources)
    assert (finding.state, finding.size) == ("found", 9)
    assert finding.detail == "the dump of 2026-10-01, as there is none of 2026-05-01"
    fetch(path, tmp_path / path, sources)
    folder = (tmp_path / path).parent
    assert read_sums(tmp_path / path) == {name: sha256(body) for name, body in parts.items()}
    assert {name: (folder / name).read_bytes() for name in parts} == parts
    assert origin_of(path, tmp_path / path, sources)["dataset"] == "wikipedia-content"
    # A killed fetch has the parts that came before.
    (tmp_path / path).unlink()
    (folder / "lawiki-2026-10-01-p12p99.xml.bz2").unlink()
    internet.asked.clear()
    fetch(path, tmp_path / path, Sources(register, downloads=tmp_path))
    assert [asked.rpartition("/")[2] for asked, _ in internet.asked] == [
        "SHA256SUMS",
        "lawiki-2026-10-01-p12p99.xml.bz2",
    ]
    # A part that is damaged is fetched again.
    (folder / next(iter(parts))).write_bytes(b"damaged")
    fetch(path, tmp_path / path, Sources(register, downloads=tmp_path))
    assert {name: (folder / name).read_bytes() for name in parts} == parts
    # Another release under the same address is no longer the same dataset.
    content_export(internet, "2026-10-01", {**parts, "lawiki-2026-10-01-p100p101.xml.bz2": b"x"})
    (tmp_path / path).unlink()
    (finding,) = check.check([path], [], Sources(register, downloads=tmp_path))
    assert finding.state == "changed"
    with pytest.raises(DataError, match="lists other files than when it was first fetched"):
        fetch(path, tmp_path / path, Sources(register, downloads=tmp_path))


def test_the_parquet_of_a_language_is_listed_by_the_hub(world: Any, tmp_path: Path) -> None:
    register, internet = world
    path = "wikimedia-wikipedia/20231101.la/SHA256SUMS"
    source = register.locate(path)
    names = [f"train-0000{n}-of-00002.parquet" for n in range(2)]
    listed = [
        {"path": f"20231101.la/{name}", "lfs": {"oid": sha256(name.encode()), "size": len(name)}}
        for name in names
    ]
    listed.append({"path": "20231101.la/notes.md", "size": 3})
    body, json_type = json.dumps(listed).encode(), {"Content-Type": "application/json"}
    internet.files[source.url.removeprefix(internet.url)] = Answer(body, headers=json_type)
    for name in names:
        part = register.locate(f"wikimedia-wikipedia/20231101.la/{name}")
        internet.files[part.url.removeprefix(internet.url)] = name.encode()
    sources = Sources(register, downloads=tmp_path)
    (finding,) = check.check([path], [], sources)
    assert (finding.state, finding.size) == ("found", sum(map(len, names)))
    fetch(path, tmp_path / path, sources)
    assert [*read_sums(tmp_path / path)] == names
    assert (tmp_path / path).with_name(names[1]).read_bytes() == names[1].encode()


def test_a_folder_comes_from_the_mirror_with_its_parts(world: Any, tmp_path: Path) -> None:
    register, _ = world
    path = "wikipedia-content/lawiki-20260501/SHA256SUMS"
    folder = (tmp_path / "mirror" / path).parent
    folder.mkdir(parents=True)
    (folder / "a.xml.bz2").write_bytes(b"a")
    (folder / "SHA256SUMS").write_text(f"{sha256(b'a')}  a.xml.bz2\n")
    assert write_manifest(tmp_path / "mirror", register) == 2
    fetch(path, tmp_path / "out" / path, Sources(register, tmp_path / "mirror", offline=True))
    assert sorted(item.name for item in (tmp_path / "out" / path).parent.iterdir()) == [
        "SHA256SUMS",
        "a.xml.bz2",
    ]
    (folder / "a.xml.bz2").unlink()
    lacking = Sources(register, tmp_path / "mirror")
    for call in (
        lambda: check.check([path], [], lacking),
        lambda: require_available([path], lacking),
    ):
        with pytest.raises(DataError, match=r"lawiki-20260501/a\.xml\.bz2 is not there"):
            call()
