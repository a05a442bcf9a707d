"""What the demo shows of the paper."""

import pytest

from clone import measured

pytestmark = pytest.mark.workflow


def test_languages_are_identified(highlights):
    frame = measured(highlights, "tanti2021/table1_xnli").astype({"value": float})
    initial = frame[frame.condition == "initial"]
    accuracy = initial[initial.metric == "accuracy_language_wikipedia"]
    assert set(accuracy.protocol) == {"published", "corrected"}
    assert accuracy["value"].min() > 95, accuracy


def test_experiments_of_language_specificity_are_complete(demo):
    for artifact in ("table1", "table2", "table3"):
        for task in ("udpos", "xnli"):
            frame = measured(demo, f"tanti2021/{artifact}_{task}").astype({"value": float})
            frame = frame[frame.artifact == artifact]
            score = "v_measure" if artifact == "table3" else "macro_f1"
            for what in ("label", "language_target", "language_wikipedia"):
                rows = frame[(frame.metric == f"{score}_{what}") & (frame.target == "")]
                assert len(rows) == 2 * 2 * 2  # conditions, protocols, seeds
                assert rows["value"].between(0, 100).all()
    choices = measured(demo, "tanti2021/table5")
    assert len(choices[choices.metric == "classifier_lr"]) == 2 * 2  # those that are searched
    items = measured(demo, "tanti2021/appendixA").set_index(["task", "condition", "protocol"])
    assert items["value"].astype(int).loc["udpos", "train", "published"].item() == 1080
    assert items["value"].astype(int).loc["udpos", "val", "published"].item() == 120
    # The test set has a fourth language, in which nothing is evaluated.
    assert items["value"].astype(int).loc["xnli", "test", "published"].item() == 3 * 300
    points = measured(demo, "tanti2021/appendixB").set_index(["task", "protocol"])
    assert points["value"].astype(int).loc["xnli", "published"].item() == 3 * 3 * 40


def test_tagging_beats_guessing(highlights):
    tagging = measured(highlights, "tanti2021/table1_udpos")
    tuned = tagging[tagging.condition == "fine_tuned"]
    words = tuned[(tuned.metric == "accuracy") & (tuned.target == "en")]
    assert words["value"].astype(float).min() > 90
