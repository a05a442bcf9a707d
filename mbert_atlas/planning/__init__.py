"""What the workflow plans with: runs, draws of searches, upstream files of datasets."""
