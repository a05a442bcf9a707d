"""Whether the aligners of requested word links are installed, before any job starts."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from mbert_atlas.alignment import ALIGNERS
from mbert_atlas.alignment.aligner import Aligner
from mbert_atlas.errors import DataError, joined
from mbert_atlas.plan.files import links_of
from workflow.needs import requested
from workflow.sizes import adjustments

_LINKS = re.compile(r"/(?:alignment|pairs)/[^/]+/[a-z_-]+(|\.[a-z_]+)(?:\.pharaoh|\.scores|/)")
"""Files of word links and pairs, with the wildcard ``aligner``."""


def check_aligners(plan: Any, targets: Sequence[str]) -> None:
    """Check the aligners of the word links behind targets.

    A DataError (several: DataErrors) names what is missing and the fix; its key is one of the
    merged config, of a family of runs where that names the aligner.
    """
    keys = {
        f".{family.aligner}": f"runs.{name}.aligner"
        for name, family in plan.config.runs.items()
        if family.kind == "adjustment" and family.aligner
    }
    mistakes = []
    for suffix in sorted(set(_suffixes(plan, targets or ["all"]))):
        aligner: Aligner = ALIGNERS.load(plan.aligner(suffix))
        try:
            aligner.version(plan.config.alignment.program)
        except DataError as error:
            where = f"key {keys.get(suffix, 'alignment.aligner')}"
            mistakes.append(DataError(error.path, where, error.problem, error.fix))
    if mistakes:
        raise joined(mistakes)


def _suffixes(plan: Any, targets: Sequence[str]) -> Iterator[str]:
    """Yield the aligners of the word links behind targets, as in paths."""
    files = list(targets)
    for paper, name in requested(plan, targets):
        artifact = next(it for it in plan.papers[paper].artifacts if it.name == name)
        for item in artifact.measurements:
            files += plan.inputs("measurements", f"{paper}/{item.name}")
    for file in files:
        if file == "all" or file.endswith("/alignment.html"):
            yield from (aligner for _, _, aligner in plan.aligned())
        elif "/distances/" in file:
            yield ""
        elif match := _LINKS.search(file):
            yield match[1]
    for run in adjustments(plan, targets):
        yield links_of(run)[-1]
