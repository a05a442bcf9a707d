from pathlib import Path

from workflow.scripts.atlas_job import run
from workflow.scripts.origins import ROOT, origins, read_languages, script_of


def main(snakemake):
    from mbert_atlas.corpora.universal_dependencies import read_treebanks, treebanks_in_archive
    from mbert_atlas.languages import Languages

    table = Languages.read(ROOT / "resources/languages.csv")

    def read(language, sources, dataset, output, card):
        files = []
        for source in sources:
            path = Path(source["path"])
            if path.suffix == ".tgz":
                files += treebanks_in_archive(path, table[language].ud_code, dataset["split"])
            else:
                files.append(path)
        read_treebanks(
            files,
            language,
            dataset["split"],
            output,
            card,
            source=[one for source in sources for one in origins(snakemake, source)],
            script=script_of(language),
        )

    read_languages(snakemake, read)


run(main, snakemake)
