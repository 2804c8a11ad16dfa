#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What options say of whole layers: a line, what compilation costs, limits of a search, widths, the host, next steps, reports in a pipe.
# depends: once cost: 5
. "${SOURCE_DIR:?}/tests/options.sh"

one_line '^bert_layer on t4: optimal .*, does not fit: [0-9.]+ GiB of 16 GiB$' bert_layer --hw t4 --set B=8192 --search-steps 60000
one_line '^.*model_pairs.csv: [0-9]+ rows, mean error ' validate --measurements "$SOURCE_DIR/validate/measured/model_pairs.csv"

# What compilation costs: at any width, sooner with more processes.
for columns in 80 120; do
    COLUMNS=$columns "$FUSESIM" "$SOURCE_DIR/workloads/bert_layer.yaml" --hw t4 --compile-cost --search-steps 600000 >out 2>err || complain "--compile-cost in $columns columns"
    has '^fast compile or fast run'
    has '^  eager +[0-9]+ +0 +- +'
    has 'is the best for up to .* from then'
    [ "$(awk 'length > n { n = length } END { print n }' out)" -le $columns ] || complain "--compile-cost is wider than $columns"
done
ok "$SOURCE_DIR/workloads/bert_layer.yaml" --hw t4 --compile-cost --search-steps 600000 --json one.json
ok "$SOURCE_DIR/workloads/bert_layer.yaml" --hw t4 --compile-cost --compile-jobs 3 --search-steps 600000 --json three.json
"$python" - <<'EOF' || complain 'three processes compile no faster'
import json
one, three = (json.load(open(name + ".json"))["plans"][0]["compile"]["strategies"] for name in ("one", "three"))
assert all(b["compile_s"] <= a["compile_s"] <= 3 * b["compile_s"] for a, b in zip(one, three)) and three != one
EOF

# A search that may take little memory ends with a whole plan and says what ended it.
ok bert_layer --hw a100-sxm4-40gb --search-memory 1MiB --json memory.json
grep -q '"stopped_by_memory":[[:space:]]*true' memory.json && grep -q '"proven":[[:space:]]*false' memory.json || complain "--search-memory 1MiB"
tr '\n' ' ' <out | grep -q 'used up: --search-memory' || complain "--search-memory is not named: $(head -5 out)"
ok bert_layer --hw a100-sxm4-40gb --search-memory 1GiB --json memory.json
grep -q '"stopped_by_memory":[[:space:]]*false' memory.json && grep -q '"proven":[[:space:]]*true' memory.json || complain "--search-memory 1GiB"

# Widths: no line is longer than the terminal.
for width in 80 120; do
    for arguments in "bert_layer --hw h100-sxm5-80gb --search-steps 60000" "bert_layer --hw h100-sxm5-80gb --search-steps 60000 --top 5 --memory-limit 1GiB" \
        "bert_layer --hw t4 --search-steps 60000 --strategy unfused --objective pareto"; do
        # shellcheck disable=SC2086
        COLUMNS=$width "$FUSESIM" $arguments >out 2>err || complain "COLUMNS=$width $arguments"
        longest=$(awk 'length > n { n = length } END { print n }' out)
        [ "$longest" -le $width ] || complain "a line of $longest columns: COLUMNS=$width $arguments"
    done
done

# Whose time: the head says what is counted; where Python would keep the GPU waiting, the times are those of --launch eager.
decode='llama_block --hw h100-sxm5-80gb --set S=1'
# shellcheck disable=SC2086
"$FUSESIM" $decode --launch eager --json - >eager.json 2>err && "$FUSESIM" $decode --json - >stream.json 2>>err || complain 'a decode step'
"$python" - <<'END' || complain 'plan.host is not what --launch eager and --launch stream say'
import json
eager, stream = ({s['name']: s['time_s'] for s in json.load(open(f + '.json'))['plans'][0]['strategies']} for f in ('eager', 'stream'))
for name in 'eager', 'stream':
    host = json.load(open(name + '.json'))['plans'][0]['plan']['host']
    assert host['eager_bound'], host
    assert (host['eager_time_s'], host['eager_gpu_time_s']) == (eager['eager'], stream['eager']), host
    assert eager['optimal'] <= host['time_s'] < 1.05 * eager['optimal'], host # the same kernels may be optimal in one regime only
    assert stream['optimal'] <= host['gpu_time_s'] < 1.05 * stream['optimal'], host
    assert host['time_s' if name == 'eager' else 'gpu_time_s'] == (eager if name == 'eager' else stream)['optimal'], host
assert eager['eager'] > 1.3 * stream['eager']
END
# shellcheck disable=SC2086
"$FUSESIM" $decode >out 2>err
has '^Counts GPU time: the host is not waited for [(]--launch stream[)]'
has '^Launched from Python the host is the limit: eager takes [0-9]+ us instead of [0-9]+ us, this plan .* [(]--launch eager[)]\.$'
"$FUSESIM" llama_block --hw h100-sxm5-80gb >out 2>err
hasnt 'the host is the limit'

# Next steps: each command can be typed, and gives what the step promises; none where there is nothing to gain.
"$python" - "$FUSESIM" <<'END' || complain 'next steps'
import json, shlex, subprocess, sys

def plan(words):
    done = subprocess.run([sys.argv[1], *words, '--json', '-', '--quiet'], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, (words, done.stderr)
    return json.loads(done.stdout)['plans'][0] if words[0] != 'explain' else None

def time_s(p): return next(s['time_s'] for s in p['strategies'] if s['name'] == p['plan']['strategy'])

met = set()
for line in ('llama_block --hw t4 --set dtype=bf16', 'llama_block --hw h100-sxm5-80gb --set S=1 --set B=2 --launch eager', 'seeds/chain4 --hw t4 --strategy eager',
             'bert_layer --hw l4 --numerics strict --search-steps 60000', 'bert_layer --hw t4 --set B=8192 --search-steps 60000', 'seeds/chain4 --hw t4'):
    now = plan(line.split())
    steps = now['plan']['next']
    assert bool(steps) == (line != 'seeds/chain4 --hw t4'), (line, steps)
    saved = [s['saves_s'] for s in steps if s['saves_s'] is not None]
    assert saved == sorted(saved, reverse=True) and all(s > 0 for s in saved), steps
    for s in steps:
        words = shlex.split(s['command'])
        assert words[0] == 'fusesim', s
        then = plan(words[1:])
        if s['saves_s'] is None:
            assert next(x['fits'] for x in then['strategies'] if x['name'] == 'optimal') and not next(x['fits'] for x in now['strategies'] if x['name'] == 'optimal'), s
        elif not s['at_most'] and 'any order' not in s['what']: # the orders' savings are kernel by kernel
            assert time_s(then) <= 1.0001 * (time_s(now) - s['saves_s']), (line, s, time_s(now), time_s(then))
        met.add(s['what'].split()[0])
assert {'f16', 'kernels', 'the', 'sums', 'a', 'one', 'B'} <= met, met
END
COLUMNS=80 "$FUSESIM" llama_block --hw t4 --set 'B=1' >out 2>err
has '^  saves [0-9.]+ ms: f16 instead of bf16$'
has '^    fusesim llama_block --hw t4 --set B=1 --set dtype=f16$'

# What goes to a pipe or a file is not cut: tables and names are whole, a sentence is a line.
"$FUSESIM" bert_layer --hw h100-sxm5-80gb >out 2>err || complain 'a report in a pipe'
has '^Fusion helps: .* kernels)\.$'
has ' kt [+] scores [+] scaled [+] probabilities [+] mixed'
has '^  eager .* each operator alone, with PyTorch'
COLUMNS=80 "$FUSESIM" bert_layer --hw h100-sxm5-80gb >out 2>err || complain 'a report in 80 columns'
has 'Names that are cut are whole with --verbose, and in a pipe'
# Each head that is an abbreviation is explained where it is shown, and only there.
COLUMNS=120 "$FUSESIM" bert_layer --hw h100-sxm5-80gb >out 2>err || complain 'a report in 120 columns'
tr -s '\n ' '  ' <out >words
for head in 'regs: ' 'occ.: ' '+-: ' 'share: ' 'bound by: ' 'speedup: ' 'over optimum: '; do
    grep -Fq "$head" words || complain "no legend of $head"
done
COLUMNS=80 "$FUSESIM" bert_layer --hw h100-sxm5-80gb >out 2>err
hasnt 'regs'

[ ! -e failures ] || { echo "$(wc -l <failures) failures" >&2; exit 1; }
