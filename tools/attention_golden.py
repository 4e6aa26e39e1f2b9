"""Attention on plain arrays as the article writes it, run by PyTorch: what the library's functions must equal.

Mask 0 means hidden. Every query of the masks below sees something: the article's version gives NaN where one does not.
"""
from pytorch import torch
import torch.nn.functional as F

import safetensors_io

B, H, T, S, DH = 2, 3, 5, 7, 4


def scaled_dot_product_attention(q, k, v, mask):
    scores = q @ k.transpose(-2, -1) / q.size(-1) ** 0.5
    if mask is not None:
        scores = scores.masked_fill(mask[:, None] == 0, float("-inf"))
    weights = F.softmax(scores, dim=-1)
    return weights @ v, weights


def multi_head_attention(x, memory, p, mask):
    def heads(rows, name):
        y = F.linear(rows, p["w_" + name], p.get("b_" + name))
        return y.view(rows.size(0), rows.size(1), H, DH).transpose(1, 2)

    out, weights = scaled_dot_product_attention(heads(x, "q"), heads(memory, "k"), heads(memory, "v"), mask)
    return F.linear(out.transpose(1, 2).reshape(x.shape), p["w_o"], p.get("b_o")), weights


def record(result, case, inputs, out, weights, generator):
    dout = torch.randn(out.shape, generator=generator)
    gradients = torch.autograd.grad(out, list(inputs.values()), dout)
    result.update({f"{case}.{name}": tensor for name, tensor in inputs.items()})
    result.update({f"{case}.out": out, f"{case}.weights": weights, f"{case}.dout": dout})
    result.update({f"{case}.d{name}": gradient for name, gradient in zip(inputs, gradients)})


def write(path):
    generator = torch.Generator().manual_seed(7)

    def random(*shape, scale=1.0):
        return (scale * torch.randn(*shape, generator=generator)).requires_grad_()

    mask = (torch.rand(B, T, S, generator=generator) < 0.6).float()
    mask[:, :, 0] = 1
    causal = torch.tril(torch.ones(T, T)).expand(B, T, T).contiguous()
    result = {"mask": mask, "causal": causal}
    for case, use in (("plain", None), ("masked", mask)):
        inputs = {"q": random(B, H, T, DH), "k": random(B, H, S, DH), "v": random(B, H, S, DH)}
        record(result, case, inputs, *scaled_dot_product_attention(*inputs.values(), use), generator)
    for case, biases, self_attention in (("self", False, True), ("self_biased", True, True), ("cross", True, False)):
        inputs = {"x": random(B, T, H * DH)}
        if not self_attention:
            inputs["memory"] = random(B, S, H * DH)
        inputs.update({"w_" + name: random(H * DH, H * DH, scale=(H * DH) ** -0.5) for name in "qkvo"})
        if biases:
            inputs.update({"b_" + name: random(H * DH) for name in "qkvo"})
        out, weights = multi_head_attention(inputs["x"], inputs.get("memory", inputs["x"]), inputs,
                                            causal if self_attention else mask)
        record(result, case, inputs, out, weights, generator)
    safetensors_io.save(path, {name: tensor.detach().contiguous() for name, tensor in result.items()}, {})
