"""Initial word embeddings, close to those of translations."""

from pathlib import Path

import numpy as np
import pytest
import torch
from configs import config_errors
from tiny_models import make_tokenizer
from toy_tables import write_bitext

from mbert_atlas.arrays import load_arrays
from mbert_atlas.config.training import Pretraining
from mbert_atlas.encoders.aligned_start import count_subwords_by_unit, start_embeddings
from mbert_atlas.encoders.wordpiece import train_wordpiece
from mbert_atlas.encoding.pretraining import encode_texts
from mbert_atlas.errors import DataError
from mbert_atlas.tokenizer import open_tokenizer
from mbert_atlas.training import pretraining
from mbert_atlas.training.pretraining import pretrain


def bitext(path: Path, pairs: list[tuple[str, str]]) -> Path:
    return write_bitext(path, [(english.split(), other.split()) for english, other in pairs])


def test_a_sentence_and_all_its_translations_are_one_unit(tmp_path):
    tokenizer = make_tokenizer(tmp_path)
    one = bitext(tmp_path / "one", [("the cat", "a a"), ("the dog", "b 🜁"), ("cat", "a")])
    two = bitext(tmp_path / "two", [("the dog", "你 好"), ("sees dogs", "好 the")])
    counts, subwords = count_subwords_by_unit([one, two], tokenizer, pairs=2)
    names = [open_tokenizer(tokenizer).id_to_token(number) for number in subwords]
    assert names == ["the", "cat", "dog", "sees", "##s", "a", "b", "你", "好"]  # [UNK] is no word
    by_subword = dict(zip(names, counts.toarray().astype(int).tolist(), strict=True))
    # Units: the cat; the dog, whose English counts once; sees dogs.
    assert by_subword["the"] == [1, 1, 1]
    assert by_subword["a"] == [2, 0, 0]
    assert by_subword["dog"] == by_subword["好"] == [0, 1, 1]
    assert by_subword["##s"] == [0, 0, 1]


@pytest.fixture(scope="module")
def bilingual(tmp_path_factory):
    """Random sentences of 30 words in two bitexts, word for word, and their tokenizer."""
    folder = tmp_path_factory.mktemp("bilingual")
    letters, random = "abcdefghij", np.random.default_rng(0)
    words = [one + two for one in "xyz" for two in letters]
    sentences = [random.choice(words, 6) for _ in range(200)]
    # Two in three of the sentences are in both.
    for name, part in (("A", sentences[:150]), ("B", sentences[50:])):
        pairs = [(" ".join(some), " ".join(name + word for word in some)) for some in part]
        bitext(folder / name, pairs)
    texts = [prefix + word for prefix in ("", "A", "B") for word in words] * 3
    train_wordpiece(texts, folder / "tokenizer", 400)
    return folder, words


def test_translations_start_close_to_each_other(bilingual, tmp_path):
    folder, words = bilingual
    tokenizer, bitexts = folder / "tokenizer", [folder / "A", folder / "B"]
    for name in ("start", "again"):
        start_embeddings(bitexts, tokenizer, tmp_path / name, dims=20, deviation=0.1, seed=1)
    for file in ("pieces.npy", "vectors.npy"):
        assert (tmp_path / "start" / file).read_bytes() == (tmp_path / "again" / file).read_bytes()
    start = load_arrays(tmp_path / "start")
    subwords, vectors = start.dense("pieces"), start.dense("vectors")
    assert np.all(np.diff(subwords) > 0)
    np.testing.assert_allclose(np.sqrt(np.square(vectors).mean(1)), 0.1, rtol=1e-5)
    row = {open_tokenizer(tokenizer).id_to_token(subword): n for n, subword in enumerate(subwords)}
    english = vectors[[row[word] for word in words]]
    for name in "AB":
        other = vectors[[row[name + word] for word in words]]
        assert np.mean((other @ english.T).argmax(1) == np.arange(len(words))) > 0.9


def test_too_few_sentences_are_rejected(bilingual, tmp_path):
    folder, _ = bilingual
    options = {"dims": 20, "deviation": 0.1, "pairs": 10, "seed": 1}
    with pytest.raises(DataError, match=r"in 10 English sentences .* do not give 20 dimensions"):
        start_embeddings([folder / "A"], folder / "tokenizer", tmp_path / "s", **options)
    assert not (tmp_path / "s").exists()


def test_pretraining_starts_with_them(bilingual, tmp_path, monkeypatch):
    folder, _ = bilingual
    tokenizer = folder / "tokenizer"
    start_embeddings([folder / "A"], tokenizer, tmp_path / "start", dims=16, deviation=0.1, seed=1)
    encode_texts({"en": ["xa yb"]}, tokenizer, tmp_path / "store", max_length=16)
    started = []
    monkeypatch.setattr(pretraining, "train", lambda model, *_, **__: started.append(model))
    spec = Pretraining(hidden_size=16, layers=1, heads=2)
    where = [tokenizer, tmp_path / "store", tmp_path / "m"]
    for start in (None, tmp_path / "start"):
        pretrain(spec, *where, seed=3, start=start)
    (drawn, begun) = (model.get_input_embeddings().weight for model in started)
    stored = load_arrays(tmp_path / "start")
    seen = torch.zeros(len(drawn), dtype=torch.bool)
    seen[torch.from_numpy(stored.dense("pieces").astype(int))] = True
    expected = torch.from_numpy(np.array(stored.dense("vectors")))
    torch.testing.assert_close(begun[seen].detach(), expected)
    assert torch.equal(drawn[~seen], begun[~seen])
    assert 0 < seen.sum() < len(seen)
    assert started[1].cls.predictions.decoder.weight is begun  # tied
    with pytest.raises(DataError, match=r"not of length 8"):
        pretrain(Pretraining(hidden_size=8), *where, seed=3, start=tmp_path / "start")


def test_a_bitext_of_subwords_is_rejected(tmp_path):
    text = """
datasets:
  mine: {corpus: bitext, made_from: wikimatrix, encoder: mbert, languages: [ru]}
encoders:
  mbert:
    hub: null
    scratch:
      texts: [wikipedia]
      pretraining: {}
      aligned_start: {bitexts: [mine]}
"""
    message = config_errors(tmp_path, text)
    assert "key encoders.mbert.scratch.aligned_start.bitexts" in message
    assert "'mine' is not defined as a bitext of words" in message
