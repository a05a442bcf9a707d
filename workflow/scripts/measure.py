from workflow.job import set_up

with set_up(snakemake):
    from mbert_atlas.analysis.measurements import write_measurements
    from mbert_atlas.cells import with_files
    from mbert_atlas.registry import resolve

    measured = snakemake.params.measured
    cells = with_files(measured["cells"], snakemake.input)
    rows = resolve(measured["function"])(cells, **measured["options"])
    write_measurements(rows, snakemake.output[0], **measured["columns"])
