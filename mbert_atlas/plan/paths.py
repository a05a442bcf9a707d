"""Where every file of a run lies: one table that writes and parses the paths.

``<results>`` and ``<downloads>`` stand for the folders of the run; Snakemake fills them in.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

PATHS = {
    "download": "<downloads>/{path}",
    "synthetic": "<results>/{world}/{path}",
    "language_table": "<results>/data/{dataset}/{language}.parquet",
    "table": "<results>/data/{dataset}.parquet",
    "language_card": "<results>/data/{dataset}/{language}.card.json",
    "card": "<results>/data/{dataset}.card.json",
    "links": "<results>/alignment/{dataset}/{language}.pharaoh",
    "alignment_scores": "<results>/alignment/{dataset}/{language}.scores.json",
    "tokenizer": "<results>/encoders/{encoder}/tokenizer",
    "extended": "<results>/encoders/{encoder}/extended",
    "start": "<results>/encoders/{encoder}/start",
    "shipped": "<results>/encoders/{encoder}/shipped",
    "encoder": "<results>/encoders/{encoder}/model",
    "pretraining_tokens": "<results>/tokens/{encoder}/pretraining",
    "parallel_tokens": "<results>/tokens/{encoder}/parallel",
    "pairs": "<results>/tokens/{encoder}/pairs/{dataset}/{language}/{part}",
    "contexts": "<results>/tokens/{encoder}/contexts/{dictionary}/{language}",
    "examples": "<results>/tokens/{encoder}/examples/{encoding}/{dataset}",
    "static_vectors": "<results>/static/{static}/vectors",
    "static_predictions": "<results>/static/{static}/{family}/seed{seed}/predictions.parquet",
    "model": "<results>/runs/{run}/seed{seed}/model",
    "counts": "<results>/runs/{run}/seed{seed}/counts.json",
    "predictions": "<results>/runs/{run}/seed{seed}/predictions.parquet",
    "choice": "<results>/search/{search}.{protocol}.json",
    "features": "<results>/features/{features}/{model}",
    "points": "<results>/points/{features}/{model}",
    "vectors": "<results>/vectors/{encoder}/{dataset}/{group}",
    "directions": "<results>/directions/{encoder}/{dataset}/{languages}",
    "means": "<results>/means/{encoder}/{dataset}",
    "words": "<results>/words/{encoder}/{dictionary}/{language}",
    "retrieval": "<results>/retrieval/{encoder}/{dictionary}/{language}.parquet",
    "distances": "<results>/distances/{distances}/{language}/seed{seed}.parquet",
    "distance_summary": "<results>/distances/{distances}/{language}/seed{seed}.json",
    "identified": "<results>/languages/{features}/{run}/seed{seed}.{protocol}.parquet",
    "identification": "<results>/languages/{features}/{run}/seed{seed}.json",
    "clusters": "<results>/clusters/{features}/{run}/seed{seed}.json",
    "projection": "<results>/projections/{features}/{run}/seed{seed}.parquet",
    "similarity": "<results>/similarity/{features}/{model}.parquet",
    "measurement": "<results>/measurements/{paper}/{name}.csv",
    "figure": "<results>/figures/{paper}/{name}.svg",
    "html": "<results>/tables/{paper}/{name}.html",
}
"""Patterns by kind. Wildcards match no ``/``, but for ``path``, ``features`` and ``distances``
(``paper/name``) and ``model`` (an encoder, or ``run/seed1``)."""
_WIDE = {
    "path": r".+",
    "model": r"[^/]+(/seed\d+)?",
    "features": r"[^/]+/[^/]+",
    "distances": r"[^/]+/[^/]+",
    "seed": r"\d+",
    "protocol": "published|corrected",
    "part": "train|heldout",
}


def path(kind: str, /, **wildcards: Any) -> str:
    """Return the path of a kind of file: ``path("model", run="nli", seed=1)``.

    Raises:
        KeyError: if there is no such kind, or a wildcard is missing.
    """
    return PATHS[kind].format(**wildcards)


def parse(full_path: str, results: str, downloads: str) -> tuple[str, dict[str, str]] | None:
    """Return kind and wildcards of a path, or none if it is no path of :data:`PATHS`.

    Args:
        full_path: path with the folders filled in.
        results: folder of the run.
        downloads: folder of the upstream files.
    """
    for folder, name in ((results, "<results>"), (downloads, "<downloads>")):
        if full_path.startswith(f"{folder}/"):
            full_path = f"{name}{full_path[len(folder) :]}"
            break
    for kind in _SEARCHED:
        if match := _expression(kind).fullmatch(full_path):
            return kind, match.groupdict()
    return None


# What fits any path comes last; a language's table is longer than that of a whole dataset.
_SEARCHED = sorted(PATHS, key=lambda kind: ("{path}" in PATHS[kind], kind == "synthetic"))


@cache
def _expression(kind: str) -> re.Pattern[str]:
    parts = re.split(r"\{(\w+)\}", PATHS[kind])
    named = {
        number: f"(?P<{part}>{_WIDE.get(part, '[^/]+')})" if number % 2 else re.escape(part)
        for number, part in enumerate(parts)
    }
    return re.compile("".join(named.values()))
