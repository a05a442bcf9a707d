"""Tables shaped like the papers', and the scorecard's page."""

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from toy_scorecard import ADJUSTED, CONTRASTS, NAMES, ORIGINAL, TITLES, papers, score, seeds, write

from mbert_atlas.files import write_json
from mbert_atlas.scorecard import rules
from mbert_atlas.scorecard.cells import KEY, read_reasons, write_reasons
from mbert_atlas.scorecard.compare import compare
from mbert_atlas.scorecard.pages import write_page
from mbert_atlas.scorecard.tables import Table, lay_out, write_alignment_page, write_tables
from mbert_atlas.scorecard.templates import FigureLink, Labels, Setting, artifact_name, figure_links

# Tables


def test_names() -> None:
    assert artifact_name("table2") == "Table 2"
    assert artifact_name("appendixA") == "Appendix A"
    assert artifact_name("section5.4") == "Section 5.4"
    assert artifact_name("wals_check") == "wals check"


def test_table2_is_laid_out_as_in_the_paper(tmp_path: Path) -> None:
    frame = score(
        tmp_path,
        *seeds(ORIGINAL.format("es"), 74.0, 75.0),
        *seeds(ADJUSTED.format("es"), 74.5, 75.5),
        ADJUSTED.format("es") + "_significant_vs_original,1,published,,5010",
    )
    table2 = frame[(frame["paper"] == "adjusting2020") & (frame["artifact"] == "table2")]
    values, claims = lay_out(table2, Labels(NAMES, CONTRASTS["adjusting2020"]))
    assert values.columns == claims.columns == ["Spanish", "Russian", "Vietnamese", "Hindi"]
    assert list(values.common.items())[:2] == [("task", "XNLI"), ("model", "mBERT")]
    assert values.row_facets == ["condition"]
    texts, cells = values.rows[1]
    assert texts == ["adjusted"]
    assert [cell.reported for cell in cells if cell] == ["74.82*", "69.45*", "70.88*", "61.54*"]
    texts = [list(map(str, cell.ours.values())) for cell in cells if cell]
    assert texts == [["75.00* ± 0.71"], [], [], []]
    assert values.protocols == ["published"]
    assert cells[0] is not None
    ours = cells[0].ours["published"]
    assert (ours.difference, ours.verdict) == ("+0.18", rules.REPRODUCED)
    assert "2 seeds" in ours.details
    assert claims.rows[0][0] == ["adjusted − original"]
    assert claims.rows[0][1][0] is not None
    assert str(claims.rows[0][1][0].ours["published"]) == "+0.50* ± 0.00"


def laid_out(frame: pd.DataFrame, paper: str, artifact: str) -> list[Table]:
    of_artifact = (frame["paper"] == paper) & (frame["artifact"] == artifact)
    return lay_out(frame[of_artifact], Labels(NAMES))


def test_protocols_share_a_row_and_may_agree(tmp_path: Path) -> None:
    lines = [*seeds(ORIGINAL.format("es"), 74.0), *seeds(ADJUSTED.format("es"), 75.0)]
    lines += [line.replace("published", "corrected") for line in lines]
    values = laid_out(score(tmp_path, *lines), "adjusting2020", "table2")[0]
    assert [texts for texts, _ in values.rows] == [["original"], ["adjusted"], ["continual"]]
    assert values.agrees
    assert values.protocols == ["published"]
    lines[-1] = lines[-1].replace("75.0", "76.0")
    values = laid_out(score(tmp_path, *lines), "adjusting2020", "table2")[0]
    assert values.protocols == ["published", "corrected"]


def test_many_languages_go_down_and_many_metrics_across(tmp_path: Path) -> None:
    cell = "adjusting2020,{},words,mbert,{},en,{},{},{}"
    lines = [
        f"{cell.format('figure1', condition, target, '', metric)},1.5,published,1,9"
        for condition in ("original", "adjusted", "nli")
        for target in ("ru", "hi")
        for metric in ("auc", "mean_ratio", "share", "distance")
    ]
    lines += [
        f"{cell.format('table6', condition, f'l{number}', layers, 'las')},1.5,published,1,9"
        for number in range(20)
        for layers, condition in (("", "ref"), ("1-2", "random_init"), ("3-4", "random_init"))
    ]
    frame = score(tmp_path, *lines)
    (figure,) = laid_out(frame, "adjusting2020", "figure1")
    assert figure.columns == ["AUC", "ratio of mean distances", "share", "distance"]
    assert figure.row_facets == ["target", "condition"]
    assert len(figure.rows) == 6
    (table,) = laid_out(frame, "adjusting2020", "table6")
    assert table.columns == ["reference", "1-2, re-initialised", "3-4, re-initialised"]
    assert table.row_facets == ["target"]
    assert len(table.rows) == 20


def test_hyperparameters_and_sizes_of_other_data_have_no_difference(tmp_path: Path) -> None:
    cell = "adjusting2020,table1,wikipedia,mbert,,en,hi,,n_pages"
    for comparable, difference in ((True, "-149,940"), (False, "")):
        frame = score(tmp_path, *seeds(cell, 60.0), comparable=comparable)
        (table,) = laid_out(frame[frame["reported"] == 150000], "adjusting2020", "table1")
        assert [entry.ours["published"].difference for entry in table.entries] == [difference]
    for metric in ("learning_rate", "shift_weight_alpha", "best_layer"):
        assert rules.printed_difference(0.000499, metric, "", rules.NOT_REPRODUCED) == ""
    assert rules.printed_difference(-1.5, "f1", "", rules.NOT_COMPARABLE) == "-1.50"


@pytest.mark.parametrize(
    ("metric", "values", "texts"),
    [
        ("entity_f1", (5.0, 71.23456), ["5.00", "71.23"]),
        ("f1_p_value_vs_original", (0.01234, 0.5, 1e-9), ["0.0123", "0.5000", "<0.0001"]),
        ("shift_weight_alpha", (0.1666667, 1), ["0.17", "1.00"]),
        ("translated_rate", (0.5, 0.12345), ["0.500", "0.123"]),
        ("n_draws", (6, 1234), ["6", "1,234"]),
        ("dimensionality", (4, 10.5), ["4.0", "10.5"]),
        ("learning_rate", (5e-5, 0.001), ["5e-05", "0.001"]),
    ],
)
def test_values_of_a_metric_have_the_same_decimals(
    metric: str, values: tuple[float, ...], texts: list[str]
) -> None:
    assert [rules.printed(value, metric) for value in values] == texts


def test_pages_begin_with_the_languages_that_were_run(tmp_path: Path) -> None:
    frame = score(tmp_path, *seeds(ORIGINAL.format("hi"), 59.0))
    write_out(frame, "adjusting2020", "table2", tmp_path)
    page = read(tmp_path / "t.html")
    assert page.text.index("Hindi") < page.text.index("Spanish")
    assert "Spanish" in page.folded


def write_out(frame: pd.DataFrame, paper: str, artifact: str, folder: Path, **more: Any) -> None:
    write_tables(
        frame[(frame["paper"] == paper) & (frame["artifact"] == artifact)],
        title=artifact,
        labels=Labels(NAMES, CONTRASTS[paper]),
        csv_path=folder / "t.csv",
        html_path=folder / "t.html",
        setting=Setting("run", comparable=True, names=NAMES),
        library=folder / "assets",
        **more,
    )


@pytest.mark.parametrize(("table", "own"), [("table1", True), ("table2", False), ("table3", False)])
def test_differences_to_another_table_are_only_in_the_scorecard(
    tmp_path: Path, table: str, own: bool
) -> None:
    frame = compare([], papers(tmp_path), contrasts=CONTRASTS)
    in_scorecard = frame[(frame["paper"] == "unlearning2020") & (frame["artifact"] == table)]
    assert (in_scorecard["kind"] == "claim").any()
    write_out(frame, "unlearning2020", table, tmp_path)
    assert (pd.read_csv(tmp_path / "t.csv")["kind"] == "claim").any() == own


def test_tables_are_written_for_people_and_programs(tmp_path: Path) -> None:
    frame = score(tmp_path, *seeds(ORIGINAL.format("hi"), 59.0))
    write_out(frame, "adjusting2020", "table2", tmp_path)
    table = pd.read_csv(tmp_path / "t.csv", keep_default_na=False)
    assert table.columns[-4:].tolist() == ["Spanish", "Russian", "Vietnamese", "Hindi"]
    ours = table[table["version"] == "published"]
    assert ours["Hindi"].tolist() == ["59.00"]
    assert table["kind"].value_counts().to_dict() == {"value": 4, "claim": 2}
    write_out(frame, "adjusting2020", "table2", tmp_path, facts=[{"word order": "SOV"}])
    page = read(tmp_path / "t.html")
    assert page.text.index("SOV") < page.text.index("59.00")
    assert page.text.count("74.82*") == 1
    assert page.text.count("75.89**") == 1  # starred against a condition that is itself tested
    assert "not comparable to the papers" not in page.text


@pytest.mark.parametrize(
    ("artifact", "name", "title"),
    [
        ("figure1", "figure1.de.published.svg", "Figure 1, German, published"),
        ("table1", "table1_udpos.svg", "Table 1, UDPOS"),
        ("figure6a", "figure6a.svg", "Figure 6a"),
    ],
)
def test_a_figure_is_named_after_its_file(artifact: str, name: str, title: str) -> None:
    figure = {"paper": "toy2020", "artifact": artifact, "path": name}
    assert figure_links([figure], {"de": "German"})[0].title == title


def test_alignment_scores_have_a_row_per_way_of_joining(tmp_path: Path) -> None:
    way = {"aer": 0.269, "precision": 0.876, "recall": 0.628, "f1": 0.731}
    way |= {"links": 1700, "sentences": 90, "pairs_right": 0.765}
    ways = {"intersection": way, "one_to_one": way}
    common = {"aligner": "eflomal", "version": "sil-thot 3", "dropped": {"long": 1200, "empty": 34}}
    scored = common | {"symmetrisation": "one_to_one", "by_symmetrisation": ways}
    write_json(scored, tmp_path / "hi.json")
    write_json(common | {"symmetrisation": "union"}, tmp_path / "ru.json")
    paths = {("bitext", code, ".eflomal"): tmp_path / f"{code}.json" for code in ("hi", "ru")}
    write_alignment_page(paths, {"hi": "Hindi"}, tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    rows = [re.findall("<td>(.*?)</td>", row) for row in re.findall("<tr>(<td>.*?)</tr>", page)]
    aligner = ["eflomal (sil-thot 3)", "1,234"]
    assert [row[:6] for row in rows] == [
        ["bitext", "Hindi", *aligner, "intersection", "26.9"],
        ["bitext", "Hindi", *aligner, "one to one (used)", "26.9"],
        ["bitext", "ru", *aligner, "no gold links", "–"],
    ]
    assert rows[0][-3:] == ["76.5", "90", "1,700"]
    assert "not comparable" not in page
    assert "AER is the alignment error rate: lower is better." in page
    assert '<a href="index.html">' in page


# The page


class Page(HTMLParser):
    """Text, links and balance of an HTML page."""

    VOID = frozenset({"meta", "input", "br", "link", "img"})

    def __init__(self) -> None:
        super().__init__()
        self.text, self.open = "", list[str]()
        self.links, self.sources = list[str](), list[str]()
        self.folded = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in self.VOID:
            self.open.append(tag)
        for name, value in attrs:
            if name == "href":
                self.links.append(str(value))
            elif name == "src":
                self.sources.append(str(value))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not {"style", "script"} & set(self.open):
            self.text += data
            if "details" in self.open and "summary" not in self.open:
                self.folded += data


def read(path: Path) -> Page:
    page = Page()
    page.feed(path.read_text(encoding="utf-8"))
    page.close()
    assert not page.open
    return page


def render(frame: pd.DataFrame, tmp_path: Path, comparable: bool = True, **more: Any) -> Page:
    output = tmp_path / "run" / "scorecard.html"
    options: dict[str, Any] = {
        "setting": Setting("demo <1>", comparable, names=NAMES, facts={"preset": "abc & def"}),
        "titles": TITLES,
        "contrasts": CONTRASTS,
        "library": tmp_path / "run/assets",
    }
    write_page(frame, output, **(options | more))
    return read(output)


def test_the_page_shows_why_an_artifact_was_not_run(tmp_path: Path) -> None:
    frame = score(tmp_path, *seeds(ORIGINAL.format("es"), 74.0, 74.5))
    paper, artifact = frame[frame["published_mean"].isna()][["paper", "artifact"]].iloc[-1]
    path = tmp_path / "not_run.csv"
    write_reasons([(paper, artifact, "XNLI is <gone>."), ("x", "y", "Why.")], path)
    assert "XNLI is <gone>." in render(frame, tmp_path, reasons=read_reasons(path)).text
    assert "XNLI is" not in render(frame, tmp_path).text


def test_a_cell_that_is_not_reproducible_shows_its_reason_unless_it_was_run(tmp_path: Path) -> None:
    cells = [f"{ORIGINAL.format(code)},no <data>" for code in ("es", "ru")]
    listed = write(tmp_path / "listed.csv", *cells, columns=(*KEY, "reason"))
    measured = write(tmp_path / "measured.csv", *seeds(ORIGINAL.format("es"), 74.0))
    paths = [measured], papers(tmp_path)
    frame = compare(*paths, contrasts=CONTRASTS, not_reproducible=[listed])
    assert frame.set_index("target")["reason"][lambda reason: reason != ""].to_dict() == {
        "ru": "no <data>"
    }
    page = render(frame, tmp_path)
    assert page.folded.count("Not reproducible here: no <data>") == 1
    assert page.text.count("no <data>") == 1


def test_page_of_a_comparable_run(tmp_path: Path) -> None:
    frame = score(
        tmp_path,
        *seeds(ORIGINAL.format("es"), 74.0, 74.5),
        *seeds(ORIGINAL.format("hi"), 65.0, 65.5),
        ADJUSTED.format("es") + "_p_value_vs_original,0.0123,published,,5010",
    )
    figure = FigureLink("adjusting2020", "figure1", "Hindi, published", tmp_path / "run/f/1.svg")
    page = render(frame, tmp_path, figures=[figure])
    assert "not comparable to the papers" not in page.text
    assert "demo <1>" in page.text
    assert "abc & def" in page.text
    assert "The tolerance is 1 point for accuracy, F1, LAS and BLEU, 2 points for" in page.text
    assert "0.5 points or 5% for gains and losses, 1% for counts (5% where" in page.text
    assert TITLES["adjusting2020"] in page.text
    assert "74.25" in page.text
    assert "0.0123" in page.folded
    assert "± 0.35" in page.text
    assert "✓ reproduced" in page.text
    assert "✗ not reproduced" in page.text
    assert "f/1.svg" in page.links
    assert "Spanish" in page.text
    assert "Table 3" in page.text
    assert "73.28" in page.folded  # Table 3 was not run
    assert page.text.count("73.28") == page.folded.count("73.28")
    assert page.text.count("67.95") == page.folded.count("67.95")  # Russian was not run


def test_page_needs_no_network_and_warns_if_not_comparable(tmp_path: Path) -> None:
    frame = score(tmp_path, *seeds(ORIGINAL.format("es"), 40.0), comparable=False)
    page = render(frame, tmp_path, comparable=False)
    assert "These numbers are not comparable to the papers'." in page.text
    assert "not comparable to the papers" not in page.folded
    assert page.sources == ["assets/datatables.js"]
    places = ("#", "index.html", "papers/", "scorecard.csv", "assets/datatables.css")
    assert all(link.startswith(places) for link in page.links)
    assert "≁ not comparable" in page.text
    summary = page.text.partition("Summary")[2].partition("How verdicts")[0]
    assert "·" not in summary
    assert "reproduced" not in summary
    assert "measured with the data and the encoder of this run" in page.text
    again = render(frame, tmp_path, comparable=False)
    assert again.text == page.text


def test_page_of_a_run_that_measured_nothing(tmp_path: Path) -> None:
    page = render(compare([], papers(tmp_path), contrasts=CONTRASTS), tmp_path)
    assert "All reported cells that were run" not in page.text
    assert "Not run: Table 1" in page.text
