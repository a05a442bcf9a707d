"""A cell of a table or a point of a figure, with the files that its value is computed from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, replace
from typing import Any, Literal


@dataclass(frozen=True)
class Cell:
    """What one measured value stands for, and the files behind it.

    Attributes:
        task: test set as the reported numbers name it.
        kind: task of the encoding, such as ``nli`` or ``tagging``.
        dataset: entry of the predictions' column ``dataset``.
        source: training language, several joined by ``+``.
        language: target language.
        condition: condition of the table.
        protocol: ``published`` or ``corrected``.
        seed: seed of the run.
        path: the file behind the cell; empty if there are several, see ``paths``.
        questions: question answering: questions in the ``same`` language as the contexts; in the
            ``target`` language about English contexts; or in ``english`` about target contexts.
        normalisation: question answering, corrected protocol: how answers are normalised.
        layers: layers that the condition is about, such as ``1-2``.
        model: encoder as the reported numbers name it.
        paths: several files, by role.
        facts: anything else that a single paper's measure needs, as plain JSON values.
    """

    task: str = ""
    kind: str = ""
    dataset: str = ""
    source: str = ""
    language: str = ""
    condition: str = ""
    protocol: Literal["published", "corrected", ""] = ""
    seed: int | None = None
    path: str = ""
    questions: Literal["same", "target", "english"] = "same"
    normalisation: Literal["squad", "mlqa"] = "squad"
    layers: str = ""
    model: str = ""
    paths: Mapping[str, str] = field(default_factory=dict, hash=False)
    facts: Mapping[str, Any] = field(default_factory=dict, hash=False)


def files_of(cells: Iterable[Cell]) -> list[str]:
    """Return every file of the cells, in their order: a rule's input."""
    return [path for cell in cells for path in [*filter(None, [cell.path]), *cell.paths.values()]]


def as_values(cells: Iterable[Cell]) -> list[dict[str, Any]]:
    """Return the cells as plain values without defaults: a rule's parameter."""
    return [
        {
            item.name: value
            for item in fields(cell)
            if (value := getattr(cell, item.name)) != _default(item)
        }
        for cell in cells
    ]


def with_files(values: Iterable[Mapping[str, Any]], files: Sequence[str]) -> list[Cell]:
    """Return the cells of :func:`as_values` with the files where a rule found them.

    Args:
        values: one mapping per cell.
        files: the rule's input, in the order of :func:`files_of`.

    Raises:
        StopIteration, ValueError: if there are fewer, or more, files than the cells have.
    """
    left = iter(files)
    cells = [_filled(Cell(**item), left) for item in values]
    if (extra := next(left, None)) is not None:
        raise ValueError(f"no cell has the file {extra}")
    return cells


def _filled(cell: Cell, files: Iterator[str]) -> Cell:
    path = str(next(files)) if cell.path else ""
    return replace(cell, path=path, paths={role: str(next(files)) for role in cell.paths})


def _default(item: Any) -> Any:
    return item.default_factory() if item.default is MISSING else item.default
