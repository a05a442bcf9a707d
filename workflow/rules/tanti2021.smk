# tanti2021, language-specificity: its artifacts and targets; the runs behind them are in cells.smk.


SEARCHED = ["table5"] if all(map(RUNS.draws, searched_families())) else []
"""What needs the search."""
TABLES["tanti2021"] = {
    **{
        table: [
            f"<results>/measurements/tanti2021/{table}_{task}.csv" for task in ("udpos", "xnli")
        ]
        for table in ("table1", "table2", "table3")
    },
    **{table: [f"<results>/measurements/tanti2021/{table}.csv"] for table in SEARCHED},
    "figure3": ["<results>/measurements/tanti2021/figure3_udpos.csv"],
    "figure4": ["<results>/measurements/tanti2021/figure4_xnli.csv"],
    "appendixA": ["<results>/measurements/tanti2021/appendixA.csv"],
    "appendixB": ["<results>/measurements/tanti2021/appendixB.csv"],
}
MEASUREMENTS["tanti2021"] = [path for paths in TABLES["tanti2021"].values() for path in paths]
ARTIFACTS["tanti2021"] = {
    artifact: [
        *(
            [f"<results>/tables/tanti2021/{artifact}.html"]
            if artifact in TABLES["tanti2021"]
            else []
        ),
        *figures,
    ]
    for artifact, figures in {
        **{
            table: [f"<results>/figures/tanti2021/{table}_{task}.svg" for task in ("udpos", "xnli")]
            for table in ("table1", "table2")
        },
        "table3": [],
        **dict.fromkeys(SEARCHED, []),
        **{
            figure: [
                f"<results>/figures/tanti2021/{figure}.{protocol}.svg" for protocol in PROTOCOLS
            ]
            for figure in PROJECTIONS
        },
        "appendixA": [],
        "appendixB": [],
    }.items()
}


rule tanti2021_table1:
    input:
        ARTIFACTS["tanti2021"]["table1"],


rule tanti2021_table2:
    input:
        ARTIFACTS["tanti2021"]["table2"],


rule tanti2021_table3:
    input:
        ARTIFACTS["tanti2021"]["table3"],


if SEARCHED:

    rule tanti2021_table5:
        input:
            ARTIFACTS["tanti2021"]["table5"],


rule tanti2021_figure3:
    input:
        ARTIFACTS["tanti2021"]["figure3"],


rule tanti2021_figure4:
    input:
        ARTIFACTS["tanti2021"]["figure4"],


rule tanti2021_figure5:
    input:
        ARTIFACTS["tanti2021"]["figure5"],


rule tanti2021_figure6:
    input:
        ARTIFACTS["tanti2021"]["figure6"],


rule tanti2021_appendices:
    input:
        [ARTIFACTS["tanti2021"][artifact] for artifact in ("appendixA", "appendixB")],


rule tanti2021:
    input:
        artifacts("tanti2021"),
