"""A paper is added by new files only: the toy paper of CONTRIBUTING.md."""

import shutil

import pandas as pd
import pytest

from clone import DEMO, copy_repository, left_to_do, snakemake, succeeded
from mbert_atlas.papers import names
from snippets import files_in

pytestmark = pytest.mark.workflow
FILES = {path: text for path, text in files_in("CONTRIBUTING.md").items() if "toy2020" in path}
FILES["mbert_atlas/papers/toy2020/__init__.py"] = ""


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
    assert left_to_do(extended, target="highlights") == {
        "measure": 2,
        "render_table": 1,
        "judge_claims": 1,
        "cost": 1,
        "trace_artifacts": 1,
        "write_replication": len(names()) + 1,  # all read claims.csv
        "write_index": 1,
    }


def test_it_runs_and_is_judged(extended):
    target = ["highlights", "--profile", "local", "--cores", "2", *DEMO]
    succeeded(snakemake(extended, *target, timeout=300))
    results = extended / "results/demo"
    scores, errors = (
        pd.read_csv(results / f"measurements/toy2020/{name}.csv") for name in ("table1", "errors")
    )
    cell = ["target", "protocol", "seed"]
    accuracy = scores[scores.metric == "accuracy"].set_index(cell)
    errors = errors.set_index(cell)
    share = 100 - 100 * errors["value"] / errors["n"]
    pd.testing.assert_series_equal(share, accuracy["value"][share.index], check_names=False)
    page = (results / "tables/toy2020/table1.html").read_text()
    assert "70.00" in page
    assert "errors" in page
    claims = pd.read_csv(results / "highlights/claims.csv")
    claims = claims[claims.paper == "toy2020"]
    assert claims["verdict"].isin(["holds", "does not hold", "undecided"]).tolist() == [True, True]
    assert (claims["reported"] == -10).all()
    page = (results / "highlights/papers/toy2020.html").read_text()
    assert "NLI transfers worse to Hindi than to Russian." in page
    target = ["toy2020", "toy2020_table1", "-n", *DEMO, "--profile", "local"]
    succeeded(snakemake(extended, *target))
