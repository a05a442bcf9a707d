"""A config for another encoder over the presets of a night: layers, head, tokenizer, memory."""

import json
import re
import shutil
from pathlib import Path

import pytest
import torch
from internet import Answer
from transformers import AutoConfig, AutoModel

from mbert_atlas import papers
from mbert_atlas.__main__ import main
from mbert_atlas.encoders.opening import require_opening
from mbert_atlas.languages import Languages
from mbert_atlas.plan.plan import Plan
from mbert_atlas.sources.mirror import write_manifest
from mbert_atlas.sources.register import Register, snapshot_path
from workflow import own_encoder
from workflow.files import check_files
from workflow.needs import check_needs

NIGHT = [Path("config/small.yaml"), Path("config/night.yaml")]
SHIPPED = Path("resources/encoders/many")
COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture(autouse=True)
def opened_here(monkeypatch):
    """Encoders are opened in this process; tests/unit/test_encoder_mistakes.py has the other."""
    monkeypatch.setattr(own_encoder, "check_opening", require_opening)
    monkeypatch.setattr("workflow.files.check_opening", require_opening)


def write_encoder(folder: Path, kind: str, layers: int, width: int = 32) -> Path:
    """Write an encoder with random weights and the demo's tokenizer."""
    size = json.loads((SHIPPED / "config.json").read_text())["vocab_size"]
    sizes = {"hidden_size": width, "num_hidden_layers": layers, "intermediate_size": 2 * width}
    if kind == "distilbert":
        sizes = {"dim": width, "n_layers": layers, "hidden_dim": 2 * width, "n_heads": 2}
    else:
        sizes["num_attention_heads"] = 2
    usual = {"vocab_size": size, "max_position_embeddings": 514, "pad_token_id": 0}
    torch.manual_seed(0)
    AutoModel.from_config(AutoConfig.for_model(kind, **usual, **sizes)).save_pretrained(folder)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(SHIPPED / name, folder)
    return folder


def written(source: str, output: Path, *options: str) -> Plan:
    """The plan of the night with the config that the command writes."""
    main(["encoder", source, "--output", str(output), "--configfile", *map(str, NIGHT), *options])
    languages = Languages.read("resources/languages.csv")
    codes = [item.code for item in languages]
    return Plan(papers.load([*NIGHT, output], languages=codes), languages)


@pytest.mark.parametrize(
    ("kind", "layers", "reinitialised", "without"),
    [
        ("bert", 12, "11-12", 0),
        ("xlm-roberta", 12, "11-12", 0),
        ("distilbert", 6, "5-6", 2),
        ("modernbert", 22, "21-22", 2),
    ],
)
def test_every_size_has_its_layers(tmp_path, capsys, kind, layers, reinitialised, without):
    folder = write_encoder(tmp_path / "model", kind, layers)
    plan = written(f"folder:{folder}", tmp_path / f"night-{kind}.yaml")
    head = (tmp_path / f"night-{kind}.yaml").read_text().splitlines()[0]
    assert head.endswith("to be given after config/small.yaml config/night.yaml.")
    first, *others = capsys.readouterr().out.splitlines()
    assert f"{kind}, {layers} layers of 32" in first
    left_out = set(papers.names()) - set(plan.papers)
    assert len(others) == len(left_out) == without
    for line in others:
        assert re.match(rf"Without ({'|'.join(left_out)}): .*through a pooler", line)
    plan.config.encoders["mbert"] = plan.config.encoders["mbert"].model_copy(
        update={"allow_unknown": True}
    )
    check_needs(plan, ["all"])
    config = plan.config
    assert config.run == f"night-{kind}"
    encoder = config.encoders["mbert"]
    assert (encoder.hub, encoder.folder) == (None, str(folder))
    assert (encoder.sentencepiece, encoder.language_model_head) == (
        False,
        None if without else "fitted",
    )
    stated = [getattr(getattr(config, paper), "layers", None) for paper in plan.papers]
    assert layers in stated
    runs = {run.family: run.specification["hyperparameters"] for run in plan.runs}
    assert runs[f"pos-{reinitialised}"]["reinitialised_layers"] == [reinitialised]
    assert {f"1-{layers}"} == set(runs["parsing-all"]["reinitialised_layers"])
    check_files(plan)  # names layers that the encoder does not have


def test_only_subwords_with_word_boundaries_are_sentencepiece(tmp_path):
    folder = write_encoder(tmp_path / "model", "xlm-roberta", 12)
    path = folder / "tokenizer.json"
    content = json.loads(path.read_text("utf-8"))
    words = content["model"]["vocab"]
    last = max(words, key=words.__getitem__)
    words["▁"] = words.pop(last)
    path.write_text(json.dumps(content), "utf-8")
    plan = written(f"folder:{folder}", tmp_path / "night-pieces.yaml")
    assert plan.config.encoders["mbert"].sentencepiece


def test_memory_and_time_grow_with_the_weights(tmp_path, monkeypatch):
    folder = write_encoder(tmp_path / "model", "bert", 12)
    plan = written(f"folder:{folder}", tmp_path / "night-little.yaml")
    below = papers.load(NIGHT).resources
    assert plan.config.resources == below
    # multilingual BERT: 85 million in its layers, 92 in its word embeddings
    monkeypatch.setattr(own_encoder, "count_weights", lambda _: (85_200_000, 192_000_000))
    config = written(f"folder:{folder}", tmp_path / "night-large.yaml").config
    for rule, item in config.resources.items():
        more = 1500 if item.gpu else 0  # 16 B * 63.9 million + 4 B * 96 million
        assert item.mem_mb == below[rule].mem_mb + more
        assert item.runtime == below[rule].runtime * (4 if item.gpu else 1)


def test_the_newest_revision_of_the_hub_is_pinned_and_comes_from_the_mirror(
    tmp_path, internet, monkeypatch
):
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", internet.url)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)  # loading sets it
    answer = json.dumps({"id": "org/name", "sha": COMMIT, "siblings": []}).encode()
    internet.files = {"/api/models/org/name": Answer(answer)}
    mirror = tmp_path / "mirror"
    path = snapshot_path("org/name", COMMIT)
    write_encoder(mirror / path, "bert", 12)
    write_manifest(mirror, Register.read("resources/sources.yaml"))
    (here := tmp_path / "here.yaml").write_text(f"downloads: {tmp_path / 'downloads'}\n")
    output = tmp_path / "night-name.yaml"
    command = ["encoder", "hub:org/name", "--output", str(output), "--mirror", str(mirror)]
    main([*command, "--configfile", *map(str, [*NIGHT, here])])
    encoder = papers.load([*NIGHT, here, output]).encoders["mbert"]
    assert encoder.hub.model_dump() == {"repository": "org/name", "revision": COMMIT}
    assert (tmp_path / "downloads" / path / "model.safetensors").is_file()


def test_mistakes_are_one_sentence(tmp_path, internet, monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", internet.url)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)  # loading sets it
    (tmp_path / "empty").mkdir()
    for source, sentence in {
        "hub:org/name@main": "'main' is no commit; write its 40 digits",
        "org/name": r"org/name: this names no encoder; write hub:",
        f"folder:{tmp_path}/none": "there is no such folder; correct the path",
        f"folder:{tmp_path}/empty": r"config\.json: the encoder folder lacks this file",
        "hub:org/name": r"hub did not return it \(.*\); check the name, or state the rev",
    }.items():
        with pytest.raises(SystemExit, match=sentence):
            main(["encoder", source, "--output", str(tmp_path / "no.yaml")])
    assert not (tmp_path / "no.yaml").exists()
    (here := tmp_path / "here.yaml").write_text("offline: true\n")
    with pytest.raises(SystemExit, match="offline is set, and no revision is stated; write hub:"):
        main(["encoder", "hub:a/b", "--output", "no.yaml", "--configfile", str(here)])
