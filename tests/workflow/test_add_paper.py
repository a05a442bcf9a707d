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
def extended(highlights, tmp_path_factory):
    """A clone with the results of the highlights, to which the paper's files were added."""
    clone = copy_repository(tmp_path_factory.mktemp("extended"))
    for name in ("results", ".snakemake"):
        shutil.copytree(highlights / name, clone / name, copy_function=shutil.copy2, symlinks=True)
    for name, text in FILES.items():
        assert not (clone / name).exists()
        (clone / name).parent.mkdir(exist_ok=True)
        (clone / name).write_text(text)
    return clone


def test_only_its_table_and_the_pages_are_planned(extended):
    planned = left_to_do(extended, target="highlights")
    assert planned.pop("write_replication") == len(names()) + 1  # claims.csv has grown
    assert planned == dict.fromkeys(
        [
            *("measure_transfer", "plot_transfer", "lay_out_table"),
            *("judge_claims", "cost", "write_index"),
        ],
        1,
    )


def test_it_runs_and_is_judged(extended):
    target = ["highlights", "--profile", "local", "--cores", "2", *DEMO]
    done = snakemake(extended, *target, timeout=300)
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
    results = extended / "results/demo"
    table = pd.read_csv(results / "measurements/toy2020/table1.csv")
    accuracy = table[(table.metric == "accuracy") & (table.target == "ru")]["value"]
    assert accuracy.between(0, 100, inclusive="neither").all()
    assert "70.0" in (results / "tables/toy2020/table1.html").read_text()
    claims = pd.read_csv(results / "highlights/claims.csv")
    claims = claims[claims.paper == "toy2020"]
    assert claims["verdict"].isin(["holds", "does not hold", "undecided"]).tolist() == [True, True]
    assert (claims["reported"] == -10).all()
    page = (results / "highlights/papers/toy2020.html").read_text()
    assert "Inference transfers worse to Hindi than to Russian." in page
    planned = snakemake(extended, "toy2020", "toy2020_table1", "-n", *DEMO, "--profile", "local")
    assert planned.returncode == 0, planned.stderr
