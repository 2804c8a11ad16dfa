#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Exports a PyTorch model for fusesim, without weights: on the meta device it takes kilobytes, whatever its size.

    python3 tools/export.py torchvision.models:resnet50 7?x3x224x224 -o resnet50.pt2
    python3 tools/export.py mine:make_decoder 7?x21?:int64 --dtype bfloat16 -o decoder.pt2

MODULE:FUNCTION makes the model (a class does, too); each input is its sizes, and its dtype where that is not the
model's. A size with '?' stays free: fusesim asks for it (--dim x:0=8 for axis 0 of input x,
or by the name that the file has, s77). Give free sizes odd values, never 0 or 1: the exporter
takes 0, 1, and lengths that equal one of the model's for fixed. Works with torch 2.5 and newer.
"""
import argparse, importlib, re, sys
import torch

p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
p.add_argument("model", metavar="MODULE:FUNCTION")
p.add_argument("inputs", nargs="+", metavar="SIZES[:DTYPE]")
p.add_argument("--dtype", default="float32", help="of the model's weights (float32)")
p.add_argument("-o", dest="out", default="model.pt2", help="the file to write (model.pt2)")
a = p.parse_args()
sys.path.insert(0, ".")
module, function = a.model.split(":")
with torch.device("meta"):  # shapes and dtypes alone: no weight is ever made
    model = getattr(importlib.import_module(module), function)().to(getattr(torch, a.dtype)).eval()
inputs, free = [], []
for text in a.inputs:
    sizes, _, dtype = text.partition(":")
    sizes = re.findall(r"(\d+)(\??)", sizes)
    inputs.append(torch.zeros([int(n) for n, _ in sizes], dtype=getattr(torch, dtype or a.dtype), device="meta"))
    free.append({i: torch.export.Dim.AUTO for i, (_, mark) in enumerate(sizes) if mark})
torch.export.save(torch.export.export(model, tuple(inputs), dynamic_shapes=tuple(free)), a.out)
