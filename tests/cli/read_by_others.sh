#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What others make of our outputs, whatever the names are: Graphviz draws --dot with a cluster for each kernel, libxml2 reads --junit by a JUnit schema, a parser of CommonMark
# finds in --markdown the tables and names that the JSON has, and a shell reads the commands of the next steps as one word for each name. ./test installs none of these: what is not
# there is said and left out. JUNIT_XSD names a schema, as junit-10.xsd of Jenkins' xunit plugin. JSON is validated by cli.json_schema, HTML by cli.report_opened, traces by cli.trace_opened.
# depends: once cost: 2
set -u
: "${FUSESIM:?}" "${SOURCE_DIR:?}" "${PYTHON:=python3}"
export LC_ALL=C.UTF-8
unset COLUMNS FUSESIM_HWMODELS
hostile=$SOURCE_DIR/tests/check/hostile.yaml
fail=0 tried=0
complain() { echo "FAILED: $1"; fail=1; }
# runs STATUS ARGUMENT...
runs() {
    local status=0
    timeout 240 "$FUSESIM" "${@:2}" >out 2>err || status=$?
    [ $status = "$1" ] || complain "exit status $status, wanted $1: ${*:2}: $(cat err)"
}
runs 0 bert_layer --hw a100-sxm4-40gb --dot layer.dot --json layer.json --markdown layer.md
runs 0 bert_12_layers --hw a100-sxm4-40gb --dot layers.dot --json layers.json --markdown layers.md
runs 0 "$hostile" --hw t4 --dot hostile.dot --json hostile.json --markdown hostile.md --junit hostile.xml
runs 1 mlp --hw t4,l4 --gate time=1ns --gate kernels=100 --junit gates.xml --markdown gates.md --json gates.json
runs 0 diff gates.json gates.json --gate time=3% --gate bytes=1% --junit diff.xml --markdown diff.md
runs 0 validate --measurements "$SOURCE_DIR/validate/measured/model_pairs.csv" --gate mape=10% --gate inductor:speedup=8% --junit rows.xml --markdown rows.md
if command -v "${CC:-cc}" >/dev/null; then
    CC="${CC:-cc} -O1" runs 0 validate seeds/softmax_primitive --set M=64 --device cpu --hw l4 --strategies eager,optimal --samples 3 --budget 0.3 --threads 1 --junit ran.xml --markdown ran.md
fi

if command -v dot >/dev/null; then
    tried=$((tried + 1))
    for name in layer layers hostile; do
        dot -Tsvg $name.dot >$name.svg 2>err && [ ! -s err ] || complain "dot on $name: $(cat err)"
    done
    "$PYTHON" - <<'END' || complain 'what dot draws'
import json, re, xml.etree.ElementTree as tree
at = "{http://www.w3.org/2000/svg}"
for name, of_twelve in ("layer", False), ("layers", True), ("hostile", False):
    root = tree.parse(name + ".svg").getroot()
    words = [t.text or "" for t in root.iter(at + "text")]
    kernels = json.load(open(name + ".json"))["plans"][0]["plan"]["kernels"]
    shown = kernels[:12] if of_twelve else kernels
    clusters = [g for g in root.iter(at + "g") if g.get("class") == "cluster"]
    assert len(clusters) == len(shown), (name, len(clusters), len(shown))
    for k in shown:
        assert any(w.startswith(f"{k['id']}: ") for w in words), (name, k["id"])
    assert not of_twelve or sum(w.endswith(" x 12") for w in words) == 11, words
    assert not [e for e in root.iter() if e.tag in (at + "script", at + "image")], name
assert any("<script>alert(1)</script>" in (t.text or "") for t in tree.parse("hostile.svg").getroot().iter(at + "text"))
END
else
    echo 'no dot: the graphs were not drawn'
fi

if command -v xmllint >/dev/null; then
    tried=$((tried + 1))
    for file in *.xml; do
        xmllint --noout ${JUNIT_XSD:+--schema "$JUNIT_XSD"} "$file" 2>err || complain "xmllint on $file: $(cat err)"
    done
    [ "${JUNIT_XSD-}" ] || echo 'JUNIT_XSD names no schema: JUnit is only well-formed'
else
    echo 'no xmllint: JUnit was not read'
fi

if "$PYTHON" -c 'import markdown_it' 2>/dev/null; then
    tried=$((tried + 1))
    "$PYTHON" - <<'END' || complain 'what a parser of Markdown reads'
import glob, html, json, re, shlex
from html.parser import HTMLParser
from markdown_it import MarkdownIt
class Reader(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.rows, self.text, self.code, self.inside = set(), [], "", [], []
    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.inside.append(tag)
        if tag == "table": self.rows.append([])
        if tag == "tr": self.rows[-1].append([])
        if tag in ("td", "th"): self.rows[-1][-1].append("")
        if tag == "code": self.code.append("")
    def handle_endtag(self, tag):
        self.inside.pop()
    def handle_data(self, data):
        self.text += data
        if "td" in self.inside or "th" in self.inside: self.rows[-1][-1][-1] += data
        if self.inside[-1:] == ["code"]: self.code[-1] += data
plain = {"h1", "h2", "h3", "h4", "p", "ul", "li", "ol", "code", "em", "strong", "table", "thead", "tbody", "tr", "th", "td", "details", "summary", "br", "hr"}
for file in sorted(glob.glob("*.md")):
    page = Reader()
    page.feed(MarkdownIt("commonmark").enable("table").render(open(file).read()))
    assert page.tags <= plain and page.rows, (file, page.tags - plain)
    for table in page.rows:
        assert len({len(row) for row in table}) == 1, (file, table)
    if file in ("layer.md", "hostile.md"):
        plan = json.load(open(file[:-2] + "json"))["plans"][0]
        assert [r[0] for r in page.rows[0][1:]] == [s["name"] for s in plan["strategies"]], page.rows[0]
        assert [int(r[0]) for r in page.rows[1][1:]] == [k["id"] for k in plan["plan"]["kernels"]], page.rows[1]
    if file == "hostile.md":
        for name in "</title><script>alert(1)</script>", "--><!-- ]]> &amp; %s%n <script>", "<svg/onload=alert(5)>", "</template><img src=x onerror=alert(8)>":
            assert name in page.text, name
        names = {x["tensor"] for k in plan["plan"]["kernels"] for x in k["outputs"]}
        (command,) = [c for c in page.code if " explain " in c]
        words = shlex.split(command)
        assert words[:2] == ["fusesim", "explain"] and len(words) == 7 and {w.removesuffix("/max") for w in words[5:]} <= names, (words, names)
END
else
    echo 'no markdown_it (python3-markdown-it): Markdown was not read'
fi
[ $tried -gt 0 ] || [ $fail != 0 ] || { echo 'needs dot, xmllint or markdown_it'; exit 77; }
exit $fail
