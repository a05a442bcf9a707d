"""Figures 1 and 2 show what the distances say."""

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
from matplotlib.patches import StepPatch

from mbert_atlas.analysis.separation import separation
from mbert_atlas.cells import Cell
from mbert_atlas.figures.style import save_figure
from mbert_atlas.files import write_parquet
from mbert_atlas.papers.efimov2022.figures import draw_distance_grid, draw_distances
from mbert_atlas.schemas import WORD_DISTANCES

MEANS = {"original": (14, 17), "adjusted": (10, 17), "nli": (9, 9.5), "adjusted_nli": (8, 10)}
NAMES = {"hi": "Hindi", "ru": "Russian"}


def distances(size: int = 300, seed: int = 0) -> pd.DataFrame:
    """Distances of one seed; the other protocol has other ones."""
    rng = np.random.default_rng(seed)
    return pd.concat(
        pd.DataFrame({"panel": panel, "protocols": [[protocol]] * size, "kind": kind}).assign(
            distance=rng.normal(mean + (protocol == "published"), 1.0, size)
        )
        for protocol in ("corrected", "published")
        for panel, means in MEANS.items()
        for kind, mean in zip(("related", "unrelated"), means, strict=True)
    )


def cells(folder: Path, *frames: pd.DataFrame, language: str = "hi") -> list[Cell]:
    paths = [folder / f"{language}{seed}.parquet" for seed in range(len(frames))]
    for frame, path in zip(frames, paths, strict=True):
        write_parquet(pa.Table.from_pandas(frame, WORD_DISTANCES, preserve_index=False), path)
    return [Cell(language=language, seed=n, path=str(path)) for n, path in enumerate(paths)]


def test_panels_share_bins_and_axes_and_carry_their_numbers(tmp_path: Path) -> None:
    frames = [distances(seed=seed) for seed in range(3)]
    figure = draw_distances(cells(tmp_path, *frames), list(MEANS), NAMES, "corrected")
    panels = figure.axes
    assert [axes.get_title(loc="left") for axes in panels] == [
        *("(a) original", "(b) adjusted", "(c) NLI", "(d) adjusted, then NLI")
    ]
    assert len({axes.get_xlim() for axes in panels}) == 1
    assert len({axes.get_ylim() for axes in panels}) == 1
    assert [axes.get_xlabel() for axes in panels[2:]] == ["L2 distance"] * 2
    assert panels[0].get_ylabel() == "word pairs (%)"
    shown = [frame[frame["protocols"].str[0] == "corrected"] for frame in frames]
    values = pd.concat(shown)["distance"]
    width = (values.max() - values.min()) / 20
    edges = np.linspace(values.min() - width, values.max() + width, 23)  # 3 * 300 ** (1/3)
    for axes, panel in zip(panels, MEANS, strict=True):
        steps = [patch.get_data() for patch in axes.patches if isinstance(patch, StepPatch)]
        assert len(steps) == 6  # for either kind: fill, line, band over seeds
        assert all(np.allclose(step.edges, edges) for step in steps)
        by_kind = [
            [frame[(frame["panel"] == panel) & (frame["kind"] == kind)] for frame in shown]
            for kind in ("related", "unrelated")
        ]
        for index, seeds in enumerate(by_kind):
            shares = [np.histogram(seed["distance"], edges)[0] / 3 for seed in seeds]  # percent
            assert np.allclose(steps[3 * index + 1].values, np.mean(shares, axis=0))
            assert np.allclose(steps[3 * index + 2].values, np.max(shares, axis=0))
            assert np.allclose(steps[3 * index + 2].baseline, np.min(shares, axis=0))
        numbers = [
            separation(*(kind["distance"].to_numpy(float) for kind in pair))
            for pair in zip(*by_kind, strict=True)
        ]
        note, (aucs, ratios) = axes.texts[0].get_text(), zip(*numbers, strict=True)
        assert f"AUC {np.mean(aucs):.3f}" in note
        assert f"mean ratio {np.mean(ratios):.3f}" in note
        assert f"–{max(aucs):.3f})" in note
    legend = [text.get_text() for text in figure.legends[0].get_texts()]
    assert legend[:2] == ["related", "related, range of 3 seeds"]


def test_panels_can_be_chosen_and_one_seed_has_no_band(tmp_path: Path) -> None:
    drawn = draw_distances(
        cells(tmp_path, distances()), ["adjusted", "original", "nli"], NAMES, "published"
    )
    shown = [axes.get_title(loc="left") for axes in drawn.axes if axes.get_visible()]
    assert shown == ["(a) adjusted", "(b) original", "(c) NLI"]
    assert len(drawn.legends[0].get_texts()) == 3
    assert "(" not in drawn.axes[0].texts[0].get_text()
    assert drawn.get_label().endswith("histogram. One seed a model: no interval can be given.")


def test_a_grid_has_a_column_per_language_and_a_row_per_panel(tmp_path: Path) -> None:
    both = [cell for code in ("ru", "hi") for cell in cells(tmp_path, distances(), language=code)]
    first, second = (
        draw_distance_grid(both, ["adjusted_nli", "original"], NAMES, "corrected") for _ in "ab"
    )
    assert [axes.get_title(loc="left") for axes in first.axes[:2]] == ["Russian", "Hindi"]
    labels = [first.axes[k].get_ylabel() for k in (0, 2)]
    assert labels == ["adjusted,\nthen NLI", "original"]
    texts = [axes.texts[0].get_text() for axes in first.axes]
    assert texts[0] == texts[1]  # the same numbers in both languages
    assert 0.5 < float(texts[0].split()[1]) < float(texts[2].split()[1])  # AUC
    saved = [save_figure(figure, tmp_path / name) for figure, name in ((first, "1"), (second, "2"))]
    assert [path.read_bytes() for path in saved[0]] == [path.read_bytes() for path in saved[1]]
