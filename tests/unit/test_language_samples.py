"""Languages of which a vocabulary has too little, before any data are here."""

import os
from pathlib import Path

import pytest
from configs import ROOT
from tokenizers import Tokenizer
from tokenizers.models import WordLevel, WordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer, Whitespace

from mbert_atlas.languages import Languages
from workflow.samples import MOST_UNKNOWN_NAMES, unknown_names

MIRROR = os.environ.get("MBERT_ATLAS_MIRROR")


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_word_that_the_vocabulary_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tokenizer = Tokenizer(WordLevel({"[UNK]": 0, "Deutsch": 1}, "[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    shares = unknown_names(["en", "de", "xx", "zh-Hant"], tmp_path)
    assert shares.keys() == {"en", "de", "zh-Hant"}
    assert shares["en"] == shares["zh-Hant"] == 1.0
    assert 0.99 < shares["de"] < 1.0
    again, opened = [], "workflow.samples.coverage"
    monkeypatch.setattr(opened, lambda table, _: again.append(table["language"].unique()) or {})
    assert unknown_names(["de", "xx"], tmp_path) == {"de": shares["de"]}
    assert not again
    assert unknown_names(["de", "fr"], tmp_path) == {"de": shares["de"]}
    assert again.pop().to_pylist() == ["fr"]
    (tmp_path / "tokenizer.json").touch()
    assert unknown_names(["de"], tmp_path) == {}
    assert again.pop().to_pylist() == ["de"]


@pytest.mark.skipif(not MIRROR, reason="MBERT_ATLAS_MIRROR is not set")
def test_languages_that_mberts_vocabulary_lacks(tmp_path: Path) -> None:
    vocabulary = Path(str(MIRROR)) / "mbert-vocab/vocab.txt"
    tokenizer = Tokenizer(WordPiece.from_file(str(vocabulary), unk_token="[UNK]"))
    tokenizer.normalizer = BertNormalizer(lowercase=False)
    tokenizer.pre_tokenizer = BertPreTokenizer()
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    languages = Languages.read(ROOT / "resources/languages.csv")
    shares = unknown_names([language.code for language in languages], tmp_path)
    lacking = {code for code, share in shares.items() if share > MOST_UNKNOWN_NAMES}
    assert len(shares) > 100
    assert lacking == {"am", "km", "lo", "or", "si", "ug"}
