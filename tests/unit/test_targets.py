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
from mbert_atlas.config.reading import read_yaml
from mbert_atlas.errors import DataError
from mbert_atlas.plan.plan import Plan

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


OF_PAPERS = [
    (preset, str(code), f"{path.parent.name}/{name}", facts)
    for path in sorted(ROOT.glob("tests/papers/*/targets.yaml"))
    for preset, by_code in read_yaml(path).items()
    for code, by_name in by_code.items()
    for name, facts in by_name.items()
]
"""By preset, language and paper: measurements that get the language (``arrives``), and sentences on
what does not (``left_out``)."""


@pytest.mark.parametrize(("preset", "code", "key", "facts"), OF_PAPERS)
def test_a_language_is_in_what_can_have_it(
    tmp_path: Path, preset: str, code: str, key: str, facts: list[str]
) -> None:
    text = f"{{comparable: false, add_languages: [{code}]}}"
    config, (paper, _, kind) = config_of(preset, tmp_path, text), key.partition("/")
    if kind == "left_out":
        sentences = {f"add_languages: {code} is not in {fact}." for fact in facts}
        assert sentences <= {*config.left_out}
        return
    files = PlannedFiles(Plan(config, LANGUAGES, home=ROOT), tmp_path)
    for name in facts:
        with files.measurement(f"{paper}/{name}").open(encoding="utf-8") as stream:
            assert code in {row["target"] for row in csv.DictReader(stream)}, name


LEFT_OUT = {
    ("demo", "sw"): "it has no ud_name in resources/languages.csv",
    ("small", "la"): "there is no universal-dependencies/UD_Latin-PUD/la_pud-ud-test.conllu",
    ("small", "an"): "it has no wals_code in resources/languages.csv",
    ("small", "sv"): "there is no wikiann/panx/dev-sv.tsv",
    ("paper", "sv"): "mlqa/MLQA_V1.zip does not have it",
    ("paper", "hi_rom"): "it has no wiki in resources/languages.csv",
}


@pytest.mark.parametrize(("preset", "code"), LEFT_OUT)
def test_where_a_language_cannot_be(tmp_path: Path, preset: str, code: str) -> None:
    config = config_of(preset, tmp_path, f"{{comparable: false, add_languages: [{code}]}}")
    reason = LEFT_OUT[preset, code]
    sentences = [it for it in config.left_out if it.endswith(f": {reason}.")]
    assert len(sentences) == 1  # all places together
    assert sentences[0].startswith(f"add_languages: {code} is not in datasets.")


@pytest.mark.parametrize("preset", PRESETS)
def test_only_targets_change(tmp_path: Path, preset: str) -> None:
    """Nothing is trained on another language, and lists grow at their ends."""
    text = "{comparable: false, add_languages: [it, nl]}"
    before, after = config_of(preset), config_of(preset, tmp_path, text)
    old = lists_in(before)
    gained = {place: codes[len(old[place]) :] for place, codes in lists_in(after).items()}
    assert {code for codes in gained.values() for code in codes} <= {"it", "nl"}
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


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("add_languages: [sv, sv]", ["line 1, key add_languages: the same twice: sv"]),
        (
            "comparable: false\nadd_languages: [svv]",
            ["line 2, key add_languages: 'svv' is not defined as a language; did you mean 'sv'?"],
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
            "comparable: false\nremove_languages: [zh_classical, hi_rom]",
            ["line 2, key remove_languages: no list has 'hi_rom'; delete it"],
        ),
    ],
)
def test_mistakes(tmp_path: Path, text: str, sentences: list[str]) -> None:
    errors = config_errors(tmp_path, text).splitlines()
    for sentence in sentences:
        assert any(line.startswith(sentence) for line in errors), errors


def test_nothing_can_have_a_language(tmp_path: Path) -> None:
    text = "add_languages: [zh_classical]\npapers: []"
    with pytest.raises(
        DataError, match=r"line 1, key add_languages: nothing can have 'zh_classical'"
    ):
        config_of("small", tmp_path, text)
    with pytest.raises(DataError, match=r"nothing can have 'sv': there are no synthetic data"):
        config_of("demo", tmp_path, "add_languages: [sv]")


def test_a_removed_language_is_in_no_list(tmp_path: Path) -> None:
    config = config_of("small", tmp_path, "remove_languages: [tr, ja]")
    lists = lists_in(config)
    kept = [place for place in lists if {"tr", "ja"} & {*lists[place]}]
    assert all(place.startswith("datasets.") for place in kept)
    for dataset in ("xnli", "trees-test", "udpos-test", "tokens-mbert", "wikipedia-languages"):
        assert f"datasets.{dataset}.languages" not in kept
    assert "tr" in config.datasets["newstest"].languages  # an encoder's texts
