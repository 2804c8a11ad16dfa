#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The example that `fusesim ops OP` shows of each operator is a workload that loads without a warning, plans, and has the results that it says; each other name of an operator and of an attribute is taken in it.
# depends: once cost: 3
set -u
: "${FUSESIM:?}" "${SOURCE_DIR:?}"
export LC_ALL=C
unset COLUMNS FUSESIM_HWMODELS
"$FUSESIM" ops --json ops.json >out || exit 1
exec "${PYTHON:-python3}" - <<'END'
import json, os, re, subprocess, sys
fusesim, failures, plans = os.environ["FUSESIM"], [], 0


def plan(text):
    return subprocess.run([fusesim, "-", "--hw", "a100-sxm4-40gb", "--search-steps", "200000", "--json", "-"], input=text, capture_output=True, text=True)



ops = json.load(open("ops.json"))
for op in ops:
    text, name = op["example"], op["name"]
    shown = subprocess.run([fusesim, "ops", name], capture_output=True, text=True, env={**os.environ, "COLUMNS": "80"}).stdout
    for wanted in ("\n" + text, op["example_results"], "Shape of its result: ", "Dtype of its result: "):
        if wanted not in shown:
            failures.append(f"ops {name} does not show {wanted!r}")
    done = plan(text)
    plans += 1
    if done.returncode or done.stderr:
        failures.append(f"the example of {name}: {done.stderr}")
        continue
    graph = subprocess.run([fusesim, "-", "--hw", "t4", "--search-steps", "1000", "--dump", "graph"], input=text, capture_output=True, text=True, env={**os.environ, "COLUMNS": "200"}).stdout
    for result, dtype, shape in re.findall(r"(\w+) is (\w+)(\[[^]]*\])", op["example_results"]):
        if not re.search(rf"^  {result}  +{re.escape(shape)}  +{dtype} ", graph, re.M):
            failures.append(f"{name}: the example's {result} is not {dtype}{shape}: {graph}")
    if not re.search(r" is \w+\[", op["example_results"]):
        failures.append(f"{name}: the example has no result")
    # The same plan under every other name of the operator, and of the attributes that the example has.
    others = [re.sub(rf"op: {name}\b", f"op: {alias}", text, count=1) for alias in op["aliases"] if alias not in ("mm", "mv", "dot", "amax", "amin")]
    for attr in op["attributes"]:
        tensors, nodes = text.split("operators:")
        others += [tensors + "operators:" + re.sub(rf"\b{attr['name']}:", f"{also}:", nodes) for also in attr["also"] if f" {attr['name']}:" in nodes]
    for other in others:
        assert other != text, name
        again = plan(other)
        plans += 1
        if again.returncode or json.loads(again.stdout)["plans"][0]["plan"]["kernels"] != json.loads(done.stdout)["plans"][0]["plan"]["kernels"]:
            failures.append(f"another name in the example of {name}: {other}{again.stderr}")
print(f"{len(ops)} operators, {plans} plans")
for failure in failures:
    print("FAILED:", failure)
sys.exit(bool(failures) or len(ops) < 100)
END
