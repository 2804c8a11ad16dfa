#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A folder of src includes only itself and the folders before it. What stands beside the folders is below `command`, which includes predict.h and regions.h; measurements
# are predicted and reports show a prediction, so both include predict.h too. predict.c and regions.c include what is below `command`, main.c all. One file each
# knows libyaml and cJSON.
set -u
cd "${SOURCE_DIR:?}/src" || exit 70

find . -name '*.[ch]' -o -name '*.def' | sed 's|^\./||' | LC_ALL=C sort | tr '\n' '\0' | xargs -0 awk '
BEGIN {
    layers = split("base input hw graph fusion cost search emit measure validate report command", name, " ")
    for (i = 1; i <= layers; i++) level[name[i]] = i
    beside["predict.h"] = " measure report command "
    beside["regions.h"] = " command "
}
function complain(why) { printf "src/%s:%d: %s: %s\n", FILENAME, FNR, why, $0; bad = 1 }
FNR == 1 {
    files++
    if (split(FILENAME, part, "/") > 1) {
        folder = part[1]
        here = level[folder]
        if (!here) complain("folder " folder "/ has no place in the order of layers")
    } else {
        folder = ""
        here = FILENAME == "main.c" ? layers + 1 : level["command"] - 1
    }
}
/^[ \t]*#[ \t]*include[ \t]/ {
    match($0, /[<"][^>"]*[>"]/)
    system_header = substr($0, RSTART, 1) == "<"
    file = substr($0, RSTART + 1, RLENGTH - 2)
    if (file == "yaml.h" && system_header && FILENAME != "input/yaml.c") complain("only input/yaml.c includes <yaml.h>")
    if (file ~ /cJSON/ && FILENAME != "report/json.c" && FILENAME != "measure/kineto.c") complain("only report/json.c, which writes, and measure/kineto.c, which reads, include cJSON")
    if (system_header || file ~ /cJSON/) next
    top = file
    if (file ~ /\.\./) complain("includes are relative to src/")
    else if (!sub(/\/.*/, "", top)) { if (folder != "" && !(file in beside && index(beside[file], " " folder " "))) complain(folder "/ includes a file of no layer") }
    else if (!(top in level)) complain(top "/ is no layer")
    else if (level[top] > here) complain(folder "/ comes before " top "/")
}
END {
    if (!files) { print "no sources"; bad = 1 }
    exit bad
}'
