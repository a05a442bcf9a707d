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

    ``draws`` are values by hyperparameter, ``predictions`` those of each draw; their unit and
    protocol as in :func:`mbert_atlas.analysis.scores.prediction_scores`. The mean score over
    languages decides; without any, that of all of them pooled. JSON: ``values`` and ``score``
    (percent) of the best draw, its number ``draw`` (from 1), and both of all ``draws``. Raises
    :class:`DataError` if there are no predictions for a language that decides, or no such score.
    """
    chosen, scores = [ALL_LANGUAGES] if languages is None else list(languages), []
    for path in predictions:
        table = prediction_scores(path, unit, protocol)
        table = table[table["language"].isin(chosen) & (table["metric"] == metric)]
        if missing := sorted(set(chosen) - set(table["language"])):
            raise DataError(
                path,
                f"language {missing[0]}",
                f"there is no {metric} of predictions",
                "add the language to `search.evaluate` of the family, or choose by another score",
            )
        scores.append(float(table["value"].mean()))  # over development sets and languages
    best = max(range(len(scores)), key=scores.__getitem__)
    each = [
        {"values": dict(values), "score": score}
        for values, score in zip(draws, scores, strict=True)
    ]
    write_json({"draw": best + 1, **each[best], "draws": each}, output)
