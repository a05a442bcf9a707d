from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from toy_representations import (
    CLS,
    SEP,
    SUFFIX,
    VOCABULARY,
    toy_encoder,
    toy_tokenizer_digest,
)

from mbert_atlas.arrays import Ragged, create_array, load_arrays, save_arrays
from mbert_atlas.encoders.hidden_states import group_by, pad, span_vectors
from mbert_atlas.encoders.loading import load_encoder
from mbert_atlas.encoders.pooling import Aggregation, pool_words
from mbert_atlas.encoding import encode
from mbert_atlas.encoding.tags import NO_LABEL
from mbert_atlas.errors import AtlasError, DataError
from mbert_atlas.representations.extraction import (
    extract_features,
    extract_texts,
    extract_words,
)
from mbert_atlas.representations.reading import read_features, read_vectors
from mbert_atlas.schemas import LID_EXAMPLES, NLI_PAIRS, SENTENCES

torch.set_num_threads(1)


def _random_words(
    seed: int, words: int, batch: int, length: int
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    random = np.random.default_rng(seed)
    start = random.integers(0, length, words)
    end = start + random.integers(1, 4, words).clip(max=length - start)
    row = random.integers(0, batch, words)  # any order, overlaps and repeats allowed
    return torch.from_numpy(start), torch.from_numpy(end), torch.from_numpy(row)


def _pool_by_loop(
    hidden: torch.Tensor, start: torch.Tensor, end: torch.Tensor, row: torch.Tensor, how: str
) -> torch.Tensor:
    pooled = []
    for a, b, r in zip(start.tolist(), end.tolist(), row.tolist(), strict=True):
        pieces = hidden[r, a:b]
        pooled.append({"first": pieces[0], "last": pieces[-1], "mean": pieces.mean(0)}[how])
    return torch.stack(pooled)


@pytest.mark.parametrize("how", ["first", "last", "mean"])
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), words=st.integers(1, 30), batch=st.integers(1, 5))
def test_pooling_equals_a_loop(how: Aggregation, seed: int, words: int, batch: int) -> None:
    spans = _random_words(seed, words, batch, length=7)
    generator = torch.Generator().manual_seed(seed)
    hidden = torch.randn(batch, 7, 5, generator=generator, dtype=torch.float64)
    upstream = torch.randn(words, 5, generator=generator, dtype=torch.float64)
    results = []
    for pool in (pool_words, _pool_by_loop):
        leaf = hidden.clone().requires_grad_()
        pooled = pool(leaf, *spans, how)  # type: ignore[operator]
        pooled.backward(upstream)
        results.append((pooled.detach(), leaf.grad))
    torch.testing.assert_close(results[0], results[1])


@pytest.mark.parametrize("how", ["first", "last", "mean"])
def test_pooling_has_the_right_gradient(how: Aggregation) -> None:
    spans = _random_words(3, 6, 2, length=4)
    hidden = torch.randn(2, 4, 3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda h: pool_words(h, *spans, how), (hidden,))


def test_padding_and_grouping() -> None:
    ids, mask = pad(Ragged.from_rows([[1, 2, 3], [], [4]], np.int32), padding=9)
    assert ids.tolist() == [[1, 2, 3], [9, 9, 9], [4, 9, 9]]
    assert mask.sum(1).tolist() == [3, 0, 1]
    groups = group_by(np.array([2, 0, 2, 0, 0]), 4)
    assert [groups[row].tolist() for row in range(4)] == [[1, 3, 4], [], [0, 2], []]


@given(
    rows=st.lists(st.lists(st.integers(0, 99), max_size=5), min_size=1, max_size=8),
    data=st.data(),
)
@settings(max_examples=50, deadline=None)
def test_taking_rows(rows: list[list[int]], data: st.DataObject) -> None:
    which = data.draw(st.lists(st.integers(0, len(rows) - 1), max_size=10))
    taken = Ragged.from_rows(rows, np.int32).take(np.array(which, dtype=np.int64))
    assert [taken[i].tolist() for i in range(len(taken))] == [rows[i] for i in which]


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return toy_encoder(tmp_path_factory.mktemp("encoder"), layers=3)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Thirty texts of 1 to 12 pieces with words of some pieces; word 1 of all has none."""
    random = np.random.default_rng(0)
    ids, words = [], []
    for _ in range(30):
        size = int(random.integers(1, 13))
        ids.append([CLS, *random.integers(5, VOCABULARY, size).tolist(), SEP])
        word = np.cumsum(random.integers(0, 2, size))
        words.append([-1, *np.where(word > 0, word + 1, 0).tolist(), -1])
    folder = tmp_path_factory.mktemp("stores") / "store"
    arrays: dict[str, Any] = {
        "input_ids": Ragged.from_rows(ids, np.int32),
        "words": Ragged.from_rows(words, np.int32),
        "example_id": np.array([str(n % 15) for n in range(30)]),
        "language": np.array(["en"] * 15 + ["xx"] * 15),
    }
    save_arrays(folder, arrays, {"tokenizer": toy_tokenizer_digest()})
    return folder


def _copy(store: Path, folder: Path, meta: dict[str, Any] | None = None, **changes: Any) -> Path:
    found = load_arrays(store)
    save_arrays(folder, {**found.arrays, **changes}, meta or found.meta)
    return folder


def _states(encoder: Path, store: Path) -> list[tuple[np.ndarray, np.ndarray]]:
    """All hidden states and the pooler's output, one text at a time, by the plain model."""
    model = load_encoder(encoder).eval()
    ids = load_arrays(store).ragged("input_ids")
    result = []
    with torch.no_grad():
        for row in range(len(ids)):
            text = torch.from_numpy(ids[row].astype(np.int64))[None]
            output = model(input_ids=text, output_hidden_states=True)
            layers = torch.stack(output.hidden_states)[:, 0].numpy()
            result.append((layers, output.pooler_output[0].numpy()))
    return result


@pytest.mark.parametrize("pooling", ["cls", "mean", "pooler"])
def test_texts_equal_one_forward_pass_each(
    encoder: Path, store: Path, tmp_path: Path, pooling: Any
) -> None:
    layers: Any = "last" if pooling == "pooler" else "all"
    extract_texts(
        encoder=encoder,
        store=store,
        output=tmp_path / "vectors",
        layers=layers,
        pooling=pooling,
        dtype="float32",
        token_budget=40,
    )
    found = load_arrays(tmp_path / "vectors")
    assert found.meta["layers"] == ([3] if pooling == "pooler" else [0, 1, 2, 3])
    for row, (states, pooler) in enumerate(_states(encoder, store)):
        expected = {"cls": states[:, 0], "mean": states[:, 1:-1].mean(1), "pooler": pooler[None]}
        np.testing.assert_allclose(
            found.dense("vectors")[:, row], expected[pooling], rtol=1e-4, atol=1e-5
        )


def test_chosen_layers_and_half_precision(encoder: Path, store: Path, tmp_path: Path) -> None:
    for name, layers in (("two", [2, 0]), ("all", "all"), ("last", "last")):
        chosen: Any = layers
        extract_texts(
            encoder=encoder, store=store, output=tmp_path / name, layers=chosen, dtype="float16"
        )
    two, everything, last = (
        load_arrays(tmp_path / name).dense("vectors") for name in ("two", "all", "last")
    )
    assert two.dtype == np.float16
    np.testing.assert_allclose(two[0], everything[2], rtol=1e-3, atol=1e-3)
    np.testing.assert_array_equal(two[1], everything[0])
    np.testing.assert_allclose(last[0], everything[3], rtol=1e-3, atol=1e-3)
    assert np.array_equal(read_vectors(tmp_path / "two", layer=2), two[0])
    assert np.array_equal(read_vectors(tmp_path / "two"), two[1])
    with pytest.raises(DataError, match=r"only layers \[2, 0\] were kept"):
        read_vectors(tmp_path / "two", layer=1)


@pytest.mark.parametrize("pooling", ["first", "last", "mean"])
def test_words_equal_one_forward_pass_each(
    encoder: Path, store: Path, tmp_path: Path, pooling: Any
) -> None:
    extract_words(
        encoder=encoder,
        store=store,
        output=tmp_path / "all",
        layers=[0, 2],
        pooling=pooling,
        dtype="float32",
        token_budget=50,
    )
    everything = load_arrays(tmp_path / "all")
    words_of = load_arrays(store).ragged("words")
    states = _states(encoder, store)
    sentences, words = everything.dense("sentence"), everything.dense("word")
    expected_words = [(s, w) for s in range(30) for w in sorted({*words_of[s].tolist()} - {-1})]
    assert list(zip(sentences.tolist(), words.tolist(), strict=True)) == expected_words
    for index, (sentence, word) in enumerate(expected_words):
        pieces = states[sentence][0][[0, 2]][:, words_of[sentence] == word]
        expected = {"first": pieces[:, 0], "last": pieces[:, -1], "mean": pieces.mean(1)}[pooling]
        np.testing.assert_allclose(
            everything.dense("vectors")[:, index], expected, rtol=1e-4, atol=1e-5
        )
    picked = np.array([7, 1, 7]), np.array([words_of[s][1] for s in (7, 1, 7)])
    extract_words(
        encoder=encoder,
        store=store,
        output=tmp_path / "picked",
        layers=[0, 2],
        pooling=pooling,
        dtype="float32",
        words=picked,
    )
    found = load_arrays(tmp_path / "picked").dense("vectors")
    for index, pick in enumerate(zip(*picked, strict=True)):
        place = expected_words.index(pick)
        np.testing.assert_allclose(
            found[:, index], everything.dense("vectors")[:, place], rtol=1e-4, atol=1e-5
        )


def test_only_sentences_with_a_wanted_word_are_encoded(encoder: Path, store: Path) -> None:
    model = load_encoder(encoder)
    seen: list[int] = []
    model.register_forward_pre_hook(
        lambda _, __, inputs: seen.append(len(inputs["input_ids"])), with_kwargs=True
    )
    ids = load_arrays(store).ragged("input_ids")
    one = np.ones(3, dtype=np.int64)
    vectors = span_vectors(
        model, ids, np.array([5, 9, 5]), one, one + 1, aggregation="mean", layers=[-1]
    )
    assert sum(seen) == 2
    assert np.array_equal(vectors[:, 0], vectors[:, 2])


def test_refusals(encoder: Path, store: Path, tmp_path: Path) -> None:
    def texts(path: Path = store, **options: Any) -> None:
        extract_texts(encoder=encoder, store=path, output=tmp_path / "out", **options)

    with pytest.raises(DataError, match="hidden states 0 to 3"):
        texts(layers=[4])
    with pytest.raises(DataError, match="last layer only"):
        texts(layers="all", pooling="pooler")
    bare = _copy(store, tmp_path / "bare", input_ids=Ragged.from_rows([[CLS, SEP]], np.int32))
    with pytest.raises(DataError, match="row 0: the text has no piece"):
        texts(bare)
    with pytest.raises(DataError, match="not made with the tokenizer of"):
        texts(_copy(store, tmp_path / "other", {"tokenizer": "0"}))
    with pytest.raises(DataError, match="sentence 2, word 1: the word has no piece"):
        extract_words(
            encoder=encoder,
            store=store,
            output=tmp_path / "out",
            words=(np.array([2]), np.array([1])),
        )
    assert not (tmp_path / "out").exists()


def test_vectors_take_their_space_on_disk_at_once(
    encoder: Path, store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    array = create_array(tmp_path / "a.npy", "float32", (1000, 1000))
    assert (tmp_path / "a.npy").stat().st_blocks * 512 >= array.nbytes  # no holes
    assert not array.any()
    (tmp_path / "a.npy").unlink()

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.posix_fallocate", full)
    with pytest.raises(AtlasError, match="no space left"):
        extract_texts(encoder=encoder, store=store, output=tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("content", [b"", b"\x93NUMPY"])
def test_damaged_arrays_are_named(store: Path, tmp_path: Path, content: bytes) -> None:
    copy = _copy(store, tmp_path / "copy")
    (copy / "input_ids.values.npy").write_bytes(content)
    with pytest.raises(DataError, match=r"array input_ids: .*delete the folder"):
        load_arrays(copy)


def test_an_interrupted_extraction_leaves_nothing(
    encoder: Path, store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("mbert_atlas.representations.extraction._pool_texts", full)
    with pytest.raises(AtlasError, match="no space left"):
        extract_texts(encoder=encoder, store=store, output=tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def _labelled(store: Path, folder: Path, unit: str) -> Path:
    """The store with labels 0 to 2 of texts or of some pieces, and splits; two lack labels."""
    random = np.random.default_rng(5)
    lengths = load_arrays(store).ragged("input_ids").lengths
    labels: Any = random.integers(0, 3, len(lengths)).astype(np.int32)
    if unit == "token":
        rows = [random.integers(0, 3, length) for length in lengths]
        for number, row in enumerate(rows):
            row[random.random(len(row)) < 0.4] = NO_LABEL
            row[1] = 2
            row[[0, -1] if number not in (3, 10) else slice(None)] = NO_LABEL
        labels = Ragged.from_rows(rows, np.int32)
    meta = {"tokenizer": toy_tokenizer_digest(), "labels": ["a", "b", "c"]}
    split = np.array(["train", "validation", "dev", "test", "train"] * 6)
    return _copy(store, folder, meta, labels=labels, split=split)


@pytest.mark.parametrize("splits", [None, ["train", "test"]])
@pytest.mark.parametrize("pooling", ["cls", "mean", "pooler", "token"])
def test_features_equal_one_forward_pass_each(
    encoder: Path, store: Path, tmp_path: Path, pooling: Any, splits: list[str] | None
) -> None:
    unit = "token" if pooling == "token" else "text"
    folder = _labelled(store, tmp_path / "store", unit)
    options: dict[str, Any] = {} if unit == "token" else {"pooling": pooling}
    extract_features(
        encoder=encoder,
        store=folder,
        output=tmp_path / "features",
        splits=splits,
        dtype="float32",
        token_budget=40,
        **options,
    )
    stored, found = load_arrays(folder), read_features(tmp_path / "features")
    labels = stored.arrays["labels"]
    expected, numbers, examples = [], [], []
    for row, (states, pooler) in enumerate(_states(encoder, store)):
        if splits is not None and stored.dense("split")[row] not in splits:
            continue
        own = np.atleast_1d(labels[row])
        kept = np.flatnonzero(own != NO_LABEL)
        expected += {
            "cls": [states[-1, 0]],
            "mean": [states[-1, 1:-1].mean(0)],
            "pooler": [pooler],
            "token": list(states[-1, kept]),
        }[pooling]
        numbers += own[kept].tolist()
        examples += [row] * len(kept)
    np.testing.assert_allclose(found.vectors, np.stack(expected), rtol=1e-4, atol=1e-5)
    assert found.labels.tolist() == numbers
    assert (found.label_names, found.unit) == (["a", "b", "c"], unit)
    rows, example = np.unique(examples, return_inverse=True)  # those without a label are gone
    assert found.example.tolist() == example.tolist()
    assert found.labels.dtype == found.example.dtype == np.int32
    for name in ("example_id", "language", "split"):
        assert getattr(found, name).tolist() == stored.dense(name)[rows].tolist()
    assert load_arrays(tmp_path / "features").meta["layers"] == [3]


def test_features_of_other_splits_are_not_encoded(
    encoder: Path, store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[int] = []

    def spy(folder: Path) -> Any:
        model = load_encoder(folder)
        hook = lambda _, __, inputs: seen.append(len(inputs["input_ids"]))  # noqa: E731
        model.register_forward_pre_hook(hook, with_kwargs=True)
        return model

    monkeypatch.setattr("mbert_atlas.representations.extraction.load_encoder", spy)
    for unit in ("text", "token"):
        folder = _labelled(store, tmp_path / unit, unit)
        extract_features(
            encoder=encoder, store=folder, output=tmp_path / "out", splits=["validation"]
        )
    assert sum(seen) == 6 + 6


def test_reading_features(encoder: Path, store: Path, tmp_path: Path) -> None:
    folder = _labelled(store, tmp_path / "store", "token")
    extract_features(encoder=encoder, store=folder, output=tmp_path / "features")
    found = read_features(tmp_path / "features")
    assert found.vectors.dtype == np.float16
    assert found.split is not None
    assert found.languages().tolist() == [found.language[row] for row in found.example]
    assert found.split[found.examples("dev")].tolist() == ["dev"] * 6
    rows = found.rows("dev")
    assert set(found.example[rows]) == set(found.examples("dev"))
    assert len(rows) == sum(found.split[row] == "dev" for row in found.example)
    for example in range(28):
        inside = np.flatnonzero(found.example == example)
        assert np.array_equal(found.by_example[example], found.vectors[inside])
    with pytest.raises(DataError, match="split heldout: it has no examples"):
        found.examples("heldout")
    bare = load_arrays(folder)
    arrays = {name: array for name, array in bare.arrays.items() if name != "split"}
    meta = {"tokenizer": toy_tokenizer_digest(), "labels": ["a", "b", "c"]}
    save_arrays(tmp_path / "bare", arrays, meta)
    extract_features(
        encoder=encoder, store=folder, output=tmp_path / "some", languages=["xx", "yy"]
    )
    some = read_features(tmp_path / "some")
    assert set(some.language) == {"xx"}
    assert np.array_equal(some.vectors, found.vectors[found.languages() == "xx"])
    options: Any = {"encoder": encoder, "output": tmp_path / "whole", "splits": ["test"]}
    extract_features(store=tmp_path / "bare", **options)  # a store without splits is one split
    whole = read_features(tmp_path / "whole")
    assert whole.split is None
    assert len(whole.vectors) == len(found.vectors)
    with pytest.raises(DataError, match="split test: it has no examples"):
        whole.rows("test")


def test_feature_refusals(encoder: Path, store: Path, tmp_path: Path) -> None:
    def features(path: Path, **options: Any) -> None:
        extract_features(encoder=encoder, store=path, output=tmp_path / "out", **options)

    token, text = (_labelled(store, tmp_path / unit, unit) for unit in ("token", "text"))
    with pytest.raises(DataError, match="nothing of the splits gold, silver has a label"):
        features(token, splits=["silver", "gold"])
    with pytest.raises(DataError, match="nothing in the languages de, yy has a label"):
        features(text, languages=["yy", "de"])
    ids = load_arrays(store).ragged("input_ids")
    unlabelled = Ragged(np.full_like(ids.values, NO_LABEL), ids.offsets)
    with pytest.raises(DataError, match="nothing has a label"):
        features(_copy(token, tmp_path / "unlabelled", labels=unlabelled))
    short = [[CLS, SEP] if row in (2, 4) else ids[row] for row in range(len(ids))]
    bare = _copy(text, tmp_path / "bare", input_ids=Ragged.from_rows(short, np.int32))
    with pytest.raises(DataError, match="row 4: the text has no piece"):
        features(bare, splits=["train"])
    with pytest.raises(DataError, match="not made with the tokenizer of"):
        features(_copy(text, tmp_path / "other", {"tokenizer": "0", "labels": []}))
    assert not (tmp_path / "out").exists()


def test_stores_of_the_tasks(encoder: Path, tmp_path: Path) -> None:
    """What the tasks encode, extraction reads: text pairs with token types, words of sentences."""
    pairs = pa.table(
        {
            "id": ["1", "2"],
            "language": ["en", "en"],
            "split": ["test"] * 2,
            "premise": ["en1 en2s en3", "en4"],
            "hypothesis": ["en5", "en6 en7s"],
            "label": ["neutral", "entailment"],
            "genre": ["g"] * 2,
        },
        schema=NLI_PAIRS,
    )
    for segments in (True, False):
        encode(
            "inference",
            pairs,
            encoder,
            tmp_path / f"pairs{segments}",
            labels=["entailment", "neutral", "contradiction"],
            segment_ids=segments,
        )
        extract_texts(
            encoder=encoder,
            store=tmp_path / f"pairs{segments}",
            output=tmp_path / f"pooled{segments}",
            pooling="pooler",
            dtype="float32",
        )
        ids = torch.tensor([[CLS, 6, 7, SUFFIX, 8, SEP, 10, SEP]])
        types = torch.tensor([[0, 0, 0, 0, 0, 0, 1, 1]]) * segments
        with torch.no_grad():
            expected = load_encoder(encoder).eval()(input_ids=ids, token_type_ids=types)
        np.testing.assert_allclose(
            read_vectors(tmp_path / f"pooled{segments}")[0],
            expected.pooler_output[0],
            rtol=1e-4,
            atol=1e-5,
        )
        extract_features(
            encoder=encoder,
            store=tmp_path / f"pairs{segments}",
            output=tmp_path / f"features{segments}",
            dtype="float32",
        )
        features = read_features(tmp_path / f"features{segments}")
        assert np.array_equal(features.vectors, read_vectors(tmp_path / f"pooled{segments}"))
        assert [features.label_names[label] for label in features.labels] == [
            "neutral",
            "entailment",
        ]
    sentences = pa.table(
        {
            "id": ["1"],
            "language": ["en"],
            "treebank": ["toy"],
            "split": ["test"],
            "text": ["en1s en2"],
            "forms": [["en1s", "en2"]],
            "upos": [["NOUN", "VERB"]],
            "heads": [[0, 1]],
            "deprels": [["root", "dep"]],
        },
        schema=SENTENCES,
    )
    encode("tagging", sentences, encoder, tmp_path / "sentences", labels=["NOUN", "VERB"])
    extract_words(
        encoder=encoder, store=tmp_path / "sentences", output=tmp_path / "words", layers=[0]
    )
    found = load_arrays(tmp_path / "words")
    assert found.dense("word").tolist() == [0, 1]
    extract_words(
        encoder=encoder,
        store=tmp_path / "sentences",
        output=tmp_path / "first",
        layers=[0],
        pooling="first",
    )
    first = read_vectors(tmp_path / "first")
    assert not np.allclose(found.dense("vectors")[0, 0], first[0])  # two pieces
    np.testing.assert_array_equal(found.dense("vectors")[0, 1], first[1])  # one piece
    extract_features(
        encoder=encoder, store=tmp_path / "sentences", output=tmp_path / "tags", dtype="float32"
    )
    extract_words(
        encoder=encoder,
        store=tmp_path / "sentences",
        output=tmp_path / "last",
        pooling="first",
        dtype="float32",
    )
    tags = read_features(tmp_path / "tags")
    assert (tags.label_names, tags.labels.tolist()) == (["NOUN", "VERB"], [0, 1])
    assert np.array_equal(tags.vectors, read_vectors(tmp_path / "last"))
    texts = pa.table(
        [["1", "2"], ["xx", "en"], ["train", "test"], ["xx1s xx2", "en3"]], LID_EXAMPLES
    )
    for unit, labels in (("text", [1, 0]), ("token", [1, 1, 0])):
        options = {"labels": ["en", "xx"], "unit": unit}
        encode("language_identification", texts, encoder, tmp_path / unit, **options)
        extract_features(
            encoder=encoder, store=tmp_path / unit, output=tmp_path / f"languages-{unit}"
        )
        languages = read_features(tmp_path / f"languages-{unit}")
        assert (languages.unit, languages.labels.tolist()) == (unit, labels)
        assert languages.languages().tolist() == [["en", "xx"][label] for label in labels]
        assert languages.examples("test").tolist() == [1]
