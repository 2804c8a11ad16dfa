#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A zip that unpacks to far more than it is, and what is no model whatever its name says, ends the program with status 65 and one line, soon and with little memory.
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
shipped = os.path.join(os.environ["SOURCE_DIR"], "workloads/models/tiny_cnn.")
torch_model, onnx_model = open(shipped + "pt2", "rb").read(), open(shipped + "onnx", "rb").read()

def zipped(*entries):
    with zipfile.ZipFile("made", "w") as z:
        for entry, text in entries:
            z.writestr(entry, text)
    return open("made", "rb").read()

def without(tail):
    with zipfile.ZipFile(shipped + "pt2") as z:
        return zipped(*((name, z.read(name)) for name in z.namelist() if not name.endswith(tail)))

for name, content, message in (
    ("a.pt2", b"x\n", "the file is text; wanted a torch.export archive, a zip ('PK')"),
    ("empty.pt2", b"", "the file is empty; wanted a torch.export archive"),
    ("cut.pt2", torch_model[:len(torch_model) // 2], "this zip has no end: of "),
    ("damaged.pt2", b"\1\0\2", "begins as no model does"),
    ("noise.pt2", b"\x9b\xe1\x07k\x12\xf3", "begins as no model does"),
    ("without.pt2", without("model.json"), "this is a zip without a program (models/model.json)"),
    ("nothing.pt2", zipped(), "this is an empty zip"),
    ("script.pt", zipped(("m/data.pkl", b""), ("m/code/__torch__.py", b"")), "this is a TorchScript archive"),
    ("weights.pt", zipped(("m/data.pkl", b""), ("m/version", b"3")), "this is a checkpoint: weights without a graph"),
    ("blank.pt2", zipped(("m/models/model.json", b"")), "the program in the archive is empty"),
    ("list.pt2", zipped(("m/models/model.json", b"[]")), "is JSON, but no object"),
    ("half.pt2", zipped(("m/models/model.json", b'{"graph_module": ')), "cut short or damaged"),
    ("newer.pt2", zipped(("m/models/model.json", b'{"schema_version": {"major": 99, "minor": 0}}')), "is of schema 99.0"),
    ("old.pt", b"\x80\x02}q\0.", "this is a Python pickle, as torch.save wrote it: weights without a graph"),
    ("a.onnx", b"x\n", "the file is text; wanted an ONNX model, a protocol buffer"),
    ("empty.onnx", b"", "the file is empty; wanted an ONNX model"),
    ("cut.onnx", onnx_model[:len(onnx_model) // 2], "cut short or damaged"),
    ("page.onnx", b"<!DOCTYPE html>\n<html></html>\n", "this is a web page; download the file itself"),
    ("pointer.onnx", b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "this is a pointer of Git LFS"),
    ("m.safetensors", b"\x0a" + b"\0" * 7 + b'{"a":{}}  ', "this is a safetensors file: weights without a graph"),
    ("m.h5", b"\x89HDF\r\n\x1a\n", "this is an HDF5 file, as Keras writes it"),
    ("m.gguf", b"GGUF\3\0\0\0", "this is a GGUF file: weights without a graph"),
    ("m.tflite", b"\x1c\0\0\0TFL3", "this is a TensorFlow Lite model"),
    ("m.pt2.gz", b"\x1f\x8b\x08\0", "this is packed by gzip; unpack it first"),
):
    with open(name, "wb") as f:
        f.write(content)
    run = subprocess.run([sys.argv[1], name, "--hw", "t4"], capture_output=True, text=True, timeout=60)
    lines = run.stderr.splitlines()
    if run.returncode != 65 or len(lines) != 1 or not lines[0].startswith(name + ": error: ") or message not in lines[0] or run.stdout:
        print(f"FAILED: {name}: status {run.returncode}: {run.stderr[:300]}")
        bad = 1
    os.remove(name)
tree = b"tensors:\n  x: {shape: [8], dtype: f32}\noperators:\n  - {op: relu, in: x, out: y}\n"
with open("tree.onnx", "wb") as f: # content decides, not the name
    f.write(tree)
if subprocess.run([sys.argv[1], "tree.onnx", "--hw", "t4"], capture_output=True, timeout=60).returncode != 0:
    print("FAILED: tree.onnx: a workload in YAML is one whatever its name is")
    bad = 1
most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10
if most > 512 and b"__asan_init" not in open(sys.argv[1], "rb").read():
    print(f"FAILED: {most} MiB")
    bad = 1
sys.exit(bad)
END
