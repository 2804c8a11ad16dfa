# SPDX-License-Identifier: Apache-2.0
# Sourced by tests that ask for JSON: what they share.
set -u
: "${FUSESIM:?}" "${SOURCE_DIR:?}"
python=${PYTHON:-python3}
export LC_ALL=C
unset COLUMNS NO_COLOR
fail=0
complain() { echo "FAILED: $1"; fail=1; }
# asks COMMAND FILE ARGUMENT...: its JSON in FILE, its text in FILE.out; it ends well.
asks() {
    local command=$1 file=$2
    shift 2
    "$FUSESIM" "$command" "$@" --json "$file" >"$file.out" 2>"$file.err" || complain "exit $?: $command $*: $(cat "$file.err")"
}
# of_schema NAME FILE...: each is of reports/schema/NAME.schema.json, where Python can tell.
of_schema() {
    "$python" - "$SOURCE_DIR/reports/schema/$1.schema.json" "${@:2}" <<'END_OF_PYTHON' || complain "not of the schema of $1: ${*:2}"
import json, sys
try:
    import jsonschema
except ImportError:
    sys.exit(0)
check = jsonschema.Draft202012Validator(json.load(open(sys.argv[1])))
for path in sys.argv[2:]:
    check.validate(json.load(open(path)))
END_OF_PYTHON
}
