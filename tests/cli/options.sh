#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every option of the command line once, in both spellings; colours, widths, files, and the same bytes twice.
# depends: memory cost: 12
. "${SOURCE_DIR:?}/tests/options.sh"

# The default command, and where options may stand.
ok "$chain" --hw "$toy"
cp out wanted
ok plan "$chain" --hw "$toy"
cmp -s out wanted || complain 'plan is not the default command'
ok --hw="$toy" "$chain"
cmp -s out wanted || complain '--hw=FILE in front'
ok plan --hw "$toy" -- "$chain"
cmp -s out wanted || complain '-- ends the options'
ok --help
has '^usage: fusesim'
for command in plan enumerate explain regions sweep merge diff validate import calibrate codegen hw workloads ops; do "$FUSESIM" $command --help; done >helps || complain 'help of commands'
for option in hw set hw-set strategy plan objective memory-limit search-memory search-steps top compile-cost compile-jobs launch l2 numerics recompute time-limit limit scale-shapes measurements workload-root match by gate no-exclude target jobs dump json markdown trace \
    dot junit chart quiet verbose color help version; do
    grep -Eq "^  --$option " helps || complain "no --$option in the help of any command"
done
[ "$(awk 'length > n { n = length } END { print n }' out)" -le 80 ] || complain '--help is wider than 80'
ok -h
has '^usage: fusesim'
ok --version
has '^fusesim [0-9]+\.[0-9]+\.[0-9]+$'

# Names of shipped workloads, from anywhere; a workload of the current folder comes first.
ok mlp --hw "$toy" --json -
has '"name":\s*"mlp"'
ok seeds/chain4 --hw "$toy" --json -
has '"name":\s*"chain4"'
mkdir -p workloads
sed 's/^name: .*/name: mine/' "$mlp" >workloads/mlp.yaml
ok mlp --hw "$toy" --json -
has '"name":\s*"mine"'
has '"path":\s*"workloads/mlp.yaml"'
rm -r workloads

# What the model is asked.
for form in ' ' =; do
    with() { # OPTION VALUE ARGUMENT...
        local option=$1 value=$2
        shift 2
        if [ "$form" = = ]; then ok "$@" "$option=$value"; else ok "$@" "$option" "$value"; fi
    }
    for launch in eager stream graph kernel; do
        with --launch $launch "$chain" --hw "$toy" --json -
        has "\"launch\":\s*\"$launch\""
    done
    for l2 in cold warm; do
        with --l2 $l2 "$chain" --hw "$toy" --json -
        has "\"l2\":\s*\"$l2\""
    done
    for objective in time bytes memory pareto; do
        with --objective $objective "$chain" --hw "$toy" --json -
        has "\"objective\":\s*\"$objective\""
    done
    for strategy in eager unfused optimal greedy inductor pattern maximal; do
        with --strategy $strategy "$chain" --hw "$toy" --json -
        has "\"strategy\":\s*\"$strategy\""
    done
    for value in fast strict; do
        with --numerics $value "$chain" --hw "$toy"
    done
    with --recompute on "$SOURCE_DIR/workloads/seeds/two_consumers.yaml" --hw "$toy"
    with --recompute off enumerate "$SOURCE_DIR/workloads/seeds/two_consumers.yaml" --hw "$toy"
    hasnt '"recomputed": \[[^]]*\["'
    with --search-steps 1500000 "$chain" --hw "$toy"
    with --jobs 2 "$chain" --hw "$toy"
    with --set M=1024 "$chain" --hw "$toy" --set N=8 --json -
    has '"M":\s*1024'
    has '"N":\s*8'
    with --set dtype=f16 "$chain" --hw "$toy" --json -
    has '"dtype":\s*"f16"'
    with --hw-set dram_bandwidth=2x hw show "$toy"
    has 'dram_bandwidth +2 GB/s'
    with --color always "$chain" --hw "$toy"
    with --color never "$chain" --hw "$toy"
    with --dump graph,time "$chain" --hw "$toy"
    has '^primitives'
    with --limit 3 enumerate "$chain" --hw "$toy"
    [ "$(wc -l <out)" = 4 ] || complain '--limit 3 does not list three'
    has '"partitions": 3, "truncated": true'
done
# --quiet: a line for each GPU, or the line that says what the command found; lists stay whole.
one_line "^chain4 on toy: optimal [0-9.]+ [mu]s [+]-[0-9]+%, 1 kernel, [0-9.]+x eager, proven$" "$chain" --hw "$toy"
one_line "^'a' and 'y' may share a kernel" explain "$chain" --hw "$toy" a y
one_line "^mlp on toy: [0-9]+ best plans? along M" regions mlp --hw "$toy" --over M=64:128
one_line '^2 hardware files: ok$' hw check "$SOURCE_DIR/hwmodels/t4.yaml" "$SOURCE_DIR/hwmodels/l4.yaml"
one_line ' kernel.* of optimal for .*, as CUDA in quiet$' codegen "$chain" --hw t4 -o quiet
ok "$chain" --hw t4,l4 --quiet
[ "$(wc -l <out)" = 2 ] || complain "--quiet with two GPUs: $(cat out)"
ok hw list --quiet
[ "$(wc -l <out)" -gt 10 ] || complain '--quiet hides a list'
ok "$chain" --hw "$toy" --verbose
[ "$(wc -l <out)" -ge "$(wc -l <wanted)" ] || complain '--verbose says less'

# The best plans, the front, a limit.
two=$SOURCE_DIR/workloads/seeds/two_consumers.yaml
ok "$two" --hw t4 --top 4
has '^the best 4 plans'
has 'cuts t \+ z \| y'
ok "$two" --hw t4 --top 100 --json -
is 'len(p["alternatives"]), p["alternatives"][0]["kernels"] == [k["operators"] for k in p["plan"]["kernels"]]' '8 True'
is 'len({str(sorted(map(sorted, a["kernels"]))) for a in p["alternatives"]})' 8
ok "$two" --hw t4 --top 2 --markdown -
has '^The best plans:'
# What compilation costs: only where it was asked for, in every form, at any width, sooner with more processes.
ok "$chain" --hw t4
hasnt 'fast compile or fast run'
ok "$chain" --hw t4 --json -
is '"compile" in p' False
ok "$chain" --hw t4 --compile-cost --json -
is '[(s["kernels_to_compile"], s["break_even_runs"]) for s in p["compile"]["strategies"] if s["name"] == "eager"]' '[(0, None)]'
is '[b["strategy"] for b in p["compile"]["best"]][::3], p["compile"]["crossovers"][0]' "['eager', 'optimal'] {'strategy': 'eager', 'from_runs': 1}"
ok "$chain" --hw t4 --compile-cost --markdown -
has '^Fast compile or fast run:'
ok "$chain" --hw t4,l4 --compile-cost
has '^fast compile or fast run, on l4'
ok "$two" --hw t4 --objective pareto
has '^time against memory'
ok "$two" --hw t4 --objective pareto --json -
is 'p["pareto"][0]["time_s"] == p["strategies"][2]["time_s"], "alternatives" in p' 'True False'
ok "$two" --hw t4 --objective memory
has 'needs 192 MiB of memory at its peak: proven'
ok "$two" --hw t4 --objective memory --json -
is 'p["plan"]["lower_bound_bytes"] == p["strategies"][2]["peak_memory_bytes"]' True
ok "$two" --hw t4 --memory-limit 192MiB
has 'memory limit 192 MiB'
"$FUSESIM" "$two" --hw t4 --memory-limit 191MiB --json limit.json >out 2>err
[ $? = 1 ] || complain 'a limit that no plan meets: exit status'
has 'No plan was found that needs at most 191 MiB: the least found is 192 MiB'
cp limit.json out
is 'p["least_memory_bytes"], p["memory_limit_bytes"]' '201326592 200278016'

"$FUSESIM" "$two" --hw t4 --memory-limit 192MiB --strategy unfused >out 2>err
[ $? = 1 ] || complain 'a strategy over the limit: exit status'
has 'over the limit of 192 MiB'

# The timeline: communication beside computation, as text, JSON and a trace. A graph for Graphviz.
overlap=$SOURCE_DIR/workloads/seeds/allreduce_overlap.yaml
ok "$overlap" --hw a100-sxm4-40gb --trace trace.json --dot plan.dot
has 'It overlaps [0-9.]+ .s of communication with'
cp trace.json out
is 'sorted({e["ph"] for e in p["traceEvents"]}), len({e["tid"] for e in p["traceEvents"] if e["ph"] == "X"})' "['C', 'M', 'X'] 2"
is 'max(e["ts"] + e["dur"] for e in p["traceEvents"] if e["ph"] == "X") < sum(e["dur"] for e in p["traceEvents"] if e["ph"] == "X")' True
# No slice of a stream begins before the one in front of it ends, however a reader cuts microseconds to whole nanoseconds: it would drop it.
is '[(a["name"], b["name"]) for s in {e["tid"] for e in p["traceEvents"]} for es in [[e for e in p["traceEvents"] if e["ph"] == "X" and e["tid"] == s]] for a, b in zip(es, es[1:]) for cut in (int, round) if cut(b["ts"] * 1000) < cut(a["ts"] * 1000) + cut(a["dur"] * 1000)]' '[]'
cp plan.dot out
has '^digraph plan'
[ "$(grep -c 'subgraph cluster_' out)" = 7 ] || complain 'a cluster for each kernel'
[ "$(grep -c '{' out)" = "$(grep -c '}' out)" ] || complain 'braces of the graph'
ok "$overlap" --hw a100-sxm4-40gb --json -
is '[k["stream"] for k in p["plan"]["kernels"]].count("communication"), p["plan"]["makespan_s"] < p["strategies"][2]["time_s"]' '2 True'
ok "$two" --hw t4,l4 --trace -
is 'sorted({e["pid"] for e in p["traceEvents"]})' '[1, 2]'
ok "$two" --hw t4 --dot -
has '"k1_n0|k1_n0 -> k1_n1'
ok "$chain" --hw "$toy"
hasnt overlaps

# --set changes the result as editing the file does.
sed 's/M: 4096, N: 4096/M: 512, N: 512/' "$chain" >small.yaml
ok small.yaml --hw "$toy"
cp out small
ok "$chain" --hw "$toy" --set M=512 --set N=512
cmp -s out small || complain '--set is not what editing the symbols gives'
ok "$chain" --hw "$toy" --json -
is 'sorted(s["name"] for s in p["strategies"])' "['eager', 'greedy', 'inductor', 'maximal', 'optimal', 'pattern', 'unfused']"
# Twice the bandwidth halves what DRAM takes.
before=$(field 'p["plan"]["kernels"][0]["unit_time"]["dram_s"]')
ok "$chain" --hw "$toy" --json - --hw-set dram_bandwidth=2x
is "p['plan']['kernels'][0]['unit_time']['dram_s'] * 2 == $before" True

# Warnings, and their absence.
sed 's/^tensors:/tensors:\n  spare: {shape: [4], dtype: f32}/' "$chain" >spare.yaml
"$FUSESIM" spare.yaml --hw "$toy" >out 2>err && grep -q "spare.yaml:.*warning: tensor 'spare' is not used" err ||
    complain 'no warning about an unused tensor'
ok spare.yaml --hw "$toy" --quiet

# Several GPUs: a table, all reports with --verbose, a plan for each in the JSON.
ok "$chain" --hw "$toy,a100-sxm4-80gb" --hw h100-sxm5-80gb
has 'a100-sxm4-80gb'
hasnt '^kernels of'
ok "$chain" --hw "$toy,a100-sxm4-80gb" --verbose
[ "$(grep -c '^kernels of' out)" = 2 ] || complain 'two GPUs with --verbose: two reports'
ok "$chain" --hw "$toy,a100-sxm4-80gb,h100-sxm5-80gb" --json -
is '[q["hardware"]["name"] for q in d["plans"]]' "['toy', 'a100-sxm4-80gb', 'h100-sxm5-80gb']"
is '[q["plan"]["proven"] for q in d["plans"]]' '[True, True, True]'

# Files: whole, beside the text report, the same as on stdout.
stable() { sed -E 's/"search_s":[^,]*,/"search_s": 0,/' "$1"; }
ok "$chain" --hw "$toy" --json a.json --markdown a.md
cmp -s out wanted || complain '--json FILE changes the text report'
stable a.json >a.stable
ok "$chain" --hw "$toy" --json -
stable out | cmp -s - a.stable || complain '--json FILE and --json - differ'
ok "$chain" --hw "$toy" --markdown -
cmp -s out a.md || complain '--markdown FILE and --markdown - differ'
has '\|'
[ -z "$(find . -name '*.tmp')" ] || complain 'temporary files are left'
ok enumerate "$chain" --hw "$toy"
cp out lines
"$FUSESIM" enumerate "$chain" --hw "$toy" --json lines.json >out 2>err || complain 'enumerate --json FILE'
cmp -s lines lines.json || complain 'enumerate --json FILE is not what enumerate prints'

# --json - in every command.
ok enumerate "$chain" --hw "$toy" --json -
cmp -s lines out || complain 'enumerate --json - is not what enumerate prints'
"$python" -c 'import json; [json.loads(line) for line in open("lines")]' || complain 'enumerate prints something that is not JSON'
[ "$(wc -l <lines)" = 9 ] || complain 'a chain of four has eight partitions'
ok explain "$chain" --hw "$toy" a m --json -
is '[p["legal"], p["together"]]' '[True, True]'
ok ops --json -
is 'len(d) > 100 and d[0]["name"]' add
ok ops
[ "$(grep -c '^relu ' out)" = 1 ] || complain 'ops has one line an operator'
ok explain "$chain" --hw "$toy" a y
has 'may share a kernel'
has 'together'
ok explain "$SOURCE_DIR/workloads/seeds/cycle.yaml" --hw "$toy" A B
has 'may not share a kernel'

# Colours: never into a pipe, unless asked; on a terminal, unless NO_COLOR or a dumb one.
escape=$(printf '\033')
ok "$chain" --hw "$toy" --color auto
hasnt "$escape"
ok "$chain" --hw "$toy" --color always
has "$escape"
sed "s/$escape\[[0-9;]*m//g" out | cmp -s - wanted || complain 'colour changes more than the colour'
if script -qec true /dev/null </dev/null >/dev/null 2>&1; then
    on_terminal() { script -qec "$1 '$FUSESIM' '$chain' --hw '$toy' $2" /dev/null </dev/null >out; }
    on_terminal 'TERM=xterm' ''
    has "$escape"
    on_terminal 'TERM=xterm NO_COLOR=1' ''
    hasnt "$escape"
    on_terminal 'TERM=xterm NO_COLOR=1' '--color always'
    has "$escape"
    on_terminal 'TERM=dumb' ''
    hasnt "$escape"
    on_terminal 'TERM=xterm' '--color=never'
    hasnt "$escape"
fi

# Widths: no line is longer than the terminal.
for width in 80 120; do
    for arguments in "$mlp --hw $toy" "$mlp --hw a100-sxm4-80gb,h100-sxm5-80gb,l4" "seeds/attention_standard --hw a100-sxm4-80gb --verbose" "explain $chain --hw $toy a y" "hw list" "hw show l4" ops; do
        # shellcheck disable=SC2086
        COLUMNS=$width "$FUSESIM" $arguments >out 2>err || complain "COLUMNS=$width $arguments"
        case $arguments in *--verbose*) continue ;; esac
        longest=$(awk 'length > n { n = length } END { print n }' out)
        [ "$longest" -le $width ] || complain "a line of $longest columns: COLUMNS=$width $arguments"
    done
done

# A cache that concat copies: index_copy writes in place, and saves what the step promises; nothing is said of it.
cat >concat.yaml <<'END'
tensors:
  k: {shape: [8, 8, 32768, 128], dtype: bf16}
  v: {shape: [8, 8, 32768, 128], dtype: bf16}
  q: {shape: [8, 32, 1, 128], dtype: bf16}
  at: {shape: [1], dtype: i64}
  now: {shape: [8, 8, 1, 128], dtype: bf16}
operators:
  - {op: concat, in: [k, now], out: k2, dim: 2}
  - {op: concat, in: [v, now], out: v2, dim: 2}
  - {op: attention, in: [q, k2, v2], out: o}
outputs: [o, k2, v2]
END
sed -E 's/concat, in: \[([kv]), now\]/index_copy, in: [\1, at, now]/' concat.yaml >in_place.yaml
sed -E '/now:/s/8, 8, 1,/8, 8, 16384,/' concat.yaml >longer.yaml
"$python" - "$FUSESIM" <<'END' || complain 'a cache that is copied'
import json, subprocess, sys
def plan(path):
    done = subprocess.run([sys.argv[1], path, '--hw', 'h100-sxm5-80gb', '--json', '-', '--quiet'], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    p = json.loads(done.stdout)['plans'][0]
    return next(s['time_s'] for s in p['strategies'] if s['name'] == 'optimal'), [s for s in p['plan']['next'] if 'index_copy' in s['what']]
copied_s, steps = plan('concat.yaml')
written_s, none = plan('in_place.yaml')
assert len(steps) == 1 and not none and not plan('longer.yaml')[1], (steps, none)
assert steps[0]['what'] == ("'k2' = concat('k', ...) copies 512 MiB each time, and 1 more of the kind, 1 GiB in all: with room in 'k', "
                            "'index_copy' writes the new rows in place"), steps
assert abs(steps[0]['saves_s'] / (copied_s - written_s) - 1) < 0.05 and copied_s > 2.5 * written_s, (steps, copied_s, written_s)
END
# The order in which an operator's primitives are written is the same under every compiler.
ok ops/gelu --hw t4 --strategy unfused
has '^  cuts y/arg . y/erf . y/one . y/half . y: '

# One operator: no fusion, and yet another kernel than PyTorch's.
ok ops/layer_norm --hw t4
has '^Fusion makes no difference, other kernels for the same operators do: optimal is 1\.'
ok ops/gelu --hw t4
has '^Fusion makes no difference: optimal has the kernels of eager '

# The same bytes twice, whatever the number of threads.
for arguments in "$mlp --hw a100-sxm4-80gb" "$mlp --hw $toy,l4 --json -" "enumerate $chain --hw $toy" "seeds/attention_standard --hw l4 --dump graph,legal,parts,kernels,traffic,time"; do
    # shellcheck disable=SC2086
    {
        "$FUSESIM" $arguments --jobs 1 >first
        "$FUSESIM" $arguments --jobs 2 >second
        "$FUSESIM" $arguments >third
    }
    cmp -s first second && cmp -s first third || complain "two runs differ: $arguments"
done

# What has found what it was asked for ends, however many partitions there are.
timeout 100 "$FUSESIM" enumerate llama_block --hw "$toy" --limit 3 >partitions || complain "enumerate --limit 3 of a large graph: exit status $?"
[ "$(wc -l <partitions)" = 4 ] || complain "enumerate --limit 3 prints $(wc -l <partitions) lines"
tail -n 1 partitions | grep -q '"partitions": 3, "truncated": true' || complain "enumerate --limit 3 ends with $(tail -n 1 partitions)"

# Ctrl-C ends an enumeration of 2^23 partitions with whole lines and the last one.
{
    echo 'tensors: {t0: {shape: [4], dtype: f32}}'
    echo 'operators:'
    for i in $(seq 24); do echo "  - {op: relu, in: t$((i - 1)), out: t$i}"; done
} >long.yaml
rm -f partitions # else the one from above looks like a first line
"$FUSESIM" enumerate long.yaml --hw "$toy" --recompute off >partitions 2>err &
enumeration=$!
for _ in $(seq 200); do [ -s partitions ] && break; sleep 0.1; done
kill -INT $enumeration
wait $enumeration
[ $? -eq 1 ] || complain "Ctrl-C: exit status $?"
tail -n 1 partitions | grep -q '"truncated": true' || complain 'Ctrl-C: the last line does not say that there are more'

[ ! -e failures ] || { echo "$(wc -l <failures) failures" >&2; exit 1; }
