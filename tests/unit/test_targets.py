"""Languages that are added to, or removed from, all that is evaluated, over every preset."""

import csv
from pathlib import Path
from typing import Any

import pytest
from configs import CODES, LANGUAGES, ROOT, config_errors
from planned_files import PlannedFiles

from mbert_atlas import papers
from mbert_atlas.config.marks import Targets, Trained, marked, place_of
from mbert_atlas.config.model import Config
from mbert_atlas.errors import DataError
from mbert_atlas.plan.plan import Plan
from workflow.files import check_files

PRESETS = {
    "demo": ["config/demo.yaml"],
    "small": ["config/small.yaml"],
    "small-scratch": ["config/small.yaml", "config/small-scratch.yaml"],
    "paper": [],
}


def config_of(preset: str, folder: Path | None = None, text: str = "") -> Config:
    files = [ROOT / file for file in PRESETS[preset]]
    if folder:
        files.append(folder / "mine.yaml")
        files[-1].write_text(text)
    return papers.load(files, ROOT, CODES)


def lists_in(config: Config) -> dict[str, list[str]]:
    """The languages of every list of targets, by its place."""
    marks = marked(config)
    return {place_of(keys): [*value] for keys, value, mark in marks if isinstance(mark, Targets)}


@pytest.mark.parametrize(
    ("preset", "code", "measured"),
    [
        ("demo", "cs", "efimov2022/table1 liang2021/table2 liu2020/table4 tanti2021/table2_udpos"),
        ("demo", "it", "muller2021/table6 muller2021/table7 muller2021/table8"),
        ("small", "th", "efimov2022/table1 liang2021/table2 liu2020/table4 tanti2021/table2_udpos"),
        ("small", "th", "muller2021/table6 muller2021/figure5 liu2020/table2"),
        ("small", "sv", "efimov2022/table1 liang2021/table2 muller2021/table7"),
        ("paper", "sv", "efimov2022/table1 liang2021/table5 liu2020/figure1 muller2021/table8"),
    ],
)
def test_a_language_arrives_in_what_papers_measure(
    tmp_path: Path, preset: str, code: str, measured: str
) -> None:
    text = f"{{comparable: false, add_languages: [{code}]}}"
    plan = Plan(config_of(preset, tmp_path, text), LANGUAGES, home=ROOT)
    files = PlannedFiles(plan, tmp_path)
    for key in measured.split():
        with files.measurement(key).open(encoding="utf-8") as stream:
            assert code in {row["target"] for row in csv.DictReader(stream)}, key


LEFT_OUT = {
    ("small", "th"): [
        "datasets.bible: no file of it is named in datasets.bible.files_by_language.",
        "datasets.muse: it is not in datasets.bible.languages.",
        "efimov2022.{figures.figure1, figures.figure2, tables.aligners, tables.controls, "
        "tables.table3}: runs are trained by language, and it is not in runs.adjusted.languages.",
    ],
    ("small", "sv"): [
        "datasets.wikiann-test: there is no wikiann/panx/dev-sv.tsv.",
        "datasets.xnli: there is no xnli/xtreme/test-sv.tsv.",
        "liu2020.translation: it is not in datasets.xnli.languages.",
    ],
    ("small", "la"): [
        "datasets.{parallel-sentences, trees-test, udpos-test, xtreme-pos-test}"
        ": there is no universal-dependencies/UD_Latin-PUD/la_pud-ud-test.conllu.",
        "datasets.typology: it has no wals_code in resources/languages.csv.",
    ],
    ("demo", "sw"): [
        "datasets.{domains-own, trees-native, trees-test, udpos-test, xtreme-pos-test}"
        ": it has no ud_name in resources/languages.csv."
    ],
    ("paper", "sv"): [
        "datasets.trees-native: no file of it is named in datasets.trees-native.files_by_language.",
        "datasets.mlqa: mlqa/MLQA_V1.zip does not have it.",
        "datasets.{xnli, xnli-validation}: xnli/XNLI-1.0.zip does not have it.",
        "datasets.xquad: there is no xquad/xquad.sv.json.",
        "efimov2022.tables.table8: it is not in any of its tests.",
    ],
    ("paper", "hi_rom"): ["datasets.wikipedia: it has no wiki in resources/languages.csv."],
}


@pytest.mark.parametrize(("preset", "code"), LEFT_OUT)
def test_where_a_language_cannot_be(tmp_path: Path, preset: str, code: str) -> None:
    config = config_of(preset, tmp_path, f"{{comparable: false, add_languages: [{code}]}}")
    sentences = [f"add_languages: {code} is not in {text}" for text in LEFT_OUT[preset, code]]
    assert {*sentences} <= {*config.left_out}
    if (preset, code) == ("small", "th"):
        assert config.left_out == sentences


@pytest.mark.parametrize("preset", PRESETS)
def test_only_targets_change(tmp_path: Path, preset: str) -> None:
    """Nothing is trained on another language, and lists grow at their ends."""
    text = "{comparable: false, add_languages: [it, ro]}"
    before, after = config_of(preset), config_of(preset, tmp_path, text)
    old = lists_in(before)
    gained = {place: codes[len(old[place]) :] for place, codes in lists_in(after).items()}
    assert {code for codes in gained.values() for code in codes} <= {"it", "ro"}
    assert any(gained.values())
    assert lists_in(after) == {place: old[place] + gained[place] for place in old}
    for _, name, mark in marked(before):
        if isinstance(mark, Trained):
            assert after.datasets[name] == before.datasets[name]
    plans = [Plan(config, LANGUAGES, home=ROOT) for config in (before, after)]
    for name, encoder in before.encoders.items():
        if encoder.scratch or encoder.changed:
            assert len({tuple(plan.pretraining_texts(name)) for plan in plans}) == 1
    families: list[Any] = [config.runs for config in (before, after)]
    for old, new in zip(*(runs.values() for runs in families), strict=True):
        assert (old.languages, old.published) == (new.languages, new.published)


def test_a_language_with_its_own_files(tmp_path: Path) -> None:
    text = """
comparable: false
add_languages: [de]
datasets:
  wikimatrix:
    files_by_language: {de: [{path: mine/de.txt, format: lines, partners: [mine/en.txt]}]}
runs: {adjusted: {languages: [hi, de]}}
"""
    lists = lists_in(config_of("small", tmp_path, text))
    for place in ("datasets.wikimatrix.languages", "datasets.wikiann-test.languages"):
        assert lists[place][-1] == "de"
    assert lists["runs.ner.evaluate.wikiann-test"] == ["en", "hi", "de"]
    assert lists["efimov2022.tables.table3.languages"] == ["hi", "de"]
    assert lists["efimov2022.tables.controls.languages"] == ["hi"]  # its shuffled pairs are Hindi
    assert lists["runs.ner-adjusted.evaluate.wikiann-test"] == ["{language}", "en"]


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("add_languages: [sv, sv]", ["line 1, key add_languages: the same twice: sv"]),
        (
            "comparable: false\nadd_languages: [zv]",
            ["line 2, key add_languages: 'zv' is not defined as a language; did you mean"],
        ),
        ("add_languages: [sv]", ["line 1, key add_languages: means over other languages"]),
        (
            "comparable: false\nadd_languages: [en, sv]\nremove_languages: [sv]",
            [
                "line 2, key add_languages: 'en' is a training language everywhere",
                "line 3, key remove_languages: 'sv' is added, too",
            ],
        ),
        (
            "comparable: false\nremove_languages: [hi]",
            ["line 2, key remove_languages: runs.adjusted and "],
        ),
        (
            "comparable: false\nremove_languages: [el]",
            ["line 2, key remove_languages: liu2020.translation.drawn needs 'el'; keep it"],
        ),
        (
            "comparable: false\nremove_languages: [zh_classical, hi_rom]",
            ["line 2, key remove_languages: no list has 'hi_rom'; delete it"],
        ),
    ],
)
def test_mistakes(tmp_path: Path, text: str, sentences: list[str]) -> None:
    errors = config_errors(tmp_path, text).splitlines()
    for sentence in sentences:
        assert any(line.startswith(sentence) for line in errors), errors


def test_the_last_language_of_a_list_stays(tmp_path: Path) -> None:
    text = """
remove_languages: [hi]
runs: {adjusted: null, qa: null}
efimov2022: {figures: {figure1: null}, tables: {controls: null, aligners: null}}
"""
    with pytest.raises(DataError, match=r"line 2, key remove_languages: .* has no other language"):
        config_of("small", tmp_path, text)


def test_nothing_can_have_a_language(tmp_path: Path) -> None:
    text = "add_languages: [bpy]\npapers: [muller2021]"
    with pytest.raises(DataError, match=r"line 1, key add_languages: nothing can have 'bpy': "):
        config_of("small", tmp_path, text)
    with pytest.raises(DataError, match=r"nothing can have 'sv': there are no synthetic data"):
        config_of("demo", tmp_path, "add_languages: [sv]")


def test_a_removed_language_is_in_no_list(tmp_path: Path) -> None:
    config = config_of("small", tmp_path, "remove_languages: [tr, ja]")
    lists = lists_in(config)
    evaluated = ("runs.", "muller2021.", "efimov2022.", "datasets.trees-test", "datasets.tokens")
    assert not any({"tr", "ja"} & {*lists[place]} for place in lists if place.startswith(evaluated))
    assert "tr" in config.datasets["newstest"].languages  # an encoder's texts


def test_a_claim_about_one_language_needs_it(tmp_path: Path) -> None:
    text = "remove_languages: [es]\nliang2021: {pairs: {sets: {italic: null}}}"
    config = config_of("small", tmp_path, text)
    with pytest.raises(DataError, match=r"remove_languages: the claim .* needs 'es'; keep it"):
        check_files(Plan(config, LANGUAGES, home=ROOT))
