from pathlib import Path

from workflow.scripts.atlas_job import run


def main(snakemake):
    from mbert_atlas.analysis.measurements import read_measurements
    from mbert_atlas.figures.curves import curve_plot
    from mbert_atlas.figures.style import save_figure
    from mbert_atlas.papers.liang2021.figures import LAYOUTS, NAMES, shown

    artifact, protocol = snakemake.wildcards.artifact, snakemake.wildcards.protocol
    figure = curve_plot(
        shown(read_measurements(snakemake.input[0]), artifact, protocol),
        title=f"{snakemake.params.title}, {protocol}",
        names=NAMES,
        order=[*NAMES, *snakemake.params.sets],
        **LAYOUTS[artifact],
    )
    save_figure(figure, Path(snakemake.output[0]).with_suffix(""))


run(main, snakemake)
