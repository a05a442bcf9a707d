# efimov2022, cross-lingual adjustment: its artifacts and targets; the runs behind them are in cells.smk.


MEASUREMENTS["efimov2022"] = [
    f"<results>/measurements/efimov2022/{artifact}.csv"
    for artifact in ["table1", *CONFIG.efimov2022.tables, *CONFIG.efimov2022.figures]
]
TABLES["efimov2022"] = {
    artifact: [f"<results>/measurements/efimov2022/{artifact}.csv"]
    for artifact in ["table1", *CONFIG.efimov2022.tables]
}
ARTIFACTS["efimov2022"] = {
    "figure1": expand(
        "<results>/figures/efimov2022/figure1.{language}.{protocol}.svg",
        language=CONFIG.efimov2022.figures["figure1"].languages,
        protocol=PROTOCOLS,
    ),
    "figure2": expand("<results>/figures/efimov2022/figure2.{protocol}.svg", protocol=PROTOCOLS),
    "table1": ["<results>/tables/efimov2022/table1.html"],
    **{
        artifact: [
            f"<results>/tables/efimov2022/{artifact}.html",
            f"<results>/figures/efimov2022/{artifact}.svg",
        ]
        for artifact in CONFIG.efimov2022.tables
    },
}


rule efimov2022_figure1:
    input:
        ARTIFACTS["efimov2022"]["figure1"],


rule efimov2022_figure2:
    input:
        ARTIFACTS["efimov2022"]["figure2"],


rule efimov2022_table1:
    input:
        ARTIFACTS["efimov2022"]["table1"],


rule efimov2022_table2:
    input:
        ARTIFACTS["efimov2022"]["table2"],


rule efimov2022_table3:
    input:
        ARTIFACTS["efimov2022"]["table3"],


rule efimov2022_table4:
    input:
        ARTIFACTS["efimov2022"]["table4"],


rule efimov2022_table5:
    input:
        ARTIFACTS["efimov2022"]["table5"],


rule efimov2022_table6:
    input:
        ARTIFACTS["efimov2022"]["table6"],


rule efimov2022_table7:
    input:
        ARTIFACTS["efimov2022"]["table7"],


rule efimov2022_table8:
    input:
        ARTIFACTS["efimov2022"]["table8"],


rule efimov2022_table9:
    input:
        ARTIFACTS["efimov2022"]["table9"],


rule efimov2022:
    input:
        artifacts("efimov2022"),
