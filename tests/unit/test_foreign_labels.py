"""Labels of a run with other languages, encoders and sizes than the papers': none is foreign."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator

import pytest
from configs import ROOT
from matplotlib.text import Text
from planned_files import PlannedFiles

from mbert_atlas import papers
from mbert_atlas.cells import as_values, files_of, with_files
from mbert_atlas.languages import Languages
from mbert_atlas.plan.models import brief_name
from mbert_atlas.plan.plan import REPORTED, Plan
from mbert_atlas.registry import resolve
from mbert_atlas.scorecard.compare import compare
from mbert_atlas.scorecard.rules import Contrast
from mbert_atlas.scorecard.tables import lay_out_parts
from mbert_atlas.scorecard.templates import Setting

OTHER = """
run: other
languages_instead: {{hi: vi, ru: tr, de: nl}}
encoders: {{mbert: {{scratch: null, folder: {folder}}}}}
"""
"""Merged into the demo; a paper's further changes are ``tests/papers/<paper>/other.yaml``."""
FOREIGN = re.compile(
    r"mBERT|XLM-R|Google|last 6|Hindi|Russian|German|(window|BERT) (512|20)\b"
    r"|\b(200k|1000k|12,000|60,000|30K)\b"
)
"""Names and sizes of the papers and of the demo that this run does not have."""
OF_THE_PAPER = re.compile(r"\(paper: [^)]*\)|\([^)]* in the paper\)|\S[^;,]* in the paper; here ")


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> PlannedFiles:
    folder = tmp_path_factory.mktemp("other")
    encoder = folder / "five-layers"
    encoder.mkdir()
    size = {"num_hidden_layers": 5, "hidden_size": 48, "vocab_size": 100}
    (encoder / "config.json").write_text(json.dumps(size))
    (folder / "other.yaml").write_text(OTHER.format(folder=encoder))
    languages = Languages.read(ROOT / "resources/languages.csv")
    overlays = [folder / "other.yaml", *sorted(ROOT.glob("tests/papers/*/other.yaml"))]
    config = papers.load([ROOT / "config/demo.yaml", *overlays], ROOT)
    return PlannedFiles(Plan(config, languages, home=ROOT), folder)


def foreign(texts: Iterable[str]) -> list[str]:
    return [text for text in texts if FOREIGN.search(OF_THE_PAPER.sub("", text.replace("\n", " ")))]


def setting_of(plan: Plan) -> Setting:
    conditions = {
        f"{paper}/{artifact.name}": artifact.conditions
        for paper, section in plan.papers.items()
        for artifact in section.artifacts
    }
    names = plan.language_names()
    models = {paper: plan.model_names(paper) for paper in plan.papers}
    return Setting("other", False, names=names, models=models, conditions=conditions)


def table_texts(files: PlannedFiles) -> Iterator[str]:
    plan, setting = files.plan, setting_of(files.plan)
    for paper, section in plan.papers.items():
        contrasts = {paper: [Contrast(*each) for each in section.contrasts]}
        frame = compare(
            [files.measurement(key) for key in plan.measurements if key.startswith(f"{paper}/")],
            [ROOT / REPORTED.format(paper)],
            contrasts=contrasts,
            comparable=False,
        )
        for artifact, rows in frame.groupby("artifact"):
            labels = setting.labels(f"{paper}/{artifact}", contrasts[paper])
            tables, _ = lay_out_parts(rows, labels)
            for table in tables:
                yield from (*table.common.values(), *table.columns)
                yield from (text for texts, _ in table.rows for text in texts)


def figure_texts(files: PlannedFiles) -> Iterator[str]:
    """Yield the texts of the figures that draw a measurement."""
    for record in files.plan.figures.values():
        planned = record.cells()
        paths = files_of(planned)
        if all(path.startswith("<results>/measurements/") for path in paths):
            cells = with_files(as_values(planned), list(map(files, paths)))
            reported = {"reported": None} if record.reported else {}
            figure = resolve(record.draw)(cells, **record.options(), **reported)
            yield str(figure.get_label())
            yield from (text.get_text() for text in figure.findobj(Text))


def test_tables_and_figures_of_another_run_have_no_foreign_label(files: PlannedFiles) -> None:
    texts = {*table_texts(files), *figure_texts(files)}
    assert foreign(texts) == []
    for text in (
        "mBERT in the paper; here five-layers, 5 layers of 48",
        "five-layers (paper: mBERT)",
        "window 9, 7,000 sentences (paper: 20, 200k)",
        "fine-tuned, layers 3-4 (paper: last 6)",
        "English + Dutch + Chinese (paper: English + German + Chinese)",
        "Turkish",
    ):
        assert text in texts


def test_captions_and_titles_of_another_run_have_no_foreign_label(files: PlannedFiles) -> None:
    plan = files.plan
    texts = [artifact.title for _, artifact in plan.artifact_of.values()]
    texts += [plan.caption(key) for key in plan.figures]
    assert foreign(texts) == []


def test_the_papers_encoders_have_their_names() -> None:
    languages = Languages.read(ROOT / "resources/languages.csv")
    plan = Plan(papers.load([], ROOT), languages, home=ROOT)
    names = {"mbert": "mBERT", "embert_hi": "mBERT with added Hindi subwords", "xlmr": "XLM-R"}
    for models in map(plan.model_names, plan.papers):
        assert models
        for model, name in models.items():
            assert name == {"label": names[model], "config": ""}
    assert brief_name(plan, "mbert", "mbert") == "mBERT"
