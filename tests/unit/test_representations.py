from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from toy_representations import CLS, SEP, SUFFIX, VOCABULARY, toy_encoder, toy_tokenizer_digest

from mbert_atlas.arrays import Ragged, create_array, load_arrays, save_arrays
from mbert_atlas.encoders.hidden_states import Aggregation, group_by, pool_words
from mbert_atlas.encoders.loading import load_encoder
from mbert_atlas.encoding import encode
from mbert_atlas.encoding.tags import NO_LABEL
from mbert_atlas.errors import AtlasError, DataError
from mbert_atlas.representations.extraction import extract_features
from mbert_atlas.representations.reading import FeatureArrays, read_features
from mbert_atlas.schemas import LID_EXAMPLES, NLI_PAIRS, SENTENCES

torch.set_num_threads(1)


@pytest.mark.parametrize("how", ["first", "last", "mean"])
def test_pooling_equals_a_loop(how: Aggregation) -> None:
    random, torch_random = np.random.default_rng(0), torch.Generator().manual_seed(0)
    start = random.integers(0, 7, 30)
    end = start + random.integers(1, 4, 30).clip(max=7 - start)
    row = random.integers(0, 5, 30)  # any order, overlaps and repeats allowed
    hidden = torch.randn(5, 7, 4, generator=torch_random, dtype=torch.float64, requires_grad=True)
    upstream = torch.randn(30, 4, generator=torch_random, dtype=torch.float64)
    spans = [hidden[r, a:b] for a, b, r in zip(start, end, row, strict=True)]
    pool = {"first": lambda x: x[0], "last": lambda x: x[-1], "mean": lambda x: x.mean(0)}[how]
    expected = torch.stack(list(map(pool, spans)))
    found = pool_words(hidden, *map(torch.from_numpy, (start, end, row)), how)
    torch.testing.assert_close(found, expected)
    gradients = [torch.autograd.grad(one, hidden, upstream) for one in (found, expected)]
    torch.testing.assert_close(*gradients)


def test_padding_and_grouping() -> None:
    rows = Ragged.from_rows([[1, 2, 3], [], [4]], np.int32)
    assert rows.padded(np.arange(3), 9).tolist() == [[1, 2, 3], [9, 9, 9], [4, 9, 9]]
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
def stores(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Thirty texts of 1 to 12 subwords; labels of texts, or of some subwords, but for two."""
    random = np.random.default_rng(0)
    ids, words, labels = [], [], []
    for number in range(30):
        size = int(random.integers(1, 13))
        ids.append([CLS, *random.integers(5, VOCABULARY, size).tolist(), SEP])
        word = np.cumsum(random.integers(0, 2, size))
        words.append([-1, *np.where(word > 0, word + 1, 0).tolist(), -1])  # word 1 has no subword
        row = np.where(random.random(size + 2) < 0.4, NO_LABEL, random.integers(0, 3, size + 2))
        row[1] = 2
        row[[0, -1] if number not in (3, 10) else slice(None)] = NO_LABEL
        labels.append(row)
    arrays: dict[str, Any] = {
        "input_ids": Ragged.from_rows(ids, np.int32),
        "words": Ragged.from_rows(words, np.int32),
        "example_id": np.array([str(n % 15) for n in range(30)]),
        "language": np.array(["en"] * 15 + ["xx"] * 15),
        "split": np.array(["train", "validation", "dev", "test", "train"] * 6),
    }
    of_unit = {"token": Ragged.from_rows(labels, np.int32), "text": random.integers(0, 3, 30)}
    meta = {"tokenizer": toy_tokenizer_digest(), "labels": ["a", "b", "c"]}
    folder = tmp_path_factory.mktemp("stores")
    for unit, of_all in of_unit.items():
        save_arrays(folder / unit, arrays | {"labels": of_all}, meta)
    return {unit: folder / unit for unit in of_unit}


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


def _extract(
    encoder: Path, store: Path, output: Path, layer: int = -1, **options: Any
) -> FeatureArrays:
    extract_features(encoder=encoder, store=store, output=output, **options)
    return read_features(output, layer)


TEXT = [("text", pooling) for pooling in ("cls", "pooler", "first", "last", "mean")]
WORD = [("word", pooling) for pooling in ("first", "last", "mean")]


@pytest.mark.parametrize(("unit", "pooling"), [*TEXT, *WORD, ("token", "pooler")])
def test_features_equal_one_forward_pass_each(
    encoder: Path,
    stores: dict[str, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    unit: str,
    pooling: str,
) -> None:
    monkeypatch.setattr("mbert_atlas.encoders.hidden_states.fitting_tokens", lambda device: 40)
    store, out = stores["text" if unit == "text" else "token"], tmp_path / "out"
    layers = [3] if (unit, pooling) == ("text", "pooler") else [2, 0, 3]
    options: dict[str, Any] = {"unit": "word"} if unit == "word" else {}  # else what has labels
    options |= {"layers": layers, "pooling": pooling, "splits": ["train", "test"]}
    found = _extract(encoder, store, out, **options)
    stored = load_arrays(store)
    labels, words = stored.arrays["labels"], stored.ragged("words")
    expected, examples, numbers = [], [], []
    for row, (states, pooler) in enumerate(_states(encoder, store)):
        if stored.dense("split")[row] not in ("train", "test"):
            continue
        spans = {
            "text": [[0] if pooling == "cls" else np.arange(1, len(words[row]) - 1)],
            "word": [np.flatnonzero(words[row] == w) for w in sorted({*words[row]} - {-1})],
            "token": [
                [subword] for subword in np.flatnonzero(np.atleast_1d(labels[row]) != NO_LABEL)
            ],
        }[unit]
        for span in spans:
            subwords = states[layers][:, span]
            pooled = {"last": subwords[:, -1], "mean": subwords.mean(1)}.get(
                pooling, subwords[:, 0]
            )
            expected.append(pooler[None] if layers == [3] else pooled)
            numbers.append(labels[row] if unit == "text" else labels[row][span[0]])
        examples += [row] * len(spans)
    for place, layer in enumerate(layers):
        vectors = read_features(out, layer).vectors
        np.testing.assert_allclose(vectors, np.stack(expected)[:, place], rtol=1e-3, atol=1e-4)
    assert (found.label_names, found.unit) == (["a", "b", "c"], unit)
    assert found.labels.tolist() == numbers
    rows, example = np.unique(examples, return_inverse=True)  # those without a label are gone
    assert found.example.tolist() == example.tolist()
    assert found.labels.dtype == found.example.dtype == np.int32
    for name in ("example_id", "language", "split"):
        assert getattr(found, name).tolist() == stored.dense(name)[rows].tolist()


def test_layers_and_types(encoder: Path, stores: dict[str, Path], tmp_path: Path) -> None:
    last = _extract(encoder, stores["text"], tmp_path / "last", pooling="cls")
    assert last.vectors.dtype == np.float16
    every = _extract(encoder, stores["text"], tmp_path / "all", layers="all", pooling="cls")
    assert load_arrays(tmp_path / "all").dense("vectors").shape == (4, 30, 16)
    np.testing.assert_array_equal(every.vectors, last.vectors)
    with pytest.raises(DataError, match=r"only layers \[3\] are stored"):
        read_features(tmp_path / "last", layer=1)


def test_reading_features(encoder: Path, stores: dict[str, Path], tmp_path: Path) -> None:
    found = _extract(encoder, stores["token"], tmp_path / "features")
    assert found.split is not None
    assert found.languages().tolist() == [found.language[row] for row in found.example]
    assert found.split[found.examples("dev")].tolist() == ["dev"] * 6
    rows = found.rows("dev")
    assert set(found.example[rows]) == set(found.examples("dev"))
    assert len(rows) == sum(found.split[row] == "dev" for row in found.example)
    codes, names = found.classes("language")
    labels, _ = found.classes("label")
    for example in range(28):
        inside = np.flatnonzero(found.example == example)
        assert np.array_equal(found.by_example[example], found.vectors[inside])
        assert set(names[codes[example]]) == {found.language[example]}
        assert np.array_equal(labels[example], found.labels[inside])
    with pytest.raises(DataError, match="split heldout: it has no examples"):
        found.examples("heldout")
    some = _extract(encoder, stores["token"], tmp_path / "some", languages=["xx", "yy"])
    assert set(some.language) == {"xx"}
    assert np.array_equal(some.vectors, found.vectors[found.languages() == "xx"])


def test_errors(encoder: Path, stores: dict[str, Path], tmp_path: Path) -> None:
    def raises(match: str, path: Path, **options: Any) -> None:
        with pytest.raises(AtlasError, match=match):
            extract_features(encoder=encoder, store=path, output=tmp_path / "out", **options)

    token, text = stores["token"], stores["text"]
    raises("hidden states 0 to 3", text, layers=[4])
    raises("last layer only", text, layers="all")
    raises("words cannot be pooled by cls", token, unit="word", pooling="cls")
    raises("there is no token of the splits gold, silver", token, splits=["silver", "gold"])
    raises("there is no text in the languages de, yy", text, languages=["yy", "de"])
    ids = load_arrays(text).ragged("input_ids")
    unlabelled = Ragged(np.full_like(ids.values, NO_LABEL), ids.offsets)
    raises("there is no token", _copy(token, tmp_path / "unlabelled", labels=unlabelled))
    short = [[CLS, SEP] if row in (2, 4) else ids[row] for row in range(len(ids))]
    bare = _copy(text, tmp_path / "bare", input_ids=Ragged.from_rows(short, np.int32))
    raises("row 4: the text has no token", bare, splits=["train"])
    raises("not made with the tokenizer of", _copy(text, tmp_path / "other", {"tokenizer": "0"}))
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "broken", ["os.posix_fallocate", "mbert_atlas.representations.extraction.span_vectors"]
)
def test_a_full_disk_leaves_nothing(
    encoder: Path,
    stores: dict[str, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    broken: str,
) -> None:
    array = create_array(tmp_path / "a.npy", "float32", (1000, 1000))
    assert (tmp_path / "a.npy").stat().st_blocks * 512 >= array.nbytes  # no holes
    assert not array.any()
    (tmp_path / "a.npy").unlink()

    def full(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(broken, full)
    with pytest.raises(AtlasError, match="no space left"):
        extract_features(encoder=encoder, store=stores["text"], output=tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("segments", [True, False])
def test_pairs_of_texts(encoder: Path, tmp_path: Path, segments: bool) -> None:
    rows = [["1", "2"], ["en"] * 2, ["test"] * 2, ["en1 en2s en3", "en4"], ["en5", "en6 en7s"]]
    pairs = pa.table([*rows, ["neutral", "entailment"], ["g"] * 2], schema=NLI_PAIRS)
    labels = ["entailment", "neutral", "contradiction"]
    encode("nli", pairs, encoder, tmp_path / "pairs", labels=labels, segment_ids=segments)
    found = _extract(encoder, tmp_path / "pairs", tmp_path / "out")
    ids = torch.tensor([[CLS, 6, 7, SUFFIX, 8, SEP, 10, SEP]])
    types = torch.tensor([[0, 0, 0, 0, 0, 0, 1, 1]]) * segments
    with torch.no_grad():
        expected = load_encoder(encoder).eval()(input_ids=ids, token_type_ids=types).pooler_output
    np.testing.assert_allclose(found.vectors[0], expected[0], rtol=1e-3, atol=1e-4)
    assert [labels[label] for label in found.labels] == ["neutral", "entailment"]
    assert found.split is None  # a store without splits is one split
    whole = _extract(encoder, tmp_path / "pairs", tmp_path / "whole", splits=["train"])
    assert len(whole.vectors) == 2
    with pytest.raises(DataError, match="split test: it has no examples"):
        whole.rows("test")


def test_stores_of_words_and_languages(encoder: Path, tmp_path: Path) -> None:
    columns = [["1"], ["en"], ["toy"], ["test"], ["en1s en2"], [["en1s", "en2"]]]
    columns += [[["NOUN", "VERB"]], [[0, 1]], [["root", "dep"]]]
    sentences, folder = pa.table(columns, schema=SENTENCES), tmp_path / "sentences"
    encode("tagging", sentences, encoder, folder, labels=["NOUN", "VERB"])
    tags = _extract(encoder, folder, tmp_path / "tags")
    words = {
        how: _extract(encoder, folder, tmp_path / how, unit="word", pooling=how)
        for how in ("first", "mean")
    }
    assert np.array_equal(words["first"].vectors, tags.vectors)
    assert not np.allclose(words["mean"].vectors[0], tags.vectors[0])  # two subwords
    assert np.array_equal(words["mean"].vectors[1], tags.vectors[1])  # one subword
    rows = [["1", "2"], ["xx", "en"], ["train", "test"], ["xx1s xx2", "en3"]]
    for unit, labels in (("text", [1, 0]), ("token", [1, 1, 0])):
        options: dict[str, Any] = {"labels": ["en", "xx"], "unit": unit}
        texts = pa.table(rows, LID_EXAMPLES)
        encode("language_identification", texts, encoder, tmp_path / unit, **options)
        found = _extract(encoder, tmp_path / unit, tmp_path / f"languages-{unit}")
        assert (found.unit, found.labels.tolist()) == (unit, labels)
        assert found.languages().tolist() == [["en", "xx"][label] for label in labels]
        assert found.examples("test").tolist() == [1]
    unlabelled = replace(words["mean"], labels=np.array([0, NO_LABEL], np.int32))
    with pytest.raises(DataError, match="some vectors have no label"):
        unlabelled.classes("label")
