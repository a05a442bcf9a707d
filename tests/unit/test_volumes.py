"""Volumes and operations: existing files count as they are, the rest by config and assumptions."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from configs import ROOT, config

from mbert_atlas.errors import DataError
from mbert_atlas.languages import Languages
from mbert_atlas.miniature.concepts import ADJECTIVES, NOUNS, VERBS
from mbert_atlas.plan.operations import (
    JobInputs,
    matrix_operations,
    model_operations,
    speed_class,
)
from mbert_atlas.plan.plan import Plan
from mbert_atlas.plan.volumes import MINIATURE_WORDS, Shape, Volume, Volumes

LANGUAGES = Languages.read(ROOT / "resources/languages.csv")
TABLE = ROOT / "resources/prediction/volumes.csv"


@pytest.fixture
def volumes(tmp_path, monkeypatch):
    """Volumes of the paper preset in an empty folder; existing files are written to it."""
    plan = Plan(config(downloads="downloads", mirror="mirror"), LANGUAGES, home=ROOT)
    monkeypatch.chdir(tmp_path)
    return Volumes(plan, TABLE, {})


def in_results(path):
    return f"results/paper/{path}"


def write_table(path, rows):
    path = Path(in_results(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"id": list(range(rows))}), path)


def test_without_data_limits_and_assumptions_count(volumes):
    assert volumes.dataset("wikimatrix", ["es"]).examples == 250_000
    assert volumes.dataset("wikimatrix").examples == 4 * 250_000
    assert volumes.dataset("xnli", ["de", "en"]) == Volume(2 * 5010, 2 * 5010 * 42)


def test_an_existing_table_counts(volumes):
    write_table("data/wikimatrix/es.parquet", 70)
    write_table("data/xnli.parquet", 150)
    assert volumes.dataset("wikimatrix", ["es"]).examples == 70
    assert volumes.dataset("wikimatrix", ["es", "ru"]).examples == 250_070
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


def test_sentences_limit_the_pretraining_texts(volumes):
    texts = volumes.store(in_results("tokens/bert-200k-512/pretraining"))
    assert texts.subwords == pytest.approx(15 * 200_000 * 25)


def test_a_shift_runs_the_layers_above_once_for_each_weight(volumes):
    tokens = in_results("tokens/mbert/examples/inference/xnli")
    run = volumes.plan.runs.get("xnli-upper", None, "published").id
    paths = [in_results(f"runs/{run}/seed1/model"), tokens, in_results("means/mbert/wikipedia")]
    base, texts = Shape(), volumes.store(tokens)
    once = base.forward(texts)

    def operations(params, inputs=paths):
        return model_operations(JobInputs("any", {}, inputs, params), volumes)

    assert operations({}) == once
    shift = {"layer": 6, "weights": [0, 1, 2], "languages": ["de", "en", "fr"]}
    assert operations({"shift": shift}) == pytest.approx(once * 3 / 15 * (1 + 3 * 6 / 12))
    found = operations({"layers": [6, 12], "weights": [1, 2]})
    assert found == pytest.approx(once * (1 + 2 * 2 * 6 / 12) + 8 * base.heads(texts))
    assert operations({}, paths[1:]) is None


def test_contexts_of_words_and_parallel_texts(volumes):
    write_table("data/muse/de.parquet", 100)
    contexts = volumes.store(in_results("tokens/mbert/contexts/muse/de"))
    options = volumes.plan.retrieval["muse"]
    assert contexts.examples == 100 * options["contexts"]
    parallel = in_results("tokens/mbert/parallel")
    found = Volumes(volumes.plan, TABLE, {parallel: [in_results("data/xnli.parquet")]})
    assert found.store(parallel) == volumes.dataset("xnli") * 0.5


def test_the_miniature_has_all_concepts_in_its_dictionaries():
    assert len({*ADJECTIVES, *NOUNS, *VERBS}) == MINIATURE_WORDS


def test_matrix_products(volumes):
    write_table("data/muse/de.parquet", 1_000)
    texts = volumes.store(in_results("tokens/bert-200k-512/pretraining")).subwords

    def job(rule, params=(), **wildcards):
        return JobInputs(rule, wildcards, [], dict(params))

    ranked = job("retrieve_words", vectors="glove-200k-1", dictionary="muse", language="de")
    assert matrix_operations(ranked, volumes) == 4 * 1_000**2 * 768
    trained = job("train_static_vectors", static="glove-200k-1")
    assert matrix_operations(trained, volumes) == 6 * texts * 15 * 10 * 768
    assert speed_class(trained, volumes) == "train_static_vectors.glove"
    network = {"network": {"epochs": 10, "hidden_size": 512}}
    classified = job(
        "classify_with_static_vectors", network, static="glove-200k-1", family="xnli-from-mbert"
    )
    assert matrix_operations(classified, volumes) == 6 * 392_702 * 10 * 4 * 768 * 512
    assert matrix_operations(job("align"), volumes) is None
    assert speed_class(job("finetune_draw"), volumes) == "finetune"


def test_bert_base():
    # 85 million weights in layers: 0.17 GFLOP a subword; rows of 128 add 2 * 2 * 12 * 768 * 128.
    found = Shape().forward(Volume(10, 1280)) / 1280
    assert found == pytest.approx(2 * 84_934_656 + 4 * 12 * 768 * 128)
    assert Shape().bytes == pytest.approx(0.71e9, rel=0.01)  # its safetensors file


def test_a_row_that_is_no_volume_is_named(volumes, tmp_path):
    table = tmp_path / "volumes.csv"
    table.write_text("corpus,split,examples,subwords,bytes\nnli,train,many,42,\n")
    with pytest.raises(DataError, match="line 2"):
        Volumes(volumes.plan, table, {})
