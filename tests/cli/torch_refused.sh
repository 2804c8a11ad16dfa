#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A zip that unpacks to far more than it is ends the program with status 65 and one line, soon and with little memory.
# depends: once cost: 2
set -u
: "${FUSESIM:?}" "${SOURCE_DIR:?}" "${PYTHON:?}"
export LC_ALL=C
unset FUSESIM_HWMODELS
"$FUSESIM" "$SOURCE_DIR/workloads/models/tiny_cnn.pt2" --hw t4 --dim s40=8 --quiet >/dev/null 2>err || { cat err; grep -q libzip err && exit 77; exit 1; }
"$PYTHON" - "$FUSESIM" <<'END'
import os, resource, subprocess, sys, zipfile

def bomb(name, unit, times, before=b"", after=b""):
    with zipfile.ZipFile(name, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as z:
        with z.open("m/models/model.json", "w", force_zip64=True) as f:
            f.write(before)
            for _ in range(times):
                f.write(unit * (1 << 20))
            f.write(after)
    return name

bad, whole = 0, b'{"graph_module": ['
for name, message in (
    (bomb("long", b" ", 160), "has 167772160 bytes; at most 134217728 are read"),
    (bomb("many", b"1,", 40, whole, b"1]}"), "the program's JSON has more than 4194304 values"),
    (bomb("empty", b"[],", 24, whole, b"1]}"), "the program's JSON has more than 4194304 values"),
    (bomb("deep", b"[", 8, whole), "the program's JSON "),
    (bomb("blank", b" ", 100), "the program in the archive is no JSON"),
):
    packed = os.path.getsize(name)
    run = subprocess.run([sys.argv[1], name, "--hw", "t4"], capture_output=True, text=True, timeout=60)
    lines = run.stderr.splitlines()
    if run.returncode != 65 or len(lines) != 1 or not lines[0].startswith(name + ": error: ") or message not in lines[0] or run.stdout:
        print(f"FAILED: {name} ({packed} bytes): status {run.returncode}: {run.stderr[:300]}")
        bad = 1
    os.remove(name)
most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10
if most > 512 and b"__asan_init" not in open(sys.argv[1], "rb").read():
    print(f"FAILED: {most} MiB")
    bad = 1
sys.exit(bad)
END
