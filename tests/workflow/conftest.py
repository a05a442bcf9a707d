"""One copy of the repository for all tests of the workflow."""

import pytest

from clone import copy_repository


@pytest.fixture(scope="session")
def repository(tmp_path_factory):
    return copy_repository(tmp_path_factory.mktemp("clone"))
