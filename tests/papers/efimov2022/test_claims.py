"""Claims on the separation of words, from made-up numbers."""

from itertools import product

import pytest
from configs import ROOT

from mbert_atlas.analysis.measurements import write_measurements
from mbert_atlas.scorecard.claims import read_claims
from mbert_atlas.scorecard.verdicts import verdicts

PAPER = "efimov2022"
LANGUAGES = ("es", "ru", "vi", "hi")
SEEDS = (1, 2, 3)
FIGURE1 = {"original": 0.7, "adjusted": 0.85, "nli": 0.55, "adjusted_nli": 0.6}
JUDGED = {
    "tuning-forgets": "holds",
    "tuning-leaves-some": "holds",
    "tuning-leaves-little": "holds",
    "continual-separates": "holds",
    "separation-spanish": "undecided",
}


def judged(folder, figure1, tuned, replayed):
    """Verdicts from separations of one language in Figure 1, and of four in Figure 2."""

    figure2 = {"original": figure1["original"]}
    for task in ("qa", "ner", "nli"):
        figure2 |= {f"adjusted_{task}": tuned, f"adjusted_continual-{task}": replayed}
    nli = {"task": "xnli", "metric": "accuracy"}
    rows = [
        {"artifact": artifact, "target": target, "condition": condition, "seed": seed}
        | (nli if artifact == "table2" else {})
        | {"value": value + seed / 1000}
        for artifact, targets, values in (
            ("figure1", ["hi"], figure1),
            ("figure2", LANGUAGES, figure2),
            ("table2", LANGUAGES, {"original": 60}),
        )
        for target, (condition, value), seed in product(targets, values.items(), SEEDS)
    ]
    path, reported = folder / "m.csv", ROOT / f"resources/reported/{PAPER}.csv"
    common = {"task": "word_distance", "metric": "separation_auc"}
    common |= {"paper": PAPER, "model": "mbert", "source": "en", "n": 10_000}
    write_measurements(({**common, **row} for row in rows), path)
    stated = read_claims(ROOT / f"mbert_atlas/papers/{PAPER}/claims.yaml", PAPER, reported)
    frame = verdicts({PAPER: stated}, [path], [reported], languages=["en", *LANGUAGES])
    return frame[frame.protocol == "corrected"].set_index("id")


def test_words_that_leave_room_are_judged(tmp_path):
    frame = judged(tmp_path, FIGURE1, 0.7, 0.75)
    assert frame.verdict[[*JUDGED]].to_dict() == JUDGED


@pytest.mark.parametrize(("start", "reason"), [(0.989, "separated almost fully"), (0.5, "closer")])
def test_separation_that_starts_at_an_end_says_nothing(tmp_path, start, reason):
    frame = judged(tmp_path, dict.fromkeys(FIGURE1, start), start, start)
    for name in JUDGED:
        assert frame.verdict[name] == "not applicable", name
        assert reason in frame.gate[name], name
        assert f"{start:.2f}"[:4] in frame.gate[name], name
