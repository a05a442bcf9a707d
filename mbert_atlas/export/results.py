"""The numbers of a finished run, or of a published copy, as tidy tables."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pandas as pd

from mbert_atlas.analysis.measurements import resamples_path
from mbert_atlas.errors import DataError
from mbert_atlas.languages import Languages
from mbert_atlas.plan.plan import CLAIMS, REPORTED
from mbert_atlas.scorecard import rules
from mbert_atlas.scorecard.cells import KEY, Key, Measured, measured_cells, read_cells
from mbert_atlas.scorecard.claims import read_claims
from mbert_atlas.scorecard.estimates import Evidence, evidence_of
from mbert_atlas.scorecard.judging import MEASUREMENTS, RESAMPLES_OF_COPY
from mbert_atlas.scorecard.results import Results, read_results

HOME = Path(__file__).parents[2]
"""The repository, with the claims and the reported numbers of papers."""
GUIDE = {
    "paper": "paper whose table or figure it is",
    "artifact": "table or figure of the paper; others, such as `controls`, are additional",
    "protocol": "`published`: as the authors' code does it; `corrected`: as the paper describes it",
    "task": "test set, or what is measured",
    "model": "encoder, as the reported numbers name it; empty where the condition names it",
    "condition": "what was done to the encoder, or what it is compared with",
    "baseline": "condition that a difference, p-value or significance refers to; else empty",
    "source": "training language, or language of the queries; several are joined by `+`",
    "target": "test language, or a group or mean of them; empty: all together",
    "layer": "hidden state that was measured, 0 for the embeddings; empty: none in particular",
    "layer_summary": "how one number stands for several measured layers: `maximum`, `lower`, ...",
    "layer_set": "layers that the condition changes, such as `1-2`, `all` or `upper`; else empty",
    "metric": "what `value` is",
    "unit": "unit of `value`: `%`, `points` (difference of two percentages), or empty: none",
    "value": "number, mean over seeds",
    "low": "lower end of its 95% interval, by the rule that judges the claims (docs/verdicts.md)",
    "high": "upper end of that interval",
    "interval": "what the interval is over: seeds, items, or both; empty: no interval",
    "measured_low": "lower end of the interval that the measure states: see the paper's page",
    "measured_high": "upper end of that interval",
    "seeds": "number of seeds behind `value`; 0: it does not depend on a seed",
    "n": "number of test items behind the value of one seed; empty: unknown",
    "reported": "value in the paper; empty: it has none",
}
"""Meaning of each column of :meth:`FinishedRun.artifact`; empty columns are left out."""
_LEVEL = 0.05


@dataclass(frozen=True)
class FinishedRun:
    """Tables, figures and claims of a run; folders are as for :func:`load_results`."""

    results: Results

    @property
    def papers(self) -> list[str]:
        """The papers with claims in this folder, sorted."""
        return sorted(self.results.claims["paper"].unique())

    def artifacts(self, paper: str) -> list[str]:
        """Return the tables and figures of a paper that were run; a DataError names the papers."""
        if not self.papers:
            fix = "finish a target first"
            raise DataError(self.results.folder, "", "nothing was measured here", fix)
        if paper not in self.papers:
            problem, fix = f"there is no paper {paper!r}", f"name one of {', '.join(self.papers)}"
            raise DataError(self.results.folder, "", problem, fix)
        return sorted({key[1] for cells in self.cells.values() for key in cells if key[0] == paper})

    def figure(self, paper: str, number: int | str) -> pd.DataFrame:
        """Return the numbers of a figure, such as 5 or ``6a``; see :meth:`artifact`."""
        return self.artifact(paper, f"figure{number}")

    def table(self, paper: str, number: int | str) -> pd.DataFrame:
        """Return the numbers of a table; see :meth:`artifact`."""
        return self.artifact(paper, f"table{number}")

    def artifact(self, paper: str, name: str) -> pd.DataFrame:
        """Return the numbers of a table or figure, one row each, with the columns of ``GUIDE``.

        Values and ends of intervals are float64 in ``unit``. A published copy has the resamples of
        items that claims need alone, so that other intervals are over seeds, or missing. A
        DataError names what was run.
        """
        if name not in (names := self.artifacts(paper)):
            problem = f"{paper} has no {name} that was run"
            fix = f"name one of {', '.join(names)}" if names else "run its target"
            raise DataError(self.results.folder, "", problem, fix)
        reported = self.reported(paper)
        rows = [
            (*key, protocol, mean, *self.interval(protocol, {key: 1.0}), seeds, cell.n_items)
            for protocol, cells in self.cells.items()
            for key, cell in cells.items()
            if key[:2] == (paper, name)
            for mean in [sum(cell.values.values()) / len(cell.values)]
            for seeds in [len(cell.values.keys() - {None})]
        ]
        columns = [*KEY, "protocol", "value", "low", "high", "interval", "seeds", "n"]
        frame = pd.DataFrame(rows, columns=columns).astype({"n": "Int64"})
        keys = frame[list(KEY)].itertuples(index=False, name=None)
        return _tidy(frame.assign(reported=[reported.get(key, math.nan) for key in keys]))

    def interval(self, protocol: str, weights: Mapping[Key, float]) -> tuple[float, float, str]:
        """Return the ends of the 95% interval of cells times weights, and what it is over.

        It is that of the verdicts on claims (docs/verdicts.md): NaN where nothing is known of it.
        """
        estimate = self.evidence[protocol].estimate(weights)
        if not estimate.terms:
            return math.nan, math.nan, ""
        over = [name for name in ("seeds", "items") if f"{name[:-1]}-" in estimate.basis]
        return (*estimate.interval(_LEVEL), " and ".join(over))

    def claims(self, paper: str = "") -> pd.DataFrame:
        """Return verdicts on the claims of a paper, or of all, one row per claim and protocol.

        Columns are :data:`mbert_atlas.scorecard.verdicts.COLUMNS`: effect and interval ends
        (``low``, ``high``) are float64, in points of a percentage or the unit of ``metric``.
        """
        if paper:
            self.artifacts(paper)  # names the papers if there is no such one
        claims = self.results.claims
        return claims[claims["paper"] == paper] if paper else claims.copy()

    @property
    def files(self) -> tuple[list[Path], list[Path]]:
        """The files with measurements, and with resamples of the test items."""
        if (packed := self.results.folder / MEASUREMENTS).is_file():
            return [packed], [self.results.folder / RESAMPLES_OF_COPY]
        paths = sorted(self.results.root.glob("measurements/*/*.csv"))
        return paths, [path for each in paths if (path := resamples_path(each)).is_file()]

    @cached_property
    def cells(self) -> dict[str, dict[Key, Measured]]:
        """All measured numbers, by protocol."""
        return measured_cells(*self.files)

    @cached_property
    def evidence(self) -> dict[str, Evidence]:
        """How much all numbers vary, by protocol."""
        languages = [item.code for item in Languages.read(HOME / "resources/languages.csv")]
        claims = {
            paper: read_claims(HOME / CLAIMS.format(paper), paper, HOME / REPORTED.format(paper))
            for paper in self.papers
        }
        return evidence_of(claims, self.cells, languages)

    def reported(self, paper: str) -> dict[Key, float]:
        """Return the numbers that a paper reports."""
        lines = read_cells([HOME / REPORTED.format(paper)])
        return {line.key: line.number("value") for line in lines}


def load_results(folder: Path | str) -> FinishedRun:
    """Open ``results/<run>``, its folder ``highlights``, or a published copy.

    Raises a DataError if the folder has no claims, or another version of the rule judged them.
    """
    (results,) = read_results([Path(folder)])
    return FinishedRun(results)


def _tidy(frame: pd.DataFrame) -> pd.DataFrame:
    """Return numbers in columns that mean one thing each."""
    for end in ("low", "high"):  # ends that were measured like numbers
        names = frame["metric"].str.removesuffix(f"_{end}")
        is_end = (names != frame["metric"]) & names.isin(frame["metric"])
        place = [*KEY, "protocol"]
        ends = frame.assign(metric=names)[is_end][[*place, "value"]]
        ends = ends.rename(columns={"value": f"measured_{end}"})
        frame = frame[~is_end].merge(ends, how="left", on=place)
    parts = frame["metric"].str.rpartition("_vs_")
    compared = parts[2].isin(frame["condition"]) & (parts[1] != "")
    frame["metric"] = parts[0].where(compared, frame["metric"])
    frame["baseline"] = parts[2].where(compared, "")
    is_layer = frame["layers"].str.isdigit()
    frame["layer"] = pd.to_numeric(frame["layers"].where(is_layer)).astype("Int64")
    # Names such as `lower` sum measured layers up where there are any, else they are changed.
    others = "layer_summary" if is_layer.any() else "layer_set"
    frame[others] = frame["layers"].where(~is_layer, "")
    is_test = frame["metric"].str.endswith("p_value")  # resamples of a p-value mean nothing
    for end in ("low", "high"):
        frame[end] = frame[end].mask(is_test)
    frame["interval"] = frame["interval"].mask(is_test, "")
    frame["unit"] = list(map(_unit, frame["metric"], frame["condition"]))
    is_used = (frame.notna() & (frame != "")).any()
    return frame[[column for column in GUIDE if is_used.get(column, False)]]


def _unit(metric: str, condition: str) -> str:
    """Return the unit of a number: ``%``, ``points``, or nothing."""
    if metric.endswith(("_p_value", "_significant")):
        return ""
    if rules.is_gain(metric, condition) or metric.endswith(("_gain_low", "_gain_high")):
        return "points"
    return "%" if rules.full_scale(metric, "") == 100 or "percent" in metric else ""
