"""A paper is added by new files alone: a toy one, with one table over runs that are there."""

import shutil

import pandas as pd
import pytest

from clone import DEMO, copy_repository, left_to_do, snakemake
from mbert_atlas.papers import names

pytestmark = pytest.mark.workflow
FILES = {
    "config/papers/toy2020.yaml": """
toy2020:
  table1:
    languages: [ru]
    tests: {xnli: {dataset: xnli, runs: nli}}
    conditions: {original: "{runs}"}
""",
    "config/papers/toy2020.demo.yaml": "toy2020: {table1: {languages: [ru, hi]}}\n",
    "mbert_atlas/papers/toy2020/__init__.py": "",
    "mbert_atlas/papers/toy2020/config.py": """
from mbert_atlas.config.base import ConfigModel
from mbert_atlas.config.checks import check_transfer_table
from mbert_atlas.config.transfer import TransferTable


class Section(ConfigModel):
    table1: TransferTable


def check(config):
    check_transfer_table(config, "toy2020.table1", config.toy2020.table1, ())
""",
    "mbert_atlas/papers/toy2020/claims.py": """
TITLE = "Toy et al. (2020): One Table"
CONTRASTS = ()
FIGURES = {"table1": "Zero-shot inference"}
""",
    "mbert_atlas/papers/toy2020/claims.yaml": """
claims:
  script:
    claim: Inference transfers worse to Hindi than to Russian.
    place: section 1
    artifact: table1
    of: {task: xnli, condition: original, metric: accuracy}
    effect: {plus: {target: hi}, minus: {target: ru}}
    expect: {below: 0}
""",
    "workflow/rules/toy2020.smk": """
TRANSFER["toy2020/table1"] = CONFIG.toy2020.table1
PLOTS["toy2020/table1"] = claims("toy2020").FIGURES["table1"]
MEASUREMENTS["toy2020"] = ["<results>/measurements/toy2020/table1.csv"]
TABLES["toy2020/table1"] = {"measurements": MEASUREMENTS["toy2020"]}
ARTIFACTS["toy2020"] = {
    "table1": ["<results>/tables/toy2020/table1.html", "<results>/figures/toy2020/table1.svg"]
}
HIGHLIGHTS["toy2020"] = {"artifacts": ["table1"], "measurements": MEASUREMENTS["toy2020"]}
""",
    "resources/reported/toy2020.csv": """\
paper,artifact,task,model,condition,source,target,layers,metric,value
toy2020,table1,xnli,mbert,original,en,ru,,accuracy,70.0
toy2020,table1,xnli,mbert,original,en,hi,,accuracy,60.0
""",
    "docs/papers/toy2020.md": "# toy2020\n",
}


@pytest.fixture(scope="module")
def house(demo, tmp_path_factory):
    """A clone with the demo's results, to which the paper's files have come."""
    clone = copy_repository(tmp_path_factory.mktemp("house"))
    for name in ("results", ".snakemake"):
        shutil.copytree(demo / name, clone / name, copy_function=shutil.copy2, symlinks=True)
    for name, text in FILES.items():
        assert not (clone / name).exists()
        (clone / name).parent.mkdir(exist_ok=True)
        (clone / name).write_text(text)
    return clone


def test_its_places_are_six():
    places = {name.replace("toy2020.demo", "toy2020").partition("toy2020")[0] for name in FILES}
    assert len(places) <= 6  # with the folder of scripts, which this one does not need


def test_nothing_but_its_table_and_the_pages_are_to_be_made(house):
    planned = left_to_do(house)
    assert planned.pop("write_replication") == len(names()) + 1  # claims.csv has grown
    assert planned == dict.fromkeys(
        [
            *("measure_transfer", "plot_transfer", "lay_out_table", "scorecard", "judge_claims"),
            *("cost", "write_index"),
        ],
        1,
    )


def test_it_runs_and_stands_in_the_scorecard(house):
    done = snakemake(house, "all", "--profile", "local", "--cores", "2", *DEMO, timeout=300)
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
    card = pd.read_csv(house / "results/demo/scorecard.csv")
    (row,) = card[(card.paper == "toy2020") & (card.target == "ru")].to_dict("records")
    assert row["reported"] == 70.0
    assert 0 < row["published_mean"] < 100
    assert "Toy et al. (2020): One Table" in (house / "results/demo/scorecard.html").read_text()
    assert (house / "results/demo/tables/toy2020/table1.html").exists()
    claims = pd.read_csv(house / "results/demo/claims.csv")
    claims = claims[claims.paper == "toy2020"]
    assert claims["verdict"].isin(["holds", "does not hold", "undecided"]).tolist() == [True, True]
    assert (claims["reported"] == -10).all()
    page = (house / "results/demo/papers/toy2020.html").read_text()
    assert "Inference transfers worse to Hindi than to Russian." in page
    planned = snakemake(house, "toy2020", "toy2020_table1", "-n", *DEMO, "--profile", "local")
    assert planned.returncode == 0, planned.stderr
