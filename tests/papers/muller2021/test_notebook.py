"""The notebook runs in a folder of a reader, and its numbers are those of the workflow."""

import json
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
from configs import ROOT
from tiny_models import WORDS, make_encoder, make_tokenizer, text_table

from mbert_atlas.analysis.similarity import DEBIASED, measure_similarity
from mbert_atlas.encoding import encode
from mbert_atlas.files import read_parquet
from mbert_atlas.representations.extraction import extract_features
from mbert_atlas.schemas import SIMILARITIES

NOTEBOOK = json.loads((ROOT / "docs/own-encoder.ipynb").read_text(encoding="utf-8"))
CODE = [cell for cell in NOTEBOOK["cells"] if cell["cell_type"] == "code"]


def test_an_own_encoder_of_random_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(0)
    plain = [word for word in WORDS if not word.startswith("##")]
    texts = {
        code: [" ".join(random.choice(plain, random.integers(1, 9))) for _ in range(40)]
        for code in ("en", "de")
    }
    tokenizer = make_tokenizer(tmp_path)
    make_encoder(tmp_path, tokenizer).rename(tmp_path / "my-encoder")
    for code, some in texts.items():
        (tmp_path / f"sentences.{code}.txt").write_text("\n".join(some), "utf-8")
    (tmp_path / "results").symlink_to(ROOT / "docs/results")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(mpl.rcParams, "backend", "agg")
    names: dict[str, object] = {}
    for cell in CODE:
        exec(compile("".join(cell["source"]), "own-encoder.ipynb", "exec"), names)
    found = names["similarity"]

    table = text_table([*texts["en"], *texts["de"]], ["en"] * 40 + ["de"] * 40)
    ids = [f"{code}-n{number:02d}" for code in texts for number in range(40)]
    encode("text", table.set_column(0, "id", [ids]), tokenizer, tmp_path / "store")
    options = {"encoder": Path("my-encoder"), "store": Path("store"), "output": Path("features")}
    extract_features(**options, pooling="mean", layers="all")
    measure_similarity({"corrected": Path("features")}, ["en"], Path("s.parquet"))
    frame = read_parquet("s.parquet", SIMILARITIES).to_pandas()
    expected = frame[frame["measure"] == DEBIASED].set_index("layer")
    assert found.index.tolist() == expected.index.tolist() == [0, 1, 2]
    for column in ("value", "low", "high", "n"):
        assert found[column].to_numpy() == pytest.approx(expected[column].to_numpy(), abs=2e-3)
    (line, other), axes = names["axes"].get_lines(), names["axes"]
    assert line.get_ydata() == pytest.approx(100 * found["value"].to_numpy())
    assert len(other.get_xdata()) == 13  # the published encoder has 12 layers
    mpl.pyplot.close(axes.figure)


def test_it_is_short_and_has_no_outputs() -> None:
    lines = [line for cell in CODE for line in "".join(cell["source"]).splitlines()]
    steps = [line for line in lines if line.strip() and not line.startswith(("import", "from"))]
    assert len(steps) <= 25
    assert all(not cell["outputs"] and cell["execution_count"] is None for cell in CODE)
