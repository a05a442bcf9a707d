"""Directions that identify languages, from moments on disk to bases on disk."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mbert_atlas.analysis.subspaces import Directions, Moments, densray, lda, merged
from mbert_atlas.arrays import load_arrays
from mbert_atlas.errors import AtlasError
from mbert_atlas.files import atomic_directory, write_json
from mbert_atlas.progress import track


def find_directions(
    parts: Sequence[Path], output: Path, languages: Sequence[str] | None = None
) -> None:
    """Find DensRay's and LDA's directions of every layer.

    Args:
        parts: folders of :func:`mbert_atlas.representations.language_vectors.collect_vectors`, each
            of different languages.
        output: token store to write: ``densray_basis`` and ``lda_basis`` (float64, ``(layers, dims,
            dims)``, a direction per column), ``densray_values`` and ``lda_values`` (float64,
            ``(layers, dims)``), ``densray_rank`` and ``lda_rank`` (int64, ``(layers,)``), ``means``
            (float64, ``(n, layers, dims)``), and ``languages`` in the meta data.
        languages: whose means are used; none: all. The covariance within languages is that of all
            languages of the parts.

    Raises:
        AtlasError: if a language is in two parts or in none.
    """
    moments = merged([read_moments(part) for part in parts])
    languages = moments.languages if languages is None else languages
    if missing := sorted(set(languages) - set(moments.languages)):
        raise AtlasError(f"language {missing[0]}: it has no vectors; collect them first.")
    rows = [moments.languages.index(code) for code in languages]
    means, counts = moments.means[rows], moments.counts[rows]
    bases: dict[str, list[Directions]] = {"densray": [], "lda": []}
    for layer in track(range(means.shape[1]), "directions, layers"):
        within = moments.within(layer)
        bases["densray"].append(densray(means[:, layer], within))
        bases["lda"].append(lda(means[:, layer], counts, within))
    arrays: dict[str, Any] = {"means": means}
    for name, directions in bases.items():
        arrays[f"{name}_basis"] = np.stack([one.basis for one in directions])
        arrays[f"{name}_values"] = np.stack([one.values for one in directions])
        arrays[f"{name}_rank"] = np.array([one.rank for one in directions], dtype=np.int64)
    with atomic_directory(output) as folder:
        for name, array in arrays.items():
            np.save(folder / f"{name}.npy", array)
        meta = {"arrays": sorted(arrays), "languages": list(languages)}
        write_json(meta, folder / "meta.json")


def read_moments(part: Path) -> Moments:
    """Read the moments of a part."""
    stored = load_arrays(part)
    counts, means, scatter = (stored.dense(name) for name in ("counts", "means", "scatter"))
    return Moments(list(stored.meta["languages"]), counts, means, scatter)
