"""Dependency parsing: encoded trees, the biaffine head, decoding, fine-tuning."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import torch
from tiny_models import finetuned, finetuning_job, make_encoder, make_tokenizer, sentence_table

from mbert_atlas import tasks
from mbert_atlas.analysis.scores import attachment_counts, prediction_scores
from mbert_atlas.arrays import Ragged, load_arrays
from mbert_atlas.config.methods.selection import Selection
from mbert_atlas.config.training import BiaffineOptions, Optimisation
from mbert_atlas.corpora.universal_dependencies import RELATIONS
from mbert_atlas.encoders.wordpiece import train_wordpiece
from mbert_atlas.encoding import encode
from mbert_atlas.encoding.tags import NO_PIECE
from mbert_atlas.errors import AtlasError, DataError
from mbert_atlas.files import read_parquet
from mbert_atlas.miniature.concepts import Sampler
from mbert_atlas.miniature.language import MINIATURE_LANGUAGES
from mbert_atlas.miniature.meanings import draw_meaning
from mbert_atlas.schemas import TREE_PREDICTIONS
from mbert_atlas.tasks.base import save_model
from mbert_atlas.tasks.parsing import BiaffineHead, DependencyParsing
from mbert_atlas.training.job import new_model, store_digest
from mbert_atlas.training.loop import parameter_groups
from mbert_atlas.training.methods.selection import BestEpoch
from mbert_atlas.training.prediction import predict

TASK = DependencyParsing()
FORMS = [["dogs", "sees", "a", "cat"], ["\u200b", "cats"], ["the", "dog"]]
HEADS = [[2, 0, 4, 2], [2, 0], [2, 0]]
DEPRELS = [["nsubj", "root", "det:x", "obj"], ["dep", "root"], ["det", "root"]]


def tree_table(forms, heads, deprels) -> pa.Table:
    return sentence_table(forms, [["X"] * len(words) for words in forms], heads, deprels)


def stored(folder: Path, table: pa.Table, tokenizer: Path, **options):
    encode("parsing", table, tokenizer, folder / "store", labels=RELATIONS, **options)
    return load_arrays(folder / "store")


@pytest.fixture(scope="module")
def tokenizer_dir(tmp_path_factory) -> Path:
    return make_tokenizer(tmp_path_factory.mktemp("tokenizer"))


@pytest.fixture(scope="module")
def english(tmp_path_factory) -> tuple[Path, Path, pa.Table]:
    """Forty sentences of the miniature's English, a tokenizer of theirs and a random encoder."""
    folder, rng = tmp_path_factory.mktemp("english"), Sampler(5)
    said = [MINIATURE_LANGUAGES["en"].sentence(draw_meaning(rng)) for _ in range(40)]
    rows = [[*zip(*sentence.rows(), strict=True)] for sentence in said]
    columns = [[[*row[place]] for row in rows] for place in (0, 3, 4)]
    train_wordpiece([sentence.text for sentence in said], folder / "tokenizer", 150)
    vocabulary = len((folder / "tokenizer/vocab.txt").read_text("utf-8").splitlines())
    encoder = make_encoder(folder, folder / "tokenizer", dropout=0.0, vocabulary=vocabulary)
    return folder / "tokenizer", encoder, tree_table(*columns)


def test_store_of_the_docstring(tmp_path, tokenizer_dir):
    store = stored(tmp_path, tree_table(FORMS, HEADS, DEPRELS), tokenizer_dir, max_length=6)
    found = {
        name: [store.ragged(name)[row].tolist() for row in range(3)]
        for name in ("first_pieces", "heads", "labels")
    }
    assert found["first_pieces"] == [[1, 3, 4, -1], [-1, 1], [1, 2]]
    assert found["heads"] == HEADS
    names = [["nsubj", "root", "det", "obj"], ["dep", "root"], ["det", "root"]]
    assert [[RELATIONS[n] for n in row] for row in found["labels"]] == names
    assert store.ragged("input_ids").lengths.tolist() == [6, 4, 4]
    assert store.meta["dropped"] == {"words_behind_cut": 1, "words_without_pieces": 1}
    examples = TASK.examples(store)
    assert examples.label_counts.tolist() == [3, 1, 2]
    batch = examples.collate(np.array([2, 0, 1]))
    assert batch["positions"].tolist() == [[0, 1, 2, 0], [6, 7, 9, 10], [12, 13, 12, 12]]
    assert batch["inside"].sum(1).tolist() == [3, 4, 2]
    # `a`, whose head was cut off, is not learnt from.
    assert batch["scored"].tolist() == [1, 2, 5, 6, 9]
    assert batch["heads"].tolist() == [2, 0, 2, 0, 0]
    assert [RELATIONS[n] for n in batch["labels"]] == ["det", "root", "nsubj", "root", "root"]
    assert TASK.objective().weight(batch) == 5


def test_words_that_no_model_sees_are_predicted_as_wrong(tmp_path, tokenizer_dir):
    store = stored(tmp_path, tree_table(FORMS, HEADS, DEPRELS), tokenizer_dir, max_length=6)
    examples = TASK.examples(store, np.array([2, 0, 1]))
    det, root, obj = map(RELATIONS.index, ("det", "root", "obj"))
    values = np.array([[2, det], [0, root], [3, obj], [3, obj], [0, root], [0, root]])
    outputs = Ragged(values, np.array([0, 2, 5, 6]))
    table = TASK.decode(examples, outputs, "ud")
    assert table.schema.equals(TREE_PREDICTIONS)
    rows = table.to_pylist()
    assert [row["example_id"] for row in rows] == ["s2", "s0", "s1"]
    assert [row["gold_heads"] for row in rows] == [HEADS[2], HEADS[0], HEADS[1]]
    assert [row["predicted_heads"] for row in rows] == [[2, 0], [3, 3, 0, -1], [-1, 0]]
    assert rows[1]["predicted_relations"] == ["obj", "obj", "root", ""]
    assert rows[2]["gold_relations"] == ["dep", "root"]
    assert attachment_counts(table).tolist() == [[2, 2, 2], [0, 0, 4], [1, 1, 2]]


def test_heads_skip_words_without_subwords(tmp_path, tokenizer_dir):
    forms, heads = ["a", "\u200b", "cat", "sees", "\u200b"], [3, 4, 4, 0, 2]
    store = stored(tmp_path, tree_table([forms], [heads], [["dep"] * 5]), tokenizer_dir)
    examples = TASK.examples(store)
    batch = examples.collate(np.array([0]))
    assert batch["heads"].tolist() == [2, 3, 0]  # `cat` is the second word that has a subword
    outputs = Ragged(np.array([[2, 0], [3, 0], [0, 0]]), np.array([0, 3]))
    (row,) = TASK.decode(examples, outputs, "ud").to_pylist()
    assert row["predicted_heads"] == [3, -1, 4, 0, -1]


def test_sentence_without_any_subword_counts(tmp_path, tokenizer_dir):
    table = tree_table([["\u200b"], ["the"]], [[0], [0]], [["root"], ["root"]])
    store = stored(tmp_path, table, tokenizer_dir)
    examples = TASK.examples(store)
    model = new_model(make_encoder(tmp_path, tokenizer_dir), TASK, RELATIONS, BiaffineOptions(), 1)
    outputs = predict(model, examples, TASK.forward, description="p", token_budget=3)
    rows = TASK.decode(examples, outputs, "ud").to_pylist()
    assert [row["predicted_heads"] for row in rows] == [[-1], [0]]
    batch = examples.collate(np.array([0]))
    assert TASK.objective().loss(model, batch, 0.0).item() == 0


def test_bad_sentences_are_named(tmp_path, tokenizer_dir):
    def raises(match, heads=(2, 0, 2), deprels=("det", "root", "obj"), words=("a", "b", "cat")):
        table = tree_table([["the"], [*words]], [[0], [*heads]], [["root"], [*deprels]])
        with pytest.raises(DataError, match=rf"bank.*row 2 \(id s1\).*{match}"):
            encode("parsing", table, tokenizer_dir, tmp_path / "s", labels=RELATIONS, origin="bank")

    raises("unknown label 'dobj'.*nsubj", deprels=("det", "root", "dobj"))
    raises("3 words but 2 heads", heads=(2, 0))
    raises("3 words but 2 relations", deprels=("det", "root"))
    assert len(set(RELATIONS)) == 37


def test_digest_of_a_store_knows_its_heads(tmp_path, tokenizer_dir):
    digests = []
    for number, heads in enumerate(([2, 0], [0, 1])):
        stored(
            tmp_path / str(number), tree_table([["a", "b"]], [heads], [["dep"] * 2]), tokenizer_dir
        )
        digests.append(store_digest(tmp_path / str(number) / "store"))
    assert digests[0] != digests[1]


def test_at_the_start_all_heads_and_relations_are_alike(tmp_path, english):
    tokenizer, encoder, table = english
    examples = TASK.examples(stored(tmp_path, table, tokenizer))
    model = new_model(encoder, TASK, RELATIONS, BiaffineOptions(), 1)
    batch = examples.collate(np.arange(40))
    vectors = model.head.vectors(model.features(batch))
    assert not model.head.arcs(vectors).any()
    assert not model.head.relations_of_pairs(vectors).any()
    counts = examples.label_counts
    expected = (counts * np.log(counts + 1)).sum() / counts.sum() + math.log(len(RELATIONS))
    objective = TASK.objective()
    loss = objective.loss(model, batch, objective.weight(batch))
    assert loss.item() == pytest.approx(expected, rel=1e-5)
    loss.backward()
    assert model.head.arc.grad.any()
    assert model.head.relation.grad.any()
    sizes = [len(group["params"]) for group in parameter_groups(model, Optimisation())]
    assert sum(name.startswith("head.") for name, _ in model.named_parameters()) == 10
    assert 6 in sizes  # two tensors and four layers' weights are decayed, four biases not
    weight = model.head.layers[0].weight
    torch.testing.assert_close(weight.T @ weight, torch.eye(16), atol=1e-5, rtol=0)


def test_scores_by_their_formula():
    torch.manual_seed(0)
    head = BiaffineHead(8, 3, BiaffineOptions(dropout=0.0))
    with torch.no_grad():
        head.arc.normal_()
        head.relation.normal_()
        vectors = head.vectors(torch.randn(2, 4, 8))
    arcs, pairs = head.arcs(vectors), head.relations_of_pairs(vectors)
    one = torch.ones(1)
    for b, d, h in np.ndindex(2, 4, 4):
        x, y, u, v = (side[b, n] for side, n in zip(vectors, (d, h, d, h), strict=True))
        assert arcs[b, d, h].item() == pytest.approx(
            (torch.cat([x, one]) @ head.arc @ y).item(), rel=1e-3
        )
        u, v = torch.cat([u, one]), torch.cat([v, one])
        expected = torch.stack([u @ matrix @ v for matrix in head.relation])
        torch.testing.assert_close(pairs[b, :, d, h], expected, rtol=1e-3, atol=1e-3)
        some = head.relations(vectors, torch.tensor([4 * b + d]), torch.tensor([4 * b + h]))
        torch.testing.assert_close(some[0], expected, rtol=1e-3, atol=1e-3)


def test_dropout_is_shared_by_the_words_of_a_sentence():
    head = BiaffineHead(8, 3, BiaffineOptions(dropout=0.5))
    features = torch.randn(6, 5, 8)
    for outputs in head.vectors(features):
        dropped = (outputs == 0).all(dim=1)
        assert 0.3 < dropped.float().mean().item() < 0.7
        assert torch.equal((outputs == 0), dropped[:, None].expand_as(outputs))
        assert not torch.equal(dropped[0], dropped[1])
    assert all((outputs != 0).all() for outputs in head.eval().vectors(features))


def test_it_learns_and_survives_the_trip_to_disk(tmp_path, english):
    tokenizer, encoder, table = english
    stored(tmp_path, table.slice(0, 12), tokenizer)
    optimisation = Optimisation(learning_rate=3e-3, batch_size=6, epochs=60)
    job = {"encoder": encoder, "optimisation": optimisation}
    finetuned(finetuning_job(tmp_path, "parsing", "store", **job))
    predictions = read_parquet(tmp_path / "predictions.parquet", TREE_PREDICTIONS)
    las, uas, words = attachment_counts(predictions).sum(axis=0)
    assert las / words > 0.95
    assert uas >= las
    model, labels = tasks.load_model(tmp_path / "model")
    examples = TASK.examples(load_arrays(tmp_path / "store"))
    outputs = predict(model, examples, TASK.forward, description="p")
    assert TASK.decode(examples, outputs, "test").equals(predictions)
    save_model(model, labels, "parsing", encoder, tmp_path / "again")
    assert (tmp_path / "again/head.safetensors").read_bytes() == (
        tmp_path / "model/head.safetensors"
    ).read_bytes()


def test_initial_weights_of_another_size_are_rejected(english):
    with pytest.raises(AtlasError, match=r"drop head\.initial_stddev"):
        new_model(english[1], TASK, RELATIONS, BiaffineOptions(initial_stddev=0.1), 1)


def test_the_best_epoch_is_that_of_the_highest_las(tmp_path, english):
    """Also where a word has no subword, and where a gold head was cut off."""
    tokenizer, encoder, table = english
    forms = [[*words, "\u200b"] for words in table["forms"].to_pylist()]
    heads = [[*own, len(own) // 2 + 1] for own in table["heads"].to_pylist()]
    relations = [[*own, "dep"] for own in table["deprels"].to_pylist()]
    stored(tmp_path, tree_table(forms, heads, relations), tokenizer, max_length=8)
    optimisation = Optimisation(learning_rate=5e-3, batch_size=8, epochs=4)
    own = {"encoder": encoder, "optimisation": optimisation}
    own["head"] = BiaffineOptions(arc_size=60, relation_size=30)
    job = finetuning_job(tmp_path, "parsing", "store", **own)
    best = BestEpoch(Selection(metric="accuracy", development="dev"), tmp_path / "store")
    log = finetuned(job, best)
    counts = attachment_counts(read_parquet(job["output_predictions"], TREE_PREDICTIONS))
    seen = load_arrays(tmp_path / "store").ragged("first_pieces").values != NO_PIECE
    assert 0 < log.epoch == log.scores.index(max(log.scores))
    assert max(log.scores) == pytest.approx(counts[:, 0].sum() / seen.sum())  # words with a subword
    scores = prediction_scores(job["output_predictions"], "tree", "published").set_index("metric")
    assert scores["value"]["las"].iloc[0] == pytest.approx(100 * counts[:, 0].sum() / len(seen))
    assert set(scores["n"]) == {len(seen)}
