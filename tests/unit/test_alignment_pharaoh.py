import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mbert_atlas.alignment.pharaoh import Links, read_pharaoh, write_pharaoh
from mbert_atlas.errors import DataError

_link = st.tuples(st.integers(0, 99_999), st.integers(0, 300))


def links_of(sentences):
    flat = [(row, *link) for row, sentence in enumerate(sentences) for link in sentence]
    columns = np.array(flat, dtype=np.int64).reshape(-1, 3).T
    return Links(
        columns[0], columns[1].astype(np.int32), columns[2].astype(np.int32), len(sentences)
    )


@given(st.lists(st.sets(_link, max_size=6), min_size=1, max_size=8))
def test_what_is_written_is_read(tmp_path_factory, sentences):
    path = tmp_path_factory.mktemp("pharaoh") / "links.pharaoh"
    write_pharaoh(links_of(sentences), path)
    lines = path.read_text().split("\n")[:-1]
    assert lines == [" ".join(f"{i}-{j}" for i, j in sorted(links)) for links in sentences]
    back = read_pharaoh(path, len(sentences))
    found = list(zip(back.row.tolist(), back.source.tolist(), back.target.tolist(), strict=True))
    assert found == [(row, *link) for row, links in enumerate(sentences) for link in sorted(links)]


def test_no_sentences(tmp_path):
    write_pharaoh(links_of([]), tmp_path / "empty")
    assert read_pharaoh(tmp_path / "empty", 0).rows == 0
    with pytest.raises(DataError, match="the file is empty"):
        read_pharaoh(tmp_path / "empty")


def test_extra_spaces_and_a_missing_last_line_end(tmp_path):
    (tmp_path / "links").write_text(" 0-0  1-2 \n\n3-4")
    links = read_pharaoh(tmp_path / "links")
    assert links.rows == 3
    assert links.row.tolist() == [0, 0, 2]
    assert links.target.tolist() == [0, 2, 4]


@pytest.mark.parametrize(
    "bad",
    ["0-", "1", "a-b", "0-1-2", "0--1", "-1-2", "0_1", "1-2,2-3", "1234567-0", "1-2\r", "0p1"],
)
def test_a_malformed_token_is_named_by_its_line(tmp_path, bad):
    path = tmp_path / "links"
    path.write_bytes(f"0-0 1-1\n\n2-2 {bad}\n0-0\n".encode())
    with pytest.raises(DataError, match="line 3") as caught:
        read_pharaoh(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(("rows", "line"), [(1, "line 2"), (4, "line 3")])
def test_another_number_of_lines(tmp_path, rows, line):
    (tmp_path / "links").write_text("0-0\n0-0\n")
    with pytest.raises(DataError, match=line):
        read_pharaoh(tmp_path / "links", rows)


def test_links_between_two_sentences():
    part = links_of([[(0, 0)], [(1, 2)], [], [(3, 3)]]).between(1, 3)
    assert (part.row.tolist(), part.source.tolist(), part.rows) == ([0], [1], 2)
