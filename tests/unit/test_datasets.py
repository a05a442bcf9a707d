"""Upstream files of the config's datasets."""

import pytest
from configs import LANGUAGES, ROOT

from mbert_atlas.config.corpora.kinds import NliPairs
from mbert_atlas.config.datasets import Source
from mbert_atlas.errors import DataError
from mbert_atlas.papers import load
from mbert_atlas.plan.files import Files, sources_of


def dataset(**changes):
    given = {
        "corpus": "nli",
        "format": "xnli",
        "split": "test",
        "languages": ["en", "es", "bg"],
    } | changes
    return NliPairs(**given)


def test_placeholders_take_the_language_table():
    item = dataset(files="{pair}/{wiki}/{iso639_3}/{ud_name}/{language}.txt")
    (found,) = sources_of("x", item, "bg", LANGUAGES)
    assert found.path == "bg-en/bg/bul/Bulgarian/bg.txt"  # codes of a pair are sorted
    assert found.format == "xnli"
    (found,) = sources_of("x", dataset(files="{pair}"), "es", LANGUAGES)
    assert found.path == "en-es"


def test_files_of_single_languages_win_and_keep_their_format():
    own = [Source(path="a-{language}", format="xtreme", partners=["{language}.labels"])]
    item = dataset(files="all", files_by_language={"es": own})
    (found,) = sources_of("x", item, "es", LANGUAGES)
    assert (found.path, found.format, found.partners) == ("a-es", "xtreme", ["es.labels"])
    assert sources_of("x", item, "en", LANGUAGES)[0].path == "all"


def test_missing_files_name_the_key():
    with pytest.raises(DataError, match=r"key datasets\.mine\.files_by_language.*'en'"):
        sources_of("mine", dataset(files_by_language={"es": [Source(path="a")]}), "en", LANGUAGES)


@pytest.mark.parametrize("preset", ["demo", "small", None])
def test_every_file_of_a_preset_is_named_once(preset):
    config = load([ROOT / f"config/{preset}.yaml"] if preset else [], ROOT)
    paths = Files(config, LANGUAGES).upstream_files
    assert paths == sorted(set(paths))
    assert not [path for path in paths if "{" in path]
    assert any(path.startswith("multinli/") for path in paths)
    if preset == "small":
        assert "xnli/superGLEBer-de/test.txt" in paths
    if preset is None:
        assert "universal-dependencies/ud-treebanks-v2.7.tgz" in paths
        assert len([path for path in paths if path.startswith("wikipedia/")]) == 122
