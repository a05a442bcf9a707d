from atlas_job import run


def main(snakemake):
    from mbert_atlas.analysis.measurements import write_measurements
    from mbert_atlas.analysis.scores import tag_scores
    from mbert_atlas.files import read_parquet
    from mbert_atlas.schemas import TAG_PREDICTIONS

    # The authors score spans of bare tags; a token score is what the field would report.
    of_protocol = {"published": "span_macro_f1", "corrected": "token_macro_f1_present"}
    rows = []
    for cell, path in zip(snakemake.params.cells, snakemake.input, strict=True):
        scores = tag_scores(read_parquet(path, TAG_PREDICTIONS))
        for score in scores.to_dict("records"):
            target = "" if score["language"] == "all" else score["language"]
            common = {"target": target, "seed": cell["seed"], "n": score["n"]}
            for protocol, metric in of_protocol.items():
                if score["metric"] == metric:
                    measured = {"metric": "macro_f1_label", "value": score["value"]}
                    rows.append({**common, **measured, "protocol": protocol})
                if score["metric"] == "token_accuracy":
                    measured = {"metric": "accuracy", "value": score["value"]}
                    rows.append({**common, **measured, "protocol": protocol})
    write_measurements(
        rows,
        snakemake.output[0],
        paper="tanti2021",
        artifact="table1",
        task="udpos",
        model="mbert",
        condition="fine_tuned",
    )


run(main, snakemake)
