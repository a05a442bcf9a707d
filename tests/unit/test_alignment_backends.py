import json
import math
import os
import re
import shutil
import subprocess
import zipfile
from collections import defaultdict
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
from scipy.special import digamma

from mbert_atlas.alignment import diagonal, systran
from mbert_atlas.alignment.backends import align, one_to_one, symmetrise
from mbert_atlas.alignment.pharaoh import Links, read_pharaoh, write_pharaoh
from mbert_atlas.arrays import Ragged
from mbert_atlas.corpora.gold_alignment import read_gold
from mbert_atlas.errors import AtlasError, DataError
from mbert_atlas.files import write_parquet
from mbert_atlas.schemas import BITEXT


def translated(sentences, words=60, seed=0):
    """Sentences of Zipfian words, their translation word by word, words dropped and exchanged."""
    random = np.random.default_rng(seed)
    weights = 1 / np.arange(1, words + 1)
    rows = []
    for _ in range(sentences):
        source = random.choice(words, random.integers(1, 12), p=weights / weights.sum())
        order = np.arange(len(source)) + random.normal(0, 0.7, len(source))
        target = [(place, f"t{source[place]}") for place in np.argsort(order)]
        target = [pair for pair in target if random.random() > 0.1] or target[:1]
        links = frozenset((int(i), j) for j, (i, _) in enumerate(target))
        rows.append(([f"s{word}" for word in source], [word for _, word in target], links))
    return rows


def write_bitext(path, rows):
    columns = {
        "id": [str(number) for number in range(len(rows))],
        "source_tokens": [row[0] for row in rows],
        "target_tokens": [row[1] for row in rows],
        "score": pa.nulls(len(rows), pa.float32()),
    }
    write_parquet(pa.table(columns, schema=BITEXT), path)
    return path


def gold_of(rows):
    return [
        SimpleNamespace(source_tokens=row[0], target_tokens=row[1], sure=row[2], possible=row[2])
        for row in rows
    ]


def as_set(links):
    return set(zip(links.row.tolist(), links.source.tolist(), links.target.tolist(), strict=True))


def grid_of(rows):
    ids = []
    for side in (0, 1):
        names = {}
        ids.append([[names.setdefault(word, len(names)) for word in row[side]] for row in rows])
        ids.append(len(names))
    return diagonal.build_grid(
        Ragged.from_rows(ids[0], np.int64), Ragged.from_rows(ids[2], np.int64), ids[1], ids[3]
    )


def fast_align_in_loops(pairs):
    """fast_align's published algorithm, word by word; returns links and the tension.

    Args:
        pairs: (conditioning words, generated words) of each sentence.
    """

    def z(i, m, n, tension):
        def weight(j):
            return math.exp(-tension * abs(j / n - i / m))

        split = i * n / m
        below, ratio = int(split), math.exp(-tension / n)
        above = (n - below) % 2**32
        total = weight(below + 1) * (1 - ratio**above) / (1 - ratio) if above else 0.0
        return total + (weight(below) * (1 - ratio**below) / (1 - ratio) if below else 0.0)

    def slope(i, m, n, tension):
        features = [-abs(j / n - i / m) for j in range(1, n + 1)]
        return sum(f * math.exp(tension * f) for f in features) / z(i, n, m, tension)

    table = None
    tension, null = 4.0, 0.08
    words = sum(len(generated) for _, generated in pairs)
    for iteration in range(5):
        counts = defaultdict(lambda: defaultdict(float))
        feature, links = 0.0, set()
        for row, (given, generated) in enumerate(pairs):
            n, m = len(given), len(generated)
            for g, word in enumerate(generated):
                distances = [abs((c + 1) / n - (g + 1) / m) for c in range(n)]
                weights = [math.exp(-tension * distance) for distance in distances]
                prior = [null] + [(1 - null) * weight / sum(weights) for weight in weights]
                names = [None, *given]
                p = [
                    prior[k] * (table[names[k]][word] if table else 1.0) for k in range(len(names))
                ]
                best = max(range(len(p)), key=lambda k: (p[k], -k))
                if best:
                    links.add((row, best - 1, g))
                for k, name in enumerate(names):
                    counts[name][word] += p[k] / sum(p)
                    if k:
                        feature -= abs(k / n - g / m) * p[k] / sum(p)
        if iteration == 4:
            return links, tension
        if iteration > 0:
            for _ in range(8):
                expected = sum(
                    slope(g, len(generated), len(given), tension)
                    for given, generated in pairs
                    for g in range(1, len(generated) + 1)
                )
                tension += (feature - expected) / words * 20
                tension = min(max(tension, 0.1), 14.0)
        table = {
            given: {
                word: math.exp(digamma(count + 0.01) - digamma(sum(row.values()) + 0.01 * len(row)))
                for word, count in row.items()
            }
            for given, row in counts.items()
        }


@pytest.mark.parametrize("reverse", [False, True])
def test_the_model_equals_loops_over_words(reverse):
    rows = translated(60, words=25)
    grid = grid_of(rows)
    model = diagonal.estimate(grid, reverse)
    links = diagonal.align_by(grid, model, reverse)
    sides = (1, 0) if reverse else (0, 1)
    expected, tension = fast_align_in_loops([(row[sides[0]], row[sides[1]]) for row in rows])
    if reverse:
        expected = {(row, g, c) for row, c, g in expected}
    assert model.tension == pytest.approx(tension, rel=1e-9)
    assert as_set(links) == expected


def test_neither_blocks_nor_threads_change_the_model(monkeypatch):
    rows = translated(300)
    grid = grid_of(rows)
    expected = [as_set(links) for links in diagonal.align_both(grid, threads=1)]
    assert [as_set(links) for links in diagonal.align_both(grid, threads=2)] == expected
    monkeypatch.setattr(diagonal, "_BLOCK_CELLS", 40)
    monkeypatch.setattr(diagonal, "_CHUNK_CELLS", 500)
    small = grid_of(rows)
    assert len(small.blocks) > len(grid.blocks)
    models = []
    for one in (grid, small):
        assert not np.any(np.diff(np.sort(one.pair_source * 1000 + one.pair_target)) == 0)
        model = diagonal.estimate(one, reverse=False)
        order = np.lexsort((one.pair_target, one.pair_source))
        models.append([*model.pair[order], *model.null, model.tension])
    np.testing.assert_allclose(models[0], models[1], rtol=1e-9)


def test_merging_equals_set_operations():
    random = np.random.default_rng(1)

    def some():
        flat = np.unique(random.integers(0, [6, 8, 8], (30, 3)), axis=0)
        return Links(flat[:, 0], flat[:, 1].astype(np.int32), flat[:, 2].astype(np.int32), 6)

    forward, reverse = some(), some()
    first, second = as_set(forward), as_set(reverse)
    union = first | second
    assert as_set(symmetrise(forward, reverse, "intersection")) == first & second
    assert as_set(symmetrise(forward, reverse, "union")) == union
    alone = {
        (r, i, j)
        for r, i, j in union
        if sum((r, i) == (a, b) for a, b, _ in union) == 1
        and sum((r, j) == (a, c) for a, _, c in union) == 1
    }
    assert alone
    assert as_set(symmetrise(forward, reverse, "one_to_one")) == alone
    assert as_set(one_to_one(symmetrise(forward, reverse, "union"))) == alone


def test_alignment_of_a_bitext_with_known_links(tmp_path):
    rows = translated(1500)
    rows[3] = ([], ["t1"], frozenset())
    gold = translated(100, seed=9)
    bitext = write_bitext(tmp_path / "bitext.parquet", rows)
    output, scores = tmp_path / "links.pharaoh", tmp_path / "scores.json"
    result = align(bitext, output, gold=gold_of(gold), scores=scores, threads=2)
    links = read_pharaoh(output, len(rows))
    assert 3 not in links.row
    truth = {(row, *link) for row, (_, _, links) in enumerate(rows) for link in links}
    assert len(as_set(links) & truth) / len(links) > 0.9
    assert result == json.loads(scores.read_text())
    assert result["bitext_links"] == len(links)
    assert result["sentences"] == 100
    assert result["aer"] < 0.15
    assert result["by_symmetrisation"]["intersection"]["aer"] == result["aer"]
    assert (
        result["by_symmetrisation"]["union"]["recall"]
        >= result["recall"]
        >= result["by_symmetrisation"]["one_to_one"]["recall"]
    )


def test_without_gold_there_is_no_score(tmp_path):
    bitext = write_bitext(tmp_path / "bitext.parquet", translated(50))
    result = align(bitext, tmp_path / "links", symmetrisation="union")
    assert result["aer"] is None
    assert result["symmetrisation"] == "union"


def test_words_that_look_like_separators(tmp_path):
    odd = ["|||", "a b", "", "<eps>", "\t", "0", "\N{NO-BREAK SPACE}"]
    rows = [(odd, odd, None), *[([word], [word], None) for word in odd] * 3]
    for backend in ("numpy", *(["systran"] if find_spec("systran_align") else [])):
        align(write_bitext(tmp_path / "b", rows), tmp_path / backend, backend=backend)
        first = (tmp_path / backend).read_text().split("\n")[0]
        assert first == " ".join(f"{i}-{i}" for i in range(len(odd)))


def test_nothing_to_align(tmp_path):
    bitext = write_bitext(tmp_path / "bitext.parquet", [([], ["a"], None), (["b"], [], None)])
    with pytest.raises(DataError, match="no sentence pair has words on both sides"):
        align(bitext, tmp_path / "links")
    assert os.listdir(tmp_path) == ["bitext.parquet"]


@pytest.mark.skipif(find_spec("systran_align") is None, reason="systran-align is not installed")
@pytest.mark.parametrize("how", ["intersection", "one_to_one", "union"])
def test_the_wheel_gives_the_same_links(tmp_path, how):
    bitext = write_bitext(tmp_path / "bitext.parquet", translated(600))
    sets = []
    for backend in ("numpy", "systran"):
        align(bitext, tmp_path / backend, backend=backend, symmetrisation=how)
        sets.append(as_set(read_pharaoh(tmp_path / backend)))
    assert len(sets[0] & sets[1]) > 0.995 * len(sets[0] | sets[1])


def test_the_wheel_is_missing(tmp_path, monkeypatch):
    monkeypatch.setattr(systran, "find_spec", lambda name: None)
    bitext = write_bitext(tmp_path / "bitext.parquet", translated(5))
    with pytest.raises(AtlasError, match=r"install systran-align==3\.5\.0 or use the default"):
        align(bitext, tmp_path / "links", backend="systran")


@pytest.mark.skipif(find_spec("systran_align") is None, reason="systran-align is not installed")
def test_another_version_of_the_wheel(tmp_path, monkeypatch):
    bitext = write_bitext(tmp_path / "bitext.parquet", translated(5))
    silent = systran._TRAIN_WITH_WHEEL.replace("verbose=True", "verbose=False")
    monkeypatch.setattr(systran, "_TRAIN_WITH_WHEEL", silent)
    with pytest.raises(AtlasError, match="did not report its tension"):
        align(bitext, tmp_path / "links", backend="systran")


def test_no_fast_align_on_path(tmp_path):
    bitext = write_bitext(tmp_path / "bitext.parquet", translated(5))
    with pytest.raises(AtlasError, match="no conda package of fast_align exists") as caught:
        align(bitext, tmp_path / "links", backend="fast_align", program="no-such-program")
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "links").exists()


def program(path, body):
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


def test_fast_align_is_called_with_its_flags(tmp_path):
    bitext = write_bitext(
        tmp_path / "bitext.parquet",
        [(["a", "b"], ["x"], None), ([], ["x"], None), (["b"], ["x", "y"], None)],
    )
    log = tmp_path / "log"
    fake = program(
        tmp_path / "fast_align",
        f'echo "$OMP_NUM_THREADS $@" >> {log}; cat "$2" >> {log}; echo "0-0 1-0"; echo 0-0',
    )
    align(bitext, tmp_path / "links", backend="fast_align", program=fake, threads=3)
    text = log.read_text()
    assert re.findall(r"^3 -i \S+ -d -o -v(?: -r)?$", text, re.M)
    assert re.findall(r"-d -o -v( -r)?\n", text) == ["", " -r"]
    assert text.count("0 1 ||| 0\n1 ||| 0 1\n") == 2
    assert (tmp_path / "links").read_text() == "0-0 1-0\n\n0-0\n"


def test_fast_align_fails(tmp_path):
    bitext = write_bitext(tmp_path / "bitext.parquet", translated(5))
    fake = program(tmp_path / "fast_align", "echo first >&2; echo no memory >&2; exit 3")
    with pytest.raises(AtlasError, match=r"ended with status 3 \(no memory\)"):
        align(bitext, tmp_path / "links", backend="fast_align", program=fake)
    assert not (tmp_path / "links").exists()


@pytest.mark.skipif(shutil.which("fast_align") is None, reason="no fast_align on PATH")
def test_the_binary_gives_the_same_links(tmp_path):
    bitext = write_bitext(tmp_path / "bitext.parquet", translated(600))
    sets = []
    for backend in ("numpy", "fast_align"):
        align(bitext, tmp_path / backend, backend=backend)
        sets.append(as_set(read_pharaoh(tmp_path / backend)))
    assert len(sets[0] & sets[1]) > 0.995 * len(sets[0] | sets[1])


@pytest.mark.skipif(shutil.which("atools") is None, reason="no atools on PATH")
@pytest.mark.parametrize(("how", "command"), [("intersection", "intersect"), ("union", "union")])
def test_atools_merges_alike(tmp_path, how, command):
    grid = grid_of(translated(300))
    directions = diagonal.align_both(grid)
    for name, links in zip(("forward", "reverse"), directions, strict=True):
        write_pharaoh(links, tmp_path / name)
    arguments = ["-c", command, "-i", tmp_path / "forward", "-j", tmp_path / "reverse"]
    theirs = subprocess.run(["atools", *arguments], capture_output=True, check=True, text=True)
    (tmp_path / "atools").write_text(theirs.stdout)
    ours = symmetrise(*directions, how)
    assert as_set(ours) == as_set(read_pharaoh(tmp_path / "atools"))


@pytest.mark.skipif("MBERT_ATLAS_MIRROR" not in os.environ, reason="MBERT_ATLAS_MIRROR is not set")
def test_error_rate_on_hand_aligned_spanish(tmp_path):
    mirror = Path(os.environ["MBERT_ATLAS_MIRROR"])
    with zipfile.ZipFile(mirror / "tatoeba-manythings" / "spa-eng.zip") as archive:
        name = next(name for name in archive.namelist() if name.endswith("spa.txt"))
        lines = archive.read(name).decode().splitlines()[20_000:60_000]
    split = re.compile(r"\w+|[^\w\s]")
    rows = [[split.findall(side) for side in line.split("\t")[:2]] for line in lines]
    gold = read_gold(mirror / "gold-alignments/XL-WA/data/es/test.tsv", "xlwa")
    bitext = write_bitext(tmp_path / "bitext.parquet", rows)
    result = align(bitext, tmp_path / "links", gold=gold, threads=2)
    assert result["sentences"] == 245
    assert result["aer"] < 0.33
    assert result["precision"] > 0.8
