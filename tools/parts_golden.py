"""Writes tests/data/parts.safetensors: every variant of a family alone, and attention with each thing that it may be
told (attention_layer.py), by PyTorch (part of make_goldens.py).

"<family>.<variant>." stands before "x", "y", "dy", "dx" and before "param." and "grad." with a parameter's name. Where
PyTorch has no module the formula stands here. A row of "init" holds what is drawn for the parameters of a small model.
"""
import math

from pytorch import torch
import torch.nn as nn
import torch.nn.functional as F

import lesson
import safetensors_io
from attention_layer import BUCKETS, Attention, LayerNormWithoutBias, RMSNorm, rope_table

D, HIDDEN, POSITIONS = 18, 21, 9  # widths that no vector divides
LENGTHS = (4, 1, 3)
HEADS = dict(width=8, heads=2, kv_heads=1, d_head=6)  # of attentions, over longer sequences
QUERIES, KEYS, SHORT_TABLE = (21, 1, 4), (3, 24, 2), 12
SEED = 3


class TwoLayers(nn.Module):
    def __init__(self, activation, width=D, hidden=HIDDEN):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(width, hidden), activation, nn.Dropout(0.0), nn.Linear(hidden, width))

    def forward(self, x):
        return self.net(x)


class Gated(nn.Module):
    def __init__(self, activation, width=D, hidden=HIDDEN):
        super().__init__()
        self.gate, self.up = nn.Linear(width, hidden, bias=False), nn.Linear(width, hidden, bias=False)
        self.down, self.activation = nn.Linear(hidden, width, bias=False), activation

    def forward(self, x):
        return self.down(self.activation(self.gate(x)) * self.up(x))


class Sinusoidal(lesson.PositionalEncoding):
    def __init__(self):
        super().__init__(D, POSITIONS)

    def forward(self, x, position):
        return x + self.pe[0, position]


class Learned(nn.Embedding):
    def __init__(self):
        super().__init__(POSITIONS, D)

    def forward(self, x, position):
        return x + super().forward(position)


class NoPosition(nn.Module):
    def forward(self, x, _):
        return x.clone()


class RotaryTable(NoPosition):
    """Nothing happens to embedded rows; attention turns queries and keys by what stands in the table."""
    def __init__(self):
        super().__init__()
        self.register_buffer("rope", rope_table(POSITIONS, HEADS["d_head"]))


NORMS = {"layernorm": lambda: nn.LayerNorm(D), "rmsnorm": lambda: RMSNorm(D)}
NORMS_WITHOUT_BIAS = {"layernorm": lambda: LayerNormWithoutBias(D), "rmsnorm": lambda: RMSNorm(D)}
FEED_FORWARDS = {
    "relu": lambda: TwoLayers(nn.ReLU()),
    "gelu": lambda: TwoLayers(nn.GELU()),
    "gelu-tanh": lambda: TwoLayers(nn.GELU(approximate="tanh")),
    "swiglu": lambda: Gated(F.silu),
    "geglu": lambda: Gated(F.gelu),
}
POSITION_KINDS = {"sinusoidal": Sinusoidal, "learned": Learned, "none": NoPosition, "rope": RotaryTable,
                  "rope-interleaved": RotaryTable, "alibi": NoPosition, "relative-bias": NoPosition,
                  "relative-bias-per-layer": NoPosition}
NTK = {"scaling": "ntk", "factor": 3.0}
ATTENTIONS = {  # positions that attention knows, then what else it may be told
    **{name: {"position": name} for name in ("rope", "rope-interleaved", "alibi", "relative-bias",
                                             "relative-bias-per-layer", "none")},
    "no-biases": {"biased": False},
    "window": {"window": 3},
    "soft-cap": {"soft_cap": 0.5},
    "qk-layernorm": {"norm": nn.LayerNorm},
    "qk-rmsnorm": {"norm": RMSNorm, "biased": False},
    "rope-linear": {"position": "rope", "rope": {"scaling": "linear", "factor": 3.0}},
    "rope-ntk": {"position": "rope", "rope": NTK},
    "rope-all": {"position": "rope", "rope": NTK, "window": 5, "soft_cap": 2.0, "norm": LayerNormWithoutBias,
                 "biased": False},
}


def xavier(name, parameter):
    nn.init.xavier_uniform_(parameter)


def normal(name, parameter):
    """GPT-2's. Each stack of this model has two branches."""
    ends_branch = name.endswith(("W_o.weight", "net.3.weight"))
    nn.init.normal_(parameter, 0.0, 0.02 / math.sqrt(2) if ends_branch else 0.02)


INITS = {"xavier": (xavier, False), "normal": (normal, True)}  # how a matrix is drawn, whether biases become 0


class LastOfAttention(nn.Module):
    """The last of an attention's matrices, which ends its branch, stands for them all; then norms of heads."""
    def __init__(self, width):
        super().__init__()
        self.W_o = nn.Linear(width, width, bias=False)
        self.q_norm, self.k_norm = nn.LayerNorm(2), LayerNormWithoutBias(2)
        self.rel_bias = nn.Embedding(BUCKETS, 2)


class Layer(nn.Module):
    def __init__(self, width, hidden):
        super().__init__()
        self.attn = LastOfAttention(width)
        self.ff = nn.Module()
        self.ff.net = nn.Sequential(nn.Linear(width, hidden), nn.ReLU(), nn.Dropout(0.0), nn.Linear(hidden, width))
        self.n1 = nn.LayerNorm(width)


class Drawn(nn.Module):
    """Rows of every role, some of fewer than 16 numbers, which PyTorch draws otherwise than more."""
    def __init__(self):
        super().__init__()
        self.src_emb, self.tgt_emb = nn.Embedding(5, 3), nn.Embedding(7, 3)
        self.pos = nn.Embedding(11, 3)
        self.enc, self.dec = nn.ModuleList([Layer(3, 6)]), nn.ModuleList([Layer(3, 5)])
        self.generator = nn.Linear(3, 4)


def fill(module, generator):
    for parameter in module.parameters():
        scale = 1.0 if parameter.dim() == 1 else parameter.size(1) ** -0.5
        parameter.data = scale * torch.randn(parameter.shape, generator=generator)


def record(result, case, module, generator, *inputs, rows=(sum(LENGTHS), D), dtype=torch.float, first=3):
    x = torch.randn(*rows, generator=generator)
    x[0, :] *= first  # activations far out
    fill(module, generator)
    module, x = module.to(dtype), x.to(dtype).requires_grad_()
    y = module(x, *inputs)
    dy = torch.randn(y.shape, generator=generator).to(dtype)
    y.backward(dy)
    result.update({f"{case}.x": x, f"{case}.y": y, f"{case}.dy": dy, f"{case}.dx": x.grad})
    result.update({f"{case}.param.{name}": value for name, value in module.state_dict().items()})
    result.update({f"{case}.grad.{name}": parameter.grad for name, parameter in module.named_parameters()})


def record_attention(result, name, kind, settings, generator):
    """In double, since sums over many rows and keys are compared; the file holds what float keeps of it. With rotary
    positions a model has a table, which ends before these sequences do."""
    case, rows = f"attention.{name}.{kind}", (sum(QUERIES), HEADS["width"])
    module = Attention(kind, **HEADS, **settings)
    if settings.get("position", "").startswith("rope"):
        module.register_buffer("rope", rope_table(SHORT_TABLE, HEADS["d_head"], **settings.get("rope", {})))
    memory = torch.randn(sum(KEYS), HEADS["width"], generator=generator).double().requires_grad_(kind == "cross")
    record(result, case, module, generator, QUERIES, memory, KEYS, rows=rows, dtype=torch.double, first=1)
    if kind == "cross":
        result.update({f"{case}.memory": memory, f"{case}.dmemory": memory.grad})


def record_init(result, case, draw, no_biases):
    torch.manual_seed(SEED)
    model = Drawn()
    for name, parameter in model.named_parameters():
        if parameter.dim() > 1:
            draw(name, parameter)
        elif no_biases and name.endswith(".bias"):
            nn.init.zeros_(parameter)
    result.update({f"{case}.param.{name}": value for name, value in model.state_dict().items()})


def write(path):
    generator = torch.Generator().manual_seed(11)
    position = torch.cat([torch.arange(length) for length in LENGTHS])
    result = {}
    for name, make in NORMS.items():
        record(result, f"norm.{name}", make(), generator)
    for name, make in FEED_FORWARDS.items():
        record(result, f"ffn.{name}", make(), generator)
    for name, make in POSITION_KINDS.items():
        record(result, f"position.{name}", make(), generator, position)
    for name, make in NORMS_WITHOUT_BIAS.items():
        record(result, f"norm_without_bias.{name}", make(), generator)
    for name, settings in ATTENTIONS.items():
        for kind in ("causal", "both", "cross"):
            record_attention(result, name, kind, settings, generator)
    for name, (draw, no_biases) in INITS.items():
        record_init(result, f"init.{name}", draw, no_biases)
    safetensors_io.save(path, {name: tensor.detach().float().contiguous() for name, tensor in result.items()}, {})
