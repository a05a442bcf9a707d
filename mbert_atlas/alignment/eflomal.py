"""Eflomal (Östling and Tiedemann 2016) as the package sil-thot has it.

A Bayesian HMM with fertilities, sampled by Gibbs. The original program lower-cases all words, takes
no seed and has to be compiled.
"""

import platform
from importlib.metadata import version
from typing import Any

import numpy as np

from mbert_atlas.alignment.aligner import Aligner, as_texts, in_both_directions
from mbert_atlas.alignment.links import Links
from mbert_atlas.arrays import Ragged
from mbert_atlas.errors import DataError
from mbert_atlas.progress import track

_SEED = 1
"""Decides the samples: the same for every run."""
_WHEEL = "sil-thot==3.5.3"


def _model() -> Any:
    try:
        from thot.alignment import EflomalAlignmentModel
    except ImportError as error:
        here = f"{platform.system()} on {platform.machine()}"
        problem = f"eflomal needs the package sil-thot ({error})"
        fix = f"`pip install {_WHEEL}`, which has wheels for Linux on x86-64, macOS and Windows "
        fix += f"(this is {here}), or use another aligner"
        raise DataError("config", "key alignment.aligner", problem, fix) from None
    return EflomalAlignmentModel()


def _version(program: str | None) -> str:
    _model()
    return f"sil-thot {version('sil-thot')}"


def _align(
    source: Ragged, target: Ragged, *, program: str | None, threads: int
) -> tuple[Links, Links]:
    one, other = as_texts(source), as_texts(target)

    def link(reverse: bool) -> Links:
        if not reverse:
            return _generate(one, other, "eflomal, forward")
        links = _generate(other, one, "eflomal, reverse")
        return Links(links.row, links.target, links.source, links.rows)

    return in_both_directions(link, threads)


def _generate(source: list[list[str]], target: list[list[str]], label: str) -> Links:
    """Return the links of the direction that generates target words from source words."""
    model = _model()
    # Deterministic: whatever the number of threads.
    model.seed, model.deterministic, model.emit_training_alignments = _SEED, True, True
    for words, others in zip(source, target, strict=True):
        model.add_sentence_pair(words, others)
    model.start_training()
    for _ in track(range(model.scheduled_iterations), label):
        model.train()
    model.end_training()
    links = [
        np.argwhere(model.get_training_alignment(row)[1].to_numpy()) for row in range(len(source))
    ]
    rows = np.repeat(np.arange(len(source)), list(map(len, links)))
    one, other = np.concatenate(links).astype(np.int32).T
    return Links(rows, one, other, len(source))


EFLOMAL = Aligner(_version, _align)
