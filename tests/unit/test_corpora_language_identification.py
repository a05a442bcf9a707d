"""Language identification: a sample of paragraphs."""

from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from reading import derive_table
from tokenizers import Tokenizer
from tokenizers.models import WordPiece
from tokenizers.pre_tokenizers import Whitespace

from mbert_atlas.corpora import language_identification
from mbert_atlas.errors import DataError
from mbert_atlas.schemas import LID_EXAMPLES, PARAGRAPHS


@pytest.fixture(scope="module")
def tokenizer_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("encoder")
    vocabulary = {"[UNK]": 0, "word": 1, "##s": 2} | {str(n): n + 3 for n in range(10)}
    vocabulary |= {f"##{n}": n + 13 for n in range(10)}
    tokenizer = Tokenizer(WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    tokenizer.enable_truncation(2)  # must not hide an unknown subword further on
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder


def paragraphs(path: Path, texts: list[str], language: str = "xx", group: int = 7) -> Path:
    rows = [
        {"id": f"{language}-{n}", "language": language, "page_id": n, "title": "T", "text": text}
        for n, text in enumerate(texts)
    ]
    table = pa.Table.from_pylist(rows, PARAGRAPHS)
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, path, row_group_size=group)
    return path


def sample(tokenizer_dir: Path | None, files: dict[str, Path], **more: Any) -> tuple[pa.Table, Any]:
    options = {
        "limit": 20,
        "minimum_per_language": 10,
        "fractions": [0.7, 0.1, 0.1, 0.1],
        "paragraphs": "wikipedia",
    }
    derive, tables = language_identification.derive, list(files.values())
    table, card = derive_table(derive, tables, tokenizer_dir, **(options | more))
    assert table.schema.equals(LID_EXAMPLES)
    return table, card


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    return {
        "xx": paragraphs(
            tmp_path / "xx.parquet",
            [f"word words {n}" for n in range(100)]
            + [f"word words {n} ж" for n in range(100)]
            + ["word word word"] * 100,
        ),
        "yy": paragraphs(tmp_path / "yy.parquet", [f"words {n}" for n in range(13)], "yy"),
    }


def test_sample_is_stratified_and_free_of_unknown_tokens(
    tokenizer_dir: Path, files: dict[str, Path]
) -> None:
    table, card = sample(tokenizer_dir, files)
    rows = table.to_pylist()
    sizes = Counter((row["language"], row["split"]) for row in rows)
    expected = {"xx": (14, 2, 2, 2), "yy": (9, 2, 1, 1)}
    assert sizes == {
        (language, split): size
        for language, wanted in expected.items()
        for split, size in zip(language_identification.SPLITS, wanted, strict=True)
    }
    texts = [row["text"] for row in rows]
    assert len(set(texts)) == len(texts)
    assert not any("ж" in text for text in texts)
    assert len({row["id"] for row in rows}) == 33
    counts, dropped = card["counts"], card["dropped"]
    assert counts["yy: shortfall"] == 7
    assert "xx: shortfall" not in counts
    assert counts["xx: examples"] == 20
    met = counts["xx: examples"] + dropped["xx: unknown piece"] + dropped["xx: exact duplicate"]
    assert counts["xx: paragraphs looked at"] == met < counts["xx: paragraphs"] == 300
    assert (counts["train"], counts["test"]) == (23, 3)


def test_unknown_tokens_stay_where_there_is_no_vocabulary(files: dict[str, Path]) -> None:
    table, card = sample(None, files, limit=150)
    texts = table["text"].to_pylist()
    assert sum("ж" in text for text in texts) > 50
    assert len(set(texts)) == len(texts)
    assert "xx: unknown piece" not in card["dropped"]


def test_all_that_pass_when_more_are_requested(tokenizer_dir: Path, files: dict[str, Path]) -> None:
    table, card = sample(tokenizer_dir, {"xx": files["xx"]}, limit=5000)
    expected = {f"word words {n}" for n in range(100)} | {"word word word"}
    assert set(table["text"].to_pylist()) == expected
    assert table.num_rows == 101
    assert card["dropped"] == {"xx: unknown piece": 100, "xx: exact duplicate": 99}
    everything, _ = sample(tokenizer_dir, {"xx": files["xx"]}, limit=None)
    assert everything.equals(table)


def test_seed_decides_and_languages_do_not_disturb_each_other(
    tokenizer_dir: Path, files: dict[str, Path]
) -> None:
    both, _ = sample(tokenizer_dir, files)
    again, _ = sample(tokenizer_dir, dict(reversed(files.items())))
    alone, _ = sample(tokenizer_dir, {"xx": files["xx"]})
    other, _ = sample(tokenizer_dir, files, seed=2)
    assert both.equals(again)
    assert both.slice(0, 20).equals(alone)
    assert both["id"].to_pylist() != other["id"].to_pylist()


def test_too_few_paragraphs(tokenizer_dir: Path, files: dict[str, Path]) -> None:
    with pytest.raises(DataError, match=r"yy\.parquet, language yy: 13 of 13 paragraphs pass, 14"):
        sample(tokenizer_dir, files, minimum_per_language=14)


def test_bad_inputs_of_the_sample(
    tmp_path: Path, tokenizer_dir: Path, files: dict[str, Path]
) -> None:
    with pytest.raises(DataError, match=r"tokenizer\.json: no such file"):
        sample(tmp_path, files)
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(DataError, match="not a tokenizer"):
        sample(tmp_path, files)
    Tokenizer(WordPiece({"a": 0}, unk_token="?")).save(str(tmp_path / "tokenizer.json"))
    with pytest.raises(DataError, match=r"has neither \[UNK\] nor <unk>"):
        sample(tmp_path, files)


@pytest.mark.parametrize(
    ("items", "fractions", "sizes"),
    [
        (5000, [0.7, 0.1, 0.1, 0.1], [3500, 500, 500, 500]),  # the paper's
        (13, [0.7, 0.1, 0.1, 0.1], [9, 2, 1, 1]),  # largest remainders; ties: the earlier
        (3, [0.0, 0.5, 0.5, 0.0], [0, 2, 1, 0]),
    ],
)
def test_split_sizes(items: int, fractions: list[float], sizes: list[int]) -> None:
    assert language_identification._split_sizes(items, fractions) == sizes
