"""The claims of a paper's text as data: contrasts of cells, and the expected effect."""

import difflib
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Self

from pydantic import BeforeValidator, Field, model_validator

from mbert_atlas.config.base import ConfigModel
from mbert_atlas.config.mistakes import Mistake, check_name
from mbert_atlas.config.reading import read_yaml, validate
from mbert_atlas.scorecard.cells import KEY, CellLine, Key, read_cells

COLUMNS = KEY[1:]
"""The columns by which a claim selects cells: all of the key but the paper."""
Weights = dict[Key, float]
"""An effect, as a sum of numbers times these."""


def _listed(value: Any) -> Any:
    return value if isinstance(value, list) else [value]


Names = Annotated[list[str], BeforeValidator(_listed)]
_NamesOrNone = Annotated[list[str], Field(min_length=0), BeforeValidator(_listed)]
Column = Literal["artifact", "task", "model", "condition", "source", "target", "layers", "metric"]
Cells = dict[Column, Names]
"""A choice of cells: one or several names by column; a column that is left out is free."""


class Difference(ConfigModel):
    """The sum of some means over cells minus the sum of others."""

    plus: Annotated[list[Cells], BeforeValidator(_listed)] = Field(min_length=1)
    """Means that are added."""
    minus: Annotated[list[Cells], BeforeValidator(_listed)] = Field([])
    """Means that are subtracted; none: a level."""

    @property
    def columns(self) -> set[Column]:
        """The columns in which its terms differ."""
        return {*chain(*self.plus, *self.minus)}

    def terms(self, common: Cells) -> list[tuple[int, Cells]]:
        """Return the sign and the names by column of each of its terms."""
        signed = ((1, self.plus), (-1, self.minus))
        return [(sign, common | cells) for sign, side in signed for cells in side]

    @property
    def text(self) -> str:
        """Its terms by their names in these columns, ``adjusted − original``; may be empty."""
        sides = [
            " + ".join(" ".join(",".join(names) for names in cells.values()) for cells in side)
            for side in (self.plus, self.minus)
        ]
        return " − ".join(filter(None, sides))


class Expected(ConfigModel):
    """The expected region, in the unit of the metric (points for scores in percent)."""

    above: float | None = Field(None, description="The effect is larger than this.")
    below: float | None = Field(None, description="The effect is smaller than this.")

    @model_validator(mode="after")
    def _some_region(self) -> Self:
        if self.above is None and self.below is None:
            raise ValueError("neither `above` nor `below` is given")
        if not self.ends[0] < self.ends[1]:
            raise ValueError("`above` is not less than `below`")
        return self

    @property
    def ends(self) -> tuple[float, float]:
        """The ends of the region, which may be infinite."""
        above = -math.inf if self.above is None else self.above
        return above, math.inf if self.below is None else self.below

    def contains(self, low: float, high: float) -> bool:
        """Return whether an interval lies inside the region."""
        return self.ends[0] < low and high < self.ends[1]

    def margin(self, effect: float) -> float:
        """Return how far inside the region an effect lies; negative outside."""
        return min(effect - self.ends[0], self.ends[1] - effect)

    def text(self, sign: str) -> str:
        """Return the region as text, numbers with or without their sign (``+`` or empty)."""
        low, high = self.above, self.below
        if low is not None and high is not None:
            text = f"within ±{high:g}" if low == -high else f"from {low:g} to {high:g}"
        elif high is None:
            text = "positive" if low == 0 else f"above {low:{sign}g}"
        else:
            text = "negative" if high == 0 else f"below {high:{sign}g}"
        return text.replace("-", "−")


class Gate(ConfigModel):
    """What a claim presupposes: that a model learned, that an encoder transfers.

    A case of a claim counts if the effect, in the numbers that share its columns ``by`` with the
    case, lies inside the region by its 95% interval. A case without such numbers does not count.
    """

    otherwise: str = Field(pattern=r"[\w)]$")
    """Why a case does not count, such as "NLI is at chance"; a colon and the effect follow."""
    of: Cells = Field({}, description="What all cells of the effect have in common.")
    effect: Difference = Field(description="The effect, as in a claim.")
    by: list[Column] = Field([], description="Columns in which it has the names of the case.")
    expect: Expected = Field(description="The region.")


class Claim(ConfigModel):
    """One claim."""

    claim: str = Field(description="The claim as a sentence in our own words.")
    place: str = Field(description="Where the paper states it.")
    artifact: str = Field(description="The table or figure that shows it.")
    of: Cells = Field({}, description="What all cells of the effect have in common.")
    effect: Annotated[list[Difference], BeforeValidator(_listed)] = Field(min_length=1)
    """The effect. Every column that a side names is compared; the others, and the differences if
    there are several, give one effect per combination of values."""
    over: Literal["mean", "every", "most", "some"] = "mean"
    """What has to be as expected: the mean over the cells, every cell, more than half of them, or
    at least one."""
    expect: Expected = Field(description="The expected region.")
    needs_paper_scale: bool = False
    """The claim is about a level that only the paper's encoders and data can have, such as "65.4 on
    XTREME": elsewhere it is not applicable."""
    needs: list[str] = Field([], description="Gates that its cases have to pass.")
    cases: int | None = Field(None, ge=1)
    """How many cases the paper has, where it has no numbers of them, as in a figure."""
    control_for: list[str] = Field([])
    """Claims of the paper for which this is a control of our own: the same finding, where it must
    not be. If the control holds, these claims are marked."""
    headline: bool = False
    """Whether the index shows it first: the paper's abstract states it. It was chosen from the
    abstract alone, before any result was looked at."""
    note: str = Field("", description="How we read the sentence, or what the paper's numbers show.")

    def sides(self, difference: Difference) -> list[tuple[int, Cells]]:
        """Return the sign and the names by column of each term of a difference."""
        common: Cells = {"artifact": [self.artifact], **self.of}
        return difference.terms(common)

    @property
    def terms(self) -> list[Cells]:
        """The names by column of each term of its effect."""
        return [cells for each in self.effect for _, cells in self.sides(each)]


class Parts(ConfigModel):
    """The two scores of which measured differences consist."""

    of: Cells
    """The differences."""
    score: dict[Column, str] = Field({})
    """The columns in which the score, of the same run on the same test, has other names."""
    reference: dict[Column, str]
    """Those in which the score that is subtracted has other names."""


class Claims(ConfigModel):
    """The claims of a paper."""

    reported: dict[Column, _NamesOrNone] = Field({})
    """By column: the names in the reported numbers, to detect misspelt ones; of `source` and
    `target` those that are no languages."""
    unreported: dict[Column, Names] = Field({})
    """By column: names of additional measurements."""
    means: dict[Column, dict[str, Names]] = Field({})
    """By column: names of means of which the paper reports the parts."""
    differences: list[Parts] = Field([])
    """What measured differences consist of; they are judged as score minus score."""
    tasks: dict[str, Names] = Field({})
    """Tasks, such as test sets of the same runs, whose seed variance is pooled, by common name."""
    classes: dict[Column, dict[str, Names]] = Field({})
    """By column: kinds of runs by name, whose seed variance is not that of the others."""
    gates: dict[str, Gate] = Field({}, description="Gates by name.")
    claims: dict[str, Claim] = Field(description="Claims by id.")

    def parts(self, key: Key) -> Iterator[tuple[Key, Key]]:
        """Yield the scores of which a difference may consist: it is the first minus the second."""
        for parts in self.differences:
            if all(key[KEY.index(column)] in names for column, names in parts.of.items()):
                yield _renamed(key, parts.score), _renamed(key, parts.reference)

    def kind_of(self, key: Key) -> tuple[str, ...]:
        """Return the task and the classes of runs with which the seed variance is pooled."""
        named = [(self.tasks, "task"), *((self.classes[name], name) for name in self.classes)]
        return tuple(
            next((name for name, some in by_name.items() if key[KEY.index(column)] in some), "")
            or (key[KEY.index(column)] if column == "task" else "")
            for by_name, column in named
        )

    def with_means(self, reported: Mapping[Key, float]) -> dict[Key, float]:
        """Return reported numbers, and the means of which all parts are reported."""
        numbers = dict(reported)
        for column, by_name in self.means.items():
            for name, parts in by_name.items():
                for key in reported:
                    cells = [_renamed(key, {column: part}) for part in parts]
                    if key == cells[0] and all(cell in reported for cell in cells):
                        mean = sum(reported[cell] for cell in cells) / len(cells)
                        numbers[_renamed(key, {column: name})] = mean
        return numbers


def _renamed(key: Key, names: Mapping[Any, str]) -> Key:
    return tuple(names.get(column, value) for column, value in zip(KEY, key, strict=True))


class CellEffect(NamedTuple):
    """One cell that a claim is about."""

    weights: Weights
    place: dict[str, str]  # values by column that distinguish it from the claim's other cells
    part: str = ""  # the difference that it is, where the claim has several


def read_claims(path: Path, paper: str, reported: Path, languages: Collection[str] = ()) -> Claims:
    """Read the claims of a paper and check every name in them and in its reported numbers.

    The reported numbers define its artifacts, conditions and metrics; ``languages``, if any, are
    the codes that these may have as source and target. A DataError names file, line, key and fix of
    the first mistake.
    """
    lines = list(read_cells([reported]))
    keys = {line.key for line in lines}
    claims = validate(
        Claims,
        read_yaml(path),
        [path],
        checks=[lambda claims: _check_names(claims, paper, keys)],
        described="mbert_atlas/scorecard/claims.py",
    )
    _check_reported(lines, claims.reported, languages, path)
    return claims


def _check_reported(
    lines: Iterable[CellLine],
    listed: Mapping[Column, Collection[str]],
    languages: Collection[str],
    path: Path,
) -> None:
    """Check the names and numbers of the reported cells."""
    allowed: dict[str, set[str]] = {column: {*names, ""} for column, names in listed.items()}
    for column in ("source", "target"):
        if languages:
            allowed[column] = allowed.get(column, {""}) | set(languages)
        else:
            allowed.pop(column, None)
    for line in lines:
        line.number("value")
        for column, names in allowed.items():
            text = line.fields[column]
            for name in text.split("+") if column in ("source", "target") else [text]:
                if name not in names:
                    near = difflib.get_close_matches(name, names, 3, 0.5)
                    hint = f"; did you mean {', '.join(near)}?" if near else ""
                    problem = f"{name!r} is not defined as {column}{hint}"
                    raise line.error(problem, f"correct it, or list it under `reported` in {path}")


def cells_of(
    claim: Claim, paper: str, keys: Iterable[Key], reported: Iterable[Key] = ()
) -> list[CellEffect]:
    """Return the cells of a paper's claim of which all terms are among those with numbers.

    Their places distinguish them from each other, and from those with ``reported`` numbers.
    """
    places = {(paper, artifact) for term in claim.terms for artifact in term["artifact"]}
    numbers = ([key for key in some if key[:2] in places] for some in (keys, reported))
    cells, others = (
        [cell for difference in claim.effect for cell in _cells(claim, difference, some)]
        for some in numbers
    )
    named = [cell.place for cell in [*cells, *others]]
    varying = [name for name in COLUMNS if len({place[name] for place in named} - {""}) > 1]
    several = len(claim.effect) > 1
    return [
        cell._replace(
            place={name: cell.place[name] for name in varying}, part=cell.part if several else ""
        )
        for cell in cells
    ]


def _cells(claim: Claim, difference: Difference, keys: Collection[Key]) -> Iterator[CellEffect]:
    free = [place for place, column in enumerate(KEY) if column not in difference.columns]

    def fixed(key: Key) -> Key:
        return tuple(key[place] for place in free)

    for cell, first, weights in effects(claim.sides(difference), keys, fixed):
        values = first[0] if len(first) == 1 else [""] * len(KEY)
        place = dict(zip(COLUMNS, values[1:], strict=True))
        place |= {KEY[n]: cell[i] for i, n in enumerate(free) if n}
        yield CellEffect(weights, place, difference.text)


def effects(
    terms: Iterable[tuple[int, Cells]], keys: Collection[Key], place: Callable[[Key], Key]
) -> Iterator[tuple[Key, list[Key], Weights]]:
    """Yield, by place, the cells of the first term, and the sum of the means over each term.

    Terms have their sign. A ``place`` where one of them has no cell is left out.
    """
    sides = []
    for sign, names in terms:
        selected = [(KEY.index(column), set(values)) for column, values in names.items()]
        by_place: dict[Key, list[Key]] = {}
        for key in keys:
            if all(key[number] in values for number, values in selected):
                by_place.setdefault(place(key), []).append(key)
        sides.append((sign, by_place))
    for common, first in sides[0][1].items():
        if all(common in by_place for _, by_place in sides):
            weights: Weights = {}
            for sign, by_place in sides:
                for key in by_place[common]:
                    weights[key] = weights.get(key, 0.0) + sign / len(by_place[common])
            yield common, first, weights


def _check_names(read: Claims, paper: str, reported: Collection[Key]) -> None:
    """Check that some number of the artifact has each name."""
    reported_names = {column: {key[KEY.index(column)] for key in reported} for column in COLUMNS}

    def check(at: str, names: Any, column: str, more: Collection[str] = ()) -> None:
        for name in _listed(names):
            check_name(at, name, {*reported_names[column], *more}, f" as {column} of {paper}")

    for column, by_name in read.means.items():
        for name, parts in by_name.items():
            check(f"means.{column}.{name}", parts, column)
    for common, tasks in read.tasks.items():
        check(f"tasks.{common}", tasks, "task")
    for number, difference in enumerate(read.differences):
        for cells in (difference.of, difference.score, difference.reference):
            for column, names in cells.items():
                more = ["", *read.unreported.get(column, [])]
                check(f"differences.{number}", names, column, more)
    artifacts = {*reported_names["artifact"], *read.unreported.get("artifact", [])}
    for name, claim in read.claims.items():
        at = f"claims.{name}"
        if check_name(f"{at}.artifact", claim.artifact, artifacts, f" as an artifact of {paper}"):
            _check_effect(read, at, claim, {"artifact": [claim.artifact], **claim.of}, reported)
        for gate in claim.needs:
            check_name(f"{at}.needs", gate, read.gates, f" as a gate of {paper}")
        for controlled in claim.control_for:
            check_name(f"{at}.control_for", controlled, read.claims, f" as a claim of {paper}")
    for name, each in read.gates.items():
        _check_effect(read, f"gates.{name}", each, each.of, reported)
    for column, by_name in read.classes.items():
        for name, members in by_name.items():
            more = read.unreported.get(column, [])
            check(f"classes.{column}.{name}", members, column, more)


def _check_effect(
    read: Claims, at: str, claim: Claim | Gate, common: Cells, reported: Collection[Key]
) -> None:
    for difference in claim.effect if isinstance(claim, Claim) else [claim.effect]:
        for _, names in difference.terms(common):
            _check_term(read, at, claim.of, names, reported)
            if missing := difference.columns - set(names):
                problem = f"one side names the column {min(missing)!r}, another leaves it free"
                raise Mistake(f"{at}.effect", problem, "name it on all sides, or in `of`")


def _check_term(
    read: Claims, at: str, common: Cells, names: Cells, reported: Collection[Key]
) -> None:
    if "artifact" not in names:
        raise Mistake(f"{at}.of", "no artifact is named", "name one in `of`")
    artifacts = names["artifact"]
    for column, values in names.items():
        place = KEY.index(column)
        defined = {key[place] for key in reported if column == "artifact" or key[1] in artifacts}
        defined |= {*read.unreported.get(column, []), *read.means.get(column, {})}
        key = f"of.{column}" if column in common else "effect"
        where = "" if column == "artifact" else f" of {' or '.join(artifacts)}"
        for value in values:
            check_name(f"{at}.{key}", value, defined, f" as {column}{where}")
    if "metric" not in names:
        raise Mistake(f"{at}.effect", "no metric is named", "name one in `of`")
