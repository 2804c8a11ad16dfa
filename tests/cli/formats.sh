#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# depends: once
# docs/FORMATS.md and workloads/README.md hold the tables that the program prints. FORMATS_WRITE=1 writes them into them.
set -u
: "${FUSESIM:?}" "${SOURCE_DIR:?}"
export LC_ALL=C
unset COLUMNS FUSESIM_HWMODELS
failures=0

complain() {
    echo "FAILED: $1" >&2
    failures=$((failures + 1))
}

# refresh PAGE: the page with what each mark's command prints between the mark and its end, compared, or written.
refresh() {
    local page=$SOURCE_DIR/$1 inside='' line words
    : >wanted.md
    while IFS= read -r line; do
        if [ "$line" = '<!-- end -->' ]; then inside=; fi
        [ "$inside" ] || printf '%s\n' "$line" >>wanted.md
        case $line in
        '<!-- generated: fusesim '*' -->')
            words=${line#'<!-- generated: fusesim '}
            # shellcheck disable=SC2086
            "$FUSESIM" ${words%' -->'} >>wanted.md || complain "fusesim ${words%' -->'}"
            inside=yes
            ;;
        esac
    done <"$page"
    if [ "${FORMATS_WRITE:-}" ]; then
        cp wanted.md "$page"
    elif ! diff "$page" wanted.md >difference; then
        complain "$1 is out of date (FORMATS_WRITE=1 ctest -R cli.formats mends it): $(head -20 difference)"
    fi
}
refresh workloads/README.md
[ "$(grep -c '^| [a-z].*|' wanted.md)" -gt 80 ] || complain 'the table of workloads is short'
[ "$(find "$SOURCE_DIR/workloads" -name '*.yaml' | wc -l)" = "$(sed -n '/^<!-- generated/,$p' wanted.md | grep -c '^| [a-z][a-z0-9_/]* | [0-9]')" ] || complain 'not every shipped workload is in the table'
refresh docs/FORMATS.md
[ "$(grep -c '^<!-- generated' wanted.md)" -ge 2 ] || complain 'the page has no generated tables'
grep -q '^| `softmax` |' wanted.md || complain 'the table of operators is empty'

# Every row of the attribute table is taken by some operator.
"$FUSESIM" ops --markdown - >ops.md
sed -n '/^| attribute/,$ s/^| `\([a-z_0-9]*\)`.*/\1/p' ops.md >attributes
[ "$(wc -l <attributes)" -gt 20 ] || complain 'few attributes'
while read -r name; do
    sed '/^| also written/,$d' ops.md | grep -Eq "[\` ]$name[!=,\`]" || complain "no operator takes '$name'"
done <attributes

# One operator in full, and as JSON; a name that is none.
"$FUSESIM" ops conv2d >out || complain 'ops conv2d'
grep -q '^  groups (integer; default 1): groups of channels' out || complain 'the attributes of conv2d'
"$FUSESIM" ops conv2d --json - >out || complain 'ops conv2d --json'
grep -q '"name": "stride", "also": \[\], "type": "integer or list", "words": null, "required": false, "default": "1"' out || complain 'JSON of attributes'
"$FUSESIM" ops batch_norm >out || complain 'ops batch_norm'
tr '\n' ' ' <out | grep -Eq 'Inputs: x\[N, C, ...\], then weight\[C\], then bias\[C\], +then both mean\[C\] and variance\[C\]' || complain "the inputs of batch_norm: $(cat out)"
# The order of unlike inputs is told.
"$FUSESIM" ops --json ops.json >out || complain 'ops --json'
"${PYTHON:-python3}" - <<'END' || complain 'the inputs of operators'
import json
for op in json.load(open("ops.json")):
    alike = op["class"] in ("assemble", "opaque", "communication") or op["class"] == "elementwise" and op["least_arguments"] == 1 and op["name"] != "where"
    several = op["most_arguments"] is None or op["most_arguments"] > 1
    assert op["inputs"] is not None or not several or alike, op["name"]
END
"$FUSESIM" ops softmx >out 2>err
[ $? = 2 ] || complain 'an unknown operator: exit status'
grep -q "unknown operator 'softmx'; did you mean 'softmax'" err || complain 'an unknown operator: the message'
"$FUSESIM" hw keys >out || complain 'hw keys'
grep -Eq '^dram_bandwidth +bytes per second +peak, achieved' out || complain 'the keys of hardware files'


# Workloads: all, a folder, one in full, its symbols set, names that are none.
"$FUSESIM" workloads >out || complain 'workloads'
grep -q '^mlp (3 operators, f16; M=4096, H=1024)$' out && grep -q '^  Feed-forward block of a transformer' out || complain 'the list of workloads'
"$FUSESIM" workloads seeds >out && grep -q '^seeds/chain4 ' out && ! grep -q '^ops/' out || complain 'the workloads of a folder'
"$FUSESIM" workloads mlp --set M=8 >out && grep -q '^  x  *input  *f16  *\[8, 1024\]$' out && grep -q '^File: .*/workloads/mlp.yaml$' out || complain "a workload in full: $(cat out)"
"$FUSESIM" workloads bert >out 2>err
[ $? = 66 ] && grep -q 'there are: bert_12_layers, bert_layer, models/bert_large' err || complain "an unknown workload: $(cat err)"
"$FUSESIM" workloads mpl >out 2>err
[ $? = 66 ] && grep -q "did you mean 'mlp'?" err || complain "a misspelt workload: $(cat err)"
"$FUSESIM" qqqq --hw t4 >out 2>err
[ $? = 66 ] && grep -q "cannot read workload 'qqqq': no such file; 'fusesim workloads' lists them" err || complain "a workload of no known name: $(cat err)"
"$FUSESIM" workloads --set M=8 >out 2>err
[ $? = 2 ] && grep -q -- '--set is for one workload' err || complain '--set without a workload'
mkdir workloads && echo 'operators: 3' >workloads/broken.yaml
"$FUSESIM" workloads >out && grep -q "^broken does not load: see 'fusesim workloads broken'" out || complain 'a workload that does not load'
"$FUSESIM" workloads broken >out 2>err
[ $? = 65 ] && grep -q 'workloads/broken.yaml:1' err || complain 'the errors of a workload that does not load'

[ $failures -eq 0 ]
