"""What the papers report, next to our numbers: hollow markers."""

from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from mbert_atlas.analysis.measurements import read_measurements
from mbert_atlas.schemas import MEASUREMENT_COLUMNS

REPORTED = "reported by the paper"
NOT_COMPARABLE = f"{REPORTED}, not comparable"
"""What legends call the markers; the second if the run cannot be compared with the paper."""
MARK = "_reported"
"""Label of the markers, which matplotlib's legends leave out."""
_KEY = list(MEASUREMENT_COLUMNS[:9])
_QUANTITY = [column for column in _KEY if column != "artifact"]
_LIGHT = 0.45


class Reported(NamedTuple):
    """The numbers of a paper."""

    numbers: pd.DataFrame  # columns of a cell, as text, and `value`, in the unit of measurements
    is_comparable: bool  # whether the run has the paper's data and encoders


def read_reported(path: Path | str, is_comparable: bool) -> Reported:
    """Read ``resources/reported/<paper>.csv``."""
    return Reported(read_measurements(path), is_comparable)


def with_reported(measured: pd.DataFrame, reported: Reported | None) -> pd.DataFrame:
    """Add what the paper reports of each number: columns ``reported`` (or NaN), ``is_comparable``.

    Rows are those of measurements. As in the scorecard, the whole cell decides; a number that the
    paper states under other tables or figures alone counts if they agree. None adds nothing.
    """
    if reported is None:
        return measured
    numbers = reported.numbers
    anywhere = numbers.groupby(_QUANTITY, as_index=False)["value"].agg(["min", "max"])
    anywhere = anywhere[anywhere["min"] == anywhere["max"]].rename(columns={"min": "value"})
    exact, other = (
        measured[keys].merge(some[[*keys, "value"]], how="left", on=keys)["value"]
        for keys, some in ((_KEY, numbers), (_QUANTITY, anywhere))
    )
    values = exact.fillna(other).to_numpy()
    return measured.assign(reported=values, is_comparable=reported.is_comparable)


def has_reported(rows: pd.DataFrame) -> bool:
    """Return whether the paper reports any of these numbers."""
    return "reported" in rows and bool(rows["reported"].notna().any())


def reported_entry(rows: pd.DataFrame) -> dict[str, Line2D]:
    """Return the entry of a legend for the markers of these numbers; empty if there are none."""
    if not has_reported(rows):
        return {}
    name = REPORTED if rows["is_comparable"].all() else NOT_COMPARABLE
    return {name: Line2D([], [], color="#444444", marker="o", markersize=7, **_hollow(rows))}


def reported_note(rows: pd.DataFrame, mark: str = "Hollow markers") -> str:
    """Return what a caption says of the markers of these numbers; empty if there are none."""
    if not has_reported(rows):
        return ""
    if rows["is_comparable"].all():
        return f"{mark}: what the paper reports."
    return (
        f"{mark}, lighter than usual: what the paper reports; with other data or encoders than the "
        "paper's, the difference to our numbers is not judged."
    )


def draw_reported(axes: Axes, x: Any, y: Any, rows: pd.DataFrame, look: dict[str, Any]) -> None:
    """Draw the hollow markers of some numbers, in colour, marker and size of ``look``."""
    look = {key: look[key] for key in ("color", "marker", "markersize")} | _hollow(rows)
    axes.plot(x, y, label=MARK, zorder=3, **look)


def _hollow(rows: pd.DataFrame) -> dict[str, Any]:
    alpha = 1.0 if rows["is_comparable"].all() else _LIGHT
    hollow: dict[str, Any] = {"markerfacecolor": "none", "markeredgewidth": 1.2, "alpha": alpha}
    return {"linestyle": "none"} | hollow
