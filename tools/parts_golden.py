"""Writes tests/data/parts.safetensors: every variant of a family alone, by PyTorch (part of make_goldens.py).

"<family>.<variant>." stands before "x", "y", "dy", "dx" and before "param." and "grad." with a parameter's name. Where
PyTorch has no module the formula stands here. A row of "init" holds what is drawn for the parameters of a small model.
"""
import math

from pytorch import torch
import torch.nn as nn
import torch.nn.functional as F

import lesson
import safetensors_io

D, HIDDEN, POSITIONS = 18, 21, 9  # widths that no vector divides
LENGTHS = (4, 1, 3)
SEED = 3


class RMSNorm(nn.Module):
    def __init__(self, width, eps=1e-5):
        super().__init__()
        self.weight, self.eps = nn.Parameter(torch.ones(width)), eps

    def forward(self, x):
        return x / torch.sqrt(x.square().mean(-1, keepdim=True) + self.eps) * self.weight


class TwoLayers(nn.Module):
    def __init__(self, activation):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(D, HIDDEN), activation, nn.Dropout(0.0), nn.Linear(HIDDEN, D))

    def forward(self, x):
        return self.net(x)


class Gated(nn.Module):
    def __init__(self, activation):
        super().__init__()
        self.gate, self.up = nn.Linear(D, HIDDEN, bias=False), nn.Linear(D, HIDDEN, bias=False)
        self.down, self.activation = nn.Linear(HIDDEN, D, bias=False), activation

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


NORMS = {"layernorm": lambda: nn.LayerNorm(D), "rmsnorm": lambda: RMSNorm(D)}
FEED_FORWARDS = {
    "relu": lambda: TwoLayers(nn.ReLU()),
    "gelu": lambda: TwoLayers(nn.GELU()),
    "gelu-tanh": lambda: TwoLayers(nn.GELU(approximate="tanh")),
    "swiglu": lambda: Gated(F.silu),
    "geglu": lambda: Gated(F.gelu),
}
POSITION_KINDS = {"sinusoidal": Sinusoidal, "learned": Learned, "none": NoPosition}


def xavier(name, parameter):
    nn.init.xavier_uniform_(parameter)


def normal(name, parameter):
    """GPT-2's. Each stack of this model has two branches."""
    ends_branch = name.endswith(("W_o.weight", "net.3.weight"))
    nn.init.normal_(parameter, 0.0, 0.02 / math.sqrt(2) if ends_branch else 0.02)


INITS = {"xavier": (xavier, False), "normal": (normal, True)}  # how a matrix is drawn, whether biases become 0


class Attention(nn.Module):
    """The last of an attention's parameters, the matrix that ends its branch, stands for them all."""
    def __init__(self, width):
        super().__init__()
        self.W_o = nn.Linear(width, width)


class Layer(nn.Module):
    def __init__(self, width, hidden):
        super().__init__()
        self.attn = Attention(width)
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


def record(result, case, module, generator, *inputs):
    x = torch.randn(sum(LENGTHS), D, generator=generator)
    x[0, :] *= 3  # activations far out
    x.requires_grad_()
    for parameter in module.parameters():
        scale = 1.0 if parameter.dim() == 1 else parameter.size(1) ** -0.5
        parameter.data = scale * torch.randn(parameter.shape, generator=generator)
    y = module(x, *inputs)
    dy = torch.randn(y.shape, generator=generator)
    y.backward(dy)
    result.update({f"{case}.x": x, f"{case}.y": y, f"{case}.dy": dy, f"{case}.dx": x.grad})
    result.update({f"{case}.param.{name}": value for name, value in module.state_dict().items()})
    result.update({f"{case}.grad.{name}": parameter.grad for name, parameter in module.named_parameters()})


def record_init(result, case, fill, no_biases):
    torch.manual_seed(SEED)
    model = Drawn()
    for name, parameter in model.named_parameters():
        if parameter.dim() > 1:
            fill(name, parameter)
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
    for name, (fill, no_biases) in INITS.items():
        record_init(result, f"init.{name}", fill, no_biases)
    safetensors_io.save(path, {name: tensor.detach().clone().contiguous() for name, tensor in result.items()}, {})
