"""Losses of aligned words, one module each: what an adjustment minimises next to its regulariser.

A loss gets the vectors of the words of both languages, row by row those of a pair, float32, shape
``(pairs, dims)``, and returns a value for each pair, float32, shape ``(pairs,)``. The adjustment
weights and adds these: by ``reduction`` each counts 1, or 1 / (pairs * dims) of its group. Pairs
are those of a micro-batch, which is the whole step if ``token_budget`` is large enough. Names are
in :data:`mbert_atlas.config.training.LOSSES`.
"""

from collections.abc import Callable

from torch import Tensor

Loss = Callable[[Tensor, Tensor], Tensor]
