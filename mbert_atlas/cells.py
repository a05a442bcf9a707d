"""A cell of a table or a point of a figure, with the files that its value is computed from."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, Literal


@dataclass(frozen=True)
class Cell:
    """What one measured value stands for, and the files behind it."""

    task: str = ""  # test set as the reported numbers name it
    kind: str = ""  # task of the encoding, such as `nli` or `tagging`
    dataset: str = ""  # entry of the predictions' column `dataset`
    source: str = ""  # training language, several joined by `+`
    language: str = ""  # target language
    condition: str = ""  # of the table
    protocol: Literal["published", "corrected", ""] = ""
    seed: int | None = None  # of the run
    path: str = ""  # the file behind the cell; empty if there are several, see `paths`
    # Language of questions: that of the contexts; or one of both is English.
    questions: Literal["same", "target", "english"] = "same"
    normalisation: Literal["squad", "mlqa"] = "squad"  # of answers, corrected protocol
    layers: str = ""  # that the condition is about, such as `1-2`
    model: str = ""  # encoder as the reported numbers name it
    paths: Mapping[str, str] = field(default_factory=dict, hash=False)  # several files, by role
    # Anything else that a single paper's measure needs, as plain JSON values.
    facts: Mapping[str, Any] = field(default_factory=dict, hash=False)

    @property
    def columns(self) -> dict[str, Any]:
        """The columns of measured rows that the cell decides: those with a value."""
        names = ("task", "model", "condition", "source", "layers", "protocol", "seed")
        values = {name: getattr(self, name) for name in names} | {"target": self.language}
        return {name: value for name, value in values.items() if value not in ("", None)}


def files_of(cells: Iterable[Cell]) -> list[str]:
    """Return every file of the cells once, in the order of its first cell: a rule's input."""
    return list(dict.fromkeys(chain.from_iterable(map(_files, cells))))


def _files(cell: Cell) -> list[str]:
    return [*filter(None, [cell.path]), *cell.paths.values()]


def as_values(cells: Iterable[Cell]) -> list[dict[str, Any]]:
    """Return the cells as plain values without defaults: a rule's parameter."""
    defaults = vars(Cell()).items()
    return [dict(item for item in vars(cell).items() if item not in defaults) for cell in cells]


def with_files(values: Iterable[Mapping[str, Any]], files: Sequence[str]) -> list[Cell]:
    """Return the cells of :func:`as_values` with their files as a rule's input, in that order.

    Raises a ValueError if there are fewer, or more, files than the cells have.
    """
    cells = [Cell(**item) for item in values]
    names = files_of(cells)
    if extra := files[len(names) :]:
        raise ValueError(f"no cell has the file {extra[0]}")
    paths = dict(zip(names, map(str, files), strict=True)) | {"": ""}
    return [
        replace(
            cell,
            path=paths[cell.path],
            paths={role: paths[path] for role, path in cell.paths.items()},
        )
        for cell in cells
    ]
