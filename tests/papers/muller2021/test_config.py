"""The section of the paper: what does not fit is named."""

import pytest
from configs import ROOT, config, config_errors

from mbert_atlas.config.reading import read_yaml
from mbert_atlas.plan.runs import RunTable
from mbert_atlas.scorecard.cells import read_cells

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
            "'sw' is not defined of trees-test there",
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
