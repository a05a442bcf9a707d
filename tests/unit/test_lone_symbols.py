"""Words that SentencePiece splits into a lone word-boundary symbol and the rest."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from configs import config
from tiny_models import finetuning_job, make_encoder, sentence_table
from transformers import XLMRobertaTokenizer

from mbert_atlas.arrays import load_arrays
from mbert_atlas.config.training import Optimisation
from mbert_atlas.corpora.universal_dependencies import RELATIONS
from mbert_atlas.encoders.hidden_states import iterate_hidden_states
from mbert_atlas.encoders.loading import load_encoder
from mbert_atlas.encoding import encode
from mbert_atlas.encoding.lone_symbols import with_characters
from mbert_atlas.plan.runs import RunTable
from mbert_atlas.representations.extraction import extract_features
from mbert_atlas.representations.reading import read_features
from mbert_atlas.training.job import FinetuningJob, FinetuningRun

TAGS = ["A", "N", "V"]
SUBWORDS = ["<s>", "<pad>", "</s>", "<unk>", "▁the", "▁", "天气", "好", "▁cat", "s", "吗", "<mask>"]
WORDS = ["the", "天气", "cats", "好吗"]
#    <s> ▁the ▁ 天气 ▁cat s ▁ 好 吗 </s>
FIRST = [-100, 0, 1, -100, 2, -100, 1, -100, -100, -100]
WITH_CHARACTERS = [-100, 0, -100, 1, 2, -100, -100, 1, -100, -100]


@pytest.fixture
def tokenizer(tmp_path: Path) -> Path:
    scores = [-1.0 - len(name) % 3 for name in SUBWORDS]
    vocabulary = list(zip(SUBWORDS, scores, strict=True))
    XLMRobertaTokenizer(vocab=vocabulary).save_pretrained(tmp_path / "tokenizer")
    return tmp_path / "tokenizer"


def tagged(folder: Path, tokenizer: Path, words: list[str], **options: Any) -> Any:
    tags = [TAGS[number] for number in (0, 1, 2, 1)]
    table = sentence_table([words], [tags[: len(words)]])
    encode("tagging", table, tokenizer, folder / "store", labels=TAGS, **options)
    return load_arrays(folder / "store")


@pytest.mark.parametrize("how", ["first", "non_continuation"])
def test_a_tag_moves_to_the_first_subword_with_characters(tmp_path, tokenizer, how):
    store = tagged(tmp_path, tokenizer, WORDS, labelled_pieces=how)
    names = [SUBWORDS[number] for number in store.ragged("input_ids")[0]]
    assert names == ["<s>", "▁the", "▁", "天气", "▁cat", "s", "▁", "好", "吗", "</s>"]
    assert store.ragged("labels")[0].tolist() == FIRST
    moved = with_characters(store)
    assert moved.ragged("labels")[0].tolist() == WITH_CHARACTERS
    assert moved.ragged("words")[0].tolist() == store.ragged("words")[0].tolist()
    assert store.ragged("labels")[0].tolist() == FIRST  # the file stays as it is


def test_a_symbol_whose_word_has_nothing_else_keeps_the_tag(tmp_path, tokenizer):
    # Cut after the symbol; and a word that is the symbol.
    for words, length, labels in (
        (["the", "天气"], 4, [-100, 0, 1, -100]),
        (["▁", "天气", "the"], 9, [-100, 0, -100, 1, 2, -100]),
    ):
        store = tagged(tmp_path, tokenizer, words, max_length=length)
        assert with_characters(store).ragged("labels")[0].tolist() == labels


def test_words_of_trees(tmp_path, tokenizer):
    columns = [[2, 0, 2, 2], ["det", "root", "nsubj", "punct"]]
    forms = [WORDS, ["▁", "天气", "the", "好"]]
    trees = sentence_table(forms, [["X"] * 4] * 2, *([column] * 2 for column in columns))
    encode("parsing", trees, tokenizer, tmp_path / "store", labels=RELATIONS, max_length=10)
    store = load_arrays(tmp_path / "store")
    assert [store.ragged("first_pieces")[row].tolist() for row in (0, 1)] == [
        [1, 2, 4, 6],
        [1, 2, 4, 5],
    ]
    moved = with_characters(store).ragged("first_pieces")
    assert [moved[row].tolist() for row in (0, 1)] == [[1, 3, 4, 7], [1, 3, 4, 6]]


def test_fine_tuning_and_vectors_of_words(tmp_path, tokenizer):
    tagged(tmp_path, tokenizer, WORDS)
    encoder = make_encoder(tmp_path, tokenizer, vocabulary=len(SUBWORDS))
    job = finetuning_job(tmp_path, "tagging", "store", optimisation=Optimisation())
    for choice, labels in ((None, FIRST), ("with_characters", WITH_CHARACTERS)):
        run = FinetuningRun(FinetuningJob(**job, labelled_subword=choice))
        for examples in (run.examples(run.rows), run.tests["test"]):
            batch = examples.collate(np.array([0]))
            expected = [(place, label) for place, label in enumerate(labels) if label != -100]
            both = zip(batch["positions"].tolist(), batch["labels"].tolist(), strict=True)
            assert list(both) == expected
    ids = load_arrays(tmp_path / "store").ragged("input_ids")
    (states,) = iterate_hidden_states(load_encoder(encoder), ids, layers=[2], rows=np.array([0]))
    characters = [1, 3, 4, 7]
    for pooling, unit, places in (
        ("first", "word", [1, 2, 4, 6]),
        ("characters", "word", characters),
        ("pooler", "token", characters),
    ):
        options = {"pooling": pooling, "unit": unit, "layers": [2]}
        paths = {"encoder": encoder, "store": tmp_path / "store", "output": tmp_path / pooling}
        extract_features(**paths, **options)
        features = read_features(tmp_path / pooling, 2)
        vectors = states.layers[0][0].numpy()[places]
        assert np.array(features.vectors) == pytest.approx(vectors, abs=1e-2)
        assert features.labels.tolist() == [0, 1, 2, 1]


def test_wordpiece_stores_stay_as_they_are(tmp_path):
    from tiny_models import make_tokenizer

    store = tagged(tmp_path, make_tokenizer(tmp_path), ["the", "cats"])
    assert with_characters(store) is store
    assert "lone_symbols" not in store.meta["options"]


def test_sentencepiece_moves_labels_but_where_authors_had_the_symbol():
    before, after = config(), config(encoders={"mbert": {"sentencepiece": True}})

    def moved(read):
        key = "labelled_subword"
        return {
            run.id: run for run in RunTable(read) if run.specification["hyperparameters"].get(key)
        }

    assert not moved(before)
    runs = moved(after)
    assert {run.task for run in runs.values()} == {"tagging", "ner", "parsing"}
    tuned = [run for run in RunTable(after) if run.kind == "finetuning"]
    of_words = {run.id for run in tuned if run.task in ("tagging", "ner", "parsing")}
    as_authors = of_words - set(runs)
    assert as_authors
    assert all(run.endswith(".published") for run in as_authors)
    families = {after.runs[run.split(".")[0]].published.labelled_subword for run in as_authors}
    assert families == {"first"}
    corrected = {run.replace(".published", ".corrected") for run in as_authors}
    assert corrected <= set(runs)
