"""The section of the paper: what does not fit is named."""

import pytest
from configs import ROOT, config, config_errors

from mbert_atlas import papers
from mbert_atlas.languages import Languages
from mbert_atlas.plan.plan import Plan
from mbert_atlas.plan.runs import RunTable

PAPER = "liu2020:\n  "


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (PAPER + "embeddings: {reference: mbart}\n", "'mbart' is not defined"),
        (PAPER + "embeddings: {static: {200k: {glove: [glove-1]}}}\n", "'glove-1' is not defined"),
        (PAPER + "translation: {sentences: [xnli, muse]}\n", "'muse' is not defined as nli"),
        (PAPER + "translation: {languages: [ko]}\n", "'ko' is not defined in datasets.xnli"),
        (PAPER + "transfer: {languages: [de, en]}\n", "does not begin with en"),
        (PAPER + "transfer: {weights: [1.0]}\n", "does not begin with 0"),
        (PAPER + "transfer: {layer: 13}\n", "13 is above liu2020.layers (12); name a layer up to"),
        (PAPER + "translation: {rate_layer: 20}\n", "translation.rate_layer: 20 is above liu2020"),
        (PAPER + "translation: {shown: {es: [-1]}}\n", "shown.es.0: Input should be greater than"),
        (PAPER + "retrieval: {texts: newstest}\n", "'newstest' is not defined"),
        (
            PAPER + "translation: {limit: 80, shown: {fr: [1, 80]}}\n",
            "translation.shown.fr: 80 is not below liu2020.translation.limit (80); name sentences "
            "from 0 to 79, or raise the limit",
        ),
        (
            PAPER + "translation: {weights: [0.0, 2.0], best_of: [1.0, 2.0]}\n",
            "translation.best_of: 1.0 is not in liu2020.translation.weights; add it there or name",
        ),
        (
            PAPER + "translation: {best_of: []}\n",
            "translation.best_of: the list is empty; name something",
        ),
        (PAPER + "translation: {rate_layer: 0}\n", "Input should be greater than or equal to 1"),
        (PAPER + "translation: {score_layer: 0}\n", "Input should be greater than or equal to 1"),
        (
            PAPER + "retrieval: {texts: wikipedia}\ndatasets: {wikipedia: {languages: [en]}}\n",
            "liu2020.retrieval.texts: 'ar' is not defined in datasets.wikipedia.languages",
        ),
        (PAPER + "transfer: {runs: {finetune: [nli-1, xnli-upper]}}\n", "'nli-1' is not defined"),
        (
            PAPER + "transfer: {runs: {upper: [xnli-from-mbert, xnli-upper]}}\n",
            "transfer.runs.upper: Input should be 'finetune' or 'stripped'",
        ),
        (PAPER + "inference: {runs: 'tune-{encoder}'}\n", "'tune-mbert' is not defined"),
        (
            "static_vectors:\n  glove-200k-1: {encoder: mbert}\n",
            "'mbert' is not defined from scratch",
        ),
        ("static_vectors:\n  mbert: {encoder: bert-200k-20, method: glove}\n", "has this name"),
        (
            "encoders:\n  bert-200k-20: {scratch: {tokenizer_of: bert-1000k-20}}\n",
            "'bert-1000k-20' trains no tokenizer",
        ),
        (
            "encoders:\n  bert-200k-20: {scratch: {languages: [zu]}}\n",
            "'zu' is not defined in any of the texts",
        ),
        ("fitted_head: {languages: [zu]}\n", "'zu' is not defined in any of the texts"),
        (
            "encoders:\n  mbert: {language_model_head: fitted}\nfitted_head: null\n",
            "no texts are named to fit it on; name `texts` in the top-level key `fitted_head`",
        ),
        (
            "encoders:\n  bert-200k-20: {language_model_head: fitted}\n",
            "scratch trains the head, so leave it out",
        ),
    ],
)
def test_a_mistake_is_one_sentence_with_key_and_fix(tmp_path, text, sentence):
    assert sentence in config_errors(tmp_path, text)


def test_the_last_shifted_sentence_can_be_shown():
    paper = config(liu2020={"translation": {"limit": 80, "shown": {"fr": [79]}}}).liu2020
    assert paper.translation.shown_sentences["fr"] == [79]


def test_windows_and_sizes_see_as_much():
    found = config().encoders
    specs = [
        found[f"bert-{size}-{window}"].scratch for size in ("200k", "1000k") for window in (512, 20)
    ]
    assert {spec.pretraining.pieces for spec in specs} == {4_000_000_000}
    assert {spec.tokenizer_of for spec in specs} == {"mbert"}
    steps = [
        spec.pretraining.optimisation.batch_size * (spec.pretraining.max_length - 2)
        for spec in specs
    ]
    assert max(steps) / min(steps) == pytest.approx(1, abs=1e-3)  # subwords in a step


def test_the_upper_half_is_trained():
    runs = RunTable(config())
    run = runs.get("xnli-upper", None, "published")
    assert run.specification["hyperparameters"]["trained_layers"] == ["7-12"]
    every = runs.get("xnli-from-mbert", None, "published")
    assert every.specification["hyperparameters"]["trained_layers"] == "all"


@pytest.mark.parametrize(
    ("presets", "names"),
    [
        (
            [],
            {
                "google_bert": "mBERT",
                "bert_20_200k": "window 20, 200,000 sentences",
                "1000k": "1,000,000 sentences",
                "finetune_last_6_layers": "fine-tuned, layers 7-12",
            },
        ),
        (
            ["demo"],
            {
                "google_bert": "4-layer BERT (paper: mBERT)",
                "bert": "3-layer BERT (paper: BERT)",
                "finetune_last_6_layers": "fine-tuned, layers 3-4 (paper: last 6)",
                "bert_20_200k": "window 8, 12,000 sentences (paper: 20, 200k)",
                "bert_512_1000k": "window 64, 60,000 sentences (paper: 512, 1000k)",
                "1000k": "60,000 sentences (paper: 1000k)",
            },
        ),
    ],
)
def test_labels_are_those_of_the_run(presets, names, monkeypatch):
    monkeypatch.chdir(ROOT)
    settings = papers.load([ROOT / f"config/{name}.yaml" for name in presets], ROOT)
    plan = Plan(settings, Languages.read(ROOT / "resources/languages.csv"))
    found = {}
    for artifact in plan.papers["liu2020"].artifacts:
        found |= artifact.conditions
        for figure in artifact.figures if artifact.conditions else ():
            assert figure.options()["names"].items() >= artifact.conditions.items()
    assert names.items() <= found.items()
    assert ("bert" in found) == bool(presets)


@pytest.mark.parametrize(
    ("pretrained", "missing", "text"),
    [
        ({"200k": {"512": None}}, set(), "200,000 sentences per language"),
        ({"200k": {"20": None}}, set(), "200,000 sentences per language"),
        ({"200k": {"20": None}, "1000k": {"20": None}}, {"figure6b"}, "200,000 sentences"),
        ({"200k": None, "1000k": {"512": None}}, {"figure1", "figure2", "figure6b"}, ""),
    ],
)
def test_what_has_nothing_to_compare_is_not_planned(pretrained, missing, text, monkeypatch):
    monkeypatch.chdir(ROOT)
    settings = config(liu2020={"embeddings": {"pretrained": pretrained}})
    plan = Plan(settings, Languages.read(ROOT / "resources/languages.csv"))
    artifacts = {item.name: item for item in plan.papers["liu2020"].artifacts}
    every = {*(f"figure{n}" for n in (1, 2, 3, 4, 5, "6a", "6b", 7, 8)), "table1", "table2"}
    assert {*artifacts} == every - missing | {"table3", "table4"}
    for artifact in artifacts.values():
        assert all(measurement.cells() for measurement in artifact.measurements)
    if "figure1" in artifacts:
        assert text in artifacts["figure1"].title
    if "figure6b" in artifacts:
        (measurement,) = artifacts["figure6b"].measurements
        windows: dict[str, set[str]] = {}
        for cell in measurement.cells():
            windows.setdefault(cell.condition, set()).add(cell.facts["window"])
        assert all(found == {"512", "20"} for found in windows.values())


def test_a_size_without_any_embeddings_of_its_own_has_no_figure(monkeypatch):
    monkeypatch.chdir(ROOT)
    none = {"pretrained": {"200k": {"512": None}}, "static": {"200k": None}}
    settings = config(liu2020={"embeddings": none})
    plan = Plan(settings, Languages.read(ROOT / "resources/languages.csv"))
    names = {artifact.name for artifact in plan.papers["liu2020"].artifacts}
    assert not names & {"figure1", "figure2"}
    assert names >= {"figure3", "figure4", "figure5"}


def test_tables_without_rows_are_not_planned(monkeypatch):
    monkeypatch.chdir(ROOT)
    none = {"finetune": None, "stripped": None}
    changes = {"translation": {"shown": {"zh": None, "fr": None}}, "transfer": {"runs": none}}
    plan = Plan(config(liu2020=changes), Languages.read(ROOT / "resources/languages.csv"))
    names = {artifact.name for artifact in plan.papers["liu2020"].artifacts}
    assert names & {"table1", "table2", "table3", "table4"} == {"table2", "table3"}
