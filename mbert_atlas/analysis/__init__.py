"""What the representations and predictions say: distances, probes, clusters, scores, tests."""
