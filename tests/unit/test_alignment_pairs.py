import json
from collections import Counter

import numpy as np
import pytest
from tokenizers import Tokenizer
from tokenizers.models import WordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer
from tokenizers.processors import TemplateProcessing
from toy_tables import pairs_table, write_bitext
from transformers import BertConfig

from mbert_atlas.alignment.pairs import encode_word_pairs, word_pairs
from mbert_atlas.arrays import load_arrays
from mbert_atlas.config.model import Alignment
from mbert_atlas.errors import DataError
from mbert_atlas.files import sha256_of
from mbert_atlas.schemas import WORD_PAIRS

CLS, SEP = 1, 2


@pytest.fixture
def files(tmp_path):
    names = ("bitext", "pharaoh", "card")
    return {name: tmp_path / name for name in names}


def write(files, rows):
    """Rows are (source tokens, target tokens, links)."""
    write_bitext(files["bitext"], rows)
    lines = (" ".join(f"{i}-{j}" for i, j in sorted(row[2])) for row in rows)
    files["pharaoh"].write_text("".join(f"{line}\n" for line in lines))


def random_rows(seed, sentences=80):
    random = np.random.default_rng(seed)
    rows = []
    for _ in range(sentences):
        n, m = random.integers(0, 9, 2)
        words = [f"w{word}" for word in random.integers(0, 6, n + m)]
        cells = [(i, j) for i in range(n) for j in range(m)]
        count = min(len(cells), int(random.integers(0, 7)))
        links = [cells[k] for k in random.choice(len(cells), count, replace=False)] if cells else []
        rows.append((words[:n], words[n:], links))
    return rows


def in_loops(rows, maximum_words):
    """Kept (id, source tokens, links) by plain loops."""
    result = []
    for number, (source, target, links) in enumerate(rows):
        if not source or not target or len(source) > maximum_words or len(target) > maximum_words:
            continue
        sources, targets = Counter(i for i, _ in links), Counter(j for _, j in links)
        kept = [(i, j) for i, j in sorted(links) if sources[i] == 1 and targets[j] == 1]
        kept = [(i, j) for i, j in kept if source[i] != target[j]]
        result.append((f"s{number}", source, kept))
    return result


def pairs_of(table):
    assert table.schema.equals(WORD_PAIRS)
    return [
        (
            row["id"],
            row["source_tokens"],
            list(zip(row["source_index"], row["target_index"], strict=True)),
        )
        for row in table.to_pylist()
    ]


@pytest.mark.parametrize("seed", [0, 1])
def test_equal_to_loops(files, seed):
    rows = random_rows(seed)
    write(files, rows)
    tables = word_pairs(**files, held_out=7, seed=seed, language="xx", maximum_words=6)
    expected = in_loops(rows, 6)
    train, heldout = map(pairs_of, tables)
    assert sorted(train + heldout) == sorted(expected)
    assert len(heldout) == 7
    assert all(links for *_, links in heldout)
    assert train == [row for row in expected if row not in heldout]
    card = json.loads(files["card"].read_text())
    counts, dropped = card["counts"], card["dropped"]
    assert counts["pairs"] == sum(len(links) for *_, links in train)
    assert counts["held-out pairs"] == sum(len(links) for *_, links in heldout)
    assert counts["sentences with pairs"] == sum(bool(links) for *_, links in train)
    assert counts["sentences"] == len(train)
    for what, kept in (
        ("links", counts["pairs"] + counts["held-out pairs"]),
        ("sentences", len(train) + 7),
    ):
        lost = sum(n for reason, n in dropped.items() if reason.startswith(what))
        assert counts[f"{what} read"] == kept + lost


def test_the_seed_decides_what_is_held_out(files):
    write(files, random_rows(3))
    found = []
    for seed in (0, 0, 1):
        _, heldout = word_pairs(**files, held_out=10, seed=seed, language="xx")
        found.append(pairs_of(heldout))
    assert found[0] == found[1] != found[2]


def test_too_few_pairs(files):
    write(files, [(["a"], ["a"], [(0, 0)]), (["b"], ["c"], [])])
    with pytest.raises(DataError, match="no aligned word pair is left"):
        word_pairs(**files, held_out=0, seed=0, language="xx")
    assert not files["card"].exists()
    write(files, [(["a"], ["x"], [(0, 0)])] * 3)
    with pytest.raises(DataError, match="only 3 sentences have an aligned word pair, 3 are held"):
        word_pairs(**files, held_out=3, seed=0, language="xx")


@pytest.fixture
def tokenizer_dir(tmp_path):
    tokens = ["[PAD]", "[CLS]", "[SEP]", "[UNK]", "a", "b", "##a", "##b", ",", "c"]
    tokenizer = Tokenizer(
        WordPiece({token: number for number, token in enumerate(tokens)}, unk_token="[UNK]")
    )
    tokenizer.normalizer = BertNormalizer(lowercase=False)
    tokenizer.pre_tokenizer = BertPreTokenizer()
    tokenizer.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", CLS), ("[SEP]", SEP)]
    )
    tokenizer.enable_truncation(3)
    (tmp_path / "encoder").mkdir()
    tokenizer.save(str(tmp_path / "encoder" / "tokenizer.json"))
    return tmp_path / "encoder"


def test_tokens_by_hand(tmp_path, tokenizer_dir):
    table = pairs_table(
        [
            (["ab", "a,b", "\u200b", "z"], ["c", "abba"], [(0, 0), (2, 1), (3, 1)]),
            (["a"], ["b"], []),
        ],
    )
    encode_word_pairs(table, tokenizer_dir, tmp_path / "store")
    store = load_arrays(tmp_path / "store")
    assert store.ragged("source_ids")[0].tolist() == [CLS, 4, 7, 4, 8, 5, 3, SEP]
    assert store.ragged("source_word_start")[0].tolist() == [1, 3, 0, 6]
    assert store.ragged("source_word_end")[0].tolist() == [3, 6, 0, 7]
    assert store.ragged("target_word_start")[0].tolist() == [1, 2]
    assert store.ragged("target_word_end")[0].tolist() == [2, 6]
    assert store.ragged("source_pairs")[0].tolist() == [0, 3]
    assert store.ragged("target_pairs")[0].tolist() == [0, 1]
    assert store.ragged("source_ids")[1].tolist() == [CLS, 4, SEP]
    assert len(store.ragged("source_pairs")[1]) == 0
    assert store.ragged("source_ids").values.dtype == np.int32
    assert store.meta["dropped"]["pairs of words without tokens"] == 1
    assert store.meta["counts"]["pairs"] == 2
    assert store.meta["tokenizer_sha256"] == sha256_of(tokenizer_dir / "tokenizer.json")


def test_only_what_bert_cannot_take_is_cut(tmp_path, tokenizer_dir):
    """64 words of two tokens stay whole, as in the authors' loader."""
    pairs = pairs_table([(["ab"] * 64, ["a"] * 64, [(63, 63)])])
    limit = Alignment().maximum_length
    encode_word_pairs(pairs, tokenizer_dir, tmp_path / "store", maximum_length=limit)
    store = load_arrays(tmp_path / "store")
    assert store.ragged("source_ids").lengths.tolist() == [2 * 64 + 2]
    assert store.ragged("source_pairs")[0].tolist() == [63]
    assert limit == BertConfig().max_position_embeddings


def test_equal_to_tokenising_word_by_word(tmp_path, tokenizer_dir):
    random = np.random.default_rng(5)
    letters = np.array(list("abcz,\u200b"))
    rows = []
    for _ in range(60):
        sides = [
            ["".join(random.choice(letters, random.integers(1, 4))) for _ in range(count)]
            for count in random.integers(1, 10, 2)
        ]
        links = [
            (int(random.integers(len(sides[0]))), int(random.integers(len(sides[1]))))
            for _ in range(4)
        ]
        rows.append((*sides, links))
    limit = 12
    encode_word_pairs(
        pairs_table(rows),
        tokenizer_dir,
        tmp_path / "store",
        maximum_length=limit,
    )
    store = load_arrays(tmp_path / "store")
    tokenizer = Tokenizer.from_file(str(tokenizer_dir / "tokenizer.json"))
    tokenizer.no_truncation()

    def spans(words):
        ids, found = [CLS], []
        for word in words:
            tokens = tokenizer.encode(word, add_special_tokens=False).ids
            whole = bool(tokens) and len(ids) + len(tokens) <= limit - 1
            found.append((len(ids), len(ids) + len(tokens)) if whole else (0, 0))
            ids += tokens
        return [*ids[: limit - 1], SEP], found

    lost = 0
    for row, (source, target, links) in enumerate(rows):
        both = [spans(words) for words in (source, target)]
        for side, (ids, found) in zip(("source", "target"), both, strict=True):
            assert store.ragged(f"{side}_ids")[row].tolist() == ids
            assert store.ragged(f"{side}_word_start")[row].tolist() == [s for s, _ in found]
            assert store.ragged(f"{side}_word_end")[row].tolist() == [e for _, e in found]
        kept = [(i, j) for i, j in links if both[0][1][i][1] and both[1][1][j][1]]
        lost += len(links) - len(kept)
        found = zip(
            store.ragged("source_pairs")[row], store.ragged("target_pairs")[row], strict=True
        )
        assert [(int(i), int(j)) for i, j in found] == kept
    assert lost == sum(store.meta["dropped"].values())
    assert min(store.meta["dropped"].values()) > 0


def test_no_pair_survives_tokenisation(tmp_path, tokenizer_dir):
    table = pairs_table([(["\u200b"], ["a"], [(0, 0)])])
    with pytest.raises(DataError, match="no aligned word pair is left"):
        encode_word_pairs(table, tokenizer_dir, tmp_path / "store")
    assert not (tmp_path / "store").exists()


def test_an_unusable_tokenizer(tmp_path, tokenizer_dir):
    table = pairs_table([(["a"], ["b"], [(0, 0)])])
    path = tokenizer_dir / "tokenizer.json"
    content = json.loads(path.read_text())
    path.write_text(json.dumps(content | {"post_processor": None}))
    with pytest.raises(DataError, match="key post_processor"):
        encode_word_pairs(table, tokenizer_dir, tmp_path / "store")
    path.write_text("{}")
    with pytest.raises(DataError, match="not a tokenizer"):
        encode_word_pairs(table, tokenizer_dir, tmp_path / "store")
    path.unlink()
    with pytest.raises(DataError, match="no such file"):
        encode_word_pairs(table, tokenizer_dir, tmp_path / "store")
