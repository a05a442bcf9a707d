"""Two papers made up of numbers that two real ones report, and their scorecard."""

from pathlib import Path
from typing import Any

import pandas as pd

from mbert_atlas.schemas import MEASUREMENT_COLUMNS
from mbert_atlas.scorecard import rules
from mbert_atlas.scorecard.cells import KEY
from mbert_atlas.scorecard.compare import compare

NAMES = {"en": "English", "es": "Spanish", "ru": "Russian", "vi": "Vietnamese", "hi": "Hindi"}
ORIGINAL = "adjusting2020,table2,xnli,mbert,original,en,{},,accuracy"
ADJUSTED = "adjusting2020,table2,xnli,mbert,adjusted,en,{},,accuracy"
CONTINUAL = "adjusting2020,table2,xnli,mbert,continual,en,{},,accuracy"
GAIN = "adjusting2020,table5,xnli,mbert,adjusted,en,ru,,gain_over_original"
TABLE2 = {
    ORIGINAL: {"es": 74.2, "ru": 67.95, "vi": 69.58, "hi": 59.03},
    ADJUSTED: {"es": 74.82, "ru": 69.45, "vi": 70.88, "hi": 61.54},
    CONTINUAL: {"es": 75.89, "ru": 71.26, "vi": 72.79, "hi": 63.9},
}
ADJUSTING = [
    *(f"{cell.format(code)},{n}" for cell, row in TABLE2.items() for code, n in row.items()),
    *(f"{ADJUSTED.format(code)}_significant_vs_original,1" for code in TABLE2[ADJUSTED]),
    *(f"{CONTINUAL.format(code)}_significant_vs_adjusted,1" for code in TABLE2[CONTINUAL]),
    "adjusting2020,table3,ner,mbert,original,en,es,,token_f1,73.4",
    "adjusting2020,table3,ner,mbert,adjusted,en,es,,token_f1,73.28",
    "adjusting2020,table3,ner,mbert,continual,en,es,,token_f1,72.71",
    "adjusting2020,table3,ner,mbert,continual,en,es,,token_f1_significant_vs_adjusted,1",
    "adjusting2020,table3,ner,mbert,adjusted,en,hi,,token_f1,67.0",
    "adjusting2020,table3,ner,mbert,adjusted,en,hi,,token_f1_significant_vs_original,1",
    f"{GAIN},1.5",
    "adjusting2020,table9,ner,embert,original,en,hi,,token_f1,65.12",
    "adjusting2020,table9,ner,embert,adjusted,en,hi,,token_f1,66.79",
    "adjusting2020,table1,wikipedia,mbert,,en,hi,,n_pages,150000",
]
UNLEARNING = [
    "unlearning2020,table1,udpos,mbert,initial,,,,macro_f1_label,51.2",
    "unlearning2020,table1,udpos,mbert,tuned,,,,macro_f1_label,59.6",
    "unlearning2020,table2,udpos,mbert,reversal,,,,macro_f1_label,53.5",
    "unlearning2020,table3,udpos,mbert,reversal,,,,v_measure_label,22.8",
    "unlearning2020,figure3,udpos,mbert,tuned,,,,v_measure_label,47.5",
    "unlearning2020,table3,xnli,mbert,reversal,,,,v_measure_label,1.1",
    "unlearning2020,figure4,xnli,mbert,tuned,,,,v_measure_label,20.3",
]
CONTRASTS = {
    "adjusting2020": [
        *(
            rules.Contrast(table, "adjusted", "original")
            for table in ("table2", "table3", "table9")
        ),
        *(rules.Contrast(table, "continual", "adjusted") for table in ("table2", "table3")),
    ],
    "unlearning2020": [
        rules.Contrast("table1", "tuned", "initial"),
        rules.Contrast("table2", "reversal", "tuned", "table1"),
        rules.Contrast("table3", "reversal", "tuned", "figure3"),
        rules.Contrast("table3", "reversal", "tuned", "figure4"),
    ],
}
TITLES = {"adjusting2020": "Adjusting et al. (2020): A", "unlearning2020": "Unlearning et al.: B"}


def write(path: Path, *lines: str, columns: tuple[str, ...] = MEASUREMENT_COLUMNS) -> Path:
    path.write_text("\n".join([",".join(columns), *lines]) + "\n")
    return path


def seeds(cell: str, *values: float, protocol: str = "published") -> list[str]:
    return [f"{cell},{value},{protocol},{seed},5010" for seed, value in enumerate(values, 1)]


def score(tmp_path: Path, *lines: str, comparable: bool = True) -> pd.DataFrame:
    measured = write(tmp_path / "measurements.csv", *lines)
    return compare([measured], papers(tmp_path), contrasts=CONTRASTS, comparable=comparable)


def papers(tmp_path: Path) -> list[Path]:
    return [
        write(tmp_path / f"{name}.csv", *lines, columns=(*KEY, "value"))
        for name, lines in (("adjusting", ADJUSTING), ("unlearning", UNLEARNING))
    ]


def row_of(frame: pd.DataFrame, cell: str) -> dict[str, Any]:
    rows = frame[(frame[list(KEY)] == cell.split(",")).all(axis=1)]
    assert len(rows) == 1
    return {str(column): value for column, value in rows.iloc[0].items()}
