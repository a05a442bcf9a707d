from pathlib import Path

from atlas_job import run


def main(snakemake):
    import pandas as pd

    from mbert_atlas.figures.distances import distance_histograms
    from mbert_atlas.figures.style import save_figure

    frames = []
    for path in snakemake.input:
        frame = pd.read_parquet(path)
        frame[["panel", "protocols"]] = frame["panel"].str.split(":", expand=True)
        frame["seed"] = int(Path(path).stem.removeprefix("seed"))
        frames.append(frame[frame["protocols"].str.contains(snakemake.wildcards.protocol)])
    titles = {
        panel: panel.replace("_", ", then ").replace("-", " ") for panel in snakemake.params.panels
    }
    shown = pd.concat(frames)
    figure = distance_histograms(
        shown.assign(panel=shown["panel"].map(titles)),
        title=f"{snakemake.params.name} and English, last layer, {snakemake.wildcards.protocol}",
        panels=list(titles.values()),
    )
    save_figure(figure, Path(snakemake.output[0]).with_suffix(""))


run(main, snakemake)
