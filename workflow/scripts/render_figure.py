from pathlib import Path
from typing import Any

from workflow.job import set_up

with set_up(snakemake):
    from mbert_atlas.cells import with_files
    from mbert_atlas.figures.style import figure_style, save_figure
    from mbert_atlas.registry import resolve

    params, drawn = snakemake.params, snakemake.params.drawn
    also: dict[str, Any] = {"reported": params.reported["path"]} if params.reported else {}
    cells = with_files(drawn["cells"], snakemake.input)
    if params.intervals:  # of all numbers that the figure may show
        from mbert_atlas.scorecard.claims import Claims
        from mbert_atlas.scorecard.intervals import measured_intervals

        stated = {params.intervals["paper"]: Claims(claims={}, **params.intervals["about"])}
        files = cells[0].paths
        measurement, resamples = Path(files.get("scores", cells[0].path)), Path(files["resamples"])
        languages = params.intervals["languages"]
        also["intervals"] = measured_intervals(measurement, resamples, stated, languages)
    with figure_style(params.style and params.style["path"]):
        figure = resolve(drawn["function"])(cells, **drawn["options"], **also)
        save_figure(figure, snakemake.output[0].with_suffix(""), params.caption)
