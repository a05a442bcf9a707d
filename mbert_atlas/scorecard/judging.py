"""Judging the claims of a results folder, or of a published copy, again from its measurements."""

import lzma
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from mbert_atlas.analysis.measurements import resamples_path
from mbert_atlas.analysis.resampling import RESAMPLED, RESAMPLES
from mbert_atlas.files import read_parquet, read_text
from mbert_atlas.plan.records import PaperPlan
from mbert_atlas.schemas import RESAMPLED_MEASUREMENTS
from mbert_atlas.scorecard.cells import KEY, Floats, Key, Measured, measured_cells, write_csv
from mbert_atlas.scorecard.claims import Claims, cells_of, read_claims
from mbert_atlas.scorecard.gates import references
from mbert_atlas.scorecard.results import Results, read_results
from mbert_atlas.scorecard.verdicts import verdicts

MEASUREMENTS, RESAMPLES_OF_COPY = "measurements.csv.xz", "measurements.resamples.parquet"
"""Files of a published copy with all measurements, and with the resamples that claims need."""
_STEPS = 128
"""Resamples of a published copy are rounded to a power of two, at most this part of their standard
deviation; that of the difference of two numbers which correlate by .99 changes by .03%."""
_TOLERANCE = 0.01  # in lengths of an interval


@dataclass(frozen=True)
class Judging:
    """What claims are judged by, apart from measurements."""

    claims: Mapping[str, Claims]  # by paper
    reported: Sequence[Path]
    languages: Mapping[str, str]  # English names by code
    papers: Mapping[str, PaperPlan]  # which of their artifacts are highlights

    def again(self, results: Results) -> pd.DataFrame:
        """Return the verdicts on the claims of a folder, see :func:`.verdicts.verdicts`."""
        return verdicts(
            self._stated(results),
            *(self.files(results)[0], self.reported, self.files(results)[1]),
            languages=self.languages,
            comparable=results.is_comparable,
        )

    def check(self, folder: Path, output: Path | None = None) -> list[str]:
        """Return the claims of a folder on which its measurements differ, see :func:`differing`.

        With ``output``, write what its ``claims.csv`` should be. Raises a DataError as
        :func:`.results.read_results`.
        """
        (results,) = read_results([folder])
        claims = self.again(results)
        if output:
            write_csv(claims, output)
        return differing(results.claims, claims)

    def files(self, results: Results) -> tuple[list[Path], list[Path]]:
        """Return the files with measurements and with resamples behind a folder's claims."""
        if (packed := results.folder / MEASUREMENTS).is_file():
            return [packed], [results.folder / RESAMPLES_OF_COPY]
        paths = sorted(results.root.glob("measurements/*/*.csv"))
        if results.folder.name == "highlights":
            highlights = {
                (paper, item.name)
                for paper, plan in self.papers.items()
                for artifact in plan.artifacts
                if artifact.highlight
                for item in artifact.measurements
            }
            paths = [path for path in paths if (path.parent.name, path.stem) in highlights]
        return paths, [path for each in paths if (path := resamples_path(each)).is_file()]

    def pack(self, results: Results, folder: Path) -> None:
        """Write all measurements of a folder's claims to another, and the resamples they need."""
        measurements, resamples = self.files(results)
        texts = [read_text(path) for path in measurements]
        with lzma.open(folder / MEASUREMENTS, "wt", encoding="utf-8", newline="") as stream:
            for number, text in enumerate(texts):
                stream.write(text if number == 0 else text.partition("\n")[2])
        used = {
            (protocol, *key)
            for protocol, cells in measured_cells(measurements).items()
            for paper, stated in self._stated(results).items()
            for key in used_cells(stated, paper, cells)
        }
        tables = [RESAMPLED_MEASUREMENTS.empty_table()]
        tables += [
            _of_cells(read_parquet(path, RESAMPLED_MEASUREMENTS), used) for path in resamples
        ]
        table = pa.concat_tables(tables)
        # Protocols with the same numbers are next to each other, which compresses well.
        table = table.sort_by([(name, "ascending") for name in (*KEY, "seed", "protocol")])
        values = table[RESAMPLED].combine_chunks().flatten().to_numpy().reshape(-1, RESAMPLES)
        rounded = pa.FixedSizeListArray.from_arrays(_rounded(values).ravel(), RESAMPLES)
        place = table.schema.get_field_index(RESAMPLED)
        field = table.schema.field(RESAMPLED)
        pq.write_table(
            table.set_column(place, field, rounded.cast(field.type)),
            folder / RESAMPLES_OF_COPY,
            compression="zstd",
            compression_level=19,
            use_dictionary=["protocol", *KEY],
            use_byte_stream_split=[f"{RESAMPLED}.list.element"],
            data_page_size=2
            ** 26,  # one for all: with pages of a megabyte the file is half as large again
        )

    def _stated(self, results: Results) -> dict[str, Claims]:
        papers = results.claims["paper"].unique()
        return {paper: stated for paper, stated in self.claims.items() if paper in papers}


def read_judging(papers: Mapping[str, PaperPlan], languages: Mapping[str, str]) -> Judging:
    """Return what the claims of the papers in this repository are judged by."""
    reported = {paper: Path(f"resources/reported/{paper}.csv") for paper in papers}
    claims = {
        paper: read_claims(Path(f"mbert_atlas/papers/{paper}/claims.yaml"), paper, path)
        for paper, path in reported.items()
    }
    return Judging(claims, [*reported.values()], languages, papers)


def _of_cells(table: pa.Table, used: Collection[Key]) -> pa.Table:
    places = zip(*(table[name].to_pylist() for name in ("protocol", *KEY)), strict=True)
    return table.filter(pa.array([place in used for place in places], pa.bool_()))


def _rounded(values: Floats) -> Floats:
    """Return resamples, shape ``(n, RESAMPLES)``, rounded to powers of two, as float32."""
    spread = values.std(axis=1, keepdims=True)
    step = np.exp2(np.floor(np.log2(np.maximum(spread, 1e-9) / _STEPS)))
    return np.asarray(np.round(values / step) * step, np.float32)


def used_cells(stated: Claims, paper: str, cells: Mapping[Key, Measured]) -> set[Key]:
    """Return the cells of a paper whose resamples the intervals of its claims and gates depend on.

    They are the cells of claims and gates, the scores of which they are differences, and, where one
    of these has one seed, those of its kind that have several.
    """
    used: set[Key] = set()
    of_paper = [key for key in cells if key[0] == paper]
    for claim in stated.claims.values():
        for case in cells_of(claim, paper, of_paper):
            used |= case.weights.keys()
    for gate in stated.gates.values():
        used.update(*references(gate, of_paper).values())
    kinds = {
        (stated.kind_of(score), score[-1])
        for key in used
        if len(cells[key].values) == 1
        for score in _scores(stated, key)
    }
    used |= {
        key
        for key, cell in cells.items()
        if key[0] == paper and len(cell.values) > 1
        if any((stated.kind_of(score), score[-1]) in kinds for score in _scores(stated, key))
    }
    return {score for key in used for score in _scores(stated, key)} & cells.keys()


def _scores(stated: Claims, key: Key) -> set[Key]:
    """Return a cell, and the scores whose difference it may be."""
    return {key, *(score for both in stated.parts(key) for score in both)}


def differing(claims: pd.DataFrame, again: pd.DataFrame) -> list[str]:
    """Return the claims whose verdicts or intervals differ, as ``paper/id (protocol)``.

    Effects and ends may differ by a hundredth of their interval, see :data:`_STEPS`.
    """
    keys = ["paper", "id", "protocol"]
    both = claims.merge(again, on=keys, how="outer", suffixes=("", "_again"))
    length = (both["high"] - both["low"]).abs()
    allowed = _TOLERANCE * length.where(np.isfinite(length), 0.0) + 1e-5 * both["effect"].abs()
    differs = both["verdict"] != both["verdict_again"]
    for column in ("effect", "low", "high"):
        one, other = both[column], both[f"{column}_again"]
        near = np.isclose(one, other, rtol=1e-5, atol=allowed.fillna(0.0), equal_nan=True)
        differs |= ~near
    return [f"{paper}/{name} ({where})" for paper, name, where in both[differs][keys].to_numpy()]
