"""Say whether config files are right: ``python -m mbert_atlas.papers config/small.yaml mine.yaml``.

Snakemake reads the files of its command line before it reads ours, and says of one that is no YAML
neither file nor line. This names all mistakes, those too.
"""

import sys
from pathlib import Path

from mbert_atlas.errors import AtlasError
from mbert_atlas.languages import Languages
from mbert_atlas.papers import load

if __name__ == "__main__":
    try:
        codes = [item.code for item in Languages.read(Path("resources/languages.csv"))]
        load([Path(path) for path in sys.argv[1:]], languages=codes)
    except AtlasError as error:
        sys.exit(str(error))
    print("No mistakes found.")
