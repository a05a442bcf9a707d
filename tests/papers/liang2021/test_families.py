"""An encoder of every family, with random weights, through Figure 1 of the demo."""

import pytest

import any_family
from any_family import clone as clone

pytestmark = [pytest.mark.workflow, pytest.mark.demo_all]
ALONE = "liang2021: {encoders: {xlmr: null}, tokens: {texts: {xlmr: null}}}\n"


@pytest.mark.parametrize("kind", any_family.KINDS)
def test_figure1(clone, tmp_path, monkeypatch, kind):
    folder = any_family.write_encoder(kind, tmp_path / "encoder", monkeypatch)
    config = f"encoders: {{many: {{folder: {folder}}}, xlmr: null}}\n{ALONE}"
    figure = any_family.measure(clone, config, "liang2021/figure1")
    assert len(figure) > 0
    assert figure.value.notna().all()
