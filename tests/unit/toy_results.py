"""Results folders of a paper made up, written by the functions that write real ones."""

from dataclasses import replace
from pathlib import Path

import pandas as pd
from PIL import Image
from toy_claims import claim
from toy_scorecard import write

from mbert_atlas.files import write_json
from mbert_atlas.plan.records import Artifact, Curves, Measurement, PaperPlan
from mbert_atlas.scorecard.cells import KEY, write_csv
from mbert_atlas.scorecard.claims import Claim, Claims
from mbert_atlas.scorecard.compare import compare
from mbert_atlas.scorecard.front import write_index
from mbert_atlas.scorecard.judging import Judging
from mbert_atlas.scorecard.pages import write_replication
from mbert_atlas.scorecard.templates import FigureLink, Setting
from mbert_atlas.scorecard.verdicts import verdicts

PAPER = "toy2020"
CELL = "{},table1,nli,mbert,{},en,{},,accuracy"
COST = "paper,stage,jobs,wall_hours,cpu_hours,gpu_hours,peak_memory_mb,jobs_without_reading\n"
PROSE = """## The two protocols

| | published | corrected |
| --- | --- | --- |
| loss | mean | sum |
"""
PLAN = PaperPlan(
    "Toy et al. (2020)",
    [
        Artifact(
            "table1", "Scores", measurements=[Measurement("table1", "", list)], highlight=True
        ),
        Artifact("figure1", "Scores of more", measurements=[Measurement("more", "", list)]),
    ],
    curves=[
        Curves("figures.transfer:scores_by_language", [name], "", "accuracy (%)")
        for name in ("more", "table1")
    ],
)
PAPERS = {PAPER: PLAN}


def stated(sentence: str, condition: str, target: str, *, headline: bool = True) -> Claim:
    """The condition is better than the original in a language."""
    return claim(
        claim=sentence,
        headline=headline,
        of={"metric": "accuracy", "target": target},
        effect={"plus": {"condition": condition}, "minus": {"condition": "original"}},
    )


CLAIMS = {
    "russian": stated("Adjustment helps <Russian>.", "adjusted", "ru"),
    "hindi": stated("Adjustment helps Hindi.", "adjusted", "hi"),
    "replay": stated("Replay helps.", "replayed", "ru"),
    "never": stated("Nobody runs this.", "never", "ru", headline=False),
}
"""With a gain of 10 points one holds, with -10 it does not, with noise of 40 it is undecided."""


def judging(run: Path) -> Judging:
    """What the claims of a finished run are judged by."""
    reported = next(
        path for path in (run / "reported.csv", run / "../reported.csv") if path.exists()
    )
    languages = {"en": "English", "ru": "Russian", "hi": "Hindi"}
    return Judging({PAPER: Claims(claims=CLAIMS)}, [reported], languages, PAPERS)


def finished_run(
    folder: Path,
    gains: dict[str, float],
    *,
    run: str = "demo",
    noise: float = 0.1,
    paper: str = PAPER,
    conditions: tuple[str, ...] = ("adjusted",),
    encoder: str = "folder e5",
    scope: str = "",
) -> Path:
    """Write a results folder with two seeds and ``gains`` by target language; return it."""
    lines = [
        f"{CELL.format(paper, condition, target)},{value},{protocol},{seed},5000"
        for target, gain in gains.items()
        for condition in ("original", *conditions)
        for protocol in ("published", "corrected")
        for seed in (1, 2)
        for value in [50 + (condition != "original") * (gain + noise * (2 * seed - 3))]
    ]
    lines += [line.replace("accuracy", "entropy") for line in lines]  # is not reported
    (folder / f"measurements/{paper}").mkdir(parents=True)
    measurements = write(folder / f"measurements/{paper}/table1.csv", *lines)
    rows = [f"{CELL.format(paper, condition, 'ru')},60" for condition in ("original", "adjusted")]
    reported = write(folder / "reported.csv", *rows, columns=(*KEY, "value"))
    figure = FigureLink(paper, "table1", "Table 1", folder / f"figures/{paper}/table1.svg")
    figure.path.parent.mkdir(parents=True)
    figure.path.write_text("<svg>" + 9000 * " " + "</svg>")
    Image.effect_noise((400, 300), 80).save(figure.path.with_suffix(".png"))
    config = {"num_hidden_layers": 12, "hidden_size": 384, "vocab_size": 72592}
    write_json(config, folder / "encoders/trimmed/model/config.json")
    for name in ("nli/seed1", "nli/seed2", "nli-draw01/seed0"):
        (folder / "runs" / name).mkdir(parents=True)
    card = {"source_files": [], "read_from": ["xnli.zip"], "dataset": "XNLI", "language": "en ru"}
    write_json(card | {"licence": "CC BY-NC 4.0"}, folder / "data/xnli.card.json")
    facts = {"preset": "small", "encoder mbert": encoder}
    setting = Setting(run, False, "on <truncated> data", {"ru": "Russian"}, facts=facts)
    shown = folder / scope
    claims = verdicts(
        {paper: Claims(claims=CLAIMS)}, [measurements], [reported], languages=["en", "ru", "hi"]
    )
    shown.mkdir(exist_ok=True)
    write_csv(claims, shown / "claims.csv")
    scorecard = compare([measurements], [reported], contrasts={}, comparable=False)
    write_csv(scorecard, shown / "scorecard.csv")
    (shown / "cost.csv").write_text(f"{COST}{paper},training,3,0.5,1.5,0.0,900.0,0\n")
    write_replication(
        claims,
        shown / f"papers/{paper}.html",
        paper=paper,
        title="Toy et al. (2020)",
        setting=setting,
        scorecard=scorecard,
        contrasts=[],
        artifacts=["table1"],
        figures=[figure],
        prose=PROSE,
        cost=pd.read_csv(shown / "cost.csv"),
    )
    links = {"claims.csv": "verdicts", "scorecard.html": "numbers", "report.html": "figures"}
    used = {"table1": ["mbert"], "table2": ["mbert", "trimmed"]}
    artifacts = {f"{paper}/{name}": {"encoders": names} for name, names in used.items()}
    record = {"encoders": {"mbert": encoder, "trimmed": "here"}, "artifacts": artifacts}
    write_index(
        claims,
        shown / "index.html",
        titles={paper: "Toy et al. (2020)"},
        setting=replace(setting, record=record),
        figures=[figure],
        links=links,
        root=folder,
    )
    return shown
