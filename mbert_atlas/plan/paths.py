"""Where the files of a run lie that the plan or a paper names.

``<results>`` and ``<downloads>`` stand for the folders of the run; Snakemake fills them in.
"""

from typing import Any

PATHS = {
    "download": "<downloads>/{path}",
    "synthetic": "<results>/{world}/{path}",
    "language_table": "<results>/data/{dataset}/{language}.parquet",
    "table": "<results>/data/{dataset}.parquet",
    "language_card": "<results>/data/{dataset}/{language}.card.json",
    "tokenizer": "<results>/encoders/{encoder}/tokenizer",
    "converted": "<results>/encoders/{encoder}/converted",
    "extended": "<results>/encoders/{encoder}/extended",
    "shipped": "<results>/encoders/{encoder}/shipped",
    "encoder": "<results>/encoders/{encoder}/model",
    "fitted_head": "<results>/encoders/{encoder}/head/seed{seed}",
    "masked_predictions": "<results>/masked/{head}.parquet",
    "translation": "<results>/translation/{head}/{source}-{target}.parquet",
    "parallel_tokens": "<results>/tokens/{encoder}/parallel",
    "links_card": "<results>/alignment/{dataset}/{language}{aligner}.scores.json",
    "pairs": "<results>/tokens/{encoder}/pairs/{dataset}/{language}{aligner}/{part}",
    "examples": "<results>/tokens/{encoder}/examples/{encoding}/{dataset}",
    "static_predictions": "<results>/static/{static}/{family}/seed{seed}/predictions.parquet",
    "model": "<results>/runs/{run}/seed{seed}/model",
    "counts": "<results>/runs/{run}/seed{seed}/counts.json",
    "predictions": "<results>/runs/{run}/seed{seed}/predictions.parquet",
    "choice": "<results>/search/{search}.{protocol}.json",
    "features": "<results>/features/{features}/{model}",
    "points": "<results>/points/{features}/{model}",
    "vectors": "<results>/vectors/{encoder}/{dataset}/{group}",
    "directions": "<results>/directions/{encoder}/{dataset}/{languages}",
    "retrieval": "<results>/retrieval/{encoder}/{dictionary}/{language}.parquet",
    "distances": "<results>/distances/{distances}/{language}/seed{seed}.parquet",
    "distance_summary": "<results>/distances/{distances}/{language}/seed{seed}.json",
    "identified": "<results>/languages/{features}/{run}/seed{seed}.{protocol}.parquet",
    "identification": "<results>/languages/{features}/{run}/seed{seed}.json",
    "clusters": "<results>/clusters/{features}/{run}/seed{seed}.json",
    "projection": "<results>/projections/{features}/{run}/seed{seed}.parquet",
    "similarity": "<results>/similarity/{features}/{model}.parquet",
    "measurement": "<results>/measurements/{paper}/{name}.csv",
    "resamples": "<results>/measurements/{paper}/{name}.resamples.parquet",
    "figure": "<results>/figures/{paper}/{name}.svg",
    "html": "<results>/tables/{paper}/{name}.html",
}
"""Patterns by kind. ``features`` and ``distances`` are ``paper/name``, ``model`` is an encoder or
``run/seed1``, ``head`` an encoder or ``encoder/seed1``, a language-model head that was fitted; no
other wildcard but ``path`` matches a ``/``. ``aligner`` is empty for that of
``alignment.aligner``, else ``.eflomal`` and the like."""


def path(kind: str, /, **wildcards: Any) -> str:
    """Return the path of a kind of file: ``path("model", run="nli", seed=1)``; else a KeyError."""
    return PATHS[kind].format(**wildcards)
