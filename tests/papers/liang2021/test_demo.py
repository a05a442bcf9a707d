"""What the demo shows of the paper; genera and typology of the synthetic languages are known."""

import pytest

from clone import measured

pytestmark = pytest.mark.workflow


def numbers(demo, artifact):
    return measured(demo, f"liang2021/{artifact}").astype({"value": float})


def scores(demo, artifact):
    frame = numbers(demo, artifact)
    return frame[frame.metric == "score"]


def test_first_dimensions_tell_languages_apart(highlights):
    frame = scores(highlights, "figure1")
    means = frame.groupby(["task", "model", "protocol", "condition"])["value"].mean()
    for model in ("mbert", "xlmr"):
        own = means["identification", model, "corrected"]
        assert own["densray_0-10"] > own["densray_random-10"] + 5, own
        assert own["lda_0-10"] > 85, own
        typology = means["typology", model, "published"]
        assert typology["densray_0-10"] > typology["densray_random-10"], typology


def test_typology_of_unseen_languages_is_harder(highlights):
    frame = scores(highlights, "figure1")
    means = frame[frame.task == "typology"].groupby(["protocol", "condition"])["value"].mean()
    assert means["published", "lda_0-20"] > means["corrected", "lda_0-20"] + 5, means


def test_there_is_no_language_behind_the_rank(demo):
    frame = numbers(demo, "figure2")
    gain = frame[(frame.metric == "score_gain") & (frame.task == "identification")]
    gain = gain[(gain.protocol == "corrected") & gain.condition.str.startswith("lda")]
    means = gain.groupby("condition")["value"].mean()
    assert means["lda_0-4"] > means["lda_44-48"] + 5, means


def test_genera_are_compared_with_random_groups(demo):
    assert set(numbers(demo, "figure5").target) == {"italic", "slavic", "random"}


def test_every_layer_is_probed(highlights):
    assert set(scores(highlights, "figure3").layers) == {
        *"01234",
        *("lower", "upper"),
        *("penultimate", "last"),
    }


def test_every_figure_and_table_has_its_cells(demo):
    frozen = numbers(demo, "figure4")
    assert {"frozen_densray_24", "frozen_lda_88", "tuned_densray_24"} <= set(frozen.condition)
    targets = {"en", "de", "zh", "fr", "ru", "hi", "ar", "tr", "nl", "it", "pl", "he"}
    for table in ("table2", "table3", "table4", "table5"):
        frame = numbers(demo, table)
        assert set(frame.target) == targets | {"avg"}
        assert set(frame.condition) == {"baseline", "l_dar"}
        assert set(frame.protocol) == {"published", "corrected"}
        english = frame[(frame.target == "en") & (frame.condition == "baseline")]
        assert english["value"].min() > 60, english
    means = numbers(demo, "table1")
    control = means[means.condition == "l_dar_random"]
    assert set(zip(control.task, control.source, strict=True)) == {("pos", "en")}
    baseline = means[(means.condition == "baseline") & (means.target == "train")]
    by_metric = baseline.groupby("metric")["value"].min()
    assert by_metric["accuracy"] > by_metric["majority_accuracy"] + 5, by_metric
    assert set(numbers(demo, "table6").layers) == {"", "1-2", "3-4", "bottom", "top"}
    figures = list((demo / "results/demo/figures/liang2021").glob("figure*.svg"))
    assert len(figures) == 5 * 2
