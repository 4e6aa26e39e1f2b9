"""Reads and writes safetensors files with PyTorch and nothing else.

A file is: 8 bytes, the little-endian length of the header; the header, JSON that gives every tensor's dtype,
shape and byte range, and the metadata; the tensors' bytes. Written on a little-endian machine.

As a program it turns what torch.save(model.state_dict(), "model.pt") wrote into a file that clearhead opens:

    python3 tools/safetensors_io.py model.pt model.safetensors --heads 4
"""
import argparse
import ctypes
import json
import struct

import torch

DTYPES = {"F64": torch.float64, "F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16,
          "I64": torch.int64, "I32": torch.int32, "I16": torch.int16, "I8": torch.int8, "U8": torch.uint8,
          "BOOL": torch.bool}
NAMES = {dtype: name for name, dtype in DTYPES.items()}


def save(path, tensors, metadata=None):
    header, parts, end = {}, [], 0
    if metadata:
        header["__metadata__"] = {key: str(value) for key, value in metadata.items()}
    # Wide elements first, so that every tensor lies at a multiple of its element's size.
    for name, tensor in sorted(tensors.items(), key=lambda item: -item[1].element_size()):
        tensor = tensor.detach().cpu().contiguous()
        size = tensor.numel() * tensor.element_size()
        parts.append(ctypes.string_at(tensor.data_ptr(), size) if size else b"")
        header[name] = {"dtype": NAMES[tensor.dtype], "shape": list(tensor.shape), "data_offsets": [end, end + size]}
        end += size
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + b"".join(parts))


def load(path):
    """Returns ({name: tensor}, metadata)."""
    with open(path, "rb") as file:
        header = json.loads(file.read(*struct.unpack("<Q", file.read(8))))
        data = file.read()
    metadata, tensors = header.pop("__metadata__", {}), {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        flat = torch.frombuffer(bytearray(data[begin:end]), dtype=DTYPES[entry["dtype"]]) if end > begin \
            else torch.empty(0, dtype=DTYPES[entry["dtype"]])
        tensors[name] = flat.reshape(entry["shape"])
    return tensors, metadata


def main():
    parser = argparse.ArgumentParser(description="Converts a saved state_dict to safetensors.")
    parser.add_argument("source", help="what torch.save(model.state_dict(), ...) wrote")
    parser.add_argument("target", help="the .safetensors file to write")
    parser.add_argument("--heads", type=int, help="attention heads, which the tensors do not tell")
    options = parser.parse_args()
    if options.heads is not None and options.heads < 1:
        parser.error(f"--heads must be at least 1, not {options.heads}")
    try:
        state = torch.load(options.source, map_location="cpu")
    except Exception as error:  # whatever unpickling an arbitrary file may raise
        parser.error(f"cannot read {options.source} as what torch.save wrote: {error}")
    if not isinstance(state, dict) or not all(isinstance(value, torch.Tensor) for value in state.values()):
        parser.error(f"{options.source} holds something other than a state_dict; "
                     "save model.state_dict(), not the model or a training checkpoint")
    save(options.target, state, {"heads": options.heads} if options.heads else None)


if __name__ == "__main__":
    main()
