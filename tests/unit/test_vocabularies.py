"""Every vocabulary spells the texts that it was trained on, without an unknown subword."""

import lzma
import os
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import XLMRobertaConfig, XLMRobertaModel

from mbert_atlas.config.training import Extension
from mbert_atlas.encoders.extension import extend_vocabulary
from mbert_atlas.encoders.loading import load_tokenizer, save_encoder
from mbert_atlas.encoders.unigram import train_unigram
from mbert_atlas.encoders.wordpiece import train_wordpiece
from mbert_atlas.errors import AtlasError
from mbert_atlas.files import read_json
from mbert_atlas.miniature.concepts import Sampler
from mbert_atlas.miniature.language import MINIATURE_LANGUAGES
from mbert_atlas.miniature.meanings import draw_meaning

SHIPPED = sorted((Path(__file__).parents[2] / "resources/encoders").iterdir())
MIRROR = os.environ.get("MBERT_ATLAS_MIRROR")
SAMPLER = Sampler(3)
MEANINGS = [draw_meaning(SAMPLER) for _ in range(40)]
TEXTS = {
    code: [language.sentence(meaning).text for meaning in MEANINGS]
    for code, language in MINIATURE_LANGUAGES.items()
}
# What NFKC or trimming would change, or a limit of frequency or length would leave out.
HARD = [
    "น้ำ ทำ คำ",
    "你好，世界（１００％）：好；好？",
    "wait… ﬁve ½ ² ℃ Å A\u030a e\u0301",
    "no\u00a0break, wide\u3000space, zero\u200bwidth, join\u200der, \u2028line\ttab",
    " one  two   ",
    "ab cd " * 1000 + "ж",
]
OTHERS = [text for code, texts in TEXTS.items() if code != "zh" for text in texts]


def unknown(folder: Path, texts: list[str]) -> list[str]:
    """Return the texts in which a tokenizer has an unknown subword."""
    tokenizer: Any = load_tokenizer(folder)
    rows = tokenizer(texts, add_special_tokens=False)["input_ids"]
    assert all(rows)
    return [text for text, ids in zip(texts, rows, strict=True) if tokenizer.unk_token_id in ids]


@pytest.fixture
def encoder(tmp_path: Path) -> Path:
    """Write an XLM-R whose vocabulary is of all languages but Chinese."""
    train_unigram(OTHERS, tmp_path / "tokenizer", 1000)
    shape: dict[str, Any] = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1}
    torch.manual_seed(0)
    config = XLMRobertaConfig(vocab_size=len(load_tokenizer(tmp_path / "tokenizer")), **shape)
    save_encoder(XLMRobertaModel(config), tmp_path / "tokenizer", tmp_path / "encoder")
    return tmp_path / "encoder"


def test_a_unigram_vocabulary(tmp_path: Path) -> None:
    texts = [*OTHERS, *TEXTS["zh"], *HARD]
    train_unigram(texts, tmp_path / "tokenizer", 1500)
    assert unknown(tmp_path / "tokenizer", texts) == []
    tokenizer: Any = load_tokenizer(tmp_path / "tokenizer")
    assert len(tokenizer) == 1500
    assert {*"，（１％ำ…ﬁ½ж"} <= tokenizer.get_vocab().keys()
    assert not [name for name in tokenizer.get_vocab() if name != name.strip()]
    assert unknown(tmp_path / "tokenizer", ["鬱", "a"]) == ["鬱"]


@pytest.mark.parametrize("folder", SHIPPED, ids=lambda folder: folder.name)
def test_shipped_vocabularies(folder: Path) -> None:
    """They spell other sentences of the languages that they were trained on."""
    trained = read_json(folder / "made.json")["specification"]["datasets"]
    languages = {code for dataset in trained.values() for code in dataset["languages"]}
    texts = [text for code in languages & TEXTS.keys() for text in TEXTS[code]]
    assert unknown(folder, texts) == []


def test_a_wordpiece_vocabulary(tmp_path: Path) -> None:
    texts = [*OTHERS, *TEXTS["zh"]]
    train_wordpiece(texts, tmp_path / "tokenizer", 1500)
    assert unknown(tmp_path / "tokenizer", texts) == []


def test_an_extended_unigram_vocabulary(encoder: Path, tmp_path: Path) -> None:
    texts = [*TEXTS["zh"], *HARD]
    assert len(unknown(encoder, texts)) > len(TEXTS["zh"])
    extend_vocabulary(Extension(vocabulary_size=500), encoder, texts, tmp_path / "out", seed=1)
    assert unknown(tmp_path / "out", [*texts, *OTHERS]) == []


@pytest.mark.parametrize(("texts", "size"), [([], 100), (["".join(map(chr, range(97, 123)))], 20)])
def test_what_no_vocabulary_can_be_learnt_from(tmp_path: Path, texts: list[str], size: int) -> None:
    with pytest.raises(AtlasError, match="raise vocabulary_size to hold every character, or add"):
        train_unigram(texts, tmp_path / "tokenizer", size)
    assert not (tmp_path / "tokenizer").exists()


@pytest.mark.skipif(not MIRROR, reason="MBERT_ATLAS_MIRROR is not set")
def test_real_texts_in_many_scripts(tmp_path: Path) -> None:
    files = sorted(Path(str(MIRROR)).glob("universal-dependencies/UD_*-PUD/*.conllu.xz"))
    texts = []
    for path in files:
        with lzma.open(path, "rt", encoding="utf-8") as lines:
            texts += [line[9:].strip() for line in lines if line.startswith("# text = ")][:250]
    assert len(texts) > 3000
    train_unigram(texts, tmp_path / "tokenizer", 8000)
    assert unknown(tmp_path / "tokenizer", texts) == []
