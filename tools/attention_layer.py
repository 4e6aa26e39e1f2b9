"""One attention with all that it may be told, by formulas in PyTorch: what tools/parts_golden.py compares with.

Rows (N, C) of sequences one behind another. `kind` is "causal" or "both" (self-attention) or "cross"; of positions,
windows and soft caps cross-attention knows nothing.
"""
import math

from pytorch import torch
import torch.nn as nn
import torch.nn.functional as F

BUCKETS, MAX_DISTANCE = 32, 128  # T5's


class RMSNorm(nn.Module):
    def __init__(self, width, eps=1e-5):
        super().__init__()
        self.weight, self.eps = nn.Parameter(torch.ones(width)), eps

    def forward(self, x):
        return x / torch.sqrt(x.square().mean(-1, keepdim=True) + self.eps) * self.weight


class LayerNormWithoutBias(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return F.layer_norm(x, x.shape[-1:], self.weight)


def rope_angles(positions, d_head, base=100.0, scaling="none", factor=1.0):
    """(positions, Dh / 2), in double."""
    if scaling == "ntk":
        base *= factor ** (d_head / (d_head - 2))
    speed = base ** (-torch.arange(0, d_head, 2, dtype=torch.float64) / d_head)
    position = torch.arange(positions, dtype=torch.float64) / (factor if scaling == "linear" else 1.0)
    return position[:, None] * speed


def rope_table(*arguments, **settings):
    """(positions, Dh): cosines, then sines."""
    angles = rope_angles(*arguments, **settings)
    return torch.cat([angles.cos(), angles.sin()], dim=-1).float()


def turn(x, angles, interleaved):
    """x (heads, T, Dh): pairs as complex numbers, times e^(i angle)."""
    heads, length, width = x.shape
    pairs = x.view(heads, length, width // 2, 2) if interleaved else x.view(heads, length, 2, width // 2).transpose(2, 3)
    turned = torch.view_as_real(torch.view_as_complex(pairs.contiguous()) * torch.polar(torch.ones_like(angles), angles))
    return (turned if interleaved else turned.transpose(2, 3)).reshape(heads, length, width)


def alibi_slopes(heads):
    """For a number of heads that is a power of two."""
    return torch.tensor([2.0 ** (-8.0 * (head + 1) / heads) for head in range(heads)])


def buckets_of(distance, bidirectional):
    """T5's bucket for each j - i."""
    own = BUCKETS // 2 if bidirectional else BUCKETS
    first = torch.where(distance > 0, own, 0) if bidirectional else torch.zeros_like(distance)
    away = distance.abs() if bidirectional else (-distance).clamp(min=0)
    exact = own // 2
    share = torch.log(away.clamp(min=1).double() / exact) / math.log(MAX_DISTANCE / exact)
    far = (exact + (share * (own - exact)).floor().long()).clamp(max=own - 1)
    return first + torch.where(away < exact, away, far)


class Attention(nn.Module):
    def __init__(self, kind, width, heads, kv_heads, d_head, position="none", rope=None, biased=True, window=0,
                 soft_cap=0.0, norm=None):
        super().__init__()
        self.kind, self.heads, self.kv_heads, self.d_head = kind, heads, kv_heads, d_head
        self.position = "none" if kind == "cross" else position
        self.turning, self.window, self.soft_cap = rope or {}, window, soft_cap
        self.W_q = nn.Linear(width, heads * d_head, bias=biased)
        self.W_k = nn.Linear(width, kv_heads * d_head, bias=biased)
        self.W_v = nn.Linear(width, kv_heads * d_head, bias=biased)
        self.W_o = nn.Linear(heads * d_head, width, bias=biased)
        self.q_norm, self.k_norm = (norm(d_head), norm(d_head)) if norm else (None, None)
        if self.position.startswith("relative-bias"):
            self.rel_bias = nn.Embedding(BUCKETS, heads)

    def split(self, x):
        return x.view(x.size(0), -1, self.d_head).transpose(0, 1)  # (heads, T, Dh)

    def prepare(self, x, norm):
        x = norm(self.split(x)) if norm else self.split(x)
        if self.position.startswith("rope"):
            angles = rope_angles(x.size(1), self.d_head, **self.turning).to(x.dtype)
            x = turn(x, angles, self.position == "rope-interleaved")
        return x.repeat_interleave(self.heads // x.size(0), dim=0)

    def scores(self, query, key):
        scores = query @ key.transpose(1, 2) / math.sqrt(self.d_head)
        if self.kind == "cross":
            return scores
        if self.soft_cap:
            scores = self.soft_cap * torch.tanh(scores / self.soft_cap)
        place = torch.arange(key.size(1))
        distance = place[None, :] - place[:, None]  # j - i
        if self.position == "alibi":
            scores = scores - alibi_slopes(self.heads)[:, None, None] * distance.abs()
        if self.position.startswith("relative-bias"):
            scores = scores + self.rel_bias(buckets_of(distance, self.kind == "both")).permute(2, 0, 1)
        hidden = (distance > 0) & (self.kind == "causal")
        if self.window:
            hidden = hidden | (distance.abs() >= self.window)
        return scores.masked_fill(hidden, -math.inf)

    def one(self, x, memory):
        query, key = self.prepare(self.W_q(x), self.q_norm), self.prepare(self.W_k(memory), self.k_norm)
        value = self.split(self.W_v(memory)).repeat_interleave(self.heads // self.kv_heads, dim=0)
        weights = torch.softmax(self.scores(query, key), dim=-1)
        return self.W_o((weights @ value).transpose(0, 1).flatten(1))

    def forward(self, x, lengths, memory=None, memory_lengths=None):
        pieces = x.split(lengths)
        others = memory.split(memory_lengths) if self.kind == "cross" else pieces
        return torch.cat([self.one(*pair) for pair in zip(pieces, others)])
