"""Two-dimensional t-SNE maps of a stratified sample (tanti2021, appendix B)."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt
from openTSNE import TSNE

from mbert_atlas.errors import AtlasError
from mbert_atlas.randomness import generator

_EXACT_UP_TO = 20_000


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
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=FutureWarning)
        fitted = embedding.fit(np.ascontiguousarray(vectors, dtype=np.float64))
    return np.asarray(fitted, dtype=np.float32)
