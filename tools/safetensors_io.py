"""Reads and writes safetensors files with PyTorch and nothing else.

A file is: 8 bytes, the little-endian length of the header; the header, JSON that gives every tensor's dtype,
shape and byte range, and the metadata; the tensors' bytes. Written on a little-endian machine.

As a program it turns what torch.save(model.state_dict(), "model.pt") wrote into a file that clearhead opens:

    python3 tools/safetensors_io.py model.pt model.safetensors --heads 4

A file may state the order in which its tensors were computed, which `clearhead compare` follows: the metadata key
"order" with their names, a line each. `save(path, tensors, order_of(tensors))` does, for tensors in that order.
"""
import argparse
import ctypes
import json
import os
import sys

from pytorch import torch

DTYPES = {"F64": torch.float64, "F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16,
          "I64": torch.int64, "I32": torch.int32, "I16": torch.int16, "I8": torch.int8, "U8": torch.uint8,
          "BOOL": torch.bool}
NAMES = {dtype: name for name, dtype in DTYPES.items()}


class Fault(Exception):
    """What is wrong with an input, in one sentence."""


def run(main):
    """Runs a program: a Fault ends it with its sentence and exit code 1."""
    try:
        sys.exit(main())
    except Fault as fault:
        sys.exit(f"{sys.argv[0].rsplit('/', 1)[-1]}: {fault}")


def order_of(tensors):
    """The metadata that states an order of computation."""
    return {"order": "\n".join(tensors)}


def save(path, tensors, metadata=None):
    header, parts, end = {}, [], 0
    if metadata:
        header["__metadata__"] = {key: str(value) for key, value in metadata.items()}
    # Wide elements first, so that every tensor lies at a multiple of its element's size.
    for name, tensor in sorted(tensors.items(), key=lambda item: -item[1].element_size()):
        if tensor.dtype not in NAMES or tensor.layout != torch.strided:
            raise Fault(f"{name}: expected a dense tensor of {', '.join(NAMES.values())}, "
                        f"found {tensor.dtype}, {tensor.layout}")
        tensor = tensor.detach().cpu().contiguous()
        size = tensor.numel() * tensor.element_size()
        parts.append(ctypes.string_at(tensor.data_ptr(), size) if size else b"")
        header[name] = {"dtype": NAMES[tensor.dtype], "shape": list(tensor.shape), "data_offsets": [end, end + size]}
        end += size
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    write_whole(path, len(text).to_bytes(8, "little") + text + b"".join(parts))


def write_whole(path, content):
    """Under a temporary name first: whatever goes wrong, there is the whole file or what was there before."""
    temporary = f"{path}.{os.getpid()}.tmp"
    try:
        with open(temporary, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError as error:
        if os.path.exists(temporary):
            os.remove(temporary)
        raise Fault(f"cannot write {path}: {error.strerror}") from error


def load(path):
    """Returns ({name: tensor}, metadata)."""
    try:
        with open(path, "rb") as file:
            content = file.read()
    except OSError as error:
        raise Fault(f"cannot read {path}: {error.strerror}") from error
    try:
        end = 8 + int.from_bytes(content[:8], "little")
        header = json.loads(content[8:end].decode())
        if not isinstance(header, dict):
            raise ValueError("its header is no JSON object")
        metadata, data = dict(header.pop("__metadata__", {})), content[end:]
        return {name: tensor_of(entry, data) for name, entry in header.items()}, metadata
    except KeyError as error:
        raise Fault(f"{path} is no safetensors file that can be read: a tensor has no {error}") from error
    except (ArithmeticError, AttributeError, RecursionError, RuntimeError, TypeError, ValueError) as error:
        # whatever a header that is none may lead to
        raise Fault(f"{path} is no safetensors file that can be read: {first_line(error)}") from error


def tensor_of(entry, data):
    dtype, shape, (begin, end) = DTYPES.get(entry["dtype"]), entry["shape"], entry["data_offsets"]
    if dtype is None:
        raise ValueError(f"unknown dtype '{entry['dtype']}'")
    if not 0 <= begin <= end <= len(data) or min(shape, default=0) < 0:
        raise ValueError(f"found shape {shape} in bytes {begin} to {end} of {len(data)}")
    flat = torch.frombuffer(bytearray(data[begin:end]), dtype=dtype) if end > begin else torch.empty(0, dtype=dtype)
    return flat.reshape(shape)


def load_pickled(path):
    """The state_dict that torch.save wrote."""
    try:
        state = torch.load(path, map_location="cpu")
    except Exception as error:  # whatever unpickling an arbitrary file may raise
        reason = error.strerror if isinstance(error, OSError) and error.strerror else first_line(error)
        raise Fault(f"cannot read {path} as what torch.save wrote: {reason}") from error
    if not isinstance(state, dict) or not state or not all(
            isinstance(name, str) and isinstance(value, torch.Tensor) for name, value in state.items()):
        raise Fault(f"{path} holds something other than a state_dict; save model.state_dict(), not the model or a "
                    "training checkpoint")
    return state


def first_line(error):
    return (str(error).splitlines() or [type(error).__name__])[0][:200] or type(error).__name__


def whole_number(text):
    """A number of at least 1, for argparse."""
    if not (text.isascii() and text.isdigit() and 0 < len(text) < 10 and int(text) > 0):
        raise argparse.ArgumentTypeError(f"expected a whole number of at least 1, found '{text[:40]}'")
    return int(text)


def is_same_file(path, other):
    """Under whatever names: spelled otherwise, or linked."""
    return os.path.exists(path) and os.path.exists(other) and os.path.samefile(path, other)


def check_apart(parser, source, target):
    """A tool does not replace what it reads."""
    if is_same_file(source, target):
        parser.error(f"{target} is the file to read, {source}: writing it would replace that; choose another name")


def main():
    parser = argparse.ArgumentParser(description="Converts a saved state_dict to safetensors.")
    parser.add_argument("source", help="what torch.save(model.state_dict(), ...) wrote")
    parser.add_argument("target", help="the .safetensors file to write")
    parser.add_argument("--heads", type=whole_number, help="attention heads, which the tensors do not tell")
    options = parser.parse_args()
    check_apart(parser, options.source, options.target)
    save(options.target, load_pickled(options.source), {"heads": options.heads} if options.heads else None)


if __name__ == "__main__":
    run(main)
