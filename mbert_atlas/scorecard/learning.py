"""Whether trainings learned: their curves by family, next to guessing, as pages draw them."""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from mbert_atlas.config.base import PROTOCOLS
from mbert_atlas.files import read_parquet
from mbert_atlas.labels import label
from mbert_atlas.schemas import CURVES
from mbert_atlas.scorecard.templates import Setting, provenance, render

WIDTH, HEIGHT = 240.0, 90.0  # of a plot, in its own unit
_Z = 1.96  # standard errors of a 95% interval
_LINES = {
    "guessing_loss": "guessing, without reading the text",
    "majority": "the most frequent class for all",
    "chance": "classes drawn with equal chances",
}


@dataclass(frozen=True)
class Training:
    """The curve of one seed of a run, :data:`mbert_atlas.schemas.CURVES`."""

    run: str
    seed: int | None  # none: of an encoder, which has one
    curve: pd.DataFrame

    def at_chance(self) -> str | None:
        """Return why it is no better than guessing, empty if it is, none if that is unknown.

        With a development score, the 95% interval of the best one after training, each label
        counted as independent, reaches what the most frequent class or equal chances have. Else
        that of the mean loss of the last epoch, over its points, reaches the loss of guessing.
        """
        curve, last = self.curve, self.curve.iloc[-1]
        scores = curve.loc[curve["step"] > 0, "score"].dropna()
        if len(scores) and not math.isnan(last["majority"]):
            best, bar = scores.max(), np.nanmax([last["majority"], last["chance"]])
            error = math.sqrt(best * (100 - best) / last["labels"])
            words = f"development {label(last['metric'])} {best:.1f}, by guessing {bar:.1f}"
            return words if best - _Z * error <= bar else ""
        if math.isnan(last["guessing_loss"]):
            return None
        rows = curve[curve["epoch"] > last["epoch"] - 1]
        mean = np.average(
            rows["loss"], weights=curve["step"].diff().fillna(curve["step"])[rows.index]
        )
        error = rows["loss"].sem() if len(rows) > 1 else 0.0
        words = f"training loss {mean:.3g}, by guessing {last['guessing_loss']:.3g}"
        return words if mean + _Z * error >= last["guessing_loss"] else ""


@dataclass(frozen=True)
class Plot:
    """A quantity by epoch, for all seeds of a run."""

    name: str
    lines: list[tuple[str, bool]]  # points of a polyline; whether that seed is at chance
    references: dict[str, tuple[float, str]]  # by name: height, and number with its meaning
    ends: tuple[str, str]  # numbers at the bottom and the top
    words: str  # for readers who do not see it


@dataclass(frozen=True)
class Panel:
    """One run of a family."""

    run: str
    about: str  # what it does
    plots: list[Plot]
    epochs: str
    facts: str
    judged: int  # seeds that can be compared with guessing
    at_chance: dict[str, str]  # why, by seed


@dataclass(frozen=True)
class Family:
    """All runs of one entry of the config, or all encoders that were trained in one way."""

    name: str
    panels: list[Panel]

    @property
    def id(self) -> str:
        """The name as an anchor of a page."""
        return self.name.replace(" ", "-")

    @property
    def judged(self) -> int:
        """How many of its trainings can be compared with guessing."""
        return sum(panel.judged for panel in self.panels)

    @property
    def at_chance(self) -> int:
        """How many of its trainings are no better than guessing."""
        return sum(len(panel.at_chance) for panel in self.panels)


def families_of(record: Mapping[str, Any], paper: str = "") -> list[Family]:
    """Return the families behind the artifacts of a paper, or of all, in the record's order.

    The record is that of :func:`.provenance.read_trace`; the curves are files below its ``root``.
    """
    trainings = defaultdict[str, dict[str, list[Training]]](lambda: defaultdict(list))
    for family, run, seed, path in sorted(set(_files(record, paper)), key=_place):
        if path.is_file():
            curve = read_parquet(path, CURVES).to_pandas()
            trainings[family][run].append(Training(run, seed, curve))
    return [
        Family(name, _panels(runs, record.get("runs", {}) | record.get("encoders", {})))
        for name, runs in trainings.items()
    ]


def _place(item: tuple[str, str, int | None, Path]) -> tuple[str, str, int]:
    return item[0], item[1], item[2] or 0


def _files(record: Mapping[str, Any], paper: str) -> Iterator[tuple[str, str, int | None, Path]]:
    """Yield family, run, seed and curve of each training behind artifacts."""
    root = Path(record.get("root", ""))
    for key, item in record.get("artifacts", {}).items():
        if paper not in ("", key.partition("/")[0]):
            continue
        for encoder in item.get("encoders", ()):
            folder = root / "encoders" / encoder
            yield "pretraining", encoder, None, folder / "training.parquet"
            for path in folder.glob("head/seed*.training.parquet"):
                seed = int(path.name.removeprefix("seed").partition(".")[0])
                yield "language-model heads", encoder, seed, path
        for run, facts in item.get("runs", {}).items():
            family = record.get("families", {}).get(run, run)
            for seed in facts["seeds"]:
                yield family, run, seed, root / f"runs/{run}/seed{seed}/training.parquet"


def _panels(runs: Mapping[str, Sequence[Training]], about: Mapping[str, str]) -> list[Panel]:
    """Return the panels of a family's runs; the plots of a protocol have common scales."""
    highest = defaultdict[str, float](float)
    for run, seeds in runs.items():
        for one in seeds:
            most = np.nanmax(one.curve[["loss", "guessing_loss"]].to_numpy(float))
            highest[_protocol(run)] = max(highest[_protocol(run)], float(most))
    return [
        _panel(run, seeds, about.get(run, ""), highest[_protocol(run)])
        for run, seeds in runs.items()
    ]


def _protocol(run: str) -> str:
    """Return the protocol that a run's name ends with; losses of two may be of other size."""
    return next((name for name in PROTOCOLS if run.endswith(f".{name}")), "")


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _panel(run: str, seeds: Sequence[Training], about: str, highest: float) -> Panel:
    reasons = {f"seed {one.seed}" if one.seed else "": one.at_chance() for one in seeds}
    bad = [bool(reason) for reason in reasons.values()]
    last = [one.curve.iloc[-1] for one in seeds]
    epochs = max(row["epoch"] for row in last)
    plots = [_plot("loss", "loss", seeds, bad, epochs, highest, ["guessing_loss"])]
    if isinstance(metric := last[0]["metric"], str):
        name = f"development {label(metric)} (%)"
        plots.append(_plot("score", name, seeds, bad, epochs, 100.0, ["majority", "chance"]))
    whole = pd.concat([one.curve for one in seeds])
    facts = [f"{len(seeds)} seed{'s' if len(seeds) > 1 else ''}"] if seeds[0].seed else []
    facts += [f"learning rate up to {whole['learning_rate'].max():.2g}"]
    facts += [f"{whole['tokens_per_second'].median():,.0f} tokens per second"]
    return Panel(
        run=run,
        about=about,
        plots=plots,
        epochs=f"{epochs:g} epoch{'s' if epochs > 1 else ''}",
        facts=", ".join(facts),
        judged=sum(reason is not None for reason in reasons.values()),
        at_chance={name: reason for name, reason in reasons.items() if reason},
    )


def _plot(
    column: str,
    name: str,
    seeds: Sequence[Training],
    bad: Sequence[bool],
    epochs: float,
    highest: float,
    references: Sequence[str],
) -> Plot:
    def height(value: float) -> float:
        return round(HEIGHT * (1 - value / highest), 1)

    rows = [one.curve.dropna(subset=[column]) for one in seeds]
    points = [
        " ".join(
            f"{WIDTH * epoch / epochs:.1f},{height(value)}"
            for epoch, value in zip(curve["epoch"], curve[column], strict=True)
        )
        for curve in rows
    ]
    # Development examples, and so what is by guessing, are the same for all seeds, or nearly so.
    last = seeds[0].curve.iloc[-1]
    values = {key: float(last[key]) for key in references if not math.isnan(last[key])}
    ends = ", ".join(
        f"{_number(curve[column].iloc[0])} to {_number(curve[column].iloc[-1])}" for curve in rows
    )
    by_guessing = "".join(f"; {value:.3g}: {_LINES[key]}" for key, value in values.items())
    return Plot(
        name=name,
        lines=list(zip(points, bad, strict=True)),
        references={
            key: (height(value), f"{value:.3g}: {_LINES[key]}") for key, value in values.items()
        },
        ends=("0", _number(highest)),
        words=f"{name} of {seeds[0].run}, first to last: {ends}{by_guessing}",
    )


def write_training(
    families: Sequence[Family], output: Path, *, setting: Setting, part: str = ""
) -> None:
    """Write the page with the curves of all trainings behind a run's tables and figures.

    ``part`` is the part of the run that is shown, if not all; an AtlasError if the disk is full.
    """
    facts = provenance(setting)
    render("training.html.j2", output, setting, families=families, part=part, provenance=facts)
