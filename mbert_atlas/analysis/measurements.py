"""Measurements: one tidy CSV per artifact, in the columns of the reported numbers."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from mbert_atlas.errors import AtlasError
from mbert_atlas.files import atomic_path
from mbert_atlas.schemas import MEASUREMENT_COLUMNS


def write_measurements(
    rows: Iterable[Mapping[str, Any]], path: Path | str, **common: Any
) -> pd.DataFrame:
    """Write measured values for the scorecard, atomically.

    Rows, and the columns ``common`` to all, have some of ``schemas.MEASUREMENT_COLUMNS``; missing
    ones are empty. Raises :class:`AtlasError` if a row has a column that is not one of them, or
    there are no rows.
    """
    frame = pd.DataFrame([{**common, **row} for row in rows])
    if frame.empty:
        problem = "nothing was measured; check that the papers' runs are in the config"
        raise AtlasError(f"{path}: {problem}.")
    if unknown := set(frame.columns) - set(MEASUREMENT_COLUMNS):
        columns = ", ".join(MEASUREMENT_COLUMNS)
        raise AtlasError(f"{path}: unknown columns {sorted(unknown)}; use {columns}.")
    frame = frame.reindex(columns=list(MEASUREMENT_COLUMNS))
    frame["seed"] = frame["seed"].astype("Int64")
    with atomic_path(path) as temporary:
        frame.to_csv(temporary, index=False, float_format="%.10g", lineterminator="\n")
    return frame


def read_measurements(path: Path | str) -> pd.DataFrame:
    """Read what :func:`write_measurements` wrote; texts that are missing are empty."""
    numbers = {"value", "seed", "n"}
    texts = dict.fromkeys(set(MEASUREMENT_COLUMNS) - numbers, str)
    missing = {name: [""] for name in numbers}
    return pd.read_csv(path, dtype=texts, keep_default_na=False, na_values=missing)
