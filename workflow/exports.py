"""What an export of a finished run needs of the run's config."""

from pathlib import Path
from typing import Any

from mbert_atlas import papers
from mbert_atlas.config.reading import read_yaml
from mbert_atlas.errors import DataError
from mbert_atlas.export.folder import export
from mbert_atlas.export.results import load_results
from mbert_atlas.figures.style import figure_style
from mbert_atlas.languages import Languages
from mbert_atlas.scorecard.intervals import draw
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
    # It is the whole config; the presets under it would bring back what it has removed.
    values = {key: value for key, value in read_yaml(file).items() if key != "exact_dumps"}
    config = papers.read_config(values, languages=[each.code for each in languages])
    plan = Parameters(config, languages)

    def drawn(name: str, root: Path) -> Any:
        inputs = [root / path.removeprefix("<results>/") for path in plan.inputs("figures", name)]
        if not all(map(Path.exists, inputs)):
            return None
        also = plan.intervals_of(name), plan.reported_beside(name)
        return draw(plan.drawing(name), list(map(str, inputs)), *also)

    with figure_style(plan.config.figure_style):
        setting = Setting(**plan.setting(paper))
        export(run, paper, output, plan=plan.papers[paper], setting=setting, draw=drawn)
