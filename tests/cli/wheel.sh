#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# depends: once cost: 5
# The Python wheel of the installed program: the same bytes twice, installed by pip without network, used as a command and as a module, type-checked where mypy is, removed.
set -u
: "${FUSESIM:?}" "${SOURCE_DIR:?}"
export LC_ALL=C PIP_DISABLE_PIP_VERSION_CHECK=1 PYTHONDONTWRITEBYTECODE=1
unset COLUMNS FUSESIM_HWMODELS PYTHONPATH SOURCE_DATE_EPOCH
built=$(dirname "$FUSESIM")
python=${PYTHON:-python3}
"$python" -c 'import pip, venv, zipfile' 2>/dev/null || { echo 'no Python with venv and pip'; exit 77; }
command -v ldd >/dev/null || { echo 'no ldd'; exit 77; }
[ -x "$built/installed/fusesim" ] || { echo 'no installed program was built'; exit 77; }
failures=0
complain() { echo "FAILED: $1" >&2; [ ! -s log ] || tail -n 5 log >&2; failures=$((failures + 1)); }

mkdir -p root/bin root/share/fusesim && cp "$built/installed/fusesim" root/bin/ && cp -r "$SOURCE_DIR/hwmodels" "$SOURCE_DIR/workloads" "$SOURCE_DIR/systems" root/share/fusesim/ || exit 1
"$python" "$SOURCE_DIR/tools/wheel.py" root one >log 2>&1 && "$python" "$SOURCE_DIR/tools/wheel.py" root two >>log 2>&1 || complain 'tools/wheel.py'
cmp -s one/*.whl two/*.whl || complain 'two wheels of one program differ'
"$python" "$SOURCE_DIR/tools/wheel.py" nowhere three >log 2>&1 && complain 'a wheel of nothing'

"$python" -m venv --without-pip env >log 2>&1 || { echo 'venv makes no environment here'; exit 77; }
"$python" -m pip --python env/bin/python install --no-index --no-deps one/*.whl >log 2>&1 || { complain 'pip install'; exit 1; }
mv root gone
mkdir empty && cd empty || exit 1
unset FUSESIM # $FUSESIM is the module's, too
../env/bin/fusesim mlp --hw l4 --quiet >out 2>../log && grep -q '^mlp on l4: optimal ' out || complain 'the command of the wheel'
../env/bin/python -m fusesim --version >out 2>../log || complain 'python -m fusesim'
cat >use.py <<'END'
import json
import subprocess
import sys

import fusesim

one = fusesim.plan("mlp", "l4", set={"M": 128})
said = json.loads(subprocess.run([sys.argv[1], "mlp", "--hw", "l4", "--set", "M=128", "--json", "-"], check=True, capture_output=True).stdout)["plans"][0]
assert one.gpu == "l4" and one.workload == "mlp" and one.strategy == "optimal" and one.fits
assert abs(sum(k.time_s for k in one.kernels) / one.time_s - 1) < 1e-9 and one.time_s == one.strategies["optimal"].time_s
assert one.likely_s.low < one.time_s < one.likely_s.high and one.strategies["eager"].speedup == 1
assert one.json["strategies"] == said["strategies"] and len(one.kernels) == len(said["plan"]["kernels"]) == one.strategies["optimal"].kernels
assert len(one.refusals) == len(said["refusals"]) and all(k.operators and k.label for k in one.kernels)
text = "tensors: {x: {shape: [64], dtype: f32}}\noperators: [{op: exp, in: x, out: y}]\noutputs: [y]\n"
assert [p.gpu for p in fusesim.plans("-", ["t4", "l4"], text=text)] == ["t4", "l4"]
for arguments, status, words in (("nothing", "l4"), 66, "nothing"), (("mlp", "l5"), 66, "l5"):
    try:
        fusesim.plan(*arguments)
        raise SystemExit(f"{arguments}: no error")
    except fusesim.Error as e:
        assert e.status == status and words in str(e), (e.status, e)
assert fusesim.version() in one.json.get("fusesim", fusesim.version())
try:
    one.time_s = 0  # type: ignore[misc]
    raise SystemExit("a plan can be changed")
except AttributeError:
    pass
END
../env/bin/python use.py "$built/fusesim" >../log 2>&1 || complain 'the module'
if "$python" -c 'import mypy' 2>/dev/null; then
    "$python" -m mypy --strict --no-incremental --cache-dir=/dev/null "$SOURCE_DIR/python/fusesim/__init__.py" >../log 2>&1 || complain 'mypy'
else
    echo 'no mypy: types are not checked'
fi
cd ..
"$python" -m pip --python env/bin/python uninstall -y fusesim >log 2>&1 || complain 'pip uninstall'
[ -z "$(find env -iname '*fusesim*')" ] || complain "left behind: $(find env -iname '*fusesim*' | head -3)"
exit $((failures > 0))
