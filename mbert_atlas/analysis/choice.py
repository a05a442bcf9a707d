"""The draw of a hyperparameter search that scores best on development data."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mbert_atlas.analysis.scores import ALL_LANGUAGES, prediction_scores
from mbert_atlas.errors import DataError
from mbert_atlas.files import write_json


def choose_hyperparameters(
    draws: Sequence[Mapping[str, Any]],
    predictions: Sequence[Path],
    *,
    unit: str,
    protocol: str,
    metric: str,
    languages: Sequence[str] | None,
    output: Path,
) -> None:
    """Write the draw with the highest score on development data, of equal ones the first.

    Args:
        draws: values of each draw, by hyperparameter.
        predictions: predictions of each draw on development data, in the same order.
        unit: see :func:`mbert_atlas.analysis.scores.prediction_scores`, as ``protocol``.
        protocol: ``published`` or ``corrected``.
        metric: score that decides.
        languages: languages whose mean decides; none: the score of all of them pooled.
        output: JSON file with ``values`` and ``score`` (percent) of the best draw, its number
            ``draw`` (from 1), and values and score of all ``draws``.

    Raises:
        DataError: if there are no predictions for a language that decides, or no such score.
    """
    scores = [_score(path, unit, protocol, metric, languages) for path in predictions]
    best = max(range(len(scores)), key=scores.__getitem__)
    choice = {
        "draw": best + 1,
        "values": dict(draws[best]),
        "score": scores[best],
        "draws": [
            {"values": dict(values), "score": score}
            for values, score in zip(draws, scores, strict=True)
        ],
    }
    write_json(choice, output)


def _score(
    path: Path, unit: str, protocol: str, metric: str, languages: Sequence[str] | None
) -> float:
    table = prediction_scores(path, unit, protocol)
    chosen = [ALL_LANGUAGES] if languages is None else list(languages)
    scores = table[table["language"].isin(chosen) & (table["metric"] == metric)]
    if missing := sorted(set(chosen) - set(scores["language"])):
        raise DataError(
            path,
            f"language {missing[0]}",
            f"there is no {metric} of predictions",
            "add the language to `search.evaluate` of the family, or choose by another score",
        )
    return float(scores["value"].mean())  # over development sets and languages
