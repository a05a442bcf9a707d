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
from mbert_atlas.encoders.loading import load_encoder
from mbert_atlas.encoding import encode
from mbert_atlas.errors import AtlasError, DataError
from mbert_atlas.files import write_parquet
from mbert_atlas.hidden_states import group_by, pad, span_vectors
from mbert_atlas.pooling import Aggregation, pool_words
from mbert_atlas.representations.extraction import (
    extract_texts,
    extract_words,
)
from mbert_atlas.representations.reading import read_labelled_vectors, read_vectors
from mbert_atlas.schemas import NLI_PAIRS, SENTENCES

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


def test_vectors_find_their_examples(encoder: Path, store: Path, tmp_path: Path) -> None:
    extract_texts(encoder=encoder, store=store, output=tmp_path / "vectors")

    def read(rows: list[tuple[str, str]]) -> pa.Table:
        columns = dict(zip(("language", "id"), map(list, zip(*rows, strict=True)), strict=True))
        write_parquet(pa.table(columns), tmp_path / "examples.parquet")
        return read_labelled_vectors(tmp_path / "vectors", tmp_path / "examples.parquet")[1]

    rows = [(language, str(n)) for language in ("xx", "en") for n in range(20)]  # 10 without vector
    table = read(rows)
    assert table["id"].to_pylist() == load_arrays(store).dense("example_id").tolist()
    assert table["language"].to_pylist() == ["en"] * 15 + ["xx"] * 15
    with pytest.raises(DataError, match=r"row 15: its example is not in"):
        read([row for row in rows if row != ("xx", "0")])
    with pytest.raises(DataError, match="id 3: twice in en"):
        read([*rows, ("en", "3")])


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
