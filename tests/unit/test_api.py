"""The names of the API: their examples, their errors, and tidy tables of a finished run."""

from __future__ import annotations

import doctest
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from configs import ROOT
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from toy_results import finished_run

from mbert_atlas import api
from mbert_atlas.errors import AtlasError
from mbert_atlas.export.results import GUIDE
from mbert_atlas.files import read_json
from mbert_atlas.papers import names
from mbert_atlas.scorecard.rules import is_difference
from mbert_atlas.tokenizer import open_tokenizer

SMALL = ROOT / "docs/results/small"
RANDOM = np.random.default_rng(0)


@pytest.fixture(scope="module")
def small() -> api.FinishedRun:
    return api.load_results(SMALL)


@pytest.mark.parametrize("place", ["mbert_atlas/api.py", "docs/api.md"])
def test_examples(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    flags = doctest.NORMALIZE_WHITESPACE
    if place.endswith(".md"):
        failed, tried = doctest.testfile(
            str(ROOT / place), module_relative=False, optionflags=flags
        )
    else:
        failed, tried = doctest.testmod(api, optionflags=flags)
    assert (failed, tried > 5) == (0, True)


def test_every_name_has_an_example_or_is_a_result() -> None:
    functions = [name for name in api.__all__ if name[0].islower()]
    documented = (ROOT / "docs/api.md").read_text("utf-8")
    for name in functions:
        assert f"`{name}" in documented, name
        assert (
            ">>>" in (getattr(api, name).__doc__ or "")
            or f">>> {name}" in documented
            or (f"= {name}(" in documented)
        ), name


def test_lda_is_that_of_scikit_learn() -> None:
    languages = RANDOM.choice(["de", "ru", "tr"], 300, p=[0.5, 0.3, 0.2])
    vectors = RANDOM.normal(size=(300, 6)) + 2.0 * (languages[:, None] == ["de"]) * np.eye(6)[0]
    found = api.lda(vectors, languages)
    theirs = LinearDiscriminantAnalysis(solver="eigen").fit(vectors, languages).scalings_
    assert found.rank == 2
    cosine = np.abs((found.basis[:, 0] / np.linalg.norm(found.basis[:, 0])) @ theirs[:, 0])
    assert cosine / np.linalg.norm(theirs[:, 0]) == pytest.approx(1, abs=1e-9)


def test_densray_counts_each_language_once() -> None:
    """The scatter of the means, by its definition, whatever the number of vectors."""
    languages = np.array(["de"] * 30 + ["ru"] * 5 + ["tr"] * 10)
    vectors = RANDOM.normal(size=(45, 4)) + (languages == "ru")[:, None] * np.array([0, 3, 0, 0])
    found = api.densray(vectors, languages)
    means = np.stack([vectors[languages == code].mean(0) for code in ("de", "ru", "tr")])
    scatter = (means - means.mean(0)).T @ (means - means.mean(0)) / 2
    assert found.basis[:, :2].T @ scatter @ found.basis[:, :2] == pytest.approx(
        np.diag(found.values[:2])
    )


def test_fertility_is_that_of_the_tokenizer() -> None:
    folder = ROOT / "resources/encoders/many"
    tokenizer = open_tokenizer(folder)
    word = next(word for word in sorted(tokenizer.get_vocab()) if word.isalpha() and word.islower())
    ratio = api.fertility({"en": [f"{word} {word}", word], "de": [f"{word} 🜁"]}, folder)
    assert ratio["en"] == {"subwords_per_word": 1.0, "unknown": 0.0}
    assert ratio["de"] == {"subwords_per_word": 1.0, "unknown": 0.5}


X = RANDOM.normal(size=(20, 3))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: api.cka(X, X[:5]), "x has 20 rows and y 5; pass the same items in both."),
        (lambda: api.cka(X[0], X), "x is 3 of float64; pass numbers of shape (n, dims)."),
        (lambda: api.cka(X * np.nan, X), "x has values that are not finite"),
        (lambda: api.densray(X, ["de"] * 20), "all vectors are of de; pass those of two languages"),
        (lambda: api.lda(X, ["de"] * 3), "vectors has 20 vectors and 3 classes"),
        (lambda: api.lda(X[:4], ["de", "ru"] * 2), "cannot determine the covariance of 3 dim"),
        (lambda: api.probe((X, ["a"] * 20), (X, ["a"] * 20)), "probe, split train: it has only"),
        (lambda: api.probe((X, "ab" * 10), (X, "ab" * 10), epoch=3), "option epoch: Extra inputs"),
        (lambda: api.align_words([["a"]], []), "source has 1 sentences and target 0"),
        (lambda: api.align_words([["a"]], ["a"]), "target, sentence 0: pass a list of words"),
        (lambda: api.align_words([["a"]], [["b"]], aligner="x"), "no aligner 'x'; take one of"),
        (lambda: api.fertility({}, "x"), "there are no texts"),
        (lambda: api.fertility({"en": ["a"]}, "nowhere"), "nowhere"),
        (lambda: api.load_results("nowhere"), "nowhere: there is no claims.csv"),
    ],
)
def test_invalid_input_is_one_sentence(call: Callable[[], object], message: str) -> None:
    with pytest.raises(AtlasError) as error:
        call()
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_unknown_papers_and_figures(small: api.FinishedRun) -> None:
    with pytest.raises(AtlasError, match=r"no paper 'x'; name one of \w+2022, \w+2021, \w+2020,"):
        small.figure("x", 1)
    with pytest.raises(AtlasError, match=r"no paper 'x'"):
        small.claims("x")
    paper = small.papers[0]
    with pytest.raises(AtlasError, match=rf"{paper} has no table99 .*; name one of \w+\d?, "):
        small.table(paper, 99)


@pytest.mark.parametrize("paper", names())
def test_tables_are_tidy(small: api.FinishedRun, paper: str) -> None:
    """Every number of the run once, one meaning a column, ends around their value."""
    raw = pd.read_csv(SMALL / "measurements.csv.xz", keep_default_na=False, dtype=str)
    raw = raw[raw["paper"] == paper]
    assert small.artifacts(paper) == sorted(raw["artifact"].unique())
    for artifact in small.artifacts(paper):
        frame = small.artifact(paper, artifact)
        assert set(frame) <= set(GUIDE)
        place = [name for name in frame if name not in (*list(GUIDE)[-9:], "unit")]
        assert not frame.duplicated(place).any()
        some = raw[raw["artifact"] == artifact].astype({"value": float})
        values = some.groupby([*raw.columns[:9], "protocol"])["value"].mean()
        ends = [frame[name].dropna() for name in frame if name.startswith("measured_")]
        counted = [*frame["value"], *(each for end in ends for each in end)]
        assert sorted(counted) == pytest.approx(sorted(values))
        if "low" in frame:
            inside = frame.dropna(subset="low")
            assert (inside["low"] <= inside["value"] + 1e-9).all()
            assert (inside["value"] <= inside["high"] + 1e-9).all()
            assert (inside["interval"] != "").all()
        assert not ({"layer_summary", "layer_set"} <= set(frame))


def test_units_and_reported_values(tmp_path: Path) -> None:
    paper = names()[0]  # whose languages and reported numbers exist
    run = api.load_results(finished_run(tmp_path / "run", {"ru": 10}, paper=paper))
    frame = run.table(paper, 1)
    assert frame["unit"].unique().tolist() == ["%", ""]  # accuracy, entropy
    first = frame[frame["metric"] == "accuracy"].iloc[0]
    assert first[["value", "seeds", "n", "interval"]].tolist() == [50.0, 2, 5000, "seeds and items"]
    assert run.claims(paper)["id"].nunique() == run.claims()["id"].nunique() == 4
    assert is_difference("las", "random_init_delta")


def test_a_copy_has_the_numbers_of_its_run(small: api.FinishedRun) -> None:
    facts = read_json(SMALL / "run.json")
    assert small.results.facts == facts
    assert len(small.claims()) == len(pd.read_csv(SMALL / "claims.csv"))
