# SPDX-License-Identifier: Apache-2.0
"""Plans of GPU workloads: which operators should share a kernel, what that costs, and how sure the answer is.

    import fusesim
    plan = fusesim.plan("mlp", "h100-sxm5-80gb")
    print(plan.time_s, plan.speedup, [k.label for k in plan.kernels])

The program that comes with this package does the work; `program()` says where it is.
"""
from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from typing import Any, Mapping, Sequence, Union

__all__ = ["Error", "Interval", "Kernel", "Plan", "Refusal", "Strategy", "plan", "plans", "program", "run", "version"]

Name = Union[str, "os.PathLike[str]"]
Value = Union[str, int, float]


class Error(Exception):
    """fusesim ended with an error. `status` is its exit status: 2 usage, 65 bad input, 66 missing input, 70 failed."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True)
class Interval:
    """Where eight of ten measured values would be."""

    low: float
    high: float


@dataclass(frozen=True)
class Kernel:
    """A kernel of a plan, in launch order."""

    number: int
    name: str
    label: str
    template: str
    operators: tuple[str, ...]
    time_s: float
    likely_s: Interval
    bound: str
    flops: float
    dram_read_bytes: int
    dram_write_bytes: int
    start_s: float
    end_s: float
    assumed: tuple[str, ...]


@dataclass(frozen=True)
class Strategy:
    """What another way to cut the workload into kernels takes: eager PyTorch, torch.compile, ..."""

    name: str
    kernels: int
    time_s: float
    likely_s: Interval
    speedup: float
    likely_speedup: Interval
    dram_bytes: int
    peak_memory_bytes: int
    fits: bool


@dataclass(frozen=True)
class Refusal:
    """Two operators that do not share a kernel, and why. saving_s: what one kernel would save; negative: lose."""

    a: str
    b: str
    rule: str
    message: str
    saving_s: float | None


@dataclass(frozen=True)
class Plan:
    """The plan of one workload on one GPU."""

    workload: str
    gpu: str
    strategy: str
    time_s: float
    likely_s: Interval
    speedup: float
    likely_speedup: Interval
    proven: bool
    gap: float
    peak_memory_bytes: int
    fits: bool
    kernels: tuple[Kernel, ...]
    strategies: Mapping[str, Strategy]
    refusals: tuple[Refusal, ...]
    json: Mapping[str, Any] = field(repr=False)
    """All that the program says: reports/schema/plan.schema.json."""


_root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "_program")


def program() -> str:
    """The path of the program: $FUSESIM, or the one in this package."""
    return os.environ.get("FUSESIM") or os.path.join(_root, "bin", "fusesim")


def _environment() -> dict[str, str]:
    environment = dict(os.environ)
    libraries = os.path.join(_root, "lib")
    if os.path.isdir(libraries) and not os.environ.get("FUSESIM"):
        others = environment.get("LD_LIBRARY_PATH")
        environment["LD_LIBRARY_PATH"] = libraries + (os.pathsep + others if others else "")
    return environment


def run(arguments: Sequence[str], text: str | None = None) -> subprocess.CompletedProcess[str]:
    """Runs the program with these arguments and `text` as its standard input."""
    return subprocess.run([program(), *arguments], input=text if text is not None else "", capture_output=True,
                          text=True, env=_environment(), check=False)


def version() -> str:
    """The program's version."""
    return run(["--version"]).stdout.split()[-1]


def _kernel(k: Mapping[str, Any]) -> Kernel:
    return Kernel(number=k["id"], name=k["name"], label=" + ".join(k["source_operators"]), template=k["template"],
                  operators=tuple(k["operators"]), time_s=k["time_s"], likely_s=Interval(k["time_low_s"], k["time_high_s"]),
                  bound=k["bound"], flops=k["flops"], dram_read_bytes=k["dram_read_bytes"],
                  dram_write_bytes=k["dram_write_bytes"], start_s=k["start_s"], end_s=k["end_s"],
                  assumed=tuple(k["assumed"]))


def _strategy(s: Mapping[str, Any]) -> Strategy:
    return Strategy(name=s["name"], kernels=s["kernels"], time_s=s["time_s"],
                    likely_s=Interval(s["time_low_s"], s["time_high_s"]), speedup=s["speedup"],
                    likely_speedup=Interval(s["speedup_low"], s["speedup_high"]),
                    dram_bytes=s["dram_read_bytes"] + s["dram_write_bytes"], peak_memory_bytes=s["peak_memory_bytes"],
                    fits=s["fits"])


def _plan(p: Mapping[str, Any]) -> Plan:
    strategies = {s["name"]: _strategy(s) for s in p["strategies"]}
    shown = strategies[p["plan"]["strategy"]]
    return Plan(workload=p["workload"]["name"], gpu=p["hardware"]["name"], strategy=shown.name, time_s=shown.time_s,
                likely_s=shown.likely_s, speedup=shown.speedup, likely_speedup=shown.likely_speedup,
                proven=p["plan"]["proven"], gap=p["plan"]["gap"], peak_memory_bytes=shown.peak_memory_bytes,
                fits=shown.fits, kernels=tuple(_kernel(k) for k in p["plan"]["kernels"]), strategies=strategies,
                refusals=tuple(Refusal(r["a"], r["b"], r["rule"], r["message"], r["saving_s"]) for r in p["refusals"]),
                json=p)


def plans(workload: Name, hw: Sequence[Name], *, set: Mapping[str, Value] | None = None, text: str | None = None,
          options: Sequence[str] = ()) -> tuple[Plan, ...]:
    """The plans of a workload on several GPUs.

    workload: a file or the name of a shipped one; or "-", where `text` is the YAML.
    hw: names of `fusesim hw list`, or files. set: symbols, as --set. options: more, as on the command line.
    """
    words = ["plan", os.fspath(workload), "--hw", ",".join(os.fspath(h) for h in hw), "--json", "-"]
    for name, value in (set or {}).items():
        words += ["--set", f"{name}={value}"]
    done = run([*words, *options], text)
    if done.returncode != 0:
        raise Error(done.returncode, done.stderr.strip() or f"fusesim ended with status {done.returncode}")
    return tuple(_plan(p) for p in json.loads(done.stdout)["plans"])


def plan(workload: Name, hw: Name, *, set: Mapping[str, Value] | None = None, text: str | None = None,
         options: Sequence[str] = ()) -> Plan:
    """The plan of a workload on one GPU; parameters as of `plans`."""
    return plans(workload, [hw], set=set, text=text, options=options)[0]


def main() -> None:
    """The command `fusesim`: the program itself."""
    os.execve(program(), [program(), *sys.argv[1:]], _environment())
