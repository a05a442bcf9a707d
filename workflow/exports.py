"""What an export of a finished run needs of the run's config."""

from functools import partial
from pathlib import Path
from typing import Any

from mbert_atlas import papers
from mbert_atlas.errors import DataError
from mbert_atlas.export.folder import Shown, export
from mbert_atlas.export.results import load_results
from mbert_atlas.languages import Languages
from mbert_atlas.scorecard.intervals import draw
from mbert_atlas.scorecard.rules import Contrast
from mbert_atlas.scorecard.templates import Setting
from workflow.parameters import Parameters


def export_run(folder: Path, paper: str, output: Path) -> None:
    """Write an export, see :func:`mbert_atlas.export.folder.export`.

    Raises a DataError if the folder has no ``config.yaml``, or one that this version cannot read.
    """
    run = load_results(folder)
    run.artifacts(paper)  # names the papers if there is no such one
    if not (file := folder / "config.yaml").is_file():
        fix = "run the target `all` or `highlights` to its end, which writes it"
        raise DataError(folder, "", "there is no config.yaml", fix)
    languages = Languages.read("resources/languages.csv")
    config = papers.load([file], languages=[item.code for item in languages])
    export(run, paper, output, _shown(Parameters(config, languages), paper))


def _shown(plan: Parameters, paper: str) -> Shown:
    of_paper = plan.papers[paper]
    style = plan.config.figure_style
    return Shown(
        of_paper.title,
        Setting(**plan.setting(paper)),
        [Contrast(*contrast) for contrast in of_paper.contrasts],
        titles={each.name: each.title for each in of_paper.artifacts},
        tables=[each.name for each in of_paper.artifacts if each.tables],
        highlights=[each.name for each in of_paper.artifacts if each.highlight],
        figures={
            figure.name: (
                artifact.name,
                [file.removeprefix("<results>/") for file in plan.inputs("figures", name)],
                partial(_draw, plan, name),
            )
            for artifact in of_paper.artifacts
            for figure in artifact.figures
            for name in [f"{paper}/{figure.name}"]
        },
        style=Path(style) if style else None,
    )


def _draw(plan: Parameters, name: str, files: list[str]) -> Any:
    reported = plan.reported_beside(name)
    also = {"reported": reported["path"]} if reported else {}
    return draw(plan.drawing(name), files, plan.intervals_of(name), **also)
