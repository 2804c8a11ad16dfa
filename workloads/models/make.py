#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the models of this folder: two small networks, each exported by torch.export (.pt2) and to ONNX (.onnx), without weights.

    python workloads/models/make.py [FOLDER]

Needs PyTorch only. tiny_transformer is an encoder of two equal layers (attention, layer norm, GELU), tiny_cnn two blocks of convolution, batch norm
and ReLU with a residual each, pooling and a classifier. Their batch (and the transformer's sequence) is a dimension that --dim gives.
"""
import io
import sys
import zipfile
from pathlib import Path

import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.conv1 = nn.Conv2d(width, width, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.relu = nn.ReLU()

    def forward(self, x):
        y = self.relu(self.bn1(self.conv1(x)))
        return self.relu(self.bn2(self.conv2(y)) + x)


class TinyCnn(nn.Module):
    def __init__(self, width=32, classes=10):
        super().__init__()
        self.stem = nn.Conv2d(3, width, 3, padding=1)
        self.layer = nn.Sequential(Block(width), Block(width))
        self.head = nn.Linear(width, classes)

    def forward(self, image):
        x = self.layer(torch.relu(self.stem(image)))
        return self.head(x.mean((2, 3)))


class Layer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1 = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.norm2 = nn.LayerNorm(width)
        self.up = nn.Linear(width, 4 * width)
        self.gelu = nn.GELU()
        self.down = nn.Linear(4 * width, width)

    def forward(self, x):
        batch, seq, width = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(batch, seq, 3 * self.heads, width // self.heads).transpose(1, 2).chunk(3, 1)
        y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(batch, seq, width))
        return x + self.down(self.gelu(self.up(self.norm2(x))))


class TinyTransformer(nn.Module):
    def __init__(self, width=128, heads=4, layers=2, words=1000):
        super().__init__()
        self.embed = nn.Embedding(words, width)
        self.layer = nn.ModuleList(Layer(width, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, words, bias=False)

    def forward(self, ids):
        x = self.embed(ids)
        for layer in self.layer:
            x = layer(x)
        return self.head(self.norm(x))


def without_weights(archive, path):
    """The archive without the bytes of weights and examples, compressed: all that says what is computed."""
    with zipfile.ZipFile(archive) as old, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as new:
        for entry in old.infolist():
            if not any(part in entry.filename for part in ("/data/weights/weight_", "/data/constants/tensor_", "/data/sample_inputs/")):
                new.writestr(zipfile.ZipInfo(entry.filename, (2020, 1, 1, 0, 0, 0)), old.read(entry), zipfile.ZIP_DEFLATED)


def export_onnx(model, example, path, dims):
    """By the exporter that PyTorch has in itself. It asks for the package onnx to add functions, of which there are none here."""
    from torch.onnx._internal.torchscript_exporter import onnx_proto_utils

    onnx_proto_utils._add_onnxscript_fn = lambda model_bytes, functions: model_bytes
    torch.onnx.export(model, example, path, input_names=list(dims), output_names=["out"], dynamic_axes=dims, dynamo=False,
                      export_params=False, opset_version=17)


def main(folder):
    models = {"tiny_cnn": (TinyCnn, (torch.zeros(2, 3, 32, 32),), {"image": {0: "batch"}}),
              "tiny_transformer": (TinyTransformer, (torch.zeros(2, 16, dtype=torch.int64),), {"ids": {0: "batch", 1: "seq"}})}
    for name, (make, example, dims) in models.items():
        model = make().eval()
        shapes = {k: {axis: torch.export.Dim(d, min=2, max=4096) for axis, d in v.items()} for k, v in dims.items()}
        archive = io.BytesIO()
        torch.export.save(torch.export.export(model, example, dynamic_shapes=shapes), archive)
        archive.seek(0)
        without_weights(archive, folder / f"{name}.pt2")
        export_onnx(model, example, str(folder / f"{name}.onnx"), dims)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent))
