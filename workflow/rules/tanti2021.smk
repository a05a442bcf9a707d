# tanti2021, language-specificity: its artifacts and targets; the runs behind them are in cells.smk.


MEASUREMENTS["tanti2021"] = [
    "<results>/measurements/tanti2021/table1_udpos.csv",
    "<results>/measurements/tanti2021/languages.csv",
]
TABLES["tanti2021"] = {
    "table1": MEASUREMENTS["tanti2021"],
    "figure4": ["<results>/measurements/tanti2021/languages.csv"],
}
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
