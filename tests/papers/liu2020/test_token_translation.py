"""BLEU-1, token sets and rates, language means, and predictions from shifted hidden states."""

from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pytest
import torch
from configs import ROOT
from reading import MIRROR, mirrored, needs_mirror, read_table
from sacrebleu.metrics.bleu import BLEU
from tiny_models import SPECIAL_TOKENS, WORDS, make_encoder, make_tokenizer, text_table
from transformers import BertConfig, BertForPreTraining

from mbert_atlas.analysis.resampling import resamples
from mbert_atlas.arrays import Ragged, load_arrays, save_arrays
from mbert_atlas.cells import Cell
from mbert_atlas.corpora import nli
from mbert_atlas.encoders.hidden_states import iterate_hidden_states
from mbert_atlas.encoders.hooks import Hook, hooked
from mbert_atlas.encoders.loading import load_encoder, load_masked_model, save_encoder
from mbert_atlas.encoders.wordpiece import write_tokenizer
from mbert_atlas.encoding import encode
from mbert_atlas.encoding.texts import encode_parallel, inner, token_set
from mbert_atlas.errors import DataError
from mbert_atlas.papers.liu2020.measures import count_token_sets
from mbert_atlas.papers.liu2020.token_translation import (
    _resampled,
    bleu1,
    token_counts,
    translate_tokens,
)
from mbert_atlas.representations.language_vectors import (
    language_means,
    mean_difference,
    random_vectors,
)
from mbert_atlas.representations.shifted_predictions import predict_shifted
from mbert_atlas.schemas import NLI_PAIRS

PLAIN = [word for word in WORDS if not word.startswith("##")]


def rows(*found: list[int]) -> Ragged:
    return Ragged.from_rows(found, np.int32)


def two_sides(random: np.random.Generator) -> list[Ragged]:
    """Forty sentences and their references."""
    return [
        rows(*(random.integers(0, 9, n).tolist() for n in random.integers(1, 8, 40))) for _ in "ab"
    ]


def test_bleu_is_that_of_sacrebleu() -> None:
    random = np.random.default_rng(0)
    sides = two_sides(random)
    flags = np.zeros(9, dtype=bool)
    counts = token_counts(*sides, flags, flags)
    corpus = bleu1({name: each.sum() for name, each in counts.items()})
    texts = [
        [" ".join(map(str, row)) for row in map(side.__getitem__, range(40))] for side in sides
    ]
    judge = BLEU(max_ngram_order=1, tokenize="none", smooth_method="none", force=True)
    assert corpus == pytest.approx(judge.corpus_score(texts[0], [texts[1]]).score)
    each = BLEU(max_ngram_order=1, tokenize="none", smooth_method="none", effective_order=True)
    scores = [each.sentence_score(one, [two]).score for one, two in zip(*texts, strict=True)]
    assert bleu1(counts) == pytest.approx(scores)


def test_convert_rate_by_hand() -> None:
    source, target = (np.array(flags, dtype=bool) for flags in ([1, 0, 1, 0], [0, 1, 1, 0]))
    # With only s, only t, shared and neither: s t b n t has 2 of 4.
    found = token_counts(rows([0, 1, 2, 3, 1], [2]), rows([1], [2]), source, target)
    assert found["converted"].tolist() == [2, 0]
    assert found["counted"].tolist() == [4, 0]


def test_counted_tokens_are_those_of_a_loop() -> None:
    random = np.random.default_rng(0)
    sides = two_sides(random)
    source, target = (random.random(9) < 0.5 for _ in "ab")
    expected: dict[str, list[int]] = defaultdict(list)
    for number in range(40):
        counts: Counter[str] = Counter()
        left = Counter(sides[1][number].tolist())
        for token in sides[0][number].tolist():
            is_translated = target[token] and not source[token] and left[token] > 0
            counts["tokens"] += 1
            counts["shared"] += left[token] > 0
            counts["in_source"] += source[token]
            counts["in_neither"] += not (source[token] or target[token])
            counts["converted"] += target[token] and not source[token]
            counts["counted"] += not (source[token] and target[token])
            counts["translated"] += is_translated
            left[token] -= 1
        counts["expected"] = len(sides[1][number])
        for name, count in counts.items():
            expected[name].append(count)
    found = token_counts(*sides, source, target)
    assert {name: each.tolist() for name, each in found.items()} == expected
    assert all(map(any, expected.values()))


@needs_mirror
def test_token_sets_have_the_sizes_that_the_paper_reports(tmp_path: Path) -> None:
    """Table 3, from all pairs of XNLI; with the development set English would have 10,737."""
    if not (path := Path(str(MIRROR)) / "mbert-vocab/vocab.txt").exists():
        pytest.skip("the mirror has no vocabulary of mBERT, mbert-vocab/vocab.txt")
    wordpieces = path.read_text("utf-8").rstrip("\n").split("\n")
    write_tokenizer(wordpieces, tmp_path / "tokenizer")
    reported = pd.read_csv(ROOT / "resources/reported/liu2020.csv")
    reported = reported[reported["artifact"] == "table3"]
    languages = ["en", *sorted(set(reported["target"]) - {"en"})]
    labels = {"test": [mirrored("xnli/superGLEBer-de/test.txt")], "dev": []}
    tables = []
    for split, partners in labels.items():
        options = {"format": "xtreme", "split": split, "partners": partners, "folder": tmp_path}
        files = [(code, mirrored(f"xnli/xtreme/{split}-{code}.tsv*")) for code in languages]
        read = [read_table(nli.read, path, code, **options)[0] for code, path in files]
        tables.append(pa.concat_tables(read))
    store = tmp_path / "store"
    encode_parallel(tables, languages, tmp_path / "tokenizer", store, max_length=128)
    ours = pd.DataFrame(count_token_sets([Cell(path=str(store))]))
    both = [frame.set_index(["target", "metric"])["value"].to_dict() for frame in (ours, reported)]
    assert both[0] == both[1]
    assert len(both[0]) == 14


def test_tokens_of_a_language_are_those_between_the_special_ones() -> None:
    some = rows([2, 5, 7, 3], [2, 3], [2, 5, 3])
    assert np.flatnonzero(token_set(some, 9)).tolist() == [5, 7]
    assert [row.tolist() for row in map(inner(some).__getitem__, range(3))] == [[5, 7], [], [5]]


def pairs(languages: list[str]) -> pa.Table:
    texts = {
        "en": [("the cat", "a dog"), ("the cat", "the dog sees"), ("a cat sees", "a dog")],
        "zh": [("你 好", "好"), ("你", "好 你 好"), ("你 你", "好 好")],
    }
    found = [
        (f"pair{number}", code, "test", *sides, "neutral", None)
        for code in languages
        for number, sides in enumerate(texts[code])
    ]
    return pa.table(list(map(list, zip(*found, strict=True))), schema=NLI_PAIRS)


def test_parallel_sentences_are_taken_once(tmp_path: Path) -> None:
    tokenizer = make_tokenizer(tmp_path)
    table = pairs(["en", "zh"])
    encode_parallel([table, table], ["en", "zh"], tokenizer, tmp_path / "store", max_length=4)
    store = load_arrays(tmp_path / "store")
    assert store.dense("part").tolist() == [0] * 4 + [1] * 4
    ids = store.ragged("input_ids")
    words = [[WORDS[number - 5] for number in ids[row][1:-1]] for row in range(16)]
    assert words[:4] == [["the", "cat"], ["a", "dog"], ["the", "dog"], ["a", "cat"]]
    assert words[8:12] == [["你", "好"], ["好"], ["好", "你"], ["你", "你"]]


def test_a_pair_that_a_language_lacks(tmp_path: Path) -> None:
    table, tokenizer = pairs(["en", "zh"]).slice(0, 5), make_tokenizer(tmp_path)
    for code, problem in (("zh", "pair pair2 is missing, which en has"), ("de", "it has no pairs")):
        with pytest.raises(DataError, match=f"language {code}: {problem}"):
            encode_parallel([table], ["en", code], tokenizer, tmp_path / "s", max_length=9)


def test_language_means_by_hand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mbert_atlas.encoders.hidden_states.fitting_tokens", lambda device: 40)
    encoder = make_encoder(tmp_path, make_tokenizer(tmp_path))
    random = np.random.default_rng(0)
    some = [" ".join(random.choice(PLAIN, n)) for n in random.integers(1, 9, 20)]
    table = text_table(some, ["en", "ru"] * 10)
    encode("text", table, encoder, tmp_path / "texts", max_length=32)
    options = {"languages": ["ru", "en"], "texts": 100}
    language_means(encoder, tmp_path / "texts", tmp_path / "means", **options)
    means = load_arrays(tmp_path / "means")
    model, ids = load_encoder(encoder), load_arrays(tmp_path / "texts").ragged("input_ids")
    of_texts, of_tokens = [], []
    for number in range(1, 20, 2):
        (batch,) = iterate_hidden_states(model, ids, layers=[0, 1, 2], rows=np.array([number]))
        states = torch.stack([state[0] for state in batch.layers]).numpy()
        of_texts.append(states.mean(axis=1))
        of_tokens.append(states[:, 1:-1])
    assert means.dense("means_of_texts")[0] == pytest.approx(np.mean(of_texts, axis=0), abs=1e-5)
    tokens = np.concatenate(of_tokens, axis=1).mean(axis=1)
    assert means.dense("means_of_tokens")[0] == pytest.approx(tokens, abs=1e-5)
    gap = means.dense("means_of_texts")[1] - means.dense("means_of_texts")[0]
    assert mean_difference(means, "published", "ru", "en") == pytest.approx(gap, abs=1e-6)
    options["languages"] = ["hi"]
    with pytest.raises(DataError, match="language hi: there is no text"):
        language_means(encoder, tmp_path / "texts", tmp_path / "more", **options)


@pytest.fixture
def masked(tmp_path: Path) -> Path:
    config = BertConfig(
        vocab_size=5 + len(WORDS),
        hidden_size=16,
        num_hidden_layers=3,
        num_attention_heads=2,
        intermediate_size=32,
        initializer_range=0.5,
    )
    torch.manual_seed(0)
    save_encoder(BertForPreTraining(config), make_tokenizer(tmp_path), tmp_path / "masked")
    return tmp_path / "masked"


@torch.no_grad()
def test_shifted_predictions_are_those_of_full_passes(
    masked: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fitting = "mbert_atlas.representations.shifted_predictions.fitting_tokens"
    monkeypatch.setattr(fitting, lambda device: 16)
    model = load_masked_model(masked, 0).eval()
    random = np.random.default_rng(0)
    ids = rows(*([2, *random.integers(5, 19, n).tolist(), 3] for n in [4, 1, 6, 3]))
    shifts = random.normal(size=(4, 16)).astype(np.float32)
    found = predict_shifted(model, ids, shifts, [0, 2, 3], [0.0, 1.5])
    for (layer, weight), tokens in found.items():
        for number in range(4):
            added = weight * torch.from_numpy(shifts[layer])
            with hooked(model.base_model, [Hook(layer, added.add)]):
                logits = model(torch.from_numpy(ids[number].astype(np.int64))[None])
            expected = logits.prediction_logits[0, 1:-1].argmax(dim=-1)
            assert tokens[number].tolist() == expected.tolist()
    # The last state and its shift: what the head makes of the sum.
    assert found[3, 0.0].values.tolist() == found[0, 0.0].values.tolist()
    assert found[3, 1.5].values.tolist() != found[3, 0.0].values.tolist()


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        # The development set has the same words and "sees" twice, which is then of no language.
        (None, [(4, 4, 4, 0), (10, 10, 8, 2)]),
        # "the cat"; "a cat sees", of which the test set's second sentence has "a"
        (1, [(2, 2, 2, 0), (3, 3, 2, 1)]),
    ],
)
def test_token_sets_are_those_of_all_test_sentences(
    masked: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    limit: int | None,
    expected: list[tuple[int, ...]],
) -> None:
    table = pairs(["en", "zh"])
    test = table.filter(pc.equal(table["id"], "pair0"))  # the cat, a dog
    development = table.take(np.arange(len(table))[::-1])
    encode_parallel([test, development], ["en", "zh"], masked, tmp_path / "pairs", max_length=9)
    arrays = {name: np.zeros((2, 4, 16)) for name in ("means_of_texts", "means_of_tokens")}
    save_arrays(tmp_path / "means", arrays, {"languages": ["zh", "en"]})
    module = "mbert_atlas.papers.liu2020.token_translation"
    monkeypatch.setattr(f"{module}.predict_shifted", lambda _, ids, *more: {(1, 0.0): inner(ids)})
    paths = (masked, tmp_path / "pairs", tmp_path / "means")
    options: Any = {"layers": [1], "weights": [0.0], "limit": limit}
    found = translate_tokens(*paths, source="en", target="zh", **options).to_pylist()
    assert [
        (row["tokens"], row["counted"], row["in_source"], row["in_neither"])
        for row in found
        if row["protocol"] == "published"
    ] == expected


def test_sentences_to_show_are_sentences_of_the_test_set(masked: Path, tmp_path: Path) -> None:
    encode_parallel([pairs(["en", "zh"])], ["en", "zh"], masked, tmp_path / "pairs", max_length=9)
    arrays = {name: np.zeros((2, 4, 16)) for name in ("means_of_texts", "means_of_tokens")}
    save_arrays(tmp_path / "means", arrays, {"languages": ["zh", "en"]})
    options: Any = {"source": "en", "target": "zh", "layers": [1], "weights": [0.0]}
    sentence = "no test sentence 4 to show, of 4 for zh; name sentences from 0 to 3 in liu2020"
    with pytest.raises(DataError, match=sentence):
        translate_tokens(masked, tmp_path / "pairs", tmp_path / "means", shown=[0, 4], **options)


def test_a_direction(masked: Path, tmp_path: Path) -> None:
    encode_parallel([pairs(["en", "zh"])], ["en", "zh"], masked, tmp_path / "pairs", max_length=9)
    random = np.random.default_rng(1)
    arrays = {
        name: random.normal(size=(2, 4, 16)) for name in ("means_of_texts", "means_of_tokens")
    }
    save_arrays(tmp_path / "means", arrays, {"languages": ["zh", "en"]})
    table = translate_tokens(
        masked,
        tmp_path / "pairs",
        tmp_path / "means",
        source="en",
        target="zh",
        layers=[1, 3],
        weights=[0.0, 1.0, 9.0],
        shown=[0, 3],
        random_layers=[3],
        seeds=[4, 5],
    ).to_pandas()
    assert len(table) == 2 * 2 * 3 + 2 * 2 * 3
    at_random = table[table["seed"].notna()]
    assert set(zip(at_random["layer"], at_random["seed"], strict=True)) == {(3, 4), (3, 5)}
    assert set(table["n"]) == {4}
    again = np.stack(table["resampled_converted"])
    assert again.shape == (len(table), 400)
    assert again.mean(axis=1) == pytest.approx(table["converted"].to_numpy(), abs=0.5)
    whole = table[table["weight"] == 0]
    assert whole["corpus_bleu"].nunique() == 1  # without a shift neither layer nor mean matters
    assert all(len(samples) == 2 for samples in table["samples"])
    assert (table["converted"] <= table["counted"]).all()
    # The last state and its shift: what the head makes of the sum.
    model = load_masked_model(masked, 0).eval()
    means = load_arrays(tmp_path / "means").dense("means_of_texts")
    vector = random_vectors(means[0] - means[1], 4, "en", "zh")[3]
    sentences = load_arrays(tmp_path / "pairs").ragged("input_ids")
    ids = torch.from_numpy(sentences[0].astype(np.int64))[None]
    with torch.no_grad():
        state = model.bert(ids).last_hidden_state + 9 * torch.from_numpy(vector)
        tokens = model.cls.predictions(state)[0, 1:-1].argmax(dim=-1).tolist()
    (row,) = at_random.query("seed == 4 and weight == 9 and protocol == 'published'").to_dict(
        "records"
    )
    words = " ".join([*SPECIAL_TOKENS, *WORDS][token] for token in tokens)
    assert row["samples"][0] == words.replace(" ##", "")


def test_scores_of_resampled_sentences() -> None:
    random = np.random.default_rng(0)
    sides = two_sides(random)
    source, target = random.random((2, 9)) < 0.6
    counts = token_counts(*sides, source, target)
    counts["mean_bleu"] = bleu1(counts)
    found = _resampled(counts)
    times = resamples([f"sentence {number}" for number in range(40)])
    order = sorted(range(40), key=lambda number: f"sentence {number}")
    for number in (0, 399):
        drawn = [side.take(np.repeat(order, times[number])) for side in sides]
        again = token_counts(drawn[0], drawn[1], source, target)
        sums = {name: each.sum() for name, each in again.items()}
        assert found["mean_bleu"][number] == pytest.approx(bleu1(again).mean(), abs=1e-4)
        assert found["corpus_bleu"][number] == pytest.approx(bleu1(sums), abs=1e-4)
        for name, total in sums.items():
            assert found[name][number] == total
