"""What the representations and predictions say: distances, probes, clusters, scores, tests."""

from mbert_atlas.registry import Registry

SCORINGS = Registry(
    {
        "nli": "analysis.scoring:TextScoring",
        "tagging": "analysis.scoring:WordScoring",
        "ner": "analysis.scoring:EntityScoring",
        "qa": "analysis.scoring:AnswerScoring",
        "parsing": "analysis.scoring:ArcScoring",
    },
)
"""How tables of transfer score a task, by its module in :mod:`mbert_atlas.config.tasks`."""
