"""mbert-atlas: five papers on how multilingual BERT stores language, reproduced."""

__version__ = "1.0.0"
