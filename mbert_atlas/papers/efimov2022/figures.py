"""What the conditions are called that its tables and figures compare."""

from __future__ import annotations

import re

from mbert_atlas.config.transfer import TransferTable
from mbert_atlas.plan.runs import RunTable

_SIZE = re.compile(r"(\w+)_(\d+)K")


def by_size(table: TransferTable, runs: RunTable) -> dict[str, str]:
    """Return what conditions named by a number of sentences are called: the number that they have.

    ``adjusted_30K`` is ``adjusted, 1,500 sentences (30K in the paper)`` where the config says so.

    Args:
        table: of the config.
        runs: of the same config.
    """
    found = {}
    for test in table.tests.values():
        for _, condition, shown in table.families(test):
            if match := _SIZE.fullmatch(condition):
                family, _, own = shown.partition("/")
                language = own or (test.languages or table.languages)[0]
                start = runs.get(family, language, "published").start
                if start is None:
                    continue
                number = runs[start].specification["hyperparameters"]["sentences"]
                stated = 1000 * int(match[2])
                beside = "" if number == stated else f" ({match[2]}K in the paper)"
                found[condition] = f"{match[1]}, {number:,} sentences{beside}"
    return found
