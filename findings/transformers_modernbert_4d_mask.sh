#!/bin/sh
# transformers 5.23.0: with a four-dimensional attention mask ModernBERT's local layers attend to everything, without a warning.
#
# Expected: a mask of shape (batch, 1, length, length) in which every token may see every other one gives what no mask, or a mask
#   of ones of shape (batch, length), gives: layers with a window still see only their window. Block-diagonal masks of this shape
#   are how several sentences share a row.
# Seen: the given mask replaces the window, too. Texts of up to half a window and one token agree to rounding, longer ones do not,
#   and nothing is printed.
#
# Exits with 0 as long as that is so, and with 1 once it has changed. Needs Python 3.11 and pip; touches only a temporary folder.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check transformers==5.23.0 torch==2.13.0
cat > "$folder/seen.py" <<'PY'
import torch
from transformers import ModernBertConfig, ModernBertModel

special = {f"{name}_token_id": number for number, name in enumerate(("pad", "bos", "eos", "cls", "sep"))}
config = ModernBertConfig(
    vocab_size=100, hidden_size=32, num_hidden_layers=3, num_attention_heads=4, intermediate_size=64,
    local_attention=8, global_attn_every_n_layers=3, initializer_range=0.5, **special,
)
torch.manual_seed(0)
model = ModernBertModel(config).eval()


@torch.no_grad()
def difference(length):
    ids = torch.randint(5, 100, (1, length))
    flat = model(ids, attention_mask=torch.ones(1, length, dtype=torch.long)).last_hidden_state
    square = torch.ones(1, 1, length, length, dtype=torch.bool)
    return float((flat - model(ids, attention_mask=square).last_hidden_state).abs().max())


print(f"largest difference: 5 tokens {difference(5):.4f}, 40 tokens {difference(40):.1f}")
PY
seen=$("$folder/venv/bin/python" "$folder/seen.py" 2>/dev/null)
echo "transformers 5.23.0, window of 8, states of standard deviation 1: $seen"
case $seen in
    *"5 tokens 0.0000, 40 tokens 0.0") echo "changed: the window stays" && exit 1 ;;
    *"5 tokens 0.0000, "*) echo "as described" ;;
    *) echo "changed" && exit 1 ;;
esac
