#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# depends: once cost: 1
# Every number that the cost model rests on is a row of a table, with its unit and its source: a key of a hardware file, or a row of one of the .def tables below.
# Fails on a row without a source, on a constant that nothing uses, and on a floating literal in the model's code that is in no table.
set -u
cd "${SOURCE_DIR:?}" || exit 70
tables="src/input/constants.def src/cost/constants.def src/cost/chain.def src/vendor/constants.def src/cost/cudnn.def src/vendor/flash_attention.def src/vendor/library.def
 src/evidence/constants.def src/plan/rivals/constants.def src/plan/rivals/xla.def src/plan/compile_cost.def src/serving/constants.def src/serving/engines.def src/model/models.def"
bad=0

# A row's last string is its source; of FSIM_ATTENTION, which ends with scalars, its only one. A source names something.
# shellcheck disable=SC2086
awk '
/\/\*/ { comment = 1 }
comment { if (/\*\//) comment = 0; next }
/^FSIM_[A-Z_]+\(/ { row = ""; at = FILENAME ":" FNR }
{ row = row $0 }
/\)$/ && row != "" {
    strings = split(row, part, "\"")
    source = part[strings - 1]
    wanted = row ~ /^FSIM_(CONSTANT|COUNT)\(/ ? 5 : 3
    if (strings < wanted || length(source) < 12 || source ~ /^ *$/) {
        print at ": no source: " row
        bad = 1
    }
    rows++
    row = ""
}
END {
    if (rows < 150) { print "found " rows + 0 " rows only"; bad = 1 }
    exit bad
}' $tables || bad=1

# shellcheck disable=SC2086
unused=$(LC_ALL=C comm -23 <(sed -n 's/^FSIM_CO[A-Z]*(\([a-zA-Z_0-9]*\),.*/\1/p' $tables | LC_ALL=C sort -u) \
    <(find src -name '*.[ch]' -exec cat {} + | tr -cs 'A-Za-z_0-9' '\n' | LC_ALL=C sort -u))
[ -z "$unused" ] || { echo "nothing uses: $unused"; bad=1; }

# Literals that are no figure of the model: halves and doubles, a tick, and those named here with the reason.
allowed='^(0\.0|0\.5|0\.25|1\.0|2\.0|4\.0|1e-15)$'
find src/input/routing.c src/cost src/vendor src/evidence/harness.c src/kernel src/plan/rivals src/plan/compile_cost.c src/plan/price/spread.c src/hw/relatives.c -name '*.[ch]' |
    LC_ALL=C sort | xargs awk -v allowed="$allowed" '
FNR == 1 { comment = 0 }
{
    line = $0
    gsub(/"([^"\\]|\\.)*"/, "\"\"", line)
    while (1) { # comments out
        if (comment) {
            if (!match(line, /\*\//)) { line = ""; break }
            line = substr(line, RSTART + 2)
            comment = 0
        }
        if (!match(line, /\/\*/)) break
        rest = substr(line, RSTART + 2)
        line = substr(line, 1, RSTART - 1)
        if (match(rest, /\*\//)) line = line " " substr(rest, RSTART + 2)
        else comment = 1
    }
    text = line
    while (match(line, /(^|[^A-Za-z_0-9.])([0-9]+\.[0-9]*([eE][-+]?[0-9]+)?|\.[0-9]+|[0-9]+[eE][-+]?[0-9]+)/)) {
        number = substr(line, RSTART, RLENGTH)
        sub(/^[^0-9.]/, "", number)
        line = substr(line, RSTART + RLENGTH)
        if (number ~ allowed) continue
        if (FILENAME == "src/kernel/registers.c" && number == "8.0") continue # NVRTC: 8 + V L, as its comment says
        if (FILENAME == "src/hw/relatives.c" && number == "0.1") continue     # assumed: keeps the weight of a twin finite
        if (FILENAME == "src/plan/compile_cost.c" && number ~ /^1e[46]$/) continue # columns of a table of runs
        printf "%s:%d: %s is in no table of constants: %s\n", FILENAME, FNR, number, text
        bad = 1
    }
}
END { exit bad }' || bad=1
exit $bad
