# efimov2022, cross-lingual adjustment: its artifacts and targets; the runs behind them are in cells.smk.


MEASUREMENTS["efimov2022"] = [
    "<results>/measurements/efimov2022/table2.csv",
    "<results>/measurements/efimov2022/figure1.csv",
]
TABLES["efimov2022"] = {"table2": ["<results>/measurements/efimov2022/table2.csv"]}
ARTIFACTS["efimov2022"] = {
    "figure1": expand(
        "<results>/figures/efimov2022/figure1.{language}.{protocol}.svg",
        language=figure1_languages(),
        protocol=PROTOCOLS,
    ),
    "table2": [
        "<results>/tables/efimov2022/table2.html",
        "<results>/figures/efimov2022/table2.svg",
    ],
}


rule efimov2022_figure1:
    input:
        ARTIFACTS["efimov2022"]["figure1"],


rule efimov2022_table2:
    input:
        ARTIFACTS["efimov2022"]["table2"],


rule efimov2022:
    input:
        artifacts("efimov2022"),
