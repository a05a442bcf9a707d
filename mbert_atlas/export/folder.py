"""The folder of an export: LaTeX, PDF, CSV, and a page that prints to one sheet."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from PIL import Image

from mbert_atlas.errors import DataError
from mbert_atlas.export import latex
from mbert_atlas.export.results import GUIDE, FinishedRun
from mbert_atlas.figures.style import figure_style
from mbert_atlas.files import atomic_directory
from mbert_atlas.labels import label
from mbert_atlas.scorecard.cells import write_csv
from mbert_atlas.scorecard.rules import Contrast
from mbert_atlas.scorecard.templates import Setting, artifact_name, render
from mbert_atlas.scorecard.views import claim_views, count_verdicts, finding, headlines

_MARK = "claims.tex"  # a folder with it is an export, which another one replaces
_PDF = {"metadata": {"CreationDate": None, "Creator": None}}


@dataclass(frozen=True)
class Shown:
    """What a paper shows, by the config of a run."""

    title: str
    setting: Setting
    contrasts: Sequence[Contrast]
    titles: Mapping[str, str]  # by artifact
    tables: Sequence[str]  # artifacts with a table
    highlights: Sequence[str]  # artifacts that stand for the paper
    # By name: the artifact, the files behind it below the results folder, and how it is drawn.
    figures: Mapping[str, tuple[str, Sequence[str], Callable[[Sequence[str]], Any]]]
    style: Path | None = None  # style sheet of matplotlib


def export(run: FinishedRun, paper: str, output: Path, shown: Shown) -> None:
    """Write tables, claims, figures, numbers and a summary of a paper to a folder.

    Figures are rendered as PDF where the files behind them are in the results; else, as in a
    published copy, the PNG is put into a PDF. Raises a DataError as :meth:`.FinishedRun.artifacts`,
    or if ``output`` is a folder that is no export.
    """
    artifacts, folder = run.artifacts(paper), run.results.folder
    if not artifacts:
        problem = f"nothing of {paper} was run"
        raise DataError(folder, "", problem, "run one of its targets")
    if output.exists() and not (output / _MARK).is_file():
        problem = f"the folder has no {_MARK}, so it is no export, and would be replaced"
        raise DataError(output, "", problem, "name another folder")
    claims = run.claims(paper)
    labels = {name: shown.setting.labels(f"{paper}/{name}", shown.contrasts) for name in artifacts}
    with atomic_directory(output) as copy:
        for name in ("tables", "figures", "data"):
            (copy / name).mkdir()
        frames = {name: run.artifact(paper, name) for name in artifacts}
        for name, frame in frames.items():
            write_csv(frame, copy / f"data/{name}.csv")
        write_csv(claims, copy / "data/claims.csv")
        titles = {
            name: f"{artifact_name(name)} of {paper} in run “{run.results.facts['run']}”: "
            f"{shown.titles[name]}"
            for name in shown.tables
            if name in artifacts
        }
        tables = dict(latex.tables(run, paper, titles, labels, shown.contrasts))
        texts = {f"tables/{name}.tex": text for name, text in tables.items()}
        drawn, pictures = _write_figures(run, paper, shown, copy / "figures")
        texts[_MARK] = latex.claim_macros(claims)
        figures = [*drawn, *pictures]
        texts["preview.tex"] = latex.preview([*tables], figures, claims, shown.title)
        _write_guide(paper, shown, frames, pictures, copy / "README.md")
        for name, text in texts.items():
            (copy / name).write_text(text, encoding="utf-8")
        _write_summary(run, paper, shown, copy / "summary.html")


def _write_figures(
    run: FinishedRun, paper: str, shown: Shown, folder: Path
) -> tuple[list[str], list[str]]:
    """Write PDF files; return the names of figures that were drawn, and of copied pictures."""
    drawn, pictures = [], []
    for name, (_, files, draw) in shown.figures.items():
        paths = [run.results.root / file for file in files]
        picture = run.results.root / f"figures/{paper}/{name}.png"
        if all(map(Path.exists, paths)):
            with figure_style(shown.style):
                draw(list(map(str, paths))).savefig(folder / f"{name}.pdf", **_PDF)
            drawn.append(name)
        elif picture.is_file():
            Image.open(picture).convert("RGB").save(folder / f"{name}.pdf", resolution=130)
            pictures.append(name)
    return drawn, pictures


def _write_guide(
    paper: str,
    shown: Shown,
    frames: Mapping[str, pd.DataFrame],
    pictures: Sequence[str],
    output: Path,
) -> None:
    used = {column for frame in frames.values() for column in frame}
    names = [
        (condition, label(condition, shown.setting.labels(f"{paper}/{artifact}").conditions))
        for artifact, frame in frames.items()
        if "condition" in frame
        for condition in frame["condition"].unique()
        if condition
    ]
    render(
        "export.md.j2",
        output,
        shown.setting,
        package="mbert_atlas.export",
        paper=paper,
        pictures=pictures,
        columns={name: text for name, text in GUIDE.items() if name in used},
        conditions=dict(names),
    )


def _write_summary(run: FinishedRun, paper: str, shown: Shown, output: Path) -> None:
    claims = run.claims(paper)
    paths = [
        (artifact not in shown.highlights, path, artifact)
        for name, (artifact, *_) in shown.figures.items()
        for path in [run.results.root / f"figures/{paper}/{name}.svg"]
        if path.with_suffix(".png").is_file()
    ]
    # Of the highlights the last one, which is that of `corrected`, if any was drawn.
    first = min((is_other for is_other, *_ in paths), default=False)
    figure = next((each[1:] for each in reversed(paths) if each[0] == first), None)
    render(
        "summary.html.j2",
        output,
        shown.setting,
        package="mbert_atlas.export",
        title=shown.title,
        finding=finding(claims),
        views=claim_views(headlines(claims), shown.setting),
        counts=count_verdicts(claims),
        figure=figure,
        figure_of=shown.titles.get(figure[1], "") if figure else "",
        facts=run.results.facts,
    )
