#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Times in reports have the unit that fits, three or four digits, and no exponent. No report that is shipped has one. Needs python3.
set -u
: "${SOURCE_DIR:?}"
command -v python3 >/dev/null || { echo "needs python3"; exit 77; }
PYTHONDONTWRITEBYTECODE=1 python3 - "$SOURCE_DIR/bench" <<'END' || exit 1
import sys
sys.path.insert(0, sys.argv[1])
from written import duration
wrong = 0
for seconds, digits, want in ((1.69, 3, "1.69 s"), (7.92, 3, "7.92 s"), (119.1, 3, "119 s"), (1234.5, 3, "1230 s"), (0.06034, 4, "60.34 ms"), (0.06034, 3, "60.3 ms"),
                              (0.0043221, 4, "4.322 ms"), (823.3e-6, 4, "823.3 us"), (999.96e-6, 4, "1.000 ms"), (999.94e-6, 4, "999.9 us"), (4.1e-3, 3, "4.10 ms"),
                              (9.4891e-6, 4, "9.489 us"), (73.5e-9, 3, "73.5 ns"), (0.25e-9, 3, "0.250 ns"), (0, 3, "0 ns")):
    said = duration(seconds, digits)
    if said != want:
        print(f"{seconds} s with {digits} digits: {said}, not {want}")
        wrong = 1
sys.exit(wrong)
END
