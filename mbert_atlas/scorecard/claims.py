"""What a paper claims in words, as data: contrasts of cells, and the effect that is expected."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BeforeValidator, Field, model_validator

from mbert_atlas.config.base import ConfigModel
from mbert_atlas.config.mistakes import Mistake, check_name
from mbert_atlas.config.reading import read_yaml, validate
from mbert_atlas.scorecard.cells import KEY, REPORTED_COLUMNS, CellLine, Key, read_cells

COLUMNS = KEY[1:]
"""The columns by which a claim selects cells: all that name one but the paper."""
_DESCRIBED = "mbert_atlas/scorecard/claims.py"


def _listed(value: Any) -> Any:
    return value if isinstance(value, list) else [value]


Names = Annotated[list[str], BeforeValidator(_listed)]
_NamesOrNone = Annotated[list[str], Field(min_length=0), BeforeValidator(_listed)]


class Cells(ConfigModel):
    """A choice of cells: one or several names by column; a column that is left out is free."""

    artifact: Names | None = Field(None, description="If not the claim's own.")
    task: Names | None = Field(None, description="Test sets as the reported numbers name them.")
    model: Names | None = Field(None, description="Encoders as the reported numbers name them.")
    condition: Names | None = Field(None, description="Conditions, or panels of a figure.")
    source: Names | None = Field(None, description="Languages of training.")
    target: Names | None = Field(None, description="Target languages.")
    layers: Names | None = Field(None, description="Layers.")
    metric: Names | None = Field(None, description="Metrics.")

    @property
    def named(self) -> dict[str, list[str]]:
        """The names by column, free columns left out."""
        return self.model_dump(exclude_none=True)


class Difference(ConfigModel):
    """What is added up, less what is taken off; each of these is a mean over its cells."""

    plus: Annotated[list[Cells], BeforeValidator(_listed)] = Field(
        min_length=1, description="Means that are added."
    )
    minus: Annotated[list[Cells], BeforeValidator(_listed)] = Field(
        default_factory=list, description="Means that are taken off; none: the sum itself counts."
    )


class Expected(ConfigModel):
    """Where the effect is to lie, in the unit of the metric (points for scores in percent)."""

    above: float | None = Field(None, description="The effect is larger than this.")
    below: float | None = Field(None, description="The effect is smaller than this.")

    @model_validator(mode="after")
    def _some_region(self) -> Expected:
        if self.above is None and self.below is None:
            raise ValueError("neither `above` nor `below` is given")
        if None not in (self.above, self.below) and not self.above < self.below:  # type: ignore[operator]
            raise ValueError("`above` is not less than `below`")
        return self

    def margin(self, effect: float) -> float:
        """Return how far inside the region an effect lies; negative outside."""
        gaps = [
            *([effect - self.above] if self.above is not None else []),
            *([self.below - effect] if self.below is not None else []),
        ]
        return min(gaps)

    def text(self, sign: str) -> str:
        """Return the region in words, numbers with or without their sign (``+`` or empty)."""
        low, high = self.above, self.below
        if low is not None and high is not None:
            return f"within ±{high:g}" if low == -high else f"from {low:g} to {high:g}"
        if high is None:
            return "greater" if low == 0 else f"above {low:{sign}g}"
        return "less" if high == 0 else f"below {high:{sign}g}"


class Claim(ConfigModel):
    """One claim."""

    claim: str = Field(description="The claim as a sentence in our own words.")
    place: str = Field(description="Where the paper states it.")
    artifact: str = Field(description="The table or figure that shows it.")
    of: Cells = Field(
        default_factory=Cells, description="What all cells of the effect have in common."
    )
    effect: Annotated[list[Difference], BeforeValidator(_listed)] = Field(
        min_length=1,
        description="The effect. Every column that a side names is compared; over all others, and "
        "over the differences if there are several, the effect ranges cell by cell.",
    )
    over: Literal["mean", "every", "most", "some"] = Field(
        "mean",
        description="Whether the mean over the cells, each of them, more than half of them, or one "
        "of them is to be as expected.",
    )
    expect: Expected = Field(description="Where the effect is to lie.")
    note: str = Field("", description="How we read the sentence, or what the paper's numbers say.")

    def sides(self, difference: Difference) -> list[tuple[int, dict[str, list[str]]]]:
        """Return the sign and the names by column of what a difference is made of."""
        common = {"artifact": [self.artifact]} | self.of.named
        signed = [(1, each) for each in difference.plus] + [(-1, each) for each in difference.minus]
        return [(sign, common | cells.named) for sign, cells in signed]

    def compared(self, difference: Difference) -> set[str]:
        """Return the columns that tell the sides of a difference apart."""
        return {column for each in (*difference.plus, *difference.minus) for column in each.named}


class Claims(ConfigModel):
    """The claims of a paper."""

    reported: dict[str, _NamesOrNone] = Field(
        default_factory=dict,
        description="By column: the names that the reported numbers use, so that a misspelt one is "
        "noticed; of `source` and `target` those that are no languages.",
    )
    unreported: dict[str, Names] = Field(
        default_factory=dict,
        description="By column: names that the paper reports no number of and we measure.",
    )
    means: dict[str, dict[str, Names]] = Field(
        default_factory=dict,
        description="By column: names of which the paper reports the parts; each is their mean.",
    )
    claims: dict[str, Claim] = Field(description="Claims by id.")

    def with_means(self, reported: Mapping[Key, float]) -> dict[Key, float]:
        """Return reported numbers, and the means that claims speak of where all parts are there."""
        found = dict(reported)
        for column, by_name in self.means.items():
            number = KEY.index(column)
            for name, parts in by_name.items():
                for key in reported:
                    own = [(*key[:number], part, *key[number + 1 :]) for part in parts]
                    if key == own[0] and all(cell in reported for cell in own):
                        mean = sum(reported[cell] for cell in own) / len(own)
                        found[(*key[:number], name, *key[number + 1 :])] = mean
        return found


class CellEffect(NamedTuple):
    """One cell that a claim speaks of.

    Attributes:
        weights: the effect as a sum of measured (or reported) numbers times these.
        place: what tells the cell from the others of the claim, by column.
    """

    weights: dict[Key, float]
    place: dict[str, str]


def read_claims(path: Path, paper: str, reported: Path, languages: Collection[str] = ()) -> Claims:
    """Read the claims of a paper and see whether every name in them is known.

    Args:
        path: YAML file, see :class:`Claims`.
        paper: key of the paper.
        reported: its reported numbers, which say what artifacts, conditions, metrics there are.
        languages: codes that these may have as source and target; with none that is not checked.

    Returns:
        The claims, in the order of the file.

    Raises:
        DataError: names the file, the line and the key of the first mistake, and the mend; also of
            a name in the reported numbers that ``reported`` does not list.
    """
    lines = list(read_cells([reported], REPORTED_COLUMNS))
    keys = {line.key for line in lines}
    claims = validate(
        Claims,
        read_yaml(path),
        [path],
        checks=[lambda claims: _check_names(claims, paper, keys)],
        described=_DESCRIBED,
    )
    _check_reported(lines, claims.reported, languages, path)
    return claims


def _check_reported(
    lines: Iterable[CellLine],
    listed: Mapping[str, Collection[str]],
    languages: Collection[str],
    path: Path,
) -> None:
    """Refuse a misspelt name or number among the reported ones; names its line."""
    known = {column: {*names, ""} for column, names in listed.items()}
    for column in ("source", "target"):
        if languages:
            known[column] = known.get(column, {""}) | set(languages)
        else:
            known.pop(column, None)
    for line in lines:
        line.number("value")
        for column, names in known.items():
            text = line.fields[column]
            for name in text.split("+") if column in ("source", "target") else [text]:
                if name not in names:
                    near = difflib.get_close_matches(name, names, 3, 0.5)
                    hint = f"; near it: {', '.join(near)}" if near else ""
                    problem = f"{name!r} is not known as {column}{hint}"
                    raise line.refused(
                        problem, f"correct it, or list it under `reported` in {path}"
                    )


def cells_of(claim: Claim, paper: str, keys: Iterable[Key]) -> list[CellEffect]:
    """Find the cells that a claim speaks of, as far as all sides of their differences are there.

    Args:
        claim: the claim.
        paper: key of its paper.
        keys: names of the cells that there are numbers for.
    """
    own = [key for key in keys if key[0] == paper]
    found = [cell for difference in claim.effect for cell in _cells(claim, difference, own)]
    varying = [
        column
        for column in COLUMNS
        if len({cell.place[column] for cell in found if cell.place[column]}) > 1
    ]
    return [
        CellEffect(cell.weights, {column: cell.place[column] for column in varying})
        for cell in found
    ]


def _cells(claim: Claim, difference: Difference, keys: Collection[Key]) -> Iterator[CellEffect]:
    compared = claim.compared(difference)
    free = [number for number, column in enumerate(KEY) if column not in compared]
    sides = []
    for sign, names in claim.sides(difference):
        by_cell: dict[Key, list[Key]] = {}
        wanted = [(KEY.index(column), set(values)) for column, values in names.items()]
        for key in keys:
            if all(key[number] in values for number, values in wanted):
                by_cell.setdefault(tuple(key[number] for number in free), []).append(key)
        sides.append((sign, by_cell))
    for cell, first in sides[0][1].items():
        if all(cell in by_cell for _, by_cell in sides):
            weights: dict[Key, float] = {}
            for sign, by_cell in sides:
                for key in by_cell[cell]:
                    weights[key] = weights.get(key, 0.0) + sign / len(by_cell[cell])
            shown = first[0] if len(first) == 1 else tuple("" for _ in KEY)
            place = {column: shown[KEY.index(column)] for column in COLUMNS}
            yield CellEffect(weights, place | {KEY[n]: cell[i] for i, n in enumerate(free) if n})


def _check_names(read: Claims, paper: str, reported: Collection[Key]) -> None:
    """Refuse names that no number of the artifact has.

    Raises:
        Mistake: at the first.
    """
    for column in read.unreported:
        check_name(f"unreported.{column}", column, COLUMNS, " as a column")
    for column, by_name in read.means.items():
        check_name(f"means.{column}", column, COLUMNS, " as a column")
        there = {key[KEY.index(column)] for key in reported}
        for name, parts in by_name.items():
            for part in parts:
                check_name(f"means.{column}.{name}", part, there, f" as {column} of {paper}")
    artifacts = {key[1] for key in reported} | set(read.unreported.get("artifact", []))
    for name, claim in read.claims.items():
        at = f"claims.{name}"
        own = f" as an artifact of {paper}"
        if not check_name(f"{at}.artifact", claim.artifact, artifacts, own):
            continue
        for difference in claim.effect:
            for _, names in claim.sides(difference):
                for column, values in names.items():
                    key = f"of.{column}" if column in claim.of.named else "effect"
                    known = _known(read, column, names["artifact"], reported)
                    where = "" if column == "artifact" else f" of {' or '.join(names['artifact'])}"
                    for value in values:
                        check_name(f"{at}.{key}", value, known, f" as {column}{where}")
                if "metric" not in names:
                    raise Mistake(f"{at}.effect", "no metric is named", "name one in `of`")
                if missing := claim.compared(difference) - set(names):
                    raise Mistake(
                        f"{at}.effect",
                        f"one side names the column {min(missing)!r}, another leaves it free",
                        "name it on all sides, or in `of`",
                    )


def _known(
    read: Claims, column: str, artifacts: Collection[str], reported: Collection[Key]
) -> set[str]:
    """Return the names of a column in some artifacts."""
    number = KEY.index(column)
    named = {key[number] for key in reported if column == "artifact" or key[1] in artifacts}
    return named | set(read.unreported.get(column, [])) | set(read.means.get(column, {}))
