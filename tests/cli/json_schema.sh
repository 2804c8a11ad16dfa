#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What --json and enumerate print is what reports/schema says, and its figures agree with each other.
# depends: once cost: 7
set -u
: "${FUSESIM:?}" "${SOURCE_DIR:?}"
python=${PYTHON:-python3}
"$python" -c 'import jsonschema; jsonschema.Draft202012Validator' 2>/dev/null || { echo "needs Python's jsonschema"; exit 77; }

fail=0
# make FILE ARGUMENT...: the program's JSON in FILE.
make() {
    local file=$1
    shift
    timeout 60 "$FUSESIM" "$@" >"$file" 2>"$file.err" || { echo "exit $?: fusesim $*"; cat "$file.err"; fail=1; rm -f "$file"; }
}

plans=0
for workload in "$SOURCE_DIR"/workloads/seeds/*.yaml "$SOURCE_DIR"/workloads/bert_layer.yaml; do
    name=$(basename "$workload" .yaml)
    for hw in a100-sxm4-40gb t4; do
        make "$name.$hw.plan.json" "$workload" --hw $hw --search-steps 600000 --json -
        plans=$((plans + 1))
    done
done
[ $plans -gt 2 ] || { echo "no workloads"; exit 1; }

bert=$SOURCE_DIR/workloads/bert_layer.yaml
make several.plan.json "$bert" --hw a100-sxm4-40gb,t4,h100-sxm5-80gb --search-steps 600000 --json -
make bytes.plan.json "$bert" --hw t4 --objective bytes --search-steps 600000 --json -
norm=$SOURCE_DIR/workloads/seeds/attn_out_residual_ln.yaml
make memory.plan.json "$norm" --hw t4 --objective memory --search-steps 600000 --json -
make limit.plan.json "$norm" --hw t4 --memory-limit 1GiB --search-steps 600000 --json -
make pareto.plan.json "$norm" --hw t4 --objective pareto --search-steps 600000 --json -
make top.plan.json "$norm" --hw t4 --top 7 --search-steps 600000 --json -
make compile.plan.json "$bert" --hw t4 --compile-cost --search-steps 600000 --json -
make jobs.plan.json "$bert" --hw t4,a100-sxm4-40gb --compile-cost --compile-jobs 4 --search-steps 600000 --json -
make gates.plan.json "$norm" --hw t4,l4 --gate time=1s --gate eager:gap=100% --gate t4:kernels=99 --search-steps 600000 --json -
make given.plan.json "$norm" --hw t4 --plan top.plan.json --strategy optimal --search-steps 600000 --json -
make warm.plan.json "$bert" --hw t4 --l2 warm --launch graph --numerics strict --recompute off --search-steps 600000 --json -
for strategy in eager unfused greedy inductor pattern maximal xla; do
    make $strategy.plan.json "$bert" --hw a100-sxm4-40gb --strategy $strategy --search-steps 600000 --json -
done
# Calls of a serving stack, and a strategy that is priced only when asked for: the most strategies that a plan has.
make served.plan.json "$SOURCE_DIR/workloads/llm/dense_decode.yaml" --hw h100-sxm5-80gb --strategy xla --search-steps 600000 --json -
# Two rolls are one kernel, and a rule about these two keeps them out of the product's.
cat >rolled.yaml <<'END'
tensors: {x: {shape: [32, 56, 56, 96], dtype: f16}, w: {shape: [288, 96], dtype: f16, role: weight}}
operators:
  - {op: roll, in: x, out: a, roll: -3, dim: 1}
  - {op: roll, in: a, out: b, roll: -3, dim: 2}
  - {op: reshape, in: b, out: c, shape: [32, 8, 7, 8, 7, 96]}
  - {op: permute, in: c, out: d, dims: [0, 1, 3, 2, 4, 5]}
  - {op: reshape, in: d, out: e, shape: [2048, 49, 96]}
  - {op: linear, in: [e, w], out: y}
outputs: [y]
END
make rolled.plan.json rolled.yaml --hw h100-sxm5-80gb --json -
# With gradients: a loss in the graph, or an output whose gradient comes from outside.
for loss in sum none; do
    {
        cat <<'END'
tensors:
  x: {shape: [512, 256], dtype: f32}
  i: {shape: [512], dtype: i64}
  w: {shape: [256, 256], dtype: f32, role: weight}
  t: {shape: [4, 256], dtype: f32, role: weight}
operators:
  - {op: linear, in: [x, w], out: a}
  - {op: relu, in: a, out: b}
  - {op: embedding, in: [i, t], out: e}
  - {op: mul, in: [b, e], out: y}
END
        [ $loss = none ] || echo "  - {op: sum, in: y, out: loss, dims: [0, 1]}"
    } >train_$loss.yaml
    make train_$loss.plan.json train_$loss.yaml --hw a100-sxm4-40gb --train --search-steps 600000 --json -
    make train_top_$loss.plan.json train_$loss.yaml --hw t4 --train --grad weights --optimizer sgd --top 3 --search-steps 600000 --json -
done
# To a file what goes to stdout, and the same bytes twice (on a workload whose search is far from the clock's stop, which is the one thing that may
# differ between runs).
mlp=$SOURCE_DIR/workloads/mlp.yaml
make mlp.plan.json "$mlp" --hw t4 --json -
"$FUSESIM" "$mlp" --hw t4 --json file.plan.json >/dev/null 2>&1 || { echo "--json FILE failed"; fail=1; }
diff mlp.plan.json file.plan.json || { echo "two runs differ"; fail=1; }

for name in chain4 two_consumers softmax_primitive vmap_poly; do
    make $name.partitions.jsonl enumerate "$SOURCE_DIR/workloads/seeds/$name.yaml" --hw t4 --limit 500
done
make few.partitions.jsonl enumerate "$SOURCE_DIR/workloads/seeds/chain4.yaml" --hw t4 --limit 3
make pure.partitions.jsonl enumerate "$SOURCE_DIR/workloads/seeds/two_consumers.yaml" --hw t4 --recompute off

measured=$SOURCE_DIR/tests/measured
export FUSESIM_HWMODELS=$SOURCE_DIR/tests/hw
make toy.accuracy.json validate --measurements "$measured/toy.csv" --workload-root "$measured/workloads" --gate softmax:rows=1 --gate mape=1000% --gate rank=0 --json -
make few.accuracy.json validate --measurements "$measured/toy.csv" --match softmax --by folder,file --json -
printf '%s\n' 'id,hw,workload,strategy,launch,time_s,kernel' all,t4,mlp,eager,kernel,1e-3, one,t4,mlp,eager,kernel,1e-3,h none,t4,mlp,eager,kernel,1e-3,nonsense \
    none,t4,mlp,inductor,kernel,1e-3,nonsense >kernels.csv
make kernels.accuracy.json validate --measurements kernels.csv --json -
make kept.accuracy.json validate --measurements kernels.csv --no-exclude --json -
make none.accuracy.json validate --measurements "$measured/toy.csv" --match 'too fast' --json -

# What else --json is of. Of the GPU and the CPU that are measured: calibrate_cuda.sh and host.sh; of kernels that run: validate_cpu.sh, validate_cuda.sh, registers.sh, codegen.sh.
make legal.explain.json explain "$mlp" --hw t4 h g --json -
make illegal.explain.json explain "$SOURCE_DIR/workloads/seeds/cycle.yaml" --hw t4 A B --json -
make far.explain.json explain "$mlp" --hw t4 h y --json -
make m.regions.json regions "$mlp" --hw t4 --over M=64:4096:512 --json -
make breaks.regions.json regions "$mlp" --hw a100-sxm4-40gb --over M=1:4096 --json -
make changed.diff.json diff bert_layer.t4.plan.json bert_layer.a100-sxm4-40gb.plan.json --gate time=900% --json -
make points.sweep.json sweep "$mlp" --hw t4,l4 --over M=64:4096:x2 --over H=1024,7 --json -
"$FUSESIM" sweep "$mlp" --hw t4 --over M=64:4096:x2 --over H=1024,7 --hw-set sms=30 --json fewer.points >/dev/null 2>&1
make points.diff_rows.json diff points.sweep.json fewer.points --json -
make rows.diff_rows.json diff few.accuracy.json toy.accuracy.json --gate total=900% --json -
make ncu.import.json import --measurements "$SOURCE_DIR/tests/traces/ncu-mlp.csv" "$mlp" --hw a100-sxm4-40gb --json -
make whole.import.json import --measurements "$SOURCE_DIR/tests/traces/pytorch-bert-layer.json" "$bert" --hw a100-sxm4-40gb --json -
make list.import.json import --measurements "$SOURCE_DIR/tests/traces/pytorch-bert-layer.json" --json -
make fitted.calibrate.json calibrate --hw toy --fresh --measurements "$measured/toy.csv" --workload-root "$measured/workloads" -o toy.yaml --json -
make list.hw.json hw list --json -
make show.hw.json hw show h100-sxm5-80gb --json -
make toy.hw.json hw show toy --json -
make check.hw.json hw check "$SOURCE_DIR"/tests/hw/*.yaml --json -
make all.ops.json ops --json -
make one.ops.json ops conv2d --json -
make all.workloads.json workloads --json -
make one.workloads.json workloads llama_block --json -
make summary.workloads.json workloads models/tiny_transformer.pt2 --dim s23=8 --dim s27=64 --summary --json -
make layers.plan.json models/tiny_transformer.pt2 --dim s23=8 --dim s27=64 --hw t4 --json -
make onnx.model.json import models/tiny_transformer.onnx --dim batch=8 --dim seq=64 --json -
for schema in "$SOURCE_DIR"/reports/schema/*.schema.json; do
    name=$(basename "$schema" .schema.json)
    grep -lq "$name.schema.json\|^of_schema $name \|\.$name\.json\|validator(\"$name\")" "$SOURCE_DIR"/tests/cli/*.sh || { echo "no test validates anything by $schema"; fail=1; }
done

SCHEMA=$SOURCE_DIR/reports/schema "$python" - <<'EOF' || fail=1
import glob, json, os, sys
import jsonschema

bad = 0
def complain(where, what):
    global bad
    bad += 1
    print(f"{where}: {what}")

def no_constant(name):
    raise ValueError(f"{name} is not JSON")

def load(text):
    return json.loads(text, parse_constant=no_constant)

def validator(name):
    with open(os.path.join(os.environ["SCHEMA"], name + ".schema.json")) as file:
        schema = json.load(file)
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)

def close(a, b, relative=1e-9):
    return abs(a - b) <= relative * max(abs(a), abs(b), 1e-300)

def check_training(where, p, shown):
    training, plan, kernels = p["training"], p["plan"], p["plan"]["kernels"]
    if "i" not in training["no_grad"] or training["gradients"]["w"] != {"shape": [256, 256], "dtype": "f32", "tensor": "grad/w"}:
        complain(where, f"gradients are {training['gradients']}, none have {training['no_grad']}")
    if training["forward_flops"] != 2 * 512 * 256 * 256 or training["backward_flops"] != training["forward_flops"] * (1 if "top" in where else 2):
        complain(where, f"FLOPs are {training['forward_flops']}, {training['backward_flops']}")
    phases = ["forward", "backward", "optimizer"]
    for s in p["strategies"]:
        if not close(sum(s[name + "_s"] for name in phases), s["time_s"]) or (s["optimizer_s"] > 0) != ("top" in where):
            complain(where, f"phases of {s['name']} do not sum to its time")
    for name in phases:
        if not close(shown[name + "_s"], sum(k["time_s"] for k in kernels if k["phase"] == name)):
            complain(where, f"{name}_s is not the time of its kernels")
    last_forward = max(k["id"] for k in kernels if k["phase"] == "forward")
    if "none" in where and any(k["phase"] == "backward" and any(i["tensor"] == "grad/y" for i in k["inputs"]) and k["id"] < last_forward for k in kernels):
        complain(where, "a gradient comes before the output")
    kept = {v["tensor"]: v["bytes"] for v in plan["saved"] if v["way"] == "keep"}
    read = {i["tensor"] for k in kernels if k["phase"] == "backward" for i in k["inputs"]}
    made = {o["tensor"] for k in kernels if k["phase"] == "forward" for o in k["outputs"]}
    if set(kept) != read & made or sum(kept.values()) != shown["saved_bytes"]:
        complain(where, f"saved are {kept}, and {shown['saved_bytes']} bytes in all")
    given = {"x": 512 * 256 * 4, "i": 512 * 8, "w": 256 * 256 * 4, "t": 4 * 256 * 4}
    if sum(size for name, size in given.items() if name in read) != shown["saved_input_bytes"]:
        complain(where, f"saved inputs are {shown['saved_input_bytes']} bytes")
    if max(t["live_bytes"] for t in plan["timeline"]) != shown["peak_memory_bytes"] or len(plan["timeline"]) != len(kernels):
        complain(where, "the most of the timeline is not the peak")

def check_prediction(where, p):
    names = [s["name"] for s in p["strategies"]]
    if [n for n in names if n != "file"] != STRATEGIES + ["serving"] * where.startswith("served") + ["xla"] * (p["plan"]["strategy"] == "xla") or names.count("file") > 1:
        complain(where, f"strategies are {names}")
    by_name = {s["name"]: s for s in p["strategies"]}
    for s in p["strategies"]:
        if not close(s["speedup"] * s["time_s"], by_name["eager"]["time_s"]):
            complain(where, f"speedup of {s['name']} is not against eager")
    plan, shown = p["plan"], by_name[p["plan"]["strategy"]]
    kernels = plan["kernels"]
    if shown["kernels"] != len(kernels):
        complain(where, "kernels of the plan and of its strategy differ")
    for key in ("dram_read_bytes", "dram_write_bytes"):
        if shown[key] != sum(k[key] for k in kernels):
            complain(where, f"{key} of the kernels do not sum to the plan's")
    for r in p["refusals"]:
        at_home = [set(k["operators"]) - set(k["recomputed"]) for k in kernels]
        if r["rule"] != "cost" and any(r["a"] in operators and r["b"] in operators for operators in at_home):
            complain(where, f"{r['a']} and {r['b']} are said to be apart and are in one kernel")
    if not close(shown["time_s"], sum(k["time_s"] for k in kernels)):
        complain(where, "times of the kernels do not sum to the plan's")
    objective = {"time": shown["time_s"], "pareto": shown["time_s"], "bytes": shown["dram_read_bytes"] + shown["dram_write_bytes"],
                 "memory": shown["peak_memory_bytes"]}[p["objective"]]
    bound = plan["lower_bound_s" if p["objective"] in ("time", "pareto") else "lower_bound_bytes"]
    if plan["proven"] and (plan["gap"] != 0 or not close(objective, bound, 1e-12)):
        complain(where, f"proven, but gap {plan['gap']} and bound {bound} of {objective}")
    if not plan["proven"] and not close(1 - plan["gap"], min(1, bound / objective)):
        complain(where, f"gap {plan['gap']} is not that of {objective} over {bound}")
    if not close(plan["makespan_s"], max(k["end_s"] for k in kernels)) or plan["makespan_s"] > shown["time_s"] * (1 + 1e-12):
        complain(where, f"the timeline ends at {plan['makespan_s']}")
    for stream in {k["stream"] for k in kernels}:
        spans = [(k["start_s"], k["end_s"]) for k in kernels if k["stream"] == stream]
        if any(next[0] < end for (_, end), next in zip(spans, spans[1:])):
            complain(where, f"kernels of the {stream} stream overlap")
    optimal = by_name["optimal"]
    if plan["losses"] and not close(sum(d["time_s"] for d in plan["losses"]), shown["time_s"] - optimal["time_s"], 1e-6):
        complain(where, "what the plan loses against the optimum does not sum to it")
    ranked = p.get("alternatives", [])
    if [a["rank"] for a in ranked] != list(range(1, len(ranked) + 1)) or [a["time_s"] for a in ranked] != sorted(a["time_s"] for a in ranked):
        complain(where, "the alternatives are not in order")
    front = [(f["time_s"], f["peak_memory_bytes"]) for f in p.get("pareto", [])]
    if any(b[0] <= a[0] or b[1] >= a[1] for a, b in zip(front, front[1:])):
        complain(where, f"{front} is no front")
    if ("compile" in p) != where.startswith(("compile", "jobs")):
        complain(where, "compile is not there, or not asked for")
    compile = p.get("compile", {"strategies": [], "best": [], "crossovers": []})
    for c in compile["strategies"]:
        saving = by_name["eager"]["time_s"] - c["time_s"]
        if c["time_s"] != by_name[c["name"]]["time_s"] or c["kernels_to_compile"] > c["kernels"] or (c["compile_s"] > 0) != (c["kernels_to_compile"] > 0):
            complain(where, f"what {c['name']} compiles")
        if (c["break_even_runs"] is None) != (saving <= 0) or (saving > 0 and not close(c["break_even_runs"] * saving, c["compile_s"])):
            complain(where, f"{c['name']} breaks even after {c['break_even_runs']} runs")
    total = lambda c, runs: c["compile_s"] + runs * c["time_s"]
    for b in compile["best"]:
        if not close(b["total_s"], min(total(c, b["runs"]) for c in compile["strategies"])):
            complain(where, f"{b['strategy']} is not the best for {b['runs']} runs")
    for b in compile["crossovers"]:
        own = [total(c, b["from_runs"]) for c in compile["strategies"] if c["name"] == b["strategy"]]
        if not close(own[0], min(total(c, b["from_runs"]) for c in compile["strategies"])):
            complain(where, f"{b['strategy']} is not the best from {b['from_runs']} runs on")
    if ("training" in p) != where.startswith("train"):
        complain(where, "training is not there, or not asked for")
    if "training" in p:
        check_training(where, p, shown)
    home = []
    for number, k in enumerate(kernels, 1):
        here = f"{where}: kernel {k['id']}"
        if k["id"] != number:
            complain(here, f"has place {number}")
        if not close(sum(k["time"].values()), k["time_s"]):
            complain(here, f"shares sum to {sum(k['time'].values())}, time_s is {k['time_s']}")
        if sum(i["read_bytes"] for i in k["inputs"]) > k["dram_read_bytes"]:
            complain(here, "inputs read more than the kernel")
        if not set(k["recomputed"]) <= set(k["operators"]):
            complain(here, "recomputes what it does not compute")
        home += [o for o in k["operators"] if o not in k["recomputed"]]
    if len(home) != len(set(home)):
        complain(where, "a primitive is at home in two kernels")
    if plan["strategy"] == "unfused" and len(home) != p["workload"]["primitives"]:
        complain(where, "a primitive is in no kernel")

def check_partitions(where, lines):
    *partitions, end = lines
    if end.get("partitions") != len(partitions):
        complain(where, f"{len(partitions)} lines, and the last says {end}")
    seen = set()
    for number, p in enumerate(partitions, 1):
        here = f"{where}:{number}"
        if "groups" not in p or len(p["groups"]) != len(p["recomputed"]):
            complain(here, "groups and recomputed do not pair")
            continue
        home = []
        for group, clones in zip(p["groups"], p["recomputed"]):
            if not set(clones) <= set(group):
                complain(here, "recomputes what it does not compute")
            home += [o for o in group if o not in clones]
        if len(home) != len(set(home)):
            complain(here, "a primitive is at home in two groups")
        if where.startswith("pure") and any(p["recomputed"]):
            complain(here, "recomputes in spite of --recompute off")
        key = json.dumps(sorted(sorted(g) for g in p["groups"]))
        if key in seen:
            complain(here, "listed before")
        seen.add(key)

def check(path, schema, text, then):
    try:
        document = load(text)
    except ValueError as error:
        complain(path, error)
        return None
    for error in list(schema.iter_errors(document))[:3]:
        complain(path, f"{'/'.join(map(str, error.absolute_path))}: {error.message[:200]}")
        return None
    then(document)
    return document

def check_accuracy(where, d):
    kept = sum("excluded" not in r for r in d["rows"])
    for name in ("groups", "classes", "folders", "files", "overall", "by"):
        if sum(g["rows"] for g in d[name]) != kept or sum(g["excluded"] for g in d[name]) != len(d["rows"]) - kept:
            complain(where, f"{name} do not hold every row once")
    if any((g["mape"] is None) != (g["rows"] == 0) for g in d["classes"]):
        complain(where, "figures of no rows, or rows without figures")

plan, line, accuracy = validator("plan"), validator("enumerate"), validator("accuracy")
# Those that are always priced stand first in the list of all.
STRATEGIES = plan.schema["$defs"]["strategy"]["enum"][:plan.schema["$defs"]["prediction"]["properties"]["strategies"]["minItems"]]
plans, files = sorted(glob.glob("*.plan.json")), sorted(glob.glob("*.partitions.jsonl"))
for path in plans:
    with open(path) as file:
        def each(document):
            many = document["plans"]
            for p in many:
                check_prediction(f"{path}: {p['hardware']['name']}", p)
            if path.startswith("several") and [p["hardware"]["name"] for p in many] != ["a100-sxm4-40gb", "t4", "h100-sxm5-80gb"]:
                complain(path, "the GPUs are not those asked for, in that order")
        check(path, plan, file.read(), each)
for path in sorted(glob.glob("*.accuracy.json")):
    with open(path) as file:
        document = check(path, accuracy, file.read(), lambda d: check_accuracy(path, d))
    for change in ({"rows": [{}]}, {"gates": [{"gate": "x"}]}, {"overall": []}):
        if document and accuracy.is_valid({**document, **change}):
            complain("accuracy.schema.json", f"accepts {change}")
for path in files:
    with open(path) as file:
        lines = [check(f"{path}:{n}", line, text, lambda _: None) for n, text in enumerate(file, 1)]
    if lines and None not in lines:
        check_partitions(path, lines)
    else:
        complain(path, "not all lines are valid")
    if path.startswith("few") and lines[-1] != {"partitions": 3, "truncated": True}:
        complain(path, f"--limit 3 of 8 ends with {lines[-1]}")
for name in ("explain", "regions", "sweep", "diff", "diff_rows", "import", "calibrate", "hw", "ops", "workloads"):
    others = sorted(glob.glob(f"*.{name}.json"))
    schema = validator(name)
    for path in others:
        with open(path) as file:
            document = check(path, schema, file.read(), lambda d: None)
        if document is None or schema.is_valid([]) or schema.is_valid({}):
            complain(path, "not valid, or the schema takes anything")
    if not others:
        complain(name, "nothing was written")
# What the schema has to refuse.
with open(plans[0]) as file:
    good = load(file.read())
for change in ({"strategies": good["plans"][0]["strategies"][:6]}, {"objective": "speed"}, {"plan": {}}, {"refusals": [{}]}):
    if plan.is_valid({**good, "plans": [{**good["plans"][0], **change}]}):
        complain("plan.schema.json", f"accepts {change}")
for change in ({"schema": 1}, {"plans": []}, {"fusesim": None}, {"plan": good["plans"][0]["plan"]}):
    if plan.is_valid({**good, **change}):
        complain("plan.schema.json", f"accepts {change} at the top")
print(f"{len(plans)} plans, {len(files)} enumerations, {bad} complaints")
sys.exit(bad > 0 or not plans or not files)
EOF
exit $fail
