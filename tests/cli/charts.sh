#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# --chart writes a whole SVG, PNG or PDF, or no file and an exit status.
# depends: once cost: 7
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
        [ $kind = svg ] || [ $hw = a100-sxm4-40gb ] || continue
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
    [ $hw = a100-sxm4-40gb ] || { rm -f plot.*; continue; }
    [ "$(head -c 8 plot.png | od -An -tx1 | tr -d ' \n')" = 89504e470d0a1a0a ] || complain "plot.png is no PNG"
    [ "$(dd if=plot.png bs=1 skip=16 count=4 2>/dev/null | od -An -tx1 | tr -d ' \n')" = 00000960 ] || complain "plot.png is not 2400 pixels wide, twice the chart's"
    starts plot.pdf '%PDF-'
    rm -f plot.*
done

# A roof is named also where points or a short line leave little room.
"$FUSESIM" llama_block --hw t4 --set dtype=bf16 --chart-kind roofline --chart roof.svg >out 2>err || complain "a chart of llama_block: $(cat err)"
for word in 'f16 46 TFLOP/s' 'FP32 7 TFLOP/s'; do grep -q "$word" roof.svg || complain "roof.svg does not say $word"; done

# Also where a roof is shorter than its name.
printf '%s\n' 'tensors: {a: {shape: [8192, 16], dtype: f32}, b: {shape: [16, 8192], dtype: f32}, x: {shape: [100000000], dtype: f32}}' \
    'operators: [{op: matmul, in: [a, b], out: y, compute: tf32}, {op: neg, in: x, out: z}]' 'outputs: [y, z]' >short.yaml
"$FUSESIM" short.yaml --hw h100-sxm5-80gb --chart short.svg >out 2>err || complain "a chart of a short roof: $(cat err)"
grep -q 'tf32 398 TFLOP/s' short.svg || complain 'short.svg does not name the tf32 roof'

# The front of time against memory in the roofline's place.
chart front.svg --hw a100-sxm4-40gb,t4 --objective pareto || complain "--objective pareto --chart: $(cat err)"
for word in eager optimal 'plan 1' 'peak memory' time 'hollow: strategies'; do grep -q ">[^<]*$word" front.svg || complain "front.svg does not say $word"; done

# Memory over time in the roofline's place, where there are gradients.
printf '%s\n' 'tensors: {x: {shape: [1024, 1024], dtype: f32}, w: {shape: [1024, 1024], dtype: f32, role: weight}}' \
    'operators: [{op: matmul, in: [x, w], out: y}, {op: tanh, in: y, out: z}]' >step.yaml
for hw in t4 t4,a100-sxm4-40gb; do
    "$FUSESIM" step.yaml --train --hw $hw --chart memory.svg >out 2>err || complain "--train --chart: $(cat err)"
    for word in 'Memory over time: optimal' 'memory in use' 'peak .* in kernel'; do grep -q ">[^<]*$word" memory.svg || complain "memory.svg does not say $word"; done
done

# The time of each layer below, where the workload says its layers.
for hw in t4 t4,a100-sxm4-40gb; do
    "$FUSESIM" models/tiny_transformer.pt2 --dim s23=8 --dim s27=64 --hw $hw --chart layers.svg >out 2>err || complain "a chart of layers: $(cat err)"
    for word in 'Time by layer: ' 'layer\.0 x 2' 'time'; do grep -q ">[^<]*$word" layers.svg || complain "layers.svg does not say $word"; done
done

# Sweeps: lines with bands and rings where the plan changes, as many as points say; a map of two axes with their edges.
sweep() { "$FUSESIM" sweep "$@" >out 2>err; }
sweep bert_layer --hw l4,t4 --over S=64:512:64 --over launch=graph,eager --chart lines.svg --json lines.json --chart-data lines.csv || complain "a chart of a sweep: $(cat err)"
printf '#!/bin/sh\ncat >script\nexec gnuplot <script\n' >keep
chmod +x keep
gpus=$(sed -n 's/^FSIM_MARK("\([^"]*\)".*/\1/p' "$SOURCE_DIR/src/report/marks.def" | head -26 | paste -sd,)
FUSESIM_GNUPLOT=./keep sweep mlp --hw "$gpus" --over M=64,4096,8192 --chart map.svg --json map.json --chart-data map.csv || complain "a map of a sweep: $(cat err)"
for word in 'launch=graph, l4' 'launch=eager, t4' 'rings: another plan' time S; do grep -q ">[^<]*$word" lines.svg || complain "lines.svg does not say $word"; done
for word in 'where the best plan changes' M GPU 8192 h100-sxm5-80gb; do grep -q ">[^<]*$word" map.svg || complain "map.svg does not say $word"; done
"${PYTHON:-python3}" - <<'END' || complain 'the data of charts of sweeps'
import csv, json
for name in "lines", "map":
    points, rows = json.load(open(name + ".json"))["points"], list(csv.DictReader(open(name + ".csv")))
    assert len(points) == len(rows) > 30, name
    for r, p in zip(rows, points):
        assert r["chart"] == "sweep" and r["gpu"] == p["hardware"] and r["group"] == f"plan {p['plan']}" and r["x_unit"] in ("S", "M"), r
        assert r["name"] == ", ".join(f"{k}={v}" for k, v in p["at"].items()) and float(r["x"]) == float(p["at"][r["x_unit"]]), r
        for column, key in ("y", "time_s"), ("low", "time_low_s"), ("high", "time_high_s"):
            assert abs(float(r[column]) / p[key] - 1) < 1e-6, (r, p)
plan = [p["plan"] for p in json.load(open("map.json"))["points"]]
edges = sum(plan[i * 26 + k] != plan[i * 26 + k + 1] for i in range(3) for k in range(25)) + sum(plan[i * 26 + k] != plan[i * 26 + 26 + k] for i in range(2) for k in range(26))
assert edges > 3 and edges == sum(line.split()[4:] == [str(0xd55e00)] for line in open("script")), edges
END

# What a picture is made of: no two lines or strategies have the same mark, eager's and unfused's greys differ in lightness and symbol, and letters stand out from the cell below them.
FUSESIM_GNUPLOT=./keep sweep mlp --hw l4,t4,a10 --over M=64,4096,8192 --over H=256:2048:x2 --chart keys.svg && mv script keys.gp || complain "lines of equal colours: $(cat err)"
for theme in light dark print; do
    FUSESIM_GNUPLOT=./keep "$FUSESIM" mlp --hw t4,l4 --theme $theme --chart-kind speedup --chart two.svg >out 2>err && mv script two.$theme.gp || complain "a chart of two: $(cat err)"
    FUSESIM_GNUPLOT=./keep sweep mlp --hw "$gpus" --over M=64,4096,8192 --theme $theme --chart map.svg && mv script map.$theme.gp || complain "a map in $theme: $(cat err)"
done
"${PYTHON:-python3}" - <<'END' || complain 'marks and letters'
import re
def keys(name):
    "Symbol and colour of each mark of a legend, which are of one size."
    text, found = open(name).read(), []
    symbol = dict(re.findall(r"\$b(\d+) using 1:2:3:4 with points pt (\d+)", text))
    for block, rows in re.findall(r"\$b(\d+) << EOD\n(.*?)EOD", text, re.S):
        found += [(symbol[block], r.split()[3]) for r in rows.splitlines() if block in symbol and 1.2 <= float(r.split()[2]) <= 1.203]
    return found
def light(rgb):
    part = [(c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4) for c in (rgb >> s & 255 for s in (16, 8, 0)) for c in (c / 255,)]
    return 0.2126 * part[0] + 0.7152 * part[1] + 0.0722 * part[2]
def contrast(a, b):
    a, b = sorted((light(a), light(b)))
    return (b + 0.05) / (a + 0.05)
lines = keys("keys.gp")
assert len(lines) == len(set(lines)) == 9, lines
for theme in "light", "dark", "print":
    marks, text = keys(f"two.{theme}.gp"), open(f"map.{theme}.gp").read()
    assert len(marks) == len(set(marks)) == 7 and len({m[0] for m in marks}) >= 6, marks
    assert marks[0][0] != marks[1][0] and contrast(int(marks[0][1]), int(marks[1][1])) > 2, marks[:2]
    page = int(re.search(r"background rgb '#(\w+)'", text)[1], 16)
    cells = [[float(x) for x in row.split()] for row in re.findall(r"^[\d.]+(?: [\d.]+){5} \d+$", text, re.M)]
    told = [(float(x), float(y), int(ink, 16)) for x, y, ink in re.findall(r" at first ([\d.]+),([\d.]+) center .* tc rgb '#(\w+)'", text)]
    seen = 0
    for x, y, ink in told:
        for c in cells:
            if c[2] < x < c[3] and min(c[4:6]) < y < max(c[4:6]):
                own, through = int(c[6]) & 0xffffff, (int(c[6]) >> 24) / 255
                below = sum(round((own >> s & 255) * (1 - through) + (page >> s & 255) * through) << s for s in (16, 8, 0))
                assert contrast(ink, below) > 3.5, (theme, hex(ink), hex(below))
                seen += 1
    assert seen == 78, seen
END

# An SVG says what it shows to who does not see it, and has a text for each mark; nothing of gnuplot's own.
chart words.svg --hw t4
"${PYTHON:-python3}" - <<'END' || complain 'titles and texts of an SVG'
import re, xml.etree.ElementTree as tree
root = tree.parse("words.svg").getroot()
at = "{http://www.w3.org/2000/svg}"
assert root.find(at + "title").text.startswith("bert_layer on NVIDIA T4") and "as fast as eager" in root.find(at + "desc").text
assert root.get("role") == "img" and root.get("aria-labelledby").split() == [root.find(at + "title").get("id"), root.find(at + "desc").get("id")]
tips = [t.text for t in root.iter(at + "title")][1:]
assert len(tips) > 30 and not [t for t in tips if not t or "gnuplot" in t.lower() or "$" in t], tips
assert any(re.match(r"optimal on t4: \d+\.\d\dx as fast as eager \(.*\), .* in \d+ kernels", t) for t in tips)
for box in root.findall(f"{at}g[@id='tips']/{at}rect"):
    x, y, w, h = (float(box.get(k)) for k in ("x", "y", "width", "height"))
    assert 0 <= x and x + w <= 1200.5 and 0 <= y and y + h <= float(root.get("height")) + 1, box.attrib
END

# --chart-data has the figures of the plan, without gnuplot too; --chart-kind chooses, --theme and --chart-size change the drawing alone.
FUSESIM_GNUPLOT=./missing "$FUSESIM" "$workload" --search-steps 600000 --hw t4,l4 --chart-kind speedup,kernels,memory,traffic,roofline --chart-data all.csv --json all.json >out 2>err || complain "--chart-data: $(cat err)"
"${PYTHON:-python3}" - <<'END' || complain '--chart-data'
import csv, json
rows, plans = list(csv.DictReader(open("all.csv"))), json.load(open("all.json"))["plans"]
assert {r["chart"] for r in rows} == {"speedup", "kernels", "memory", "traffic", "roofline"}
for p in plans:
    own = [r for r in rows if r["gpu"] == p["hardware"]["name"]]
    best = next(s for s in p["strategies"] if s["name"] == "optimal")
    (r,) = [r for r in own if r["chart"] == "speedup" and r["strategy"] == "optimal"]
    assert abs(float(r["x"]) / best["time_s"] - 1) < 1e-6 and float(r["low"]) <= float(r["y"]) <= float(r["high"]), r
    times = [float(r["y"]) for r in own if r["chart"] == "kernels"]
    assert len(times) == best["kernels"] and abs(sum(times) / best["time_s"] - 1) < 1e-6
    bytes = {r["name"]: float(r["y"]) for r in own if r["chart"] == "traffic"}
    assert bytes["DRAM read"] == best["dram_read_bytes"] and bytes["DRAM written"] == best["dram_write_bytes"], (bytes, best)
END
for theme in light dark print; do chart $theme.svg --hw t4 --theme $theme --chart-size 1000 --chart-data $theme.csv || complain "--theme $theme: $(cat err)"; done
cmp -s light.csv dark.csv && cmp -s light.csv print.csv || complain 'a theme changes figures'
cmp -s light.svg dark.svg && complain 'themes look the same'
grep -q 'width="1000"' dark.svg || complain '--chart-size 1000 is not as wide'
[ "$(sed -n 's/^FSIM_MARK("\([^"]*\)".*/\1/p' "$SOURCE_DIR/src/report/marks.def" | sort)" = "$(cd "$SOURCE_DIR/hwmodels" && ls *.yaml | sed 's/\.yaml$//' | sort)" ] || complain 'marks.def lacks a GPU, or has one more'
[ -z "$(sed -n 's/^FSIM_MARK("[^"]*", *//p' "$SOURCE_DIR/src/report/marks.def" | sort | uniq -d)" ] || complain 'two GPUs have one mark'
refused() { chart no.svg --hw t4 "${@:2}"; [ $? = 2 ] && grep -q "$1" err || complain "${*:2}: $(cat err)"; }
refused "did you mean 'roofline'" --chart-kind rofline
refused 'is no size in pixels' --chart-size 10x10
"$FUSESIM" "$workload" --hw t4 --theme dark >out 2>err && complain '--theme without a chart'
chart low.svg --hw t4 --chart-size 800x300 && complain 'a chart that nobody can read'
grep -q 'is too low for these charts' err || complain "a low chart: $(cat err)"
"$FUSESIM" mlp --hw t4 --chart-kind layers --chart none.svg >out 2>err
[ $? = 69 ] && [ ! -e none.svg ] && grep -q "there are no layers: no two operators of 'mlp'" err || complain "layers of a workload without: $(cat err)"

none() { sweep "$@" --chart none.svg; [ $? = 69 ] && [ ! -e none.svg ] || complain "sweep $*: a chart, or another status"; }
none mlp --hw t4 --over launch=graph,eager && grep -q 'no axis of numbers' err || complain "no numbers: $(cat err)"
none mlp --hw t4,l4 --over M=1:14 --over H=512:1280:64 && grep -q 'a map has two axes, and here vary 3' err || complain "three axes: $(cat err)"

# Names that mean something to gnuplot or the shell are only names.
cat >odd.yaml <<'EOF'
name: "it's a `touch owned` @x {/Bold b}_c % \\ $HOME <script>alert(1)</script> ]]> & \"q\""
tensors: {x: {shape: [1024, 1024], dtype: f16, role: input}}
operators:
  - {op: relu, in: x, out: y}
  - {op: exp, in: y, out: z}
outputs: [z]
EOF
"$FUSESIM" odd.yaml --hw t4 --chart odd.svg >out 2>err || complain "a name with quotes broke the chart: $(cat err)"
[ -e owned ] && complain "a name was run as a command"
grep -q '{/Bold b}_c' odd.svg || complain "a name was taken for markup"
"${PYTHON:-python3}" -c 'import xml.etree.ElementTree as t; root = t.parse("odd.svg").getroot(); assert not [e for e in root.iter() if e.tag.endswith("script")] and "</script> ]]> & \"q\"" in root[0].text' || complain 'a name breaks the SVG'

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
