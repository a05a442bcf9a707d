"""The look that all figures share, and how they reach the disk."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path

import matplotlib as mpl
import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure
from PIL import Image

from mbert_atlas.errors import AtlasError
from mbert_atlas.files import atomic_path

# Okabe and Ito's eight colours, which readers with any common colour blindness can tell apart.
# Yellow is left out of the group colours, being too pale for points on white; three dark ones
# are added, which differ from the rest in lightness too.
BLACK, ORANGE, SKY, GREEN = "#000000", "#E69F00", "#56B4E9", "#009E73"
BLUE, VERMILION, PURPLE, GREY = "#0072B2", "#D55E00", "#CC79A7", "#6B6B6B"
GROUP_COLOURS = (
    *(BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY),
    *("#7F3C00", "#4B2E83", "#5F7F00", BLACK),
)

FULL_WIDTH = 7.2  # inches; the text width of a two-column paper, so fonts keep their size in print
_DOTS_PER_INCH = 130  # 936 pixels wide: the report holds some sixty of them
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
def house_style() -> Iterator[None]:
    """Draw inside this block with the shared look; the caller's settings come back after it."""
    with mpl.rc_context():
        sns.set_theme(context="paper", style="whitegrid", palette=GROUP_COLOURS, rc=_SETTINGS)
        yield


def save_figure(figure: Figure, stem: Path | str) -> tuple[Path, Path]:
    """Write ``figure`` as ``<stem>.svg`` and ``<stem>.png``, atomically.

    The files hold no date and no random ids: the same figure gives the same bytes.

    Returns:
        The paths of the SVG and of the PNG.

    Raises:
        AtlasError: if the disk is full.
    """
    svg, png = Path(f"{stem}.svg"), Path(f"{stem}.png")
    with house_style():
        with atomic_path(svg) as temporary:
            figure.savefig(
                temporary,
                format="svg",
                dpi=_DOTS_PER_INCH,
                metadata={"Date": None, "Creator": None},
            )
        with atomic_path(png) as temporary:
            drawn = BytesIO()
            figure.savefig(drawn, format="png", dpi=_DOTS_PER_INCH)
            # 64 colours are enough for a drawing, and a quarter of the bytes
            image = Image.open(drawn).convert("RGB").quantize(64, Image.Quantize.MEDIANCUT)
            image.save(temporary, format="png", optimize=True)
    return svg, png


def require_columns(frame: pd.DataFrame, columns: tuple[str, ...], figure: str) -> None:
    """Refuse a table that cannot be drawn.

    Args:
        frame: tidy data.
        columns: names that must be there.
        figure: what is to be drawn, for the message.

    Raises:
        AtlasError: if a column is missing or the table has no rows.
    """
    missing = [column for column in columns if column not in frame.columns]
    if missing:
        raise AtlasError(
            f"{figure}: the table has no column {', '.join(missing)} "
            f"(found {', '.join(map(str, frame.columns))}); pass tidy data with these columns."
        )
    if frame.empty:
        raise AtlasError(f"{figure}: the table has no rows; make the data behind it first.")
