"""Measurements: one tidy CSV per artifact, in the columns of the reported numbers."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import compress
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from mbert_atlas.analysis.resampling import RESAMPLED, mean_of
from mbert_atlas.config.base import PROTOCOLS
from mbert_atlas.errors import AtlasError
from mbert_atlas.files import atomic_path, read_parquet, write_parquet
from mbert_atlas.schemas import MEASUREMENT_COLUMNS, RESAMPLED_MEASUREMENTS

_TEXTS = RESAMPLED_MEASUREMENTS.names[:-2]  # all but seed and resampled


def write_measurements(
    rows: Iterable[Mapping[str, Any]], path: Path | str, **common: Any
) -> pd.DataFrame:
    """Write measured values for the scorecard, atomically.

    Rows, and the columns ``common`` to all, have some of ``schemas.MEASUREMENT_COLUMNS``; missing
    ones are empty, but a row without a protocol counts under both. Raises :class:`AtlasError` if a
    row has a column that is not one of them, or there are no rows. Rows may also have
    ``resampled``, see :mod:`.resampling`, which goes to a second file next to the CSV
    (:func:`resamples_path`), ``schemas.RESAMPLED_MEASUREMENTS``.
    """
    measured = [
        {**common, "protocol": protocol, **row}
        for row in rows
        for protocol in ([row["protocol"]] if "protocol" in row else PROTOCOLS)
    ]
    again = [row.pop(RESAMPLED, None) for row in measured]
    frame = pd.DataFrame(measured)
    if frame.empty:
        problem = "nothing was measured; check that the papers' runs are in the config"
        raise AtlasError(f"{path}: {problem}.")
    if unknown := set(frame.columns) - set(MEASUREMENT_COLUMNS):
        columns = ", ".join(MEASUREMENT_COLUMNS)
        raise AtlasError(f"{path}: unknown columns {sorted(unknown)}; use {columns}.")
    frame = frame.reindex(columns=list(MEASUREMENT_COLUMNS)).astype({"seed": "Int64"})
    with atomic_path(path) as temporary:
        frame.to_csv(temporary, index=False, float_format="%.10g", lineterminator="\n")
    _write_resamples(frame, again, path)
    return frame


def resamples_path(path: Path | str) -> Path:
    """Return where the resampled values of a measurement lie: ``<name>.resamples.parquet``."""
    return Path(path).with_suffix(".resamples.parquet")


def read_measurements(path: Path | str, *, resamples: bool = False) -> pd.DataFrame:
    """Read what :func:`write_measurements` wrote; texts that are missing are empty.

    With ``resamples`` there is the column ``resampled``: float32, shape ``(RESAMPLES,)``, or NaN.
    """
    numbers = {"value", "seed", "n"}
    texts = dict.fromkeys(set(MEASUREMENT_COLUMNS) - numbers, str)
    missing = {name: [""] for name in numbers}
    frame = pd.read_csv(path, dtype=texts, keep_default_na=False, na_values=missing)
    if not resamples:
        return frame
    again = read_parquet(resamples_path(path), RESAMPLED_MEASUREMENTS).to_pandas()
    return frame.merge(again, how="left", on=[*_TEXTS, "seed"])


def mean_by(frame: pd.DataFrame, keys: Sequence[str], *, n: str) -> pd.DataFrame:
    """Return the means of ``value`` and ``resampled`` by some columns, and an aggregate of n."""
    groups = frame.groupby([*keys], sort=False, dropna=False)
    means = [
        dict(zip(keys, key, strict=True), n=rows["n"].agg(n))
        | mean_of(rows.filter(["value", RESAMPLED]).to_dict("records"))
        for key, rows in groups
    ]
    return pd.DataFrame(means, columns=[*keys, "value", "n", RESAMPLED])


def _write_resamples(frame: pd.DataFrame, again: Sequence[Any], path: Path | str) -> None:
    """Write the resampled values of the rows that have some."""
    has = [isinstance(values, np.ndarray) for values in again]
    columns: dict[str, Any] = {
        name: frame[name][has].astype(object).fillna("").astype(str) for name in _TEXTS
    }
    columns |= {"seed": frame["seed"][has], RESAMPLED: [*compress(again, has)]}
    write_parquet(pa.table(columns, schema=RESAMPLED_MEASUREMENTS), resamples_path(path))
