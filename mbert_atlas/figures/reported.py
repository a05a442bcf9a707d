"""What the papers report, next to our numbers: hollow markers."""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from mbert_atlas.analysis.measurements import read_measurements
from mbert_atlas.schemas import MEASUREMENT_COLUMNS

REPORTED = "reported by the paper"
NOT_COMPARABLE = f"{REPORTED}, not comparable"
"""What legends call the markers; the second if the run cannot be compared with the paper."""
_READ_OFF = "read off the paper's figure, ±{:g}"
MARK = "_reported"
"""Label of the markers, which matplotlib's legends leave out."""
_KEY = list(MEASUREMENT_COLUMNS[:9])
_QUANTITY = [column for column in _KEY if column != "artifact"]
_LIGHT = 0.45


class Reported(NamedTuple):
    """The numbers of a paper."""

    numbers: pd.DataFrame  # columns of a cell, as text, and `value`, in the unit of measurements
    is_comparable: bool  # whether the run has the paper's data and encoders
    read_off: pd.DataFrame | None = None  # of curves: the same columns, and `error`


def read_reported(
    path: Path | str, is_comparable: bool, read_off: Path | str | None = None
) -> Reported:
    """Read ``resources/reported/<paper>.csv``, and ``resources/read_off/<paper>.csv`` if given."""
    curves = read_measurements(read_off) if read_off else None
    return Reported(read_measurements(path), is_comparable, curves)


def with_reported(measured: pd.DataFrame, reported: Reported | None) -> pd.DataFrame:
    """Add what the paper reports of each number: columns ``reported`` (or NaN), ``is_comparable``.

    Rows are those of measurements. As in the scorecard, the whole cell decides; a number that the
    paper states under other tables or figures alone counts if they agree. What was read off a
    figure fills gaps, with its ``error``. None adds nothing.
    """
    if reported is None:
        return measured
    values = _of_cells(measured, reported.numbers, "value")
    if reported.read_off is None:
        return measured.assign(reported=values, is_comparable=reported.is_comparable)
    read, errors = (_of_cells(measured, reported.read_off, name) for name in ("value", "error"))
    return measured.assign(
        reported=np.where(np.isnan(values), read, values),
        error=np.where(np.isnan(values), errors, np.nan),
        is_comparable=reported.is_comparable,
    )


def _of_cells(measured: pd.DataFrame, numbers: pd.DataFrame, column: str) -> Any:
    anywhere = numbers.groupby(_QUANTITY, as_index=False)[column].agg(["min", "max"])
    anywhere = anywhere[anywhere["min"] == anywhere["max"]].rename(columns={"min": column})
    exact, other = (
        measured[keys].merge(some[[*keys, column]], how="left", on=keys)[column]
        for keys, some in ((_KEY, numbers), (_QUANTITY, anywhere))
    )
    return exact.fillna(other).to_numpy()


def has_reported(rows: pd.DataFrame) -> bool:
    """Return whether the paper reports any of these numbers."""
    return "reported" in rows and bool(rows["reported"].notna().any())


def reported_entry(rows: pd.DataFrame) -> dict[str, Line2D]:
    """Return the entry of a legend for the markers of these numbers; empty if there are none."""
    if not has_reported(rows):
        return {}
    name = _source(rows, REPORTED)
    name += "" if rows["is_comparable"].all() else ", not comparable"
    return {name: Line2D([], [], color="#444444", marker="o", markersize=7, **_hollow(rows))}


def reported_note(rows: pd.DataFrame, mark: str = "Hollow markers") -> str:
    """Return what a caption says of the markers of these numbers; empty if there are none."""
    if not has_reported(rows):
        return ""
    source = _source(rows, "what the paper reports")
    if rows["is_comparable"].all():
        return f"{mark}: {source}."
    return (
        f"{mark}, lighter than usual: {source}; with other data or encoders than the "
        "paper's, the difference to our numbers is not judged."
    )


def _source(rows: pd.DataFrame, printed: str) -> str:
    """Return where markers come from: what is ``printed``, or a figure, with the largest error."""
    errors = rows.loc[rows["reported"].notna(), "error"] if "error" in rows else pd.Series([np.nan])
    if errors.isna().all():
        return printed
    read_off = _READ_OFF.format(errors.max())
    return read_off if errors.notna().all() else f"{printed}, or {read_off}"


def draw_reported(axes: Axes, x: Any, y: Any, rows: pd.DataFrame, look: dict[str, Any]) -> None:
    """Draw the hollow markers of some numbers, in colour, marker and size of ``look``."""
    look = {key: look[key] for key in ("color", "marker", "markersize")} | _hollow(rows)
    axes.plot(x, y, label=MARK, zorder=3, **look)


def _hollow(rows: pd.DataFrame) -> dict[str, Any]:
    alpha = 1.0 if rows["is_comparable"].all() else _LIGHT
    hollow: dict[str, Any] = {"markerfacecolor": "none", "markeredgewidth": 1.2, "alpha": alpha}
    return {"linestyle": "none"} | hollow
