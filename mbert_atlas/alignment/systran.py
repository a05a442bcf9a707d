"""Word alignment by the wheel systran-align 3.5.0, an implementation of fast_align.

The wheel estimates the translation probabilities. Its own ``Aligner`` ignores the estimated tension
and returns only the grow-diag-final-and union of the directions, so the tables that it writes are
read here, and :func:`mbert_atlas.alignment.diagonal.align_by` aligns each direction.
"""

from __future__ import annotations

import re
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd

from mbert_atlas.alignment.diagonal import (
    DIRICHLET,
    FIRST_TENSION,
    ITERATIONS,
    NULL_PROBABILITY,
    Grid,
    Model,
    align_by,
)
from mbert_atlas.alignment.fast_align import run_program, write_ids
from mbert_atlas.alignment.pharaoh import Links
from mbert_atlas.arrays import Ragged
from mbert_atlas.errors import AtlasError, DataError

_TRAIN_WITH_WHEEL = """
import sys
from systran_align import generate_alignment_probabilities
text, forward, reverse, iterations, tension, alpha, null = sys.argv[1:]
generate_alignment_probabilities(
    text, forward, reverse, verbose=True, iterations=int(iterations), favor_diagonal=True,
    diagonal_tension=float(tension), optimize_tension=True, variational_bayes=True,
    alpha=float(alpha), prob_align_null=float(null), beam_threshold=-1e9,
)
"""


def align_both(source: Ragged, target: Ragged, grid: Grid, threads: int) -> tuple[Links, Links]:
    """Return the links of both directions, forward and reverse.

    Args:
        source: source word ids of each sentence.
        target: target word ids of each sentence.
        grid: the same bitext in blocks.
        threads: CPU threads.

    Raises:
        AtlasError: if the wheel is missing, fails or has another version.
    """
    if find_spec("systran_align") is None:
        raise AtlasError(
            "systran-align is not installed (wheels exist for x86-64 Linux and Python 3.8 to 3.11 "
            "only); install systran-align==3.5.0 or use the default back end (alignment.backend)."
        )
    with tempfile.TemporaryDirectory(prefix="systran-align-") as folder:
        text, *tables = (Path(folder, name) for name in ("text", "forward", "reverse"))
        write_ids(source, target, np.sort(grid.rows), text)
        options = map(str, (ITERATIONS, FIRST_TENSION, DIRICHLET, NULL_PROBABILITY))
        log = run_program(
            [sys.executable, "-c", _TRAIN_WITH_WHEEL, text, *tables, *options], threads
        )
        tensions = re.findall(r"final tension: ([0-9.]+)", log)
        if len(tensions) != 2 * (ITERATIONS - 2):
            raise AtlasError(
                "systran-align did not report its tension as version 3.5.0 does; install "
                "systran-align==3.5.0 or use the default back end (alignment.backend)."
            )
        forward = _read_model(tables[0], grid, float(tensions[ITERATIONS - 3]), reverse=False)
        reverse = _read_model(tables[1], grid, float(tensions[-1]), reverse=True)
    return align_by(grid, forward, False), align_by(grid, reverse, True)


def _read_model(path: Path, grid: Grid, tension: float, reverse: bool) -> Model:
    """Read a table of systran-align 3.5.0, as little-endian 32-bit numbers.

    A version (2) and the number of words; the words, each ended by a zero byte, numbered from 1;
    the highest row; then per row its conditioning word, its length and as many pairs of generated
    word and probability (float). The empty word is ``<eps>``.
    """
    data = path.read_bytes()
    version, count = np.frombuffer(data, "<u4", 2)
    *words, rest = data[8:].split(b"\0", int(count))
    if version != 2 or len(words) != count:
        raise DataError(path, "", "not a table of systran-align 3.5.0", "install that version")
    # Word ids were written as text; separator and empty word become negative.
    ids = np.array([-1] + [int(word) if word.isdigit() else -1 for word in words], dtype=np.int64)
    empty = words.index(b"<eps>") + 1
    numbers = np.frombuffer(rest, "<u4")
    heads, position = [], 1
    while position < len(numbers):
        heads.append(position)
        position += 2 + 2 * int(numbers[position + 1])
    head = np.array(heads, dtype=np.int64)
    lengths = numbers[head + 1].astype(np.int64)
    conditioning = np.repeat(numbers[head].astype(np.int64), lengths)
    entries = np.ones(len(numbers), dtype=np.bool_)
    entries[0] = entries[head] = entries[head + 1] = False
    pairs = numbers[entries].reshape(-1, 2)
    generated = ids[pairs[:, 0]]
    probability = np.ascontiguousarray(pairs[:, 1]).view("<f4").astype(np.float64)
    null = np.zeros(grid.source_types if reverse else grid.target_types)
    from_empty = conditioning == empty
    null[generated[from_empty]] = probability[from_empty]
    condition, other = ids[conditioning[~from_empty]], generated[~from_empty]
    from_word = probability[~from_empty]
    left, right = (other, condition) if reverse else (condition, other)
    pair = np.zeros(len(grid.pair_source))
    place = pd.Index(grid.pair_source * grid.target_types + grid.pair_target).get_indexer(
        left * grid.target_types + right
    )
    pair[place[place >= 0]] = from_word[place >= 0]
    return Model(pair, null, tension)
