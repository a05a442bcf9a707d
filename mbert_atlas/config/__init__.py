"""The config as pydantic models, one module per section; checks, files and documentation."""
