"""What artifacts need of an encoder: known from its files or config, checked before any job."""

import json
import re
import shutil
import string
from pathlib import Path
from typing import Any

import pytest
import torch
from configs import LANGUAGES, ROOT, config
from tiny_models import make_encoder, make_tokenizer
from transformers import (
    BertConfig,
    BertForMaskedLM,
    BertForPreTraining,
    BertModel,
    DistilBertConfig,
    DistilBertModel,
)

from mbert_atlas import papers
from mbert_atlas.__main__ import main
from mbert_atlas.corpora.scripts import scripts_in
from mbert_atlas.encoders.families import positions_of
from mbert_atlas.encoders.folders import facts_of
from mbert_atlas.encoders.loading import load_masked_model, load_tokenizer, save_encoder
from mbert_atlas.encoders.unigram import train_unigram
from mbert_atlas.encoders.wordpiece import SPECIAL_TOKENS, write_tokenizer
from mbert_atlas.errors import DataError
from mbert_atlas.plan.needs import Facts, Need
from mbert_atlas.plan.plan import Plan
from workflow.needs import TEXT_TASKS, check_needs, runs_of

SCRIPTS = frozenset(["Hans", "Hant", "Jpan", "Kore", "Latn"])
PARTS = ("head", "pooler", "layers", "tokenizer")
SIZES = {"vocab_size": 19, "hidden_size": 8, "num_attention_heads": 2, "intermediate_size": 8}


def test_facts_come_from_the_headers_of_the_files(tmp_path: Path) -> None:
    tokenizer = make_tokenizer(tmp_path)
    found = facts_of(make_encoder(tmp_path, tokenizer))
    assert found == Facts(2, False, True, "WordPiece", "bert", 64, SCRIPTS)
    for kind, pooler in ((BertForPreTraining, True), (BertForMaskedLM, False)):
        shape = BertConfig(num_hidden_layers=3, **SIZES)
        save_encoder(kind(shape), tokenizer, tmp_path / kind.__name__)
        found = facts_of(tmp_path / kind.__name__)
        assert found == Facts(3, True, pooler, "WordPiece", "bert", 512, SCRIPTS)


def test_a_model_without_a_head_predicts_nothing(tmp_path: Path) -> None:
    encoder = make_encoder(tmp_path, make_tokenizer(tmp_path))
    with pytest.raises(DataError, match=r"no language-model head.*language_model_head: fitted"):
        load_masked_model(encoder)
    assert torch.equal(*(load_masked_model(encoder, 1).cls.predictions.bias for _ in range(2)))


HERE = Facts(12, head=False, pooler=False, tokenizer="BPE")


@pytest.mark.parametrize(
    ("need", "sentence"),
    [
        (Need("e", "head"), "no language-model head.*`encoders.e.language_model_head: fitted`"),
        (Need("e", "pooler", "p.pooling"), "no trained pooler.*`p.pooling: mean` or `cls`"),
        (Need("e", "layers", "p.layers", 4), "p.layers is 4, and the encoder 'e' has 12.*write 12"),
        (Need("e", "layer", "p.deep", 13), "about layer 13, and the encoder 'e' has 12.*up to 12"),
        (Need("e", "tokenizer"), "of kind BPE, not WordPiece or Unigram"),
        (Need("e", "layers", "p.layers", 12), ""),
        (Need("e", "layer", "p.deep", 12), ""),
    ],
)
def test_what_an_encoder_lacks_is_one_sentence(need: Need, sentence: str) -> None:
    found = need.unmet(HERE)
    assert re.search(sentence, "; ".join(found)) if sentence else found is None
    assert need.unmet(Facts(need.value or 1, True, True, "Unigram")) is None


def plan_of(folder: Path | None, **changes: Any) -> Plan:
    here = {"hub": None, "folder": str(folder), "allow_unknown": True}
    encoders = {"mbert": here} if folder else {}
    if folder:  # only the checks read it
        with_positions(folder, 512)
    changed = {"papers": papers.names(), "encoders": encoders, "comparable": False, **changes}
    return Plan(config(**changed), LANGUAGES, home=ROOT)


def labelling(plan: Plan, texts: bool = False) -> list[str]:
    """The targets of artifacts whose runs of this encoder label words only, or texts, too."""
    asked = {name for part in ("head", "layers", "layer", "pooler") for name in needing(plan, part)}
    found = []
    for paper, item in plan.shown(""):
        runs = [run for run in runs_of(plan, [(paper, item.name)]) if run.base == "mbert"]
        tasks = {run.task for run in runs if run.kind == "finetuning"}
        if runs and bool(tasks & TEXT_TASKS) == texts:
            found.append(f"{paper}_{item.name}")
    return [name for name in found if name not in asked]


def with_positions(folder: Path, count: int, **changes: Any) -> Path:
    path = folder / "config.json"
    changes["max_position_embeddings"] = count
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))
    return folder


def needing(plan: Plan, part: str) -> list[str]:
    """The targets of artifacts that need a part of an encoder."""
    return [
        f"{paper}_{name}"
        for paper, item in plan.papers.items()
        for name, needs in item.needs.items()
        if part in [need.part for need in needs]
    ]


def test_only_requested_artifacts_need_something(tmp_path: Path) -> None:
    plan = plan_of(make_encoder(tmp_path, make_tokenizer(tmp_path)))  # two layers
    every = [f"{paper}_{item.name}" for paper, item in plan.shown("")]
    demanding = {name for part in ("head", "layers", "layer") for name in needing(plan, part)}
    check_needs(plan, [*sorted({*every} - demanding), "results/x.csv"])
    (first, *_) = needing(plan, "head")
    paper, _, name = first.partition("_")
    measurement = f"{plan.results}/measurements/{paper}/{name}.csv"
    for targets in ([], ["all"], ["highlights"], [paper], [first], [measurement]):
        with pytest.raises(DataError, match=f"'mbert' has no language-model head.*{first}"):
            check_needs(plan, targets)
    for part, sentence in (
        ("layers", r"layers is 12, and the encoder 'mbert' has 2; write 2"),
        ("layer", r"is about layer 12, and the encoder 'mbert' has 2; name layers up to 2"),
    ):
        with pytest.raises(DataError, match=sentence):
            check_needs(plan, needing(plan, part))


def test_a_fitted_head_is_enough_and_encoders_on_the_hub_are_not_known(tmp_path: Path) -> None:
    shape = BertConfig(num_hidden_layers=12, **SIZES)
    tokenizer, folder = make_tokenizer(tmp_path), tmp_path / "encoder"
    save_encoder(BertForMaskedLM(shape).bert, tokenizer, folder)
    bare = plan_of(folder)
    with pytest.raises(DataError, match="no language-model head"):
        check_needs(bare, needing(bare, "head"))
    head = {
        "hub": None,
        "folder": str(folder),
        "allow_unknown": True,
        "language_model_head": "fitted",
    }
    head["allow_unknown"] = True
    check_needs(plan_of(None, encoders={"mbert": head}), needing(bare, "head"))
    with pytest.raises(DataError, match=r"no trained pooler.*pooling: mean` or `cls`"):
        check_needs(bare, needing(bare, "pooler"))
    plan = plan_of(None, downloads=str(tmp_path / "downloads"))
    check_needs(plan, ["all"])
    shutil.copytree(folder, tmp_path / "downloads" / plan.snapshot("mbert"))
    with pytest.raises(DataError, match="no language-model head"):
        check_needs(plan, ["all"])


def test_texts_that_are_longer_than_the_encoder_takes(tmp_path: Path) -> None:
    plan = plan_of(make_encoder(tmp_path, make_tokenizer(tmp_path)))
    target = labelling(plan)[0]
    check_needs(plan, [target])
    with_positions(tmp_path / "encoder", 100)
    with pytest.raises(DataError, match=r"encodings.\S+max_length: \d+ subwords.*takes 100; write"):
        check_needs(plan, [target])
    roberta = {"pad_token_id": 1, "model_type": "roberta"}
    positions = [
        positions_of({"max_position_embeddings": 514, **changes})
        for changes in (roberta, roberta | {"model_type": "bert"}, {"model_type": "xlm-roberta"})
    ]
    assert positions == [512, 514, 512]
    assert positions_of({"model_type": "bert"}) is None


def test_encoders_without_a_pooler_or_a_head_that_is_read(tmp_path: Path) -> None:
    tokenizer, folder = make_tokenizer(tmp_path), tmp_path / "encoder"
    sizes = {"vocab_size": 19, "dim": 8, "n_heads": 2, "hidden_dim": 8, "n_layers": 12}
    save_encoder(DistilBertModel(DistilBertConfig(**sizes)), tokenizer, folder)
    plan = plan_of(folder)
    words = labelling(plan)
    assert len(words) > 5
    check_needs(plan, words)
    for target in labelling(plan, texts=True)[:2]:
        with pytest.raises(DataError, match=r"texts are classified through a pooler.*distilbert"):
            check_needs(plan, [target])
    with pytest.raises(DataError, match="is of distilbert, whose language-model head is not read"):
        check_needs(plan, needing(plan, "head"))
    fitted = {
        "hub": None,
        "folder": str(folder),
        "allow_unknown": True,
        "language_model_head": "fitted",
    }
    with pytest.raises(DataError, match="no head is fitted on encoders of distilbert"):
        check_needs(plan_of(None, encoders={"mbert": fitted}), needing(plan, "head"))
    check_needs(plan_of(None, encoders={"mbert": fitted}), words)  # need none


def test_scripts_without_a_letter_in_the_vocabulary(tmp_path: Path) -> None:
    folder = with_positions(make_encoder(tmp_path, make_tokenizer(tmp_path)), 512)
    encoder = {"hub": None, "folder": str(folder)}
    target = labelling(plan_of(folder))[0]
    what = r"mbert.*no letter of \w+ \(\w+\).*`remove_languages: \[\w.*`allow_unknown: true`"
    with pytest.raises(DataError, match=what):
        check_needs(plan_of(None, encoders={"mbert": encoder}), [target])
    check_needs(plan_of(None, encoders={"mbert": encoder | {"allow_unknown": True}}), [target])
    plan = plan_of(None, encoders={"mbert": encoder})
    run = next(run for run in plan.runs if run.base == "mbert" and run.kind == "finetuning")
    file = f"results/x/runs/{run.id}/seed1/predictions.parquet"
    with pytest.raises(DataError, match=what):
        check_needs(plan, [file])
    added = plan_of(None, encoders={"mbert": encoder}, add_languages=["am"])
    with pytest.raises(DataError, match="take am out of `add_languages` and write in the config"):
        check_needs(added, ["all"])
    assert scripts_in("aя。") == {"Latn", "Cyrl"}


def test_vocabularies_with_the_letters_but_few_words_of_a_language(tmp_path: Path) -> None:
    """The letters are those of ASCII, which Vietnamese and others mark."""
    letters = [mark + letter for mark in ("", "##") for letter in string.ascii_letters]
    tokens = [*SPECIAL_TOKENS, *letters]
    write_tokenizer(tokens, tmp_path / "tokenizer")
    shape = BertConfig(num_hidden_layers=12, **{**SIZES, "vocab_size": len(tokens)})
    folder = tmp_path / "encoder"
    save_encoder(BertModel(shape), tmp_path / "tokenizer", folder)
    assert facts_of(folder).scripts == {"Latn"}
    encoder = {"hub": None, "folder": str(folder)}
    plan = plan_of(None, encoders={"mbert": encoder})
    (target, *_) = labelling(plan_of(folder))
    what = r"are \[UNK\] in Czech \([3-9]\d%\).*`remove_languages: \[ar, "
    with pytest.raises(DataError, match=what):
        check_needs(plan, ["all"])
    check_needs(plan_of(None, encoders={"mbert": encoder | {"allow_unknown": True}}), [target])


def test_check_says_that_the_encoder_cannot_make_all(tmp_path, monkeypatch, capsys) -> None:
    folder = make_encoder(tmp_path, make_tokenizer(tmp_path))
    (mine := tmp_path / "mine.yaml").write_text(
        f"comparable: false\nencoders:\n  mbert:\n    folder: {folder}\n"
    )
    monkeypatch.chdir(ROOT)
    main(["check", str(mine)])
    printed = capsys.readouterr().out
    assert "No mistakes found." not in printed
    assert "The files are right, but not every figure and table can be made: " in printed
    assert re.search(rf"{mine}, line \d, key encoders.mbert: its vocabulary has no letter", printed)


def test_sentencepiece_is_declared_as_the_files_have_it(tmp_path: Path) -> None:
    """So that runs do not depend on whether files are here yet."""
    train_unigram(["the cat sees a dog , dogs see cats"] * 20, tmp_path / "tokenizer", 40)
    size = len(load_tokenizer(tmp_path / "tokenizer"))
    shape = BertConfig(num_hidden_layers=12, **{**SIZES, "vocab_size": size})
    save_encoder(BertForPreTraining(shape), tmp_path / "tokenizer", tmp_path / "encoder")
    assert facts_of(tmp_path / "encoder").tokenizer == "Unigram"
    encoder: dict[str, Any] = {"hub": None, "folder": str(tmp_path / "encoder")}
    encoder["allow_unknown"] = True
    with pytest.raises(DataError, match=r"mbert.sentencepiece.*write `sentencepiece: true`"):
        check_needs(plan_of(None, encoders={"mbert": encoder}), ["results/x.csv"])
    # Encoders trained from scratch with its tokenizer have it, too.
    check_needs(plan_of(None, encoders={"mbert": encoder | {"sentencepiece": True}}), ["all"])
    plan = plan_of(make_encoder(tmp_path / "other", make_tokenizer(tmp_path / "other")))
    plan.config.encoders["mbert"] = plan.config.encoders["mbert"].model_copy(
        update={"sentencepiece": True}
    )
    with pytest.raises(DataError, match=r"not SentencePiece's; write `sentencepiece: false`"):
        check_needs(plan, ["results/x.csv"])


def test_the_presets_of_the_repository_fit_their_encoders() -> None:
    for preset in ("demo", "small"):
        read = papers.load([ROOT / f"config/{preset}.yaml"], ROOT)
        check_needs(Plan(read, LANGUAGES, home=ROOT), ["all"])


def test_all_of_no_paper_is_a_mistake() -> None:
    plan = plan_of(None, papers=[])
    for targets in ([], ["all"], ["results/x.csv", "highlights"]):
        with pytest.raises(DataError, match="key papers: no paper is selected, so '"):
            check_needs(plan, targets)
    check_needs(plan, ["results/x.csv", "fetch"])


def test_the_page_has_all_needs() -> None:
    """The table in docs/own-data.md has the artifacts of the paper preset and their needs."""
    text = (ROOT / "docs/own-data.md").read_text(encoding="utf-8")
    rows = text.partition("| paper | figures and tables |")[2].partition("\n\n")[0].splitlines()[2:]
    listed = set()
    for paper, names, *marks in (map(str.strip, row.strip("|").split("|")) for row in rows):
        parts = [part for part, mark in zip(PARTS, marks, strict=True) if mark]
        listed |= {(paper, name.strip(), part) for name in names.split(",") for part in parts}
    needed = {
        (paper, name, "layers" if need.part == "layer" else need.part)
        for paper, plan in plan_of(None).papers.items()
        for name, needs in plan.needs.items()
        for need in needs
    }
    assert listed == needed
