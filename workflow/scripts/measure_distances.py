from pathlib import Path

from atlas_job import run


def main(snakemake):
    from mbert_atlas.analysis.measurements import write_measurements
    from mbert_atlas.files import read_json

    shown = ("ratio", "auc", "mean_related", "mean_unrelated", "top_10_share", "top_100_share")
    rows = [
        {
            "condition": panel,
            "target": Path(path).parent.name,
            "metric": metric,
            "value": summary[metric],
            "protocol": protocol,
            "seed": int(Path(path).stem.removeprefix("seed")),
            "n": summary["pairs"],
        }
        for path in snakemake.input
        for key, summary in read_json(path).items()
        for panel, protocols in [key.split(":")]
        for protocol in protocols.split("+")
        for metric in shown
    ]
    write_measurements(
        rows,
        snakemake.output[0],
        paper="efimov2022",
        artifact="figure1",
        task="word_distance",
        model=snakemake.params.model,
        source="en",
    )


run(main, snakemake)
