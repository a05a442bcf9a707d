"""The section of the paper: what does not fit is named."""

import pytest
from configs import ROOT, config, config_errors
from toy_representations import corrected_adjustment

from mbert_atlas import papers
from mbert_atlas.config.training import Adjustment

TABLE = "efimov2022:\n  tables:\n    "
FIGURE = "efimov2022:\n  figures:\n    "


@pytest.mark.parametrize(
    ("text", "line", "sentence"),
    [
        (FIGURE + "figure1: {languages: [de]}\n", "line 3", "'de' is not defined in datasets.wiki"),
        (FIGURE + "figure1: {panels: {nli: qa}}\n", "", "a panel has one name and one family"),
        (
            FIGURE + "figure1: {panels: {eflomal: nli-eflomal}}\n",
            "line 3",
            "'adjusted-eflomal' has word pairs of eflomal, held out are those of builtin",
        ),
        (
            FIGURE + "figure3: {languages: [hi], panels: {nli: nli}}\n",
            "line 3",
            "Input should be 'figure1' or 'figure2'",
        ),
        (
            TABLE + "mine: {languages: [hi], tests: {xnli: {dataset: xnli, runs: nli}}}\n",
            "line 3",
            "key efimov2022.tables.mine: Input should be 'table2', 'table3'",
        ),
        (
            "encoders:\n  other: {folder: here}\nefimov2022:\n  model: other\n",
            "",
            "'mbert' goes back to the encoder 'mbert', and efimov2022.model is 'other'",
        ),
        (
            TABLE + "table2: {conditions: {adjusted: nli-ajusted}}\n",
            "line 3",
            "did you mean 'nli-adjusted'?",
        ),
        (
            TABLE + "table2: {conditions: {adjusted: ner-adjusted}}\n",
            "line 3",
            "'xnli' is not defined in runs.ner-adjusted.evaluate",
        ),
        (
            TABLE + "table5: {against: {adjusted_5K: original}}\n",
            "line 3",
            "no contrast of 'adjusted_5K' with 'original' is declared for table5; declare it in "
            "mbert_atlas/papers/efimov2022",
        ),
        (TABLE + "table3: {conditions: {original: null}}\n", "", "not defined for the test ner"),
        (TABLE + "table3: {languages: [es, de]}\n", "line 3", "not defined in any of its tests"),
        (
            "runs:\n  adjusted: {languages: [es]}\n",
            "",
            "'vi' is not defined in runs.adjusted.languages",
        ),
        (
            "runs:\n  adjusted: {languages: [es, tr]}\n",
            "line 2",
            "'tr' is not defined in datasets.wikimatrix.languages",
        ),
        ("runs:\n  adjusted: {bitext: xnli}\n", "line 2", "'xnli' is not defined as bitext"),
        (
            "runs:\n  adjusted:\n    published:\n      optimisation: {weight_decay: 0.1}\n",
            "line 4",
            "weight_decay with adam would be an L2 penalty",
        ),
        (
            "runs:\n  qa-translated: {train_languages: [ru]}\n",
            "line 2",
            "'ru' is not defined in datasets.squad-translated.languages",
        ),
        (
            "datasets:\n  wikimatrix-pieces: {encoder: null}\n",
            "line 2",
            "a derived bitext needs `encoder`",
        ),
    ],
)
def test_a_mistake_is_one_sentence_with_key_and_fix(tmp_path, text, line, sentence):
    message = config_errors(tmp_path, text)
    assert line in message
    assert sentence in message


def test_fine_tuning_is_the_authors():
    """Transformers' AdamW of their time, and BertForQuestionAnswering, which drops nothing."""
    families = {name: f for name, f in config().runs.items() if f.paper == "efimov2022"}
    finetunings = {name: f for name, f in families.items() if f.kind == "finetuning"}
    assert {name.split("-")[0] for name in finetunings} == {"nli", "ner", "qa"}
    for name, family in finetunings.items():
        for settings in filter(None, (family.published, family.corrected)):
            assert settings.optimisation.epsilon == 1e-6
            assert settings.head.dropout == (0 if name.startswith("qa") else 0.1)


def test_adjustment_is_the_authors_and_that_of_equation_1():
    adjusted = config().runs["adjusted"]
    assert (adjusted.published, adjusted.corrected) == (Adjustment(), corrected_adjustment())


def test_questions_are_added_to_the_night_by_a_file():
    names = ["small", "night", "papers/efimov2022.questions"]
    with_questions, night = (
        papers.load([ROOT / f"config/{name}.yaml" for name in some], ROOT)
        for some in (names, names[:2])
    )
    added = with_questions.runs.keys() - night.runs.keys()
    assert added == {"qa", "qa-adjusted", "qa-continual"}
    tables = with_questions.efimov2022.tables.keys() - night.efimov2022.tables.keys()
    assert tables == {"table4", "table8"}
    panels = with_questions.efimov2022.figures["figure2"].panels
    assert panels["adjusted_qa"] == "qa-adjusted"
    assert {"qa", "ner", "adjusted_ner"} < panels.keys()
