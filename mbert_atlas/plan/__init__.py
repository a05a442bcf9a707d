"""The plan that the workflow follows: paths, runs, cells, artifacts, cost.

:class:`mbert_atlas.plan.plan.Plan` is the object that rules ask.
"""
