"""Two-dimensional t-SNE maps of a stratified sample, and its clusters (tanti2021, appendix B)."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from openTSNE import TSNE

from mbert_atlas.analysis.clustering import cluster_agreement
from mbert_atlas.errors import AtlasError, DataError
from mbert_atlas.files import write_json, write_parquet
from mbert_atlas.randomness import generator
from mbert_atlas.representations.reading import read_labelled_vectors
from mbert_atlas.schemas import PROJECTION

_EXACT_UP_TO = 20_000


def project_vectors(
    *,
    vectors: Path,
    examples: Path,
    points: Path,
    clusters: Path,
    seed: int,
    per_group: int = 100,
    split: str | None = "test",
    strata: tuple[str, ...] = ("language",),
    agreement: tuple[Literal["language", "label"], ...] = ("language",),
    k: dict[str, int] | None = None,
    layer: int = -1,
    perplexity: float = 30.0,
    threads: int = 1,
) -> None:
    """Draw a sample, lay it out in the plane, and cluster its vectors in full dimension.

    Args:
        vectors: cached vectors, row i for row i of ``examples``.
        examples: Parquet with columns ``id``, ``language``, those of ``strata`` and
            ``agreement``, and ``split`` unless that is none.
        points: Parquet to write, columns :data:`mbert_atlas.schemas.PROJECTION`.
        clusters: JSON to write: for each column of ``agreement`` what
            :class:`mbert_atlas.analysis.clustering.ClusterAgreement` holds.
        seed: decides sample and layout.
        per_group: most examples of each combination of ``strata``.
        split: keep only this split.
        strata: columns that define the groups of the sample.
        agreement: columns that the clusters are compared with.
        k: clusters by column; none for the number of different values in the sample.
        layer: hidden state; -1 for the last one kept.
        perplexity: see :func:`tsne`.
        threads: CPU threads.

    Raises:
        DataError: if vectors and examples don't fit, a column is missing or the split is empty.
    """
    matrix, table = read_labelled_vectors(vectors, examples, layer)
    for column in ("id", *strata, *agreement, *(["split"] if split else [])):
        if column not in table.column_names:
            raise DataError(
                examples, f"column {column}", "it is missing", "take a data set that has it"
            )
    rows = np.arange(table.num_rows)
    if split is not None:
        rows = np.flatnonzero(pc.equal(table["split"], split).to_numpy())
    if len(rows) == 0:
        raise DataError(examples, f"split {split}", "it has no examples", "take another split")
    columns = [table[column].take(rows).to_numpy() for column in strata]
    rows = rows[stratified_sample(*columns, per_group=per_group, seed=seed)]
    sample, table = np.asarray(matrix[rows], dtype=np.float32), table.take(rows)
    found = {
        column: asdict(cluster_agreement(sample, table[column].to_numpy(), (k or {}).get(column)))
        for column in agreement
    }
    layout = tsne(sample, seed=seed, perplexity=perplexity, threads=threads)
    label = table["label"] if "label" in table.column_names else pa.nulls(len(rows), pa.string())
    write_json(found, clusters)
    write_parquet(
        pa.table(
            {
                "example_id": table["id"],
                "language": table["language"],
                "label": label,
                "x": layout[:, 0],
                "y": layout[:, 1],
            },
            schema=PROJECTION,
        ),
        points,
    )


def stratified_sample(
    *strata: npt.NDArray[Any], per_group: int, seed: int
) -> npt.NDArray[np.int64]:
    """Draw at most ``per_group`` items of each group.

    Args:
        strata: one array of shape ``(n,)`` per column (language; or language and label); items
            that agree in all columns are one group.
        per_group: most items of a group (100 Wikipedia paragraphs of a language; 10 tokens, or
            50 sentence pairs, of a language and label).
        seed: decides the draw.

    Returns:
        Item numbers in rising order, int64.
    """
    group = np.zeros(len(strata[0]), dtype=np.int64)
    for column in strata:
        _, codes = np.unique(column, return_inverse=True)
        group = group * (int(codes.max(initial=0)) + 1) + codes
    order = generator(seed, "stratified sample").permutation(len(group))
    order = order[np.argsort(group[order], kind="stable")]
    _, first, counts = np.unique(group[order], return_index=True, return_counts=True)
    rank = np.arange(len(order)) - np.repeat(first, counts)
    return np.sort(order[rank < per_group])


def tsne(
    vectors: npt.NDArray[Any], *, seed: int, perplexity: float = 30.0, threads: int = 1
) -> npt.NDArray[np.float32]:
    """Lay vectors out in the plane by t-SNE.

    PCA initialisation, exact neighbours up to 20,000 vectors, openTSNE's defaults elsewhere (the
    authors used scikit-learn's defaults, also with perplexity 30 and PCA).

    Args:
        vectors: shape ``(n, dims)``.
        seed: decides what is random in PCA and in approximate neighbours.
        perplexity: lowered to a third of ``n - 1`` where there are too few vectors for it.
        threads: CPU threads.

    Returns:
        Coordinates, shape ``(n, 2)``.

    Raises:
        AtlasError: if there are fewer than four vectors.
    """
    n = len(vectors)
    if n < 4:
        raise AtlasError(f"{n} vectors are too few for a t-SNE; sample at least four.")
    embedding = TSNE(
        perplexity=min(perplexity, (n - 1) / 3),
        initialization="pca",
        neighbors="exact" if n <= _EXACT_UP_TO else "auto",
        random_state=seed,
        n_jobs=threads,
    )
    fitted = embedding.fit(np.ascontiguousarray(vectors, dtype=np.float64))
    return np.asarray(fitted, dtype=np.float32)
