"""Runs are listed and explained: every value with the line of the config that it comes from."""

import re
from pathlib import Path

import pytest
from configs import ROOT

from mbert_atlas import papers
from mbert_atlas.__main__ import main
from mbert_atlas.plan.explain import Origins, describe, list_runs

PAPER, OTHER, *_ = papers.names()
MINE = """\
runs:
  base:
    kind: finetuning
    paper: PAPER
    encoder: adjusted
    encoding: inference
    train: multinli
    evaluate: {xnli: [en]}
    published: {optimisation: {epochs: 7}}
    corrected:
      optimisation: {epochs: 8}
    search:
      draws: 1
      space: {head.dropout: [0.2]}
      evaluate: {xnli-dev: [en]}
      choose_by: {published: {metric: accuracy}, corrected: {metric: accuracy}}
  derived-*: {like: base, encoder: mbert, search: null, variants: {x: {head: {dropout: 0.3}}}}
  same: {like: base, encoder: mbert, search: null, paper: OTHER}
  twin: {like: same, paper: PAPER}
encodings: {inference: {max_length: 32}}
""".replace("PAPER", PAPER).replace("OTHER", OTHER)


@pytest.fixture(scope="module")
def config(tmp_path_factory):
    path = tmp_path_factory.mktemp("config") / "mine.yaml"
    path.write_text(MINE)
    return papers.load([path], ROOT), papers.files([path], ROOT)


@pytest.fixture(scope="module")
def origins(config):
    return Origins(*config)


@pytest.mark.parametrize(
    ("run", "key", "line"),
    [
        ("base-hi.published", "runs.base.train", 7),
        ("base-hi.published", "runs.base.evaluate.xnli", 8),
        ("base-hi.published", "runs.base.encoder", 5),
        ("base-hi.published", "encodings.inference.max_length", 20),
        ("base-hi.published", "runs.base.published.optimisation.epochs", 9),
        ("base-hi.corrected", "runs.base.corrected.optimisation.epochs", 11),
        ("base-hi-draw01", "runs.base.search.space.head.dropout", 14),
        ("base-hi-draw01", "runs.base.published.optimisation.epochs", 9),
        ("base-hi-draw01", "runs.base.search.evaluate.xnli-dev", 15),
        ("derived-x.published", "runs.derived-x.published.head.dropout", 17),
        ("derived-x.published", "runs.derived-x.encoder", 17),
        ("derived-x.corrected", "runs.derived-x.corrected.optimisation.epochs", 11),
        ("same.published", "runs.same.kind", 3),
    ],
)
def test_a_value_comes_from_the_last_line_that_decides_it(origins, run, key, line):
    found = {key: place for key, place, _ in describe(origins.runs[run], origins)}
    assert found[key].endswith(f"mine.yaml, line {line}")


def test_what_no_file_decides_is_a_default(origins):
    found = {key: place for key, place, _ in describe(origins.runs["same.published"], origins)}
    assert found["runs.same.published.optimisation.betas"] == "default"
    assert re.search(r"config/config.yaml, line \d+$", found["seeds"])


@pytest.mark.parametrize("preset", ["demo", "small"])
def test_every_line_names_the_key(preset):
    """In the presets, where the papers' families inherit in all ways."""
    overlays = [ROOT / f"config/{preset}.yaml"]
    origins = Origins(papers.load(overlays, ROOT), papers.files(overlays, ROOT))
    lines = {path: path.read_text().splitlines() for path in papers.files(overlays, ROOT)}
    checked = 0
    for run in origins.runs:
        for name, place, value in describe(run, origins):
            if place == "default":
                continue
            path, number = place.rsplit(", line ", 1)
            line = lines[Path(path)][int(number) - 1]
            key = name.rpartition(".")[2]
            assert re.search(rf"\b{key}\b", line), (run.id, name, place)
            if key in ("learning_rate", "epochs", "max_length") and "-draw" not in run.id:
                stated = re.search(rf"\b{key}: ([\d.e-]+)", line)
                assert float(stated[1]) == float(value), (run.id, name, place)
                checked += 1
    assert checked > 100


def test_a_shared_run_is_listed_once_with_its_papers(config):
    rows = {row[0]: row[1:] for row in list_runs(config[0])}
    assert rows["same.published"][-1] == f"{PAPER} {OTHER}"
    assert "twin.published" not in rows
    assert rows["run"] == ("kind", "task", "methods", "seeds", "papers")
    kind, task, methods, seeds, _ = rows["nli-continual-hi.published"]
    assert (kind, task, methods, seeds) == ("finetuning", "nli", "replay", "1 2 3 4 5")


@pytest.mark.parametrize("command", ["check", "runs", "export x --paper y --output z"])
def test_commands_start_in_the_repository(tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit, match="not the folder of the repository; start this command"):
        main(command.split())


def test_the_command_line_lists_runs_and_names_mistakes(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    main(["runs", "--configfile", "config/demo.yaml"])
    assert re.search(r"^nli +finetuning +nli +1 2 ", capsys.readouterr().out, re.MULTILINE)
    main(["check", "config/demo.yaml"])
    assert capsys.readouterr().out == "No mistakes found.\n"
    mine = tmp_path / "mine.yaml"
    mine.write_text("a:\n  - 1\n b: 2\n")
    with pytest.raises(SystemExit, match=rf"^{mine}, line 3: not YAML"):
        main(["check", "config/demo.yaml", str(mine)])
    with pytest.raises(SystemExit, match=r"^There is no run 'nlj'; did you mean nli"):
        main(["show", "nlj", "--configfile", "config/demo.yaml"])


def test_runs_that_begin_likewise_are_suggested(monkeypatch):
    monkeypatch.chdir(ROOT)
    with pytest.raises(SystemExit, match=r"no run 'pos'; did you mean .*pos-en.*\?$"):
        main(["show", "pos", "--configfile", "config/demo.yaml"])


def test_a_check_looks_for_folders(tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    path = tmp_path / "mine.yaml"
    path.write_text("mirror: /no/such\nencoders:\n  mbert: {folder: /no/such}\n")
    with pytest.raises(SystemExit) as caught:
        main(["check", "config/demo.yaml", str(path)])
    message = str(caught.value)
    assert f"{path}, line 1, key mirror: there is no folder /no/such" in message
    assert f"{path}, line 3, key encoders.mbert.folder: /no/such: there is no such fol" in message
