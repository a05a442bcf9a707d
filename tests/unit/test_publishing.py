"""The copy of a run for a repository: small, with pictures, and with links that work."""

import html
import json
import os
import re
from pathlib import Path

import pytest
from PIL import Image
from toy_results import PAPER, PAPERS, finished_run, judging

from mbert_atlas.errors import DataError
from mbert_atlas.export.results import load_results
from mbert_atlas.scorecard import publishing
from mbert_atlas.scorecard.comparison import write_comparison
from mbert_atlas.scorecard.publishing import publish
from mbert_atlas.scorecard.results import read_results


@pytest.fixture(params=["", "highlights"])
def run(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return finished_run(tmp_path / "demo", {"ru": 10, "hi": -10}, scope=request.param)


def size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*.*"))


def test_the_copy_has_pages_tables_and_pictures_and_its_links_work(
    run: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "docs/results/demo"
    original = run / f"papers/{PAPER}.html"
    figure = os.path.relpath(tmp_path / f"demo/figures/{PAPER}/table1", original.parent)
    files = f'<a href="{figure}.svg">SVG</a> <a href="{figure}.png">PNG</a>'
    gone = '<p class="files">a table: <a href="gone.html">HTML</a> · <a href="gone.csv">CSV</a></p>'
    original.write_text(original.read_text("utf-8") + files + gone, "utf-8")
    header, *rows = (run / "scorecard.csv").read_text("utf-8").splitlines()
    not_run = ",".join("x" for _ in header.split(",")[:11]) + "," * (header.count(",") - 10)
    (run / "scorecard.csv").write_text("\n".join([header, not_run, *rows, ""]), "utf-8")
    (run / "papers/unrun2020.html").write_text("nothing was run", "utf-8")
    publish(run, copy, judging=judging(run), hardware="two <cores>")
    shorter, *kept = (copy / "scorecard.csv").read_text("utf-8").splitlines()
    columns = [name for name in header.split(",") if not name.endswith(("_difference", "reason"))]
    reported = [row for row in rows if row.split(",")[header.split(",").index("reported")]]
    assert (shorter, len(kept)) == (",".join(columns), len(reported))
    cell = f"{PAPER},table1,nli,mbert,original,en,ru,,"
    judged = ",".join(["50,0,2,5000,,not comparable"] * 2)
    assert f"{cell}accuracy,value,60,,1,{judged}" in kept
    assert f"{cell}entropy,extra" in "\n".join(rows)
    assert {path.relative_to(copy).as_posix() for path in copy.rglob("*.*")} == {
        *("README.md", "run.json", "index.html", "claims.csv", "scorecard.csv", "cost.csv"),
        *(f"papers/{PAPER}.html", f"figures/{PAPER}/table1.png"),
        *(f"measurements/{PAPER}/table1.csv.xz", "measurements.csv.xz"),
        "measurements.resamples.parquet",
    }
    readme = (copy / "README.md").read_text("utf-8")
    assert f'<img src="figures/{PAPER}/table1.png" alt="{PAPER}, table1"' in readme
    targets = set()
    for page in copy.rglob("*.html"):
        text = page.read_text("utf-8")
        for target in re.findall(r'(?:href|src)="([^"]*)"', text):
            file, _, anchor = html.unescape(target).partition("#")
            path = page.parent / file if file else page
            assert path.is_file() or (target.endswith("/") and path.is_dir()), target
            assert not anchor or f'id="{anchor}"' in path.read_text("utf-8"), target
            targets.add(target)
    assert f"../figures/{PAPER}/table1.png" in targets  # embedded in the original
    assert f"figures/{PAPER}/table1.png" in targets
    copied = (copy / f"papers/{PAPER}.html").read_text("utf-8")
    assert (">SVG<" in copied, ">PNG<" in copied) == (False, True)  # the copy has no SVG
    assert "a table:" not in copied
    assert "all claims" not in copied  # their page has no copy
    assert "../measurements.csv.xz" in targets  # in place of additional results
    assert "entropy" in (run / f"papers/{PAPER}.html").read_text("utf-8")
    assert "entropy" not in (copy / f"papers/{PAPER}.html").read_text("utf-8")
    assert "report.html" in (run / "index.html").read_text("utf-8")
    assert "report.html" not in (copy / "index.html").read_text("utf-8")
    picture = f"figures/{PAPER}/table1.png"
    assert (copy / picture).read_bytes() == (tmp_path / "demo" / picture).read_bytes()


def test_the_copy_states_what_the_run_is(run: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    publish(run, copy, judging=judging(run), hardware="two <cores>")
    facts = json.loads((copy / "run.json").read_text("utf-8"))
    assert facts == read_results([run])[0].facts | {"hardware": "two <cores>"}
    assert {"encoder mbert", "data", "versions", "date", "cost"} < facts.keys()
    index, readme = ((copy / name).read_text("utf-8") for name in ("index.html", "README.md"))
    assert "<dt>encoders</dt><dd>folder e5 (“mbert” in the config)\n" in index
    assert "<dt>hardware</dt><dd>two &lt;cores&gt;</dd>" in index
    for value in ("mbert-atlas ", "2 languages in all", "1.5 CPU hours"):
        assert index.count(value) == 1, value
    assert "| seeds | 1, 2 |" in readme
    assert f"| {PAPER} | corrected | 1 | 0 | 1 | 0 | 0 | 0 | 0 | 0 | 2 |" in readme
    claims = readme.split(f"## {PAPER}")[1]
    assert re.search(
        r"\| positive \| the same numbers \| \*\*does not hold\*\*: −10\.0 \[[^]|]+\] points "
        r"\(accuracy\); 1 of 1 case, 5000 items, 2 seeds \|\n",
        claims,
    )
    assert "nan" not in claims
    publish(run, copy, judging=judging(run))  # again, over the first
    assert re.search(r"\d+ cores, \d+ GB", json.loads((copy / "run.json").read_text())["hardware"])


def test_a_copy_is_compared_as_its_run_is(run: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    publish(run, copy, judging=judging(run), hardware="this")
    other = finished_run(tmp_path / "other", {"ru": 10})
    pages = []
    for folder in (run, copy):
        output = tmp_path / f"comparison of {folder.name}"
        write_comparison([folder, other], output, papers=PAPERS, names={})
        text = (output / "index.html").read_text("utf-8")
        text = re.sub(r'<tr><th scope="row">hardware.*\n', "", text)
        pages.append(text.replace(f">{read_results([folder, other])[0].label}", ">"))
    sections = [page[page.index("<h2>Runs</h2>") : page.index("<h3>")] for page in pages]
    assert sections[0].count("<tr>") == sections[1].count("<tr>") > 10
    assert [page.count("data:image") for page in pages] == [1, 1]


def test_pictures_are_reduced_until_the_copy_is_small(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy, picture = tmp_path / "copy", f"figures/{PAPER}/table1.png"
    publish(run, copy, judging=judging(run))
    whole, without = size(copy), size(copy) - (copy / picture).stat().st_size
    monkeypatch.setattr(publishing, "MOST_BYTES", (whole + without) // 2)
    publish(run, copy, judging=judging(run))
    assert without < size(copy) <= (whole + without) // 2
    width, height = Image.open(copy / picture).size
    assert width < 400
    assert abs(width / height - 4 / 3) < 0.02
    monkeypatch.setattr(publishing, "MOST_BYTES", without)
    with pytest.raises(DataError, match=r"the copy takes 0\.\d MB, more than 0; publish the"):
        publish(run, copy, judging=judging(run))
    assert Image.open(copy / picture).size == (width, height)  # the older copy is still there


def test_no_other_folder_is_replaced(run: Path, tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/page.md").write_text("mine")
    for output in (tmp_path / "docs", run):
        with pytest.raises(DataError, match=r"it was not published, and would be replaced; name"):
            publish(run, output, judging=judging(run))
    assert (tmp_path / "docs/page.md").is_file()
    (run / "index.html").unlink()
    with pytest.raises(DataError, match=r"there is no index\.html; run the target"):
        publish(run, tmp_path / "copy", judging=judging(run))


def test_a_folder_where_nothing_was_measured(tmp_path: Path) -> None:
    """As `available` makes it after a run that ended before its first measurement."""
    folder = finished_run(tmp_path / "demo", {"ru": 10, "hi": -10})
    for path in folder.glob("measurements/*/*"):
        path.unlink()
    header = (folder / "claims.csv").read_text("utf-8").partition("\n")[0]
    (folder / "claims.csv").write_text(f"{header}\n", "utf-8")
    sentence = "demo: nothing was measured here; finish a target first"
    with pytest.raises(DataError, match=sentence):
        publish(folder, tmp_path / "copy", judging=judging(folder))
    with pytest.raises(DataError, match=sentence):
        load_results(folder).artifacts(PAPER)
    assert not (tmp_path / "copy").exists()


def test_a_copy_names_no_folder_of_the_machine(run: Path, tmp_path: Path) -> None:
    page = run / f"papers/{PAPER}.html"
    files = "--configfile config/small.yaml ../../home/me/e5.yaml /home/me/b.yml"
    command = f"snakemake {files} --config 'mirror=\"/data/mine\"' 'downloads=\"/scratch\"' -- all"
    (run / "config.yaml").write_text(
        "mirror: /data/mine\nencoders:\n  mbert:\n    folder: /home/me/e5\n    hub: null\n"
    )
    shown = f"<code>{html.escape(command).replace('&quot;', '&#34;')}</code>"
    page.write_text(page.read_text("utf-8") + shown, "utf-8")
    publish(run, tmp_path / "copy", judging=judging(run))
    copied = html.unescape((tmp_path / f"copy/papers/{PAPER}.html").read_text("utf-8"))
    assert command not in copied
    files = "--configfile config/small.yaml e5.yaml b.yml"
    assert f"{files} --config 'mirror=\"DIR\"' 'downloads=\"DIR\"' -- all" in copied
    config = (tmp_path / "copy/config.yaml").read_text("utf-8")
    assert config == "encoders:\n  mbert:\n    folder: e5\n    hub: null\n"
