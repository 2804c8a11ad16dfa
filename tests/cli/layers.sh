#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Layers. A folder includes only itself and the folders before it, in the order of `names` below: those of src/, their parts where a folder has some, and
# validate/'s. src/predict.h and src/regions.h stand beside the folders, above plan/: validate, evidence, report and command may include them. main.c includes all.
# One file each knows libyaml, libzip and, of what reads, cJSON. Only main.c reads the environment (and validate/, which looks for compilers and libraries); only it and
# the commands end the process and know exit codes.
# Schedules come from fsim_schedule_of, by the template's row.
# depends: once
set -u
cd "${SOURCE_DIR:?}" || exit 70

find src validate -name '*.[ch]' -o -name '*.def' | LC_ALL=C sort | tr '\n' '\0' | xargs -0 awk '
BEGIN {
    names = "base input model hw graph import fusion kernel cost vendor plan/price plan/search plan/rivals plan emit evidence serving diff"
    names = names " validate/device validate/reference validate/trial validate/cpu validate/cuda report api command"
    layers = split(names, name, " ")
    for (i = 1; i <= layers; i++) level[name[i]] = i
    beside = level["plan"] + 0.5 # predict.h, regions.h
}
function complain(why) { printf "%s:%d: %s: %s\n", FILENAME, FNR, why, $0; bad = 1 }
# The layer of a path: its folder, below src/ where it is there.
function layer_of(path) {
    sub(/^src\//, "", path)
    if (path == "predict.h" || path == "regions.h" || path == "predict.c" || path == "explain.c" || path == "regions.c") return beside
    if (path == "main.c") return layers + 1
    if (!sub(/\/[^\/]*$/, "", path)) return 0
    while (!(path in level) && sub(/\/[^\/]*$/, "", path)) { }
    return level[path]
}
FNR == 1 {
    files++
    here = layer_of(FILENAME)
    if (!here) complain("its folder has no place in the order of layers")
}
/[^a-z_.](secure_)?getenv\(/ && FILENAME != "src/main.c" && FILENAME !~ /^validate\// { complain("only main.c and validate/ read the environment") }
/(^|[^a-z_.>])_?(exit|abort)\(/ && FILENAME != "src/main.c" && FILENAME !~ /^src\/command\// { complain("only commands end the process") }
/fsim_(tiling_lay_out|chained_lay_out|lay_out_[a-z]+)\(/ && FILENAME !~ /^src\/kernel\// { complain("a schedule comes from the function of its template: fsim_schedule_of") }
/FSIM_EXIT_[A-Z]/ && FILENAME != "src/main.c" && FILENAME !~ /^src\/command\// { complain("only commands know exit codes") }
/^[ \t]*#[ \t]*include[ \t]/ {
    match($0, /[<"][^>"]*[>"]/)
    system_header = substr($0, RSTART, 1) == "<"
    file = substr($0, RSTART + 1, RLENGTH - 2)
    if (file == "yaml.h" && system_header && FILENAME != "src/input/yaml.c") complain("only input/yaml.c includes <yaml.h>")
    if (file ~ /cJSON/ && FILENAME !~ /^src\/report\/json(_writer)?\.[ch]$/ && FILENAME != "src/evidence/kineto.c" && FILENAME != "src/import/torch/program.c")
        complain("only report/json.c and json_writer, which write, and evidence/kineto.c and import/torch/program.c, which read, include cJSON")
    if (file == "zip.h" && system_header && FILENAME != "src/import/torch/archive.c") complain("only import/torch/archive.c includes <zip.h>")
    if (system_header || file ~ /cJSON/ || file == "fusesim_dialect.h") next
    if (file == "fusesim.h") next # the public header stands below all
    if (file ~ /\.\./) complain("includes are relative to src/ or to the root")
    else if (!layer_of(file)) complain("includes a file of no layer")
    else if (layer_of(file) > here) complain("its layer comes before that of " file)
}
END {
    if (!files) { print "no sources"; bad = 1 }
    exit bad
}'
