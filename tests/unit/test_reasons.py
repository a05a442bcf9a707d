"""What differs between the parameters of a finished job and those of now."""

import pytest

from workflow.reasons import changes

CODE, NEW = "'0123456789abcdef'", "'fedcba9876543210'"


@pytest.mark.parametrize(
    ("old", "new", "lines"),
    [
        (
            {"{'a': {'epochs': 2, 'rate': 0.1}, 'b': 1}"},
            {"{'a': {'epochs': 3, 'rate': 0.1}, 'b': 1}"},
            ["a.epochs: 2 -> 3"],
        ),
        ({"{'a': 1}"}, {"{'a': 1, 'b': None}"}, ["b: (none) -> None"]),
        ({"{'a': 1, 'b': [1]}"}, {"{'a': 1}"}, ["b: [1] -> (none)"]),
        ({CODE}, {NEW}, ["the code"]),
        ({CODE, "{'a': 1}"}, {NEW, "{'a': 2}"}, ["the code", "a: 1 -> 2"]),
        ({"7"}, {"8"}, ["a parameter: 7 -> 8"]),
        (set(), {"{'a': 1}"}, ["a parameter: (none) -> {'a': 1}"]),
        ({"no literal"}, {"another"}, ["a parameter: 'no literal' -> 'another'"]),
        (
            {"{'x': 1, 'y': 1}", "{'p': 1, 'q': 1}"},
            {"{'x': 1, 'y': 2}", "{'p': 3, 'q': 1}"},
            ["p: 1 -> 3", "y: 1 -> 2"],
        ),
    ],
)
def test_changes_are_named_by_key(old, new, lines):
    assert changes(old, new) == lines
