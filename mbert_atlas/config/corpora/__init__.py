"""The config of a dataset: a model for each kind of corpus, found by :mod:`..datasets`."""
