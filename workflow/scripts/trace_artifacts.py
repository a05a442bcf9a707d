from pathlib import Path

from workflow.job import set_up

with set_up(snakemake):
    from mbert_atlas.files import write_json
    from mbert_atlas.scorecard.provenance import Tracer, code_version, trace, write_config
    from workflow.records import record_reader

    params, output = snakemake.params, snakemake.output
    write_config(snakemake.config, output.config)
    paths = {item["path"]: name for name, item in params.stated["encoders"].items()}
    tracer = Tracer(params.stated["results"], record_reader(), paths)
    stated = params.stated | {"command": params.command}
    content = trace(stated, tracer, output.record, output.config)
    write_json(content | {"code": code_version(Path(params.home))}, output.record)
    write_json(tracer.cards(content["encoders"]), output.cards)
