"""Bad input from the command line: one sentence with the place, a failure, nothing half-written."""

import bz2
import csv
import gzip
import hashlib
import io
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest

from clone import snakemake
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
GOLD = "gold-alignments/XL-WA/data/ru/test.tsv"
UD_OUT, DUMP_OUT = "data/udpos-train.parquet", "data/wikipedia/es.parquet"
BITEXT_OUT, XNLI_OUT = "data/wikimatrix/ru.parquet", "data/xnli.parquet"
GOLD_OUT = "alignment/wikimatrix/ru.pharaoh"


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """A small miniature, to be used as a mirror."""
    folder = tmp_path_factory.mktemp("mirror") / "mirror"
    sizes = MiniatureSizes(
        wikipedia_pages=5,
        bitext_sentences=60,
        gold_sentences=8,
        ud_train=20,
        ud_dev=2,
        ud_test=2,
        nli_train=30,
        nli_test=12,
    )
    write_miniature(folder, ["en", "es", "ru", "hi"], 1, sizes)
    return folder


def line(number, change):
    """Change one line of a text."""

    def edit(content):
        lines = content.decode().split("\n")
        lines[number - 1] = change(lines[number - 1])
        return "\n".join(lines).encode()

    return edit


def gzipped(edit):
    return lambda content: gzip.compress(edit(gzip.decompress(content)))


def in_zip(member, edit):
    def change(content):
        out = io.BytesIO()
        with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(out, "w") as new:
            for name in old.namelist():
                data = old.read(name)
                if name != member:
                    new.writestr(name, data)
                elif edit is not None:
                    new.writestr(name, edit(data))
        return out.getvalue()

    return change


def word_line(content):
    """Number of the first line of a CoNLL-U file that holds a word."""
    return next(n for n, text in enumerate(content.decode().split("\n"), 1) if text[:2] == "1\t")


def conllu(change):
    def edit(content):
        return line(word_line(content), change)(content)

    return edit


def column(number, value, separator="\t"):
    def change(text):
        cells = text.split(separator)
        cells[number] = value
        return separator.join(cells)

    return change


CASES = {
    "truncated bz2": (DUMP, lambda b: b[: len(b) // 2], DUMP_OUT, ["cut short"]),
    "not bz2 at all": (DUMP, lambda b: b"<html>404</html>", DUMP_OUT, [DUMP]),
    "not MediaWiki": (DUMP, lambda b: bz2.compress(b"<rss></rss>"), DUMP_OUT, ["<mediawiki>"]),
    "empty file": (UD, lambda b: b"", UD_OUT, ["empty"]),
    "not UTF-8": (UD, lambda b: b.replace(b"text = ", b"text = \xff", 1), UD_OUT, ["UTF-8"]),
    "nine columns": (UD, conllu(lambda t: t.rpartition("\t")[0]), UD_OUT, ["line ", "column"]),
    "unknown tag": (UD, conllu(column(3, "NOUNS")), UD_OUT, ["line ", "NOUNS"]),
    "head outside": (UD, conllu(column(6, "99")), UD_OUT, ["line ", "99"]),
    "ids with a gap": (UD, conllu(column(0, "7")), UD_OUT, ["line "]),
    "no such member": (XNLI, in_zip("XNLI-1.0/xnli.test.tsv", None), XNLI_OUT, ["xnli.test.tsv"]),
    "truncated zip": (XNLI, lambda b: b[: len(b) // 2], XNLI_OUT, [XNLI]),
    "unknown label": (
        XNLI,
        in_zip("XNLI-1.0/xnli.test.tsv", line(2, column(1, "maybe"))),
        XNLI_OUT,
        ["line 2", "maybe"],
    ),
    "wrong column count": (
        XNLI,
        in_zip("XNLI-1.0/xnli.test.tsv", line(3, lambda t: t.rpartition("\t")[0])),
        XNLI_OUT,
        ["line 3", "column"],
    ),
    "bitext without a column": (
        BITEXT,
        gzipped(line(2, lambda t: t.rpartition("\t")[0])),
        BITEXT_OUT,
        ["line 2"],
    ),
    "margin is no number": (BITEXT, gzipped(line(1, column(0, "high"))), BITEXT_OUT, ["line 1"]),
    "truncated gzip": (BITEXT, lambda b: b[: len(b) // 2], BITEXT_OUT, ["cut short"]),
    "link outside its sentence": (GOLD, line(1, column(2, "0-99")), GOLD_OUT, ["line 1", "99"]),
}


def rounds():
    """The cases in as few rounds as possible: one of each file, and not both sides of a link."""
    found = []
    for name, (path, *_) in CASES.items():
        others = {GOLD, BITEXT} if path in (GOLD, BITEXT) else {path}
        fitting = (each for each in found if others.isdisjoint(CASES[one][0] for one in each))
        cases = next(fitting, None)
        if cases is None:
            found.append(cases := [])
        cases.append(name)
    return found


@pytest.mark.parametrize("cases", rounds(), ids=", ".join)
def test_bad_upstream_files(repository, world, tmp_path, cases):
    changes = {CASES[case][0]: CASES[case][1] for case in cases}
    targets = [f"results/bad/{CASES[case][2]}" for case in cases]
    mirror = broken(world, tmp_path, changes)
    done = run(repository, tmp_path, targets, mirror, "--keep-going")
    for case, target in zip(cases, targets, strict=True):
        explain(done, [CASES[case][0], *CASES[case][3]])
        assert not (repository / target).exists()
    left = list((repository / "results/bad").rglob("*.partial"))
    assert left == []


def test_wrong_checksum(repository, world, tmp_path):
    mirror = broken(world, tmp_path, {UD: lambda b: b + b"\n"}, listed=False)
    explain(run(repository, tmp_path, f"results/bad/{UD_OUT}", mirror), [UD, "sha256"])


def test_file_that_the_manifest_does_not_list(repository, world, tmp_path):
    mirror = broken(world, tmp_path, {UD: lambda b: b})
    manifest = mirror / "MANIFEST.tsv"
    rows = [row for row in manifest.read_text().splitlines() if not row.startswith(UD)]
    manifest.write_text("\n".join(rows) + "\n")
    explain(run(repository, tmp_path, f"results/bad/{UD_OUT}", mirror), [UD, "MANIFEST.tsv"])


def test_all_missing_files_are_named_at_once_when_offline(repository, tmp_path):
    (tmp_path / "nothing").mkdir()
    (tmp_path / "nothing/MANIFEST.tsv").write_text(
        "path\tbytes\tsha256\tdataset\tsource\tcommit\tlicence\tnote\n"
    )
    done = run(repository, tmp_path, "all", tmp_path / "nothing", settings=["offline=true"])
    explain(done, [UD, DUMP, BITEXT, XNLI, "offline"])


def test_a_target_needs_its_own_files_alone(repository, world, tmp_path):
    mirror, offline = broken(world, tmp_path, {}), ["offline=true"]
    (mirror / XNLI).unlink()
    done = run(repository, tmp_path, f"results/bad/{UD_OUT}", mirror, settings=offline)
    assert done.returncode == 0, done.stdout + done.stderr
    done = run(repository, tmp_path, f"results/bad/{XNLI_OUT}", mirror, settings=offline)
    explain(done, [XNLI, "1 needed file is missing and offline is set"])


def test_what_cannot_be_had_is_named_at_the_end(repository, world, tmp_path):
    mirror = broken(world, tmp_path, {})
    for path in (mirror / "xnli").iterdir():
        path.unlink()
    paper = names()[0]
    target = f"results/bad/tables/{paper}/table2.csv"
    settings = ["offline=true", "without_missing=true", f"papers=[{paper}]"]
    done = run(repository, tmp_path, target, mirror, settings=settings)
    explain(done, [f"Not made: {paper} ", "table2", "offline is set"])
    assert "Running without what needs them" in done.stdout + done.stderr
    with open(repository / "results/bad/not_run.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert {"paper": paper, "artifact": "table2"}.items() <= rows[0].items()
    assert "offline is set" in rows[0]["reason"]  # of the first file that was wanted


def test_another_mirror_fetches_nothing_again(repository, world, tmp_path):
    target = f"results/bad/{UD_OUT}"
    done = run(repository, tmp_path, target, world)
    assert done.returncode == 0, done.stdout + done.stderr
    other = shutil.copytree(world, tmp_path / "other")
    done = run(repository, tmp_path, target, other, wipe=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Nothing to be done" in done.stdout + done.stderr


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
        explain(done, [BITEXT_OUT, "no space left"])
        assert [path.name for path in disk.iterdir()] == ["keeper"]
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_mirror_that_is_not_there(repository, tmp_path):
    explain(run(repository, tmp_path, "all", tmp_path / "absent"), ["absent"])


def broken(world: Path, tmp_path: Path, changes, listed: bool = True) -> Path:
    """Copy the mirror by links, change some files, and list their new checksums in the manifest."""
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
        if listed:
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
    output = done.stdout + done.stderr
    assert done.returncode != 0
    assert "Traceback" not in output
    found = [text for text in output.splitlines() if all(part in text for part in sentences)]
    assert found, output[-3000:]
    assert any(text.rstrip().endswith(".") for text in found), found
