"""Which draw of a random search is taken: the best on development data (tanti2021, appendix D)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mbert_atlas.analysis.scores import ALL_LANGUAGES, MACRO_F1, prediction_scores
from mbert_atlas.errors import DataError
from mbert_atlas.files import write_json

ENGLISH = "en"


def choose_hyperparameters(
    draws: Sequence[Mapping[str, float]],
    predictions: Sequence[Path],
    *,
    unit: str,
    protocol: str,
    output: Path,
) -> dict[str, Any]:
    """Write the draw with the highest macro F1 on development data, and the score of each.

    ``published`` takes the score of the authors' code on all languages together, so that transfer
    is not strictly zero-shot; ``corrected`` the score of texts or words on English alone. The first
    of equals wins.

    Args:
        draws: values that each draw set.
        predictions: its predictions on development data, in the same order.
        unit: ``token`` or ``text``.
        protocol: ``published`` or ``corrected``.
        output: JSON file with ``values`` and ``score`` (percent) of the best, its ``draw`` (from
            1), and all ``draws`` with theirs.

    Raises:
        DataError: if there are no predictions for the language that decides.
    """
    scores = [_score(path, unit, protocol) for path in predictions]
    best = max(range(len(scores)), key=scores.__getitem__)
    found = {
        "draw": best + 1,
        "values": dict(draws[best]),
        "score": scores[best],
        "draws": [
            {"values": dict(values), "score": score}
            for values, score in zip(draws, scores, strict=True)
        ],
    }
    write_json(found, output)
    return found


def _score(path: Path, unit: str, protocol: str) -> float:
    language = ALL_LANGUAGES if protocol == "published" else ENGLISH
    scores = prediction_scores(path, unit, protocol)
    kept = scores[(scores["language"] == language) & (scores["metric"] == MACRO_F1[unit, protocol])]
    if kept.empty:
        raise DataError(
            path,
            f"language {language}",
            "there are no predictions",
            "add it to tanti2021.tasks.*.dev",
        )
    return float(kept["value"].mean())  # over development sets
