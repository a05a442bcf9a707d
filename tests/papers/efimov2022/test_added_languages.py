"""Another language in this paper's tables, with files and pairs of a user."""

from pathlib import Path

import pytest
from configs import CODES, LANGUAGES, ROOT

from mbert_atlas import papers
from mbert_atlas.config.marks import Targets, marked, place_of
from mbert_atlas.config.model import Config
from mbert_atlas.errors import DataError
from mbert_atlas.plan.plan import Plan
from workflow.files import check_files


def small(folder: Path, text: str) -> Config:
    path = folder / "mine.yaml"
    path.write_text(f"papers: [efimov2022]\n{text}")
    return papers.load([ROOT / "config/small.yaml", path], ROOT, CODES)


def test_a_language_with_its_own_files(tmp_path: Path) -> None:
    text = """
add_languages: [de]
datasets:
  wikimatrix:
    files_by_language: {de: [{path: mine/de.txt, format: lines, partners: [mine/en.txt]}]}
runs: {adjusted: {languages: [hi, de]}}
"""
    marks = marked(small(tmp_path, text))
    lists = {place_of(keys): [*it] for keys, it, mark in marks if isinstance(mark, Targets)}
    for place in ("datasets.wikimatrix.languages", "datasets.wikiann-test.languages"):
        assert lists[place][-1] == "de"
    assert lists["runs.ner.evaluate.wikiann-test"] == ["en", "hi", "de"]
    assert lists["efimov2022.tables.table3.languages"] == ["hi", "de"]
    assert lists["efimov2022.tables.controls.languages"] == ["hi"]  # its shuffled pairs are Hindi
    assert lists["runs.ner-adjusted.evaluate.wikiann-test"] == ["{language}", "en"]


def test_a_language_that_is_trained_on_stays(tmp_path: Path) -> None:
    with pytest.raises(
        DataError, match=r"line 2, key remove_languages: runs.adjusted and \d+ more are"
    ):
        small(tmp_path, "remove_languages: [hi]")


def test_the_last_language_of_a_list_stays(tmp_path: Path) -> None:
    text = """
remove_languages: [hi]
runs: {adjusted: null, qa: null, ner: null}
efimov2022: {figures: {figure1: null}, tables: {controls: null, aligners: null}}
"""
    with pytest.raises(DataError, match=r"line 3, key remove_languages: .* has no other language"):
        small(tmp_path, text)


def test_a_claim_about_one_language_needs_it(tmp_path: Path) -> None:
    config = small(tmp_path, "remove_languages: [es]")
    with pytest.raises(DataError, match=r"remove_languages: the claim .* needs 'es'; keep it"):
        check_files(Plan(config, LANGUAGES, home=ROOT))
