"""What the paper shows under the presets and under configs that leave out some of it."""

from pathlib import Path

import pytest
from configs import ROOT

from mbert_atlas import papers
from mbert_atlas.languages import Languages
from mbert_atlas.plan.plan import Plan

LANGUAGES = Languages.read(ROOT / "resources/languages.csv")
EVERY = [
    *("table1", "table2", "table3", "table5"),
    *(f"figure{number}" for number in range(3, 7)),
    *("appendixA", "appendixB"),
]


def planned(folder, text="", *presets):
    overlay = folder / "overlay.yaml"
    overlay.write_text("papers: [tanti2021]\n" + text)
    overlays = [*(ROOT / f"config/{preset}.yaml" for preset in presets), overlay]
    return Plan(papers.load(overlays, ROOT), LANGUAGES, home=Path(ROOT)).papers["tanti2021"]


def artifacts(plan):
    return {artifact.name: artifact for artifact in plan.artifacts}


@pytest.mark.parametrize("preset", ["paper", "demo", "small"])
def test_artifacts_of_the_presets(tmp_path, preset):
    by_name = artifacts(planned(tmp_path, "", *([preset] if preset != "paper" else [])))
    tasks, without = ["udpos", "xnli"], set()
    if preset == "small":  # it has no search, and UDPOS alone
        tasks, without = ["udpos"], {"table5", "figure4", "figure6"}
    shown = [name for name in EVERY if name not in without]
    assert list(by_name) == shown
    assert [name for name, item in by_name.items() if item.highlight] == [
        name for name in ("table1", "figure3", "figure4") if name in shown
    ]
    maps = [name for name in shown if name.startswith("figure")]
    assert sorted(figure.name for item in by_name.values() for figure in item.figures) == sorted(
        [
            *(f"table{n}_{task}" for n in (1, 2) for task in tasks),
            *(f"{name}.{protocol}" for name in maps for protocol in ("published", "corrected")),
        ]
    )
    for artifact in by_name.values():
        assert {name for table in artifact.tables for name in table.measurements} == {
            measurement.name for measurement in artifact.measurements
        }


def test_captions_have_the_numbers_of_the_config(tmp_path):
    by_name = artifacts(planned(tmp_path, "tanti2021: {tasks: {udpos: {points: 7}}}\n"))
    assert "initial (left) and fine-tuned (right)" in by_name["figure3"].caption
    assert "at most 7 tokens of each language and label" in by_name["figure5"].caption
    assert "at most 50 pairs of each language and label" in by_name["figure4"].caption


def test_a_task_and_conditions_can_be_left_out(tmp_path):
    text = "tanti2021: {tasks: {xnli: null, udpos: {conditions: {gradient_reversal: null}}}}\n"
    plan = planned(tmp_path, text)
    by_name = artifacts(plan)
    assert list(by_name) == [name for name in EVERY if name not in ("figure4", "figure6")]
    assert [item.name for item in by_name["table2"].measurements] == ["table2_udpos"]
    assert "entropy maximisation. Points" in by_name["figure5"].caption  # one column
    cells = by_name["table2"].measurements[0].cells()
    assert {cell.condition for cell in cells} == {"entropy_maximisation"}
    assert list(plan.features) == ["tanti2021/udpos"]
    text = text.replace(
        "gradient_reversal: null", "gradient_reversal: null, entropy_maximisation: null"
    )
    assert list(artifacts(planned(tmp_path, text))) == [
        *("table1", "table5", "figure3", "appendixA", "appendixB")
    ]


@pytest.mark.parametrize(
    ("text", "seed"),
    [
        ("", 1),
        ("runs: {udpos-reversal: {seeds: [2, 3]}}\n", 2),
        ("runs: {udpos-reversal: {seeds: [9, 4, 3]}, udpos-entropy: {seeds: [3, 4]}}\n", 4),
    ],
)
def test_maps_of_one_figure_have_a_seed_in_common(tmp_path, text, seed):
    for figure in artifacts(planned(tmp_path, text))["figure5"].figures:
        shown = [(cell.condition, cell.seed) for cell in figure.cells()]
        assert shown == [("gradient_reversal", seed), ("entropy_maximisation", seed)]


def test_without_a_search_there_is_no_table_5(tmp_path):
    none = "{search: {draws: 0}}"
    text = f"runs: {{udpos-initial: {none}, xnli-initial: {none}}}\n"
    assert "table5" not in artifacts(planned(tmp_path, text))


def test_table_4_shows_what_is_searched_whatever_it_is(tmp_path):
    space = "{optimisation.schedule: [linear, constant], optimisation.epochs: [2, 3]}"
    text = f"runs: {{udpos: {{search: {{space: {space}}}}}}}\n"
    (table,) = artifacts(planned(tmp_path, text))["table5"].tables
    facts = {row["searched"]: row["values"] for row in table.facts}
    assert facts["schedule"] == "linear, constant"
    assert facts["epochs"] == "2, 3"
    assert "0.001, 0.0001, 1e-05, 1e-06" in facts.values()
