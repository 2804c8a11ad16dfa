#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Stacks that are too short for their equal layers to be searched once, and stacks where they are: each further layer adds the same to a proven optimum, to the
# femtosecond.
# depends: once cost: 5
set -u
: "${FUSESIM:?}" "${SOURCE_DIR:?}"
python=$(command -v python3) || exit 77
cd "$SOURCE_DIR" || exit 70
"$python" - "$FUSESIM" <<'END'
import json, subprocess, sys

# Products whose residuals pass through a GELU and a layer norm: what is stored of the layers before could be computed again in very many ways.
residual = """name: residual
symbols: {layers: 12}
tensors: {x: {shape: [512, 768], dtype: f16}}
operators:
  - repeat: layers
    carry: {x: h}
    tensors: {w: {shape: [768, 768], dtype: f16, role: weight}, g: {shape: [768], dtype: f16, role: weight}}
    operators:
      - {op: linear, in: [x, w], out: a}
      - {op: gelu, in: a, out: b}
      - {op: add, in: [b, x], out: r}
      - {op: layer_norm, in: [r, g], out: h}
outputs: [h]
"""

def proven(stack, layers):
    """The proven optimum in femtoseconds."""
    path = "-" if stack == "residual" else f"workloads/stacks/{stack}.yaml"
    run = subprocess.run([sys.argv[1], path, "--set", f"layers={layers}", "--hw", "t4", "--json", "-"], input=residual.encode(), capture_output=True, check=True)
    plan = json.loads(run.stdout)["plans"][0]["plan"]
    if not plan["proven"]:
        sys.exit(f"FAIL: {stack} with {layers} layers is not proven: gap {plan['gap']}")
    return round(plan["lower_bound_s"] * 1e15)

for stack in ("gpt2", "t5_encoder", "resnet", "residual"):
    whole = [proven(stack, layers) for layers in (6, 7, 8)]
    more = whole[2] - whole[1]
    for layers, time in ((7, whole[1]), (12, proven(stack, 12)), (40, proven(stack, 40))):
        if time != whole[2] + (layers - 8) * more:
            sys.exit(f"FAIL: {stack} with {layers} layers takes {time} fs; 8 take {whole[2]}, and each more {more}")
END
