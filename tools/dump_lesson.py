"""Dumps one pass of the lesson's model in PyTorch, as `clearhead dump` dumps it.

    python3 tools/dump_lesson.py model.pt --heads 4 --source "3 1 4 1 5" --target "5 1 4 1 3" --out theirs.safetensors
    clearhead dump model.safetensors --source "3 1 4 1 5" --target "5 1 4 1 3" --out ours.safetensors
    clearhead compare ours.safetensors theirs.safetensors

MODEL is what torch.save(model.state_dict(), ...) wrote, or a .safetensors file of the same tensors. Dropout is off.
Names, shapes and order are those of `clearhead dump`: rows (N, C), a row for each token; scores before masking and
weights (H, T, S); "loss"; with --backward "grad.<site>" for every site that has rows and "grad.<parameter>".
For a model of your own, changed from the lesson's: import `dump` and give it your model; what record() sees is dumped.
"""
import argparse
import re

import torch
import torch.nn.functional as F

import lesson
import safetensors_io


class Retained(dict):
    """Takes the sites of a pass and has autograd keep their gradients."""

    def __setitem__(self, name, value):
        if value.requires_grad:
            value.retain_grad()
        super().__setitem__(name, value)


def load_state(path):
    """(state_dict, heads or None)."""
    if not str(path).endswith(".safetensors"):
        return torch.load(path, map_location="cpu"), None
    state, metadata = safetensors_io.load(path)
    return state, int(metadata["heads"]) if "heads" in metadata else None


def build(state, heads):
    """The lesson's model with the sizes that the tensors tell."""
    vocab, d_model = state["src_emb.weight"].shape
    layers = 1 + max(int(re.match(r"enc\.(\d+)\.", name).group(1)) for name in state if name.startswith("enc."))
    model = lesson.MiniTransformer(vocab, d_model, heads, state["enc.0.ff.net.0.weight"].shape[0], layers, 0.0,
                                   state["pos.pe"].shape[1])
    model.load_state_dict(state)
    return model.eval()


def backward_order(sites):
    """The sites, the last first; but query, key and value, which backward meets together, stay in that order."""
    order = list(reversed(sites))
    for value in [name for name in order if name.endswith(".value")]:
        at = order.index(value)
        order[at:at + 3] = reversed(order[at:at + 3])
    return order


def dump(model, source, target, backward=False):
    """{name: tensor} of one pass, in the order of computation. source and target: tokens, without SOS and EOS."""
    src = torch.tensor([source])
    read = torch.tensor([[lesson.SOS, *target]])
    predict = torch.tensor([*target, lesson.EOS])
    sites = Retained()
    model.zero_grad()
    lesson.record_sites(model, sites)
    logits, _ = model(src, read)
    lesson.record_sites(model, None)
    loss = F.cross_entropy(logits[0], predict)
    out = {name: value[0] for name, value in sites.items()}
    out["loss"] = loss.reshape(1)
    if backward:
        loss.backward()
        rows = [name for name in backward_order(sites) if sites[name].dim() == 3]
        out.update((f"grad.{name}", gradient(sites[name])[0]) for name in rows)
        out.update((f"grad.{name}", gradient(parameter)) for name, parameter in model.named_parameters())
    return {name: value.detach().clone() for name, value in out.items()}


def gradient(tensor):
    """Zero where nothing depended on it."""
    return torch.zeros_like(tensor) if tensor.grad is None else tensor.grad


@torch.no_grad()
def greedy_answer(model, source):
    tokens, _ = lesson.greedy_decode(model, torch.tensor([source]), max_len=model.pos.pe.size(1))
    answer = tokens[0, 1:].tolist()
    return answer[:answer.index(lesson.EOS)] if lesson.EOS in answer else answer


def tokens(text):
    try:
        return [int(word) for word in text.split()]
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"expected whole numbers separated by spaces, found '{text}'") from error


def main():
    parser = argparse.ArgumentParser(description="Dumps one pass of the lesson's model in PyTorch.")
    parser.add_argument("model", help="a state_dict: model.pt or model.safetensors")
    parser.add_argument("--heads", type=int, help="attention heads, where the file does not say")
    parser.add_argument("--source", type=tokens, required=True, help='tokens, as "3 1 4 1 5"')
    parser.add_argument("--target", type=tokens, help="tokens; without it, the model's own greedy answer")
    parser.add_argument("--backward", action="store_true", help="gradients, too")
    parser.add_argument("--out", required=True, help="the .safetensors file to write")
    options = parser.parse_args()
    state, heads = load_state(options.model)
    heads = options.heads or heads
    if not heads:
        parser.error(f"{options.model} does not say how many heads it has: give --heads")
    model = build(state, heads)
    target = greedy_answer(model, options.source) if options.target is None else options.target
    safetensors_io.save(options.out, dump(model, options.source, target, options.backward))


if __name__ == "__main__":
    main()
