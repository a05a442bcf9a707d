"""A claim of a paper, and the numbers that it is about."""

from pathlib import Path
from typing import Any

import pandas as pd

from mbert_atlas.schemas import MEASUREMENT_COLUMNS
from mbert_atlas.scorecard.cells import Key, Measured
from mbert_atlas.scorecard.claims import Claim, Claims
from mbert_atlas.scorecard.verdicts import NOT_RUN, verdicts

REPORTED = """\
paper,artifact,task,model,condition,source,target,layers,metric,value
toy2020,table1,nli,mbert,original,en,ru,,accuracy,60.0
toy2020,table1,nli,mbert,original,en,hi,,accuracy,50.0
toy2020,table1,nli,mbert,adjusted,en,ru,,accuracy,62.0
toy2020,table1,nli,mbert,adjusted,en,hi,,accuracy,49.0
toy2020,table2,ner,mbert,original,en,ru,,token_f1,40.0
"""


def key(condition: str, target: str = "ru", metric: str = "accuracy", task: str = "nli") -> Key:
    return ("toy2020", "table1", task, "mbert", condition, "en", target, "", metric)


def measured(*values: float, n: int | None = 1000, first_seed: int = 1) -> Measured:
    return Measured(dict(enumerate(values, first_seed)), n)


def claim(**changes: Any) -> Claim:
    values = {
        "claim": "Adjustment helps.",
        "place": "section 1",
        "artifact": "table1",
        "of": {"metric": "accuracy"},
        "effect": {"plus": {"condition": "adjusted"}, "minus": {"condition": "original"}},
        "expect": {"above": 0},
    }
    return Claim.model_validate(values | changes)


LANGUAGES = ("en", "ru", "hi", "vi")


def rows(
    tmp_path: Path,
    cells: dict[Key, Measured],
    *,
    comparable: bool = True,
    gates: dict[str, Any] | None = None,
    classes: dict[str, Any] | None = None,
    more: dict[str, Claim] | None = None,
    **changes: Any,
) -> dict[str, Any]:
    """The published row of one claim over these cells; ``more`` are other claims."""
    reported, path = tmp_path / "reported.csv", tmp_path / "measurements.csv"
    reported.write_text(REPORTED)
    lines = [
        dict(zip(MEASUREMENT_COLUMNS, (*name, value, "published", seed, cell.n_items), strict=True))
        for name, cell in cells.items()
        for seed, value in cell.values.items()
    ]
    frame = pd.DataFrame(lines, columns=list(MEASUREMENT_COLUMNS))
    frame.to_csv(path, index=False)
    claims = {"better": claim(**changes)} | (more or {})
    values = {"gates": gates or {}, "classes": classes or {}, "claims": claims}
    stated = {"toy2020": Claims.model_validate(values)}
    found = verdicts(stated, [path], [reported], languages=LANGUAGES, comparable=comparable)
    assert found["protocol"].tolist() == ["published", "corrected"] * len(claims)
    assert found["verdict"].tolist()[1] == NOT_RUN
    return {str(column): value for column, value in found.to_dict("records")[0].items()}
