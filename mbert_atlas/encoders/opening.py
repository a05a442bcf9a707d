"""Whether jobs can open an encoder: ``python -m mbert_atlas.encoders.opening FOLDER``."""

import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from mbert_atlas.encoders.conversion import errors_of, link_files, write_tokenizer
from mbert_atlas.encoders.loading import load_encoder
from mbert_atlas.errors import DataError


def require_opening(folder: Path) -> None:
    """Open an encoder and its tokenizer as jobs do, converting the tokenizer if it has to be.

    Raises a DataError as :func:`mbert_atlas.encoders.loading.load_encoder` and
    :func:`mbert_atlas.encoders.conversion.write_tokenizer`.
    """
    load_encoder(folder)
    if (folder / "tokenizer.json").is_file():
        return
    with TemporaryDirectory() as temporary:
        link_files(folder, copy := Path(temporary))
        with errors_of(folder, copy):
            write_tokenizer(copy)


if __name__ == "__main__":
    try:
        require_opening(Path(sys.argv[1]))
    except DataError as mistake:
        print(json.dumps([mistake.path, mistake.where, mistake.problem, mistake.fix]))
