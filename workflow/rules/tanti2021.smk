# tanti2021, language-specificity: which runs its artifacts show, and its targets.


def tagging_cells():
    """Every prediction file of the fine-tuned tagger."""
    run = RUNS.get(CONFIG.tanti2021.tagging, None, "published")
    return [
        {"seed": seed, "path": f"<results>/runs/{run.id}/seed{seed}/predictions.parquet"}
        for seed in run.seeds
    ]


def probe_cells():
    """Every prediction file of the language identification probe."""
    paper = CONFIG.tanti2021
    return [
        {
            "protocol": protocol,
            "seed": seed,
            "path": f"<results>/probes/{paper.representation}/{protocol}/seed{seed}.parquet",
        }
        for protocol in paper.probe
        for seed in paper.seeds or CONFIG.seeds
    ]


MEASUREMENTS["tanti2021"] = [
    "<results>/measurements/tanti2021/table1_udpos.csv",
    "<results>/measurements/tanti2021/languages.csv",
]
TABLES["tanti2021"] = ["table1", "figure4"]
ARTIFACTS["tanti2021"] = {
    "table1": [
        "<results>/tables/tanti2021/table1.html",
        "<results>/figures/tanti2021/table1_udpos.svg",
    ],
    "figure4": [
        "<results>/tables/tanti2021/figure4.html",
        "<results>/figures/tanti2021/figure4e.svg",
    ],
}


rule tanti2021_table1:
    input:
        ARTIFACTS["tanti2021"]["table1"],


rule tanti2021_figure4:
    input:
        ARTIFACTS["tanti2021"]["figure4"],


rule tanti2021:
    input:
        artifacts("tanti2021"),
