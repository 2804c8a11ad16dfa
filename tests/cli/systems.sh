#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# validate --systems: rows of whole systems, composed by hand from steps that validate --measurements prices; memory; rows that can't be predicted; what is wrong with such files.
# depends: once
. "${SOURCE_DIR:?}/tests/answers.sh"
head=id,source,model,params,precision,kv_precision,hw,gpus,tp,pp,dp,ep,mode,batch,input_len,output_len,metric,value,unit,notes
llama="Llama 3 8B,8.03e9,f16,f16,h100-sxm5-80gb,1,1,1,1,1"
cat >rows.csv <<END
$head
prefill,TensorRT-LLM v0.9,$llama,prefill,1,128,1,time to first token,0.01,s,
static,TensorRT-LLM v0.9,$llama,static batch,8,128,64,output tokens per second per GPU,500,1/s,
load,TensorRT-LLM v0.14,$llama,maximum load,,2048,2048,output tokens per second,1000,1/s,
token2,x (vllm),"Llama 3 8B",8.03e9,f16,f16,h100-sxm5-80gb,2,2,1,1,1,fixed concurrency,4,128,64,mean time per output token,0.004,s,
token1,x (vllm),$llama,fixed concurrency,4,128,64,mean time per output token,0.006,s,
older,x (vllm 0.9.1),${llama/h100-sxm5-80gb/h200-sxm-141gb},fixed concurrency,4,128,64,mean time per output token,0.006,s,
newer,x (vllm 0.18.0),${llama/h100-sxm5-80gb/h200-sxm-141gb},fixed concurrency,4,128,64,mean time per output token,0.006,s,
wide,TensorRT-LLM v1.0,"Qwen3-32B",3.28e10,f8e4m3,f8e4m3,h100-sxm5-80gb,2,2,1,1,1,prefill,1,128,1,time to first token,0.02,s,
first,x (vllm),$llama,fixed concurrency,4,128,64,mean time to first token,0.05,s,
train,llm-foundry,"MPT 125M",,bf16,,h100-sxm5-80gb,8,1,1,8,1,training step,64,512,,tokens per second per GPU,1e5,1/s,"FULL_SHARD; activation checkpointing False; micro batch 8, accumulation 1"
stages,llm-foundry,"MPT 125M",,bf16,,h100-sxm5-80gb,8,1,4,2,1,training step,64,512,,tokens per second per GPU,1e5,1/s,"micro batch 8"
model,TensorRT-LLM v0.9,"Llama 3 7B",8e9,f16,f16,h100-sxm5-80gb,1,1,1,1,1,prefill,1,128,1,time to first token,0.01,s,
gpu,TensorRT-LLM v0.9,"Llama 3 8B",8e9,f16,f16,h101,1,1,1,1,1,prefill,1,128,1,time to first token,0.01,s,
odd/ttft,x (vllm),$llama,fixed concurrency,8,128,64,mean time to first token,1,s,
odd/tpot,x (vllm),$llama,fixed concurrency,8,128,64,mean time per output token,0.006,s,
full/tpot,x (vllm),$llama,fixed concurrency,2048,128,64,mean time per output token,0.02,s,
full/ttft,x (vllm),$llama,fixed concurrency,2048,128,64,mean time to first token,3.5,s,
large,TensorRT-LLM v0.9,"Llama 3 70B",7.06e10,f16,f16,h100-sxm5-80gb,1,1,1,1,1,prefill,1,128,1,time to first token,0.1,s,
END
"$FUSESIM" validate --systems rows.csv --json out.json >out 2>err || complain "exit status $?: $(cat err)"
[ -s err ] && complain "something on stderr: $(cat err)"
grep -q '^rows.csv: 18 whole systems, 15 predicted' out || complain "the head: $(head -n 1 out)"
grep -q 'said to fit' out || complain 'no verdict'
grep -A 2 'rows that contradict' out | grep -q '^  odd/ttft' || complain "contradictions: $(cat out)"
"$FUSESIM" validate --systems rows.csv --match static --quiet >one 2>err || complain "--match: $(cat err)"
"$FUSESIM" validate --systems rows.csv --markdown - 2>err | grep -q '^By kind:' || complain "--markdown: $(cat err)"
COLUMNS=80 "$FUSESIM" validate --systems rows.csv --jobs 1 --json again.json >/dev/null 2>&1
cmp -s out.json again.json || complain 'another number of threads gives another answer'

# The steps by themselves, as rows of measurements.
of="H=4096;heads=32;kv_heads=8;D=128;F=14336;tp=1;dtype=f16;weight_dtype=f16;kv_dtype=f16"
cat >steps.csv <<END
id,hw,workload,set,strategy,l2,launch,time_s,source
prefill1,h100-sxm5-80gb,llm/dense_prefill,B=1;S=128;layers=2;$of,serving,cold,graph,1,steps
prefill8,h100-sxm5-80gb,llm/dense_prefill,B=8;S=128;layers=2;$of,serving,cold,graph,1,steps
decode1,h100-sxm5-80gb,llm/dense_decode,B=8;S=144;layers=2;masked=1;$of,serving,cold,graph,1,steps
decode2,h100-sxm5-80gb,llm/dense_decode,B=8;S=176;layers=2;masked=1;$of,serving,cold,graph,1,steps
wide,h100-sxm5-80gb,llm/dense_prefill,B=1;S=128;layers=2;H=5120;heads=64;kv_heads=8;D=128;F=25600;tp=2;blocks=1;dtype=bf16;weight_dtype=f8e4m3;kv_dtype=f8e4m3,serving,cold,graph,1,steps
wide_head,h100-sxm5-80gb,ops/matmul,M=1;N=75968;K=5120;dtype=bf16,serving,cold,graph,1,steps
head1,h100-sxm5-80gb,ops/matmul,M=1;N=128256;K=4096;dtype=f16,serving,cold,graph,1,steps
head8,h100-sxm5-80gb,ops/matmul,M=8;N=128256;K=4096;dtype=f16,serving,cold,graph,1,steps
END
"$FUSESIM" validate --measurements steps.csv --json steps.json >/dev/null 2>err || complain "the steps: $(cat err)"
of_schema systems out.json
ENGINES=$SOURCE_DIR/src/serving/engines.def "$python" - <<'END' || complain 'out.json'
import json, math, os, re
doc = json.load(open("out.json"))
row = {r["id"]: r for r in doc["rows"]}
step = {r["id"]: r["predicted_s"] for r in json.load(open("steps.json"))["rows"]}
engine = {(m[1], m[2]): [float(x) for x in m[3].split(",")[:8]]
          for m in re.finditer(r'FSIM_ENGINE\("([^"]*)", *"([^"]*)",([^"]*), "', open(os.environ["ENGINES"]).read())}
host, _, first, *_ = engine["TensorRT-LLM v0.9", ""]
near = lambda x, y: abs(x / y - 1) < 1e-9
layers = 32 / 2
assert near(row["prefill"]["predicted"], layers * step["prefill1"] + step["head1"] + host + first), row["prefill"]
begin = layers * step["prefill8"] + step["head8"]
each = layers * (step["decode1"] + step["decode2"]) / 2 + step["head8"] + host
assert near(row["static"]["predicted"], 8 * 64 / (begin + 64 * each)), row["static"]  # 4 query heads a key head: masked attention
# A host that waits for each GPU, and a checkpoint with block scales; the engine's version.
host, rank, first, *_ = engine["TensorRT-LLM", ""]
assert near(row["wide"]["predicted"], 64 / 2 * step["wide"] + step["wide_head"] + host + rank + first), row["wide"]
saved = engine["vllm", ""][0] - engine["vllm", "0.14"][0]
assert saved > 0 and near(row["older"]["predicted"] - saved, row["newer"]["predicted"]), row
# Memory: weights of 16 bits; 8 heads of 128 keys and values in 32 layers; the rest for the cache, after 1.5 GB and 12 H of 8192 tokens.
load = row["load"]
_, _, _, most, tokens, share, whole, reserved = engine["TensorRT-LLM", ""]
assert load["weight_bytes"] == 2 * 8030261248 and load["token_bytes"] == 2 * 2 * 8 * 128 * 32 == 131072, load
assert whole == 0 and engine["vllm", ""][6] == engine["vllm", "0.14"][6] == 1   # TensorRT-LLM's share is of what is left beside the weights, vLLM's of all memory
left = share * (80 * 2**30 - 2 * 8030261248 - 1.5e9 - 12 * tokens * 4096 * 2)
assert load["requests"] == min(most, math.floor(left / 131072 / (2048 + reserved * 2048))), load
assert row["token2"]["predicted"] < row["token1"]["predicted"] < row["first"]["predicted"], row
assert row["token2"]["token_bytes"] == 65536 and all(r["low"] < r["predicted"] < r["high"] for r in doc["rows"] if r["reason"] is None)
assert row["train"]["predicted"] > 1e4 and "tensor and pipeline" in row["stages"]["reason"] and row["stages"]["predicted"] is None
assert "did you mean 'llama-" in row["model"]["reason"] and "h101" in row["gpu"]["reason"], (row["model"], row["gpu"])
assert row["large"]["fits"] is False and row["static"]["fits"] is True
v = doc["verdicts"]
# By time per output token the two tp differ, and two GPUs are faster, as measured. Of four times two are equal, one of which contradicts another row.
assert (v["tp_choices"], v["best_tp_right"], v["orders"]) == (1, 1, 1), v
assert near(v["order_mean"], 0.9 ** 0.5) and v["order_mean_consistent"] == 1, v
assert (v["judged"], v["fits"]) == (14, 13), v
# 63 x 6 ms of 1.378 s: 2 of 8 requests make tokens, and a step has 4 tokens of prompts, though 8 fit. That 542 of 2,048 make tokens may be: 1,024 have a place.
said = "2 of 8 requests make tokens .* 8 have a place and a step has 4 tokens of prompts where it may have 8192"
assert re.search(said, row["odd/ttft"]["contradiction"]) and row["odd/tpot"]["contradiction"] == row["odd/ttft"]["contradiction"], row["odd/ttft"]
assert row["odd/tpot"]["predicted"] > 0 and v["contradictions"] == 1, v
assert all(r["contradiction"] is None for i, r in row.items() if not i.startswith("odd")), row["full/ttft"]
END

# What is wrong with a file.
wrong() { # what it says, the text of the file
    printf '%s\n' "$2" >wrong.csv
    "$FUSESIM" validate --systems wrong.csv --json wrong.json >out 2>err
    [ $? = 65 ] || complain "'$1': exit status"
    grep -q "$1" err || complain "wanted '$1': $(cat err)"
    [ -s out ] || [ -e wrong.json ] && complain "'$1': an answer"
}
wrong "wrong.csv:1:1.*no column 'hw'" 'id,source,model,precision,gpus,mode,metric,value,unit'
wrong "wrong.csv:2:.*no mode 'prefil'; did you mean 'prefill'" "$head
p,TensorRT-LLM v0.9,$llama,prefil,1,128,1,time to first token,0.01,s,"
wrong "wrong.csv:2:.*'1.5' is no whole number above 0" "$head
p,TensorRT-LLM v0.9,$llama,prefill,1.5,128,1,time to first token,0.01,s,"
wrong "wrong.csv:2:.*column 'value' is blank" "$head
p,TensorRT-LLM v0.9,$llama,prefill,1,128,1,time to first token,,s,"
wrong 'no rows behind the header' "$head"
# A number that no system has, a figure in another unit, a word that is not known: a reason of its row, and the others are predicted.
batch="Llama 3 8B,8.03e9,f16,f16,h100-sxm5-80gb"
cat >odd.csv <<END
$head
good,TensorRT-LLM v0.9,$llama,prefill,1,128,1,time to first token,0.01,s,
none,TensorRT-LLM v0.9,$llama,static batch,0,128,64,output tokens per second per GPU,500,1/s,
long,TensorRT-LLM v0.9,$llama,prefill,1,1000000000,1,time to first token,0.01,s,
int3,TensorRT-LLM v0.9,${llama/f16,f16/int3,f16},prefill,1,128,1,time to first token,0.01,s,
int3_cache,TensorRT-LLM v0.9,${llama/f16,f16/f16,int3},prefill,1,128,1,time to first token,0.01,s,
unit,TensorRT-LLM v0.9,$llama,prefill,1,128,1,time to first token,10,ms,
metric,TensorRT-LLM v0.9,$llama,prefill,1,128,1,xyz,0.01,s,
dp,TensorRT-LLM v0.9,$batch,1,1,1,2,1,prefill,1,128,1,time to first token,0.01,s,
END
"$FUSESIM" validate --systems odd.csv --json odd.json >out 2>err || complain "odd rows: exit status $?: $(cat err)"
"$python" - <<'END' || complain "odd rows: $(cat odd.json)"
import json, re
rows = {r["id"]: r for r in json.load(open("odd.json"))["rows"]}
wanted = {"none": "column 'batch' is 0", "long": "a step can't be priced: .* takes 4[.]1e[+]21 steps", "int3": "no precision 'int3' is known: bf16", "int3_cache": "no precision 'int3' is known",
          "unit": "'time to first token' in ms is not predicted of mode 'prefill': 'time to first token' in s is", "metric": "'xyz' in s is not predicted", "dp": "dp 2 .* are not 1 GPU"}
assert rows["good"]["reason"] is None and rows["good"]["predicted"] > 0
assert len(rows) == 8 and all(rows[i]["predicted"] is None and re.search(why, rows[i]["reason"]) for i, why in wanted.items()), rows
END
wrong "wrong.csv:2:[0-9]*: error: column 'batch': 'abc' is no whole number" "$head
p,TensorRT-LLM v0.9,$llama,prefill,abc,128,1,time to first token,0.01,s,"
wrong "wrong.csv:2:[0-9]*: error: column 'value': '-1' is no number above 0" "$head
p,TensorRT-LLM v0.9,$llama,prefill,1,128,1,time to first token,-1,s,"
"$FUSESIM" validate --systems odd.csv --gate mape=0.001% >out 2>err
[ $? = 2 ] && grep -q -- '--gate is of --measurements' err && [ ! -s out ] || complain "--gate beside --systems: $(cat out err)"
"$FUSESIM" validate --systems rows.csv --measurements steps.csv >out 2>err && complain '--systems beside --measurements'
grep -q 'alone' err || complain "--systems beside --measurements: $(cat err)"
"$FUSESIM" validate --systems absent.csv >out 2>err
[ $? = 66 ] || complain "a file that is absent: $(cat err)"
exit $fail
