"""Word alignment of a bitext: one interface, three programs that estimate the same model.

The model is fast_align's (Dyer et al. 2013) with the flags of Cao et al. (2020), ``-d -o -v`` and
``-r`` for the reverse direction; Efimov et al. (2022) keep the intersection of the two directions.

``numpy`` (the default)
    :mod:`mbert_atlas.alignment.diagonal`, part of this package.
``systran``
    the wheel systran-align 3.5.0 estimates the translation probabilities. Its own ``Aligner``
    ignores the estimated tension and returns only a grow-diag-final-and union of the directions, so
    the tables that it writes are read here and each direction is aligned by Viterbi.
``fast_align``
    the binary, built from https://github.com/clab/fast_align (there is no conda package of it).

Measured on 60,000 Tatoeba en-es pairs with the 350 XL-WA en-es gold pairs appended, against the
binary of commit cab1e9a: ``numpy`` shares 99.999% of its links with the binary in each direction,
``systran`` 99.997%; two runs of the binary with two threads differ as much, its counts being summed
in no fixed order. AER (precision, recall) of all three: intersection .269 (.876, .628), union .298
(.658, .751), one_to_one .393 (.914, .454). On 31,000 Bible verses ``numpy`` needs about a third of
the binary's CPU time, ``systran`` more than the binary.
"""

from __future__ import annotations

import logging
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from mbert_atlas.alignment.diagonal import (
    DIRICHLET,
    FIRST_TENSION,
    ITERATIONS,
    NULL_PROBABILITY,
    Grid,
    Model,
    align_both,
    align_by,
    build_grid,
)
from mbert_atlas.alignment.metrics import score
from mbert_atlas.alignment.pharaoh import Links, read_pharaoh, write_pharaoh
from mbert_atlas.arrays import Ragged, offsets_of
from mbert_atlas.corpora.gold_alignment import GoldSentence
from mbert_atlas.errors import AtlasError, DataError
from mbert_atlas.files import read_parquet, write_json
from mbert_atlas.schemas import BITEXT

Backend = Literal["numpy", "systran", "fast_align"]
Symmetrisation = Literal["intersection", "one_to_one", "union"]

_logger = logging.getLogger(__name__)
_WORD_BITS = 18  # words of a sentence in a link's key
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


def align(
    bitext: Path | str,
    output: Path | str,
    *,
    gold: Sequence[GoldSentence] = (),
    scores: Path | str | None = None,
    backend: Backend = "numpy",
    symmetrisation: Symmetrisation = "intersection",
    threads: int = 1,
    fast_align: Path | str = "fast_align",
) -> dict[str, Any]:
    """Align the words of a bitext and write the links as Pharaoh text.

    Args:
        bitext: Parquet file of schema ``BITEXT``.
        output: text file to write, one line per sentence pair; pairs with an empty side get an
            empty line.
        gold: hand-aligned sentence pairs. They are added to the bitext for the estimation, as is
            usual, and scored apart; ``output`` does not hold them.
        scores: JSON file to write what is returned to.
        backend: see the module's text.
        symmetrisation: ``intersection`` or ``union`` of the two directions, or ``one_to_one``: the
            links of the union whose two words have no other link.
        threads: CPU threads.
        fast_align: name on PATH, or path, of the binary for the back end ``fast_align``.

    Returns:
        ``backend``, ``symmetrisation``, ``bitext_sentences``, ``bitext_links``; and with gold pairs
        the fields of :class:`AlignmentScores` for the chosen symmetrisation and, under
        ``by_symmetrisation``, for each (without gold pairs these are None).

    Raises:
        DataError: if the bitext is unreadable or has no sentence pair with words on both sides.
        AtlasError: if the program of the back end is missing or fails.
    """
    table = read_parquet(bitext, BITEXT)
    sides = [
        _word_ids(table[f"{side}_tokens"], [getattr(pair, f"{side}_tokens") for pair in gold])
        for side in ("source", "target")
    ]
    source, target = sides[0][0], sides[1][0]
    if not np.any((source.lengths > 0) & (target.lengths > 0)):
        raise DataError(bitext, "", "no sentence pair has words on both sides", "remake the bitext")
    _logger.info("aligning %d sentence pairs by %s", len(source), backend)
    both = _both_directions(
        source, target, (sides[0][1], sides[1][1]), backend, threads, fast_align
    )
    links = symmetrise(*both, symmetrisation)
    written = links.between(0, len(table))
    write_pharaoh(written, output)
    result: dict[str, Any] = {
        "backend": backend,
        "symmetrisation": symmetrisation,
        "bitext_sentences": len(table),
        "bitext_links": len(written),
        **_gold_scores(both, len(table), gold, symmetrisation),
    }
    if scores is not None:
        write_json(result, scores)
    return result


def _both_directions(
    source: Ragged,
    target: Ragged,
    types: tuple[int, int],
    backend: Backend,
    threads: int,
    fast_align: Path | str,
) -> tuple[Links, Links]:
    if backend == "fast_align":
        return _by_fast_align(source, target, fast_align, threads)
    if backend == "systran":
        return _by_systran(source, target, types, threads)
    return align_both(build_grid(source, target, *types, threads=threads), threads)


def symmetrise(forward: Links, reverse: Links, how: Symmetrisation) -> Links:
    """Merge the links of two directions; sorted by sentence, source word, target word."""
    first, second = _keys(forward), _keys(reverse)
    if how == "intersection":
        return _from_keys(np.intersect1d(first, second, assume_unique=True), forward.rows)
    links = _from_keys(np.union1d(first, second), forward.rows)
    return links if how == "union" else one_to_one(links)


def one_to_one(links: Links) -> Links:
    """Return the links whose two words have no other link."""
    alone = np.ones(len(links), dtype=np.bool_)
    for word in (links.source, links.target):
        _, index, count = np.unique(
            links.row << _WORD_BITS | word, return_inverse=True, return_counts=True
        )
        alone &= count[index] == 1
    return links.take(alone)


# A link is one number, row << 36 | source << 18 | target: the link 3-5 of sentence 2 is
# 2 << 36 | 3 << 18 | 5, and sets of links become sets of numbers, sorted by row, source and target.
def _keys(links: Links) -> npt.NDArray[np.int64]:
    return (links.row << _WORD_BITS | links.source) << _WORD_BITS | links.target


def _from_keys(keys: npt.NDArray[np.int64], rows: int) -> Links:
    mask = (1 << _WORD_BITS) - 1
    source = (keys >> _WORD_BITS & mask).astype(np.int32)
    return Links(keys >> 2 * _WORD_BITS, source, (keys & mask).astype(np.int32), rows)


def _gold_scores(
    both: tuple[Links, Links], start: int, gold: Sequence[GoldSentence], chosen: Symmetrisation
) -> dict[str, Any]:
    if not gold:
        return {"aer": None, "precision": None, "recall": None, "sentences": 0}
    forward, reverse = (links.between(start, start + len(gold)) for links in both)
    scored = {
        how: asdict(score(symmetrise(forward, reverse, how), gold))
        for how in get_args(Symmetrisation)
    }
    return {**scored[chosen], "by_symmetrisation": scored}


def _word_ids(column: pa.ChunkedArray, more: list[Sequence[str]]) -> tuple[Ragged, int]:
    """Return word ids of the sentences of a column and of ``more``, and the number of words."""
    lists = pa.concat_arrays([*column.chunks, pa.array(map(list, more), column.type)])
    encoded = lists.flatten().dictionary_encode()
    offsets = offsets_of(pc.list_value_length(lists).fill_null(0).to_numpy())
    return Ragged(encoded.indices.to_numpy(), offsets), len(encoded.dictionary)


def _write_ids(source: Ragged, target: Ragged, rows: npt.NDArray[np.int64], path: Path) -> None:
    """Write ``1 2 ||| 3 4`` lines of word ids: no word can then be mistaken for a separator."""
    with open(path, "w", encoding="ascii") as stream:
        stream.writelines(
            f"{' '.join(map(str, source[row].tolist()))} ||| "
            f"{' '.join(map(str, target[row].tolist()))}\n"
            for row in rows.tolist()
        )


def _run(command: Sequence[Path | str], threads: int, output: Path | None = None) -> str:
    """Run a program with ``threads`` OpenMP threads and return what it wrote to stderr.

    Raises:
        AtlasError: if it fails; quotes its last line.
    """
    environment = os.environ | {"OMP_NUM_THREADS": str(threads)}
    with open(output or os.devnull, "wb") as stream:
        done = subprocess.run(
            [str(part) for part in command],
            stdout=stream,
            stderr=subprocess.PIPE,
            env=environment,
            check=False,
        )
    messages = done.stderr.decode("utf-8", "replace")
    if done.returncode != 0:
        last = (messages.strip().splitlines() or ["no message"])[-1]
        raise AtlasError(
            f"{Path(command[0]).name} ended with status {done.returncode} ({last}); "
            "use the back end numpy (alignment.backend) or mend the program."
        )
    return messages


def _by_fast_align(
    source: Ragged, target: Ragged, program: Path | str, threads: int
) -> tuple[Links, Links]:
    binary = shutil.which(program)
    if binary is None:
        raise AtlasError(
            f"{program}: no such program; no conda package of fast_align exists, so build it from "
            "https://github.com/clab/fast_align and put it on PATH, or use the default back end "
            "(alignment.backend)."
        )
    rows = np.flatnonzero((source.lengths > 0) & (target.lengths > 0))
    directions = []
    with tempfile.TemporaryDirectory(prefix="fast-align-") as folder:
        text, links = Path(folder, "text"), Path(folder, "links")
        _write_ids(source, target, rows, text)
        for flags in ([], ["-r"]):
            _run([binary, "-i", text, "-d", "-o", "-v", *flags], threads, links)
            found = read_pharaoh(links, len(rows))
            directions.append(Links(rows[found.row], found.source, found.target, len(source)))
    return directions[0], directions[1]


def _by_systran(
    source: Ragged, target: Ragged, types: tuple[int, int], threads: int
) -> tuple[Links, Links]:
    if find_spec("systran_align") is None:
        raise AtlasError(
            "systran-align is not installed (wheels exist for x86-64 Linux and Python 3.8 to 3.11 "
            "only); install systran-align==3.5.0 or use the default back end (alignment.backend)."
        )
    grid = build_grid(source, target, *types, threads=threads)
    with tempfile.TemporaryDirectory(prefix="systran-align-") as folder:
        text, *tables = (Path(folder, name) for name in ("text", "forward", "reverse"))
        _write_ids(source, target, np.sort(grid.rows), text)
        options = map(str, (ITERATIONS, FIRST_TENSION, DIRICHLET, NULL_PROBABILITY))
        log = _run([sys.executable, "-c", _TRAIN_WITH_WHEEL, text, *tables, *options], threads)
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
    word and probability (float). The empty word is called ``<eps>``.
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
    given, other = ids[conditioning[~from_empty]], generated[~from_empty]
    from_word = probability[~from_empty]
    left, right = (other, given) if reverse else (given, other)
    pair = np.zeros(len(grid.pair_source))
    place = pd.Index(grid.pair_source * grid.target_types + grid.pair_target).get_indexer(
        left * grid.target_types + right
    )
    pair[place[place >= 0]] = from_word[place >= 0]
    return Model(pair, null, tension)
