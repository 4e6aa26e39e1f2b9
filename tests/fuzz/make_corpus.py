"""Writes the seeds that the fuzzers start from: small files, good ones and one for every way to be wrong.

    python3 tests/fuzz/make_corpus.py
"""
import json
import pathlib
import struct

HERE = pathlib.Path(__file__).resolve().parent


def safetensors(header, data=b"", stated=None):
    text = header if isinstance(header, bytes) else json.dumps(header, separators=(",", ":")).encode()
    return struct.pack("<Q", len(text) if stated is None else stated) + text + data


def tensor(dtype, shape, begin, end):
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


def one(dtype="F32", shape=(2,), begin=0, end=8):
    return {"w": tensor(dtype, list(shape), begin, end)}


EIGHT = bytes(range(8))

SAFETENSORS = {
    "good_empty": safetensors({}),
    "good_metadata": safetensors({"__metadata__": {"k": "v"}, **one()}, EIGHT),
    "good_floats": safetensors({"d": tensor("F64", [1], 0, 8), "s": tensor("F32", [], 8, 12),
                                "b": tensor("BF16", [3], 12, 18), "h": tensor("F16", [2, 3], 18, 30)},
                               bytes(12) + b"\x80\x3f\x80\xff\xc0\x7f" + struct.pack("<6H", 0, 1, 0x3C00, 0xFC00, 0x7E00, 0x83FF)),
    "good_misaligned": safetensors({"x": tensor("F32", [1], 1, 5), "f": tensor("BOOL", [1], 0, 1),
                                    "n": tensor("I64", [0, 4], 1, 1)}, bytes(5)),
    "good_padded": safetensors(b'{"w":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}    ', b"x"),
    "bad_array": safetensors(b"[]"),
    "bad_cut_data": safetensors(one(), EIGHT[:7]),
    "bad_cut_header": safetensors(one(), stated=500),
    "bad_dtype": safetensors(one(dtype="F33"), EIGHT),
    "bad_dtype_kind": safetensors(one(dtype=7), EIGHT),
    "bad_duplicate": safetensors(b'{"w":{},"w":{}}'),
    "bad_entry": safetensors({"w": []}),
    "bad_far": safetensors(one(begin=2**63 - 9, end=2**63 - 1)),
    "bad_gap": safetensors(one(shape=[1], begin=4), EIGHT),
    "bad_html": b"<!DOCTYPE html><html><body>404</body></html>",
    "bad_json": safetensors(b'{"w":}'),
    "bad_lfs": b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n",
    "bad_length_huge": safetensors({}, stated=2**64 - 1),
    "bad_length_small": safetensors({}, stated=1),
    "bad_metadata": safetensors({"__metadata__": 1}),
    "bad_metadata_value": safetensors({"__metadata__": {"k": 1}}),
    "bad_negative": safetensors(one(shape=[-2]), EIGHT),
    "bad_offsets_count": safetensors({"w": {"dtype": "F32", "shape": [2], "data_offsets": [0]}}, EIGHT),
    "bad_offsets_kind": safetensors({"w": {"dtype": "F32", "shape": [2], "data_offsets": [0, "8"]}}, EIGHT),
    "bad_offsets_size": safetensors(one(end=6), EIGHT),
    "bad_overflow": safetensors(one(shape=[2**32, 2**32]), EIGHT),
    "bad_overlap": safetensors({**one(), "v": tensor("F32", [1], 4, 8)}, EIGHT),
    "bad_pickle": b"PK\x03\x04\x00\x00\x08\x08\x00\x00archive/data.pkl",
    "bad_rank": safetensors(one(shape=[1] * 9, end=4), EIGHT),
    "bad_shape_kind": safetensors(one(shape=[2.0]), EIGHT),
    "bad_short": b"\x02\x00\x00",
    "bad_tail": safetensors(one(), EIGHT + b"x"),
}

JSON = {
    "good_recipe": b'{"task": "reverse", "d-model": 64, "lr": 1e-3, "quiet": false, "resume": null}\n',
    "good_nested": b'[{"a":[[],{}]},[1,[2,[3]]]]',
    "good_numbers": b"[0,-1,9223372036854775807,-9223372036854775808,0.1,1E22,5e-324,-0.0,-0]",
    "good_text": b'{"\xc3\xa9":"\\u20ac\\ud83d\\ude00\\"\\\\\\/\\b\\f\\n\\r\\t"}',
    "good_scalar_int": b"42",
    "good_scalar_double": b"0.5",
    "good_scalar_bool": b"true",
    "good_scalar_text": b'"text"',
    "good_scalar_null": b" null ",
    "good_fourteen": b'{"encoder_layers":12345678901234567}',
    "bad_comma": b"[1,]",
    "bad_depth": b"[" * 2100,
    "bad_duplicate": b'{"a":1,\n"a":2}',
    "bad_garbage": b"{} x",
    "bad_nul_key": b'{"\\u0000":1}',
    "bad_nul_text": b'"\\u0000"',
    "bad_overflow": b"[1e999]",
    "bad_surrogate": b'"\\ud800"',
    "bad_too_big": b"9223372036854775808",
    "bad_utf8": b'"\xff\xfe"',
}


def main():
    for folder, files in (("corpus_safetensors", SAFETENSORS), ("corpus_json", JSON)):
        (HERE / folder).mkdir(exist_ok=True)
        for name, content in files.items():
            (HERE / folder / name).write_bytes(content)


if __name__ == "__main__":
    main()
