"""A model of text and its training in plain PyTorch, in the manner of nanoGPT: what clearhead's steps are timed beside.

Sizes and settings are a recipe's options, as in recipes/tinyshakespeare.json: decoder-only, norms before sublayers,
learned positions, output tied to the embedding. Queries, keys and values come from one product, and a seed draws the
same first weights and the same batches as clearhead's --rng torch.
"""
import math

from pytorch import torch
import torch.nn as nn
import torch.nn.functional as F

from attention_layer import LayerNormWithoutBias

ACTIVATIONS = {"gelu": lambda: nn.GELU(), "gelu-tanh": lambda: nn.GELU(approximate="tanh"), "relu": nn.ReLU}
SUPPORTED = {"arch": ["decoder-only"], "norm": ["layernorm"], "norm-placement": ["pre"], "position": ["learned"],
             "ffn": list(ACTIVATIONS), "bias": ["no-output", "none"], "tie": ["target-output"], "embedding-scale": ["one"],
             "init": ["normal"], "dropout": [0], "optimizer": ["adamw"], "schedule": ["cosine"],
             "framing": ["windows"], "average": [0]}


def check(recipe):
    """A sentence for an option that this file knows nothing of, or None."""
    for option, values in SUPPORTED.items():
        if recipe.get(option) not in values:
            return f"{option}: expected {' or '.join(map(str, values))}, found {recipe.get(option)}"
    return None


def norm_of(recipe):
    return nn.LayerNorm(recipe["d-model"]) if recipe["bias"] == "no-output" else LayerNormWithoutBias(recipe["d-model"])


class Attention(nn.Module):
    def __init__(self, recipe):
        super().__init__()
        width, length, biased = recipe["d-model"], recipe["max-positions"], recipe["bias"] == "no-output"
        self.heads = recipe["heads"]
        self.qkv = nn.Linear(width, 3 * width, bias=biased)
        self.out = nn.Linear(width, width, bias=biased)
        self.register_buffer("future", torch.ones(length, length, dtype=torch.bool).triu(1))

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = (part.view(batch, length, self.heads, -1).transpose(1, 2) for part in self.qkv(x).split(width, dim=2))
        scores = (q @ k.transpose(-2, -1)) * (1 / math.sqrt(q.size(-1)))
        scores = scores.masked_fill(self.future[:length, :length], -math.inf)
        heads = F.softmax(scores, dim=-1) @ v  # (B, H, T, Dh)
        return self.out(heads.transpose(1, 2).contiguous().view(batch, length, width))


class Block(nn.Module):
    def __init__(self, recipe):
        super().__init__()
        width, hidden, biased = recipe["d-model"], recipe["d-ff"], recipe["bias"] == "no-output"
        self.attention = Attention(recipe)
        self.widen, self.narrow = nn.Linear(width, hidden, bias=biased), nn.Linear(hidden, width, bias=biased)
        self.activation = ACTIVATIONS[recipe["ffn"]]()
        self.n1, self.n2 = norm_of(recipe), norm_of(recipe)

    def forward(self, x):
        x = x + self.attention(self.n1(x))
        return x + self.narrow(self.activation(self.widen(self.n2(x))))


class Model(nn.Module):
    def __init__(self, recipe, vocab):
        super().__init__()
        width = recipe["d-model"]
        self.tokens, self.positions = nn.Embedding(vocab, width), nn.Embedding(recipe["max-positions"], width)
        self.blocks = nn.ModuleList(Block(recipe) for _ in range(recipe["layers"]))
        self.norm = norm_of(recipe)
        self.output = nn.Linear(width, vocab, bias=False)
        self.output.weight = self.tokens.weight
        narrow = 0.02 / math.sqrt(2 * recipe["layers"])  # where a residual branch ends
        for name, parameter in self.named_parameters():
            if parameter.dim() == 2:
                nn.init.normal_(parameter, std=narrow if name.endswith(("out.weight", "narrow.weight")) else 0.02)
            elif name.endswith("bias"):
                nn.init.zeros_(parameter)

    def forward(self, x, labels):
        """The mean loss of labels (B, T) behind tokens (B, T)."""
        h = self.tokens(x) + self.positions(torch.arange(x.size(1)))
        for block in self.blocks:
            h = block(h)
        logits = self.output(self.norm(h))
        return F.cross_entropy(logits.view(-1, logits.size(-1)), labels.view(-1))


def optimizer_of(model, recipe):
    """AdamW, whose decay is for matrices alone."""
    matrices = [parameter for parameter in model.parameters() if parameter.dim() >= 2]
    others = [parameter for parameter in model.parameters() if parameter.dim() < 2]
    return torch.optim.AdamW([{"params": matrices, "weight_decay": recipe["weight-decay"]},
                              {"params": others, "weight_decay": 0.0}],
                             lr=recipe["lr"], betas=(recipe["beta1"], recipe["beta2"]))


def rate(recipe, done):
    """nanoGPT's learning rate behind so many steps."""
    most, least, warmup, steps = recipe["lr"], recipe["min-lr"], recipe["warmup"], recipe["steps"]
    if done < warmup:
        return most * (done + 1) / (warmup + 1)
    if done >= steps:
        return least
    return least + 0.5 * (1 + math.cos(math.pi * (done - warmup) / (steps - warmup))) * (most - least)


def batch_of(tokens, recipe):
    """Windows from anywhere in the text, and what comes next in them."""
    length = recipe["max-positions"]
    starts = torch.randint(len(tokens) - length, (recipe["batch-size"],)).tolist()
    return tuple(torch.stack([tokens[at + ahead:at + ahead + length] for at in starts]) for ahead in (0, 1))


def clip_and_measure(parameters, most):
    """The norm with its sum in double: in float, over a hundred million elements, its fifth digit is lost."""
    parameters = list(parameters)
    norm = sum(parameter.grad.double().square().sum() for parameter in parameters).sqrt()
    nn.utils.clip_grad_norm_(parameters, most)
    return norm


def train(model, tokens, recipe, clip=nn.utils.clip_grad_norm_):
    """Steps without end on the first nine tenths of a text; yields the loss and the gradient's norm as tensors."""
    optimizer, done, tokens = optimizer_of(model, recipe), 0, tokens[:int(0.9 * len(tokens))]
    while True:
        for group in optimizer.param_groups:
            group["lr"] = rate(recipe, done)
        loss = model(*batch_of(tokens, recipe))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        norm = clip(model.parameters(), recipe["clip"])
        optimizer.step()
        done += 1
        yield loss.detach(), norm


def read(path):
    """(the tokens of a text's characters, how many distinct ones there are): in the order of their code points."""
    with open(path, encoding="utf-8", newline="") as file:
        text = file.read()
    number = {character: i for i, character in enumerate(sorted(set(text)))}
    return torch.tensor([number[character] for character in text]), len(number)


def forward_flop(recipe, vocab):
    """Useful arithmetic of a forward pass over a window, as bench/models.c counts it."""
    t, d, f = recipe["max-positions"], recipe["d-model"], recipe["d-ff"]
    return recipe["layers"] * (2 * t * d * (4 * d + 2 * f) + 4 * t * (t + 1) / 2 * d) + 2 * t * d * vocab
