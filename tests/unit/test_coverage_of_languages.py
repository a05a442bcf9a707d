"""Languages that a tokenizer does not know: counted, and an error before anything is trained."""

from pathlib import Path
from typing import Any

import pytest
from tiny_models import NLI_LABELS, TAGS, make_tokenizer, nli_table, sentence_table, text_table

from mbert_atlas.encoding import encode
from mbert_atlas.encoding.coverage import MOST_UNKNOWN, coverage, require_known
from mbert_atlas.errors import DataError
from mbert_atlas.files import read_json

AMHARIC = ["\u1230\u120b\u121d", "\u1290\u12cd"]


def test_shares_are_of_subwords_and_words(tmp_path: Path) -> None:
    tokenizer = make_tokenizer(tmp_path)
    texts = ["the cats", "un-able zzz", "the"]
    table = text_table(texts, ["en", "en", "de"])
    assert coverage(table, tokenizer) == {  # cat ##s; un - [UNK] [UNK]
        "de": {"unknown": 0.0, "subwords_per_word": 1.0},
        "en": {"unknown": 0.2857, "subwords_per_word": 1.75},
    }
    words = sentence_table([text.split() for text in texts[:2]], [["NOUN"] * 2] * 2)
    assert coverage(words, tokenizer) == {"en": coverage(table, tokenizer)["en"]}


@pytest.mark.parametrize("task", ["tagging", "parsing"])
def test_a_treebank_in_an_unknown_script(tmp_path: Path, task: str) -> None:
    tokenizer = make_tokenizer(tmp_path)
    trees = [[2, 0]] * 180, [["dep", "root"]] * 180
    table = sentence_table([AMHARIC] * 180, [["NOUN", "VERB"]] * 180, *trees)
    labels: dict[str, Any] = {"labels": TAGS} if task == "tagging" else {}
    sentence = r"language en: 100% of the subwords are \[UNK\].*allow_unknown: true"
    with pytest.raises(DataError, match=sentence):
        encode(task, table, tokenizer, tmp_path / "store", **labels, allow_unknown=False)
    assert not (tmp_path / "store").exists()
    encode(task, table, tokenizer, tmp_path / "store", allow_unknown=True, **labels)
    share = read_json(tmp_path / "store" / "meta.json")["coverage"]["en"]
    assert share == {"unknown": 1.0, "subwords_per_word": 1.0}


def test_texts_of_other_tasks(tmp_path: Path) -> None:
    tokenizer = make_tokenizer(tmp_path)
    table = nli_table(20)
    encode("nli", table, tokenizer, tmp_path / "store", labels=NLI_LABELS)
    assert set(read_json(tmp_path / "store/meta.json")["coverage"]) == {"de", "en"}
    texts = text_table([" ".join(AMHARIC)] * 3 + ["the cat"], ["am"] * 3 + ["en"])
    with pytest.raises(DataError, match="language am"):
        encode("text", texts, tokenizer, tmp_path / "texts", allow_unknown=False)


def test_the_limit(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    at = {"xx": {"unknown": MOST_UNKNOWN, "subwords_per_word": 1.0}}
    above = {"xx": {"unknown": MOST_UNKNOWN + 1e-4, "subwords_per_word": 1.0}}
    require_known(at, tmp_path, allow_unknown=False)
    with pytest.raises(DataError, match="language xx"):
        require_known(above, tmp_path, allow_unknown=False)
    require_known(above, tmp_path, allow_unknown=True)
    assert "language xx: 5% of the subwords are [UNK]" in caplog.text
