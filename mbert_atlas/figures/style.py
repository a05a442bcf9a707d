"""The style that all figures share, and how they are saved."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Literal

import matplotlib as mpl
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from PIL import Image

from mbert_atlas.errors import AtlasError
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
_DOTS_PER_INCH = 130  # 936 pixels wide
_SETTINGS = {
    "font.family": "DejaVu Sans",  # comes with matplotlib: the same glyphs on every machine
    "font.size": 9.0,
    "axes.titlesize": 10.0,
    "axes.labelsize": 9.0,
    "xtick.labelsize": 8.5,
    "ytick.labelsize": 8.5,
    "legend.fontsize": 8.5,
    "figure.titlesize": 11.0,
    "axes.titlelocation": "left",
    "axes.edgecolor": "#444444",
    "grid.color": "#E3E3E3",
    "svg.hashsalt": "mbert-atlas",  # else the ids inside an SVG change from run to run
    "svg.fonttype": "path",
}


@contextmanager
def figure_style() -> Iterator[None]:
    """Use the shared style inside this block, and the caller's settings after it."""
    with mpl.rc_context():
        sns.set_theme(context="paper", style="whitegrid", palette=GROUP_COLOURS, rc=_SETTINGS)
        yield


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
            figure.savefig(temporary, format="svg", dpi=_DOTS_PER_INCH, metadata=metadata)
        with atomic_path(png) as temporary:
            pixels = BytesIO()
            figure.savefig(pixels, format="png", dpi=_DOTS_PER_INCH)
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
