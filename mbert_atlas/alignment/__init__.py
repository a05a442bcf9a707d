"""Word alignment of bitexts, and the word pairs that adjustment and analysis read."""

from mbert_atlas.registry import Registry

ALIGNERS = Registry(
    {
        "builtin": "alignment.diagonal:BUILTIN",
        "fast_align": "alignment.fast_align:FAST_ALIGN",
        "eflomal": "alignment.eflomal:EFLOMAL",
    },
)
"""By name, :class:`mbert_atlas.alignment.aligner.Aligner`."""
