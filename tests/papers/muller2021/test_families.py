"""An encoder of every family, with random weights, through Table 1 of the demo."""

import pytest

import any_family
from any_family import clone as clone

pytestmark = [pytest.mark.workflow, pytest.mark.demo_all]


@pytest.mark.parametrize("kind", any_family.KINDS)
def test_table1(clone, tmp_path, monkeypatch, kind):
    folder = any_family.write_encoder(kind, tmp_path / "encoder", monkeypatch)
    config = f"encoders: {{mbert: {{folder: {folder}}}}}\n"
    table = any_family.measure(clone, config, "muller2021/table1")
    assert len(table) > 0
    assert table.value.notna().all()
