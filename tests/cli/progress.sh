#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A search past one second tells on a terminal how far it is, in one line that is gone at the end; it says nothing to pipes and files, nor on a terminal that can't rewrite a line.
# depends: once cost: 4
set -u
: "${FUSESIM:?}" "${SOURCE_DIR:?}"
export LC_ALL=C
unset COLUMNS FUSESIM_HWMODELS
"${PYTHON:-python3}" - "$FUSESIM" <<'END'
import json, os, pty, re, signal, subprocess, sys, fcntl, termios, struct, time

program = sys.argv[1]
failed = 0
def complain(what):
    global failed
    failed = 1
    print("FAILED:", what)

# A graph that no search goes through in the time.
lines, seed = ["tensors: {t0: {shape: [512, 512], dtype: f32}, t1: {shape: [512, 512], dtype: f32}}", "operators:"], 0
for i in range(2, 60):
    seed = (seed * 1103515245 + 12345) % 2147483648
    a, b = i - 1 - seed // 65536 % min(i, 20), i - 2 - seed // 1024 % (min(i, 21) - 1)
    if i % 9 == 0:
        lines += [f"  - {{op: sum, in: t{a}, out: s{i}, dim: {i % 2}, keepdim: true}}", f"  - {{op: add, in: [s{i}, t{b}], out: t{i}}}"]
    else:
        lines.append(f"  - {{op: {'mul' if i % 2 else 'add'}, in: [t{a}, t{b}], out: t{i}}}")
open("hard.yaml", "w").write("\n".join(lines) + "\n")

def on_terminal(columns, arguments, term="xterm", interrupt=False):
    """What the program writes to a terminal of that width as stderr, and its exit status; stdout goes to the file `out`."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    with open("out", "w") as out:
        child = subprocess.Popen([program, *arguments], stdout=out, stderr=slave, env={**os.environ, "TERM": term})
    os.close(slave)
    said = b""
    while True:
        try:
            more = os.read(master, 65536)
        except OSError: # the terminal is closed
            break
        if not more:
            break
        said += more
        if interrupt and b"Ctrl-C" in said:
            interrupt = False
            child.send_signal(signal.SIGINT)
    os.close(master)
    return said.decode(), child.wait()

hard = ["hard.yaml", "--hw", "t4"]
for columns in (120, 60):
    said, status = on_terminal(columns, [*hard, "--time-limit", "2.5"])
    shown = [line for line in said.split("\r\033[K") if line]
    if status != 0 or not shown:
        complain(f"nothing is shown in {columns} columns: exit status {status}, {said!r}")
    if any("\n" in line or len(line) >= columns for line in shown):
        complain(f"more than a line of {columns} columns: {shown!r}")
    if not said.endswith("\r\033[K"):
        complain(f"the line is not taken away: {said[-80:]!r}")
    for line in shown:
        pattern = r"\d+ s, \S.*: (no plan yet|best plan [0-9.]+ [mun]?s(, gap [0-9.]+%)?), at most \d+ s more.*; Ctrl-C takes it"
        if columns == 120 and not re.fullmatch(pattern, line):
            complain(f"a line of progress: {line!r}")
    if "stopped by the clock" not in open("out").read().replace("\n  ", " "):
        complain("the clock did not end the search")

# Ctrl-C takes the plan that the line speaks of: a whole answer that says so, and exit status 1.
said, status = on_terminal(120, [*hard, "--time-limit", "60", "--json", "-"], interrupt=True)
plan = json.load(open("out"))["plans"][0]["plan"]
if status != 1 or not plan["interrupted"] or plan["proven"] or not plan["kernels"]:
    complain(f"Ctrl-C: exit status {status}, interrupted {plan['interrupted']}")
if not said.endswith("\r\033[K"):
    complain(f"the line is not taken away after Ctrl-C: {said[-80:]!r}")

if (said := on_terminal(120, [*hard, "--time-limit", "1.5"], term="dumb"))[0]:
    complain(f"a dumb terminal gets {said!r}")
if (said := on_terminal(120, ["hard.yaml", "--hw", "t4", "--search-steps", "1000"]))[0]:
    complain(f"a short search says {said!r}")
piped = subprocess.run([program, *hard, "--time-limit", "1.5"], capture_output=True, text=True)
if piped.stderr or "\033" in piped.stdout:
    complain(f"a pipe gets {piped.stderr!r}")
sys.exit(failed)
END
