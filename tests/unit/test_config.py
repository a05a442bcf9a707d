"""The config: documented defaults agree with the models, mistakes are named with file and line."""

import json
import re
import shutil
from pathlib import Path

import jsonschema
import pytest
import yaml
from configs import FILES, ROOT, config_errors, values
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012

from mbert_atlas import papers
from mbert_atlas.config.documentation import documented, write
from mbert_atlas.config.finetuning import Finetuning
from mbert_atlas.config.merging import merge
from mbert_atlas.config.reading import BASE
from mbert_atlas.errors import DataError

PAPERS = papers.names()
ALL = papers.config_model(PAPERS)


def test_documented_files_and_schemas_agree_with_the_models(tmp_path):
    shutil.copytree(ROOT / "config", tmp_path / "config")
    for path in write(ALL, {paper: papers.section(paper) for paper in PAPERS}, tmp_path):
        committed = ROOT / path.relative_to(tmp_path)
        assert path.read_text() == committed.read_text(), (
            f"run python -m mbert_atlas.config.documentation write ({committed})"
        )


def test_a_long_text_is_read_as_it_was_written(tmp_path):
    shutil.copytree(ROOT / "config", tmp_path / "config")
    path, text = tmp_path / BASE, "so many bytes for each word " * 10
    path.write_text(re.sub("formula: .*", f"formula: {text}", path.read_text(), count=1))
    write(ALL, {paper: papers.section(paper) for paper in PAPERS}, tmp_path)
    written = yaml.safe_load(path.read_text())
    assert text.strip() in [item.get("formula") for item in written["resources"].values()]


def test_every_field_of_every_model_is_described():
    schema = ALL.model_json_schema()
    bare = [
        (model.get("title"), key)
        for model in [schema, *schema["$defs"].values()]
        for key, field in model.get("properties", {}).items()
        if "description" not in field
    ]
    assert bare == []


def test_documenting_keeps_every_value():
    for path in [ROOT / BASE, *papers.config_files({}, ROOT)]:
        written = yaml.safe_load(path.read_text())
        assert yaml.safe_load(documented(written, ALL)) == written


@pytest.mark.parametrize("paper", [None, *PAPERS])
@pytest.mark.parametrize("preset", ["paper", "demo", "small"])
def test_presets_are_valid_with_all_papers_and_with_each_alone(preset, paper, tmp_path):
    alone = tmp_path / "alone.yaml"
    alone.write_text(f"papers: {json.dumps(paper and [paper])}\n")
    files = [] if preset == "paper" else [ROOT / f"config/{preset}.yaml"]
    config = papers.load([*files, alone], ROOT)
    assert config.run == preset
    assert config.comparable == (preset == "paper")
    assert config.papers == ([paper] if paper else PAPERS)
    sections = {name for name in PAPERS if hasattr(config, name)}
    assert sections == set(config.papers)


def test_sections_of_papers_that_are_not_read_are_left_out(tmp_path):
    mine = tmp_path / "mine.yaml"
    mine.write_text(f"papers: []\n{PAPERS[0]}: {{whatever: 1}}\n")
    assert papers.load([mine], ROOT).papers == []


def test_every_job_with_resources_has_them_in_the_config():
    files = [*ROOT.glob("workflow/rules/*.smk"), *ROOT.glob("mbert_atlas/papers/*/artifacts.py")]
    requested = {
        name for path in files for name in re.findall(r'resources(?:=|\()"(\w+)"', path.read_text())
    }
    assert "finetune" in requested
    assert requested <= set(papers.load([], ROOT).resources)


def test_entries_come_in_the_order_of_the_lowest_file(tmp_path):
    """Snakemake lists first what a preset names."""
    mine = tmp_path / "mine.yaml"
    mine.write_text("encodings: {z: {task: nli}, udpos: {max_length: 64}}\n")
    merged = values(encodings={"z": {"task": "nli"}, "udpos": {"max_length": 64}})
    mixed = {"encodings": dict(sorted(merged["encodings"].items(), reverse=True))}
    found = papers.read_config({**mixed, **merged, **mixed}, [*FILES, mine])
    assert list(found.encodings) == list(merged["encodings"])


def test_merge_goes_mapping_by_mapping_and_replaces_lists():
    merged = merge({"a": {"x": 1, "y": [1, 2]}, "b": 1}, {"a": {"y": [3]}, "c": {"d": 2}})
    assert merged == {"a": {"x": 1, "y": [3]}, "b": 1, "c": {"d": 2}}


ENCODERS = """encoders:
  one: {changed: {kind: extended_vocabulary, encoder: mbert, texts: [wikipedia], languages: [hi]}}
  two: {changed: {kind: extended_vocabulary, encoder: one, texts: [wikipedia], languages: [hi]}}
"""
SHARED = """encoders:
  two: {scratch: {texts: [wikipedia], tokenizer_of: mbert, pretraining: {}}}
  one: {changed: {kind: extended_vocabulary, encoder: two, texts: [wikipedia], languages: [hi]}}
"""
FAMILY = """runs:
  mine:
    kind: finetuning
    paper: mine
    encoder: mbert
    encoding: inference
    train: multinli
    evaluate: {xnli: [en]}
    search:
      draws: 1
      space: {head.dropout: [0.1]}
      evaluate: {xnli: [ru]}
      choose_by:
        published: {metric: accuracy}
        corrected: {metric: accuracy, languages: [ru]}
"""
TREES = f"""{FAMILY.replace("encoding: inference", "encoding: trees")}
encodings: {{trees: {{task: parsing}}}}
"""


@pytest.mark.parametrize(
    ("whole", "old", "new", "place", "sentence"),
    [
        (ENCODERS, "one, ", "onne, ", "line 3, key encoders.two.changed.encoder", "mean 'one'?"),
        (ENCODERS, "mbert", "two", "line 2", "one -> two -> one is a circle"),
        (SHARED, "of: mbert", "of: mbertt", "line 2", "did you mean 'mbert'?"),
        (SHARED, "of: mbert", "of: one", "line 3", "one -> two -> one is a circle"),
        (SHARED, "of: mbert", "of: two", "line 2", "'two' trains no tokenizer"),
        (ENCODERS, "[wikipedia]", "[xnli]", "line 2", "'xnli' is not defined as running text"),
        (ENCODERS, "[hi]", "[ti]", "line 2", "'ti' is not defined in datasets.wikipedia"),
        (FAMILY, "encoding:", "encodings:", "line 6", "did you mean 'encoding'?"),
        (FAMILY, "kind:", "bitext: x\n    kind:", "runs.mine.bitext", "adjustment has it"),
        (FAMILY, "multinli", "multinly", "line 7", "did you mean 'multinli'?"),
        (FAMILY, "multinli", "wikipedia", "line 7", "not defined as data for nli"),
        (TREES, "multinli", "multinli", "line 7", "not defined as data for parsing"),
        (FAMILY, "[en]", "[en, fi]", "line 8", "'fi' is not defined in datasets.xnli.languages"),
        (FAMILY, "[en]", "['{language}']", "line 8", "as the family has no languages"),
        (FAMILY, "encoder: mbert", "encoder: null", "line 5", "should be a valid string"),
        (FAMILY, "encoder: mbert", "encoders: [mbert]", "line 2", "belong together"),
        (FAMILY, "kind: finetuning", "like: mne", "line 3", "'mne' is not defined"),
        (FAMILY, "kind: finetuning", "like: mine", "line 3", "mine -> mine is a circle"),
        (FAMILY, "draws:", "kind: grid\n      draws:", "line 9", "belong to a random search"),
        (FAMILY, "draws: 1", "draws: 0\n      use: chosen", "line 9", "needs draws"),
        (FAMILY, "head.dropout", "head.dropuot", "search.space", "mean 'head.dropout'?"),
        (FAMILY, "[0.1]", "[0.1, 1.0]", "line 11, key", "less than 1, found 1.0"),
        (FAMILY, "languages: [ru]", "languages: [de]", "line 15", "'de' is not defined"),
        (FAMILY, "accuracy}", "acuracy}", "published.metric", "did you mean 'accuracy'?"),
        (FAMILY, "published: {metric: accuracy}", "", "published", "the key is missing"),
    ],
)
def test_a_mistake_among_entries_is_one_sentence(tmp_path, whole, old, new, place, sentence):
    assert old in whole
    message = config_errors(tmp_path, whole.replace(old, new, 1))
    assert place in message
    assert sentence in message


def test_a_parser_is_trained_on_treebanks():
    family = {
        **{"kind": "finetuning", "paper": "mine", "encoder": "mbert", "encoding": "trees"},
        **{"train": "udpos-train", "evaluate": {"udpos-test": ["fr"]}},
        "published": {},
    }
    trees = {"task": "parsing"}
    found = papers.read_config(values(encodings={"trees": trees}, runs={"parser": family}))
    assert found.runs["parser"].encoding == "trees"


@pytest.mark.parametrize("layers", ["some", [], ["pooler"], ["0-3"], ["7-3"], 7])
def test_layers_that_are_none_are_rejected(layers):
    assert Finetuning(trained_layers=["embeddings", "7-12"]).trained_layers == [
        "embeddings",
        "7-12",
    ]
    with pytest.raises(ValueError, match="such as"):
        Finetuning(trained_layers=layers)


@pytest.mark.parametrize("layers", ["all", ["pooler"], ["0-3"], ["7-3"], 7])
def test_layers_to_reinitialise_that_are_none_are_rejected(layers):
    assert Finetuning(reinitialised_layers=[]).reinitialised_layers == []
    assert Finetuning(reinitialised_layers=["1-2"]).reinitialised_layers == ["1-2"]
    with pytest.raises(ValueError, match="such as"):
        Finetuning(reinitialised_layers=layers)


def test_files_that_are_missing_or_not_yaml_are_named(tmp_path):
    with pytest.raises(DataError, match="no such file"):
        papers.load([tmp_path / "absent.yaml"], ROOT)
    assert config_errors(tmp_path, "run: demo\n  seeds: [1\n").startswith("line 2")
    assert "not a mapping" in config_errors(tmp_path, "- run\n")


def test_schemas_are_json_schema_and_reject_keys_of_another_corpus():
    shared = json.loads((ROOT / "config/schema.json").read_text())
    registry = Registry().with_resource(
        "../schema.json", Resource.from_contents(shared, default_specification=DRAFT202012)
    )
    whole = values()
    for paper in PAPERS:
        schema = json.loads(Path(ROOT, f"config/papers/{paper}.schema.json").read_text())
        validator = jsonschema.Draft202012Validator(schema, registry=registry)
        validator.validate(whole)
        for change in (
            {"seed": 1},
            {paper: {"absent": 1}},
            {"datasets": {"wikipedia": {"limit": 9}}},
            {"runs": {"mine": {"like": "x", "publishd": {}}}},
        ):
            assert not validator.is_valid(merge(whole, change)), change
