"""What the representations and predictions say: distances, probes, clusters, scores, tests."""

from mbert_atlas.registry import Registry

SCORINGS = Registry(
    {
        "nli": "analysis.scoring:TEXTS",
        "tagging": "analysis.scoring:WORDS",
        "ner": "analysis.scoring:ENTITIES",
        "qa": "analysis.scoring:ANSWERS",
        "parsing": "analysis.scoring:ARCS",
    },
)
"""How tables of transfer score a task, by its module in :mod:`mbert_atlas.config.tasks`."""
