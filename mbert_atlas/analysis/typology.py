"""Typological features predicted from token vectors (Liang et al. 2021, section 4.2).

Logistic regression (C = 1), each value of a feature against the rest.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt
import torch

from mbert_atlas.analysis.logistic import fit_regressions
from mbert_atlas.errors import AtlasError

Floats = npt.NDArray[np.float32]
_FOLDS = 5


class Fold(NamedTuple):
    """The test languages of a feature, and the regressions that predict their values."""

    tests: list[tuple[int, str]]  # places of the test languages, and their values
    classes: list[str]  # values of the training languages
    columns: range  # a regression for each class; none if there is only one class
    majority: str  # the most frequent class of the training languages


class TypologyProbe(NamedTuple):
    """All regressions of a probe: one for each feature, fold and class."""

    # Of languages (rows) in regressions (columns): 1 of the class, -1 of another, 0 not in training
    signs: npt.NDArray[np.int8]
    features: list[list[Fold]]

    @classmethod
    def of(
        cls,
        codes: Sequence[str],
        features: Mapping[str, Mapping[str, str]],
        random: np.random.Generator | None = None,
    ) -> Self:
        """Plan the regressions for languages, by their values of each feature.

        ``random`` draws five folds of the languages with a feature, each predicted by the others;
        features of fewer than five languages are dropped. Without it test vectors are of the
        training languages. Raises :class:`AtlasError` if no feature has two values and enough
        languages.
        """
        # Languages a, b, c of values 1, 1, 2; c is tested in the second fold, which leaves one
        # class: no regression, and c is predicted to have the majority class.
        signs: list[npt.NDArray[np.int64]] = []
        planned = []
        for _, values in sorted(features.items()):
            values = {code: values[code] for code in codes if code in values}
            tests = [list(values)] if random is None else _folds(random, list(values))
            if len(set(values.values())) < 2 or not all(tests):
                continue
            folds = []
            for tested in tests:
                trained = [code for code in values if random is None or code not in tested]
                classes = sorted({values[code] for code in trained})
                counts = [sum(values[code] == value for code in trained) for value in classes]
                first = len(signs)
                if len(classes) > 1:
                    held = np.array(list(map(values.get, codes)))
                    is_trained = np.isin(codes, trained)
                    signs += [np.where(held == value, 1, -1) * is_trained for value in classes]
                columns, majority = range(first, len(signs)), classes[int(np.argmax(counts))]
                gold = [(codes.index(code), values[code]) for code in tested]
                folds.append(Fold(gold, classes, columns, majority))
            planned.append(folds)
        if not planned:
            raise AtlasError("typology: no feature separates these languages; take more of them.")
        return cls(np.stack(signs, axis=1).astype(np.int8), planned)

    def micro_f1(self, train: Sequence[Floats], test: Sequence[Floats]) -> float:
        """Fit the regressions and return the micro F1 in percent, mean over features.

        That is the accuracy over the test vectors of each language, shape ``(n, dims)``. A test
        value that no training language has counts as an error.
        """
        weights = fit_regressions(list(map(_tensor, train)), self.signs)
        margins = [_tensor(own) @ weights[:, :-1].T + weights[:, -1] for own in test]

        def correct(fold: Fold, language: int, value: str) -> int:
            if not fold.columns:
                return len(margins[language]) * (fold.majority == value)
            if value not in fold.classes:
                return 0
            predicted = margins[language][:, list(fold.columns)].argmax(1)
            return int((predicted == fold.classes.index(value)).sum())

        return self._mean_accuracy(correct, list(map(len, test)))

    def majority_f1(self, counts: Sequence[int]) -> float:
        """Return the micro F1 of the majority class in percent; ``counts`` are test vectors."""
        return self._mean_accuracy(
            lambda fold, language, value: counts[language] * (fold.majority == value), counts
        )

    def _mean_accuracy(
        self, correct: Callable[[Fold, int, str], int], counts: Sequence[int]
    ) -> float:
        accuracies = []
        for folds in self.features:
            tests = [(fold, *test) for fold in folds for test in fold.tests]
            total = sum(counts[language] for _, language, _ in tests)
            accuracies.append(sum(correct(*test) for test in tests) / total)
        return 100 * float(np.mean(accuracies))


def _folds(random: np.random.Generator, codes: Sequence[str]) -> list[list[str]]:
    order = random.permutation(len(codes))
    return [[codes[number] for number in order[fold::_FOLDS]] for fold in range(_FOLDS)]


def _tensor(vectors: Floats) -> torch.Tensor:
    return torch.from_numpy(np.ascontiguousarray(vectors))
