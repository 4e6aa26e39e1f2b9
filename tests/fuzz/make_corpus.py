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


# ---- recipes ----

RECIPE = {
    "good_all": json.dumps({
        "schema": 1, "task": "copy", "min-len": 3, "max-len": 9, "d-model": 32, "heads": 2, "d-ff": 8, "layers": 1,
        "dropout": 0.25, "max-positions": 16, "norm": "layernorm", "position": "sinusoidal", "ffn": "relu",
        "embedding-scale": "one", "tie": "all",
        "attention": "explicit", "batch-size": 4, "steps": 10, "lr": 1e-3, "warmup": 0, "clip": 0, "optimizer": "adamw",
        "beta1": 0.8, "beta2": 0.95, "epsilon": 1e-7, "weight-decay": 0.1,
        "min-lr": 1e-4, "schedule": "cosine", "init": "xavier", "seed": 5, "rng": "torch", "threads": 1, "log-every": 2,
        "save-every": 3, "validation": 0, "log-gradients": "on"}).encode(),
    "good_empty": b"{}",
    "good_preset": b'{"ffn": "relu", "preset": "modern", "heads": 4}',
    "good_clash_preset": b'{"preset": "modern", "heads": 1}',
    "bad_preset": b'{"preset": "gpt5"}',
    "good_bands": b'{"bands": [{"step": 5, "low": 2.4, "high": 2.6}, {"step": 10, "low": 2, "high": 2}]}',
    "bad_bands": b'{"bands": {"step": 5}}',
    "bad_bands_key": b'{"bands": [{"step": 5, "low": 1, "high": 2, "loss": 1}]}',
    "bad_bands_kind": b'{"bands": [5]}',
    "bad_bands_low": b'{"bands": [{"step": 5, "low": -1, "high": 2}]}',
    "bad_bands_many": json.dumps({"bands": [{"step": i + 1, "low": 1, "high": 2} for i in range(65)]}).encode(),
    "bad_bands_order": b'{"bands": [{"step": 5, "low": 1, "high": 2}, {"step": 5, "low": 1, "high": 2}]}',
    "bad_bands_range": b'{"bands": [{"step": 5, "low": 3, "high": 2}]}',
    "good_clash_bands": b'{"steps": 4, "bands": [{"step": 5, "low": 1, "high": 2}]}',
    "good_text": b'{"d-model": "12", "dropout": "0.5", "log-gradients": "off"}',
    "good_clash_heads": b'{"heads": 5}',
    "good_clash_lengths": b'{"min-len": 9, "max-len": 8}',
    "good_clash_positions": b'{"max-len": 64}',
    "good_clash_width": b'{"d-model": 3, "heads": 1}',
    "bad_array": b"[]",
    "bad_choice": b'{"norm": "layernrom"}',
    "bad_fraction": b'{"steps": 1.5}',
    "bad_high": b'{"dropout": 1}',
    "bad_json": b'{"steps": }',
    "bad_kind": b'{"steps": [1]}',
    "bad_long": b'{"task": "' + b"x" * 80 + b'"}',
    "bad_low": b'{"steps": 0}',
    "bad_newline": b'{"task": "a\\nb", "x\\n": 1}',
    "bad_number": b'{"lr": "1,5"}',
    "bad_schema": b'{"schema": 2}',
    "bad_schema_kind": b'{"schema": "1"}',
    "bad_switch": b'{"log-gradients": "yes"}',
    "bad_unknown": b'{"d_model": 64}',
}

# ---- models: one layer, as small as they get ----

WIDTH, HIDDEN, SYMBOLS, POSITIONS = 2, 1, 1, 3
LESSON = ["<pad>", "<sos>", "<eos>"]


def linear(name, outputs, inputs):
    return {name + ".weight": [outputs, inputs], name + ".bias": [outputs]}


def attention(name):
    return {k: v for part in "qkvo" for k, v in linear(f"{name}.W_{part}", WIDTH, WIDTH).items()}


def block(name, attentions, norms):
    shapes = {k: v for part in attentions for k, v in attention(f"{name}.{part}").items()}
    shapes |= linear(f"{name}.ff.net.0", HIDDEN, WIDTH) | linear(f"{name}.ff.net.3", WIDTH, HIDDEN)
    for norm in norms:
        shapes |= {f"{name}.{norm}.weight": [WIDTH], f"{name}.{norm}.bias": [WIDTH]}
    return shapes


def model_shapes(symbols=SYMBOLS):
    words = symbols + 3
    return ({"src_emb.weight": [words, WIDTH], "tgt_emb.weight": [words, WIDTH], "pos.pe": [1, POSITIONS, WIDTH]}
            | block("enc.0", ["attn"], ["n1", "n2"]) | block("dec.0", ["self_attn", "cross_attn"], ["n1", "n2", "n3"])
            | linear("generator", words, WIDTH))


def floats(shapes, metadata=None, value=0.5):
    """A file of these tensors, all of one value."""
    header, at = {"__metadata__": metadata} if metadata else {}, 0
    for name, shape in shapes.items():
        count = 1
        for size in shape:
            count *= size
        header[name] = tensor("F32", shape, at, at + 4 * count)
        at += 4 * count
    return safetensors(header, struct.pack("<f", value) * (at // 4))


def config(**changes):
    shape = {"heads": 1, "kv_heads": 1, "d_head": WIDTH, "kv_of_head": [0], "original_head": [0]}
    shape |= changes.pop("shape", {})
    whole = {"schema": 1, "architecture": "encoder-decoder", "norm": "layernorm", "norm_placement": "post",
             "position": "sinusoidal", "ffn": "relu", "d_model": WIDTH, "d_ff": HIDDEN, "layers": 1,
             "max_positions": POSITIONS, "symbols": SYMBOLS, "dropout": 0.1, "task": "reverse",
             "attention": {name: shape for name in ("enc.0.attn", "dec.0.self_attn", "dec.0.cross_attn")}}
    return {key: value for key, value in (whole | changes).items() if value is not None}


def ours(shapes=None, value=0.5, **changes):
    metadata = {"format": "clearhead", "config": json.dumps(config(**changes), separators=(",", ":")), "heads": "1"}
    return floats(model_shapes() if shapes is None else shapes, metadata, value)


def without(*names, **more):
    return {k: v for k, v in (model_shapes() | more).items() if k not in names}


def state_dict(heads="1", **shapes):
    """What the lesson's PyTorch code saves: no config, and "heads" perhaps."""
    return floats(model_shapes() | {k.replace("__", "."): v for k, v in shapes.items()}, heads and {"heads": heads})


ATTENTIONS = ("enc.0.attn", "dec.0.self_attn", "dec.0.cross_attn")
ROPE = {"position": "rope", "rope_base": 50.0, "rope_scaling": "linear", "rope_factor": 2.0}
NORMED = {f"{name}.{norm}.{part}": [WIDTH] for name in ATTENTIONS for norm in ("q_norm", "k_norm")
          for part in ("weight", "bias")}
RELATIVE = {f"{stack}.rel_bias.weight": [32, 2] for stack in ("enc", "dec")}  # of two heads, one of which was removed

MODEL = {
    "good_ours": ours(),
    "good_rope": ours(without("pos.pe", **{"pos.rope": [POSITIONS, WIDTH]}, **NORMED), qk_norm="on", **ROPE),
    "good_relative": ours({k: v for k, v in without("pos.pe", **RELATIVE).items() if not k.endswith(".bias")},
                          position="relative-bias", bias="none", window=2, soft_cap=3.0,
                          shape={"original_head": [1], "original_heads": 2}),
    "bad_original_heads": ours({}, shape={"original_head": [1], "original_heads": 1}),
    "bad_rope_base": ours({}, rope_base=50.0),
    "bad_rope_odd": ours({}, shape={"d_head": 1}, **ROPE),
    "bad_rope_scaling": ours({}, **(ROPE | {"rope_scaling": "none"})),
    "bad_rope_widths": ours({}, attention={name: config()["attention"][name] | {"d_head": 2 * i + 2}
                                           for i, name in enumerate(ATTENTIONS)}, **ROPE),
    "bad_soft_cap": ours({}, soft_cap=1e-30),
    "bad_switch": ours({}, qk_norm="yes"),
    "good_characters": ours(tokens="characters", specials=LESSON, characters="é"),
    "bad_characters": ours({}, tokens="characters", specials=LESSON, symbols=2, characters="ba"),
    "bad_characters_count": ours({}, tokens="characters", specials=LESSON, characters="ab"),
    "bad_specials": ours({}, specials=["<eos>", "<sos>"]),
    "bad_tokens": ours({}, tokens="bytes", specials=LESSON),
    "good_no_table": ours(without("pos.pe")),
    "good_state_dict": state_dict(),
    "good_state_dict_silent": state_dict(None),
    "good_tied": ours(without("tgt_emb.weight", "generator.weight"), tie="all", embedding_scale="one"),
    "bad_array": ours({}, attention=[]),
    "bad_architecture": ours({}, architecture="decoder"),
    "bad_config": floats({}, {"format": "clearhead", "config": "{"}),
    "bad_count": ours({}, layers=2),
    "bad_dropout": ours({}, dropout=1.0),
    "bad_extra": ours(without(extra=[1])),
    "bad_far_positions": ours(without("pos.pe"), max_positions=10000000),
    "bad_far_symbols": ours({}, symbols=10000000),
    "bad_heads": state_dict("none"),
    "bad_heads_divide": state_dict("3"),
    "bad_infinite": ours(value=float("inf")),
    "bad_key": ours({}, extra=1),
    "bad_layers": floats(without("dec.0.self_attn.W_q.weight"), {"heads": "1"}),
    "bad_list_count": ours({}, shape={"kv_of_head": [0, 0]}),
    "bad_list_kind": ours({}, shape={"kv_of_head": ["0"]}),
    "bad_list_value": ours({}, shape={"kv_of_head": [1]}),
    "bad_missing": ours(without("dec.0.n2.bias")),
    "bad_nan": ours(value=float("nan")),
    "bad_norm": ours({}, norm="batchnorm"),
    "bad_none": floats({"w": [1]}),
    "bad_odd": ours({}, d_model=3),
    "bad_rank": state_dict(src_emb__weight=[4]),
    "bad_schema": ours({}, schema=2),
    "bad_shape_key": ours({}, shape={"extra": 1}),
    "bad_shape_wrong": ours(without(**{"dec.0.n2.bias": [3]})),
    "bad_state_odd": state_dict(src_emb__weight=[4, 3]),
    "bad_state_small": state_dict(src_emb__weight=[3, 2]),
    "bad_state_wide": state_dict(pos__pe=[0, 3, 2]),
    "bad_task_kind": ours({}, task=1),
    "bad_tie": ours({}, tie="both"),
    "bad_tie_clash": ours({}, architecture="decoder-only", tie="all",
                          attention={"dec.0.attn": config()["attention"]["enc.0.attn"]}),
    "bad_wide_heads": ours({}, shape={"heads": 4096, "d_head": 1000000}),
}

# ---- a run folder: see fuzz_run.c ----

def log_line(step, **more):
    return json.dumps({"schema": 1, "step": step, "loss": 2.5, "grad_norm": 0.5, "lr": 1e-3} | more).encode() + b"\n"


def norms_line(step, gradient=None, update=None, **more):
    names = ["src_emb.weight", "enc.0.attn.W_q.weight", "enc.0.attn.W_q.bias", "generator.bias"]
    norms = {name: 0.25 for name in names}
    return json.dumps({"schema": 1, "step": step, "gradient": norms if gradient is None else gradient,
                       "update": norms if update is None else update} | more).encode() + b"\n"


def trainer_file(metadata=None, words=None, skip=()):
    shapes = {k: v for k, v in model_shapes(10).items() if k != "pos.pe" and k not in skip}
    header, at = {"__metadata__": {"format": "clearhead trainer", "schema": "1", "step": "7", "best_step": "7",
                                   "best_loss": "2.5"} | (metadata or {})}, 0
    for moment in "mv":
        for name, shape in shapes.items():
            size = 4 * shape[0] * (shape[1] if len(shape) > 1 else 1)
            header[f"adam.{moment}.{name}"] = tensor("F32", shape, at, at + size)
            at += size
    words = [1] * 624 + [624, 1] if words is None else words
    header["rng.torch"] = tensor("U32", [len(words)], at, at + 4 * len(words))
    return b"T" + safetensors(header, bytes(at) + struct.pack(f"<{len(words)}I", *words))


RUN = {
    "log_good": b"L" + log_line(1) + log_line(4, validation_loss=2.25) + log_line(9),
    "log_half": b"L" + log_line(1) + log_line(4)[:-20],
    "log_empty": b"L",
    "log_no_line": b"L{",
    "log_not_json": b"L" + log_line(1) + b"nan\n" + log_line(2),
    "log_array": b"L[]\n",
    "log_schema": b"L" + log_line(1, schema=2),
    "log_no_step": b'L{"schema": 1}\n',
    "log_back": b"L" + log_line(5) + log_line(5),
    "log_no_loss": b"L" + log_line(1, loss=None),
    "log_far": b"L" + log_line(1, loss=1e308, grad_norm=0, lr=0) + log_line(2**62, loss=5e-324),
    "log_negative": b"L" + log_line(1, loss=-3),
    "log_negative_norm": b"L" + log_line(1, grad_norm=-0.5),
    "log_negative_lr": b"L" + log_line(1, lr=-1e-3),
    "log_negative_validation": b"L" + log_line(1, validation_loss=-1e308),
    "log_negative_step": b"L" + log_line(1) + log_line(-2),
    "log_overflow": b"L" + log_line(1) + log_line(4).replace(b"2.5", b"1e999"),
    "log_overflow_step": b"L" + log_line(1) + log_line(10**20),
    "log_nan": b"L" + log_line(1, lr=float("nan")),
    "log_infinite": b"L" + log_line(1, note='a "key": NaN', loss=float("-inf")),
    "log_nothing_behind": b'L{"loss":\n{"loss\\',
    "gradients_good": b"G" + norms_line(1) + norms_line(4, update={k: 0 for k in (
        "generator.bias", "enc.0.attn.W_q.bias", "enc.0.attn.W_q.weight", "src_emb.weight")}),
    "gradients_empty": b"G",
    "gradients_none": b"G" + norms_line(1, gradient={}),
    "gradients_fewer": b"G" + norms_line(1) + norms_line(2, gradient={"generator.bias": 1}),
    "gradients_other": b"G" + norms_line(1, update={"a": 1, "b.c": 1, "d.e.f.g.h": 1, "generator.bias": 1}),
    "gradients_kind": b"G" + norms_line(1, gradient=[1]),
    "gradients_negative": b"G" + norms_line(1, update={"a": -1}),
    "gradients_overflow": b"G" + norms_line(1).replace(b"0.25", b"1e999"),
    "gradients_far": b"G" + norms_line(1, gradient={"a.b": 1e308, "a.c": 1e308}, update={"a.b": 0, "a.c": 5e-324}),
    "gradients_text": b"G" + norms_line(1, gradient={"a": "1"}),
    "pointer_good": b"P7\n",
    "pointer_empty": b"P",
    "pointer_line": b"P\n7\n",
    "pointer_up": b"P../7\n",
    "pointer_long": b"P" + b"1" * 65,
    "trainer_good": trainer_file(),
    "trainer_step": trainer_file({"step": "-1"}),
    "trainer_schema": trainer_file({"schema": "2"}),
    "trainer_words": trainer_file(words=[1] * 625),
    "trainer_state": trainer_file(words=[1] * 624 + [9999, 1]),
    "trainer_moment": trainer_file(skip=["dec.0.n2.bias"]),
    "model_other": b"M" + ours(),
}

# ---- text ----

VOCAB = {
    "good": b"3 1 4\t1\r\n5 11 0",
    "good_empty": b"  \t",
    "good_many": b"7 " * 41,
    "bad_far": b"1 2 12345678901234567890",
    "bad_nul": b"1 2\x003",
    "bad_special": b"1 <eos>",
    "bad_word": b"1 two\x1b[2J 3" + b"x" * 60,
}

LINES = {
    "empty": b"",
    "ends": b"\n\r\n\r\r\nx\r\n\n",
    "last_open": b"3 1 4\n1 5",
    "last_return": b"3 1 4\r",
    "long": b"7 " * 3000 + b"\n" + b"8",
    "nul": b"3\x001\n\x00\n",
}


# The first byte chooses tokens, framing and context.
TEXT = {
    "good_windows": b"\x08" + b"to be, or not to be" * 3,
    "good_lines": b"\x3f" + "emma\n\nzoë\r\nliv €\nева".encode(),
    "good_bytes": b"\x1c" + bytes(range(256)),
    "bad_cut": b"\x05" + "€".encode()[:2],
    "bad_empty": b"\x01",
    "bad_lines": b"\x03\n\r\n\n",
    "bad_long": b"\x07" + b"x" * 50,
    "bad_nul": b"\x01ab\x00c",
    "bad_surrogate": b"\x01a\xed\xa0\x80",
}


CORPORA = {"json": JSON, "lines": LINES, "model": MODEL, "recipe": RECIPE, "run": RUN, "safetensors": SAFETENSORS,
           "text": TEXT, "vocab": VOCAB}


def main():
    for subject, files in CORPORA.items():
        folder = HERE / f"corpus_{subject}"
        folder.mkdir(exist_ok=True)
        for name, content in files.items():
            (folder / name).write_bytes(content)


if __name__ == "__main__":
    main()
