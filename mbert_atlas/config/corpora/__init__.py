"""The config of a dataset: a model for each kind of corpus, listed in :mod:`..datasets`."""
