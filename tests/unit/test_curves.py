"""Curves of trainings: what their rows say, after a kill, too; guessing; pages that show them."""

import json
import math
import re
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import torch
from axe import check, needs_axe
from test_training import Line, SquaredError, line_model, run
from test_trimming import write_examples
from tiny_models import finetuned, finetuning_job, sentence_table, tagging_job
from toy_representations import toy_encoder
from toy_results import PAPER, finished_run

from mbert_atlas import tasks
from mbert_atlas.analysis.scores import majority_arcs
from mbert_atlas.arrays import load_arrays
from mbert_atlas.config.methods.selection import Selection
from mbert_atlas.config.training import Optimisation
from mbert_atlas.encoding import encode
from mbert_atlas.files import read_parquet, write_parquet
from mbert_atlas.schemas import CURVES, TREE_PREDICTIONS
from mbert_atlas.scorecard.front import write_index
from mbert_atlas.scorecard.learning import Training, families_of, write_training
from mbert_atlas.scorecard.templates import Setting
from mbert_atlas.scorecard.verdicts import read_verdicts
from mbert_atlas.training.curve import curve_of
from mbert_atlas.training.method import Method
from mbert_atlas.training.methods.selection import BestEpoch

# Rows


class Noted(SquaredError):
    """Notes the loss of every step."""

    def __init__(self) -> None:
        self.losses: list[float] = []

    def loss(self, model, batch, step_weight):
        loss = super().loss(model, batch, step_weight)
        self.losses.append(loss.item())
        return loss


class Constant(Method):
    """Adds a loss of 0.5 to each step."""

    def add_gradients(self, model, step):
        return torch.tensor(0.5)


def test_rows_are_means_of_the_steps_since_the_row_before():
    lines, noted = Line(402), Noted()  # 101 steps in each of two epochs, of 4 texts, 1 text at last
    options = {"epochs": 2, "batch_size": 4, "token_budget": 10**6, "learning_rate": 0.01}
    log = run(line_model(), examples=lines, objective=noted, methods=[Constant()], **options)
    curve = curve_of(log, 2.5)
    assert curve.schema == CURVES
    frame = curve.to_pandas()
    ends = [*range(6, 101, 6), 101]
    assert frame["step"].tolist() == [*ends, *(101 + end for end in ends)]
    assert frame["epoch"].tolist() == [step / 101 for step in frame["step"]]
    assert len(noted.losses) == 202
    begins = [0, *frame["step"][:-1]]
    for begin, end, loss in zip(begins, frame["step"], frame["loss"], strict=True):
        assert loss == pytest.approx(np.mean(noted.losses[begin:end]), rel=1e-6)
    assert frame["method_loss"].tolist() == pytest.approx([0.5] * len(frame))
    rates = [0.01 * (202 - (step - 1)) / 202 for step in frame["step"]]
    assert frame["learning_rate"].tolist() == pytest.approx(rates)
    seconds = np.diff([0, *(point[-1] for point in log.points)])
    assert (frame["tokens_per_second"] * seconds).sum() == pytest.approx(2 * lines.lengths.sum())
    assert frame["guessing_loss"].tolist() == [2.5] * len(frame)
    assert frame[["score", "metric", "majority", "chance", "labels"]].isna().all(axis=None)
    alone = curve_of(run(line_model())).to_pandas()
    assert alone[["method_loss", "guessing_loss"]].isna().all(axis=None)
    assert (
        run(line_model(), epochs=100).points[-1][0] == len(run(line_model(), epochs=100).points) * 7
    )


def selected(folder: Path, **options) -> tuple[pd.DataFrame, Counter[int]]:
    """The curve of a tagger that chooses its epoch, and the labels of its development examples."""
    job = tagging_job(folder)
    method = BestEpoch(Selection(fraction=0.2, **options))
    finetuned(job, method, output_curve=folder / "curve.parquet")
    held_out = method._examples.rows
    labels = load_arrays(folder / "train").ragged("labels").take(held_out).values
    return read_parquet(folder / "curve.parquet", CURVES).to_pandas(), Counter(labels[labels >= 0])


def test_scores_are_at_the_ends_of_epochs_with_what_guessing_has(tmp_path):
    frame, counts = selected(tmp_path, metric="accuracy")
    assert frame["step"][0] == 0
    assert frame.iloc[0][["loss", "learning_rate", "tokens_per_second"]].isna().all()
    scores = frame.dropna(subset=["score"])
    assert scores["epoch"].tolist() == list(range(13))
    assert scores["score"].iloc[-1] == 100
    total = counts.total()
    assert set(frame["metric"]) == {"accuracy"}
    assert set(frame["labels"]) == {total}
    assert frame["majority"][0] == pytest.approx(100 * max(counts.values()) / total)
    assert frame["chance"][0] == 25  # of DET, NOUN, PUNCT and VERB


def test_macro_f1_of_guessing_is_that_of_expected_counts(tmp_path):
    frame, counts = selected(tmp_path, metric="macro_f1")
    total, most = counts.total(), max(counts.values())
    # One class is right most / total of the time and always found, the other three are never.
    assert frame["majority"][0] == pytest.approx(100 * 2 * most / (most + total) / 4)
    expected = [2 * (n / 4) / (n + total / 4) for n in counts.values()]
    assert frame["chance"][0] == pytest.approx(100 * sum(expected) / 4)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    toy_encoder(tmp_path / "encoder")
    return tmp_path


RELATIONS = ["nsubj", "obj", "root"]


def write_any_examples(task: str, folder: Path) -> None:
    """Write the examples of :func:`write_examples`; of parsing, sentences with random trees."""
    write_examples(task, folder)
    if task == "parsing":
        random = np.random.default_rng(0)
        texts = [["en1", "en2", "en3", "en4", "en5"][: random.integers(2, 6)] for _ in range(24)]
        heads = [[0, *(random.integers(1, n) for n in range(2, len(text) + 1))] for text in texts]
        names = [["root", *random.choice(RELATIONS[:2], len(text) - 1)] for text in texts]
        table = sentence_table(texts, texts, heads, names)
        encode(task, table, folder / "encoder", folder / task, labels=RELATIONS)


@pytest.mark.parametrize("task", ["nli", "tagging", "ner", "qa", "parsing"])
def test_the_loss_of_guessing_is_that_of_a_head_that_ignores_the_text(folder, task):
    """The head's weights are zero and its biases the logarithms of frequencies."""
    write_any_examples(task, folder)
    job = finetuning_job(folder, task, task, optimisation=Optimisation(epochs=1))
    finetuned(job, output_curve=folder / "curve.parquet")
    guessing = read_parquet(folder / "curve.parquet")["guessing_loss"][0].as_py()
    model, _ = tasks.load_model(folder / "model")
    objective = tasks.get(task).objective()
    whole = tasks.get(task).examples(load_arrays(folder / task))
    batch = whole.collate(np.arange(len(whole.lengths)))
    model.eval()
    with torch.no_grad():
        for parameter in model.head.parameters():
            parameter.zero_()
        if task in ("nli", "tagging", "ner"):
            counts = torch.bincount(batch["labels"], minlength=len(model.head.bias))
            model.head.bias.copy_(torch.log(counts / counts.sum()).clamp(min=-30))
        loss = objective.loss(model, batch, objective.weight(batch)).item()
    if task == "parsing":  # relations have no bias: they are equally good there
        frequency = torch.bincount(batch["labels"]) / len(batch["labels"])
        loss -= math.log(len(RELATIONS)) + frequency[batch["labels"]].log().mean().item()
    assert guessing == pytest.approx(loss, rel=1e-5)


def test_the_most_frequent_arc_has_one_relation_and_distance(folder):
    write_any_examples("parsing", folder)
    finetuned(finetuning_job(folder, "parsing", "parsing", optimisation=Optimisation(epochs=1)))
    _, right = majority_arcs(read_parquet(folder / "predictions.parquet", TREE_PREDICTIONS))
    examples = tasks.get("parsing").examples(load_arrays(folder / "parsing"))
    counts = np.bincount(examples.classes)
    assert 1 < len(counts) < len(right) == len(examples.classes)
    assert counts.max() == right.sum()


# Judgement


def curve(losses, scores=None, *, guessing=None, majority=None, chance=None, labels=None, per=1):
    """A curve of ``per`` rows an epoch, with a score before training and after each epoch."""
    rows = [
        {"step": 10 * n, "epoch": n / per, "loss": loss, "learning_rate": 0.1 / n}
        for n, loss in enumerate(losses, 1)
    ]
    if scores:
        rows.insert(0, {"step": 0, "epoch": 0.0})
        for row, score in zip(rows[::per], scores, strict=True):
            row["score"] = score
    facts = {"guessing_loss": guessing, "majority": majority, "chance": chance, "labels": labels}
    facts |= {"metric": "accuracy" if scores else None, "tokens_per_second": 5.0}
    return pa.Table.from_pylist([row | facts for row in rows], CURVES)


def judged(*arguments, **options) -> str | None:
    return Training("nli", 1, curve(*arguments, **options).to_pandas()).at_chance()


def test_a_score_is_at_chance_if_its_interval_reaches_guessing():
    options = {"majority": 33.0, "chance": 33.3, "labels": 400}  # standard error: 2.4 to 2.5 points
    assert judged([1.1, 1.1], [20, 34, 36], **options) == (
        "development accuracy 36.0, by guessing 33.3"
    )
    assert judged([1.1, 1.1], [20, 34, 39], **options) == ""
    assert judged([1.1, 1.1], [90, 34, 36], **options)  # the score before training is not learned
    assert judged([1.1, 1.1], [20, 34, 36], **options | {"labels": 4000}) == ""
    assert judged([1.1, 1.1], [20, 80, 80], **options | {"majority": 79.0})
    assert judged([1.1, 1.1], [20, 34, 36], **options | {"chance": None})


def test_without_a_score_the_loss_of_the_last_epoch_is_compared():
    options = {"guessing": 1.1, "per": 2}
    assert judged([0.2, 0.2, 1.11, 1.13], **options) == "training loss 1.12, by guessing 1.1"
    assert judged([1.1, 1.1, 0.9, 0.8], **options) == ""
    assert judged([1.1, 1.1, 1.5, 0.5], **options)  # 1.0 in the mean, with a wide interval
    assert judged([1.1, 0.9], guessing=1.1) == ""
    assert judged([5.0, 4.0]) is None  # an adjustment


# Pages


class Structure(HTMLParser):
    """Ids, links, images with their labels, and whether tags are closed in order."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.labels: list[str] = []
        self.lines = 0
        self.feed(page.read_text(encoding="utf-8"))
        self.close()
        assert not set(self.open) - {"html", "body"}

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        if tag not in ("meta", "img", "br", "link", "input"):
            self.open.append(tag)
        self.ids += [values["id"]] if "id" in values else []
        self.links += [values["href"]] if tag == "a" else []
        self.labels += [values["aria-label"]] if values.get("class") == "curve" else []

    def handle_startendtag(self, tag, attributes):
        self.lines += tag == "polyline"

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


LEARNED = {"scores": [20, 60, 80], "majority": 33.0, "chance": 33.3, "labels": 400}
COLLAPSED = LEARNED | {"scores": [20, 33, 33]}


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """A finished run with a record of its trainings."""
    folder = finished_run(tmp_path / "demo", {"ru": 10})
    trainings = {
        "runs/nli-ru.published/seed1": curve([1.1, 0.4], **LEARNED),
        "runs/nli-ru.published/seed2": curve([1.1, 1.1], **COLLAPSED),
        "runs/nli-ru.corrected/seed1": curve([1.1, 0.3], **LEARNED),
        "runs/adjusted-ru/seed1": curve([50.0, 20.0]),
        "encoders/many": curve([6.0, 3.0], guessing=5.5),
    }
    for name, table in trainings.items():
        write_parquet(table, folder / name / "training.parquet")
    runs = {"nli-ru.published": [1, 2, 3], "nli-ru.corrected": [1], "adjusted-ru": [1]}
    seeds = {run: {"seeds": numbers, "hours": 0.1} for run, numbers in runs.items()}
    record = {
        "artifacts": {
            f"{PAPER}/table1": {"runs": seeds, "encoders": ["many"]},
            "other2021/table1": {"runs": {}, "encoders": []},
        },
        "families": {run: run.partition("-")[0] for run in runs},
        "runs": dict.fromkeys(runs, "NLI on <mnli>"),
        "encoders": {"many": "trained here"},
    }
    (folder / "provenance.json").write_text(json.dumps(record | {"root": "."}))
    return folder


def write_pages(folder: Path) -> tuple[Structure, str]:
    """Write index and training page; return the structure of the latter, and the index."""
    record = json.loads((folder / "provenance.json").read_text()) | {"root": folder}
    families = families_of(record)
    setting = Setting("demo", False, record=record)
    write_training(families, folder / "training.html", setting=setting)
    write_index(
        read_verdicts(folder / "claims.csv"),
        folder / "index.html",
        titles={PAPER: "Toy et al. (2020)"},
        setting=Setting("demo", False),
        figures=[],
        links={"training.html": "curves"},
        root=folder,
        families=families,
    )
    return Structure(folder / "training.html"), (folder / "index.html").read_text()


def test_the_page_shows_all_runs_of_a_family_with_a_line_per_seed(results):
    page, _ = write_pages(results)
    text = (results / "training.html").read_text()
    sections = dict(re.findall(r'<section id="([\w-]+)">(.*?)</section>', text, re.DOTALL))
    assert list(sections) == ["adjusted", "nli", "pretraining"]
    assert re.findall(r"<h3>(.*?)</h3>", sections["nli"]) == [
        "nli-ru.corrected",
        "nli-ru.published",
    ]
    assert page.lines == 1 + 2 * 3 + 1  # the third seed has no curve
    assert len(page.labels) == 1 + 2 * 2 + 1
    assert "loss of nli-ru.published, first to last: 1.1 to 0.4, 1.1 to 1.1" in page.labels
    assert any("33: the most frequent class" in label for label in page.labels)
    assert sections["nli"].count('<line class="majority"') == 2
    assert sections["nli"].count('<line class="chance"') == 2
    assert "<line" not in sections["adjusted"]
    assert 'class="guessing_loss"' in sections["pretraining"]
    # 33 of 100 is 59.4 of 90 from the bottom; the two plots of a run have as many epochs.
    assert 'points="0.0,72.0 120.0,60.3 240.0,60.3"' in sections["nli"]
    assert sections["nli"].count('class="bad"') == 2
    assert "NLI on &lt;mnli&gt;" in sections["nli"]
    assert len(page.ids) == len(set(page.ids))


def test_the_index_names_a_run_at_chance_and_no_other(results):
    page, index = write_pages(results)
    (named,) = re.findall(r'<details id="at-chance".*?</details>', index, re.DOTALL)
    assert "1 of 4 trainings is at chance" in named
    assert re.findall(r'<a href="training.html#(.*?)">', named) == ["nli/nli-ru.published"]
    assert "nli/nli-ru.published" in page.ids
    assert "seed 2: development accuracy 33.0, by guessing 33.3" in named
    assert "seed 1" not in named
    write_parquet(
        curve([1.1, 0.4], **LEARNED), results / "runs/nli-ru.published/seed2/training.parquet"
    )
    _, index = write_pages(results)
    assert "at-chance" not in index
    assert "all 4 trainings that can be compared with guessing are better" in index


def test_a_paper_shows_its_trainings_alone(results):
    record = json.loads((results / "provenance.json").read_text()) | {"root": results}
    assert [family.name for family in families_of(record, PAPER)] == [
        *("adjusted", "nli", "pretraining")
    ]
    assert families_of(record, "other2021") == []
    assert families_of({}) == []


@needs_axe
@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [400, 1280])
def test_the_page_passes_an_accessibility_check(results, width, dark):
    write_pages(results)
    found = check(results / "training.html", width=width, dark=dark)
    assert found["wrong"] == []
    assert found["size"][1] <= found["size"][0]


def test_a_fitted_head_has_a_line_for_each_of_its_seeds(results):
    for seed in (2, 1):
        path = results / f"encoders/many/head/seed{seed}.training.parquet"
        path.parent.mkdir(exist_ok=True)
        write_parquet(curve([6.0, 3.0], guessing=5.5), path)
    record = json.loads((results / "provenance.json").read_text()) | {"root": results}
    (heads,) = [it for it in families_of(record) if it.name == "language-model heads"]
    (panel,) = heads.panels
    assert panel.run == "many"
    assert [len(plot.lines) for plot in panel.plots] == [2] * len(panel.plots)
