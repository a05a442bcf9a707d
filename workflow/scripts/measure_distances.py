from pathlib import Path

from atlas_job import run


def main(snakemake):
    from mbert_atlas.analysis.measurements import write_measurements
    from mbert_atlas.files import read_json

    rows = [
        {
            "condition": panel,
            "target": Path(path).parent.name,
            "metric": metric,
            "value": value,
            "protocol": protocol,
            "seed": int(Path(path).stem.removeprefix("seed")),
            "n": summary["related"]["n"],
        }
        for path in snakemake.input
        for name, summary in read_json(path).items()
        for panel, protocols in [name.split(":")]
        for protocol in protocols.split("+")
        for metric, value in {
            "mean_ratio": summary["mean_ratio"],
            "separation_auc": summary["separation_auc"],
            "mean_distance_related": summary["related"]["mean"],
            "mean_distance_unrelated": summary["unrelated"]["mean"],
            "top_10_dimensions_share": 100 * summary["squared_distance_share"]["top10"]["all"],
            "top_100_dimensions_share": 100 * summary["squared_distance_share"]["top100"]["all"],
        }.items()
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
