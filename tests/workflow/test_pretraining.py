"""What an encoder that is pretrained from scratch needs, by dry runs."""

import pytest

from clone import DEMO, jobs, snakemake

pytestmark = pytest.mark.workflow
MODEL = "results/demo/encoders/mbert/model"


def test_translations_are_read_only_where_the_embeddings_begin_with_them(repository, tmp_path):
    plain = jobs(snakemake(repository, MODEL, "-n", "--forceall", *DEMO))
    mine = tmp_path / "mine.yaml"
    mine.write_text("encoders: {mbert: {scratch: {aligned_start: {bitexts: [wikimatrix]}}}}\n")
    planned = jobs(snakemake(repository, MODEL, "-n", "--forceall", *DEMO, str(mine)))
    assert not {"start_embeddings", "read_bitext"} & plain.keys()
    assert planned["start_embeddings"] == 1
    assert planned["read_bitext"] >= 2
    more = {"start_embeddings", "read_bitext", "total"}
    assert {name for name in planned if planned[name] != plain.get(name)} == more
