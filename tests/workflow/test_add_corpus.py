"""A kind of corpus is added by two files: the one of docs/own-data.md."""

import json

import pyarrow.parquet as pq
import pytest

from clone import copy_repository, jobs, snakemake, succeeded
from mbert_atlas.sources.mirror import write_manifest
from mbert_atlas.sources.register import Register
from snippets import files_in

pytestmark = pytest.mark.workflow
PAGE = "docs/own-data.md"
FILES = {path: text for path, text in files_in(PAGE).items() if "json_entities" in path}


def test_it_is_read_and_a_task_can_use_it(tmp_path):
    clone = copy_repository(tmp_path)
    for name, text in FILES.items():
        assert not (clone / name).exists()
        (clone / name).write_text(text)
    sentence = {"words": ["Anna", "sees", "Paris"], "tags": ["B-PER", "O", "B-LOC"]}
    (clone / "mirror/mine").mkdir(parents=True)
    (clone / "mirror/mine/en.jsonl").write_text(json.dumps(sentence) + "\n")
    write_manifest(clone / "mirror", Register.read(clone / "resources/sources.yaml"))
    (clone / "mine.yaml").write_text(
        "mirror: mirror\n"
        "datasets:\n"
        "  mine: {corpus: json_entities, split: test, languages: [en], files: mine/en.jsonl}\n"
        "runs:\n"
        "  ner: {evaluate: {mine: [en]}}\n"
    )
    target = "results/paper/data/mine.parquet"
    options = ["--cores", "1", "--configfile", "mine.yaml"]
    succeeded(snakemake(clone, target, *options))
    assert pq.read_table(clone / target)["ner_tags"].to_pylist() == [["B-PER", "O", "B-LOC"]]
    encoded = "results/paper/tokens/mbert/examples/entities/mine"
    planned = jobs(snakemake(clone, encoded, "-n", *options))
    assert planned["encode_examples"] == 1
    assert "read_corpus" not in planned
