"""What encoders without and with cross-lingual transfer confirm, from made-up measurements."""

import numpy as np
import pytest
from configs import ROOT

from mbert_atlas.analysis.measurements import resamples_path, write_measurements
from mbert_atlas.scorecard.claims import read_claims
from mbert_atlas.scorecard.verdicts import verdicts

PAPER = "muller2021"
TASKS = {"parsing": "las", "pos": "accuracy"}
SEEDS = (1, 2, 3)
TARGETS = {"figure1": ["ru"], "figure5": ["fr", "ar"], "figure6": ["fr"], "figure7": ["fr"]}
# Changes of the score in the source language and in others, by re-initialised layers.
TRANSFERRING = {
    "score": (85, 60),
    "changes": {
        "first": (-1, -15),
        "lower": (-0.5, -8),
        "upper": (0, -0.3),
        "last": (0, 0),
        "all": (-15, -45),
    },
    # Embeddings, the pretrained encoder's best layer, last layer.
    "similarities": {
        "pretrained": (40, 75, 60),
        "fine_tuned": (40, 74, 60),
        "random_init_1-2": (40, 50, 45),
        "random_init_11-12": (40, 74, 50),
    },
}
RANDOM = {
    "score": (70, 20),
    "changes": dict.fromkeys(TRANSFERRING["changes"], (0, 0)),
    "similarities": dict.fromkeys(TRANSFERRING["similarities"], (30, 31, 30)),
}
HEADLINES = {
    "lowest-hurts-transfer-more",
    "upper-spares-transfer",
    "lower-half-matters-more",
    "upper-half-spares-transfer",
    "similarity-survives",
}


def judged(folder, encoder):
    random = np.random.default_rng(3)

    def numbers(value, seeds=SEEDS):
        """The number by seed, on a test set whose items move it by half a point."""
        of_items = random.normal(0, 0.2, 400)
        for seed in seeds:
            one = value + random.normal(0, 0.15 if seed else 0)
            resampled = (one + of_items).astype(np.float32)
            yield {"value": one, "resampled": resampled} | ({"seed": seed} if seed else {})

    def rows():
        for task, metric in TASKS.items():
            for place, target in enumerate(("en", "mean_x")):
                cells = [("ref", "", encoder["score"][place])]
                for layers, changes in encoder["changes"].items():
                    cells.append(("random_init_delta", layers, changes[place]))
                for condition, layers, value in [*cells, ("majority", "", 15)]:
                    for number in numbers(value, SEEDS if condition != "majority" else (None,)):
                        yield {"artifact": "table1", "task": task, "target": target} | {
                            **{"condition": condition, "layers": layers, "metric": metric},
                            **number,
                        }
            for artifact, targets in TARGETS.items():
                if (artifact, task) in (("figure6", "pos"), ("figure7", "parsing")):
                    continue
                for target in targets:
                    for condition, values in encoder["similarities"].items():
                        if artifact in ("figure1", "figure5") and "random" in condition:
                            continue
                        seeds = (None,) if condition == "pretrained" else SEEDS
                        for metric in ("cka_percent", "cka_shuffled_percent"):
                            layers = zip(("bottom", "peak", "top"), values, strict=True)
                            for layer, value in layers:
                                true = value if metric == "cka_percent" else 0
                                for number in numbers(true, seeds):
                                    yield {
                                        **{"artifact": artifact, "task": task, "target": target},
                                        **{"condition": condition, "layers": layer},
                                        **{"metric": metric, **number},
                                    }

    path = folder / "m.csv"
    common = {"paper": PAPER, "source": "en", "protocol": "corrected", "model": "mbert", "n": 1000}
    write_measurements(({"n": 1000, **row} for row in rows()), path, **common)
    claims = read_claims(
        ROOT / f"mbert_atlas/papers/{PAPER}/claims.yaml",
        PAPER,
        reported := ROOT / f"resources/reported/{PAPER}.csv",
    )
    frame = verdicts(
        {PAPER: claims},
        [path],
        [reported],
        [resamples_path(path)],
        languages={"en", "ru", "fr", "ar"},
        comparable=False,
    )
    return frame[frame.protocol == "corrected"].set_index("id")


def holding(frame):
    """The claims of the paper that hold."""
    return set(frame.index[frame.verdict.str.startswith("holds") & (frame.control_for == "")])


def test_a_random_encoder_confirms_nothing(tmp_path):
    frame = judged(tmp_path, RANDOM)
    assert holding(frame) == set()
    # It learned its task, which a random encoder may, too: then the controls show the same.
    assert frame.verdict["upper-spares-source"] == "also in a control"
    assert frame.in_control["upper-spares-source"] == "all-spares-source"
    for name in ("upper-spares-transfer", "upper-half-spares-transfer"):
        assert frame.verdict[name] == "not applicable"
        assert "there is no transfer" in frame.gate[name]
    assert frame.verdict["similarity-survives"] == "not applicable"
    assert "does not rise" in frame.gate["similarity-survives"]


def test_a_transferring_encoder_confirms_the_abstract(tmp_path):
    frame = judged(tmp_path, TRANSFERRING)
    assert holding(frame) >= HEADLINES
    controls = frame[frame.control_for != ""]
    assert not controls.verdict.str.startswith("holds").any()
    assert (controls.verdict == "does not hold").sum() >= 6


@pytest.mark.parametrize("values", [(40, 74, 60), (40, 41, 40)])
def test_survival_is_about_one_layer_and_needs_alignment(tmp_path, values):
    similarities = TRANSFERRING["similarities"] | {"pretrained": values, "fine_tuned": (40, 50, 74)}
    frame = judged(tmp_path, TRANSFERRING | {"similarities": similarities})
    expected = "does not hold" if values[1] > 50 else "not applicable"
    assert frame.verdict["similarity-survives"].startswith(expected)


def test_an_encoder_that_is_most_similar_in_its_last_layer_has_no_peak(tmp_path):
    """There a fall from the peak would be that of a layer from itself."""
    similarities = TRANSFERRING["similarities"] | {"pretrained": (40, 74, 74)}
    frame = judged(tmp_path, TRANSFERRING | {"similarities": similarities})
    for name in ("similarity-falls", "similarity-rises", "similarity-survives"):
        assert frame.verdict[name] == "not applicable"
        assert "at its maximum in the last layer" in frame.gate[name]
