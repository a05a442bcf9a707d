"""Volumes: what is there counts as it is, of the rest the config and a table say."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from configs import ROOT, config

from mbert_atlas.errors import DataError
from mbert_atlas.languages import Languages
from mbert_atlas.miniature.concepts import ADJECTIVES, NOUNS, VERBS
from mbert_atlas.plan.dataset_volumes import MINIATURE_WORDS, Volume
from mbert_atlas.plan.runs import RunTable
from mbert_atlas.plan.volumes import Shape, Volumes

LANGUAGES = Languages.read(ROOT / "resources/languages.csv")
CORPORA = ROOT / "resources/prediction/volumes.csv"


def volumes(folder, **changes):
    found = config(downloads=str(folder / "downloads"), **changes)
    return Volumes(found, RunTable(found), LANGUAGES, folder, CORPORA)


def write_table(path, rows):
    path.parent.mkdir(parents=True)
    pq.write_table(pa.table({"id": list(range(rows))}), path)


def test_without_data_limits_and_the_table_count(tmp_path):
    found = volumes(tmp_path)
    assert found.dataset("wikimatrix", ["es"]).examples == 250_000
    assert found.dataset("wikimatrix").examples == 4 * 250_000
    assert found.dataset("xnli", ["de", "en"]) == Volume(2 * 5010, 2 * 5010 * 42)


def test_a_table_that_is_there_counts(tmp_path):
    write_table(tmp_path / "data/wikimatrix/es.parquet", 70)
    (tmp_path / "data/xnli.parquet").parent.mkdir(exist_ok=True)
    pq.write_table(pa.table({"id": list(range(150))}), tmp_path / "data/xnli.parquet")
    found = volumes(tmp_path)
    assert found.dataset("wikimatrix", ["es"]).examples == 70
    assert found.dataset("wikimatrix", ["es", "ru"]).examples == 250_070
    assert found.dataset("xnli", ["de", "en"]).examples == pytest.approx(2 * 150 / 15)


@pytest.mark.parametrize("folder", ["downloads", "mirror"])
def test_files_that_are_there_tell_how_much_a_corpus_holds(tmp_path, folder):
    dump = tmp_path / folder / "wikipedia/swwiki-20210420-pages-articles.xml.bz2"
    dump.parent.mkdir(parents=True)
    dump.write_bytes(bytes(5_000))
    found = volumes(tmp_path, mirror=str(tmp_path / "mirror"))
    # Four bytes of XML in each of bzip2's, 1,250 for a paragraph.
    assert found.dataset("wikipedia", ["sw"]).examples == 16
    assert found.dataset("wikipedia", ["de"]).examples == 1_000_000
    assert found.dataset("language-texts", ["sw", "de"]).examples == 16 + 10_000
    assert found.size(str(tmp_path / "downloads" / dump.relative_to(tmp_path / folder))) == 5_000


def test_sentences_limit_what_is_pretrained_on(tmp_path):
    found = volumes(tmp_path)
    texts = found.store(str(tmp_path / "tokens/bert-200k-512/pretraining"))
    assert texts.pieces == pytest.approx(15 * 200_000 * 25)


def test_a_shift_runs_the_layers_above_once_for_each_weight(tmp_path):
    found = volumes(tmp_path)
    means, tokens = "means", str(tmp_path / "tokens/mbert/examples/inference/xnli")
    model = str(tmp_path / "runs" / RunTable(config()).get("xnli-upper", None, "published").id)
    paths = [f"{model}/seed1/model", tokens, means]
    base, texts = Shape(), found.store(tokens)
    once = base.forwards(texts)
    assert found.operations("any", {}, paths, {}) == once
    shift = {"layer": 6, "weights": [0, 1, 2], "languages": ["de", "en", "fr"]}
    shifted = found.operations("any", {}, paths, {"shift": shift})
    assert shifted == pytest.approx(once * 3 / 15 * (1 + 3 * 6 / 12))
    predicted = found.operations("any", {}, paths, {"layers": [6, 12], "weights": [1, 2]})
    assert predicted == pytest.approx(once * (1 + 2 * 2 * 6 / 12) + 8 * base.heads(texts))
    assert found.operations("any", {}, [tokens, means], {}) is None


def test_stores_that_some_job_will_make(tmp_path):
    write_table(tmp_path / "data/muse/de.parquet", 100)
    found = volumes(tmp_path)
    contexts, parallel = (
        str(tmp_path / f"tokens/mbert/{end}") for end in ("contexts/muse/de", "parallel")
    )
    assert found.store(contexts) == found.store(parallel) == Volume(10_000, 300_000)
    tables = [str(tmp_path / f"data/{name}.parquet") for name in ("muse/de", "wikipedia/de")]
    options = {"contexts": 20, "max_length": 64}
    pairs = [str(tmp_path / "data/xnli.parquet"), "tokenizer"]
    sizes = {"languages": ["en", "de"], "sizes": {"limit": 120}}
    found.learn_makers([([contexts], tables, {"options": options}), ([parallel], pairs, sizes)])
    assert found.store(contexts) == Volume(100 * 20, 100 * 20 * 64)
    assert found.store(parallel) == Volume(2 * 120, 2 * 120 * 42 / 2)


def test_the_miniature_has_all_concepts_in_its_dictionaries():
    assert len({*ADJECTIVES, *NOUNS, *VERBS}) == MINIATURE_WORDS


def test_work_that_no_model_does(tmp_path):
    write_table(tmp_path / "data/muse/de.parquet", 1_000)
    found = volumes(tmp_path)
    place = {"vectors": "glove-200k-1", "dictionary": "muse", "language": "de"}
    assert found.products("retrieve_words", place, {}) == 4 * 1_000**2 * 768
    texts = found.store(str(tmp_path / "tokens/bert-200k-512/pretraining")).pieces
    place = {"static": "glove-200k-1"}
    assert found.products("train_static_vectors", place, {}) == 6 * texts * 15 * 10 * 768
    assert found.kind("train_static_vectors", place) == "train_static_vectors.glove"
    place |= {"family": "xnli-from-mbert"}
    network = {"network": {"epochs": 10, "hidden_size": 512}}
    work = found.products("classify_with_static_vectors", place, network)
    assert work == 6 * 392_702 * 10 * 4 * 768 * 512
    assert found.products("align", {}, {}) is None
    assert found.kind("align", {}) == "align"


def test_a_row_that_is_no_volume_is_named(tmp_path):
    table = tmp_path / "volumes.csv"
    table.write_text("corpus,split,examples,pieces,bytes\nnli,train,many,42,\n")
    found = config()
    with pytest.raises(DataError, match="line 2"):
        Volumes(found, RunTable(found), LANGUAGES, Path("results/x"), table)
