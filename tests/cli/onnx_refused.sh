#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A hostile or damaged ONNX file ends the program with status 65 and one line that says what is wrong and where.
# depends: memory cost: 3
set -u
: "${FUSESIM:?}" "${SOURCE_DIR:?}" "${PYTHON:?}"
export LC_ALL=C COLUMNS=80
unset FUSESIM_HWMODELS
complain() { echo "FAILED: $1" >&2; echo "$1" >>failures; }

# refused FILE MESSAGE: what the program says of the file, behind its name.
refused() {
    timeout 20 "$FUSESIM" "$1" --hw t4 --dim n=2 </dev/null >out 2>err
    local status=$?
    [ $status = 65 ] || complain "$1: exit status $status"
    [ ! -s out ] || complain "$1: it also prints $(head -c 200 out)"
    [ "$(cat err)" = "$1: $2" ] || complain "$1: it says '$(head -c 600 err)'"
}

"$PYTHON" "$SOURCE_DIR/tests/fuzz/onnx_seeds.py" . || complain 'no models'
for model in "$SOURCE_DIR"/tests/fuzz/corpus/onnx/*; do
    cmp -s "$model" "${model##*/}" || complain "$model is not what onnx_seeds.py writes"
done
refused cyclic "error: node 1 'Relu' needs its own result: the graph has a cycle"
refused dangling "node 0 'Add': error: Add: it reads 'nowhere', which is no input and nothing makes"
refused huge "error: dimension 0 of input 'x' is 1099511627776"
refused negative "error: dimension 0 of input 'x' is -4"
refused nested 'error: graph.node[0].attribute[0].g. ... .node[0].attribute[0].g.node[0], byte 2273: messages nest more than 200 deep'
refused recursive "node 0 'Block': error: Block: calls of local functions nest deeper than 64"
refused sequence "error: input 'x' is a sequence, whose length the file does not say; wanted a tensor"
refused optional "error: input 'x' is optional, and may be absent; wanted a tensor"
refused twice "error: two initializers are called 'w'"

# Cut anywhere: read as far as it is whole, or refused.
bytes=$(wc -c <mlp) good=0
for ((cut = 2; cut < bytes; cut += 6)); do
    head -c $cut mlp >cut.onnx
    timeout 20 "$FUSESIM" cut.onnx --hw t4 --dim n=2 --quiet </dev/null >out 2>err
    status=$?
    case $status in
    0) good=$((good + 1)) ;;
    65) [ "$(wc -l <err)" = 1 ] || complain "cut at $cut, it says '$(cat err)'" ;;
    *) complain "cut at $cut: exit status $status" ;;
    esac
done
[ $good -lt 3 ] || complain "$good of the files that are cut are read"

# 4 MB of nodes of two bytes.
"$PYTHON" - <<'END'
nodes = b'\x0a\x00' * (2 << 20)
size, length = len(nodes), b''
while size > 127:
    length, size = length + bytes([size & 127 | 128]), size >> 7
open('bloated', 'wb').write(b'\x08\x08\x3a' + length + bytes([size]) + nodes)
END
refused bloated 'error: graph, byte 4194309: so many tiny parts that they take more than 12 bytes of memory for each byte of the file'
rm -f bloated
[ ! -s failures ]
