"""What an encoder that is pretrained from scratch needs, by dry runs."""

import pytest

from clone import DEMO, jobs, snakemake

pytestmark = pytest.mark.workflow
TRAINED = ("--config", "use_shipped=false")
MODEL = "results/demo/encoders/mbert/model"


def test_translations_are_read_only_where_the_embeddings_begin_with_them(repository, tmp_path):
    aligned = jobs(snakemake(repository, MODEL, "-n", "--forceall", *DEMO, *TRAINED))
    mine = tmp_path / "mine.yaml"
    mine.write_text("encoders: {mbert: {scratch: {aligned_start: null}}}\n")
    plain = jobs(snakemake(repository, MODEL, "-n", "--forceall", *DEMO, str(mine), *TRAINED))
    assert not {"start_embeddings", "read_corpus_by_language_large", "miniature"} & plain.keys()
    assert aligned["start_embeddings"] == 1
    assert aligned["read_corpus_by_language_large"] == 12
    more = {"start_embeddings", "read_corpus_by_language_large", "miniature", "total"}
    assert {name for name in aligned if aligned[name] != plain.get(name)} == more
