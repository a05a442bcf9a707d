"""Intervals of single numbers, which figures draw: those that verdicts rest on."""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from mbert_atlas.cells import with_files
from mbert_atlas.figures.reported import read_reported
from mbert_atlas.registry import resolve
from mbert_atlas.scorecard.cells import KEY, Measured, measured_cells
from mbert_atlas.scorecard.claims import Claims
from mbert_atlas.scorecard.estimates import Evidence, evidence_of

_LEVEL = 0.05
COLUMNS = (*KEY, "protocol", "low", "high", "over")


def measured_intervals(
    measurement: Path, resamples: Path, claims: Mapping[str, Claims], languages: Collection[str]
) -> pd.DataFrame:
    """Return the 95% interval of each number of a measurement, by the rule of docs/verdicts.md.

    Columns are those of a cell, ``protocol``, the ends ``low`` and ``high`` in its unit, and
    ``over``: ``seeds and items``, ``seeds`` or ``items``. Variances over seeds are pooled over this
    measurement alone, so that a figure needs no other. Where none of its numbers has two seeds, the
    interval is over items. A number of which nothing is known has no row. Other arguments are
    those of :func:`.verdicts.verdicts`.
    """
    cells = measured_cells([measurement], [resamples])
    rows = []
    for protocol, evidence in evidence_of(claims, cells, languages).items():
        some = cells[protocol]
        of_items = Evidence({key: _without_seeds(cell) for key, cell in some.items()}, languages)
        for key in some:
            estimate = evidence.estimate({key: 1.0})
            estimate = estimate if estimate.terms else of_items.estimate({key: 1.0})
            if estimate.terms:
                over = [name for name in ("seeds", "items") if f"{name[:-1]}-" in estimate.basis]
                ends = estimate.interval(_LEVEL)
                rows.append((*key, protocol, *ends, " and ".join(over)))
    return pd.DataFrame(rows, columns=list(COLUMNS))


def draw(
    drawn: Mapping[str, Any],
    files: Sequence[str],
    intervals: Mapping[str, Any] | None = None,
    reported: Mapping[str, Any] | None = None,
) -> Any:
    """Return the matplotlib figure of a record, with the files of its cells.

    ``drawn`` has ``function``, ``cells`` and ``options``; ``intervals``, if it shows some,
    ``paper``, ``about`` (what claims state of cells) and ``languages``; ``reported``, if it shows
    the paper's numbers, ``path``, ``is_comparable``, and ``read_off``, if there is such a file.
    """
    cells = with_files(drawn["cells"], files)
    also: dict[str, Any] = {}
    if reported:
        read_off = reported.get("read_off", {}).get("path")
        also["reported"] = read_reported(reported["path"], reported["is_comparable"], read_off)
    if intervals:  # of all numbers that the figure may show
        stated = {intervals["paper"]: Claims(claims={}, **intervals["about"])}
        paths = cells[0].paths
        measurement, resamples = Path(paths.get("scores", cells[0].path)), Path(paths["resamples"])
        languages = intervals["languages"]
        also["intervals"] = measured_intervals(measurement, resamples, stated, languages)
    return resolve(drawn["function"])(cells, **drawn["options"], **also)


def _without_seeds(cell: Measured) -> Measured:
    """Return the mean over seeds as a number that depends on none."""
    again = [*cell.resampled.values()]
    return Measured(
        {None: sum(cell.values.values()) / len(cell.values)},
        cell.n_items,
        {None: sum(again) / len(again)} if again else {},
    )
