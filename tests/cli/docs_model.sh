#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# depends: once
# The tables in docs/MODEL.md are those of the .def files that the program is built from. --write puts them there.
#   <!-- rows: FILE MACRO[,MACRO] | HEADER | HEADER ... -->   what follows, up to <!-- end -->, is the table of these rows
# Also: every fitted scalar is named in the text that says what it is fitted to, and every path named in the document exists.
set -u
cd "${SOURCE_DIR:?}" || exit 70
doc=docs/MODEL.md
made=$(mktemp) || exit 70
trap 'rm -f "$made"' EXIT

awk '
# The arguments of a macro call, from the text between its parentheses: split at commas outside of strings, quotes taken off.
function arguments(text, out,    i, c, n, inside, word) {
    n = 1
    word = ""
    inside = 0
    for (i = 1; i <= length(text); i++) {
        c = substr(text, i, 1)
        if (c == "\\" && inside) { word = word substr(text, ++i, 1); continue }
        if (c == "\"") { inside = !inside; continue }
        if (c == "," && !inside) { out[n++] = word; word = ""; continue }
        word = word c
    }
    out[n] = word
    for (i = 1; i <= n; i++) {
        gsub(/^[ \t]+|[ \t]+$/, "", out[i])
        gsub(/[ \t]+/, " ", out[i])
        gsub(/\|/, "\\|", out[i])
    }
    return n
}
function table(file, macros, headers,    name, wanted, columns, i, line, row, open, argument, n, count, rest, text) {
    n = split(macros, name, ",")
    for (i = 1; i <= n; i++) wanted[name[i]] = 1
    columns = split(headers, name, "|")
    line = "|"
    rest = "|"
    for (i = 1; i <= columns; i++) {
        gsub(/^[ \t]+|[ \t]+$/, "", name[i])
        line = line " " name[i] " |"
        rest = rest "---|"
    }
    print line
    print rest
    open = 0
    while ((getline line < file) > 0) {
        if (!open && match(line, /^FSIM_[A-Z_]+\(/)) {
            open = substr(line, 1, RLENGTH - 1) in wanted ? 1 : 2
            row = substr(line, RLENGTH + 1)
        } else if (open) {
            row = row " " line
        }
        if (open && match(row, /\)[ \t]*(\/\*.*)?$/)) {
            row = substr(row, 1, RSTART - 1)
            if (open == 1) {
                n = arguments(row, argument)
                text = "|"
                for (i = 1; i < columns; i++) text = text " " argument[i] " |"
                rest = argument[columns]
                for (i = columns + 1; i <= n; i++) rest = rest ", " argument[i]
                print text " " rest " |"
                count++
            }
            open = 0
        }
    }
    close(file)
    if (!count) { print "no rows of " macros " in " file > "/dev/stderr"; bad = 1 }
}
/^<!-- rows: / {
    print
    text = $0
    sub(/^<!-- rows: /, "", text)
    sub(/ -->$/, "", text)
    at = index(text, "|")
    split(substr(text, 1, at - 1), word, " ")
    print ""
    table(word[1], word[2], substr(text, at + 1))
    print ""
    skipping = 1
    next
}
/^<!-- end -->/ { skipping = 0 }
!skipping { print }
END { exit bad || skipping }' "$doc" >"$made" || { echo "$doc: a table can't be made"; exit 1; }

if [ "${1-}" = --write ]; then
    cp "$made" "$doc"
    exit 0
fi
bad=0
diff -u "$doc" "$made" || { echo "$doc differs from the tables that the program is built from: SOURCE_DIR=. tests/cli/docs_model.sh --write"; bad=1; }

# What a scalar is fitted to stands between these two headings.
text=$(sed -n '/^## Fitted scalars/,/^## /p' "$doc" | grep -v '^| [A-Z]')
for key in $(sed -n 's/^FSIM_FIT([A-Z_0-9]*, *"\([a-z_0-9]*\)".*/\1/p' src/hw/hw.def); do
    echo "$text" | grep -qw "$key" || { echo "$doc: $key is fitted to nothing"; bad=1; }
done
for group in $(sed -n 's/^    {"\([a-z_0-9]*\)",$/\1/p' src/evidence/calibrate.c); do
    echo "$text" | grep -qw "$group" || { echo "$doc: no word of the fit group $group"; bad=1; }
done
for path in $(grep -oE '`(src|validate|bench|tests|hwmodels|docs)/[A-Za-z_0-9./]*`' "$doc" | tr -d '`' | sort -u); do
    [ -e "$path" ] || { echo "$doc: no such file: $path"; bad=1; }
done
exit $bad
