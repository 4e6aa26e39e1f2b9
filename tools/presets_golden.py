"""Writes tests/data/presets.safetensors: a small model of every preset, by PyTorch (part of make_goldens.py).

"<case>." stands before "param.", "source", "target" and their lengths (examples, one behind the other), "logits",
"loss" and "grad.". What a preset is stands in PRESETS, apart from the table in src/recipe/preset.c that it is held
against. Parameters have the names of ours, so that a state_dict of either is one of the other.

Rows (N, D) are of sequences one behind the other. Everything is computed in double; the file holds what float keeps.
"""
import math

from pytorch import torch
import torch.nn as nn
import torch.nn.functional as F

import lesson
import safetensors_io
from attention_layer import Attention, RMSNorm, rope_table
from parts_golden import Gated, TwoLayers, fill

D, HIDDEN, LAYERS, POSITIONS = 16, 12, 2, 24
SYMBOLS, PAD, SOS, EOS, MASK, CLASSES = 10, 10, 11, 12, 13, 2
HEADS = dict(width=D, heads=4, d_head=D // 4)
BASE = {"base": 10000.0}
LENGTHS = (5, 1, 4)
SCALED, UNSCALED = math.sqrt(D), 1.0


def gelu_layers():
    return TwoLayers(nn.GELU(), D, HIDDEN)


def gelu_tanh_layers():
    return TwoLayers(nn.GELU(approximate="tanh"), D, HIDDEN)


def relu_layers():
    return TwoLayers(nn.ReLU(), D, HIDDEN)


def swiglu():
    return Gated(F.silu, D, HIDDEN)


PRESETS = {  # norms, before sublayers or behind, positions, feed-forward, biases, heads of keys, scale of embeddings, tied
    "lesson": (nn.LayerNorm, False, "sinusoidal", relu_layers, True, 4, SCALED, False),
    "modern": (RMSNorm, True, "rope", swiglu, False, 2, SCALED, False),
    "gpt2": (nn.LayerNorm, True, "learned", gelu_tanh_layers, True, 4, UNSCALED, True),
    "llama": (RMSNorm, True, "rope", swiglu, False, 4, UNSCALED, False),
    "bert": (nn.LayerNorm, False, "learned", gelu_layers, True, 4, UNSCALED, False),
}
CASES = {  # preset, the stacks, what is read off the last
    "lesson": ("lesson", "encoder-decoder", "tokens"),
    "modern.encoder-decoder": ("modern", "encoder-decoder", "tokens"),
    "modern.decoder-only": ("modern", "decoder-only", "tokens"),
    "gpt2": ("gpt2", "decoder-only", "tokens"),
    "llama": ("llama", "decoder-only", "tokens"),
    "bert.classification": ("bert", "encoder-only", "class"),
    "bert.masked-token": ("bert", "encoder-only", "hidden"),
}


class Block(nn.Module):
    """Sublayers on residual branches. kinds: the attentions, by name."""
    def __init__(self, kinds, norm, norm_first, position, feed_forward, biased, kv_heads):
        super().__init__()
        self.norm_first, self.attentions = norm_first, list(kinds)
        for name, kind in kinds.items():
            setattr(self, name, Attention(kind, **HEADS, kv_heads=kv_heads, biased=biased, position=position, rope=BASE))
        self.ff = feed_forward()
        for number in range(1, len(kinds) + 2):
            setattr(self, f"n{number}", norm(D))

    def branch(self, number, x, sublayer):
        norm = getattr(self, f"n{number}")
        return x + sublayer(norm(x)) if self.norm_first else norm(x + sublayer(x))

    def forward(self, x, lengths, memory=None, memory_lengths=None):
        for number, name in enumerate(self.attentions, start=1):
            attention = getattr(self, name)
            x = self.branch(number, x, lambda z: attention(z, lengths, memory, memory_lengths))
        return self.branch(len(self.attentions) + 1, x, self.ff)


def positions_module(position):
    if position == "sinusoidal":
        return lesson.PositionalEncoding(D, POSITIONS)
    if position == "learned":
        return nn.Embedding(POSITIONS, D)
    table = nn.Module()
    table.register_buffer("rope", rope_table(POSITIONS, HEADS["d_head"], **BASE))
    return table


class Model(nn.Module):
    def __init__(self, preset, arch, head):
        super().__init__()
        norm, norm_first, position, feed_forward, biased, kv_heads, self.scale, self.tied = PRESETS[preset]
        self.position, self.both, self.classifies = position, arch == "encoder-decoder", head == "class"
        vocab = MASK + 1 if head == "hidden" else MASK
        knows = position if position == "rope" else "none"  # what attention hears of positions
        parts = (norm, norm_first, knows, feed_forward, biased, kv_heads)

        def stack(name, kinds):
            setattr(self, name, nn.ModuleList(Block(kinds, *parts) for _ in range(LAYERS)))
            setattr(self, f"{name}_norm", norm(D) if norm_first else nn.Identity())

        for table in ("src_emb", "tgt_emb") if self.both else ("tok_emb",):
            setattr(self, table, nn.Embedding(vocab, D, padding_idx=PAD))
        self.pos = positions_module(position)
        if arch != "decoder-only":
            stack("enc", {"attn": "both"})
        if arch == "decoder-only":
            stack("dec", {"attn": "causal"})
        if self.both:
            stack("dec", {"self_attn": "causal", "cross_attn": "cross"})
        if self.classifies:
            self.classifier = nn.Linear(D, CLASSES, bias=biased)
        else:
            self.generator = nn.Linear(D, vocab, bias=biased and preset != "gpt2")
        if self.tied:
            self.generator.weight = self.tok_emb.weight

    def embed(self, table, rows):
        x = getattr(self, table)(torch.tensor([token for row in rows for token in row])) * self.scale
        place = torch.cat([torch.arange(len(row)) for row in rows])
        if self.position == "sinusoidal":
            return x + self.pos.pe[0, place]
        return x + self.pos(place) if self.position == "learned" else x

    def run(self, name, x, *lengths_and_memory):
        for block in getattr(self, name):
            x = block(x, *lengths_and_memory)
        return getattr(self, f"{name}_norm")(x)

    def forward(self, sources, targets):
        """Rows that each stack reads; the other's are None."""
        if self.both:
            source_lengths = [len(row) for row in sources]
            memory = self.run("enc", self.embed("src_emb", sources), source_lengths)
            x = self.run("dec", self.embed("tgt_emb", targets), [len(row) for row in targets], memory, source_lengths)
            return self.generator(x)
        rows = targets or sources
        lengths = [len(row) for row in rows]
        x = self.run("dec" if targets else "enc", self.embed("tok_emb", rows), lengths)
        if not self.classifies:
            return self.generator(x)
        return self.classifier(torch.stack([piece[0] for piece in x.split(lengths)]))


def examples(head, generator):
    """(sources, targets): an answer, a class, or the tokens that were hidden and -1 elsewhere."""
    sources = [torch.randint(0, SYMBOLS, (length,), generator=generator).tolist() for length in LENGTHS]
    if head == "class":
        return sources, [[number % CLASSES] for number in range(len(sources))]
    if head == "hidden":
        hidden = [[MASK if place % 2 == 0 else token for place, token in enumerate(source)] for source in sources]
        return hidden, [[token if place % 2 == 0 else -1 for place, token in enumerate(source)] for source in sources]
    return sources, [[SOS, *reversed(source), EOS] for source in sources]


def rows_and_labels(arch, head, sources, targets):
    """What the stacks read, and the label of each row of logits."""
    if arch == "encoder-only":
        read = [[SOS, *source] for source in sources] if head == "class" else sources
        return read, None, [label for target in targets for label in target]
    if arch == "encoder-decoder":
        return sources, [target[:-1] for target in targets], [label for target in targets for label in target[1:]]
    labels = [[-1] * len(source) + target[1:] for source, target in zip(sources, targets)]
    return None, [source + target[:-1] for source, target in zip(sources, targets)], sum(labels, [])


def record(result, case, preset, arch, head, generator):
    model = Model(preset, arch, head)
    fill(model, generator)
    model.double()
    sources, targets = examples(head, generator)
    read_sources, read_targets, labels = rows_and_labels(arch, head, sources, targets)
    logits = model(read_sources, read_targets)
    loss = F.cross_entropy(logits, torch.tensor(labels), ignore_index=-1)
    loss.backward()
    for side, sequences in (("source", sources), ("target", targets)):
        result[f"{case}.{side}"] = torch.tensor(sum(sequences, []))
        result[f"{case}.{side}_lengths"] = torch.tensor([len(sequence) for sequence in sequences])
    result.update({f"{case}.logits": logits, f"{case}.loss": loss.reshape(1)})
    shared = ["generator.weight"] if model.tied else []  # a state_dict names it twice
    result.update({f"{case}.param.{name}": value for name, value in model.state_dict().items() if name not in shared})
    result.update({f"{case}.grad.{name}": parameter.grad for name, parameter in model.named_parameters()})


def write(path):
    generator = torch.Generator().manual_seed(13)
    result = {}
    for case, (preset, arch, head) in CASES.items():
        record(result, case, preset, arch, head, generator)
    safetensors_io.save(path, {name: tensor.detach().float().contiguous() if tensor.is_floating_point() else tensor
                               for name, tensor in result.items()}, {})
