"""Jobs of the rules in `workflow/rules/artifacts.smk`."""

from pathlib import Path
from typing import Any

from workflow.job import Snakemake
from workflow.jobs.report import compared


def measure(snakemake: Snakemake) -> None:
    from mbert_atlas.analysis.measurements import write_measurements
    from mbert_atlas.cells import with_files
    from mbert_atlas.registry import resolve

    params = snakemake.params
    rows = resolve(params.measure)(with_files(params.cells, snakemake.input), **params.options)
    write_measurements(rows, snakemake.output[0], **params.columns)


def render_figure(snakemake: Snakemake) -> None:
    from mbert_atlas.cells import with_files
    from mbert_atlas.figures.style import figure_style, save_figure
    from mbert_atlas.registry import resolve

    params = snakemake.params
    also: dict[str, Any] = {"reported": params.reported["path"]} if params.reported else {}
    cells = with_files(params.cells, snakemake.input)
    if params.intervals:  # of all numbers that the figure may show
        from mbert_atlas.scorecard.claims import Claims
        from mbert_atlas.scorecard.intervals import measured_intervals

        stated = {params.intervals["paper"]: Claims(claims={}, **params.intervals["about"])}
        files = cells[0].paths
        measurement, resamples = Path(files.get("scores", cells[0].path)), Path(files["resamples"])
        languages = params.intervals["languages"]
        also["intervals"] = measured_intervals(measurement, resamples, stated, languages)
    with figure_style(params.style and params.style["path"]):
        figure = resolve(params.draw)(cells, **params.options, **also)
        save_figure(figure, Path(snakemake.output[0]).with_suffix(""), params.caption)


def render_table(snakemake: Snakemake) -> None:
    from mbert_atlas.files import read_json
    from mbert_atlas.scorecard.tables import write_tables
    from mbert_atlas.scorecard.templates import Setting, artifact_name

    params = snakemake.params
    setting = Setting(**params.setting)
    frame, contrasts = compared(snakemake)
    write_tables(
        frame[(frame["paper"] == params.paper) & (frame["artifact"] == params.artifact)],
        title=f"{artifact_name(params.artifact)} of {params.title}",
        labels=setting.labels(f"{params.paper}/{params.artifact}", contrasts[params.paper]),
        setting=setting,
        csv_path=Path(snakemake.output.csv),
        html_path=Path(snakemake.output.html),
        library=Path(snakemake.input.library[0]).parent,
        facts=read_json(Path(snakemake.input.facts)) if snakemake.input.facts else params.facts,
    )
