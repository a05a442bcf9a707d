"""The part of a dataset that a config asks for."""

from __future__ import annotations

import pyarrow as pa

from mbert_atlas.randomness import generator


def limited(table: pa.Table, limit: int | None, seed: int | None, *names: str) -> pa.Table:
    """Return at most ``limit`` rows, in the order of ``table``.

    Args:
        table: any table.
        limit: most rows to return; all if none.
        seed: seed of a random sample; without one, the first rows are taken.
        names: name of the stream of randomness, such as the language and the split.
    """
    if limit is None or limit >= table.num_rows:
        return table
    if seed is None:
        return table.slice(0, limit)
    drawn = generator(seed, "sample", *names).permutation(table.num_rows)[:limit]
    return table.take(pa.array(sorted(drawn.tolist())))
