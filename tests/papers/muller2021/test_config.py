"""The section of the paper: what does not fit is named."""

import re

import pytest
from configs import ROOT, config, config_errors
from test_bad_planning import plan_of
from test_config_mistakes import planned

from mbert_atlas.config.reading import read_yaml, with_lines
from mbert_atlas.errors import DataError
from mbert_atlas.plan.runs import RunTable
from mbert_atlas.scorecard.cells import read_cells
from workflow.needs import check_needs

PAPER = "muller2021:\n  "


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            PAPER + "tables: {table6: {layers: [2-3]}}\n",
            "tables.table6.layers: '2-3' has no family parsing-2-3; add it to the variants of",
        ),
        (
            PAPER + "tables: {table6: {sources: [de]}}\n",
            "'de' is not defined in runs.parsing.languages",
        ),
        (
            PAPER + "tables: {table7: {tests: {pos: {targets: {sw: trees-test/sw}}}}}\n",
            "'sw' is not defined in runs.pos.evaluate.trees-test",
        ),
        (
            PAPER + "tables: {table7: {tests: {pos: {targets: {sw: trees}}}}}\n",
            "should match pattern",
        ),
        (PAPER + "model: xlm\n", "'xlm' is not defined"),
        (
            PAPER + "similarity: {figure1: sl}\n",
            "'sl' is not defined in muller2021.similarity.languages",
        ),
        (
            PAPER + "similarity: {source: ru}\n  tables: {table6: {sources: [en]}}\n",
            "similarity.source: 'ru' is no training language of table6, whose gaps",
        ),
        (PAPER + "similarity: {languages: [sw]}\n", "'sw' is not defined in datasets.trees-test"),
        (
            "runs:\n  parsing: {published: {selection: {development: domains-dev}}}\n",
            "'ru' is not defined in datasets.domains-dev.languages",
        ),
        ("runs:\n  parsing-all: {like: parsing, variants: {a: {}}}\n", "belong together"),
    ],
)
def test_a_mistake_is_one_sentence_with_key_and_fix(tmp_path, text, sentence):
    assert sentence in config_errors(tmp_path, text)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "runs:\n  pos:\n    published: {trained_layers: [9-12]}\n",
            "line 3, key runs.pos.published: .*layer 12, .* 'mbert' has 4; name layers up to 4",
        ),
        (
            "runs:\n  pos-*: {variants: {all: {reinitialised_layers: [1-12]}}}\n",
            "line 2, key runs.pos-all.published: .*layer 12, .* 'mbert' has 4; name layers up to 4",
        ),
        (
            "runs:\n  pos: {encoding: words-with-heads, published: {head: {dropout: 0.2}}}\n",
            "line 2, key runs.pos.encoding: 'words-with-heads' is not defined for tagging; did you",
        ),
        (
            PAPER + "tables:\n    table7: {layers: [2-3]}\n",
            "line 3, key muller2021.tables.table7.layers: '2-3' has no family pos-2-3; add it to",
        ),
        (
            PAPER + "tables:\n    tabel7: {layers: [1-2]}\n",
            "line 3, key muller2021.tables.tabel7: .*; did you mean 'table7'",
        ),
        (
            PAPER + "tables:\n    table7: {tests: {pos: {targets: {ru: tree/ru}}}}\n",
            "line 3, key muller2021.tables.table7.tests.pos.targets.ru: 'tree' is not defined in",
        ),
    ],
)
def test_a_mistake_over_the_demo_is_one_sentence_with_its_line(tmp_path, text, sentence):
    said = planned(text, "demo", tmp_path)
    assert re.match(f"mine.yaml, {sentence}", said), said
    assert "\n" not in said, said


def test_a_variant_is_a_family_whose_layers_are_reinitialised():
    runs = RunTable(config())
    one, pair = runs.get("pos", "en", "published"), runs.get("pos-3-4", "en", "published")
    changed = {**one.specification["hyperparameters"], "reinitialised_layers": ["3-4"]}
    assert pair.specification["hyperparameters"] == changed
    assert {**one.specification, "hyperparameters": changed} == pair.specification
    assert pair.id == "pos-3-4-en"


def test_null_leaves_a_variant_or_a_target_out():
    table5 = {"layers": ["all"], "tests": {"pos": {"targets": {"fr": None}}}}
    given = config(
        runs={"pos-*": {"variants": {"4-6": None}}}, muller2021={"tables": {"table5": table5}}
    )
    assert "pos-4-6" not in given.runs
    assert "fr" not in given.muller2021.tables["table5"].tests["pos"].places()


def test_licensed_test_sets_can_be_added():
    own = read_yaml(ROOT / "config/papers/muller2021.licensed.yaml")
    runs = RunTable(config(**own))
    tested = {
        "domains-tweets": ["parsing-domains", "parsing-domains-1-2", "pos-domains"],
        "entities-news": ["entities", "entities-1-2"],
    }
    for dataset, families in tested.items():
        for family in families:
            assert runs.get(family, "en", "published").specification["evaluate"][dataset] == ["en"]
    reported = read_cells([ROOT / "resources/reported/muller2021.csv"])
    named = {(line.fields["task"], line.fields["target"]) for line in reported}
    for task, test in own["muller2021"]["tables"]["table2"]["tests"].items():
        assert {(task, target) for target in test["targets"]} <= named


def test_similarity_is_of_at_least_300_sentences_where_the_encoder_is_the_papers():
    for preset in ("", ".small"):
        values = read_yaml(ROOT / f"config/papers/muller2021{preset}.yaml")
        name = values["muller2021"]["similarity"]["dataset"]
        assert values["datasets"][name].get("limit", 1000) >= 300, preset


@pytest.mark.parametrize(
    ("table", "task", "target"),
    [("table6", "parsing", "table1"), ("table7", "pos", "all"), ("table8", "ner", "table8")],
)
def test_a_table_without_its_task_is_named(tmp_path, table, task, target):
    text = f"muller2021: {{tables: {{{table}: {{tests: {{{task}: null}}}}}}}}\n"
    plan, files = plan_of(tmp_path, text)
    check_needs(plan, ["muller2021_figure1"])
    with pytest.raises(DataError) as caught:
        check_needs(plan, [target.replace("table", "muller2021_table")])
    (sentence,) = str(with_lines(caught.value, files)).splitlines()
    where = f"mine.yaml, line 1, key muller2021.tables.{table}: nothing is left to measure for "
    assert f"{where}muller2021_{table}; write `{table}: null`" in sentence
