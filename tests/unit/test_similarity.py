"""CKA equals its definitions, its bands cover known truths, only parallel texts are compared."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tiny_models import make_tokenizer, text_table

from mbert_atlas.analysis.resampling import resamples
from mbert_atlas.analysis.similarity import (
    Kernel,
    _shuffled,
    compare,
    compare_windows,
    kernels,
    measure_similarity,
    parallel_sentences,
    window_kernels,
)
from mbert_atlas.arrays import load_arrays, save_arrays
from mbert_atlas.encoders.loading import load_tokenizer
from mbert_atlas.encoding import encode
from mbert_atlas.errors import AtlasError, DataError
from mbert_atlas.files import read_parquet
from mbert_atlas.representations.reading import read_features
from mbert_atlas.schemas import SIMILARITIES

MEASURES = [
    *("cka_linear", "cka_linear_debiased", "cka_linear_uncentred", "cka_rbf"),
    "cka_shuffled",
]
ENDS = ("en", "ru"), ("ru", "en")


def pair(n: int, p: int = 7, q: int = 5, seed: int = 0, offset: float = 0.0) -> Any:
    """Two languages that share three directions of meaning."""
    random = np.random.default_rng(seed)
    shared = random.normal(size=(n, 3))
    x = shared @ random.normal(size=(3, p)) + random.normal(size=(n, p)) + offset
    return x, shared @ random.normal(size=(3, q)) + 0.5 * random.normal(size=(n, q)) + offset


def by_definition(k: np.ndarray, l: np.ndarray) -> float:  # noqa: E741
    """CKA with explicit centring matrices (Kornblith et al. 2019, Eq. 3 and 4)."""
    centring = np.eye(len(k)) - 1 / len(k)

    def hsic(a: np.ndarray, b: np.ndarray) -> float:
        return float(np.trace(centring @ a @ centring @ centring @ b @ centring))

    return hsic(k, l) / np.sqrt(hsic(k, k) * hsic(l, l))


def rbf(x: np.ndarray, sigma: float | None = None) -> np.ndarray:
    squares = ((x[:, None] - x) ** 2).sum(-1)
    sigma = sigma or np.sqrt(np.median(squares[squares != 0]))
    return np.asarray(np.exp(-squares / (2 * sigma**2)))


def unbiased(k: np.ndarray, l: np.ndarray) -> float:  # noqa: E741
    """Song et al. (2012), Eq. 5, by loops over cells."""
    k, l = k - np.diag(k.diagonal()), l - np.diag(l.diagonal())  # noqa: E741
    n, ones = len(k), np.ones(len(k))
    whole = (ones @ k @ ones) * (ones @ l @ ones) / ((n - 1) * (n - 2))
    return float((np.trace(k @ l) + whole - 2 / (n - 2) * ones @ k @ l @ ones) / (n * (n - 3)))


def cka(x: np.ndarray, y: np.ndarray, measure: str = "cka_linear") -> float:
    """One measure of two languages."""
    return compare(kernels(x), kernels(y))[measure].value


@pytest.mark.parametrize("n", [9, 40])  # fewer sentences than dims, and more
@pytest.mark.parametrize("dtype", [np.float64, np.float16])
def test_cka_equals_its_definition(n: int, dtype: Any) -> None:
    x, y = (side.astype(dtype) for side in pair(n, offset=3.0))
    a, b = x.astype(float), y.astype(float)
    estimates = compare(kernels(x), kernels(y))
    assert list(estimates) == MEASURES
    values = {measure: estimate.value for measure, estimate in estimates.items()}
    assert values["cka_linear"] == pytest.approx(by_definition(a @ a.T, b @ b.T), abs=1e-8)
    plain = np.linalg.norm(b.T @ a) ** 2 / np.linalg.norm(a.T @ a) / np.linalg.norm(b.T @ b)
    assert values["cka_linear_uncentred"] == pytest.approx(plain, abs=1e-8)
    assert values["cka_rbf"] == pytest.approx(by_definition(rbf(a), rbf(b)), abs=1e-8)


def test_the_examples_of_the_comments() -> None:
    x, y = np.array([[1.0], [2], [6]]), np.array([[0.0], [0], [3]])
    assert cka(x, y) == pytest.approx(81 / 84)
    assert cka(x, y, "cka_linear_uncentred") == pytest.approx(324 / 369)
    assert rbf(x)[0].round(2).tolist() == [1, 0.97, 0.46]
    assert Kernel(np.outer([-2, -1, 3], [-2, -1, 3]), "centred").own[[0, 3]].tolist() == [196, 0.25]


def test_invariances() -> None:
    x, y = pair(60)
    rotation = np.linalg.qr(np.random.default_rng(1).normal(size=(7, 7)))[0]
    same = 3.7 * x @ rotation + np.arange(7)
    for measure in ("cka_linear", "cka_rbf"):
        assert cka(same, y, measure) == pytest.approx(cka(x, y, measure), abs=1e-10)
    assert cka(x, same) == pytest.approx(1, abs=1e-10)
    for measure, estimate in compare(kernels(x), kernels(x)).items():
        if measure != "cka_shuffled":
            assert estimate[:4] == pytest.approx((1, 1, 1, 60))
    assert abs(cka(x * [9, 1, 1, 1, 1, 1, 1], y) - cka(x, y)) > 0.02
    random = np.random.default_rng(2).normal(size=(2, 400, 5))
    assert cka(*random) < 0.05
    assert cka(*(random + 5), "cka_linear_uncentred") > 0.9  # a common offset alone


def test_equal_sentences_do_not_move_the_bandwidth() -> None:
    x, y = pair(30)
    x[7] = x[3]
    squares = ((x[:, None] - x) ** 2).sum(-1)[np.triu_indices(30, 1)]
    sigma = float(np.sqrt(np.median(squares[squares > 0])))
    expected = by_definition(rbf(x, sigma), rbf(y))
    assert cka(x, y, "cka_rbf") == pytest.approx(expected, abs=1e-8)


def test_leaving_out_sentences_in_closed_form() -> None:
    x, y = pair(12, offset=1.0)
    found, other = kernels(x), kernels(y)
    for left_out in range(12):
        rest = np.arange(12) != left_out
        a, b = x[rest], y[rest]
        centring = np.eye(11) - 1 / 11
        of_a, of_b = (
            {
                "cka_linear": centring @ (side @ side.T) @ centring,
                "cka_linear_uncentred": side @ side.T,
                "cka_rbf": centring @ kernel[np.ix_(rest, rest)] @ centring,
            }
            for side, kernel in ((a, rbf(x)), (b, rbf(y)))
        )
        for measure in of_a:
            expected = (of_a[measure] * of_b[measure]).sum()
            sums = found[measure].sums(other[measure])
            assert sums[1 + left_out] == pytest.approx(expected, abs=1e-8)
        name = "cka_linear_debiased"
        expected = unbiased(a @ a.T, b @ b.T) * 11 * 8
        sums = found[name].sums(other[name])
        assert sums[1 + left_out] == pytest.approx(expected, rel=1e-9)
    assert sums[0] == pytest.approx(unbiased(x @ x.T, y @ y.T) * 12 * 9, rel=1e-9)


def test_bands_cover_the_truth_as_often_as_they_say() -> None:
    """Gaussian vectors, whose CKA for infinitely many sentences is that of their covariances."""
    random = np.random.default_rng(5)
    a, b = (random.normal(size=(3, 20)) / np.sqrt(3) for _ in range(2))
    within = [side.T @ side + np.eye(20) for side in (a, b)]
    truth = np.linalg.norm(a.T @ b) ** 2 / np.prod([np.linalg.norm(side) for side in within])
    covered, values, bands = [], [], []
    for _ in range(400):
        shared = random.normal(size=(80, 3))
        x, y = (shared @ side + random.normal(size=(80, 20)) for side in (a, b))
        found = compare(kernels(x), kernels(y))
        debiased, plain = found["cka_linear_debiased"], found["cka_linear"]
        covered.append(debiased.low < truth < debiased.high)
        values.append([debiased.value, plain.value])
        bands.append([plain.low, plain.high])
    assert 0.92 < np.mean(covered) < 0.98
    debiased_mean, plain_mean = np.mean(values, axis=0)
    assert abs(debiased_mean - truth) < 0.01
    assert plain_mean > truth + 0.03  # 80 sentences of 20 dims
    low, high = np.transpose(bands)
    assert 0.92 < np.mean((low < plain_mean) & (plain_mean < high)) < 0.98


def test_resamples_weigh_what_each_sentence_adds() -> None:
    """Of the debiased CKA, by leaving out each sentence and computing from the definition."""
    n = 40
    x, y = pair(n)

    def debiased(a: np.ndarray, b: np.ndarray) -> float:
        k, l = a @ a.T, b @ b.T  # noqa: E741
        return unbiased(k, l) / np.sqrt(unbiased(k, k) * unbiased(l, l))

    found = compare(kernels(x), kernels(y))["cka_linear_debiased"]
    without = [debiased(np.delete(x, i, 0), np.delete(y, i, 0)) for i in range(n)]
    influence = (n - 1) * (np.mean(without) - np.array(without))
    ids = [f"n{number:02d}" for number in np.random.default_rng(4).permutation(n)]
    times = resamples(ids)[:, np.argsort(np.argsort(ids))].astype(float)  # columns as the sentences
    expected = debiased(x, y) + (times - 1) @ influence / n
    resampled = found.resampled(ids)
    assert resampled.dtype == np.float32
    assert resampled == pytest.approx(expected, abs=1e-5)
    jackknife = (n - 1) / n * ((without - np.mean(without)) ** 2).sum()
    assert np.var(expected, ddof=1) == pytest.approx(jackknife, rel=4 * np.sqrt(2 / 399))


def test_resamples_vary_as_other_sentences_do() -> None:
    random = np.random.default_rng(8)
    a, b = (random.normal(size=(3, 20)) for _ in range(2))
    values, errors = [], []
    for _ in range(200):
        shared = random.normal(size=(100, 3))
        x, y = (shared @ side + random.normal(size=(100, 20)) for side in (a, b))
        found = compare(kernels(x), kernels(y))["cka_linear_debiased"]
        values.append(found.value)
        errors.append(np.std(found.resampled([str(item) for item in range(100)])))
    assert np.mean(errors) == pytest.approx(np.std(values), rel=0.2)


@pytest.mark.parametrize(("sentences", "size"), [(150, 147), (203, 200), (260, 200)])
def test_windows(sentences: int, size: int) -> None:
    x, y = pair(sentences)
    windows = [slice(start, start + size) for start in range(4)]
    values = [by_definition(rbf(x[window]), rbf(y[window])) for window in windows]
    found = compare_windows(window_kernels(x), window_kernels(y))["cka_rbf"]
    mean, deviation = np.mean(values), np.std(values)
    assert found[:4] == pytest.approx((mean, mean - deviation, mean + deviation, size), abs=1e-9)


@pytest.mark.parametrize("function", [kernels, window_kernels])
def test_equal_vectors_cannot_be_compared(function: Callable[..., Any]) -> None:
    with pytest.raises(AtlasError, match="all vectors are the same"):
        function(np.ones((20, 3)))


@pytest.fixture
def features(tmp_path: Path) -> Callable[..., Path]:
    """Write vectors of two layers of the same sentences in three languages, mixed."""

    def write(name: str = "f", n: int = 30, **changes: Any) -> Path:
        x, y = pair(n)
        z = pair(n, q=7, seed=3)[1]
        by_language = {"en": x, "ru": np.pad(y, ((0, 0), (0, 2))), "xx": z}
        order = np.random.default_rng(9).permutation(3 * n)
        order = order[np.argsort(order % n, kind="stable")]  # by sentence, languages in any order
        languages = np.repeat(list(by_language), n)[order]
        ids = [f"{code}_pud-n{k % n:03d}" for code, k in zip(languages, order, strict=True)]
        vectors = np.concatenate(list(by_language.values()))[order]
        arrays = {
            "vectors": np.stack([vectors, vectors**3]).astype(np.float32),
            "example": np.arange(3 * n, dtype=np.int32),
            "labels": np.full(3 * n, -100, np.int32),
            "example_id": np.array(ids),
            "language": languages,
        }
        changed = {key: change(arrays) for key, change in changes.items() if callable(change)}
        meta = {"layers": [0, 4], "labels": [], "unit": changes.get("unit", "text")}
        save_arrays(tmp_path / name, arrays | changed, meta)
        return tmp_path / name

    return write


def test_every_layer_and_pair(features: Callable[..., Path], tmp_path: Path) -> None:
    path = features()
    measure_similarity({"published": path, "corrected": path}, ["en", "ru"], tmp_path / "s.parquet")
    frame = read_parquet(tmp_path / "s.parquet", SIMILARITIES).to_pandas()
    assert len(frame) == 2 * 4 * (2 + len(MEASURES))  # layers, pairs, measures by protocol
    rows = {tuple(row[:5]): row for row in frame.itertuples(index=False)}
    en, ru = (side.astype(np.float32) for side in pair(30))
    got = rows["corrected", "en", "ru", 0, "cka_linear"]
    assert got.value == pytest.approx(cka(en, ru), abs=1e-8)
    for layer in (0, 4):
        got, back = (rows["corrected", *those, layer, "cka_linear"] for those in ENDS)
        assert got.low < got.value < got.high
        assert back.value == pytest.approx(got.value, abs=1e-12)
        assert rows["published", "ru", "xx", layer, "cka_rbf"].n == 27
    assert not frame[["value", "low", "high"]].isna().any(axis=None)
    has = frame.measure.isin(["cka_linear_debiased", "cka_shuffled"])
    has &= frame.protocol == "corrected"
    assert frame.resampled[~has].isna().all()
    assert {values.shape for values in frame.resampled[has]} == {(400,)}
    got = rows["corrected", "en", "ru", 0, "cka_linear_debiased"]
    ids = [f"n{k:03d}" for k in range(30)]
    expected = compare(kernels(en), kernels(ru))["cka_linear_debiased"].resampled(ids)
    assert got.resampled == pytest.approx(expected, abs=1e-5)


def test_shuffled_pairs_are_not_similar(tmp_path: Path) -> None:
    """The control: sentences share more from layer to layer, but only with their translations."""
    random, n = np.random.default_rng(6), 300
    shared = random.normal(size=(n, 4)) * [4, 2, 1, 1]
    layers = [
        np.concatenate(
            [
                amount * shared @ random.normal(size=(4, 32)) + random.normal(size=(n, 32))
                for _ in ("en", "ru")
            ]
        )
        for amount in (0.1, 1.0)
    ]
    languages = np.repeat(["en", "ru"], n)
    arrays = {
        "vectors": np.stack(layers).astype(np.float32),
        "example": np.arange(2 * n, dtype=np.int32),
        "labels": np.full(2 * n, -100, np.int32),
        "example_id": np.array([f"{code}_pud-n{k % n:03d}" for k, code in enumerate(languages)]),
        "language": languages,
    }
    save_arrays(tmp_path / "f", arrays, {"layers": [0, 1], "labels": [], "unit": "text"})
    measure_similarity({"corrected": tmp_path / "f"}, ["en"], tmp_path / "s.parquet")
    frame = read_parquet(tmp_path / "s.parquet", SIMILARITIES).to_pandas()
    value, resampled = (
        frame.set_index(["measure", "layer"])[name] for name in ("value", "resampled")
    )

    def rise(measure: str) -> tuple[float, float]:
        error = np.std(resampled[measure, 1] - resampled[measure, 0])
        effect = value[measure, 1] - value[measure, 0]
        return effect - 1.96 * error, effect + 1.96 * error

    assert rise("cka_linear_debiased")[0] > 0.3
    low, high = rise("cka_shuffled")
    assert -0.05 < low < 0 < high < 0.05
    ends = frame[frame.measure == "cka_shuffled"]
    assert ((ends.low < 0) & (ends.high > 0)).all()
    vectors = [side.astype(np.float32) for side in np.split(layers[0], 2)]
    assert compare_windows(*map(window_kernels, vectors))["cka_shuffled"].value > 0.1  # biased


def test_no_shuffled_sentence_keeps_its_place() -> None:
    numbers = np.arange(9.0)
    shuffled = _shuffled(np.outer(numbers, numbers))
    order = np.sqrt(shuffled.diagonal())
    assert sorted(order) == numbers.tolist()
    assert (order != numbers).all()
    assert shuffled == pytest.approx(np.outer(order, order))


def test_sentences_that_do_not_match(features: Callable[..., Path], tmp_path: Path) -> None:
    def raises(match: str, path: Path, pivots: tuple[str, ...] = ("en",)) -> None:
        with pytest.raises(DataError, match=match):
            measure_similarity({"corrected": path}, pivots, tmp_path / "out.parquet")
        assert not (tmp_path / "out.parquet").exists()

    def unequal(arrays: dict[str, Any]) -> Any:
        languages = arrays["language"].copy()
        languages[np.flatnonzero(languages == "ru")[-1]] = "en"
        return languages

    def renamed(arrays: dict[str, Any]) -> Any:
        return np.char.replace(arrays["example_id"], "ru_pud-n007", "ru_pud-n107")

    raises("7 sentences are too few", features("few", n=7))
    raises(r"f, languages .*: (31|29|30) and (31|29|30) sentences; ", features(language=unequal))
    path = features(example_id=renamed)
    raises(r"languages .*, sentence 8: .*_pud-n\d07 and .*_pud-n\d07 are not the same", path)
    rows = parallel_sentences(read_features(features()))
    assert {len(own) for own in rows.values()} == {30}


@pytest.mark.parametrize("repeat", [False, True])
def test_texts_with_specials_once_and_twice(tmp_path: Path, repeat: bool) -> None:
    tokenizer = make_tokenizer(tmp_path)
    texts = ["the cat sees", "unable", "你好 the dog , a b", "the cat sees a dog - " * 4]
    table = text_table(texts, ["en", "en", "zh", "en"])
    store, options = tmp_path / "store", {"max_length": 16, "repeat_specials": repeat}
    encode("text", table, tokenizer, store, **options)
    given = [f"[CLS] {text} [SEP]" if repeat else text for text in texts]
    expected = load_tokenizer(tokenizer)(given, truncation=True, max_length=16)["input_ids"]
    ids = load_arrays(store).ragged("input_ids")
    assert [ids[row].tolist() for row in range(4)] == expected
    subwords = load_tokenizer(tokenizer).convert_ids_to_tokens(expected[0])
    inner = ["[CLS]", "the", "cat", "see", "##s", "[SEP]"]
    assert len(subwords) == len(ids[0])
    assert (subwords[:2] == inner[:1] * 2) is repeat
    assert (subwords[-2:] == inner[-1:] * 2) is repeat


def test_texts_stay_parallel_and_need_their_columns(tmp_path: Path) -> None:
    tokenizer = make_tokenizer(tmp_path)
    encode("text", text_table(["🜁", "", "cat"], ["en"] * 3), tokenizer, tmp_path / "s")
    assert load_arrays(tmp_path / "s").ragged("input_ids").lengths.tolist() == [3, 2, 3]
    with pytest.raises(DataError, match="column text: missing"):
        encode("text", pa.table({"id": ["1"], "language": ["en"]}), tokenizer, tmp_path / "s")


@pytest.mark.parametrize("n", [3, 4, 5])
def test_too_few_sentences_give_no_number(n: int) -> None:
    """Two centred sentences always have a CKA of 1, so a jackknife of three would be certain."""
    for seed in range(20):
        random = np.random.default_rng(seed)
        one, other = (kernels(random.normal(size=(n, 4))) for _ in range(2))
        for name, kernel in one.items():
            found, least = kernel.compare(other[name]), 4 if "debiased" in name else 3
            assert np.isnan(found.value) or n >= least
            assert n > least or (np.isnan(found.low) and np.isnan(found.high))
            assert not np.isinf([found.value, found.low, found.high]).any()
            if n > least and not np.isnan([found.value, found.low]).any():
                assert found.low < found.value < found.high
