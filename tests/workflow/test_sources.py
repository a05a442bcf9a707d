"""The first commands on the internet: check, fetch, read; the internet is a loopback server."""

import bz2
import hashlib
import json
from pathlib import Path

import pytest

from clone import copy_repository, failed, said, snakemake, succeeded

pytestmark = pytest.mark.workflow
OVERLAY = """
run: first
papers: []
contact: someone@example.org
datasets:
  wikipedia: {languages: [ru, la], minimum_characters: 20}
  xnli: {languages: [en]}
"""
DUMP = """<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.10/">
<page><title>Море</title><ns>0</ns><id>1</id><revision><id>1</id>
<text>Море — часть Мирового океана, обособленная сушей.</text></revision></page></mediawiki>"""
NAME = "ruwiki-{}-pages-articles.xml.bz2"
PATH = f"wikipedia/{NAME.format(20210420)}"


@pytest.fixture
def clone(internet, tmp_path, monkeypatch):
    """A copy of the repository whose sources are on the loopback server."""
    folder = copy_repository(tmp_path / "clone")
    register = folder / "resources/sources.yaml"
    register.write_text(internet.redirect(register.read_text("utf-8")), "utf-8")
    (folder / "mine.yaml").write_text(OVERLAY)
    dump = bz2.compress(DUMP.encode())
    item = {"name": NAME.format(20210501), "size": str(len(dump))}
    item["md5"] = hashlib.md5(dump).hexdigest()
    archive = "/archive.org/{}/ruwiki-20210501"
    internet.files = {
        archive.format("metadata"): json.dumps({"files": [item]}).encode(),
        f"{archive.format('download')}/{item['name']}": dump,
    }
    monkeypatch.setenv("HF_ENDPOINT", f"{internet.url}/huggingface.co")
    search = b'{"response": {"docs": [{"identifier": "ruwiki-20210501"}]}}'
    internet.others = lambda path, headers: (
        b"{}" if "/metadata/" in path else search if "identifier:ruwiki" in path else None
    )
    return folder


def run(folder: Path, target: str, *options: str):
    arguments = ["--cores", "1", "--configfile", "mine.yaml", *options, "--", target]
    return snakemake(folder, *arguments)


def test_check_fetch_and_read(clone, internet):
    output = failed(run(clone, "check_sources"))
    assert "the dump of 2021-05-01, as there is none of 2021-04-20" in output
    assert "there is no dump of 2021-04-20 or near it" in output
    assert "missing       xnli/XNLI-1.0.zip" in output
    assert "cannot be had, see above" in output
    assert "mbert-atlas/1.0.0 (someone@example.org)" in internet.agents
    assert not (clone / "resources/downloads").exists()

    output = failed(run(clone, "fetch"))
    assert output.index("sources: ") < output.index("downloading wikipedia/ruwiki")
    assert "could not be fetched:" in output
    downloads = clone / "resources/downloads"
    assert [path.name for path in (downloads / "wikipedia").iterdir()] == [Path(PATH).name]
    locked = (downloads / "sources.lock").read_text()
    assert f"{PATH}\t" in locked
    assert "ruwiki-20210501/" in locked

    succeeded(run(clone, "results/first/data/wikipedia/ru.parquet"))
    card = json.loads((clone / "results/first/data/wikipedia/ru.card.json").read_text())
    assert card["counts"]["paragraphs"] == 1
    assert card["read_from"][0].endswith(", dump of 2021-05-01, the nearest to 2021-04-20")

    # What changed since is named at the next start, before any job.
    (downloads / PATH).write_bytes(bz2.compress(DUMP.encode() * 2))
    output = said(run(clone, "results/first/data/wikipedia/ru.parquet", "--forceall"))
    assert "sources.lock: changed since they were fetched" in output
    failed(run(clone, "fetch"))  # which lacks the others
    assert (downloads / PATH).read_bytes() == bz2.compress(DUMP.encode())


def test_exact_refuses_another_date(clone):
    (clone / "mine.yaml").write_text(OVERLAY.replace("20}", "20, exact: true}"))
    output = failed(run(clone, "check_sources"))
    assert "there is no dump of 2021-04-20; set `exact: false`" in output
    target = "results/first/data/wikipedia/ru.parquet"
    output = failed(run(clone, target, "--retries", "0"))
    assert "there is no dump of 2021-04-20; set `exact: false`" in output
