#!/usr/bin/env python3
"""Writes the header of a GGUF file of Llama 3.1 8B as llama.cpp stores it in Q4_K_M: keys and tensors, no data and no tokenizer.

Usage: write_gguf_header.py FILE
"""
import struct
import sys

F32, Q4_K, Q6_K = 0, 12, 14
TEXT, UINT32 = 8, 4
layers, hidden, keys, width, vocabulary = 32, 4096, 1024, 14336, 128256


def text(value):
    return struct.pack("<Q", len(value)) + value.encode()


def key(name, value):
    kind, stored = (TEXT, text(value)) if isinstance(value, str) else (UINT32, struct.pack("<I", value))
    return text(name) + struct.pack("<I", kind) + stored


def tensor(name, kind, *dims):
    return text(name) + struct.pack(f"<I{len(dims)}qIQ", len(dims), *dims, kind, 0)


def more_bits(layer):
    return layer < layers // 8 or layer >= 7 * layers // 8 or (layer - layers // 8) % 3 == 2


values = [
    key("general.architecture", "llama"),
    key("general.name", "Meta Llama 3.1 8B Instruct"),
    key("general.file_type", 15),
    key("llama.block_count", layers),
    key("llama.context_length", 131072),
    key("llama.embedding_length", hidden),
    key("llama.feed_forward_length", width),
    key("llama.attention.head_count", 32),
    key("llama.attention.head_count_kv", 8),
]
tensors = [
    tensor("token_embd.weight", Q4_K, hidden, vocabulary),
    tensor("output.weight", Q6_K, hidden, vocabulary),
    tensor("output_norm.weight", F32, hidden),
    tensor("rope_freqs.weight", F32, 64),
]
for layer in range(layers):
    prefix, wide = f"blk.{layer}.", Q6_K if more_bits(layer) else Q4_K
    tensors += [
        tensor(prefix + "attn_norm.weight", F32, hidden),
        tensor(prefix + "attn_q.weight", Q4_K, hidden, hidden),
        tensor(prefix + "attn_k.weight", Q4_K, hidden, keys),
        tensor(prefix + "attn_v.weight", wide, hidden, keys),
        tensor(prefix + "attn_output.weight", Q4_K, hidden, hidden),
        tensor(prefix + "ffn_norm.weight", F32, hidden),
        tensor(prefix + "ffn_gate.weight", Q4_K, hidden, width),
        tensor(prefix + "ffn_up.weight", Q4_K, hidden, width),
        tensor(prefix + "ffn_down.weight", wide, width, hidden),
    ]
with open(sys.argv[1], "wb") as file:
    file.write(b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(values)) + b"".join(values + tensors))
