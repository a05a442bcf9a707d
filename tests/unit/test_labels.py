"""Readers meet names, never identifiers."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest
from configs import ROOT, config

from mbert_atlas import papers
from mbert_atlas.labels import label, language, listed, places
from mbert_atlas.languages import Languages
from mbert_atlas.plan.plan import Plan

REPORTED = sorted((ROOT / "resources/reported").glob("*.csv"))
NAMES = {"en": "English", "hi": "Hindi"}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("mlqa:qa", "MLQA"),
        (
            "mlqa:qa_question_target_paragraph_english",
            "MLQA: questions in the target language, paragraphs in English",
        ),
        ("xnli_mixed", "mixed-language XNLI"),
        ("adjusted_continual-qa", "adjusted continual QA"),
        ("densray_0-10", "DensRay 0-10"),
        ("macro_f1_label", "macro F1, labels"),
        ("v_measure_language_target", "V-measure, languages of the test set"),
        ("v_measure_label_minus_fine_tuned", "V-measure, labels: difference from fine-tuned"),
        ("f1_holm_p_value_vs_original", "F1: p-value of the difference from original (Holm)"),
        ("grad_rev_lambda", "weight of gradient reversal (lambda)"),
        ("cka_percent_low", "CKA (%), lower end of its interval"),
        ("alpha=-1", "alpha = -1"),
        ("", ""),
    ],
)
def test_identifiers_have_labels(name: str, text: str) -> None:
    assert label(name) == text


def test_a_place_may_have_names_of_its_own() -> None:
    assert label("adjusted_30K", {"adjusted_30K": "1,500 sentences"}) == "1,500 sentences"
    assert language("en+hi", NAMES) == "English + Hindi"
    assert language("zero_shot", NAMES) == "zero shot"
    assert [listed([]), listed(["a"]), listed(["a", "b", "c"])] == ["", "a", "a, b and c"]


@pytest.mark.parametrize("path", REPORTED, ids=lambda path: path.stem)
@pytest.mark.parametrize("column", ["task", "model", "condition", "metric"])
def test_no_label_of_what_is_reported_is_raw_and_none_is_shared(path: Path, column: str) -> None:
    with open(path, encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    for artifact in {row["artifact"] for row in rows}:
        found = {row[column] for row in rows if row["artifact"] == artifact}
        labels = {label(name) for name in found}
        assert len(labels) == len(found)
        assert not [text for text in labels if re.search(r"_|:\w", text)]


def test_places_follow_the_name_and_not_what_else_is_drawn() -> None:
    order = ["original", "adjusted", "continual"]
    assert places(["continual", "original"], order) == {"original": 0, "continual": 2}
    assert places(["z", "adjusted", "a"], order) == {"adjusted": 1, "a": 3, "z": 4}


@pytest.mark.parametrize("paper", papers.names())
def test_titles_of_figures_take_languages_from_the_config(paper: str) -> None:
    languages = Languages.read(ROOT / "resources/languages.csv")
    unnamed = {item.code: item.model_copy(update={"name": "this language"}) for item in languages}
    plan = Plan(config(papers=[paper]), Languages(languages.path, unnamed))
    titles = [str(item.options().get("title")) for item in plan.figures.values()]
    assert titles
    for title in titles:
        assert not [item.name for item in languages if re.search(rf"\b{item.name}\b", title)]
