from atlas_job import run


def main(snakemake):
    from mbert_atlas.analysis.measurements import write_measurements
    from mbert_atlas.analysis.scores import class_scores
    from mbert_atlas.files import read_json, read_parquet
    from mbert_atlas.schemas import CLASS_PREDICTIONS

    names = {
        "macro_f1_union": "macro_f1_language_wikipedia",
        "accuracy": "accuracy_language_wikipedia",
    }
    rows = []
    for cell, path in zip(snakemake.params.cells, snakemake.input.predictions, strict=True):
        scores = class_scores(read_parquet(path, CLASS_PREDICTIONS))
        rows += [
            {
                "artifact": "table1",
                "metric": names[score["metric"]],
                "value": score["value"],
                "protocol": cell["protocol"],
                "seed": cell["seed"],
                "n": score["n"],
            }
            for score in scores.to_dict("records")
            if score["language"] == "all" and score["metric"] in names
        ]
    clusters = read_json(snakemake.input.clusters)["language"]
    for metric in ("v_measure", "ami", "v_measure_chance"):
        rows += [
            {
                "artifact": "figure4",
                "metric": f"{metric}_language_wikipedia",
                "value": 100 * clusters[metric],
                "protocol": protocol,
                "n": clusters["n"],
            }
            for protocol in ("published", "corrected")
        ]
    write_measurements(
        rows,
        snakemake.output[0],
        paper="tanti2021",
        task="xnli",
        model="mbert",
        condition="initial",
    )


run(main, snakemake)
