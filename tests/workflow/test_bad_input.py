"""Bad input from the command line: one sentence with the place, a failure, nothing half-written."""

import csv
import hashlib
import io
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest

from clone import TINY_SIZES, failed, said, snakemake, succeeded
from mbert_atlas.config.miniature import MiniatureSizes
from mbert_atlas.miniature.writing import write_miniature
from mbert_atlas.papers import names

pytestmark = pytest.mark.workflow
OVERLAY = """
run: bad
miniature: null
downloads: results/bad/downloads
"""
UD = "universal-dependencies/UD_English-Miniature/en_miniature-ud-train.conllu"
DUMP = "wikipedia/eswiki-20200420-pages-articles.xml.bz2"
BITEXT = "wikimatrix/WikiMatrix.en-ru.tsv.gz"
XNLI = "xnli/XNLI-1.0.zip"
UD_OUT, DUMP_OUT = "data/udpos-train.parquet", "data/wikipedia/es.parquet"
BITEXT_OUT, XNLI_OUT = "data/wikimatrix/ru.parquet", "data/xnli.parquet"


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """A small miniature, to be used as a mirror."""
    folder = tmp_path_factory.mktemp("mirror") / "mirror"
    write_miniature(folder, ["en", "es", "ru", "hi"], 1, MiniatureSizes(**TINY_SIZES))
    return folder


def with_unknown_label(content):
    """The zip file of XNLI whose first example has a label that does not exist."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(out, "w") as new:
        for name in old.namelist():
            data = old.read(name)
            if name.endswith("xnli.test.tsv"):
                header, first, *rest = data.decode().split("\n")
                language, _, *cells = first.split("\t")
                first = "\t".join([language, "maybe", *cells])
                data = "\n".join([header, first, *rest]).encode()
            new.writestr(name, data)
    return out.getvalue()


# By file: its change, the target, and what the message says; each reader has unit tests.
CASES = {
    DUMP: (lambda content: content[: len(content) // 2], DUMP_OUT, ["cut short"]),
    UD: (lambda content: content.replace(b"\t_\n", b"\n", 1), UD_OUT, ["line ", "column"]),
    XNLI: (with_unknown_label, XNLI_OUT, ["line 2", "maybe"]),
    BITEXT: (lambda content: content + b"\n", BITEXT_OUT, ["sha256"]),  # not listed
}


def test_bad_upstream_files(repository, world, tmp_path):
    changes = {path: change for path, (change, *_) in CASES.items()}
    targets = [f"results/bad/{target}" for _, target, _ in CASES.values()]
    mirror = broken(world, tmp_path, changes, unlisted=BITEXT)
    done = run(repository, tmp_path, targets, mirror, "--keep-going")
    for path, (_, target, parts) in CASES.items():
        explain(done, [path, *parts])
        assert not (repository / "results/bad" / target).exists()
    assert list((repository / "results/bad").rglob("*.partial")) == []


def test_all_missing_files_are_named_at_once_when_offline(repository, tmp_path):
    (tmp_path / "nothing").mkdir()
    (tmp_path / "nothing/MANIFEST.tsv").write_text(
        "path\tbytes\tsha256\tdataset\tsource\tcommit\tlicence\tnote\n"
    )
    done = run(repository, tmp_path, "all", tmp_path / "nothing", settings=["offline=true"])
    assert "needed files are missing and offline is set; run the target `fetch`" in failed(done)
    lines = failed(done).splitlines()  # one for each file
    for file in (UD, DUMP, BITEXT, XNLI):
        assert [line for line in lines if line.startswith(f"    {file} (")]


def test_a_target_needs_its_own_files_alone_and_fetches_them_once(repository, world, tmp_path):
    mirror, offline = broken(world, tmp_path, {}), ["offline=true"]
    (mirror / XNLI).unlink()
    done = run(repository, tmp_path, f"results/bad/{UD_OUT}", mirror, settings=offline)
    succeeded(done)
    done = run(repository, tmp_path, f"results/bad/{UD_OUT}", world, wipe=False)  # another mirror
    assert "Nothing to be done" in succeeded(done)
    done = run(repository, tmp_path, f"results/bad/{XNLI_OUT}", mirror, settings=offline)
    explain(done, [XNLI, "1 needed file is missing and offline is set"])


def test_what_cannot_be_had_is_named_at_the_end(repository, world, tmp_path):
    mirror = broken(world, tmp_path, {})
    for path in (mirror / "xnli").iterdir():
        path.unlink()
    paper = names()[0]
    target = f"results/bad/tables/{paper}/table2.csv"
    settings = ["offline=true", "without_missing=true", f"papers=[{paper}]"]
    settings += ["alignment={held_out: 9}", "runs={adjusted: {published: {sentences: 9}}}"]
    done = run(repository, tmp_path, target, mirror, settings=settings)
    explain(done, [f"Not made: {paper} ", "table2", "offline is set"])
    assert "Running without what needs them" in said(done)
    with open(repository / "results/bad/not_run.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert {"paper": paper, "artifact": "table2"}.items() <= rows[0].items()
    assert "offline is set" in rows[0]["reason"]  # of the first file that was wanted


def test_disk_that_fills_up_in_mid_write(repository, world, tmp_path):
    disk = repository / "results/bad/data/wikimatrix"
    run(repository, tmp_path, f"results/bad/{BITEXT_OUT}", world)  # removes existing outputs
    shutil.rmtree(disk)
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=4k", "tmpfs", str(disk)]
    if subprocess.run(mount, capture_output=True).returncode != 0:
        pytest.skip("no right to mount a small disk")
    try:
        (disk / "keeper").touch()  # Snakemake removes empty folders, and can't remove this one
        done = run(repository, tmp_path, f"results/bad/{BITEXT_OUT}", world, wipe=False)
        explain(done, ["data/wikimatrix: no space left"])
        assert [path.name for path in disk.iterdir()] == ["keeper"]
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def broken(world: Path, tmp_path: Path, changes, unlisted: str = "") -> Path:
    """Copy the mirror by links, change some files, and list the new checksums of all but one."""
    mirror = tmp_path / "mirror"
    for item in world.rglob("*"):
        if item.is_file():
            copy = mirror / item.relative_to(world)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.symlink_to(item)
    manifest = (world / "MANIFEST.tsv").read_text()
    for path, change in changes.items():
        before = (world / path).read_bytes()
        content = change(before)
        (mirror / path).unlink()
        (mirror / path).write_bytes(content)
        if path != unlisted:
            old, new = (hashlib.sha256(data).hexdigest() for data in (before, content))
            assert old in manifest
            manifest = manifest.replace(
                f"{path}\t{len(before)}\t{old}", f"{path}\t{len(content)}\t{new}"
            )
    (mirror / "MANIFEST.tsv").unlink()
    (mirror / "MANIFEST.tsv").write_text(manifest)
    return mirror


def run(repository, tmp_path, targets, mirror, *options, settings=(), wipe=True):
    """Run with a mirror, from scratch unless told otherwise; returns the finished process."""
    if wipe:
        shutil.rmtree(repository / "results/bad", ignore_errors=True)
    overlay = tmp_path / "bad.yaml"
    overlay.write_text(OVERLAY)
    configs = ["--configfile", "config/demo.yaml", str(overlay)]
    configs += ["--config", f"mirror={mirror}", *settings]
    wanted = [targets] if isinstance(targets, str) else targets
    return snakemake(repository, *wanted, "--cores", "1", "--retries", "0", *options, *configs)


def explain(done, sentences):
    """One line of the output holds all of ``sentences``; no traceback, and a failure."""
    output = failed(done)
    assert "CalledProcessError" not in output
    found = [text for text in output.splitlines() if all(part in text for part in sentences)]
    assert found, output[-3000:]
    assert any(text.rstrip().endswith(".") for text in found), found
