from pathlib import Path

from workflow.scripts.atlas_job import Snakemake, run


def main(snakemake: Snakemake) -> None:
    from mbert_atlas.cells import with_files
    from mbert_atlas.figures.style import save_figure
    from mbert_atlas.registry import resolve

    params = snakemake.params
    reported = {"reported": params.reported["path"]} if params.reported else {}
    cells = with_files(params.cells, snakemake.input)
    figure = resolve(params.draw)(cells, **params.options, **reported)
    save_figure(figure, Path(snakemake.output[0]).with_suffix(""))


run(main, snakemake)
