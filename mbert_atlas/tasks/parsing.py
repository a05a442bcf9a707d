"""Dependency parsing with a biaffine head (Dozat and Manning 2017; Muller et al. 2021)."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import torch
from torch import nn
from torch.nn import functional

from mbert_atlas.arrays import Ragged, offsets_of
from mbert_atlas.batching import Indices
from mbert_atlas.config.training import BiaffineOptions, HeadOptions
from mbert_atlas.encoding.tags import NO_LABEL, NO_PIECE
from mbert_atlas.errors import AtlasError
from mbert_atlas.schemas import TREE_PREDICTIONS
from mbert_atlas.tasks.arborescences import best_trees
from mbert_atlas.tasks.base import Batch, CrossEntropy, EncodedExamples, Task, Weight, entropy

_NO_HEAD = -1


class TreeExamples(EncodedExamples):
    """Sentences as their words that have a subword; ``label_counts`` is the number of these."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        first, heads = self.store.ragged("first_pieces"), self.store.ragged("heads")
        kept = first.values != NO_PIECE
        before = offsets_of(kept)
        offsets = before[first.offsets]
        # Gold heads among the words that are kept: 0 for the root, -1 where the head is lost.
        starts = np.repeat(first.offsets[:-1], first.lengths)
        place = starts + np.maximum(heads.values, 1) - 1
        number = before[place] + 1 - before[starts]
        number = np.where(heads.values == 0, 0, np.where(kept[place], number, _NO_HEAD))
        self.first_pieces = Ragged(first.values[kept], offsets)
        self.heads = Ragged(number[kept], offsets)
        self.labels = Ragged(self.store.ragged("labels").values[kept], offsets)
        self.label_counts = np.diff(offsets)[self.rows]

    @property
    def classes(self) -> Indices:
        """The arc of each word: relation and distance to the head; int64, shape ``(words,)``.

        Those from the root have one distance, whatever the word's place.
        """
        heads, labels = (item.take(self.rows) for item in (self.heads, self.labels))
        places = np.arange(1, len(heads.values) + 1) - np.repeat(heads.offsets[:-1], heads.lengths)
        distances = np.where(heads.values > 0, heads.values - places, 0)
        arcs = np.stack([heads.values == _NO_HEAD, distances, labels.values])
        return np.unique(arcs, axis=1, return_inverse=True)[1].astype(np.int64)

    @property
    def choices(self) -> int:
        """0, as heads are chosen among the words of a sentence."""
        return 0

    def guessing_loss(self) -> float:
        """Return the loss if heads are equally good, and relations as good as they are frequent."""
        heads, labels = (item.take(self.rows) for item in (self.heads, self.labels))
        is_scored = heads.values != _NO_HEAD
        nodes = np.repeat(heads.lengths + 1, heads.lengths)[is_scored]  # the root is one
        return float(np.log(nodes).mean()) + entropy(labels.values[is_scored])

    def collate(self, indices: Indices) -> Batch:
        """Return the padded tokens and the nodes of the trees; node 0 is [CLS], the root.

        ``positions`` (int64, ``(b, n + 1)``) are the nodes' places in the flattened (b * l) batch,
        those outside the sentence the root's; ``inside`` (bool, ``(b, n + 1)``) is false at
        padding. ``scored`` (int64, ``(m,)``) are places of words with a known head in the flattened
        (b * (n + 1)) nodes, ``heads`` and ``labels`` (int64, ``(m,)``) their gold heads and
        relations. If shapes are fixed, there are l nodes, and m is b * l.
        """
        batch = super().collate(indices)
        rows, width = self.rows[indices], batch["input_ids"].shape[1]

        def of_nodes(words: Ragged, fill: int) -> npt.NDArray[np.int64]:
            # The first column is for the root, whose place in its row is 0.
            padded = words.padded(rows, fill)
            right = width - 1 - padded.shape[1] if self.fixed_shapes else 0
            return np.pad(padded, ((0, 0), (1, right)), constant_values=fill)

        first = of_nodes(self.first_pieces, 0)
        heads, labels = of_nodes(self.heads, _NO_HEAD), of_nodes(self.labels, 0)
        scored = np.flatnonzero(heads != _NO_HEAD)
        starts = np.arange(len(rows))[:, None] * width
        arrays = {
            "positions": starts + first,
            "inside": np.arange(first.shape[1]) <= self.label_counts[indices][:, None],
        }
        return {
            **batch,
            **{name: torch.from_numpy(array) for name, array in arrays.items()},
            "scored": self.fill_up(scored, heads.size, 0),
            "heads": self.fill_up(heads.reshape(-1)[scored], heads.size, NO_LABEL),
            "labels": self.fill_up(labels.reshape(-1)[scored], heads.size, NO_LABEL),
        }


class TreeCrossEntropy(CrossEntropy):
    """Mean over words of two cross-entropies: of the head, and of the relation to the gold head.

    Heads are a choice among the root and all words of the sentence, the word itself included. Words
    whose head was cut off are left out.
    """

    def loss(self, model: Any, batch: Batch, step_weight: Weight) -> torch.Tensor:
        """Return the summed loss of the words over ``step_weight``."""
        head, scored, heads = model.head, batch["scored"], batch["heads"]
        places = scored - scored % batch["inside"].shape[1] + heads.clamp(min=0)
        vectors = head.vectors(model.features(batch))
        arcs = head.arcs(vectors).masked_fill(~batch["inside"][:, None], -torch.inf)
        relations = head.relations(vectors, scored, places)
        of_heads = functional.cross_entropy(arcs.flatten(0, 1)[scored], heads, reduction="sum")
        of_relations = functional.cross_entropy(relations, batch["labels"], reduction="sum")
        return (of_heads + of_relations) / torch.as_tensor(step_weight).clamp(min=1)


class BiaffineHead(nn.Module):
    """Scores of arcs and of their relations, each from a dependent's and a head's vector.

    Four layers compute these vectors: linear (orthogonal weights), LeakyReLU of slope .1, and
    dropout of the same units at all words of a sentence. With ``x`` of a dependent, ``y`` of a head
    and ``[x 1]`` for x with a one appended::

        arc(d, h)         = [x_d 1] A y_h            A: (arc_size + 1, arc_size)
        relation(d, h, r) = [x'_d 1] R_r [y'_h 1]    R: (relations, relation_size + 1, the same)

    ``A`` and ``R`` begin at zero, so that at first all heads and all relations are equally good.
    Everything runs in fp32: in bf16, heads of a long sentence would tie.
    """

    def __init__(self, size: int, relations: int, options: BiaffineOptions) -> None:
        super().__init__()
        arc_size, side = options.arc_size, options.relation_size + 1
        sizes = (arc_size, arc_size, options.relation_size, options.relation_size)
        layers = [nn.Linear(size, units) for units in sizes]
        for layer in layers:
            nn.init.orthogonal_(layer.weight)
            nn.init.zeros_(layer.bias)
        self.layers = nn.ModuleList(layers)
        self.arc = nn.Parameter(torch.zeros(arc_size + 1, arc_size))
        self.relation = nn.Parameter(torch.zeros(relations, side, side))
        self.dropout = options.dropout

    def vectors(self, features: torch.Tensor) -> list[torch.Tensor]:
        """Return the vectors of arcs (dependents', heads') and of relations (likewise), float32.

        The encoder's ``features`` have the shape ``(b, nodes, size)``.
        """
        with torch.autocast(features.device.type, enabled=False):
            outputs = [functional.leaky_relu(layer(features.float()), 0.1) for layer in self.layers]
        # Dropping whole channels of (b, units, nodes) drops units at all nodes of a sentence.
        drop, training = functional.dropout1d, self.training
        return [drop(x.transpose(1, 2), self.dropout, training).transpose(1, 2) for x in outputs]

    def arcs(self, vectors: list[torch.Tensor]) -> torch.Tensor:
        """Return the score of each head (last axis) for each dependent, ``(b, nodes, nodes)``."""
        with torch.autocast(self.arc.device.type, enabled=False):
            return _with_one(vectors[0]) @ self.arc @ vectors[1].transpose(1, 2)

    def relations(
        self, vectors: list[torch.Tensor], dependents: torch.Tensor, heads: torch.Tensor
    ) -> torch.Tensor:
        """Return the scores of the relations of some arcs, ``(m, relations)``.

        Dependents and heads are places in the flattened (b * nodes) batch, int64, shape ``(m,)``.
        """
        x, y = (_with_one(side).flatten(0, 1) for side in vectors[2:])
        with torch.autocast(self.arc.device.type, enabled=False):
            halves = torch.einsum("mi,rij->mrj", x[dependents], self.relation)
            return torch.einsum("mrj,mj->mr", halves, y[heads])

    def relations_of_pairs(self, vectors: list[torch.Tensor]) -> torch.Tensor:
        """Return the scores of the relations of all arcs, ``(b, relations, nodes, nodes)``."""
        x, y = map(_with_one, vectors[2:])
        with torch.autocast(self.arc.device.type, enabled=False):
            halves = torch.einsum("bdi,rij->brdj", x, self.relation)
            return halves @ y.transpose(1, 2)[:, None]


def _with_one(vectors: torch.Tensor) -> torch.Tensor:
    return functional.pad(vectors, (0, 1), value=1.0)


class DependencyParsing(Task):
    """A head and a relation for every word of a sentence (schemas.SENTENCES)."""

    unit = "token"
    prediction_schema = TREE_PREDICTIONS
    head_options = BiaffineOptions
    examples = TreeExamples
    objective = TreeCrossEntropy

    def new_head(self, config: Any, classes: int, options: HeadOptions) -> BiaffineHead:
        """Return the head; see :class:`BiaffineHead`.

        Raises an AtlasError if the options set other initial weights.
        """
        assert isinstance(options, BiaffineOptions)
        if options.initial_stddev is not None:
            raise AtlasError(
                "parsing: the head's initial weights are orthogonal or zero; "
                "drop head.initial_stddev."
            )
        return BiaffineHead(config.hidden_size, classes, options)

    def forward(self, model: Any, batch: Batch) -> torch.Tensor:
        """Return head and relation of each word that has a subword, int64, shape ``(words, 2)``.

        Heads are numbered among these words from 1, 0 is the root. They are the tree of the highest
        sum of ``p(head) * max p(relation | head)`` with one word below the root; the relation is
        the most probable one under that head. So does AllenNLP, as the authors do, except for arcs
        from the root, which it weighs 0. Sums of logarithms changed LAS by less than .4 either way.
        Trees are decoded here, on the CPU: two numbers a word are kept, where the scores of all
        arcs would grow with the square of a sentence.
        """
        head, inside = model.head, batch["inside"]
        vectors = head.vectors(model.features(batch))
        arcs = head.arcs(vectors).masked_fill(~inside[:, None], -torch.inf).log_softmax(-1)
        relations = head.relations_of_pairs(vectors).log_softmax(1)
        likeliest, numbers = relations.max(dim=1)
        scores = (arcs + likeliest).exp().cpu().numpy()
        trees = torch.from_numpy(best_trees(scores, inside.cpu().numpy())).to(arcs.device)
        chosen = numbers.gather(2, trees[:, :, None])[:, :, 0]
        return torch.stack([trees, chosen], dim=2)[:, 1:][inside[:, 1:]]

    def gold_and_predicted(self, model: Any, batch: Batch) -> torch.Tensor:
        """Return each word's gold and predicted arc as one number, so that accuracy is LAS.

        Of words that have a subword; if the gold head has none, it is wrong. Shape ``(words, 2)``.
        """
        inside, count = batch["inside"], model.head.relation.shape[0]
        gold = torch.full((inside.numel(),), -1, device=inside.device)
        gold[batch["scored"]] = batch["heads"] * count + batch["labels"]
        head, relation = self.forward(model, batch).T
        return torch.stack([gold.view_as(inside)[:, 1:][inside[:, 1:]], head * count + relation], 1)

    def decode(self, examples: EncodedExamples, outputs: Ragged, dataset: str) -> pa.Table:
        """Return gold and predicted heads and relations of all words of the sentences.

        A word without a subword has the predicted head -1 and the relation ``""``.
        """
        store, rows = examples.store, examples.rows
        first, heads, relations = (
            store.ragged(name).take(rows) for name in ("first_pieces", "heads", "labels")
        )
        kept = first.values != NO_PIECE
        # Outputs count the words that have a subword: if word 2 has none, head 2 is word 3.
        number = np.arange(1, len(kept) + 1) - np.repeat(first.offsets[:-1], first.lengths)
        predicted = np.full(len(kept), _NO_HEAD, np.int32)
        starts = np.repeat(outputs.offsets[:-1], outputs.lengths)
        head = outputs.values[:, 0]
        predicted[kept] = np.where(head > 0, number[kept][starts + np.maximum(head, 1) - 1], 0)
        names = np.array([*store.meta["labels"], ""], dtype=object)
        relation = np.full(len(kept), len(names) - 1)
        relation[kept] = outputs.values[:, 1]
        offsets = first.offsets.astype(np.int32)
        lists = {
            "gold_heads": heads.values.astype(np.int32),
            "predicted_heads": predicted,
            "gold_relations": names[relations.values],
            "predicted_relations": names[relation],
        }
        columns = {key: pa.ListArray.from_arrays(offsets, item) for key, item in lists.items()}
        return pa.table(examples.columns(dataset) | columns, self.prediction_schema)
