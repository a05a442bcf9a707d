"""The training methods: what a fine-tuning does besides learning its task.

A method is a subclass of ``Method`` in a module here, registered below, and its options in the
module of the same name in :mod:`mbert_atlas.config.methods`.
"""

from mbert_atlas.registry import Registry
from mbert_atlas.training.method import Inputs, Method, Values

METHODS = Registry(
    {
        # First, as it takes examples away, which the others count.
        "selection": "training.methods.selection:BestEpoch",
        "replay": "training.methods.replay:AlignmentReplay",
        "confusion": "training.methods.confusion:LanguageUnlearning",
        "language_subspace": "training.methods.language_subspace:LanguagePreservation",
        "subspace": "training.methods.subspace:Projection",
    },
)
"""By the key of their options, in the order in which they are prepared and add gradients."""


def methods_of(hyperparameters: Values, specification: Values, inputs: Inputs) -> list[Method]:
    """Return the methods of a run; arguments as of :meth:`Method.of_run`."""
    return [
        METHODS.load(key).of_run(hyperparameters[key], specification, inputs)
        for key in METHODS
        if key in hyperparameters
    ]
