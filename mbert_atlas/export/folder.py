"""The folder of an export: LaTeX, PDF, CSV, and a page that prints to one sheet."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from PIL import Image

from mbert_atlas.errors import DataError
from mbert_atlas.export import latex
from mbert_atlas.export.results import GUIDE, FinishedRun
from mbert_atlas.files import atomic_directory
from mbert_atlas.labels import label
from mbert_atlas.plan.records import PaperPlan
from mbert_atlas.scorecard.cells import write_csv
from mbert_atlas.scorecard.counts import count_verdicts, finding, headlines
from mbert_atlas.scorecard.rules import Contrast
from mbert_atlas.scorecard.templates import Setting, artifact_name, render
from mbert_atlas.scorecard.views import claim_views

Draw = Callable[[str, Path], Any]
"""Returns a figure of matplotlib by its name and the folder of the results, or None."""
_MARK = "claims.tex"  # a folder with it is an export, which another one replaces
_PDF = {"metadata": {"CreationDate": None, "Creator": None}}


def export(
    run: FinishedRun, paper: str, output: Path, *, plan: PaperPlan, setting: Setting, draw: Draw
) -> None:
    """Write tables, claims, figures, numbers and a summary of a paper to a folder.

    Of a figure that cannot be drawn, as the files behind it are not in a published copy, the PNG is
    put into a PDF. Raises a DataError if there is no such paper, nothing of it was run, or
    ``output`` is a folder that is no export.
    """
    if not (artifacts := run.artifacts(paper)):
        problem = f"nothing of {paper} was run"
        raise DataError(run.results.folder, "", problem, "run one of its targets")
    if output.exists() and not (output / _MARK).is_file():
        problem = f"the folder has no {_MARK}, so it is no export, and would be replaced"
        raise DataError(output, "", problem, "name another folder")
    claims = run.claims(paper)
    frames = {name: run.artifact(paper, name) for name in artifacts}
    contrasts = [Contrast(*contrast) for contrast in plan.contrasts]
    labels = {name: setting.labels(f"{paper}/{name}", contrasts) for name in artifacts}
    titles = {
        each.name: f"{artifact_name(each.name)} of {paper}, run “{setting.run_name}”: {each.title}"
        for each in plan.artifacts
        if each.tables
    }
    with atomic_directory(output) as copy:
        for name in ("tables", "figures", "data"):
            (copy / name).mkdir()
        for name, frame in (frames | {"claims": claims}).items():
            write_csv(frame, copy / f"data/{name}.csv")
        tables = dict(latex.tables(run, paper, titles, labels, contrasts))
        drawn = _write_figures(run, paper, plan, draw, copy / "figures")
        texts = {f"tables/{name}.tex": text for name, text in tables.items()}
        texts[_MARK] = latex.claim_macros(claims)
        texts["preview.tex"] = latex.preview([*tables], [*drawn], claims, plan.title)
        for name, text in texts.items():
            (copy / name).write_text(text, encoding="utf-8")
        used = {column for frame in frames.values() for column in frame}
        conditions = {
            name: label(name, labels[artifact].conditions)
            for artifact, frame in frames.items()
            for name in frame.get("condition", ())
            if name
        }
        render(
            "export.md.j2",
            copy / "README.md",
            setting,
            package="mbert_atlas.export",
            paper=paper,
            pictures=not all(drawn.values()),
            columns={name: text for name, text in GUIDE.items() if name in used},
            conditions=conditions,
        )
        _write_summary(run, paper, plan, setting, copy / "summary.html")


def _write_figures(
    run: FinishedRun, paper: str, plan: PaperPlan, draw: Draw, folder: Path
) -> Mapping[str, bool]:
    """Write PDF files; return whether each figure was drawn, else it is a picture."""
    drawn = {}
    for name in [figure.name for each in plan.artifacts for figure in each.figures]:
        picture = run.results.root / f"figures/{paper}/{name}.png"
        if figure := draw(f"{paper}/{name}", run.results.root):
            figure.savefig(folder / f"{name}.pdf", **_PDF)
            drawn[name] = True
        elif picture.is_file():
            Image.open(picture).convert("RGB").save(folder / f"{name}.pdf", resolution=130)
            drawn[name] = False
    return drawn


def _write_summary(
    run: FinishedRun, paper: str, plan: PaperPlan, setting: Setting, output: Path
) -> None:
    claims = run.claims(paper)
    pictures = [
        (each, path)
        for each in sorted(plan.artifacts, key=lambda each: each.highlight)
        for figure in each.figures
        for path in [run.results.root / f"figures/{paper}/{figure.name}.svg"]
        if path.with_suffix(".png").is_file()
    ]
    render(
        "summary.html.j2",
        output,
        setting,
        package="mbert_atlas.export",
        title=plan.title,
        finding=finding(claims),
        views=claim_views(headlines(claims), setting),
        counts=count_verdicts(claims),
        picture=pictures[-1] if pictures else None,  # of a highlight, by the protocol `corrected`
        facts=run.results.facts,
    )
