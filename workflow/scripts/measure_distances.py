from pathlib import Path

from atlas_job import run

SHARES = {
    f"top_{count}_dimensions_share": f"l2_share_top{count}_dims_percent" for count in (10, 100)
}


def main(snakemake):
    from collections import defaultdict

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
        if panel in snakemake.params.panels
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
    # Section 5.4 speaks of all NLI models together; only Figure 2 shows them all.
    shares = defaultdict(list)
    for row in rows if snakemake.wildcards.artifact == "figure2" else ():
        if row["condition"].endswith("nli") and row["metric"] in SHARES:
            shares[SHARES[row["metric"]], row["protocol"], row["seed"]].append(row["value"])
    rows += [
        {
            "artifact": "section5.4",
            "task": "xnli",
            "condition": "all",
            "metric": metric,
            "value": sum(values) / len(values),
            "protocol": protocol,
            "seed": seed,
            "n": len(values),
        }
        for (metric, protocol, seed), values in shares.items()
    ]
    common = {"artifact": snakemake.wildcards.artifact, "task": "word_distance"}
    write_measurements(
        [common | row for row in rows],
        snakemake.output[0],
        paper="efimov2022",
        model=snakemake.params.model,
        source="en",
    )


run(main, snakemake)
