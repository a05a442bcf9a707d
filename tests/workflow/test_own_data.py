"""The worked example of docs/own-data.md, run as it stands there."""

import os
import re
from pathlib import Path

import pandas as pd
import pytest

from clone import ROOT, copy_repository, snakemake, succeeded
from mbert_atlas.files import read_json
from mbert_atlas.sources.mirror import Mirror, write_manifest
from mbert_atlas.sources.register import Register

MIRROR = os.environ.get("MBERT_ATLAS_MIRROR")
pytestmark = [
    pytest.mark.workflow,
    pytest.mark.demo_all,  # not of the demo, but as long: part of test-all
    pytest.mark.skipif(not MIRROR, reason="MBERT_ATLAS_MIRROR is not set"),
]


def own_mirror(folder: Path) -> None:
    """Two files that no register knows, listed as the page says; then the real mirror's."""
    real = Mirror.read(MIRROR)
    for own, upstream in (("en", "src.eng"), ("de", "ref.deu")):
        path = f"ntrex-128/NTREX-128/newstest2019-{upstream}.txt"
        (folder / "mine").mkdir(parents=True, exist_ok=True)
        real.copy(path, folder / f"mine/news.{own}.txt")
    assert write_manifest(folder, Register.read(ROOT / "resources/sources.yaml")) == 2
    for place in filter(Path.is_dir, Path(MIRROR).iterdir()):
        (folder / place.name).symlink_to(place)
    lines = (Path(MIRROR) / "MANIFEST.tsv").read_text("utf-8").partition("\n")[2]
    with open(folder / "MANIFEST.tsv", "a", encoding="utf-8") as manifest:
        manifest.write(lines)


def test_the_worked_example(tmp_path):
    page = (ROOT / "docs/own-data.md").read_text("utf-8")
    example = re.search(r"```yaml\n(.*?)```\n\n    snakemake ([^\n]*)\n", page, re.S)
    assert example, "the page has no worked example"
    config, command = example[1], example[2].split()
    assert len(config.splitlines()) <= 25
    folder = copy_repository(tmp_path / "repository")
    own_mirror(folder / "my-mirror")
    (folder / "config/mine.yaml").write_text(config, "utf-8")
    succeeded(snakemake(folder, *command, timeout=2400))
    found = pd.read_csv(folder / command[-1], keep_default_na=False)
    assert set(found.target) == {"de"}
    assert set(found.condition) == {"original", "adjusted"}
    assert set(found.protocol) == {"published", "corrected"}
    # Its origin reaches the card of the bitext that was made of it.
    card = read_json(folder / "results/mine/data/wikimatrix/de.card.json")
    assert "own" in str(card)
