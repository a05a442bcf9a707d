"""The config: documented defaults agree with the models, mistakes are named with file and line."""

import json
import re
import shutil
from pathlib import Path

import jsonschema
import pytest
import yaml
from mbert_atlas.config_checks import RULES
from mbert_atlas.config_families import laid_over
from mbert_atlas.config_files import documented, write
from mbert_atlas.config_reading import base_files, load, validate

from mbert_atlas.config import Config
from mbert_atlas.errors import DataError
from mbert_atlas.languages import Languages

ROOT = Path(__file__).parents[2]
PRESETS = ["demo", "small"]
CODES = [language.code for language in Languages.read(ROOT / "resources/languages.csv")]


def test_documented_files_and_schema_agree_with_the_models(tmp_path):
    shutil.copytree(ROOT / "config", tmp_path / "config")
    for path in write(tmp_path):
        committed = ROOT / path.relative_to(tmp_path)
        assert path.read_text() == committed.read_text(), (
            f"run python -m mbert_atlas.config_files write ({committed})"
        )


def test_every_field_of_every_model_is_described():
    schema = Config.model_json_schema()
    models = [schema, *schema["$defs"].values()]
    bare = [
        (model.get("title"), key)
        for model in models
        for key, field in model.get("properties", {}).items()
        if "description" not in field
    ]
    assert bare == []


def test_documenting_keeps_every_value():
    for path in [ROOT / "config/config.yaml", *sorted((ROOT / "config/papers").glob("*.yaml"))]:
        values = yaml.safe_load(path.read_text())
        assert yaml.safe_load(documented(values)) == values


@pytest.mark.parametrize("preset", PRESETS)
def test_presets_are_valid(preset):
    config = load([ROOT / f"config/{preset}.yaml"], ROOT)
    assert config.run == preset
    assert not config.comparable


def test_default_is_the_paper_preset():
    config = load([], ROOT)
    assert config.run == "paper"
    assert config.comparable
    assert len(config.datasets["wikipedia"].languages) == 33
    assert config.encoders["mbert"].hub is not None


def test_every_rule_that_asks_for_resources_is_known_and_stated():
    rules = "".join(path.read_text() for path in (ROOT / "workflow/rules").glob("*.smk"))
    asking = set(re.findall(r'asked\("(\w+)"\)', rules))
    assert asking == set(RULES)
    assert asking == set(load([], ROOT).resources)


def test_merge_goes_mapping_by_mapping_and_replaces_lists():
    merged = laid_over({"a": {"x": 1, "y": [1, 2]}, "b": 1}, {"a": {"y": [3]}, "c": {"d": 2}})
    assert merged == {"a": {"x": 1, "y": [3]}, "b": 1, "c": {"d": 2}}


def overlay(tmp_path, text):
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("text", "line", "sentence"),
    [
        ("seed: [1]\n", "line 1", "there is no such key; did you mean 'seeds'?"),
        ("run: x\nseeds: [1, 1]\n", "line 2", "the same seed twice"),
        ("runs:\n  nli:\n    encodings: x\n", "line 3", "did you mean 'encoding'?"),
        (
            "runs:\n  nli:\n    published:\n      optimisation: {learning_rate: fast}\n",
            "line 4",
            "should be a valid number",
        ),
        (
            "runs:\n  adjusted:\n    published:\n      optimisation: {weight_decay: 0.1}\n",
            "line 4",
            "weight_decay with adam would be an L2 penalty",
        ),
        ("run: x\npapers: [efimow2022]\n", "line 2", "did you mean 'efimov2022'?"),
        ("datasets:\n  xnli: {languages: [en, xz]}\n", "line 2", "'xz' is not defined"),
        (
            "encoders:\n  mbert: {folder: here}\n",
            "line 2",
            "exactly one of hub, folder, scratch, extended (found hub, folder)",
        ),
        ("encoders:\n  embert-hi: {extended: {encoder: mbrt}}\n", "line 2", "mean 'mbert'?"),
        (
            "encoders:\n  embert-hi: {extended: {encoder: more}}\n"
            "  more: {extended: {encoder: embert-hi, texts: [wikipedia], languages: [hi]}}\n",
            "line 3",
            "embert-hi -> more -> embert-hi is a circle",
        ),
        (
            "encoders:\n  embert-hi: {extended: {texts: [xnli]}}\n",
            "line 2",
            "'xnli' is not defined as running text",
        ),
        (
            "encoders:\n  embert-hi: {extended: {languages: [hi, sw]}}\n",
            "line 2",
            "'sw' is not defined in datasets.wikipedia.languages",
        ),
        ("runs:\n  nli: {train: multinly}\n", "line 2", "did you mean 'multinli'?"),
        ("runs:\n  nli: {train: udpos-train}\n", "line 2", "not defined as data for inference"),
        (
            "runs:\n  nli:\n    evaluate: {xnli: [en, fi]}\n",
            "line 3",
            "'fi' is not defined in datasets.xnli.languages",
        ),
        ("runs:\n  adjusted: {bitext: xnli}\n", "line 2", "'xnli' is not defined as a bitext"),
        (
            "runs:\n  adjusted: {languages: [es, tr]}\n",
            "line 2",
            "'tr' is not defined in datasets.wikimatrix.languages",
        ),
        ("runs:\n  adjusted: {languages: null}\n", "line 2", "should be a valid list"),
        ("datasets:\n  wikipedia: {limit: 9}\n", "line 2", "wikipedia is read whole: drop `limit`"),
        (
            "datasets:\n  wikipedia: {files_by_language: {es: [{path: a}, {path: b}]}}\n",
            "line 2",
            "wikipedia takes one file, not 2 (es)",
        ),
        (
            "datasets:\n  xnli: {files_by_language: {es: [{path: a, limit: 9}]}}\n",
            "line 2",
            "only a bitext has a `limit` per file (es)",
        ),
        ("datasets:\n  wikipedia-languages: {languages: [sw]}\n", "line 2", "'sw' is not defined"),
        ("resources:\n  finetunes: {threads: 2}\n", "line 2", "did you mean 'finetune'?"),
        (
            "tanti2021:\n  tasks:\n    udpos: {conditions: {initial: udpos}}\n",
            "line 3",
            "`frozen` is for initial alone",
        ),
        (
            "tanti2021:\n  tasks:\n    udpos: {conditions: {gradient_reversal: udpos-entropy}}\n",
            "line 3",
            "is 'entropy_maximisation', not 'gradient_reversal'",
        ),
        (
            "tanti2021:\n  tasks:\n    xnli: {dev: {xnli-dev: [sw]}}\n",
            "line 3",
            "'sw' is not defined in datasets.xnli-dev.languages",
        ),
        (
            "tanti2021:\n  search: {space: {gradient_reversal: [0.5, 1.0]}}\n",
            "line 2",
            "less than 1",
        ),
        ("tanti2021:\n  search: {draws: 0, use: chosen}\n", "line 2", "needs draws"),
        (
            "datasets:\n  wikipedia-languages: {fractions: [0.8, 0.1, 0.1, 0.1]}\n",
            "line 2",
            "shares that sum to 1",
        ),
        (
            "datasets:\n  wikipedia-languages: {fractions: [0.7, 0.1, 0.1, 0.0999999999999]}\n",
            "line 2",
            "shares that sum to 1",
        ),
        (
            "runs:\n  xnli-tuned: {evaluate: {xnli: [en, fr]}}\n",
            "line 2",
            "the languages are not those of runs.xnli-initial",
        ),
        (
            "runs:\n  udpos-reversal: {language_data: {dataset: udpos-dev}}\n",
            "line 2",
            "'udpos-dev' is not defined as language_identification",
        ),
        (
            "runs:\n  nli: {published: {confusion: {weight: 0.5}}}\n",
            "line 2",
            "name them in `language_data`",
        ),
        (
            "efimov2022:\n  figures:\n    figure1: {languages: [de]}\n",
            "line 3",
            "'de' is not defined in datasets.wikimatrix.languages",
        ),
        (
            "runs:\n  adjusted: {languages: [es]}\n",
            "",
            "'vi' is not defined in runs.adjusted.languages, where 'qa-translated-adjusted' starts",
        ),
        (
            "efimov2022:\n  tables:\n    table2: {conditions: {adjusted: nli-ajusted}}\n",
            "line 3",
            "did you mean 'nli-adjusted'?",
        ),
        (
            "efimov2022:\n  tables:\n    table2: {conditions: {adjusted: ner-adjusted}}\n",
            "line 3",
            "'xnli' is not defined in runs.ner-adjusted.evaluate",
        ),
        (
            "efimov2022:\n  tables:\n    table5: {gains_over: adjusted}\n",
            "line 3",
            "Input should be 'original'",
        ),
        (
            "efimov2022:\n  tables:\n    table5: {against: {adjusted_5K: original}}\n",
            "line 3",
            "no contrast of 'adjusted_5K' with 'original' is declared for table5",
        ),
        (
            "efimov2022:\n  tables:\n    table3: {conditions: {original: null}}\n",
            "",
            "'original' is not defined for the test ner",
        ),
        (
            "efimov2022:\n  tables:\n    table3: {languages: [es, de]}\n",
            "line 3",
            "'de' is not defined in any of its tests",
        ),
        (
            "efimov2022:\n  figures:\n    figure1: {panels: {nli: qa}}\n",
            "",
            "a panel has one name and one family in all figures",
        ),
        (
            "efimov2022:\n  figures:\n    figure3: {languages: [hi], panels: {nli: nli}}\n",
            "line 2",
            "'figure3' is not defined as a figure",
        ),
        (
            "runs:\n  nli:\n    evaluate: {xnli: ['{language}']}\n",
            "line 3",
            "stands for nothing, as the family has no languages",
        ),
        ("runs:\n  more: {like: nlo}\n", "line 2", "did you mean 'nli'?"),
        ("runs:\n  nli: {like: nli-adjusted}\n", "line 2", "is a circle"),
        ("runs:\n  more: {like: nli, encoders: [mbert]}\n", "line 2", "belong together"),
        ("runs:\n  nli: {encoder: null}\n", "line 2", "give one of `encoder` and `encoders`"),
        (
            "runs:\n  qa-translated: {train_languages: [ru]}\n",
            "line 2",
            "'ru' is not defined in datasets.squad-translated.languages",
        ),
        (
            "datasets:\n  wikimatrix-pieces: {encoder: null}\n",
            "line 2",
            "a bitext made from another needs `encoder`",
        ),
        (
            "encoders:\n  other: {folder: here}\nefimov2022:\n  model: other\n",
            "",
            "'mbert' goes back to the encoder 'mbert', and efimov2022.model is 'other'",
        ),
        ("run: ../elsewhere\n", "line 1", "String should match pattern"),
    ],
)
def test_a_mistake_is_one_sentence_with_key_and_mend(tmp_path, text, line, sentence):
    path = overlay(tmp_path, text)
    values: dict = {}
    for file in [*base_files(ROOT), path]:
        values = laid_over(values, yaml.safe_load(file.read_text()))
    with pytest.raises(DataError) as caught:
        validate(values, [*base_files(ROOT), path], CODES)
    message = str(caught.value)
    assert "\n" not in message
    assert line in message
    assert sentence in message


def test_files_that_are_missing_or_not_yaml_are_named(tmp_path):
    with pytest.raises(DataError, match="no such config file"):
        load([tmp_path / "absent.yaml"], ROOT)
    with pytest.raises(DataError, match="line 2"):
        load([overlay(tmp_path, "run: demo\n  seeds: [1\n")], ROOT)
    with pytest.raises(DataError, match="not a mapping"):
        load([overlay(tmp_path, "- run\n")], ROOT)


def test_schema_is_json_schema_and_knows_the_papers():
    schema = json.loads((ROOT / "config/schema.json").read_text())
    assert {"efimov2022", "tanti2021"} <= set(schema["properties"])
    assert schema["additionalProperties"] is False
    values: dict = {}
    for file in base_files(ROOT):
        values = laid_over(values, yaml.safe_load(file.read_text()))
    jsonschema.validate(values, schema)
    values["runs"]["adjusted-5k"]["publishd"] = {}
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(values, schema)
