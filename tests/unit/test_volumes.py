"""Volumes and operations: existing files count as they are, the rest by config and assumptions."""

from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from configs import LANGUAGES, ROOT, config

from mbert_atlas.miniature.concepts import ADJECTIVES, NOUNS, VERBS
from mbert_atlas.plan.operations import operations, speed_class, training_steps
from mbert_atlas.plan.plan import Plan
from mbert_atlas.plan.volumes import MINIATURE_WORDS, Shape, Volume, Volumes

TABLE = ROOT / "resources/prediction/volumes.csv"


class Files(dict):
    """An input as Snakemake's: files by name, and as a sequence."""

    __getattr__ = dict.__getitem__

    def __iter__(self):
        for item in self.values():
            yield from [item] if isinstance(item, str) else item


def job(rule, params=(), wildcards=(), **inputs):
    return SimpleNamespace(
        rule=SimpleNamespace(name=rule),
        wildcards_dict=dict(wildcards),
        params=dict(params),
        input=Files(inputs),
    )


MADE_BY = {
    "xnli.parquet": job("read_corpus", wildcards={"dataset": "xnli"}),
    "xnli": job(
        "encode_examples",
        wildcards={"dataset": "xnli", "encoding": "inference"},
        table="xnli.parquet",
    ),
    "parallel": job("encode_parallel", tables=["xnli.parquet"]),
    "texts": job(
        "encode_pretraining_texts",
        wildcards={"encoder": "bert-200k-512"},
        texts=["de.parquet", "en.parquet"],
    ),
    "de.parquet": job("read_corpus", wildcards={"dataset": "wikipedia", "language": "de"}),
    "en.parquet": job("read_corpus", wildcards={"dataset": "wikipedia", "language": "en"}),
    "muse.parquet": job("read_corpus", wildcards={"dataset": "muse", "language": "de"}),
    "runs/xnli-upper/seed1/model": job("finetune", wildcards={"run": "xnli-upper"}),
}


@pytest.fixture
def volumes(tmp_path, monkeypatch):
    """Volumes of the paper preset in an empty folder; existing files are written to it."""
    plan = Plan(config(downloads="downloads", mirror="mirror"), LANGUAGES, home=ROOT)
    monkeypatch.chdir(tmp_path)
    return Volumes(plan, TABLE, MADE_BY)


def write_table(path, rows):
    path = Path("results/paper/data") / path
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"id": list(range(rows))}), path)


def test_without_data_limits_and_assumptions_count(volumes):
    assert volumes.dataset("wikimatrix", ["es"]).examples == 250_000
    assert volumes.dataset("wikimatrix").examples == 4 * 250_000
    assert volumes.dataset("xnli", ["de", "en"]) == Volume(2 * 5010, 2 * 5010 * 42)
    assert volumes.store("parallel") == volumes.dataset("xnli") * 0.5
    assert volumes.store("xnli", ["de", "en", "fr"]) == volumes.store("xnli") * (3 / 15)
    # Sentences limit the texts for pretraining.
    assert volumes.store("texts").subwords == pytest.approx(2 * 200_000 * 25)


def test_an_existing_table_counts(volumes):
    write_table("wikimatrix/es.parquet", 70)
    write_table("xnli.parquet", 150)
    assert volumes.dataset("wikimatrix", ["es", "ru"]).examples == 250_070
    assert volumes.table("xnli.parquet").examples == pytest.approx(150)
    assert volumes.dataset("xnli", ["de", "en"]).examples == pytest.approx(2 * 150 / 15)


@pytest.mark.parametrize("folder", ["downloads", "mirror"])
def test_existing_upstream_files_count_by_their_bytes(volumes, folder):
    name = "wikipedia/swwiki-20210420-pages-articles.xml.bz2"
    dump = Path(folder) / name
    dump.parent.mkdir(parents=True)
    dump.write_bytes(bytes(5_000))
    # Four bytes of XML in each of bzip2's, 1,250 for a paragraph.
    assert volumes.dataset("wikipedia", ["sw"]).examples == 16
    assert volumes.dataset("wikipedia", ["de"]).examples == 1_000_000
    assert volumes.dataset("language-texts", ["sw", "de"]).examples == 16 + 10_000
    assert volumes.size(f"downloads/{name}") == 5_000


def test_a_folder_counts_with_its_parts(volumes):
    dumps = volumes.config.datasets["wikipedia"]
    path = "wikipedia-content/{wiki}wiki-20261101/SHA256SUMS"
    volumes.config.datasets["wikipedia"] = dumps.model_copy(update={"files": path})
    folder = Path("downloads/wikipedia-content/swwiki-20261101")
    folder.mkdir(parents=True)
    for name in ("p1.xml.bz2", "p9.xml.bz2"):
        (folder / name).write_bytes(bytes(5_000))
    lines = (f"{'0' * 64}  {name}\n" for name in ("p1.xml.bz2", "p9.xml.bz2"))
    (folder / "SHA256SUMS").write_text("".join(lines))
    assert volumes.dataset("wikipedia", ["sw"]).examples == 32
    assert volumes.size(f"{folder}/SHA256SUMS") == 10_000


def test_a_shift_and_its_control_run_the_layers_above_once_for_each_weight(volumes):
    files = {"model": "runs/xnli-upper/seed1/model", "examples": ["xnli"]}
    base, texts = Shape(), volumes.store("xnli")
    once = base.forward(texts)
    assert operations(job("any", **files), volumes) == once
    shift = {"shift": {"layer": 6, "weights": [0, 1, 2], "languages": ["de", "en", "fr"]}}
    found = operations(job("any", shift, **files), volumes)
    assert found == pytest.approx(once * 3 / 15 * (1 + 2 * 3 * 6 / 12))
    shifts = {"layers": [6, 12], "weights": [1, 2], "random_layers": [6], "seeds": [1, 2, 3]}
    found = operations(job("any", shifts, **files), volumes)
    layers, above = 2 + 3, 6 / 12 + 3 * 6 / 12
    assert found == pytest.approx(once * (1 + 2 * 2 * above) + 2 * 2 * layers * base.heads(texts))
    assert operations(job("any", examples="xnli"), volumes) is None
    assert operations(job("any", tokenizer=files["model"], tests="xnli"), volumes) is None


def test_steps_of_training(volumes):
    own = volumes.plan.runs["xnli-upper"].specification
    optimisation = own["hyperparameters"]["optimisation"]
    steps = training_steps(job("finetune", (), {"run": "xnli-upper"}, train="xnli"), volumes)
    examples = 15 * 5_010 if own.get("train_languages") is None else 5_010
    assert steps == examples * optimisation["epochs"] / optimisation["batch_size"]
    assert training_steps(job("align"), volumes) == 0


def test_the_miniature_has_all_concepts_in_its_dictionaries():
    assert len({*ADJECTIVES, *NOUNS, *VERBS}) == MINIATURE_WORDS


def test_matrix_products(volumes):
    write_table("muse/de.parquet", 1_000)
    ranked = job("retrieve_words", (), {"vectors": "glove-200k-1"}, dictionary="muse.parquet")
    assert operations(ranked, volumes) == 4 * 1_000**2 * 768
    trained = job("train_static_vectors", (), {"static": "glove-200k-1"}, tokens="texts")
    expected = 6 * volumes.store("texts").subwords * 15 * 10 * 768
    assert operations(trained, volumes) == expected
    assert speed_class(trained, volumes) == "train_static_vectors.glove"
    network = {"network": {"epochs": 10, "hidden_size": 512}}
    classified = job(
        "classify_with_static_vectors", network, {"static": "glove-200k-1"}, train="xnli"
    )
    assert operations(classified, volumes) == 6 * 15 * 5_010 * 10 * 4 * 768 * 512
    assert operations(job("align"), volumes) is None
    assert speed_class(job("finetune_unsaved"), volumes) == "finetune"


def test_bert_base():
    # 85 million weights in layers: 0.17 GFLOP a subword; rows of 128 add 2 * 2 * 12 * 768 * 128.
    found = Shape().forward(Volume(10, 1280)) / 1280
    assert found == pytest.approx(2 * 84_934_656 + 4 * 12 * 768 * 128)
    assert Shape().bytes == pytest.approx(0.71e9, rel=0.01)  # its safetensors file
