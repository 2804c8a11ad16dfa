#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# models: parameters and cache of shipped models against the published counts; config.json files with what must be found in them; what is wrong with such files.
# depends: once
. "${SOURCE_DIR:?}/tests/answers.sh"
"$FUSESIM" models --json all.json >list 2>err || complain "models: $(cat err)"
"$FUSESIM" models $("$python" -c 'import json; print(*[m["name"] for m in json.load(open("all.json"))["models"]])') --json again.json >/dev/null 2>&1
cmp -s all.json again.json || complain 'the models by name are not those of the list'
# Published counts (model cards and the sums of the tensors of their checkpoints).
of_schema models all.json
"$python" - <<'END' || complain 'counts'
import json
doc = json.load(open("all.json"))
have = {m["name"]: m for m in doc["models"]}
published = {"llama-2-13b": 13015864320, "llama-2-70b": 68976648192, "llama-3-70b": 70553706496, "llama-3.1-8b": 8030261248,
             "llama-3.2-1b": 1235814400, "llama-3.2-3b": 3212749824, "mixtral-8x22b": 140620634112, "qwen3-0.6b": 596049920,
             "qwen3-8b": 8190735360, "qwen3-14b": 14768307200, "qwen3-235b-a22b": 235093634560, "gpt-oss-120b": 116829156672,
             "gpt2": 124439808, "bert-large-uncased": 335174458}
for name, count in published.items():
    assert have[name]["parameters"] == count, (name, have[name]["parameters"], count)
for m in doc["models"]:
    assert sum(p["each"] * p["times"] for p in m["parts"]) == m["parameters"], m["name"]
    assert sum(p["each"] * p["active"] for p in m["parts"]) == m["active_parameters"], m["name"]
    assert m["weight_bytes"]["bf16"] == 2 * m["parameters"], m["name"]
END
# A token of Llama 3 8B: 32 layers, 2 x 8 heads of 128, 2 bytes: 131072.
"$FUSESIM" models 'Llama 3 8B' --json - 2>err | grep -q '"cache_bytes_per_token": {"bf16": 131072, "f8": 65536' || complain "a name with spaces: $(cat err)"

refused() { # NAME STATUS TEXT, the file on stdin
    cat >"$1.json"
    "$FUSESIM" models "$1.json" >out 2>err
    local status=$?
    [ $status = "$2" ] && grep -qF -- "$3" err || complain "$1: exit $status, wanted $2 and '$3': $(cat err)"
    [ -s out ] && complain "$1: output beside an error"
}
refused unknown 65 "fields that were understood: hidden_size 64, num_hidden_layers 2" <<<'{"model_type": "lama", "hidden_size": 64, "num_hidden_layers": 2}'
grep -q "did you mean 'llama'" err || complain 'no nearest family'
refused missing 65 'needs num_attention_heads' <<<'{"model_type": "llama", "hidden_size": 64, "num_hidden_layers": 2, "intermediate_size": 9, "vocab_size": 7}'
refused negative 65 'negative.json:1:41: error: hidden_size is -64, wanted a whole number' <<<'{"model_type": "llama", "hidden_size":  -64, "num_hidden_layers": 2, "num_attention_heads": 1, "intermediate_size": 9, "vocab_size": 7}'
refused huge 65 'hidden_size is 99999999999' <<<'{"model_type": "llama", "hidden_size": 99999999999, "num_hidden_layers": 2, "num_attention_heads": 1, "intermediate_size": 9, "vocab_size": 7}'
refused uneven 65 "3 heads can't share 2 heads of keys evenly" <<<'{"model_type": "llama", "hidden_size": 6, "num_hidden_layers": 2, "num_attention_heads": 3, "num_key_value_heads": 2, "intermediate_size": 9, "vocab_size": 7}'
refused list 65 'wanted the config.json of a model' <<<'[1]'
refused notmodel 65 'is this the config.json of a model?' <<<'{"a": 1}'
refused cut 65 'error' <<<'{"model_type": "llama", '
"$FUSESIM" models no-such >out 2>err; [ $? = 66 ] || complain "a name that is none: $(cat err)"
"$FUSESIM" models llama-3 2>&1 | grep -q 'names that begin so: .*llama-3-8b' || complain 'names that begin so'
# Repositories: of a shipped model it is that model; of a variant the nearest is named.
"$FUSESIM" models Qwen/Qwen3-32B 2>&1 | grep -q '^qwen3-32b: ' || complain 'a repository'
for pair in meta-llama/Llama-3.1-70B-Instruct=llama-3.1-70b meta-llama/Meta-Llama-3-8B-Instruct=llama-3-8b Qwen/Qwen3-30B-A3B-Instruct-2507=qwen3-30b-a3b; do
    "$FUSESIM" models "${pair%=*}" >out 2>err
    [ $? = 66 ] && grep -qF "did you mean '${pair#*=}'?" err || complain "near ${pair%=*}: $(cat err)"
done
"$FUSESIM" models no/such/file.json 2>&1 | grep -q 'did you mean' && complain 'a path is like no model'
# docs/PLANNING.md says how many there are.
if [ -e "$SOURCE_DIR/docs/PLANNING.md" ]; then
    names=$("$FUSESIM" models --json - | grep -c '"name":') types=$(grep -c '^FSIM_FAMILY(' "$SOURCE_DIR/src/model/family.def")
    grep -qF "of $types model types, $names names;" "$SOURCE_DIR/docs/PLANNING.md" || complain "docs/PLANNING.md does not say $types model types and $names names"
fi
# A layer of each kind, counted by hand: 2 experts of which 1 is met, width 3, hidden 2, 1 head: attention 4 * 4, router 2 * 2, experts 2 * 18, norms 2 * 2, last norm 2, tables 2 * 10.
echo '{"model_type": "mixtral", "hidden_size": 2, "num_hidden_layers": 1, "num_attention_heads": 1, "intermediate_size": 3, "vocab_size": 5, "num_local_experts": 2, "num_experts_per_tok": 1}' >tiny.json
"$FUSESIM" models tiny.json --json - 2>err | grep -q '"parameters": 82, "active_parameters": 64,' || complain "tiny: $(cat err)"

# Llama 4: half of two layers, or all, have 2 experts of width 3 of which a token meets 1, and a shared one; the other has width 7; norms of queries and keys have no weights. Attention 4 * 4, router 2 * 2, experts 3 * 18, norms 2 * 2, width 7 3 * 14; last norm 2, tables 2 * 10.
llama4='"model_type": "llama4_text", "hidden_size": 2, "num_hidden_layers": 2, "num_attention_heads": 1, "intermediate_size": 3, "intermediate_size_mlp": 7, "vocab_size": 5, "num_local_experts": 2, "num_experts_per_tok": 1, "use_qk_norm": true'
echo "{\"model_type\": \"llama4\", \"text_config\": {$llama4, \"interleave_moe_layer_step\": 2}}" >half.json
echo "{$llama4}" >every.json
echo "{$llama4, \"moe_layers\": [0]}" >listed.json
for pair in 'half 162 144' 'every 178 142' 'listed 162 144'; do
    set -- $pair
    "$FUSESIM" models "$1.json" --json - 2>err | grep -q "\"parameters\": $2, \"active_parameters\": $3," || complain "$1: $("$FUSESIM" models "$1.json") $(cat err)"
done

configs=$SOURCE_DIR/../shared/models/configs
[ -d "$configs" ] || { [ $fail = 0 ] && echo "skipped the real configs: no $configs"; exit $fail; }
"$FUSESIM" models "$configs"/*[0-9a-z].json --json real.json >/dev/null 2>err || complain "real configs: $(cat err)"
EXPECT=$configs/expect.csv "$python" - <<'END' || complain 'real configs'
import csv, json, os
have = {m["name"]: m for m in json.load(open("real.json"))["models"]}
rows = list(csv.DictReader(open(os.environ["EXPECT"])))
assert len(rows) >= 24, len(rows)
for r in rows:
    m = have[r["model"]]
    found = {"params": m["parameters"], "active_params": m["active_parameters"], "params_if_untied": m["parameters_if_untied"], "tied": int(m["tied"]),
             "embedding_params": m["embedding_parameters"], "head_params": m["head_parameters"], "layers": m["layers"], "hidden": m["hidden"],
             "heads": m["heads"], "kv_heads": m["kv_heads"], "head_dim": m["head_dim"], "ffn": m["ffn"], "gated": int(m["gated"]),
             "experts": m["experts"], "topk": m["experts_per_token"], "expert_ffn": m["expert_ffn"], "window": m["window"], "windowed_layers": m["windowed_layers"],
             "kv_bytes_per_token_bf16": int(m["cache_bytes_per_token"]["bf16"]), "cross_kv_bytes_per_source_token": int(m["cross_cache_bytes_per_source_token"]["bf16"])}
    for key, value in found.items():
        wanted = r[key] if r[key] else str(value) if key == "kv_heads" else "0"
        assert str(value) == wanted, (r["model"], key, value, r[key])
END
exit $fail
