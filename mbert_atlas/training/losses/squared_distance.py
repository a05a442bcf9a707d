"""The loss of Efimov et al. (2022, Eq. 1)."""

from torch import Tensor


def squared_distance(source: Tensor, target: Tensor) -> Tensor:
    """Return ``||f(s) - f(t)||^2`` of each pair, see :mod:`mbert_atlas.training.losses`."""
    # Products and sums, not a matrix product, which autocast would compute in bf16.
    return (source - target).square().sum(-1)
