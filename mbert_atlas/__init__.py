"""mbert-atlas: five papers on how multilingual BERT stores language, reproduced."""

__version__ = "0.1.0"
