"""The style that all figures share, what a style sheet changes of it, and how they are saved."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from importlib.resources import files
from io import BytesIO
from logging.handlers import BufferingHandler
from pathlib import Path
from typing import Any, Literal, cast

import matplotlib as mpl
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from PIL import Image

from mbert_atlas.errors import AtlasError, DataError
from mbert_atlas.files import atomic_path

# The palette of Okabe and Ito, safe for readers with colour blindness, without yellow, which is too
# pale for points on white; and three dark colours that differ from the others in lightness, too.
BLACK, ORANGE, SKY, GREEN = "#000000", "#E69F00", "#56B4E9", "#009E73"
BLUE, VERMILION, PURPLE, GREY = "#0072B2", "#D55E00", "#CC79A7", "#6B6B6B"
GROUP_COLOURS = (
    *(BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY),
    *("#7F3C00", "#4B2E83", "#5F7F00", BLACK),
)
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "h")

FULL_WIDTH = 7.2  # inches; the text width of a two-column paper, so fonts keep their size in print

_LEGEND_WIDTH, _HANDLE = 110, 7
"""Characters that fit the width of a legend, and those that the handle of an entry takes."""

_SHEET: ContextVar[Mapping[str, Any] | None] = ContextVar("_SHEET", default=None)
"""Settings of the style sheet in use."""


@contextmanager
def figure_style(sheet: Path | str | None = None) -> Iterator[None]:
    """Use the shared style inside this block, and the caller's settings after it.

    ``sheet`` is a matplotlib style sheet that overrides it, also in blocks inside this one; for its
    errors see :func:`read_sheet`.
    """
    token = _SHEET.set(read_sheet(sheet) if sheet else _SHEET.get())
    try:
        with mpl.rc_context():
            sns.set_theme(context="paper", style="whitegrid", palette=GROUP_COLOURS, rc=_SHARED)
            mpl.rcParams.update(cast(Any, _SHEET.get() or {}))
            yield
    finally:
        _SHEET.reset(token)


def read_sheet(path: Path | str) -> dict[str, Any]:
    """Read a matplotlib style sheet; a DataError names what is wrong in it, and where."""
    if not Path(path).is_file():
        raise DataError(path, "", "no such file", "correct the path")
    # matplotlib leaves out what it cannot read, and only logs that.
    logger, seen = logging.getLogger("matplotlib"), BufferingHandler(1000)
    logger.addHandler(seen)
    try:
        settings = mpl.rc_params_from_file(path, use_default_template=False)
    except UnicodeDecodeError as error:
        raise DataError(path, "", "it is not UTF-8", "save it as text") from error
    finally:
        logger.removeHandler(seen)
    if seen.buffer:
        problem = seen.buffer[0].getMessage().strip().splitlines()[0]
        raise DataError(path, "", problem, "write `key: value` with keys of matplotlib's rcParams")
    return {str(key): value for key, value in settings.items()}


_SHARED = read_sheet(str(files("mbert_atlas.figures").joinpath("atlas.mplstyle")))


def group_colours() -> Sequence[str]:
    """Return the colours of lines and groups: ``axes.prop_cycle`` of a style sheet, or ours."""
    cycle = (_SHEET.get() or {}).get("axes.prop_cycle")
    return cycle.by_key().get("color", GROUP_COLOURS) if cycle else GROUP_COLOURS


def panel_grid(
    titles: Sequence[str],
    columns: int,
    height: tuple[float, float],
    share: bool | Literal["col"],
    labels: tuple[str | Mapping[str, str], str | Mapping[str, str]],
    title: str,
) -> tuple[Figure, list[Axes]]:
    """Return a figure and its panels, one per title, row by row.

    ``height`` is in inches, of what surrounds the panels and of a row of them; all panels, or those
    of a column, ``share`` their axes; ``labels`` of both axes go next to the outer panels, or, if
    each title has a separate one, to every panel.
    """
    rows = -(-len(titles) // columns)
    size = (FULL_WIDTH, height[0] + rows * height[1])
    figure = Figure(figsize=size, layout="constrained")
    grid = figure.subplots(rows, columns, sharex=share, sharey=share, squeeze=False).ravel()
    for axes in grid[len(titles) :]:
        axes.set_visible(False)
    panels = list(grid[: len(titles)])
    for place, (axes, text) in enumerate(zip(panels, titles, strict=True)):
        is_last = place + columns >= len(titles)  # of its column
        if is_last:
            axes.tick_params(labelbottom=True)
        axes.set_ylabel(_label_of(text, labels[1], place % columns == 0))
        axes.set_xlabel(_label_of(text, labels[0], is_last))
        axes.set_title(text)
    figure.suptitle(title, x=0.01, ha="left")
    return figure, panels


def _label_of(panel: str, labels: str | Mapping[str, str], is_outer: bool) -> str:
    if isinstance(labels, str):
        return labels if is_outer else ""
    return labels[panel]


def legend_columns(texts: Sequence[str], most: int) -> int:
    """Return in how many columns, at most so many, a legend fits the width of a figure."""
    for columns in range(min(most, len(texts)), 1, -1):
        parts = np.array_split(np.array(texts, dtype=object), columns)
        if sum(max(map(len, part)) + _HANDLE for part in parts) <= _LEGEND_WIDTH:
            return columns
    return 1


def save_figure(figure: Figure, stem: Path | str, caption: str | None = None) -> tuple[Path, Path]:
    """Write ``<stem>.svg`` and ``<stem>.png``, atomically, and return their paths.

    With a ``caption`` there is ``<stem>.caption.txt``, too: that, and the label of the figure.

    The files hold no date and no random ids: the same figure gives the same bytes. Raises an
    AtlasError if the disk is full.
    """
    svg, png = Path(f"{stem}.svg"), Path(f"{stem}.png")
    metadata = {"Date": None, "Creator": None}
    with figure_style():
        with atomic_path(svg) as temporary:
            figure.savefig(temporary, format="svg", metadata=metadata)
        with atomic_path(png) as temporary:
            pixels = BytesIO()
            figure.savefig(pixels, format="png")
            # 64 well-chosen colours are enough for a plot, also where bands lie over each other
            image = Image.open(pixels).convert("RGB").quantize(64, kmeans=2)
            image.save(temporary, format="png", optimize=True)
    if caption is not None:
        with atomic_path(Path(f"{stem}.caption.txt")) as temporary:
            text = f"{caption} {figure.get_label()}".strip()
            temporary.write_text(f"{text}\n", encoding="utf-8")
    return svg, png


def require_rows(frame: pd.DataFrame, figure: str) -> None:
    """Raise an AtlasError if the table of a figure has no rows."""
    if frame.empty:
        raise AtlasError(f"{figure}: the table has no rows; run what it shows first.")
