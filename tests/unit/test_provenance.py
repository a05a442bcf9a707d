"""Pages, JSON and RO-Crate state what tables and figures were made from."""

import json
import os
import re
import subprocess
from functools import reduce
from pathlib import Path

import pytest
import yaml
from configs import ROOT
from snakemake.persistence import MetadataRecord
from snakemake.persistence.file import FilePersistence

from mbert_atlas import __version__, papers
from mbert_atlas.config.merging import merge
from mbert_atlas.config.reading import read_yaml
from mbert_atlas.plan.explain import in_short
from mbert_atlas.plan.runs import RunTable
from mbert_atlas.scorecard.citations import SOFTWARE, read_citations
from mbert_atlas.scorecard.crate import write_crate
from mbert_atlas.scorecard.provenance import (
    Record,
    Tracer,
    code_version,
    read_trace,
    trace,
    write_config,
)
from mbert_atlas.scorecard.templates import Setting, duration, render
from workflow.records import record_reader

RUN = "results/toy"
CITATION = ROOT / "CITATION.cff"
STORE = f"{RUN}/tokens/many/examples/inference/xnli"
DATA = [f"{RUN}/data/{name}.parquet" for name in ("xnli", "texts/hi", "pieces/hi")]
TRAINED = [f"{RUN}/runs/nli/seed{seed}/predictions.parquet" for seed in (1, 2)]
MEASURED = f"{RUN}/measurements/toy2020/table1.csv"
FIGURE = f"{RUN}/figures/toy2020/figure1.svg"
# Each file with its inputs, the log of its job, and the seconds at which that began and ended.
JOBS = {
    DATA[0]: (["downloads/xnli.zip"], "read/xnli", 0, 10),
    DATA[1]: (["downloads/hi.bz2"], "read/hi", 0, 10),
    f"{RUN}/data/unused.parquet": ([], "read/unused", 0, 1000),
    STORE: ([DATA[0]], "encode_examples/many/inference/xnli", 10, 10),
    TRAINED[0]: ([STORE, "encoders/many"], "finetune/nli/seed1", 20, 80),
    TRAINED[1]: ([*DATA, "encoders/many"], "finetune/nli/seed2", 20, 140),
    MEASURED: (TRAINED, "measure/toy2020/table1", 150, 152),
    FIGURE: ([MEASURED], "render_figure/toy2020/figure1", 160, 162),
}
STATED = {
    "run": "toy",
    "command": "snakemake --profile local --cores all --configfile toy.yaml --",
    "presets": "--configfile toy.yaml",
    "runs": {"nli": "NLI on xnli from many; epochs 2", "other": "not among them"},
    "families": {"nli": "nli", "other": "other"},
    "encoders": {"many": {"path": "encoders/many", "origin": "here"}},
    "artifacts": {
        "toy2020/figure1": {
            "target": "toy2020_figure1",
            "figures": [FIGURE],
            "tables": [],
            "measurements": [],
        }
    },
}


def record_of(name: str) -> Record | None:
    if name not in JOBS:
        return None
    inputs, log, started, ended = JOBS[name]
    return Record(tuple(inputs), f"{RUN}/logs/{log}.log", started, ended)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a run with its record, that of the highlights, and all files they name."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / RUN
    for log, seconds, cpu in (("seed1", 60, "90"), ("seed2", 120, "NA")):
        benchmark = folder / f"benchmarks/finetune/nli/{log}.tsv"
        benchmark.parent.mkdir(parents=True, exist_ok=True)
        benchmark.write_text(f"s\tmax_rss\tcpu_time\n{seconds}\t100\t{cpu}\n")
    (folder / "logs/finetune/nli").mkdir(parents=True)
    (folder / "logs/finetune/nli/seed2.log").write_text("used 2 GPU(s)\n")
    cards = {"xnli": "XNLI-1.0.zip at 1a2b", "texts/hi": "hiwiki.bz2: mirror", "texts/ru": "ru"}
    for name, source in cards.items():
        path = folder / f"data/{name}.card.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        card = {"dataset": name, "licence": "CC0", "read_from": [source], "source_files": []}
        path.write_text(json.dumps(card))
    made = ["figures/toy2020/figure1.svg", "figures/toy2020/figure1.png", "index.html"]
    for name in [*made, "measurements/toy2020/table1.csv", "config.yaml", "highlights/config.yaml"]:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("")
    for place in ("provenance.json", "highlights/provenance.json"):
        output = Path(RUN) / place
        tracer = Tracer(RUN, record_of, {"encoders/many": "many"})
        content = trace(STATED, tracer, output, output.with_name("config.yaml"))
        output.write_text(json.dumps(content | {"code": {"version": "9", "commit": "c0ffee"}}))
    return folder


def test_cards_of_encoders_have_what_jobs_measured(run: Path) -> None:
    tracer = Tracer(RUN, record_of, {"encoders/many": "many"})
    assert tracer.cards({}) == {}  # nothing was described yet
    tracer.describe([FIGURE])
    measured = {"en": {"unknown": 0.01, "subwords_per_word": 1.2}}
    store = Path(STORE)
    store.mkdir(parents=True)
    for meta, coverage in (
        ({"task": "nli", "coverage": measured}, {"xnli": {"task": "nli", "languages": measured}}),
        ({"task": "nli"}, {}),  # of an earlier version
    ):
        (store / "meta.json").write_text(json.dumps(meta))
        assert tracer.cards({"many": "here"}) == {"many": {"origin": "here", "coverage": coverage}}


def test_runs_data_encoders_and_cost_of_a_figure_are_those_behind_its_files(run: Path) -> None:
    content = read_trace(run / "highlights/provenance.json")
    item = content["artifacts"]["toy2020/figure1"]
    assert item["measurements"] == ["measurements/toy2020/table1.csv"]
    assert item["runs"] == {"nli": {"seeds": [1, 2], "hours": pytest.approx(180 / 3600)}}
    assert item["datasets"] == {
        "pieces": {"languages": ["hi"], "cards": [], "origins": []},
        "texts": {
            "languages": ["hi"],
            "cards": ["data/texts/hi.card.json"],
            "origins": ["texts/hi (CC0)", "hiwiki.bz2: mirror"],
        },
        "xnli": {
            "languages": [],
            "cards": ["data/xnli.card.json"],
            "origins": ["xnli (CC0)", "XNLI-1.0.zip at 1a2b"],
        },
    }
    assert item["encoded"] == {"many": ["xnli"]}
    # Two trainings by their benchmarks, five jobs of 10, 10, 0, 2 and 2 s by the clock.
    assert item["cost"] == {
        "jobs": 7,
        "wall_hours": pytest.approx((60 + 120 + 24) / 3600),
        "cpu_hours": pytest.approx(90 / 3600),
        "gpu_hours": pytest.approx(2 * 120 / 3600),
    }
    assert item["started"] == "1970-01-01T00:00:00+00:00"
    assert item["ended"] == "1970-01-01T00:02:42+00:00"
    assert content["runs"] == {"nli": STATED["runs"]["nli"]}
    assert content["encoders"] == {"many": "here"}
    assert (content["root"] / content["config"]).resolve() == run / "highlights/config.yaml"


def block(setting: Setting, output: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The block of the figure on a page."""
    from jinja2 import ChoiceLoader, DictLoader, PackageLoader

    page = '{% import "provenance.html.j2" as p with context %}'
    page += '{{ p.block("toy2020/figure1") }}{{ p.block("toy2020/none") }}{{ p.bibtex([paper]) }}'
    loaders = [DictLoader({"block.j2": page}), PackageLoader("mbert_atlas.scorecard", ".")]
    monkeypatch.setattr(
        "mbert_atlas.scorecard.templates.PackageLoader", lambda *names: ChoiceLoader(loaders)
    )
    output.parent.mkdir(parents=True, exist_ok=True)
    render("block.j2", output, setting, paper=papers.names()[0])
    return output.read_text()


def test_a_page_links_the_files_of_a_figure_and_states_what_it_was_made_from(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = read_trace(run / "highlights/provenance.json")
    setting = Setting("toy", True, record=record, citations=read_citations(CITATION))
    page = run / "highlights/papers/toy2020.html"
    text = block(setting, page, monkeypatch)
    links = [page.parent / link for link in re.findall(r'href="([^"]+)"', text)]
    assert [path.suffix for path in links] == [".svg", ".png", ".csv", ".yaml", ".json", ".json"]
    assert [str(path) for path in links if not path.is_file()] == []
    words = " ".join(re.sub("<[^>]+>", " ", text).split())
    for said in (
        "snakemake --profile local --cores all --configfile toy.yaml -- toy2020_figure1",
        "mbert-atlas 9, commit c0ffee",
        "7 jobs of 3.4 min in total, 1.5 min of CPU time, 4.0 min of GPU time",
        "many: here",
        "XNLI-1.0.zip at 1a2b",
        "nli 1, 2 NLI on xnli from many; epochs 2 3.0 min",
        "show nli --configfile toy.yaml",
        f"{{{papers.names()[0]},",
        "@software{mbert-atlas,",
    ):
        assert said in words
    assert text.count("<details") == 2
    assert not block(Setting("toy", True), page, monkeypatch).strip()


def test_without_records_a_page_says_so(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tracer = Tracer(RUN, lambda name: None, {})
    content = trace(STATED, tracer, run / "provenance.json", Path(RUN) / "config.yaml")
    record = content | {"root": run, "code": {"version": "9"}}
    text = block(Setting("toy", True, record=record), run / "page.html", monkeypatch)
    assert "Snakemake has no record of these files" in text
    assert "toy2020_figure1" in text


@pytest.mark.parametrize(
    ("hours", "text"), [(0.0, "0 s"), (42 / 3600, "42 s"), (0.05, "3.0 min"), (1234.5, "1,234.5 h")]
)
def test_durations_have_the_unit_that_fits(hours: float, text: str) -> None:
    assert duration(hours) == text


def test_records_are_those_that_snakemake_keeps(tmp_path: Path) -> None:
    long = "results/" + 30 * "a-long-folder/" + "figure.svg"
    times = {"starttime": 1.5, "endtime": 3.5}
    noted = MetadataRecord(input=["a", "b"], log=["x.log"], **times)
    FilePersistence(nolock=True, path=tmp_path)._write_record(long, noted)
    record_of = record_reader(tmp_path)
    assert record_of(long) == Record(("a", "b"), "x.log", 1.5, 3.5)
    assert record_of("results/other.svg") is None


def test_the_written_config_means_the_same(tmp_path: Path) -> None:
    demo = ROOT / "config/demo.yaml"
    merged = reduce(merge, map(read_yaml, papers.files([demo], ROOT)))
    output = tmp_path / "config.yaml"
    write_config(merged, output)
    written, given = (papers.load([path], ROOT).model_dump() for path in (output, demo))
    assert written == given


def test_runs_are_stated_in_a_line() -> None:
    runs = RunTable(papers.load([ROOT / "config/demo.yaml"], ROOT))
    assert in_short(runs["adjusted-hi.published"]) == (
        "adjustment on wikimatrix hi from mbert; epochs 1, batch size 32, learning rate 0.0003"
    )
    assert in_short(runs["parsing-en"]).startswith(
        "parsing on trees-train en from mbert with selection; epochs 3"
    )


def test_the_code_is_named_by_version_and_commit(tmp_path: Path) -> None:
    assert code_version(tmp_path) == {"version": __version__}

    def git(*words: str) -> str:
        who = ("-c", "user.name=a", "-c", "user.email=a@b")
        command = ["git", *who, *words]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True).stdout.strip()

    git("init")
    (tmp_path / "file").write_text("one")
    git("add", "file")
    git("commit", "-m", "one")
    git("tag", "-a", "v1", "-m", "one")
    commit = git("rev-parse", "HEAD")
    assert code_version(tmp_path)["commit"] == commit
    (tmp_path / "file").write_text("two")
    assert code_version(tmp_path)["commit"] == f"{commit}-dirty"


def test_every_paper_and_the_software_have_bibtex() -> None:
    entries, references = read_citations(CITATION), yaml.safe_load(CITATION.read_text())
    assert entries.keys() == {*papers.names(), SOFTWARE}
    assert f"version   = {{{__version__}}}" in entries[SOFTWARE]
    for paper, reference in zip([*entries][:-1], references["references"], strict=True):
        fields = dict(re.findall(r"^  (\w+) += \{(.*)\},?$", entries[paper], re.MULTILINE))
        assert fields["title"] == f"{{{reference['title']}}}"
        assert (
            fields["author"].split(" and ")[-1].startswith(reference["authors"][-1]["family-names"])
        )
        assert fields["year"] == str(reference["year"])


def crate_of(run: Path) -> Path:
    output = run / "ro-crate-metadata.json"
    pages = [Path(RUN) / "index.html"]
    record = Path(RUN) / "provenance.json"
    paths = record, Path(RUN) / output.name, Path(RUN) / "workflow.smk"
    write_crate(*paths, pages=pages, snakefile=ROOT / "Snakefile", citation=CITATION)
    return output


def test_the_crate_describes_the_run(run: Path) -> None:
    graph = json.loads(crate_of(run).read_text())["@graph"]
    entities = {entity["@id"]: entity for entity in graph}

    def references(value: object) -> list[str]:
        if isinstance(value, dict):
            inside = [name for item in value.values() for name in references(item)]
            return [value["@id"], *inside] if value.keys() == {"@id"} else inside
        return (
            [name for item in value for name in references(item)] if isinstance(value, list) else []
        )

    used = {name for entity in graph for item in entity.values() for name in references(item)}
    assert {name for name in used if not name.startswith("https://")} <= entities.keys()
    parts = [part["@id"] for part in entities["./"]["hasPart"]]
    assert "index.html" in parts
    assert all((run / part).is_file() for part in parts)
    assert entities["./"]["mainEntity"] == {"@id": "workflow.smk"}
    action = entities["#toy2020_figure1"]
    assert action["instrument"] == {"@id": "workflow.smk"}
    assert {item["@id"] for item in action["result"]} == {
        "figures/toy2020/figure1.svg",
        "figures/toy2020/figure1.png",
        "measurements/toy2020/table1.csv",
    }
    assert {item["@id"] for item in action["object"]} == {
        *("config.yaml", "#data-pieces", "#data-texts", "#data-xnli", "#encoder-many")
    }
    assert (action["startTime"], action["endTime"]) == (
        "1970-01-01T00:00:00+00:00",
        "1970-01-01T00:02:42+00:00",
    )


VALIDATE = """
import json, sys
import requests
from rocrate_validator import models, services

def send(self, request, **options):
    answer = requests.Response()
    answer.status_code, answer.url, answer.request = 200, request.url, request
    answer.headers["Content-Type"] = "application/ld+json"
    answer._content = sys.argv[2].encode()
    return answer

requests.adapters.HTTPAdapter.send = send  # the context of RO-Crate is not fetched
settings = services.ValidationSettings(
    rocrate_uri=sys.argv[1], profile_identifier="workflow-run-crate", no_cache=True,
    requirement_severity=models.Severity.REQUIRED, abort_on_first=False,
)
print(json.dumps([issue.message for issue in services.validate(settings).get_issues()]))
"""
_BIOSCHEMAS = "https://bioschemas.org/"
TERMS = {
    "File": "http://schema.org/MediaObject",
    "conformsTo": "http://purl.org/dc/terms/conformsTo",
    "ComputationalWorkflow": f"{_BIOSCHEMAS}ComputationalWorkflow",
    "FormalParameter": f"{_BIOSCHEMAS}FormalParameter",
    "input": f"{_BIOSCHEMAS}properties/input",
}
"""Terms of RO-Crate 1.1 that are not schema.org's."""


def test_the_crate_is_valid(run: Path) -> None:
    python = os.environ.get("MBERT_ATLAS_ROC_VALIDATOR")
    if not python:
        pytest.skip("MBERT_ATLAS_ROC_VALIDATOR is not set: a Python that has roc-validator")
    output = crate_of(run)
    graph = json.loads(output.read_text())["@graph"]
    words = {key for entity in graph for key in entity if not key.startswith("@")}
    for entity in graph:
        kinds = entity["@type"]
        words |= {kinds} if isinstance(kinds, str) else set(kinds)
    context = {"@context": {word: f"http://schema.org/{word}" for word in words} | TERMS}
    command = [python, "-c", VALIDATE, str(run), json.dumps(context)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout.splitlines()[-1]) == []
    broken = json.loads(output.read_text())
    broken["@graph"] = [item for item in graph if item["@id"] != "workflow.smk"]
    output.write_text(json.dumps(broken))
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout.splitlines()[-1])
