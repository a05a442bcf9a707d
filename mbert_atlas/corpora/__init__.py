"""Upstream formats to tidy Parquet, each with a dataset card.

Readers leave out bad rows while they are few (:class:`.cards.BadRows`): those that are not UTF-8,
have a wrong number of columns, or what else each of them names. They raise a DataError, with file
and line, for more bad rows, a missing or damaged file, an unknown format, a file in another script
than its language, or without a usable row.
"""
