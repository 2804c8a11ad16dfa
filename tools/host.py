#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures what this machine's host takes for PyTorch's operators, and writes it for fusesim. Needs torch and a GPU.

    python3 tools/host.py -o host.csv
    fusesim calibrate --hw h100-sxm5-80gb --host host.csv -o this-machine.yaml

Each operator is called on tensors so small that the GPU always waits for the host; the clock stops when the last call
returns, before the GPU has finished. Fewer calls stand in the queue than it holds. A row is the median of many
repetitions: the operator, the kernels that a call launches (counted by the profiler), seconds a call, and the machine.
Run it as your program runs: the same environment, CPU governor and other load.
"""
import argparse, csv, os, platform, statistics, sys, time


def operators(torch, device):
    nn = torch.nn.functional
    x = torch.randn(4, 64, 16, 16, device=device)
    m, w, b = torch.randn(64, 64, device=device), torch.randn(64, 64, device=device), torch.randn(64, device=device)
    filters = torch.randn(64, 64, 3, 3, device=device)
    mean, var = torch.zeros(64, device=device), torch.ones(64, device=device)
    return {"add": lambda: m + w,
            "convolution": lambda: nn.conv2d(x, filters, padding=1),
            "convolution_bias": lambda: nn.conv2d(x, filters, b, padding=1),
            "linear": lambda: nn.linear(m, w),
            "linear_bias": lambda: nn.linear(m, w, b),
            "matmul": lambda: torch.matmul(m, w),
            "batch_norm": lambda: nn.batch_norm(x, mean, var, b, b),
            "instance_norm": lambda: nn.instance_norm(x),
            "group_norm": lambda: nn.group_norm(x, 8),
            "layer_norm": lambda: nn.layer_norm(m, (64,), b, b),
            "softmax": lambda: nn.softmax(m, -1),
            "concat": lambda: torch.cat((m, w)),
            "pool": lambda: nn.max_pool2d(x, 2),
            "view": lambda: m.view(32, 128)}


def kernels(torch, call, device):
    """The kernels of one call, without copies and fills that only the first needs."""
    if device == "cpu":
        return 1
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA, torch.profiler.ProfilerActivity.CPU]) as p:
        call()
        torch.cuda.synchronize()
    return sum(e.device_type == torch.autograd.DeviceType.CUDA for e in p.events())


def seconds(torch, call, calls, repetitions, device):
    wait = torch.cuda.synchronize if device != "cpu" else lambda: None
    times = []
    for _ in range(repetitions):
        wait()
        start = time.perf_counter()
        for _ in range(calls):
            call()
        times.append((time.perf_counter() - start) / calls)
    return statistics.median(times)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("-o", dest="out", default="host.csv", help="the file to write (host.csv)")
    p.add_argument("--calls", type=int, default=100, help="calls between two readings of the clock (100)")
    p.add_argument("--repetitions", type=int, default=50, help="repetitions, of which the median counts (50)")
    p.add_argument("--device", default="cuda", choices=("cuda", "cpu"), help="cpu: tries the script, and measures nothing of use")
    a = p.parse_args()
    import torch
    if a.device == "cuda" and not torch.cuda.is_available():
        sys.exit("host.py: torch sees no GPU")
    gpu = torch.cuda.get_device_name() if a.device == "cuda" else "no GPU"
    machine = f"torch {torch.__version__}; {gpu}; {platform.machine()} {platform.processor()}".strip()
    rows = []
    with torch.no_grad():
        for name, call in operators(torch, a.device).items():
            for _ in range(20):
                call()
            rows.append((name, kernels(torch, call, a.device), f"{seconds(torch, call, a.calls, a.repetitions, a.device):.4g}", machine))
            print(f"{name:18} {rows[-1][1]} launches, {float(rows[-1][2]) * 1e6:.2f} us", file=sys.stderr)
    with open(a.out + ".new", "w", newline="") as f:
        csv.writer(f, lineterminator="\n").writerows([("operator", "launches", "seconds", "machine")] + rows)
    os.replace(a.out + ".new", a.out)


if __name__ == "__main__":
    main()
