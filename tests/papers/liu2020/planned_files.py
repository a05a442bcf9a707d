"""Made-up translations and shifted texts, see ``tests/unit/planned_files.py``."""

from itertools import product

import numpy as np
from planned_files import table, writes

from mbert_atlas.arrays import Ragged
from mbert_atlas.config.base import PROTOCOLS
from mbert_atlas.plan.paths import PATHS
from mbert_atlas.schemas import (
    DICTIONARY,
    MASKED_PREDICTIONS,
    SHIFTED_SCORES,
    TOKEN_TRANSLATIONS,
)


@writes(PATHS["parallel_tokens"])
def parallel_tokens(plan, encoder):
    """A sentence of each part in every language."""
    paper = plan.config.liu2020.translation
    languages, parts = ["en", *paper.languages], len(paper.sentences)
    rows = Ragged.from_rows([[1, 2, 3, 4]] * (len(languages) * parts), np.int32)
    arrays = {"input_ids": rows, "part": np.arange(parts, dtype=np.int32)}
    return arrays, {"languages": languages}


@writes(PATHS["translation"])
def translations(plan, head, source, target):
    """Translations of both parts, from every layer with every weight, and shifted at random."""
    paper = plan.config.liu2020
    layers, weights = range(1, paper.layers + 1), paper.translation.weights
    names = ("protocol", "seed", "part", "layer", "weight")
    parts = range(len(paper.translation.sentences))
    places = product(PROTOCOLS, (None, 1), parts, layers, weights)
    return table(TOKEN_TRANSLATIONS, (dict(zip(names, place, strict=True)) for place in places))


@writes(PATHS["masked_predictions"])
def masked_predictions(plan, head):
    """Predictions of two subwords of each language, one of them right."""
    return table(
        MASKED_PREDICTIONS,
        (
            {"language": code, "row": number, "gold": number + 1}
            for code in plan.config.fitted_head.languages
            for number in range(2)
        ),
    )


@writes(PATHS["language_table"])
def dictionary(plan, dataset, language):
    """A dictionary of two words."""
    return table(DICTIONARY, ({"source": word, "target": word} for word in "ab"))


@writes("<results>/shifted/{run}/seed{seed}.{protocol}.parquet")
def shifted(plan, run, seed, protocol):
    """Scores of test and development set in all languages, with every weight."""
    paper = plan.config.liu2020
    names = ("shift", "dataset", "language", "weight")
    places = product(
        ("means", "random"),
        paper.shifted_datasets,
        paper.transfer.languages,
        paper.transfer.weights,
    )
    return table(SHIFTED_SCORES, (dict(zip(names, place, strict=True)) for place in places))
