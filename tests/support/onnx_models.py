"""Writes nets as exporters write them into a folder. Usage: onnx_models.py FOLDER [NAME]

They are those of `models/`, but for `small-encoder`, which docs/examples/nets has. With NAME, writes that one alone. Weights are said to
lie in another file that does not exist, so that files stay small.
"""

import sys
from pathlib import Path

from onnx import TensorProto, helper, numpy_helper, save
import numpy as np

FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64


class Net:
    """A graph that grows by one operator a call. Tensors are names."""

    def __init__(self, name, opset, folded=False, quantized=False):
        self.name, self.opset, self.folded, self.quantized = name, opset, folded, quantized
        self.nodes, self.weights, self.inputs, self.outputs = [], [], [], []
        self.count = 0

    def input(self, name, shape, kind=FLOAT):
        self.inputs.append(helper.make_tensor_value_info(name, kind, shape))
        return name

    def output(self, name, shape=None, kind=FLOAT):
        self.outputs.append(helper.make_tensor_value_info(name, kind, shape))

    def weight(self, name, shape, kind=FLOAT):
        tensor = TensorProto(name=name, data_type=kind, dims=shape, data_location=TensorProto.EXTERNAL)
        for key, value in (("location", "weights.bin"), ("offset", "0")):
            tensor.external_data.add(key=key, value=value)
        self.weights.append(tensor)
        return name

    def constant(self, value, kind=np.float32):
        name = self.fresh("Constant")
        self.nodes.append(helper.make_node("Constant", [], [name], value=numpy_helper.from_array(np.array(value, dtype=kind))))
        return name

    def whole(self, value):
        return self.constant(value, np.int64)

    def fresh(self, kind):
        self.count += 1
        return f"/{kind}_{self.count}_output_0"

    def op(self, kind, *inputs, outputs=1, domain="", **attributes):
        names = [self.fresh(kind) for _ in range(outputs)]
        self.nodes.append(helper.make_node(kind, list(inputs), names, name=f"/{kind}_{self.count}", domain=domain, **attributes))
        return names[0] if outputs == 1 else names

    def save(self, folder):
        graph = helper.make_graph(self.nodes, self.name, self.inputs, self.outputs, self.weights)
        sets = [helper.make_opsetid("", self.opset), helper.make_opsetid("com.microsoft", 1)]
        model = helper.make_model(graph, producer_name="pytorch", producer_version="2.1.0", opset_imports=sets, ir_version=8)
        save(model, str(Path(folder) / f"{self.name}.onnx"))

    # Layers

    def batch_norm(self, name, x, channels):
        parts = [self.weight(f"{name}.{part}", [channels]) for part in ("weight", "bias", "running_mean", "running_var")]
        return self.op("BatchNormalization", x, *parts, epsilon=1e-5, momentum=0.9)

    def conv(self, name, x, ins, outs, kernel=1, stride=1, groups=1, norm=True, bias=False, act=None):
        pad = kernel // 2
        computed = norm and self.folded
        prefix = f"onnx::Conv_{name}" if computed else f"{name}.conv"
        shape = [outs, ins // groups, kernel, kernel]
        if self.quantized:
            scale, zero = self.constant(0.02), self.constant(0, np.int8)
            x = self.op("DequantizeLinear", self.op("QuantizeLinear", x, scale, zero), scale, zero)
            inputs = [x, self.op("DequantizeLinear", self.weight(f"{prefix}.weight_quantized", shape, TensorProto.INT8), scale, zero)]
        else:
            inputs = [x, self.weight(f"{prefix}.weight", shape)]
        if bias or computed:
            inputs.append(self.weight(f"{prefix}.bias", [outs]))
        y = self.op("Conv", *inputs, dilations=[1, 1], group=groups, kernel_shape=[kernel, kernel], pads=[pad] * 4, strides=[stride] * 2)
        if norm and not self.folded:
            y = self.batch_norm(f"{name}.bn", y, outs)
        return self.activate(y, act)

    def activate(self, x, act):
        if act is None:
            return x
        if act == "silu":
            return self.op("Mul", x, self.op("Sigmoid", x))
        if act == "relu6" and self.opset < 11:
            return self.op("Clip", x, min=0.0, max=6.0)
        if act == "relu6":
            return self.op("Clip", x, self.constant(0.0), self.constant(6.0))
        return self.op({"relu": "Relu", "tanh": "Tanh", "sigmoid": "Sigmoid"}[act], x)

    def gemm(self, name, x, ins, outs):
        return self.op("Gemm", x, self.weight(f"{name}.weight", [outs, ins]), self.weight(f"{name}.bias", [outs]), transB=1)

    def linear(self, name, x, ins, outs, bias=True):
        y = self.op("MatMul", x, self.weight(f"onnx::MatMul_{name}", [ins, outs]))
        return self.op("Add", self.weight(f"{name}.bias", [outs]), y) if bias else y

    def layer_norm(self, name, x, width):
        scale, shift = self.weight(f"{name}.weight", [width]), self.weight(f"{name}.bias", [width])
        if self.opset >= 17:
            return self.op("LayerNormalization", x, scale, shift, axis=-1, epsilon=1e-6)
        centered = self.op("Sub", x, self.op("ReduceMean", x, axes=[-1]))
        variance = self.op("ReduceMean", self.op("Pow", centered, self.constant(2.0)), axes=[-1])
        deviation = self.op("Sqrt", self.op("Add", variance, self.constant(1e-12)))
        return self.op("Add", self.op("Mul", self.op("Div", centered, deviation), scale), shift)

    def gelu(self, x):
        y = self.op("Erf", self.op("Div", x, self.constant(1.41421)))
        return self.op("Mul", self.op("Mul", x, self.op("Add", y, self.constant(1.0))), self.constant(0.5))

    def size(self, x, axis):
        return self.op("Unsqueeze", self.op("Gather", self.op("Shape", x), self.whole(axis), axis=0), self.whole([0]))

    def reshape(self, x, *sizes):
        """`sizes`: numbers, or one-element tensors."""
        return self.op("Reshape", x, self.op("Concat", *[s if isinstance(s, str) else self.whole([s]) for s in sizes], axis=0))

    def attention(self, q, k, v, batch, tokens, heads, dim, mask=None):
        """Queries, keys and values [batch, tokens, heads * dim]."""
        split = lambda x: self.reshape(x, batch, tokens, heads, dim)
        q = self.op("Transpose", split(q), perm=[0, 2, 1, 3])
        k = self.op("Transpose", split(k), perm=[0, 2, 3, 1])
        v = self.op("Transpose", split(v), perm=[0, 2, 1, 3])
        scores = self.op("Div", self.op("MatMul", q, k), self.constant(dim**0.5))
        if mask is not None:
            scores = self.op("Add", scores, mask)
        y = self.op("MatMul", self.op("Softmax", scores, axis=-1), v)
        return self.reshape(self.op("Transpose", y, perm=[0, 2, 1, 3]), batch, tokens, heads * dim)


def image_input(net, size):
    return net.input("input", ["batch", 3, size, size])


def resnet50(folded=False, quantized=False):
    net = Net("resnet50" + ("-folded" if folded else "") + ("-int8" if quantized else ""), 13, folded, quantized)
    x = net.conv("conv1", image_input(net, 224), 3, 64, 7, 2, act="relu")
    x = net.op("MaxPool", x, kernel_shape=[3, 3], pads=[1] * 4, strides=[2, 2])
    ins = 64
    for stage, (width, blocks, stride) in enumerate(((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2))):
        for block in range(blocks):
            name, step = f"layer{stage + 1}.{block}", stride if block == 0 else 1
            y = net.conv(f"{name}.1", x, ins, width, act="relu")
            y = net.conv(f"{name}.2", y, width, width, 3, step, act="relu")
            y = net.conv(f"{name}.3", y, width, 4 * width)
            if block == 0:
                x = net.conv(f"{name}.downsample", x, ins, 4 * width, 1, step)
            x = net.op("Relu", net.op("Add", y, x))
            ins = 4 * width
    x = net.op("Flatten", net.op("GlobalAveragePool", x), axis=1)
    net.output(net.gemm("fc", x, ins, 1000))
    return net


def inverted_residual(net, name, x, ins, outs, kernel, stride, expand, act, squeeze=0):
    hidden, y = ins * expand, x
    if expand > 1:
        y = net.conv(f"{name}.expand", y, ins, hidden, act=act)
    y = net.conv(f"{name}.depthwise", y, hidden, hidden, kernel, stride, hidden, act=act)
    if squeeze:
        g = net.op("ReduceMean", y, axes=[2, 3]) if net.opset < 13 else net.op("GlobalAveragePool", y)
        g = net.conv(f"{name}.fc1", g, hidden, squeeze, norm=False, bias=True, act="silu")
        g = net.op("Sigmoid", net.conv(f"{name}.fc2", g, squeeze, hidden, norm=False, bias=True))
        y = net.op("Mul", g, y)
    y = net.conv(f"{name}.project", y, hidden, outs)
    return net.op("Add", x, y) if stride == 1 and ins == outs else y


def mobilenet_v2():
    net = Net("mobilenet-v2", 10)
    x = net.conv("features.0", image_input(net, 224), 3, 32, 3, 2, act="relu6")
    ins, number = 32, 0
    for expand, outs, blocks, stride in ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)):
        for block in range(blocks):
            number += 1
            x = inverted_residual(net, f"features.{number}", x, ins, outs, 3, stride if block == 0 else 1, expand, "relu6")
            ins = outs
    x = net.conv("features.18", x, 320, 1280, act="relu6")
    x = net.op("Reshape", net.op("GlobalAveragePool", x), net.whole([-1, 1280]))
    net.output(net.gemm("classifier.1", x, 1280, 1000))
    return net


def efficientnet_b0():
    net = Net("efficientnet-b0", 12)
    x = net.conv("stem", image_input(net, 224), 3, 32, 3, 2, act="silu")
    ins, number = 32, 0
    stages = ((1, 16, 3, 1, 1), (6, 24, 3, 2, 2), (6, 40, 5, 2, 2), (6, 80, 3, 3, 2), (6, 112, 5, 3, 1), (6, 192, 5, 4, 2), (6, 320, 3, 1, 1))
    for expand, outs, kernel, blocks, stride in stages:
        for block in range(blocks):
            number += 1
            x = inverted_residual(net, f"blocks.{number}", x, ins, outs, kernel, stride if block == 0 else 1, expand, "silu", max(1, ins // 4))
            ins = outs
    x = net.conv("head", x, 320, 1280, act="silu")
    x = net.op("Flatten", net.op("GlobalAveragePool", x), axis=1)
    net.output(net.gemm("classifier", x, 1280, 1000))
    return net


def convnext_tiny():
    net = Net("convnext-tiny", 17)

    def conv(name, x, ins, outs, kernel, stride, pad=0, groups=1):
        parts = net.weight(f"{name}.weight", [outs, ins // groups, kernel, kernel]), net.weight(f"{name}.bias", [outs])
        return net.op("Conv", x, *parts, dilations=[1, 1], group=groups, kernel_shape=[kernel] * 2, pads=[pad] * 4, strides=[stride] * 2)

    def rows(x):
        return net.op("Transpose", x, perm=[0, 2, 3, 1])

    def planes(x):
        return net.op("Transpose", x, perm=[0, 3, 1, 2])

    x, ins = image_input(net, 224), 3
    for stage, (width, blocks) in enumerate(((96, 3), (192, 3), (384, 9), (768, 3))):
        name = f"stages.{stage}"
        if stage == 0:
            x = planes(net.layer_norm("stem.1", rows(conv("stem.0", x, ins, width, 4, 4)), width))
        else:
            x = conv(f"{name}.downsample.1", planes(net.layer_norm(f"{name}.downsample.0", rows(x), ins)), ins, width, 2, 2)
        for block in range(blocks):
            part = f"{name}.blocks.{block}"
            y = net.layer_norm(f"{part}.norm", rows(conv(f"{part}.conv_dw", x, width, width, 7, 1, 3, width)), width)
            y = net.linear(f"{part}.fc2", net.gelu(net.linear(f"{part}.fc1", y, width, 4 * width)), 4 * width, width)
            x = net.op("Add", planes(net.op("Mul", y, net.weight(f"{part}.gamma", [width]))), x)
        ins = width
    x = planes(net.layer_norm("head.norm", rows(net.op("GlobalAveragePool", x)), ins))
    net.output(net.gemm("head.fc", net.op("Flatten", x), ins, 1000))
    return net


def vit_b16():
    net = Net("vit-b-16", 17)
    width, heads, mlp, tokens = 768, 12, 3072, 197
    x = net.conv("patch_embed.proj", image_input(net, 224), 3, width, 16, 16, norm=False, bias=True)
    net.nodes[-1].attribute[3].ints[:] = [0] * 4  # patches have no padding
    batch = net.size(x, 0)
    x = net.op("Transpose", net.reshape(x, batch, width, -1), perm=[0, 2, 1])
    shape = net.op("Concat", batch, net.whole([1]), net.whole([width]), axis=0)
    token = net.op("Expand", net.weight("cls_token", [1, 1, width]), shape)
    x = net.op("Add", net.op("Concat", token, x, axis=1), net.weight("pos_embed", [1, tokens, width]))
    for layer in range(12):
        name = f"blocks.{layer}"
        y = net.linear(f"{name}.qkv", net.layer_norm(f"{name}.norm1", x, width), width, 3 * width)
        y = net.op("Transpose", net.reshape(y, batch, tokens, 3, heads, width // heads), perm=[2, 0, 3, 1, 4])
        q, k, v = (net.op("Gather", y, net.whole(i), axis=0) for i in range(3))
        q = net.op("Mul", q, net.constant(0.125))
        scores = net.op("MatMul", q, net.op("Transpose", k, perm=[0, 1, 3, 2]))
        y = net.op("MatMul", net.op("Softmax", scores, axis=-1), v)
        y = net.reshape(net.op("Transpose", y, perm=[0, 2, 1, 3]), batch, tokens, width)
        x = net.op("Add", x, net.linear(f"{name}.proj", y, width, width))
        y = net.gelu(net.linear(f"{name}.fc1", net.layer_norm(f"{name}.norm2", x, width), width, mlp))
        x = net.op("Add", x, net.linear(f"{name}.fc2", y, mlp, width))
    x = net.op("Gather", net.layer_norm("norm", x, width), net.whole(0), axis=1)
    net.output(net.gemm("head", x, width, 1000))
    return net


def bert(name="bert-base", width=768, heads=12, mlp=3072, layers=12, vocabulary=30522):
    net = Net(name, 14)
    shape = ["batch_size", "sequence_length"]
    ids, mask, types = (net.input(name, shape, INT64) for name in ("input_ids", "attention_mask", "token_type_ids"))
    batch, tokens = net.size(ids, 0), net.size(ids, 1)
    mask = net.op("Cast", net.op("Unsqueeze", net.op("Unsqueeze", mask, net.whole([1])), net.whole([2])), to=FLOAT)
    mask = net.op("Mul", net.op("Sub", net.constant(1.0), mask), net.constant(-3.4e38))
    positions = net.op("Slice", net.whole([list(range(512))]), net.whole([0]), tokens, net.whole([1]))
    x = net.op("Add", net.op("Gather", net.weight("embeddings.word_embeddings.weight", [vocabulary, width]), ids),
               net.op("Gather", net.weight("embeddings.token_type_embeddings.weight", [2, width]), types))
    x = net.op("Add", x, net.op("Gather", net.weight("embeddings.position_embeddings.weight", [512, width]), positions))
    x = net.layer_norm("embeddings.LayerNorm", x, width)
    for layer in range(layers):
        name = f"encoder.layer.{layer}"
        q, k, v = (net.linear(f"{name}.{part}", x, width, width) for part in ("query", "key", "value"))
        y = net.attention(q, k, v, batch, tokens, heads, width // heads, mask)
        x = net.layer_norm(f"{name}.norm1", net.op("Add", net.linear(f"{name}.dense", y, width, width), x), width)
        y = net.gelu(net.linear(f"{name}.up", x, width, mlp))
        x = net.layer_norm(f"{name}.norm2", net.op("Add", net.linear(f"{name}.down", y, mlp, width), x), width)
    net.output(x)
    net.output(net.op("Tanh", net.gemm("pooler.dense", net.op("Gather", x, net.whole(0), axis=1), width, width)))
    return net


def bert_base_fused():
    """The same as ONNX Runtime's optimizer writes it."""
    net = Net("bert-base-fused", 14)
    width, heads, mlp = 768, 12, 3072
    ids, types, mask = (net.input(name, ["batch_size", "sequence_length"], TensorProto.INT32) for name in ("input_ids", "segment_ids", "input_mask"))

    def fused(kind, *inputs, **attributes):
        return net.op(kind, *inputs, domain="com.microsoft", **attributes)

    def norm(name):
        return net.weight(f"{name}.weight", [width]), net.weight(f"{name}.bias", [width])

    tables = [net.weight(f"embeddings.{name}", [rows, width]) for name, rows in (("words", 30522), ("positions", 512), ("types", 2))]
    x, counts = net.op("EmbedLayerNormalization", ids, types, *tables, *norm("embeddings.norm"), mask, outputs=2, domain="com.microsoft")
    for layer in range(12):
        name = f"encoder.layer.{layer}"
        weights = net.weight(f"{name}.qkv.weight", [width, 3 * width]), net.weight(f"{name}.qkv.bias", [3 * width])
        y = net.linear(f"{name}.dense", fused("Attention", x, *weights, counts, num_heads=heads), width, width, bias=False)
        x = fused("SkipLayerNormalization", y, x, *norm(f"{name}.norm1"), net.weight(f"{name}.dense.bias", [width]))
        y = net.op("MatMul", x, net.weight(f"{name}.up.weight", [width, mlp]))
        y = fused("BiasGelu", y, net.weight(f"{name}.up.bias", [mlp]))
        y = net.linear(f"{name}.down", y, mlp, width, bias=False)
        x = fused("SkipLayerNormalization", y, x, *norm(f"{name}.norm2"), net.weight(f"{name}.down.bias", [width]))
    net.output(x)
    net.output(net.op("Tanh", net.gemm("pooler.dense", net.op("Gather", x, net.whole(0), axis=1), width, width)))
    return net


def opt_125m():
    net = Net("opt-125m", 13)
    width, heads, mlp, vocabulary = 768, 12, 3072, 50272
    shape = ["batch_size", "sequence_length"]
    ids, mask = net.input("input_ids", shape, INT64), net.input("attention_mask", shape, INT64)
    batch, tokens = net.size(ids, 0), net.size(ids, 1)
    positions = net.op("Add", net.op("Mul", net.op("CumSum", mask, net.whole(1)), mask), net.whole(1))
    places = net.op("Range", net.whole(0), net.op("Squeeze", tokens, net.whole([0])), net.whole(1))
    later = net.op("Less", net.reshape(places, tokens, 1), places)
    causal = net.op("Where", later, net.constant(-65504.0), net.constant(0.0))
    padding = net.op("Cast", net.op("Unsqueeze", mask, net.whole([1, 2])), to=FLOAT)
    bias = net.op("Add", net.op("Mul", net.op("Sub", net.constant(1.0), padding), net.constant(-65504.0)), causal)
    table = net.weight("decoder.embed_tokens.weight", [vocabulary, width])
    x = net.op("Add", net.op("Gather", table, ids), net.op("Gather", net.weight("decoder.embed_positions.weight", [2050, width]), positions))
    for layer in range(12):
        name = f"decoder.layers.{layer}"
        y = net.layer_norm(f"{name}.self_attn_layer_norm", x, width)
        q, k, v = (net.linear(f"{name}.{part}", y, width, width) for part in ("q_proj", "k_proj", "v_proj"))
        y = net.attention(q, k, v, batch, tokens, heads, width // heads, bias)
        x = net.op("Add", x, net.linear(f"{name}.out_proj", y, width, width))
        y = net.linear(f"{name}.fc1", net.layer_norm(f"{name}.final_layer_norm", x, width), width, mlp)
        x = net.op("Add", x, net.linear(f"{name}.fc2", net.op("Relu", y), mlp, width))
    x = net.op("Gather", net.layer_norm("decoder.final_layer_norm", x, width), net.whole(-1), axis=1)
    logits = net.op("MatMul", x, net.op("Transpose", table, perm=[1, 0]))
    net.output(net.op("ArgMax", logits, axis=-1, keepdims=0), None, INT64)
    return net


def llama(name="llama-3.2-1b", layers=16, width=2048, heads=32, kv_heads=8, dim=64, mlp=8192, vocabulary=128256):
    """A decoder with its cache as inputs and outputs, as optimum exports them."""
    net = Net(name, 14)
    ids = net.input("input_ids", ["batch_size", "sequence_length"], INT64)
    net.input("attention_mask", ["batch_size", "past_sequence_length + sequence_length"], INT64)
    positions = net.input("position_ids", ["batch_size", "sequence_length"], INT64)
    past = [[net.input(f"past_key_values.{i}.{part}", ["batch_size", kv_heads, "past_sequence_length", dim]) for part in ("key", "value")] for i in range(layers)]
    batch, tokens = net.size(ids, 0), net.size(ids, 1)
    everything = net.size("attention_mask", 1)
    angles = net.op("MatMul", net.weight("rotary_emb.inv_freq", [1, dim // 2, 1]), net.op("Cast", net.op("Unsqueeze", positions, net.whole([1])), to=FLOAT))
    angles = net.op("Transpose", angles, perm=[0, 2, 1])
    angles = net.op("Concat", angles, angles, axis=-1)
    tables = [net.op("Unsqueeze", net.op(kind, angles), net.whole([1])) for kind in ("Cos", "Sin")]
    places = net.op("Range", net.whole(0), net.op("Squeeze", everything, net.whole([0])), net.whole(1))
    later = net.op("Greater", places, net.op("Unsqueeze", net.op("Cast", positions, to=INT64), net.whole([2])))
    mask = net.op("Unsqueeze", net.op("Where", later, net.constant(-65504.0), net.constant(0.0)), net.whole([1]))

    def norm(name, x):
        variance = net.op("ReduceMean", net.op("Pow", x, net.constant(2.0)), axes=[-1])
        root = net.op("Sqrt", net.op("Add", variance, net.constant(1e-5)))
        return net.op("Mul", net.weight(f"{name}.weight", [width]), net.op("Mul", x, net.op("Div", net.constant(1.0), root)))

    def rotate(x):
        halves = [net.op("Slice", x, net.whole([start]), net.whole([end]), net.whole([3])) for start, end in ((0, dim // 2), (dim // 2, 2**63 - 1))]
        turned = net.op("Concat", net.op("Neg", halves[1]), halves[0], axis=-1)
        return net.op("Add", net.op("Mul", x, tables[0]), net.op("Mul", turned, tables[1]))

    def split(x, count):
        return net.op("Transpose", net.reshape(x, batch, tokens, count, dim), perm=[0, 2, 1, 3])

    def shared(x):
        spread = net.op("Concat", batch, net.whole([kv_heads]), net.whole([heads // kv_heads]), everything, net.whole([dim]), axis=0)
        return net.reshape(net.op("Expand", net.op("Unsqueeze", x, net.whole([2])), spread), batch, heads, everything, dim)

    x = net.op("Gather", net.weight("model.embed_tokens.weight", [vocabulary, width]), ids)
    for i in range(layers):
        name = f"model.layers.{i}"
        y = norm(f"{name}.input_layernorm", x)
        q, k, v = (net.linear(f"{name}.{part}", y, width, count * dim, False) for part, count in (("q", heads), ("k", kv_heads), ("v", kv_heads)))
        q, k, v = rotate(split(q, heads)), rotate(split(k, kv_heads)), split(v, kv_heads)
        k, v = net.op("Concat", past[i][0], k, axis=-2), net.op("Concat", past[i][1], v, axis=-2)
        net.output(k)
        net.output(v)
        scores = net.op("Mul", net.op("MatMul", q, net.op("Transpose", shared(k), perm=[0, 1, 3, 2])), net.constant(dim**-0.5))
        y = net.op("MatMul", net.op("Softmax", net.op("Add", scores, mask), axis=-1), shared(v))
        y = net.reshape(net.op("Transpose", y, perm=[0, 2, 1, 3]), batch, tokens, width)
        x = net.op("Add", x, net.linear(f"{name}.o", y, width, width, False))
        y = norm(f"{name}.post_attention_layernorm", x)
        gate, up = (net.linear(f"{name}.{part}", y, width, mlp, False) for part in ("gate", "up"))
        y = net.op("Mul", net.activate(gate, "silu"), up)
        x = net.op("Add", x, net.linear(f"{name}.down", y, mlp, width, False))
    x = net.op("Gather", norm("model.norm", x), net.whole(-1), axis=1)
    logits = net.op("MatMul", x, net.op("Transpose", "model.embed_tokens.weight", perm=[1, 0]))
    net.output(net.op("ArgMax", logits, axis=-1, keepdims=0), None, INT64)
    return net


def yolov8n(decoded=False, folded=False):
    name = "yolov8n" + ("-decoded" if decoded else "") + ("-folded" if folded else "")
    net = Net(name, 17, folded)

    def unit(name, x, ins, outs, kernel=1, stride=1):
        return net.conv(name, x, ins, outs, kernel, stride, act="silu")

    def c2f(name, x, ins, outs, blocks, shortcut):
        half = outs // 2
        parts = net.op("Split", unit(f"{name}.cv1", x, ins, outs), outputs=2, axis=1)
        for block in range(blocks):
            y = unit(f"{name}.m.{block}.cv1", parts[-1], half, half, 3)
            y = unit(f"{name}.m.{block}.cv2", y, half, half, 3)
            parts.append(net.op("Add", parts[-1], y) if shortcut else y)
        return unit(f"{name}.cv2", net.op("Concat", *parts, axis=1), (2 + blocks) * half, outs)

    def upsample(x):
        scales = net.constant([1, 1, 2, 2])
        return net.op("Resize", x, "", scales, mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor")

    def join(*parts):
        return net.op("Concat", *parts, axis=1)

    x = unit("model.0", net.input("images", ["batch", 3, "height", "width"]), 3, 16, 3, 2)
    x = c2f("model.2", unit("model.1", x, 16, 32, 3, 2), 32, 32, 1, True)
    p3 = c2f("model.4", unit("model.3", x, 32, 64, 3, 2), 64, 64, 2, True)
    p4 = c2f("model.6", unit("model.5", p3, 64, 128, 3, 2), 128, 128, 2, True)
    x = c2f("model.8", unit("model.7", p4, 128, 256, 3, 2), 256, 256, 1, True)
    pools = [unit("model.9.cv1", x, 256, 128)]
    for _ in range(3):
        pools.append(net.op("MaxPool", pools[-1], kernel_shape=[5, 5], pads=[2] * 4, strides=[1, 1]))
    p5 = unit("model.9.cv2", join(*pools), 512, 256)
    n4 = c2f("model.12", join(upsample(p5), p4), 384, 128, 1, False)
    n3 = c2f("model.15", join(upsample(n4), p3), 192, 64, 1, False)
    m4 = c2f("model.18", join(unit("model.16", n3, 64, 64, 3, 2), n4), 192, 128, 1, False)
    m5 = c2f("model.21", join(unit("model.19", m4, 128, 128, 3, 2), p5), 384, 256, 1, False)
    levels = []
    for i, (level, ins) in enumerate(((n3, 64), (m4, 128), (m5, 256))):
        outputs = []
        for branch, hidden, outs in (("cv2", 64, 64), ("cv3", 80, 80)):
            y = unit(f"model.22.{branch}.{i}.0", level, ins, hidden, 3)
            y = unit(f"model.22.{branch}.{i}.1", y, hidden, hidden, 3)
            outputs.append(net.conv(f"model.22.{branch}.{i}.2", y, hidden, outs, norm=False, bias=True))
        levels.append(net.op("Reshape", join(*outputs), net.whole([0, 144, -1])))
    boxes, classes = net.op("Split", net.op("Concat", *levels, axis=2), net.whole([64, 80]), outputs=2, axis=1)
    boxes = net.op("Transpose", net.op("Reshape", boxes, net.whole([0, 4, 16, -1])), perm=[0, 2, 1, 3])
    boxes = net.conv("model.22.dfl", net.op("Softmax", boxes, axis=1), 16, 1, norm=False)
    boxes = net.op("Reshape", boxes, net.whole([0, 4, -1]))
    if decoded:
        near, far = net.op("Split", boxes, outputs=2, axis=1)
        anchors = net.weight("onnx::Sub_anchors", [1, 2, 8400])
        near, far = net.op("Sub", anchors, near), net.op("Add", anchors, far)
        middle = net.op("Div", net.op("Add", near, far), net.constant(2.0))
        boxes = net.op("Mul", join(middle, net.op("Sub", far, near)), net.weight("onnx::Mul_strides", [1, 8400]))
    net.output(join(boxes, net.op("Sigmoid", classes)))
    return net


def small_encoder():
    return bert("small-encoder", width=256, heads=4, mlp=1024, layers=2, vocabulary=8000)


MODELS = (small_encoder, resnet50, lambda: resnet50(True), lambda: resnet50(True, True), mobilenet_v2, efficientnet_b0, convnext_tiny, vit_b16, bert, bert_base_fused,
          opt_125m, llama, yolov8n,
          lambda: yolov8n(folded=True), lambda: yolov8n(True, True))


def main(folder, name=""):
    Path(folder).mkdir(parents=True, exist_ok=True)
    for net in (build() for build in MODELS):
        if name in ("", net.name):
            net.save(folder)


if __name__ == "__main__":
    main(*sys.argv[1:])
