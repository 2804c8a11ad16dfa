#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Windows, requests of several lengths and pages in the calls of serving stacks: what they cost, and mistakes with their place.
# depends: once
set -u
: "${FUSESIM:?}" "${SOURCE_DIR:?}"
export LC_ALL=C
unset COLUMNS FUSESIM_HWMODELS
failures=0

complain() {
    echo "FAILED: $1" >&2
    failures=$((failures + 1))
}

# Rows `id set`, of an operator: seconds of the call on the GPU into the file `predicted`.
header='id,hw,workload,set,strategy,l2,launch,time_s,source'
echo "$header" >rows.csv
row() { echo "$1,$2,$3,$4,eager,warm,graph,1,trtllm/1" >>rows.csv; }
gpus='a100-sxm4-80gb h100-sxm5-80gb b200 l40s'
for gpu in $gpus; do
    for window in 0 128 1024 8192 99999; do
        row "$gpu-decode-$window" "$gpu" ops/decode_attention "S=8192;window=$window"
        row "$gpu-context-$window" "$gpu" ops/context_attention "S=8192;window=$window"
    done
    for spread in 0 1 1000 4000; do
        row "$gpu-spread-$spread" "$gpu" ops/decode_attention "S=8192;spread=$spread"
        row "$gpu-latent-$spread" "$gpu" ops/decode_mla "S=8192;spread=$spread"
    done
    for page in 0 16 64 4096; do row "$gpu-page-$page" "$gpu" ops/decode_attention "S=8200;page=$page"; done
done
"$FUSESIM" validate --measurements rows.csv --json rows.json >out 2>&1 || complain "validate: $(cat out)"
tr '{' '\n' <rows.json | sed -n 's/.*"id": "\([^"]*\)".*"predicted_s": \([^,]*\),.*/\1 \2/p' >predicted
[ "$(wc -l <predicted)" = "$(($(wc -l <rows.csv) - 1))" ] || complain "$(wc -l <predicted) predictions of $(($(wc -l <rows.csv) - 1)) rows"
at() { awk -v id="$1" '$1 == id { print $2 }' predicted; }
# holds GPU CONDITION: of the seconds that it names by id, without the GPU.
holds() {
    local gpu=$1 names name text=$2
    names=$(echo "$text" | tr -c 'a-z0-9-' '\n' | grep -- '^[a-z]*-[0-9]' | sort -r -u)
    for name in $names; do text=${text//"$name"/$(at "$gpu-$name")}; done
    awk "BEGIN { exit !($text) }" || complain "$gpu: $2: $text"
}
for gpu in $gpus; do
    for kind in decode context; do
        # a window of all keys changes nothing, a shorter one costs less, and none costs more than its share by far
        holds "$gpu" "($kind-8192 == $kind-0) && ($kind-99999 == $kind-0)"
        holds "$gpu" "($kind-128 < $kind-1024) && ($kind-1024 < $kind-0 / 2)"
    done
    for kind in spread latent; do
        holds "$gpu" "($kind-1 >= $kind-0) && ($kind-1 < $kind-0 * 1.05)"
        holds "$gpu" "($kind-1000 >= $kind-0) && ($kind-4000 >= $kind-1000) && ($kind-4000 < $kind-0 * 2)"
    done
    holds "$gpu" "(page-64 == page-0) && (page-4096 > page-0 * 1.2) && (page-16 < page-0 * 1.02)"
done

# Lengths one by one: equal ones are `s`, and it is their sum and the longest that count, in whatever order.
plan() {
    printf 'symbols: {S: 4096}\ntensors:\n  q: {shape: [4, 32, 1, 128], dtype: bf16}\n  k: {shape: [4, 8, S, 128], dtype: bf16}\n  v: {shape: [4, 8, S, 128], dtype: bf16}\noperators:\n  - {op: attention, in: [q, k, v], out: o}\noutputs: [o]\ncalls: [{kernel: decode_attention, batch: 4, heads: 32, kv_heads: 8, s: S, d: 128%s}]\n' "$1" >w.yaml
    "$FUSESIM" w.yaml --hw h100-sxm5-80gb --launch graph --strategy serving --json out.json >out 2>err
}
seconds() { plan "$1" || complain "$1: $(cat err)"; tr -d '\n\t ' <out.json | sed -n 's/.*"name":"serving","kernels":1,"time_s":\([^,]*\),.*/\1/p'; }
equal=$(seconds '') listed=$(seconds ', lengths: [S, S, S, S]') mixed=$(seconds ', lengths: [64, 4096, 64, 64]') turned=$(seconds ', lengths: [4096, 64, 64, 64]') alone=$(seconds ', lengths: [1, 1, 1, 1]')
[ -n "$equal" ] && [ "$equal" = "$listed" ] || complain "lengths that are equal: $equal, $listed"
[ "$mixed" = "$turned" ] || complain "the order of lengths matters: $mixed, $turned"
awk -v all="$equal" -v one="$mixed" -v none="$alone" 'BEGIN { exit !(none < one && one < all) }' || complain "one long request of four: $alone, $mixed, $equal"

# refused WANTED KEYS
refused() {
    plan "$2"
    [ $? = 65 ] || complain "$2 is not refused"
    grep -qF "$1" err || complain "$2: $(cat err)"
}
refused "w.yaml:9:93: error: 'lengths' wants a list with the cached tokens of each of 4 requests; found 3" ', lengths: [1, 2, 3]'
refused "'lengths' is 4097; wants 1 to 4096" ', lengths: [1, 2, 3, 4097]'
refused "'lengths' is 0; wants 1 to 4096" ', lengths: [1, 2, 3, 0]'
refused "'lengths' has each request's tokens, 'spread' draws them: one of both" ', lengths: [1, 2, 3, 4], spread: 9'
refused "'window' is -1; wants 0 to" ', window: -1'
refused "did you mean 'window'?" ', windw: 4'
[ "$failures" = 0 ]
