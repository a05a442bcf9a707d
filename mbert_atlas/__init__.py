"""mbert-atlas: how multilingual BERT stores language and transfers across it, five papers reproduced."""

__version__ = "0.1.0"
