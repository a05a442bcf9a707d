"""The section of the paper: what does not fit is named."""

import pytest
from configs import config, config_errors

from mbert_atlas.plan.runs import RunTable

PAPER = "liang2021:\n  "


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (PAPER + "encoders: {xlmr: xlm}\n", "'xlm' is not defined"),
        (
            PAPER + "tokens: {texts: {mbert: wikipedia}}\n",
            "'wikipedia' is not defined as lang",
        ),
        (PAPER + "tokens: {encoding: xtreme-tags}\n", "'xtreme-tags' is not defined for text"),
        (PAPER + "typology: wikipedia\n", "'wikipedia' is not defined as typology"),
        (PAPER + "pairs: {sets: {italic: [es, eo]}}\n", "'eo' is not defined in datasets.tokens"),
        (PAPER + "removal: {firsts: [10, 20]}\n", "lacks the whole space"),
        (PAPER + "removal: {tuned: {pos: {lda: [150]}}}\n", "'xtreme-pos-lda-150' is not defined"),
        (
            PAPER + "transfer: {layers: {ner: {en: [2-3]}}}\n",
            "'xtreme-ner-l-dar-2-3' is not defined",
        ),
        (PAPER + "transfer: {datasets: {pos: xtreme-pos-dev}}\n", "in runs.xtreme-pos.evaluate"),
        (
            "runs:\n  xtreme-pos-l-dar: {language_data: {encoding: xtreme-tags}}\n",
            "'xtreme-tags' is not defined for text",
        ),
    ],
)
def test_a_mistake_is_one_sentence_with_key_and_correction(tmp_path, text, sentence):
    assert sentence in config_errors(tmp_path, text)


def test_what_the_regulariser_holds_to_differs_by_protocol():
    runs = RunTable(config())
    for layers, first in (("", 1), ("-5-8", 5)):
        published, corrected = (
            runs.get(f"xtreme-pos-l-dar{layers}", None, protocol)
            for protocol in ("published", "corrected")
        )
        held = [
            run.specification["hyperparameters"]["language_subspace"]
            for run in (published, corrected)
        ]
        assert [one["reference"] for one in held] == ["random", "pretrained"]
        assert {one["first_layer"] for one in held} == {first}
        assert published.specification["language_data"]["dataset"] == "tokens-mbert"
    assert "language_data" not in runs.get("xtreme-pos", None, "published").specification
