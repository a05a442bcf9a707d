"""Static vectors of word pieces: how they are learnt, and sentence pairs classified by them."""
