"""What tables and figures are made from, and those that a config leaves nothing to make from."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pydantic import BaseModel

from mbert_atlas.cells import files_of
from mbert_atlas.errors import DataError
from mbert_atlas.plan.plan import Plan
from mbert_atlas.plan.records import Figure, Measurement


def records_behind(
    plan: Plan, chosen: Iterable[tuple[str, str]]
) -> dict[str, list[Measurement | Figure]]:
    """Return the measurements and figures of artifacts, with the measurements behind them.

    ``chosen`` are papers and names of artifacts; keys are ``paper/name``.
    """
    names, records = set(chosen), dict[str, list[Measurement | Figure]]()
    for kind in (plan.measurements, plan.figures):
        for key, item in kind.items():
            paper, artifact = plan.artifact_of[key]
            if (paper, artifact.name) in names:
                records.setdefault(key, []).append(item)
    todo = list(records)
    for key in todo:
        for file in files_of(cell for item in records[key] for cell in item.cells()):
            below = re.search(r"/measurements/(\w+/\w+)\.csv$", file)
            if below and below[1] in plan.measurements and below[1] not in records:
                records[below[1]] = [plan.measurements[below[1]]]
                todo.append(below[1])
    return records


def files_behind(plan: Plan, chosen: Iterable[tuple[str, str]]) -> set[str]:
    """Return the files that artifacts are made from, see :func:`records_behind`."""
    records = records_behind(plan, chosen).values()
    return {file for some in records for item in some for file in files_of(item.cells())}


def without_cells(plan: Plan, chosen: Iterable[tuple[str, str]]) -> Iterator[DataError]:
    """Yield an error for each artifact behind the ``chosen`` ones that lacks all cells of a record.

    Its key is that of the artifact in the merged config, or of the paper if it has none.
    """
    empty: dict[str, tuple[str, str]] = {}
    for key, records in records_behind(plan, chosen).items():
        if not all(item.cells() for item in records):
            paper, artifact = plan.artifact_of[key]
            empty.setdefault(f"{paper}_{artifact.name}", (paper, key.partition("/")[2]))
    for target, (paper, name) in empty.items():
        artifact_name = target.removeprefix(f"{paper}_")
        entries = _entries(getattr(plan.config, paper), paper)
        key = next((it for it in entries if it.rpartition(".")[2] == artifact_name), "")
        of = "" if name == artifact_name else f"{name} of "
        problem = f"nothing is left to measure for {of}{target}"
        fix = f"write `{artifact_name}: null`" if key else f"make other targets than {target}"
        fix += ", or restore what the config removes from it"
        yield DataError("config", f"key {key or paper}", problem, fix)


def _entries(part: Any, place: str) -> Iterator[str]:
    """Yield the keys, with dots, of a config's part that null can remove: entries of mappings."""
    if isinstance(part, BaseModel):
        for name in type(part).model_fields:
            yield from _entries(getattr(part, name), f"{place}.{name}")
    elif isinstance(part, Mapping):
        for name, item in part.items():
            yield f"{place}.{name}"
            yield from _entries(item, f"{place}.{name}")
