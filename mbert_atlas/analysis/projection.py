"""Stratified samples of vectors: t-SNE maps and clusters (Tanti et al. 2021, appendix B)."""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
from openTSNE import TSNE

from mbert_atlas.analysis.clustering import cluster_agreement
from mbert_atlas.arrays import TokenStore, load_arrays, save_arrays
from mbert_atlas.config.base import PROTOCOLS
from mbert_atlas.errors import AtlasError
from mbert_atlas.files import atomic_directory, write_json, write_parquet
from mbert_atlas.randomness import generator
from mbert_atlas.representations.reading import FeatureArrays, read_features
from mbert_atlas.schemas import PROJECTION

_DATASETS = ("target", "wikipedia")
_EXACT_UP_TO = 20_000
Rows = npt.NDArray[np.int64]


def draw_points(
    target: Path, wikipedia: Path, output: Path, *, seed: int, per_cell: int, per_language: int
) -> None:
    """Keep the :func:`sample_points` of two folders of features as token stores of their names.

    Each has ``vectors`` in the type of the features, shape ``(k, dims)``; ``example_id``,
    ``language`` and ``label``, strings, shape ``(k,)``.
    """
    data = {"target": read_features(target), "wikipedia": read_features(wikipedia)}
    rows = sample_points(**data, per_cell=per_cell, per_language=per_language, seed=seed)
    with atomic_directory(output) as folder:
        for (name, features), chosen in zip(data.items(), rows, strict=True):
            example = features.example[chosen]
            arrays = {
                "vectors": features.vectors[chosen],
                "example_id": features.example_id[example],
                "language": features.language[example],
                "label": np.array(features.label_names)[features.labels[chosen]],
            }
            save_arrays(folder / name, arrays, {"labels": features.label_names})


def cluster_sample(points: Path, output: Path, *, language_clusters: int) -> None:
    """Compare clusters of the vectors of :func:`draw_points` with labels and languages.

    There are as many clusters as labels; for languages ``language_clusters`` as ``published`` (33
    in the authors' code), as many as the sample has languages as ``corrected``. Writes JSON: under
    ``label``, ``language_target`` and ``language_wikipedia``, by protocol, what
    :func:`cluster_agreement` returns; raises its errors.
    """
    stores = {name: load_arrays(points / name) for name in _DATASETS}
    target = stores["target"]
    labels = target.dense("label"), len(target.meta["labels"])
    agreement = cluster_agreement(_vectors(target), *labels)
    agreements: dict[str, dict[str, Any]] = {"label": dict.fromkeys(map(str, PROTOCOLS), agreement)}
    for name, store in stores.items():
        vectors, languages = _vectors(store), store.dense("language")
        counts = {"published": language_clusters, "corrected": len(np.unique(languages))}
        by_count = {k: cluster_agreement(vectors, languages, k) for k in {*counts.values()}}
        agreements[f"language_{name}"] = {protocol: by_count[k] for protocol, k in counts.items()}
    write_json(agreements, output)


def project_sample(
    points: Path, output: Path, *, seed: int, perplexity: float, threads: int
) -> None:
    """Write the :func:`tsne` of each dataset of :func:`draw_points` as ``schemas.PROJECTION``."""
    tables = []
    for name in _DATASETS:
        store = load_arrays(points / name)
        layout = tsne(_vectors(store), seed=seed, perplexity=perplexity, threads=threads)
        keys = ("example_id", "language", "label")
        columns: dict[str, Any] = {key: store.dense(key) for key in keys}
        columns |= {"dataset": [name] * len(layout), "x": layout[:, 0], "y": layout[:, 1]}
        columns |= {} if name == "target" else {"label": [None] * len(layout)}
        tables.append(pa.table(columns, schema=PROJECTION))
    write_parquet(pa.concat_tables(tables), output)


def _vectors(store: TokenStore) -> npt.NDArray[np.float32]:
    return store.dense("vectors").astype(np.float32)


def sample_points(
    target: FeatureArrays, wikipedia: FeatureArrays, *, per_cell: int, per_language: int, seed: int
) -> tuple[Rows, Rows]:
    """Draw the vectors of maps and clusters; the draw does not depend on their values.

    At most ``per_cell`` target vectors of each language and label (10 tokens, 50 sentence pairs),
    and ``per_language`` texts of each language of Wikipedia's test split (100), of tokens a random
    one. Returns rows of target and Wikipedia vectors, ascending. Raises :class:`DataError` if
    Wikipedia has no test split.
    """
    cells = (target.languages(), np.asarray(target.labels))
    examples = wikipedia.examples("test")
    languages = wikipedia.language[examples]
    chosen = examples[stratified_sample(languages, per_group=per_language, seed=seed)]
    counts = wikipedia.by_example.lengths[chosen]
    within = generator(seed, "vector of each text").integers(0, counts)
    return (
        stratified_sample(*cells, per_group=per_cell, seed=seed),
        wikipedia.by_example.offsets[chosen] + within,
    )


def stratified_sample(*strata: npt.NDArray[Any], per_group: int, seed: int) -> Rows:
    """Draw at most ``per_group`` items with equal values in all columns; return them ascending."""
    frame = pd.DataFrame(dict(enumerate(strata)))
    order = generator(seed, "stratified sample").permutation(len(frame))
    rank = frame.iloc[order].groupby(list(frame)).cumcount().to_numpy()
    return np.sort(order[rank < per_group])


def tsne(
    vectors: npt.NDArray[Any], *, seed: int, perplexity: float = 30.0, threads: int = 1
) -> npt.NDArray[np.float32]:
    """Project vectors, shape ``(n, dims)``, to the plane by t-SNE; return shape ``(n, 2)``.

    PCA initialisation, exact neighbours up to 20,000 vectors, otherwise openTSNE's defaults (Tanti
    et al. used scikit-learn's, also with perplexity 30 and PCA). The perplexity is at most a third
    of ``n - 1``. Raises :class:`AtlasError` if there are fewer than four vectors.
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
