"""The lesson's mini transformer in PyTorch: what clearhead's numbers are compared with.

The same modules under the same names, registered in the same order, and the same random draws as the lesson's
code, so that a seed gives the same run and a state_dict the same names. Besides, every intermediate can be
recorded under its site name (`record_sites`): the tensors themselves, so that their gradients can be kept, too.
Recording changes no value.
"""
import math

from pytorch import torch
import torch.nn as nn
import torch.nn.functional as F

PAD, SOS, EOS = 10, 11, 12
VOCAB = 13


def make_batch(batch_size, min_len=4, max_len=10):
    """(src, tgt), int64 and padded: tgt is SOS, the reversed source, EOS."""
    lengths = torch.randint(min_len, max_len + 1, (batch_size,)).tolist()
    return pad_batch([torch.randint(0, 10, (length,)) for length in lengths])


def pad_batch(sources):
    longest = max(len(source) for source in sources)
    src = torch.full((len(sources), longest), PAD, dtype=torch.long)
    tgt = torch.full((len(sources), longest + 2), PAD, dtype=torch.long)
    for i, source in enumerate(sources):
        n = len(source)
        src[i, :n] = source
        tgt[i, 0] = SOS
        tgt[i, 1:n + 1] = source.flip(0)
        tgt[i, n + 1] = EOS
    return src, tgt


class Site(nn.Module):
    """A module that can record what it computes; its place in the model is the first part of the site's name."""
    place, sites = "", None

    def record(self, name, value):
        if self.sites is not None:
            self.sites[f"{self.place}.{name}" if self.place else name] = value
        return value


def record_sites(model, sites):
    """Sends every intermediate of the following passes into the dict `sites`; None stops that."""
    for place, module in model.named_modules():
        if isinstance(module, Site):
            module.place, module.sites = place, sites


class PositionalEncoding(nn.Module):
    def __init__(self, d_model, max_len=512, dropout=0.1):
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        position = torch.arange(max_len).unsqueeze(1).float()
        rate = torch.exp(torch.arange(0, d_model, 2).float() * (-math.log(10000.0) / d_model))
        pe = torch.zeros(max_len, d_model)
        pe[:, 0::2] = torch.sin(position * rate)
        pe[:, 1::2] = torch.cos(position * rate)
        self.register_buffer("pe", pe.unsqueeze(0))  # (1, max_len, D)

    def add(self, x):
        return x + self.pe[:, :x.size(1)]


class MultiHeadAttention(Site):
    """kv_heads: heads of keys and values, each for as many heads of queries; d_head: width of a head."""
    def __init__(self, d_model, num_heads, dropout=0.1, kv_heads=None, d_head=None):
        super().__init__()
        self.h, self.k = num_heads, kv_heads or num_heads
        assert self.h % self.k == 0 and (d_head or d_model % num_heads == 0)
        self.d_k = d_head or d_model // num_heads
        self.W_q = nn.Linear(d_model, self.h * self.d_k)
        self.W_k = nn.Linear(d_model, self.k * self.d_k)
        self.W_v = nn.Linear(d_model, self.k * self.d_k)
        self.W_o = nn.Linear(self.h * self.d_k, d_model)
        self.dropout = nn.Dropout(dropout)

    def split(self, x):
        """(B, T, H * Dh) -> (B, H, T, Dh), heads of keys and values repeated."""
        x = x.view(*x.shape[:2], -1, self.d_k).transpose(1, 2)
        return x.repeat_interleave(self.h // x.size(1), dim=1)

    def forward(self, q, k, v, mask=None):
        query = self.record("query", self.W_q(q))
        key = self.record("key", self.W_k(k))
        value = self.record("value", self.W_v(v))
        scores = self.split(query) @ self.split(key).transpose(-2, -1) / math.sqrt(self.d_k)  # (B, H, T, S)
        self.record("scores", scores)
        if mask is not None:
            scores = scores.masked_fill(~mask, -1e9)
        weights = self.dropout(self.record("weights", torch.softmax(scores, dim=-1)))
        heads = (weights @ self.split(value)).transpose(1, 2).contiguous().flatten(2)
        return self.record("out", self.W_o(self.record("heads", heads))), weights


class FeedForward(Site):
    def __init__(self, d_model, d_ff, dropout=0.1):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Dropout(dropout), nn.Linear(d_ff, d_model))

    def forward(self, x):
        first, relu, dropout, second = self.net
        hidden = self.record("hidden", relu(first(x)))
        return self.record("out", second(dropout(hidden)))


class Layer(Site):
    """Residual branches with a norm behind each addition, or (norm_first) before each sublayer."""
    def __init__(self, dropout, norm_first):
        super().__init__()
        self.drop, self.norm_first = nn.Dropout(dropout), norm_first

    def branch(self, number, x, sublayer):
        norm = getattr(self, f"n{number}")
        if self.norm_first:
            return self.record(f"n{number}.sum", x + self.drop(sublayer(self.record(f"n{number}.out", norm(x)))))
        return self.record(f"n{number}.out", norm(x + self.drop(sublayer(x))))


class EncoderLayer(Layer):
    def __init__(self, d_model, h, d_ff, dropout=0.1, norm_first=False, **heads):
        super().__init__(dropout, norm_first)
        self.attn = MultiHeadAttention(d_model, h, dropout, **heads)
        self.ff = FeedForward(d_model, d_ff, dropout)
        self.n1, self.n2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)

    def forward(self, x, mask=None):
        x = self.branch(1, x, lambda z: self.attn(z, z, z, mask)[0])
        return self.branch(2, x, self.ff)


class DecoderLayer(Layer):
    def __init__(self, d_model, h, d_ff, dropout=0.1, norm_first=False, **heads):
        super().__init__(dropout, norm_first)
        self.self_attn = MultiHeadAttention(d_model, h, dropout, **heads)
        self.cross_attn = MultiHeadAttention(d_model, h, dropout, **heads)
        self.ff = FeedForward(d_model, d_ff, dropout)
        self.n1, self.n2, self.n3 = nn.LayerNorm(d_model), nn.LayerNorm(d_model), nn.LayerNorm(d_model)

    def forward(self, x, memory, tgt_mask=None, src_mask=None):
        maps = []

        def cross(z):
            attended, weights = self.cross_attn(z, memory, memory, src_mask)
            maps.append(weights)
            return attended

        x = self.branch(1, x, lambda z: self.self_attn(z, z, z, tgt_mask)[0])
        x = self.branch(2, x, cross)
        return self.branch(3, x, self.ff), maps[0]


def padding_mask(x):
    """(B, T) -> (B, 1, 1, T), true where the token is real."""
    return (x != PAD).unsqueeze(1).unsqueeze(2)


def target_mask(x):
    """(B, T) -> (B, 1, T, T), true where the key is real and not in the future."""
    return padding_mask(x) & torch.tril(torch.ones(x.size(1), x.size(1), dtype=torch.bool))[None, None]


class MiniTransformer(Site):
    def __init__(self, vocab=VOCAB, d_model=64, h=4, d_ff=256, num_layers=2, dropout=0.1, max_len=64,
                 norm_first=False, tie="none", embedding_scale="sqrt", **heads):
        super().__init__()
        self.scale = math.sqrt(d_model) if embedding_scale == "sqrt" else 1.0
        self.src_emb = nn.Embedding(vocab, d_model, padding_idx=PAD)
        self.tgt_emb = nn.Embedding(vocab, d_model, padding_idx=PAD)
        self.pos = PositionalEncoding(d_model, max_len, dropout)
        self.enc = nn.ModuleList(EncoderLayer(d_model, h, d_ff, dropout, norm_first, **heads) for _ in range(num_layers))
        self.enc_norm = nn.LayerNorm(d_model) if norm_first else None
        self.dec = nn.ModuleList(DecoderLayer(d_model, h, d_ff, dropout, norm_first, **heads) for _ in range(num_layers))
        self.dec_norm = nn.LayerNorm(d_model) if norm_first else None
        self.generator = nn.Linear(d_model, vocab)
        if tie in ("source-target", "all"):
            self.tgt_emb.weight = self.src_emb.weight
        if tie in ("target-output", "all"):
            self.generator.weight = self.tgt_emb.weight
        for parameter in self.parameters():
            if parameter.dim() > 1:
                nn.init.xavier_uniform_(parameter)

    def embed(self, table, tokens, site):
        x = self.pos.add(table(tokens) * self.scale)
        return self.pos.dropout(self.record(site, x))

    def encode(self, src, src_mask):
        x = self.embed(self.src_emb, src, "src.embedded")
        for layer in self.enc:
            x = layer(x, src_mask)
        return self.record("memory", self.close(self.enc_norm, "enc_norm.out", x))

    def close(self, norm, site, x):
        return self.record(site, norm(x)) if norm else x

    def decode(self, tgt, memory, tgt_mask, src_mask):
        x = self.embed(self.tgt_emb, tgt, "tgt.embedded")
        maps = []
        for layer in self.dec:
            x, cross = layer(x, memory, tgt_mask, src_mask)
            maps.append(cross)
        return self.close(self.dec_norm, "dec_norm.out", x), maps

    def forward(self, src, tgt):
        src_mask = padding_mask(src)
        memory = self.encode(src, src_mask)
        out, maps = self.decode(tgt, memory, target_mask(tgt), src_mask)
        return self.record("logits", self.generator(out)), maps


def sequence_loss(model, src, tgt):
    """Mean cross-entropy over real target tokens; the decoder reads the target shifted right."""
    logits, _ = model(src, tgt[:, :-1])
    return F.cross_entropy(logits.reshape(-1, logits.size(-1)), tgt[:, 1:].reshape(-1), ignore_index=PAD)


def adamw(model, betas, eps, decay):
    """Matrices decay, biases and norms do not: two groups of parameters."""
    matrices = [parameter for parameter in model.parameters() if parameter.dim() > 1]
    vectors = [parameter for parameter in model.parameters() if parameter.dim() < 2]
    return torch.optim.AdamW([{"params": matrices, "weight_decay": decay}, {"params": vectors, "weight_decay": 0.0}],
                             betas=betas, eps=eps)


def train(model, steps=3000, lr=1e-3, warmup=400, batch=lambda: make_batch(64), optimizer=None):
    """Yields (step, loss, gradient norm before clipping, learning rate used) after every step."""
    model.train()
    optimizer = optimizer or torch.optim.Adam(model.parameters(), betas=(0.9, 0.98), eps=1e-9)
    for group in optimizer.param_groups:
        group["lr"] = lr
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda done: min((done + 1) / warmup, 1.0))
    for step in range(1, steps + 1):
        loss = sequence_loss(model, *batch())
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        used = optimizer.param_groups[0]["lr"]
        optimizer.step()
        schedule.step()
        yield step, loss.item(), norm.item(), used


@torch.no_grad()
def greedy_decode(model, src, max_len=20):
    """(tokens with SOS in front, maps of the last step: for each layer (B, H, T, S))."""
    model.eval()
    src_mask = padding_mask(src)
    memory = model.encode(src, src_mask)
    tokens = torch.full((src.size(0), 1), SOS, dtype=torch.long)
    for _ in range(max_len - 1):
        out, maps = model.decode(tokens, memory, target_mask(tokens), src_mask)
        chosen = model.generator(out[:, -1]).argmax(-1, keepdim=True)
        tokens = torch.cat([tokens, chosen], dim=1)
        if (chosen == EOS).all():
            break
    return tokens, maps
