#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# --chart writes a whole SVG, PNG or PDF, or no file and an exit status.
# depends: once cost: 2
set -u
: "${FUSESIM:?}" "${SOURCE_DIR:?}"
unset FUSESIM_GNUPLOT
command -v gnuplot >/dev/null || { echo "needs gnuplot"; exit 77; }
gnuplot -e 'set terminal pngcairo; set terminal pdfcairo' 2>/dev/null || { echo "gnuplot has no cairo terminals"; exit 77; }

fail=0
complain() { echo "$1"; fail=1; }
workload=$SOURCE_DIR/workloads/bert_layer.yaml
chart() { "$FUSESIM" "$workload" --search-steps 600000 --chart "$@" >out 2>err; }
# starts FILE TEXT
starts() { [ "$(head -c ${#2} "$1" | tr -d '\0')" = "$2" ] || complain "$1 does not start with '$2'"; }
no_leftovers() { [ -z "$(find . -name "$1*")" ] || complain "left behind: $(find . -name "$1*")"; }

for hw in a100-sxm4-40gb a100-sxm4-40gb,t4,h100-sxm5-80gb; do
    for kind in svg png pdf; do
        chart plot.$kind --hw $hw || { complain "--chart plot.$kind failed: $(cat err)"; continue; }
        [ -s out ] || complain "no report beside the chart"
        [ -s err ] && complain "a chart that works said: $(cat err)"
    done
    starts plot.svg '<?xml'
    grep -q '<svg' plot.svg && tail -c 20 plot.svg | grep -q '</svg>' || complain "plot.svg is not a whole SVG"
    grep -q 'bert_layer' plot.svg || complain "plot.svg does not name the workload"
    for word in eager unfused optimal greedy inductor pattern maximal FP32 DRAM; do
        grep -q ">[^<]*$word" plot.svg || complain "plot.svg does not say $word"
    done
    [ "$(head -c 8 plot.png | od -An -tx1 | tr -d ' \n')" = 89504e470d0a1a0a ] || complain "plot.png is no PNG"
    [ "$(dd if=plot.png bs=1 skip=16 count=8 2>/dev/null | od -An -tx1 | tr -d ' \n')" = 000004b000000258 ] || complain "plot.png is not 1200 x 600"
    starts plot.pdf '%PDF-'
    rm -f plot.*
done

# A roof is named also where points or a short line leave little room.
"$FUSESIM" llama_block --hw t4 --set dtype=bf16 --chart roof.svg >out 2>err || complain "a chart of llama_block: $(cat err)"
for word in 'f16 46 TFLOP/s' 'FP32 7 TFLOP/s'; do grep -q "$word" roof.svg || complain "roof.svg does not say $word"; done

# Also where a roof is shorter than its name.
printf '%s\n' 'tensors: {a: {shape: [8192, 16], dtype: f32}, b: {shape: [16, 8192], dtype: f32}, x: {shape: [100000000], dtype: f32}}' \
    'operators: [{op: matmul, in: [a, b], out: y, compute: tf32}, {op: neg, in: x, out: z}]' 'outputs: [y, z]' >short.yaml
"$FUSESIM" short.yaml --hw h100-sxm5-80gb --chart short.svg >out 2>err || complain "a chart of a short roof: $(cat err)"
grep -q 'tf32 398 TFLOP/s' short.svg || complain 'short.svg does not name the tf32 roof'

# The front of time against memory in the roofline's place.
for kind in svg png pdf; do chart front.$kind --hw a100-sxm4-40gb,t4 --objective pareto || complain "--objective pareto --chart front.$kind: $(cat err)"; done
for word in eager optimal 'peak memory (.iB)' 'time (.s)' 'lines: eight of ten (hollow'; do grep -q ">[^<]*$word" front.svg || complain "front.svg does not say $word"; done

# Memory over time in the roofline's place, where there are gradients.
printf '%s\n' 'tensors: {x: {shape: [1024, 1024], dtype: f32}, w: {shape: [1024, 1024], dtype: f32, role: weight}}' \
    'operators: [{op: matmul, in: [x, w], out: y}, {op: tanh, in: y, out: z}]' >step.yaml
for hw in t4 t4,a100-sxm4-40gb; do
    for kind in svg png pdf; do "$FUSESIM" step.yaml --train --hw $hw --chart memory.$kind >out 2>err || complain "--train --chart memory.$kind: $(cat err)"; done
    for word in 'Memory over time: optimal' 'memory in use (MiB)' 'peak .* in kernel'; do grep -q ">[^<]*$word" memory.svg || complain "memory.svg does not say $word"; done
done

# The time of each layer below, where the workload says its layers.
for hw in t4 t4,a100-sxm4-40gb; do
    for kind in svg png pdf; do "$FUSESIM" models/tiny_transformer.pt2 --dim s23=8 --dim s27=64 --hw $hw --chart layers.$kind >out 2>err || complain "a chart of layers.$kind: $(cat err)"; done
    for word in 'Time by layer: ' 'layer\.0 x 2' 'time (.s)'; do grep -q ">[^<]*$word" layers.svg || complain "layers.svg does not say $word"; done
    [ "$(dd if=layers.png bs=1 skip=16 count=8 2>/dev/null | od -An -tx1 | tr -d ' \n')" = 000004b0000003b6 ] || complain "layers.png is not 1200 x 950"
done

# Sweeps: lines with bands and rings where the plan changes, as many as points say; a map of two axes with their edges.
sweep() { "$FUSESIM" sweep "$@" >out 2>err; }
for kind in svg png pdf; do
    sweep bert_layer --hw l4,t4 --over S=64:512:64 --over launch=graph,eager --chart lines.$kind --json lines.json || complain "a chart of a sweep: $(cat err)"
    sweep bert_layer --hw l4 --over S=64:640:64 --over B=1:9 --chart map.$kind --json map.json || complain "a map of a sweep: $(cat err)"
done
for word in 'launch=graph, l4' 'launch=eager, t4' 'rings: another plan' 'time (.s)' S; do grep -q ">[^<]*$word" lines.svg || complain "lines.svg does not say $word"; done
for word in 'where the best plan changes' B S 640 9; do grep -q ">[^<]*$word" map.svg || complain "map.svg does not say $word"; done
printf '#!/bin/sh\ncat >script\nexec gnuplot <script\n' >keep
chmod +x keep
FUSESIM_GNUPLOT=./keep sweep bert_layer --hw l4,t4 --over S=64:512:64 --over launch=graph,eager --chart lines.svg && mv script lines.script
FUSESIM_GNUPLOT=./keep sweep bert_layer --hw l4 --over S=64:640:64 --over B=1:9 --chart map.svg && mv script map.script
"${PYTHON:-python3}" - <<'END' || complain 'the data of charts of sweeps'
import json, re
d = json.load(open("lines.json"))
lines = re.findall(r"\$line\d+ << EOD\n(.*?)EOD", open("lines.script").read(), re.S)
assert len(lines) == 4
for n, line in enumerate(lines):
    own = [p for i, p in enumerate(d["points"]) if i % 4 == n]
    rows = [r.split() for r in line.splitlines()]
    assert len(rows) == len(own) == 8
    for i, (r, p) in enumerate(zip(rows, own)):
        x, t, low, high = map(float, r[:4])
        assert x == float(p["at"]["S"]) and abs(low / t - p["time_low_s"] / p["time_s"]) < 1e-6 and abs(high / t - p["time_high_s"] / p["time_s"]) < 1e-6
        assert (r[4] != "NaN") == (i > 0 and p["plan"] != own[i - 1]["plan"]), (n, i)
script = open("map.script").read()
edges = {tuple(r.split()) for r in re.search(r"\$edges << EOD\n(.*?)EOD", script, re.S)[1].splitlines()} - {("-9", "-9", "0", "0")}
plan = {(i // 9, i % 9): p["plan"] for i, p in enumerate(json.load(open("map.json"))["points"])}
wanted = {(f"{i + .5}", f"{k - .5}", "0", "1") for (i, k), p in plan.items() if plan.get((i + 1, k), p) != p}
wanted |= {(f"{i - .5}", f"{k + .5}", "1", "0") for (i, k), p in plan.items() if plan.get((i, k + 1), p) != p}
assert edges == wanted and len(edges) > 3, (edges, wanted)
END
none() { sweep "$@" --chart none.svg; [ $? = 69 ] && [ ! -e none.svg ] || complain "sweep $*: a chart, or another status"; }
none mlp --hw t4 --over launch=graph,eager && grep -q 'no axis of numbers' err || complain "no numbers: $(cat err)"
none mlp --hw t4,l4 --over M=1:9 --over H=512:1024:64 && grep -q 'a map has two axes, and here vary 3' err || complain "three axes: $(cat err)"

# Names that mean something to gnuplot or the shell are only names.
cat >odd.yaml <<'EOF'
name: "it's a `touch owned` @x {/Bold b}_c % \\ $HOME"
tensors: {x: {shape: [1024, 1024], dtype: f16, role: input}}
operators:
  - {op: relu, in: x, out: y}
  - {op: exp, in: y, out: z}
outputs: [z]
EOF
"$FUSESIM" odd.yaml --hw t4 --chart odd.svg >out 2>err || complain "a name with quotes broke the chart: $(cat err)"
[ -e owned ] && complain "a name was run as a command"
grep -q '{/Bold b}_c' odd.svg || complain "a name was taken for markup"

# The same input, the same file.
workload=$SOURCE_DIR/workloads/seeds/softmax_primitive.yaml
chart one.svg --hw t4 && chart two.svg --hw t4 && cmp one.svg two.svg || complain "two runs draw different charts"

# A gnuplot that fails, is missing, or draws nothing leaves no file and an old one alone.
printf '#!/bin/sh\nprintf "%%s\\n" "partial"\necho "line 3: no such terminal" >&2\nexit 3\n' >broken
printf '#!/bin/sh\ncat >/dev/null\n' >silent
printf '#!/bin/sh\nkill -9 $$\n' >killed
chmod +x broken silent killed
echo old >kept.svg
for program in ./broken ./silent ./killed ./missing false; do
    FUSESIM_GNUPLOT=$program chart failed.svg --hw t4 && complain "$program: exit 0"
    [ -s err ] || complain "$program: no message"
    no_leftovers failed
    FUSESIM_GNUPLOT=$program chart kept.svg --hw t4 && complain "$program: exit 0"
    [ "$(cat kept.svg)" = old ] || complain "$program: the old file is gone"
done
FUSESIM_GNUPLOT=./broken chart failed.svg --hw t4
grep -q 'no such terminal' err || complain "what gnuplot said is not passed on: $(cat err)"
FUSESIM_GNUPLOT=./missing chart failed.svg --hw t4
grep -q 'gnuplot-nox' err || complain "the package is not named: $(cat err)"
[ "$(find . -name 'kept*' | wc -l)" = 1 ] || complain "left behind: $(find . -name 'kept*')"

# Other endings, and a folder that is not there.
chart plot.gif --hw t4 && complain "a .gif was accepted"
grep -q '\.svg' err || complain "the endings that go are not named: $(cat err)"
chart nowhere/plot.svg --hw t4 && complain "a folder that is not there was accepted"
no_leftovers plot
exit $fail
