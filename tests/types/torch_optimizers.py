# SPDX-License-Identifier: Apache-2.0
# Writes the table that unit.optimizer compares with: optimizer_test --print | python3 tests/types/torch_optimizers.py >tests/types/torch_optimizers.csv
# Needs PyTorch, any build. A row: optimizer, limit of the gradients' norm (0: none), tensor, its values: the inputs as they came, and what
# torch.optim makes of them in its thousandth step, in doubles.
import sys
import torch

STEP = 1000
MAKE = {
    "sgd": lambda p: torch.optim.SGD(p, lr=1e-3),
    "momentum": lambda p: torch.optim.SGD(p, lr=1e-3, momentum=0.9),
    "adam": lambda p: torch.optim.Adam(p),
    "adamw": lambda p: torch.optim.AdamW(p),
}
NAMES = {"state/momentum": "momentum_buffer", "state/m": "exp_avg", "state/v": "exp_avg_sq"}


def text(values):
    return " ".join("%.17g" % x for x in values)


def row(values):
    return torch.cat([v.detach().flatten() for v in values]).tolist()


def run(update, clip, given):
    w, b = (torch.tensor(given[k], dtype=torch.float64) for k in "wb")
    x = torch.tensor(given["x"], dtype=torch.float64).reshape(4, 3)
    p = [torch.nn.Parameter(w.reshape(2, 3)), torch.nn.Parameter(b)]
    optimizer = MAKE[update](p)
    ((x @ p[0].t() + p[1]) ** 2).sum().backward()
    if float(clip) > 0:
        torch.nn.utils.clip_grad_norm_(p, float(clip))
    states = [k for k in given if k.startswith("state/")]
    for k in states:
        line, at = torch.tensor(given[k], dtype=torch.float64), 0
        for q in p:
            optimizer.state[q][NAMES[k]] = line[at : at + q.numel()].reshape(q.shape).clone()
            optimizer.state[q]["step"] = torch.tensor(STEP - 1.0)
            at += q.numel()
    optimizer.step()
    for k in states:
        print(f"{update}|{clip}|next/{k[6:]}|{text(row([optimizer.state[q][NAMES[k]] for q in p]))}")
    print(f"{update}|{clip}|next/weights|{text(row(p))}")


cases = {}
for line in sys.stdin:
    update, clip, name, values = line.rstrip("\n").split("|")
    cases.setdefault((update, clip), {})[name] = [float(v) for v in values.split()]
for (update, clip), given in cases.items():
    for name, values in given.items():
        print(f"{update}|{clip}|{name}|{text(values)}")
    run(update, clip, given)
