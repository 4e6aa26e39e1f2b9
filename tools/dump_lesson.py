"""Dumps one pass of the lesson's model in PyTorch, as `clearhead dump` dumps it.

    python3 tools/dump_lesson.py model.pt --heads 4 --source "3 1 4 1 5" --target "5 1 4 1 3" --out theirs.safetensors
    clearhead dump model.safetensors --source "3 1 4 1 5" --target "5 1 4 1 3" --out ours.safetensors
    clearhead compare ours.safetensors theirs.safetensors

MODEL is what torch.save(model.state_dict(), ...) wrote, or a .safetensors file of the same tensors. Dropout is off.
Names, shapes and order are those of `clearhead dump`: rows (N, C), a row for each token; scores before masking and
weights (H, T, S); "loss"; with --backward "grad.<site>" for every site and "grad.<parameter>".
For a model of your own, changed from the lesson's: import `dump`, give it your model, and `save` what it gives; what
record() sees is dumped. The file states the order of computation (see safetensors_io.py).
"""
import argparse
import json
import re

from pytorch import torch
import torch.nn.functional as F

import lesson
import safetensors_io
from safetensors_io import Fault


class Retained(dict):
    """Takes the sites of a pass and has autograd keep their gradients."""

    def __setitem__(self, name, value):
        if value.requires_grad:
            value.retain_grad()
        super().__setitem__(name, value)


def load_state(path):
    """(state_dict, heads or None)."""
    if not str(path).endswith(".safetensors"):
        return safetensors_io.load_pickled(path), None
    state, metadata = safetensors_io.load(path)
    heads = metadata.get("heads")
    if heads is not None and not re.fullmatch("[1-9][0-9]{0,8}", str(heads)):
        raise Fault(f"{path}: 'heads': expected a whole number of at least 1, found '{heads}'")
    check_parts(path, metadata.get("config"))
    return state, heads and int(heads)


def check_parts(path, config):
    """clearhead's models say what they are made of; other files have the lesson's tensors or they have not."""
    try:
        parts = json.loads(config) if config else {}
    except ValueError:
        raise Fault(f"{path}: 'config': expected JSON, found something else") from None
    for part, lessons in (("norm", "layernorm"), ("norm_placement", "post"), ("position", "sinusoidal"),
                          ("ffn", "relu"), ("embedding_scale", "sqrt"), ("tie", "none"), ("bias", "all"),
                          ("qk_norm", "off"), ("window", 0), ("soft_cap", 0)):
        if isinstance(parts, dict) and parts.get(part, lessons) != lessons:
            raise Fault(f"{path}: expected the lesson's parts, {part} {lessons}, found {parts[part]}")


def shape_of(state, name, rank):
    if name not in state:
        raise Fault(f"expected the state_dict of the lesson's model, with '{name}', found no tensor of that name")
    if state[name].dim() != rank or not all(state[name].shape):
        raise Fault(f"'{name}': expected {rank} dimensions, none of them 0, found shape {tuple(state[name].shape)}")
    return state[name].shape


def build(state, heads):
    """The lesson's model with the sizes that the tensors tell."""
    vocab, d_model = shape_of(state, "src_emb.weight", 2)
    d_ff, positions = shape_of(state, "enc.0.ff.net.0.weight", 2)[0], shape_of(state, "pos.pe", 3)[1]
    if vocab != lesson.VOCAB:
        raise Fault(f"'src_emb.weight': expected {lesson.VOCAB} rows, a token each, found {vocab}")
    if d_model % 2 or d_model % heads:
        raise Fault(f"'src_emb.weight': expected an even width that {heads} heads divide, found {d_model}")
    layers = len({name.split(".")[1] for name in state if name.startswith("enc.")})
    model = lesson.MiniTransformer(vocab, d_model, heads, d_ff, layers, 0.0, positions)
    check_shapes(model.state_dict(), state)
    model.load_state_dict(state)
    return model.eval()


def check_shapes(expected, state):
    for name, tensor in expected.items():
        found = f"shape {tuple(state[name].shape)}" if name in state else "none of that name"
        if name not in state or state[name].shape != tensor.shape:
            raise Fault(f"expected a tensor '{name}' of shape {tuple(tensor.shape)}, found {found}")
    for name in state:
        if name not in expected:
            raise Fault(f"found a tensor '{name}', which the lesson's model does not have")


def check_tokens(what, given, least, most):
    """The sentence about tokens that cannot be read, or None."""
    if not least <= len(given) <= most:
        return f"{what}: expected {least} to {most} tokens, found {len(given)}"
    for i, token in enumerate(given, 1):
        if token >= lesson.PAD:
            return f"{what}: token {i} is {token}; expected 0 to {lesson.PAD - 1}"
    return None


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
        out.update((f"grad.{name}", gradient(sites[name])[0]) for name in backward_order(sites))
        out.update((f"grad.{name}", gradient(parameter)) for name, parameter in model.named_parameters())
    return {name: value.detach().clone() for name, value in out.items()}


def gradient(tensor):
    """Zero where nothing depended on it."""
    return torch.zeros_like(tensor) if tensor.grad is None else tensor.grad


def save(path, tensors):
    """With the order of computation, which `clearhead compare` follows."""
    safetensors_io.save(path, tensors, safetensors_io.order_of(tensors))


@torch.no_grad()
def greedy_answer(model, source):
    tokens, _ = lesson.greedy_decode(model, torch.tensor([source]), max_len=model.pos.pe.size(1))
    answer = tokens[0, 1:].tolist()
    return answer[:answer.index(lesson.EOS)] if lesson.EOS in answer else answer


def tokens(text):
    for word in text.split():
        if not (word.isascii() and word.isdigit() and len(word) < 10):
            raise argparse.ArgumentTypeError(f"expected whole numbers separated by spaces, found '{word[:40]}'")
    return [int(word) for word in text.split()]


def answer_of(model, source):
    """What to predict where nobody says: the model's own answer."""
    target = greedy_answer(model, source)
    wrong = check_tokens("the model's own answer", target, 0, model.pos.pe.size(1) - 1)
    if wrong:
        raise Fault(f"{wrong}: give --target")
    return target


def parse():
    parser = argparse.ArgumentParser(description="Dumps one pass of the lesson's model in PyTorch.")
    parser.add_argument("model", help="a state_dict: model.pt or model.safetensors")
    parser.add_argument("--heads", type=safetensors_io.whole_number,
                        help="attention heads, where the file does not say")
    parser.add_argument("--source", type=tokens, required=True, help='tokens, as "3 1 4 1 5"')
    parser.add_argument("--target", type=tokens, help="tokens; without it, the model's own greedy answer")
    parser.add_argument("--backward", action="store_true", help="gradients, too")
    parser.add_argument("--out", required=True, help="the .safetensors file to write")
    return parser, parser.parse_args()


def main():
    parser, options = parse()
    safetensors_io.check_apart(parser, options.model, options.out)
    state, heads = load_state(options.model)
    if heads and options.heads and heads != options.heads:
        parser.error(f"{options.model} has {heads} heads, and --heads says {options.heads}")
    heads = options.heads or heads
    if not heads:
        parser.error(f"{options.model} does not say how many heads it has: give --heads")
    try:
        model = build(state, heads)
    except Fault as fault:
        raise Fault(f"{options.model}: {fault}") from fault
    positions = model.pos.pe.size(1)
    wrong = check_tokens("--source", options.source, 1, positions)
    if not wrong and options.target is not None:  # the decoder reads <sos> besides
        wrong = check_tokens("--target", options.target, 0, positions - 1)
    if wrong:
        parser.error(wrong)
    target = answer_of(model, options.source) if options.target is None else options.target
    save(options.out, dump(model, options.source, target, options.backward))


if __name__ == "__main__":
    safetensors_io.run(main)
