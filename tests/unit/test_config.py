"""The config: documented defaults agree with the models, mistakes are named with file and line."""

import json
import re
import shutil
from fnmatch import fnmatch
from functools import partial
from pathlib import Path
from typing import get_origin

import jsonschema
import pytest
import yaml
from configs import FILES, ROOT, config_errors, values
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012

from mbert_atlas import papers
from mbert_atlas.config.documentation import DescribedSchema, documented, write
from mbert_atlas.config.finetuning import Finetuning
from mbert_atlas.config.merging import merge, merge_all
from mbert_atlas.config.preparation import NAMED
from mbert_atlas.config.reading import read_yaml
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


def test_a_long_text_is_read_as_it_was_written():
    values = {"resources": {"align": {"formula": "so many bytes for each word " * 10 + "."}}}
    assert yaml.safe_load(documented(values, ALL)) == values


def test_every_field_of_every_model_is_described():
    schema = ALL.model_json_schema(schema_generator=DescribedSchema)
    bare = [
        (model.get("title"), key)
        for model in [schema, *schema["$defs"].values()]
        for key, field in model.get("properties", {}).items()
        if "description" not in field
    ]
    assert bare == []


@pytest.mark.parametrize("paper", [None, *PAPERS])
@pytest.mark.parametrize("preset", ["paper", "demo", "small", "small-scratch", "night"])
def test_presets_are_valid_with_all_papers_and_with_each_alone(preset, paper, tmp_path):
    alone = tmp_path / "alone.yaml"
    alone.write_text(f"papers: {json.dumps(paper and [paper])}\n")
    variants = {name: ["small", name] for name in ("small-scratch", "night")}
    names = {"paper": [], **variants}.get(preset, [preset])
    config = papers.load([*(ROOT / f"config/{name}.yaml" for name in names), alone], ROOT)
    assert config.run == preset
    assert config.comparable == (preset == "paper")
    assert config.papers == ([paper] if paper else PAPERS)
    sections = {name for name in PAPERS if hasattr(config, name)}
    assert sections == set(config.papers)


def test_a_variant_of_a_preset_comes_after_its_files_of_a_paper():
    paper = PAPERS[0]
    files = papers.config_files({"papers": [paper], "preset": "small-scratch"}, ROOT)
    assert [path.name for path in files] == [
        f"{paper}{ending}.yaml" for ending in ("", ".small", ".small-scratch")
    ]


def test_sections_of_papers_that_are_not_read_are_left_out(tmp_path):
    mine = tmp_path / "mine.yaml"
    mine.write_text(f"papers: []\n{PAPERS[0]}: {{whatever: 1}}\n")
    assert papers.load([mine], ROOT).papers == []


def test_changes_to_entries_of_papers_that_are_not_read_are_left_out(tmp_path):
    """As their sections are; a new entry under such a name stays, and so does a misspelt one."""
    mine = tmp_path / "mine.yaml"
    for chosen in PAPERS:
        mine.write_text(f"papers: [{chosen}]\n")
        expected = papers.load([mine], ROOT).model_dump()
        others = papers.config_files({"papers": [name for name in PAPERS if name != chosen]}, ROOT)
        read = papers.files([mine], ROOT)
        changes = {}
        for section in NAMED:
            known = {name for path in read for name in read_yaml(path).get(section) or {}}
            listed = {name for path in others for name in read_yaml(path).get(section) or {}}
            new = [name for name in sorted(listed) if not any(map(partial(fnmatch, name), known))]
            changes[section] = {name: [None, {"seeds": [1]}][n % 2] for n, name in enumerate(new)}
        assert changes["runs"]
        mine.write_text(yaml.safe_dump({"papers": [chosen], **changes}))
        assert papers.load([mine], ROOT).model_dump() == expected
        (name, *_) = changes["datasets"]
        new = {
            "corpus": "plain_text",
            "languages": ["en"],
            "files": "x/{language}.txt",
            "format": "lines",
        }
        mine.write_text(yaml.safe_dump({"papers": [chosen], "datasets": {name: new}}))
        assert name in papers.load([mine], ROOT).datasets
        mine.write_text(f"papers: [{chosen}]\ndatasets: {{{name}x: null}}\n")
        with pytest.raises(DataError, match=f"there is no '{name}x' that null could remove"):
            papers.load([mine], ROOT)


@pytest.mark.parametrize("paper", PAPERS)
def test_the_file_that_describes_the_keys_of_a_paper_is_named(tmp_path, paper):
    said = config_errors(tmp_path, f"{paper}: {{zzzz: 1}}\n")
    assert f"key {paper}.zzzz: there is no such key" in said
    assert f"; config/papers/{paper}.yaml describes them." in said
    fields = papers.section(paper).model_fields
    mappings = [key for key, item in fields.items() if get_origin(item.annotation) is dict]
    for key in mappings:
        said = config_errors(tmp_path, f"{paper}: {{{key}: null}}\n")
        found = "a mapping is expected, found null; remove its entries one by one with null."
        assert f"key {paper}.{key}: {found}" in said
    other = next(key for key in fields if key not in mappings)
    said = config_errors(tmp_path, f"{paper}: {{{other}: 1.5}}\n")
    assert "config/config.yaml" not in said


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


def test_a_mapping_brings_back_what_a_file_below_it_removed():
    below = {"runs": {"nli": {"epochs": 2, "search": {"draws": 5}}, "qa": {"epochs": 1}}}
    removed = {"runs": {"nli": None, "qa": None}}
    back = {"runs": {"nli": {"epochs": 3, "search": None}}}
    assert merge_all([below, removed, back]) == {
        "runs": {"nli": {"epochs": 3, "search": None}, "qa": None}
    }
    assert merge_all([below, back, removed]) == removed


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
    paper: toy
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
""".replace("toy", PAPERS[0])
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


@pytest.mark.parametrize("layers", ["some", ["pooler"], ["0-3"], ["7-3"], 7])
@pytest.mark.parametrize("key", ["trained_layers", "reinitialised_layers"])
def test_layers_that_are_none_are_rejected(key, layers):
    assert getattr(Finetuning(**{key: ["embeddings", "7-12"]}), key) == ["embeddings", "7-12"]
    with pytest.raises(ValueError, match="such as"):
        Finetuning(**{key: layers})


def test_only_the_trained_layers_can_be_all_and_not_empty():
    assert Finetuning(trained_layers="all", reinitialised_layers=[]).reinitialised_layers == []
    for wrong in ({"trained_layers": []}, {"reinitialised_layers": "all"}):
        with pytest.raises(ValueError, match="such as"):
            Finetuning(**wrong)


def test_a_file_that_is_missing_is_named(tmp_path):
    with pytest.raises(DataError, match=r"absent\.yaml: no such file"):
        papers.load([tmp_path / "absent.yaml"], ROOT)


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


def test_preset_and_encoders_in_words(tmp_path):
    """Pages state them, and the comparison of runs reads them there."""
    facts = papers.load([], ROOT).facts()
    assert facts["preset"] == "paper"
    assert facts["encoder mbert"] == "google-bert/bert-base-multilingual-cased at 3f076fdb1a"
    assert facts["encoder embert-hi"] == "mbert with an extended vocabulary"
    (tmp_path / "mine.yaml").write_text(
        f"encoders: {{mbert: {{scratch: null, folder: {ROOT}/resources/encoders/many}}}}"
    )
    facts = papers.load([ROOT / "config/demo.yaml", tmp_path / "mine.yaml"], ROOT).facts()
    assert facts["preset"] == "demo"
    assert facts["encoder mbert"] == "folder many, 4 layers of 96, 12,000 subwords"
    assert facts["encoder bert-1000k-512"] == "pretrained from scratch"
    assert "languages added" not in facts
    (tmp_path / "mine.yaml").write_text("add_languages: [th]\nremove_languages: [fi]")
    facts = papers.load([ROOT / "config/small.yaml", tmp_path / "mine.yaml"], ROOT).facts()
    assert facts["languages added"].startswith("th; means over languages include them")
    assert facts["languages removed"] == "fi"
