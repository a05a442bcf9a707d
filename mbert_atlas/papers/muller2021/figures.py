"""Similarities and correlations by layer."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from mbert_atlas.analysis.measurements import read_measurements
from mbert_atlas.cells import Cell
from mbert_atlas.figures.curves import MANY_DASHES, curve_plot
from mbert_atlas.figures.reported import Reported, has_reported, with_reported
from mbert_atlas.figures.uncertainty import with_intervals
from mbert_atlas.labels import label
from mbert_atlas.papers.muller2021.config import CKA, DIFFERENCE, PRETRAINED


def draw_by_layer(
    cells: Sequence[Cell],
    *,
    protocol: str,
    metric: str,
    title: str,
    lines: str,
    names: Mapping[str, str],
    panels: str = "",
    conditions: Sequence[str] | None = None,
    band: Mapping[str, str] | None = None,
    intervals: pd.DataFrame | None = None,
    reported: Reported | None = None,
    **options: Any,
) -> Figure:
    """Draw a metric of one protocol by layer, see :func:`mbert_atlas.figures.curves.curve_plot`.

    ``lines`` and ``panels`` are columns with a line and a panel for each of their values, of all
    rows or those of some ``conditions``; the lines ``line`` are one per task and one of the
    pretrained encoder. ``band`` says by protocol what the measured ends of a number are;
    ``intervals`` replace these.
    """
    (cell,) = cells
    frame = with_reported(with_intervals(read_measurements(cell.path), intervals), reported)
    frame = by_layer(frame[frame.protocol == protocol], metric)
    if conditions is not None:
        frame = frame[frame.condition.isin(conditions)]
    if lines == "line":
        frame = one_line_pretrained(frame)
    titles = frame[panels].map(lambda name: label(name, names)) if panels else ""
    return curve_plot(
        frame.assign(panel=titles, line=frame[lines], along=frame["layers"]),
        title=f"{title}, {protocol}",
        along_label="layer (0: embeddings)",
        columns=min(4, math.ceil(frame[panels].nunique() ** 0.5)) if panels else 1,
        share=True,
        names=names,
        dashes=MANY_DASHES,
        band=(band or {}).get(protocol, ""),
        **options,
    )


def changes_by_layers(rows: pd.DataFrame) -> pd.DataFrame:
    """Return by how much scores change with layers re-initialised, from those of one protocol.

    There is a panel per task, a line for the first source language and one for the mean over all
    other languages; a set of layers such as ``1-2`` is at its middle, 1.5.
    """
    ends = rows["layers"].str.extract(r"^(\d+)-(\d+)$").astype(float)
    is_change = (rows["condition"] == DIFFERENCE) & (rows["source"] == rows["source"].iloc[0])
    rows = rows.assign(panel=rows["task"], line=rows["target"], along=ends.mean(axis=1))
    changes: pd.DataFrame = rows[is_change].dropna(subset="along")
    return changes.sort_values("along", kind="stable")


def similarities_by_layer(rows: pd.DataFrame) -> pd.DataFrame:
    """Return similarities to the source language by layer, from rows of one protocol.

    There is a panel per language, a line per task and one of the pretrained encoder.
    """
    frame = one_line_pretrained(by_layer(rows, CKA))
    return frame.assign(panel=frame["target"], along=frame["layers"])


def by_layer(frame: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Return the rows of one metric whose layers are numbers, from those of one protocol.

    ``<metric>_low`` and ``<metric>_high``, if measured, become the columns ``low`` and ``high``,
    unless the rows have intervals. What the paper reports as the largest value of a line is next to
    ours, which is largest without the embeddings, whatever the layer.
    """
    largest = frame[frame["metric"] == f"{metric}_maximum"]
    frame = frame[frame["layers"].str.isdigit()].astype({"layers": int})
    values = frame[frame["metric"] == metric]
    if has_reported(largest):
        line = ["task", "condition", "target"]
        means = (
            values[values["layers"] > 0].groupby([*line, "layers"], as_index=False)["value"].mean()
        )
        places = means.loc[means.groupby(line)["value"].idxmax(), [*line, "layers"]]
        highest = largest.drop_duplicates(line).rename(columns={"reported": "highest"})
        places = places.merge(highest[[*line, "highest"]], on=line)
        values = values.merge(places, how="left", on=[*line, "layers"])
        values["reported"] = values["reported"].fillna(values.pop("highest"))
    if "over" in frame:
        return values
    keys = [name for name in frame.columns if name not in ("metric", "value")]
    for end in ("low", "high"):
        rows = frame[frame["metric"] == f"{metric}_{end}"].rename(columns={"value": end})
        if len(rows):
            values = values.merge(rows[[*keys, end]], how="left", on=keys)
    return values


def one_line_pretrained(frame: pd.DataFrame) -> pd.DataFrame:
    """Add ``line``: the task, or ``pretrained``, which is the same encoder for all tasks."""
    is_pretrained = frame.condition == PRETRAINED
    frame = frame.assign(line=frame.task.where(~is_pretrained, PRETRAINED))
    is_repeated = is_pretrained & frame.duplicated(["line", "target", "layers", "seed"])
    return frame[~is_repeated]
