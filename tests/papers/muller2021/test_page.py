"""The paper's page: what its HTML page quotes."""

from configs import ROOT

from mbert_atlas.scorecard.views import bullets, table_rows


def test_the_html_page_quotes_protocols_and_deviations():
    prose = (ROOT / "docs/papers/muller2021.md").read_text(encoding="utf-8")
    assert table_rows(prose, "The two protocols")[0] == ["", "published", "corrected"]
    deviations = bullets(prose, "Deviations and choices")
    assert any("masked" in line for line in deviations), deviations
