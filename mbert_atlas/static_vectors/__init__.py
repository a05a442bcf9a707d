"""Static vectors of subwords: training, and sentence pairs classified by them."""
