from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch
from scipy.special import softmax
from seqeval.metrics import f1_score
from sklearn import metrics
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mbert_atlas.analysis import probing
from mbert_atlas.analysis.probing import (
    LinearProbe,
    _train_adam,
    _Training,
    fit_probe,
    predict,
    probe_features,
)
from mbert_atlas.analysis.scores import class_scores, tag_scores
from mbert_atlas.arrays import save_arrays
from mbert_atlas.config.probing import Probe
from mbert_atlas.errors import AtlasError, DataError
from mbert_atlas.files import read_json, read_parquet
from mbert_atlas.representations.reading import FeatureArrays, read_features
from mbert_atlas.schemas import CLASS_PREDICTIONS, TAG_PREDICTIONS

torch.set_num_threads(1)
SPLITS = ["train"] * 7 + ["validation", "dev", "test"]


def _write(
    folder: Path,
    examples: list[npt.NDArray[Any]],
    languages: list[str],
    splits: list[str] | None,
    unit: str = "token",
    dtype: str = "float16",
) -> Path:
    """Features of examples with one or several vectors each."""
    names = sorted(set(languages))
    lengths = [len(vectors) for vectors in examples]
    arrays: dict[str, Any] = {
        "vectors": np.concatenate(examples)[None].astype(dtype),
        "example": np.repeat(np.arange(len(examples)), lengths).astype(np.int32),
        "labels": np.repeat([names.index(code) for code in languages], lengths).astype(np.int32),
        "example_id": np.array([f"e{number}" for number in range(len(examples))]),
        "language": np.array(languages),
    }
    if splits is not None:
        arrays["split"] = np.array(splits)
    meta = {
        "labels": [name.upper() for name in names],
        "unit": unit,
        "pooling": None,
        "layers": [2],
    }
    save_arrays(folder, arrays, meta)
    return folder


def _clouds(
    folder: Path,
    unit: str = "token",
    *,
    count: int = 40,
    codes: tuple[str, ...] = ("l0", "l1", "l2", "l3"),
    splits: list[str] | None = SPLITS,
    spread: float = 1.0,
    dims: int = 8,
    seed: int = 0,
) -> Path:
    """``count`` examples of each language around its own centre."""
    random = np.random.default_rng(seed)
    languages = list(codes) * count
    examples = [
        random.normal(0, spread, (int(random.integers(1, 6)) if unit == "token" else 1, dims))
        + 10 * np.eye(dims)[int(code[1:])]
        for code in languages
    ]
    rows = None if splits is None else [splits[i // len(codes) % 10] for i in range(len(languages))]
    return _write(folder, examples, languages, rows, unit)


def _split(features: FeatureArrays, split: str) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    rows = features.rows(split)
    return features.vectors[rows].astype(np.float32), features.languages()[rows]


@pytest.mark.parametrize("unit", ["text", "token"])
def test_languages_are_predicted(tmp_path: Path, unit: str) -> None:
    wikipedia = _clouds(tmp_path / "wikipedia", unit)
    target = _clouds(tmp_path / "target", unit, count=6, codes=("l1", "l3", "l5"), splits=None)
    protocols = {"published": Probe(), "corrected": Probe(solver="lbfgs", standardise=True)}
    content = []
    for run in ("a", "b"):
        outputs = {name: tmp_path / run / f"{name}.parquet" for name in protocols}
        report = tmp_path / run / "report.json"
        probe_features(
            features={"wikipedia": wikipedia, "target": target},
            train_on="wikipedia",
            protocols=protocols,
            seed=4,
            output=outputs,
            report=report,
            threads=1,
        )
        content.append([path.read_bytes() for path in (*outputs.values(), report)])
    assert content[0] == content[1]
    data = {"wikipedia": read_features(wikipedia), "target": read_features(target)}
    expected = [("wikipedia", int(example)) for example in data["wikipedia"].examples("test")]
    expected += [("target", example) for example in range(18)]
    for name, probe in protocols.items():
        schema = CLASS_PREDICTIONS if unit == "text" else TAG_PREDICTIONS
        table = read_parquet(outputs[name], schema)
        facts = read_json(report)[name]
        assert facts["classes"] == [f"l{number}" for number in range(4)]
        assert facts["validation"][facts["chosen"]] == max(facts["validation"].values())
        penalties = ["0.001", "0.01", "0.1", "1"]  # of adam, epoch 0 competes
        assert [*facts["validation"]] == ([*"012345"] if probe.solver == "adam" else penalties)
        for row, (dataset, example) in zip(table.to_pylist(), expected, strict=True):
            features = data[dataset]
            language, size = features.language[example], len(features.by_example[example])
            assert (row["dataset"], row["language"]) == (dataset, language)
            assert row["example_id"] == features.example_id[example]
            if unit == "text":
                assert row["gold"] == language
                assert row["prediction"] == facts["classes"][np.argmax(row["probabilities"])]
                assert sum(row["probabilities"]) == pytest.approx(1, rel=1e-5)
            else:
                assert row["gold"] == [language] * size
                assert row["words"] == list(range(size))
                assert set(row["prediction"]) <= set(facts["classes"])
        scores = class_scores(table) if unit == "text" else tag_scores(table, unit="subword")
        scores = scores.set_index(["dataset", "language", "metric"])["value"]
        accuracy = "accuracy" if unit == "text" else "token_accuracy"
        assert scores["wikipedia", "all", accuracy] > 95
        assert scores["target", "l3", accuracy] > 95
        assert scores["target", "l5", accuracy] == 0  # not a class of the probe
        for dataset in data:
            assert 0 < facts["entropy"][dataset] < np.log(4)


def test_entropy_by_hand(tmp_path: Path) -> None:
    """Two classes with logits 1 and 0 times ln 3, on vectors of one dimension."""
    probe = LinearProbe(["a", "b"], np.float32([[np.log(3)], [0]]), np.zeros(2, np.float32))
    examples = [np.array([[1.0], [0.0]]), np.array([[200.0]])]
    features = read_features(_write(tmp_path / "f", examples, ["a", "b"], None))
    table, entropy = predict(probe, features, np.arange(2), "hand")
    quarter = np.log(4) - 0.75 * np.log(3)
    assert entropy == pytest.approx((quarter + np.log(2) + 0) / 3, rel=1e-3)  # 0 ln 0 is 0
    assert table["prediction"].to_pylist() == [["a", "a"], ["a"]]
    assert table["gold"].to_pylist() == [["a", "a"], ["b"]]


def test_published_probe_takes_adams_first_step(tmp_path: Path) -> None:
    """The loss is the mean over all tokens of the minibatch, not over its examples."""
    random = np.random.default_rng(2)
    examples = [random.normal(size=(size, 5)) for size in (1, 9, 2, 12)]
    folder = _write(tmp_path / "f", examples, ["c", "a", "b", "a"], ["train"] * 4, dtype="float32")
    probe = Probe(dropout=0, batch_size=4, epochs=1, learning_rate=0.01)
    data = _Training.of(read_features(folder), standardise=False)
    (zero, before, zeros), (one, after, bias) = _train_adam(data, probe, seed=1)
    assert (zero, one) == ("0", "1")
    assert not zeros.any()
    assert before.std() == pytest.approx(probe.initial_stddev, rel=0.5)
    x = np.concatenate(examples)
    y = np.repeat([2, 0, 1, 0], [1, 9, 2, 12])
    p = np.exp(x @ before.T) / np.exp(x @ before.T).sum(1, keepdims=True)
    error = p - np.eye(3)[y]
    gradient = error.T @ x / len(x)
    np.testing.assert_allclose(after, before - 0.01 * np.sign(gradient), atol=1e-5)
    np.testing.assert_allclose(bias, -0.01 * np.sign(error.mean(0)), atol=1e-5)
    by_example = (error / np.repeat([1, 9, 2, 12], [1, 9, 2, 12])[:, None]).T @ x
    assert (np.sign(by_example) != np.sign(gradient)).any()  # so the signs distinguish the two


@pytest.mark.parametrize("classes", [2, 4])
def test_corrected_probe_equals_a_scikit_learn_pipeline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, classes: int
) -> None:
    monkeypatch.setattr(probing, "_EXAMPLES_AT_A_TIME", 7)
    codes = ("l0", "l1", "l2", "l3")[:classes]
    features = read_features(_clouds(tmp_path / "f", codes=codes, spread=4.0))
    fitted = fit_probe(
        features, Probe(solver="lbfgs", standardise=True, inverse_penalties=(0.1,)), seed=0
    )
    expected = make_pipeline(StandardScaler(), LogisticRegression(C=0.1, max_iter=1000))
    expected.fit(*_split(features, "train"))
    x, y = _split(features, "validation")
    np.testing.assert_allclose(
        softmax(fitted.logits(x), axis=1), expected.predict_proba(x), atol=2e-3
    )
    macro = metrics.f1_score(y, expected.predict(x), average="macro")
    assert fitted.history == {"0.1": pytest.approx(macro)}


def test_corrected_probe_trains_on_a_sample(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    features = read_features(_clouds(tmp_path / "f"))
    x, _ = _split(features, "train")
    seen: list[npt.NDArray[Any]] = []

    class Spy(LogisticRegression):
        def fit(self, x: Any, y: Any) -> Any:
            seen.append(x)
            return super().fit(x, y)

    monkeypatch.setattr(probing, "LogisticRegression", Spy)
    probe = Probe(solver="lbfgs", inverse_penalties=(1.0,), maximum_vectors=50)
    for seed in (1, 1, 2):
        fit_probe(features, probe, seed)
    for sample in seen:
        assert sample.shape == np.unique(sample, axis=0).shape == (50, 8)
        assert {tuple(row) for row in sample} <= {tuple(row) for row in x}
    assert np.array_equal(seen[0], seen[1])
    assert not np.array_equal(seen[0], seen[2])
    fit_probe(features, probe.model_copy(update={"maximum_vectors": None}), 1)
    assert np.array_equal(seen[-1], x)


@pytest.mark.filterwarnings("ignore:.*seems not to be NE tag")
def test_the_best_epoch_by_either_score(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One candidate gets more tokens right, the other one more sentences; a third repeats it."""
    sizes, languages = [4, 4, 2, 3], ["en", "de", "en", "de"]
    tokens = np.eye(sum(sizes))
    examples = np.split(tokens, np.cumsum(sizes)[:-1])
    train = [np.zeros((1, len(tokens)))] * 2
    folder = _write(
        tmp_path / "f",
        [*train, *examples],
        ["de", "en", *languages],
        ["train"] * 2 + ["validation"] * 4,
    )
    guesses = {
        "one of each wrong": "eeed ddde ed dde",
        "two whole": "dddd eeee ee ddd",
        "two whole again": "dddd eeee ee ddd",
    }

    def tags(guess: str) -> list[list[str]]:
        return [[{"e": "en", "d": "de"}[letter] for letter in word] for word in guess.split()]

    def candidates(*_: Any) -> Any:
        for name, guess in guesses.items():
            letters = np.array(list(guess.replace(" ", "")))
            weights = np.stack([letters == "d", letters == "e"]).astype(np.float32)
            yield name, weights, np.zeros(2, np.float32)

    monkeypatch.setattr(probing, "_train_adam", candidates)
    gold = [[code] * size for code, size in zip(languages, sizes, strict=True)]
    best = {"macro_f1": "one of each wrong", "span_macro_f1": "two whole"}
    for selection, chosen in best.items():
        fitted = fit_probe(read_features(folder), Probe(selection=selection), 0)
        assert fitted.chosen == chosen
    spans = {name: f1_score(gold, tags(guess), average="macro") for name, guess in guesses.items()}
    assert fitted.history == pytest.approx(spans)


def test_errors(tmp_path: Path) -> None:
    wikipedia = _clouds(tmp_path / "wikipedia")

    def identify(
        wikipedia: Path = wikipedia, other: Path = wikipedia, probe: Probe | None = None
    ) -> None:
        probe_features(
            features={"wikipedia": wikipedia, "target": other},
            train_on="wikipedia",
            protocols={"published": probe or Probe()},
            seed=1,
            output={"published": tmp_path / "out.parquet"},
            report=tmp_path / "report.json",
            threads=1,
        )

    for missing in ("train", "validation", "test"):
        splits = [split if split != missing else "dev" for split in SPLITS]
        folder = _clouds(tmp_path / missing, splits=splits)
        with pytest.raises(DataError, match=f"split {missing}: it has no examples"):
            identify(folder)
    with pytest.raises(DataError, match="split test: it has no examples"):
        identify(_clouds(tmp_path / "unsplit", splits=None))
    with pytest.raises(DataError, match="only one language"):
        identify(_clouds(tmp_path / "one", codes=("l2",)))
    texts = _clouds(tmp_path / "texts", "text")
    with pytest.raises(AtlasError, match="span_macro_f1 is a score of sequences"):
        identify(texts, texts, Probe(selection="span_macro_f1"))
    with pytest.raises(DataError, match=r"language l\d: none of the 2 sampled vectors is in it"):
        identify(probe=Probe(solver="lbfgs", standardise=True, maximum_vectors=2))
    assert not (tmp_path / "out.parquet").exists()
