import math
import os
import re
import sys
import zipfile
from collections import defaultdict
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import digamma
from toy_tables import write_bitext

from mbert_atlas.alignment import ALIGNERS, diagonal
from mbert_atlas.alignment.bitext import align
from mbert_atlas.alignment.links import read_pharaoh
from mbert_atlas.arrays import Ragged
from mbert_atlas.config.alignment import Alignment
from mbert_atlas.corpora.gold_alignment import read_gold
from mbert_atlas.errors import AtlasError, DataError


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


def as_set(links):
    return set(zip(links.row.tolist(), links.source.tolist(), links.target.tolist(), strict=True))


def ids_of(rows):
    ids = []
    for side in (0, 1):
        names = {}
        words = [[names.setdefault(word, len(names)) for word in row[side]] for row in rows]
        ids.append(Ragged.from_rows(words, np.int64))
    return ids


def grid_of(rows):
    return diagonal.build_grid(*ids_of(rows))


def installed(aligner):
    """The name of an aligner as a parameter, skipped with the reason where it is not installed."""
    try:
        ALIGNERS.load(aligner).version(None)
    except DataError as error:
        return pytest.param(aligner, marks=pytest.mark.skip(str(error)))
    return aligner


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
    one, two = (diagonal.align_both(*ids_of(rows), threads=number) for number in (1, 2))
    assert [as_set(links) for links in one] == [as_set(links) for links in two]
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


@pytest.mark.parametrize("aligner", ["builtin", installed("fast_align"), installed("eflomal")])
def test_alignment_of_a_bitext_with_known_links(tmp_path, aligner):
    rows = translated(600)
    rows[3] = ([], ["t1"], frozenset())
    gold = [
        SimpleNamespace(source_tokens=source, target_tokens=target, sure=links, possible=links)
        for source, target, links in translated(60, seed=9)
    ]
    bitext = write_bitext(tmp_path / "bitext.parquet", rows)
    options = Alignment(aligner=aligner)
    result = align(bitext, tmp_path / "links", gold=gold, options=options, threads=2)
    again = align(bitext, tmp_path / "again", gold=gold, options=options, threads=1)
    assert result == again
    assert (tmp_path / "links").read_bytes() == (tmp_path / "again").read_bytes()
    assert result["aligner"] == aligner
    assert {"builtin": "mbert-atlas", "eflomal": "sil-thot"}.get(aligner, aligner) in result[
        "version"
    ]
    links = read_pharaoh(tmp_path / "links")
    assert 3 not in links.row
    truth = {(row, *link) for row, (_, _, links) in enumerate(rows) for link in links}
    assert len(as_set(links) & truth) / len(links) > 0.9
    assert (result["symmetrisation"], result["bitext_links"]) == ("intersection", len(links))
    assert (result["sentences"], result["bitext_sentences"]) == (60, 600)
    assert result["aer"] < 0.15
    scores = result["by_symmetrisation"]
    assert scores["intersection"]["aer"] == result["aer"]
    recall = {how: values["recall"] for how, values in scores.items()}
    assert recall["union"] >= max(recall.values())
    # No word of the translations is spelled as in the original, and few are linked twice.
    assert 0.9 * result["links"] < result["pairs"] <= result["links"]
    assert result["pairs_right"] > 0.9


@pytest.mark.parametrize("aligner", [installed("fast_align")])
def test_the_program_and_its_model_in_numpy_agree(tmp_path, aligner):
    bitext = write_bitext(tmp_path / "bitext.parquet", translated(1000, words=400))
    for name in ("builtin", aligner):
        align(bitext, tmp_path / name, options=Alignment(aligner=name, symmetrisation="union"))
    one, two = (as_set(read_pharaoh(tmp_path / name)) for name in ("builtin", aligner))
    assert len(one & two) > 0.999 * len(one | two)


@pytest.mark.parametrize(
    ("program", "error"),
    [
        ("exit 3", "exit status 3, oh no; is this fast_align"),
        ("true", "0 lines of links came back for 6 sentence pairs"),
        ("kill -9 $$", "was ended by signal 9"),
    ],
)
def test_a_program_that_is_not_fast_align(tmp_path, program, error):
    path = tmp_path / "program"
    path.write_text(f"#!/bin/sh\necho oh no >&2\n{program}\n")
    path.chmod(0o755)
    options = Alignment(aligner="fast_align", program=str(path))
    bitext = write_bitext(tmp_path / "bitext.parquet", translated(6))
    with pytest.raises(AtlasError, match=re.escape(error)):
        align(bitext, tmp_path / "links", options=options)


def test_a_program_that_is_missing(tmp_path):
    options = Alignment(aligner="fast_align", program=str(tmp_path / "absent"))
    with pytest.raises(DataError, match=r"key alignment.program: \S+/absent is no program; build"):
        align("bitext.parquet", tmp_path / "links", options=options)


def test_a_wheel_that_is_missing(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "thot.alignment", None)
    with pytest.raises(DataError, match=r"eflomal needs the package sil-thot.* Linux on x86-64"):
        align("bitext.parquet", tmp_path / "links", options=Alignment(aligner="eflomal"))


def test_long_lines_have_no_links_and_no_part_in_the_estimation(tmp_path):
    rows = translated(400)
    rows[5] = rows[5][0] * 30, rows[5][1], None
    few = write_bitext(tmp_path / "few", [*rows[:5], ([], [], None), *rows[6:]])
    expected = align(few, tmp_path / "expected")
    bitext = write_bitext(tmp_path / "all", rows)
    result = align(bitext, tmp_path / "links", options=Alignment(longest_line=20))
    assert (tmp_path / "links").read_bytes() == (tmp_path / "expected").read_bytes()
    assert result["dropped"]["lines longer than 20 words"] == 1
    assert expected["dropped"] == {
        "lines longer than 250 words": 0,
        "lines with an empty side": 1,
    }
    with pytest.raises(DataError, match="no line has 1 to 20 words on both sides"):
        align(
            write_bitext(tmp_path / "x", rows[5:6]),
            tmp_path / "links",
            options=Alignment(longest_line=20),
        )


def test_words_that_look_like_separators(tmp_path):
    odd = ["|||", "a b", "", "<eps>", "\t", "0", "\N{NO-BREAK SPACE}"]
    rows = [(odd, odd, None), *[([word], [word], None) for word in odd] * 3]
    assert "aer" not in align(write_bitext(tmp_path / "bitext", rows), tmp_path / "links")
    first = (tmp_path / "links").read_text().split("\n")[0]
    assert first == " ".join(f"{i}-{i}" for i in range(len(odd)))


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
