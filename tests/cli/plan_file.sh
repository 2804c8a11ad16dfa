#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# --plan: a plan that was written is read back to the same bits; what is illegal in one is said, all of it, with its place.
# depends: memory cost: 13
set -u
: "${FUSESIM:?}" "${SOURCE_DIR:?}"
python=${PYTHON:-python3}
export LC_ALL=C
unset COLUMNS FUSESIM_HWMODELS
toy=$SOURCE_DIR/tests/hw/toy.yaml
fail=0
complain() { echo "FAILED: $1"; fail=1; }

# refused PATTERN...: the plan on standard input for chain4 (a, m, r, y), or for $workload, is refused with these messages and no others.
refused() {
    cat >bad.json
    "$FUSESIM" "${workload:-$SOURCE_DIR/workloads/seeds/chain4.yaml}" --hw "$toy" --plan bad.json --json out.json >out 2>err
    [ $? = 65 ] || complain "exit status $?, wanted 65: $(cat bad.json)"
    [ ! -s out ] && [ ! -e out.json ] || complain "something was written: $(cat bad.json)"
    for pattern in "$@"; do grep -Eq -- "$pattern" err || complain "no '$pattern' about $(cat bad.json): $(cat err)"; done
    [ "$(grep -c 'error: ' err)" = $# ] || complain "$# messages wanted about $(cat bad.json): $(cat err)"
}

# What is written is read back, to the last bit, for every strategy.
for name in mlp seeds/two_consumers seeds/transpose_matmul_add_relu; do
    for strategy in eager unfused optimal greedy inductor pattern maximal xla; do
        "$FUSESIM" $name --hw a100-sxm4-40gb --strategy $strategy --json written.json >/dev/null 2>err || complain "$name $strategy: $(cat err)"
        "$FUSESIM" $name --hw a100-sxm4-40gb --plan written.json --json read.json >/dev/null 2>err || complain "$name $strategy: $(cat err)"
        "$python" - $strategy <<'END' || complain "$name $strategy: read back, it differs"
import json, sys
written, read = (json.load(open(name))["plans"][0] for name in ("written.json", "read.json"))
for kernel in written["plan"]["kernels"]:
    kernel.pop("rule", None) # a plan says which primitives, not who chose them
summary = {s["name"]: {**s, "name": ""} for s in written["strategies"] + read["strategies"]}
sys.exit(written["plan"]["kernels"] != read["plan"]["kernels"] or read["plan"]["strategy"] != "file" or summary[sys.argv[1]] != summary["file"])
END
    done
done

derived() {
    workload="$SOURCE_DIR/workloads/seeds/log_chain.yaml"
    printf '{"plan": {"derivation": %s, "kernels": [["s", "b", "y"], ["grad/b/1", "grad/b/2", "grad/x1"]]}}' "$1" >bad.json
    "$FUSESIM" "$workload" --hw "$toy" $2 --plan bad.json >out 2>err
    [ $? = 65 ] || complain "exit status $?, wanted 65: $1"
    grep -Eq -- "^bad.json:1:[0-9]+: error: $3" err || complain "no '$3' about $1: $(cat err)"
}
derived '{"forms": [1]}' '' 'this is a plan of a workload with gradients: say --train'
derived '{"forms": [1, 1]}' '--train' "'forms' is a list of 1 numbers"
derived '{"forms": [2]}' '--train' "wanted a form from 0 to 1 of the derivative of 'y'"
derived '{"forms": [1], "again": {"bb": "dropped"}}' '--train' "'log_chain' has no tensor 'bb'; did you mean 'b'"
derived '{"forms": [1], "again": {"b": "gone"}}' '--train' "'b' is held, passed, dropped, dropped_after or unread"
derived '{"forms": [1], "copies": {}}' '--train' "'copies' is a list, not a mapping"
derived '{"forms": [1], "copies": [{"event": 0, "operator": "y", "tensor": "b", "from": -1}]}' '--train' "'from' is a number from 0 to 255"
derived '{"forms": [1], "copies": [{"event": 0, "tensor": "b", "from": 1}]}' '--train' "a copy names its 'tensor', and with event 0 the 'operator'"
derived '{"forms": [1], "copies": [{"event": 0, "operator": "z", "tensor": "b", "from": 1}]}' '--train' "'log_chain' has no operator 'z'"
derived '{"forms": [1], "agian": {}}' '--train' "unknown key 'agian' in a derivation; did you mean 'again'"
derived '[1]' '--train' "'derivation' is a mapping, not a list"
unset workload

# Every form of a plan, from files and from standard input; a source operator's name stands for all its primitives.
"$FUSESIM" mlp --hw "$toy" --json mlp.json >/dev/null
"$FUSESIM" mlp --hw "$toy" --plan mlp.json >wanted
for form in 'json.dump({"kernels": [{"operators": k["operators"]} for k in p["plan"]["kernels"]]}, o)' \
    'json.dump({"groups": [k["operators"] for k in p["plan"]["kernels"]]}, o)' \
    'json.dump([k["operators"] for k in p["plan"]["kernels"]], o, indent="\t")' 'o.write("[[h, g], [y]]")'; do
    "$python" -c "import json; p = json.load(open('mlp.json'))['plans'][0]; o = open('form.json', 'w'); $form"
    "$FUSESIM" mlp --hw "$toy" --plan form.json >out 2>err && cmp -s out wanted || complain "another form: $form: $(cat err)"
    "$FUSESIM" mlp --hw "$toy" --plan - <form.json >out 2>err && cmp -s out wanted || complain "standard input: $form: $(cat err)"
done

# A file of several GPUs' plans: the one whose GPU --hw names is taken, and no other in its place. Schema 1 had an object for one GPU and a list for
# several: it is read as what it is.
echo '{"schema": 2, "plans": [{"hardware": {"name": "t4"}, "plan": {"kernels": [{"operators": ["a"]}, {"operators": ["m", "r", "y"]}]}},
  {"hardware": {"name": "l4"}, "plan": {"kernels": [{"operators": ["a", "m", "r", "y"]}]}}]}' >two.json
"$python" -c 'import json; json.dump(json.load(open("two.json"))["plans"], open("old_two.json", "w"))'
"$python" -c 'import json; json.dump({"schema": 1, **json.load(open("two.json"))["plans"][0]}, open("old_one.json", "w"))'
for gpu in t4 l4; do
    for file in two old_two; do
        "$FUSESIM" seeds/chain4 --hw $gpu --plan $file.json >out 2>err || complain "$file.json for $gpu: $(cat err)"
        [ "$(awk '$1 == "file" && $2 ~ /^[0-9]+$/ { print $2 }' out)" = $([ $gpu = t4 ] && echo 2 || echo 1) ] || complain "$file.json: $gpu has another GPU's plan"
    done
done
"$FUSESIM" seeds/chain4 --hw l4 --plan old_one.json >out 2>err && [ "$(awk '$1 == "file" && $2 ~ /^[0-9]+$/ { print $2 }' out)" = 2 ] || complain "schema 1, one plan: $(cat err)"
refused "holds 2 plans, for t4, l4: say --hw with one of these GPUs, to take its plan \(not 'toy'\)" <two.json
refused 'holds 2 plans, for t4, t4' <<<'[{"hardware": {"name": "t4"}, "plan": {}}, {"hardware": {"name": "t4"}, "plan": {}}]'
"$FUSESIM" seeds/chain4 --hw t4,l4 --plan two.json >out 2>err
[ $? = 65 ] && grep -q 'holds 2 plans, for t4, l4: say --hw with one of these GPUs, to take its plan$' err || complain "two GPUs and two plans: $(cat err)"

# Lines of enumerate, of a product too whose kernel stores what another kernel computes again.
cat >again.yaml <<'END'
tensors: {x: {shape: [100, 64], dtype: f32}, w: {shape: [64, 64], dtype: f32}}
operators:
  - {op: matmul, in: [x, w], out: h}
  - {op: neg, in: h, out: n}
  - {op: exp, in: n, out: y}
outputs: [n, y]
END
for name in seeds/chain4 again.yaml; do
    "$FUSESIM" enumerate $name --hw "$toy" >lines
    while IFS= read -r line; do
        case $line in *partitions*) continue ;; esac
        echo "$line" | "$FUSESIM" $name --hw "$toy" --plan - --json one.json >/dev/null || complain "a line of enumerate: $line"
        LINE=$line "$python" - <<'END' || complain "a line of enumerate is priced otherwise: $line"
import json, os, sys
line, plan = json.loads(os.environ["LINE"]), json.load(open("one.json"))["plans"][0]
file = next(s for s in plan["strategies"] if s["name"] == "file")
sys.exit(any(line[key] != file[key] for key in ("time_s", "dram_read_bytes", "dram_write_bytes")))
END
    done <lines
done
grep -Fq '["h", "n"], ["n", "y"]' lines || complain 'no plan computes n again'

# What it loses, and where.
echo '[[a], [m, r], [y]]' | "$FUSESIM" seeds/chain4 --hw "$toy" --plan - >out || complain 'a legal plan'
grep -q '^file against optimal' out && grep -q 'cuts a | m + r | y: costs .* and 256 MiB of DRAM traffic' out || complain "no word on what the plan loses: $(cat out)"

# Names and shapes of the file.
refused "bad.json:1:8: error: 'chain4' has no primitive or operator 'mm'; did you mean 'm'" <<<'[[a], [mm, m, r, y]]'
refused "bad.json:1:12: error: JSON syntax: did not find expected ',' or ']' while parsing a list" <<<'[["a", "m" "r"], ["y"]]'
refused 'bad.json:1:19: error: JSON syntax: did not find expected value$' <<<'{"groups": [["a"],,]}'
refused 'bad.json:2:1: error: JSON syntax: did not find .* while parsing an object' <<<'{"groups": [["a"]]'
refused 'bad.json:1:7: error: group 2 is empty' <<<'[[a], []]'
refused "bad.json:1:6: error: 'a' is twice in group 1" <<<'[[a, a, m, r, y]]'
refused 'a list where the name' <<<'[[[a], m, r, y]]'
refused "wanted 'plans', 'plan', 'kernels' or 'groups'" <<<'{"time_s": 3}'
refused "'plans' is a list of plans, not a mapping" <<<'{"schema": 2, "plans": {}}'
refused "holds no plan: 'plans' is empty" <<<'{"schema": 2, "plans": []}'
refused 'bad.json:1:12: error: this file has schema 3; this release reads schemas 1 and 2' <<<'{"schema": 3, "plans": []}'
refused "kernel 1 has no 'operators'" <<<'{"kernels": [{"id": 1}]}'
refused 'empty' </dev/null
refused 'syntax' <<<'{"kernels": ['
head -c 4096 /dev/urandom >noise
"$FUSESIM" mlp --hw "$toy" --plan noise >out 2>err
[ $? = 65 ] || complain 'noise: exit status'

# Groups. All that is wrong is said at once.
refused "bad.json: error: 'r' is in no group" <<<'[[a, m], [y]]'
refused "bad.json: error: 'a', 'm', 'r' are in no group" <<<'[[y]]'
refused "bad.json:1:2: error: group 1 \(a \+ r\) is no kernel: 'a' and 'r' share no tensor \(rule connected\)" \
    "groups wait for each other: group 1 \(a \+ r\) needs 'm', group 2 \(m\) needs 'a'" <<<'[[a, r], [m], [y]]'
workload=seeds/cycle
refused "bad.json:1:2: .*'A' with 'B' would create a cycle through C \(rule convexity\)" <<<'[[A, B], [C]]'
refused "'C' is in groups 2 and 3: sort is not computed twice" <<<'[[A], [C], [C], [B]]'
cat >two.yaml <<'END'
tensors: {x: {shape: [8, 16, 32, 32], dtype: f32}, v: {shape: [16, 16, 3, 3], dtype: f32}, w: {shape: [16, 16, 3, 3], dtype: f32}}
operators:
  - {op: conv2d, in: [x, v], out: h, padding: 1}
  - {op: conv2d, in: [h, w], out: y, padding: 1}
END
workload=two.yaml
refused 'two contractions.*\(rule contractions\)' <<<'[[h, y]]'
workload=mlp
refused "'g/cube'.*'g' are in no group" 'group 1 .*share no tensor' <<<'[[h, y]]'
workload=seeds/normalize_by_total
refused 'needs a barrier across the grid: [0-9]+ .*one block holds [0-9]+' <<<'[[total, y]]'
cat >joint.yaml <<'END'
tensors: {x: {shape: [1024], dtype: f32}, z: {shape: [1024], dtype: f32}}
operators:
  - {op: exp, in: x, out: a}
  - {op: exp, in: z, out: b}
  - {op: add, in: [b, x], out: c}
  - {op: add, in: [a, z], out: d}
END
workload=joint.yaml
refused "groups wait for each other: group 1 \(a \+ c\) needs 'b', group 2 \(b \+ d\) needs 'a' \(rule cycle\)" <<<'[[a, c], [b, d]]'
workload=seeds/two_consumers
"$FUSESIM" $workload --hw "$toy" --plan - <<<'[[t, y], [t, z]]' >out 2>err || complain "a plan that recomputes: $(cat err)"
echo '[[t, y], [t, z]]' >bad.json
"$FUSESIM" $workload --hw "$toy" --plan bad.json --recompute off >out 2>err
[ $? = 65 ] && grep -q "'t' is in groups 1 and 2, and --recompute is off" err || complain "recomputed in spite of --recompute off: $(cat err)"
exit $fail
