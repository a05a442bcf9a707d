"""LAS and UAS against the shared task's official script, on real treebanks and miniature's."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from udtools.udeval import evaluate, load_conllu_file

from mbert_atlas.analysis.scores import attachment_counts, right_arcs, select
from mbert_atlas.analysis.transfer import measure_transfer
from mbert_atlas.cells import Cell
from mbert_atlas.corpora.lines import numbered_lines
from mbert_atlas.corpora.universal_dependencies import RELATIONS, Sentence, parse_conllu
from mbert_atlas.files import write_parquet
from mbert_atlas.schemas import TREE_PREDICTIONS
from mbert_atlas.tasks.arborescences import best_trees

MIRROR = os.environ.get("MBERT_ATLAS_MIRROR")
TREEBANKS = ["English-PUD", "Chinese-PUD", "Turkish-PUD", "French-GSD", "Arabic-PUD"]


def treebank(name: str) -> list[Sentence]:
    (path,) = Path(str(MIRROR), f"universal-dependencies/UD_{name}").glob("*-ud-test.conllu*")
    return list(parse_conllu(numbered_lines(path), path))[:400]


def perturbed(sentences: list[Sentence], share: float, seed: int = 0) -> list[Sentence]:
    """Trees, some of whose heads and relations are changed."""
    random, found = np.random.default_rng(seed), []
    for gold in sentences:
        count = len(gold.forms)
        scores = random.random((1, count + 1, count + 1))
        kept = random.random(count) >= share
        scores[0, np.arange(1, count + 1)[kept], np.array(gold.heads)[kept]] += 9
        heads = best_trees(scores, np.ones((1, count + 1), dtype=bool))[0, 1:].tolist()
        relations = [
            relation if random.random() >= share else f"{random.choice(RELATIONS)}:x"
            for relation in gold.deprels
        ]
        found.append(Sentence(0, gold.comments, gold.forms, gold.upos, heads, relations))
    return found


def table_of(gold: list[Sentence], system: list[Sentence], language: str = "xx") -> pa.Table:
    columns = {
        "dataset": ["ud"] * len(gold),
        "language": [language] * len(gold),
        "example_id": [f"{number:04}" for number in range(len(gold))],
        "gold_heads": [sentence.heads for sentence in gold],
        "predicted_heads": [sentence.heads for sentence in system],
        "gold_relations": [sentence.deprels for sentence in gold],
        "predicted_relations": [sentence.deprels for sentence in system],
    }
    return pa.table(columns, schema=TREE_PREDICTIONS)


def official(path: Path, sentences: list[Sentence]):
    """Write a CoNLL-U file for the official script and let it read that."""
    with path.open("w", encoding="utf-8") as stream:
        for own in sentences:
            words = zip(own.forms, own.heads, own.deprels, strict=True)
            for number, (form, head, relation) in enumerate(words, 1):
                stream.write(f"{number}\t{form}\t_\t_\t_\t_\t{head}\t{relation}\t_\t_\n")
            stream.write("\n")
    return load_conllu_file(str(path))


@pytest.mark.skipif(not MIRROR, reason="MBERT_ATLAS_MIRROR is not set")
@pytest.mark.parametrize("name", TREEBANKS)
@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 1.0])
def test_scores_are_those_of_the_official_script(tmp_path, name, share):
    gold = treebank(name)
    system = perturbed(gold, share)
    table = table_of(gold, system)
    las, uas, words = attachment_counts(table).sum(axis=0)
    scores = evaluate(official(tmp_path / "g", gold), official(tmp_path / "s", system))
    assert (scores["LAS"].correct, scores["UAS"].correct) == (las, uas)
    assert scores["LAS"].gold_total == words
    for labelled, metric in ((True, "LAS"), (False, "UAS")):
        keys, right = right_arcs(table, labelled=labelled)
        assert right.mean() == scores[metric].f1
        assert len(set(keys)) == words
    assert (share > 0) == (las < words)


SENTENCES = [
    Sentence(1, {}, ["a", "b", "."], ["X"] * 3, [2, 0, 2], ["nmod:poss", "root", "punct"]),
    Sentence(5, {}, ["c"], ["X"], [0], ["root"]),
]


def test_words_and_subtypes_by_hand():
    system = [
        Sentence(1, {}, ["a", "b", "."], ["X"] * 3, [2, 0, 1], ["nmod", "dep", "punct"]),
        Sentence(5, {}, ["c"], ["X"], [-1], [""]),
    ]
    table = table_of(SENTENCES, system)
    assert attachment_counts(table).tolist() == [[1, 2, 3], [0, 0, 1]]
    backwards = select(table.take([1, 0]))
    keys, right = right_arcs(backwards, labelled=True)
    assert keys == ["0000\t0", "0000\t1", "0000\t2", "0001\t0"]
    assert right.tolist() == [1, 0, 0, 0]
    assert right_arcs(backwards, labelled=False)[1].tolist() == [1, 1, 0, 0]


def test_transfer_is_measured_by_las_and_uas(tmp_path):
    wrong = Sentence(1, {}, ["a", "b", "."], ["X"] * 3, [2, 0, 2], ["obj", "root", "punct"])
    cells = []
    for condition, first in (("original", wrong), ("changed", SENTENCES[0])):
        path = tmp_path / f"{condition}.parquet"
        write_parquet(table_of(SENTENCES, [first, SENTENCES[1]], "ru"), path)
        place = ("parse", "parsing", "ud", "en", "ru", condition, "published", 1)
        cells.append(Cell(*place, str(path)))
    frame = pd.DataFrame(measure_transfer(cells, gains_over="original"))
    value = frame.set_index(["condition", "metric"])["value"]
    assert value["original", "las"] == 75
    assert value["original", "uas"] == value["changed", "las"] == 100
    assert value["changed", "gain_over_original"] == 25
    assert frame["n"].eq(4).all()
