#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# import --measurements: profiles of other tools become rows that validate reads; what is wrong leaves nothing behind.
# depends: memory
set -u
: "${FUSESIM:?}" "${SOURCE_DIR:?}"
export LC_ALL=C
unset FUSESIM_HWMODELS COLUMNS
traces=$SOURCE_DIR/tests/traces
hw="--hw a100-sxm4-40gb"

complain() {
    echo "FAILED: $1" >&2
    [ ! -s err ] || head -n 12 err | cut -c 1-300 >&2
    echo "$1" >>failures
}

# import STATUS ARGUMENT...
import() {
    local want=$1 status
    shift
    timeout 60 "$FUSESIM" import "$@" </dev/null >out 2>err
    status=$?
    [ $status = "$want" ] || complain "exit status $status, wanted $want: $*"
}
has() { grep -Eq -- "$2" "$1" || complain "nothing like '$2' in $1"; }
lacks() { ! grep -Eq -- "$2" "$1" || complain "something like '$2' in $1"; }

# Nsight Compute, both shapes: the same kernels, and rows that are predicted.
for file in ncu-mlp.csv ncu-mlp-raw.csv; do
    import 0 --measurements "$traces/$file" mlp $hw -o rows.csv
    [ ! -s err ] || complain "$file: something on stderr"
    has out '3 steps of'
    has rows.csv '^id,hw,workload,set,strategy,l2,launch,time_s,dram_read_bytes,dram_write_bytes,source,kernel$'
    [ "$(grep -c ',mlp,,eager,cold,kernel,' rows.csv)" = 4 ] || complain "$file: not three kernels and the whole"
    has rows.csv 'kernels,a100-sxm4-40gb,mlp,,eager,cold,kernel,0\.0004[0-9]*,[0-9]+,[0-9]+,.*median of 3",$'
    "$FUSESIM" validate --measurements rows.csv --json valid.json >/dev/null 2>err || complain "$file: validate does not read the rows"
    [ "$(grep -c '"predicted_s": [0-9]' valid.json)" = 4 ] || complain "$file: not all rows are predicted"
done

# A kernel's row is predicted as that kernel: they sum to the whole.
python=${PYTHON:-python3}
"$python" - valid.json <<'END' || complain "kernels do not sum to the whole"
import json, sys
rows = json.load(open(sys.argv[1]))["rows"]
time = {row["id"].rsplit("/", 1)[1]: row["predicted_s"] for row in rows}
whole = time.pop("kernels")
assert len(time) == 3 and abs(sum(time.values()) / whole - 1) < 1e-6, (time, whole)
END

# A line that begins with a carriage return is no record, also where it has the words of a header.
printf '\r"ID","Kernel Name"' >return.csv
import 65 --measurements return.csv
has err 'return.csv:1:1: error: this is no profile'

# A workload by its path is found again.
cp "$SOURCE_DIR/workloads/mlp.yaml" mine.yaml
import 0 --measurements "$traces/ncu-mlp.csv" mine.yaml $hw -o rows.csv
has rows.csv ',a100-sxm4-40gb,mine,,eager,'
"$FUSESIM" validate --measurements rows.csv >out 2>err || complain "a workload by its path is not found"
# A kernel that the plan has not is no error of the prediction.
sed 's/,h$/,nothing/' rows.csv >other.csv
"$FUSESIM" validate --measurements other.csv >out 2>err || complain "a kernel that is not there stops validate"
has out 'no kernel of the plan computes its primitive'

# PyTorch, eager and compiled.
import 0 --measurements "$traces/pytorch-bert-layer.json" bert_layer $hw -o rows.csv
has out 'NVIDIA A100-SXM4-40GB, 50 launches; 2 steps of 16 kernels \(as the profiler marks them\)'
has out 'Memcpy HtoD .*moved by the driver, no kernel'
has rows.csv '^pytorch-bert-layer/step,a100-sxm4-40gb,bert_layer,,eager,unknown,stream,'
[ "$(wc -l <rows.csv)" = 19 ] || complain "not 16 kernels, the whole and the step"
import 0 --measurements "$traces/pytorch-bert-layer-compiled.json" bert_layer $hw --strategy inductor --json found.json -o rows.csv
has rows.csv 'triton_per_fused__softmax_mul_3\[[^]]*probabilities[^]]*\],a100-sxm4-40gb,bert_layer,,inductor,'
"$python" -c 'import json; x = json.load(open("found.json")); assert x["tool"] == "pytorch" and x["steps"]["repeats"] == 3 and x["left"]' || complain "the JSON is not as it should be"
import 0 --measurements "$traces/pytorch-bert-layer.json" bert_layer --hw h100-sxm5-80gb --set B=8 -o rows.csv
has err "warning: the trace is of 'NVIDIA A100-SXM4-40GB', --hw is 'h100-sxm5-80gb'"
has rows.csv ',bert_layer,B=8,eager,'

# Without a workload, a list, which validate leaves out.
import 0 --measurements "$traces/ncu-mlp.csv" -o - 
has out '^ncu-mlp/1/ampere_[^,]*,,,,eager,cold,kernel,0.0002'
has err 'nothing is matched without a workload'
cp out list.csv
"$FUSESIM" validate --measurements list.csv >out 2>err
has err '4 rows without a workload are left out'

# A workload that it is not: no row for the whole.
import 0 --measurements "$traces/pytorch-bert-layer.json" ops/softmax $hw --set B=65536 --set H=512 -o rows.csv
has rows.csv '/softmax_warp_forward.y.,a100-sxm4-40gb,ops/softmax,B=65536;H=512,eager,'
has out 'no row for the whole: 9[0-9] % of the step.s time is of kernels that were not matched'
lacks rows.csv '/kernels,'
# Nor one for a kernel of another size.
import 0 --measurements "$traces/pytorch-bert-layer.json" ops/softmax $hw --set B=65536 --set H=1024 -o rows.csv
has err 'no kernel of .* was matched'
lacks rows.csv 'softmax'

# What is wrong leaves nothing behind.
rm -f rows.csv *.tmp
head -c 30000 "$traces/pytorch-bert-layer.json" >cut.json
import 65 --measurements cut.json bert_layer $hw -o rows.csv
has err '^cut.json:[0-9]+:[0-9]+: error: the trace ends here'
sed 's/"ns"/"fortnights"/' "$traces/ncu-mlp.csv" >bad.csv
import 65 --measurements bad.csv mlp $hw -o rows.csv
has err '^bad.csv:[0-9]+:[0-9]+: error: .*is in .fortnights.'
gzip -c "$traces/ncu-mlp.csv" >packed.json.gz
import 65 --measurements packed.json.gz -o rows.csv
has err 'gunzip'
: >empty.json
import 65 --measurements empty.json -o rows.csv
import 66 --measurements nowhere.json -o rows.csv
import 66 --measurements . -o rows.csv
has err 'is a directory'
import 66 --measurements "$traces/ncu-mlp.csv" no_such_workload $hw -o rows.csv
import 66 --measurements "$traces/ncu-mlp.csv" mlp --hw no_such_gpu -o rows.csv
import 2 --measurements "$traces/ncu-mlp.csv" mlp -o rows.csv
has err 'no GPU'
import 66 model.onnx -o rows.csv
has err "cannot read workload 'model.onnx'"
import 2 --measurements "$traces/ncu-mlp.csv" -o - --json -
has err 'both write to stdout'
import 2 --measurements "$traces/ncu-mlp.csv" -o nowhere/rows.csv
[ ! -e rows.csv ] || complain "a run that failed left rows.csv"
ls ./*.tmp >/dev/null 2>&1 && complain "a temporary file is left"

[ ! -e failures ] || exit 1
