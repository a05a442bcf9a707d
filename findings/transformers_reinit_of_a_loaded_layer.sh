#!/bin/sh
# transformers 5.23.0: a model's own initialisation leaves layers of a loaded model as they are, without a warning.
#
# Expected: model.encoder.layer[1].apply(model._init_weights) re-initialises the layer of a pretrained encoder, as it does of a new
#   one; experiments on what a layer contributes rely on it.
# Seen: on a model of from_pretrained the weights stay, bit by bit; on the same model made from its config they change. A
#   comparison of "re-initialised" with "as pretrained" would then compare an encoder with itself. Copying the layer from a
#   model made from the config works.
#
# Exits with 0 as long as that is so, and with 1 once it has changed. Needs Python 3.11 and pip; touches only a temporary folder.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check transformers==5.23.0 torch==2.13.0
cat > "$folder/seen.py" <<'PY'
import sys

import torch
from transformers import BertConfig, BertModel

config = BertConfig(
    vocab_size=50, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32
)
fresh = BertModel(config)
fresh.save_pretrained(sys.argv[1])
loaded = BertModel.from_pretrained(sys.argv[1])


def changes(model):
    layer = model.encoder.layer[1]
    before = layer.output.dense.weight.detach().clone()
    layer.apply(model._init_weights)
    return not torch.equal(before, layer.output.dense.weight)


print(f"weights change: made from a config {changes(fresh)}, loaded {changes(loaded)}")
PY
seen=$("$folder/venv/bin/python" "$folder/seen.py" "$folder/model" 2>/dev/null)
echo "transformers 5.23.0: $seen"
case $seen in
    *"made from a config True, loaded False") echo "as described" ;;
    *) echo "changed" && exit 1 ;;
esac
