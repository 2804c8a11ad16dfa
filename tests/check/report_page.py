# SPDX-License-Identifier: Apache-2.0
"""report_page.py PAGE.html PLAN.json [NAME...]: a page of --report as a browser reads it. Complains of markup that is not well-formed, of whatever could
load or run something that is not fusesim's own, of parts that lack, and of NAMEs that are not there as text."""
import base64, hashlib, html.parser, json, re, sys

VOID = {"meta", "link", "br", "input", "img", "hr"}
bad = 0


def complain(what):
    global bad
    bad += 1
    print("FAILED:", what)


class Reader(html.parser.HTMLParser):
    """Elements with their attributes, and the text in and outside of raw elements."""

    def __init__(self, where):
        super().__init__(convert_charrefs=True)
        self.where, self.stack, self.found, self.text, self.raw = where, [], [], [], []

    def handle_starttag(self, tag, attrs):
        names = [name for name, value in attrs]
        if len(set(names)) != len(names):
            complain(f"{self.where}: <{tag}> has an attribute twice")
        self.found.append((tag, dict(attrs)))
        if tag not in VOID:
            self.stack.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        if not self.stack or self.stack[-1] != tag:
            complain(f"{self.where}: </{tag}> closes {self.stack[-3:]} in line {self.getpos()[0]}")
            return
        self.stack.pop()

    def handle_data(self, data):
        if self.stack and self.stack[-1] in ("script", "style"):
            self.raw.append((self.stack[-1], self.found[-1][1], data))
        else:
            self.text.append(data)

    def handle_comment(self, data):
        complain(f"{self.where}: a comment: {data[:40]}")


def read(text, where):
    reader = Reader(where)
    reader.feed(text)
    reader.close()
    if reader.stack:
        complain(f"{where}: not closed: {reader.stack}")
    for tag, attrs in reader.found:
        for name, value in attrs.items():
            if name.startswith("on") or name in ("style", "srcdoc", "action", "formaction", "xlink:href", "src"):
                complain(f"{where}: <{tag} {name}=...>")
            if name == "href" and not (value.startswith("#") or value == "data:,"):
                complain(f"{where}: a link to {value}")
        if tag in ("iframe", "object", "embed", "base", "form", "img", "foreignobject", "animate", "set", "use"):
            complain(f"{where}: <{tag}>")
    return reader


def hashed(text):
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


def luminance(color):
    parts = [int(color[i:i + 2], 16) / 255 for i in (1, 3, 5)]
    return sum(w * (c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4) for w, c in zip((0.2126, 0.7152, 0.0722), parts))


def contrast(x, y):
    high, low = sorted((luminance(x), luminance(y)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def check_policy(page):
    raw = {kind: [text for k, attrs, text in page.raw if k == kind and attrs.get("type") != "text/html"] for kind in ("script", "style")}
    policy = next((a["content"] for t, a in page.found if t == "meta" and a.get("http-equiv") == "Content-Security-Policy"), "")
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    if rules.get("default-src") != "'none'" or rules.get("base-uri") != "'none'" or rules.get("form-action") != "'none'":
        complain("the policy lets in more than nothing: " + policy)
    for kind in raw:
        if len(raw[kind]) != 1 or rules.get(kind + "-src") != hashed(raw[kind][0]):
            complain(f"the policy's hash is not that of the one {kind}")
    first = [t for t, a in page.found if t in ("style", "script", "title", "link")]
    where = [t for t, a in page.found].index("style")
    if not any(a.get("http-equiv") for t, a in page.found[:where]) or first[0] == "style":
        complain("the policy stands behind what it is about")
    style = raw["style"][0] if raw["style"] else ""
    if re.search(r"url\(|@import|expression", style):
        complain("the style loads something")
    for theme in re.findall(r":root \{(.*?)\}", style, re.S):
        color = dict(re.findall(r"--(\w+): (#\w{6})", theme))
        for name in ("text", "faint", "accent", "good", "bad", "warn"):
            for ground in ("back", "panel"):
                if contrast(color[name], color[ground]) < 4.5:
                    complain(f"--{name} on --{ground} has a contrast of {contrast(color[name], color[ground]):.2f}")
    if style.count(":root {") != 2:
        complain("the style has not two themes")


def check_names(page):
    ids = [a["id"] for t, a in page.found if "id" in a]
    if len(ids) != len(set(ids)):
        complain("an id comes twice")
    for tag, attrs in page.found:
        for name in ("aria-labelledby", "href"):
            target = attrs.get(name, "").lstrip("#")
            if name in attrs and target != "data:," and target not in ids:
                complain(f"{name} leads to '{target}', which is nowhere")
    if [t for t, a in page.found].count("h1") != 1 or "main" not in [t for t, a in page.found]:
        complain("the page has not one h1 and a main part")


def check_plans(page, plans, text):
    rows = [a for t, a in page.found if t == "tr" and "data-k" in a]
    boxes = [a for t, a in page.found if t == "g" and a.get("role") == "button"]
    kernels = [k for p in plans for k in p["plan"]["kernels"]]
    if [int(r["data-k"]) for r in rows] != [k["id"] for k in kernels]:
        complain("the table of kernels has other kernels than the JSON")
    if sorted(int(b["data-k"]) for b in boxes) != sorted(k["id"] for k in kernels) or not all(b.get("aria-label") for b in boxes):
        complain("the graph has other kernels than the JSON")
    for row, k in zip(rows, kernels):
        if abs(float(row["data-t"]) - k["time_s"]) > 1e-5 * k["time_s"] or row["data-bound"] != k["bound"]:
            complain(f"kernel {k['id']} takes another time than in the JSON, or is bound by something else")
    blocks = {a["id"]: read(data, a["id"]) for kind, a, data in page.raw if a.get("type") == "text/html"}
    if len(blocks) != len(kernels):
        complain(f"{len(blocks)} kernels have details, of {len(kernels)}")
    for g, p in enumerate(plans):
        for s in p["strategies"]:
            if s["name"] not in text:
                complain("no word of strategy " + s["name"])
        for k in p["plan"]["kernels"]:
            said = "".join(blocks[f"g{g}-t{k['id']}"].text)
            for name in [x["tensor"] for x in k["inputs"] + k["outputs"]] + k["assumed"]:
                if name not in said:
                    complain(f"the details of kernel {k['id']} do not name {name}")
            for heading in ("Operators", "Traffic", "Limits"):
                if heading not in said:
                    complain(f"the details of kernel {k['id']} lack {heading}")
        for word in [p["hardware"]["hash"], p["workload"]["name"]] + [x for k in p["plan"]["kernels"] for x in k["assumed"]]:
            if word not in text:
                complain(f"no word of {word}")
        if any(k["assumed"] for k in p["plan"]["kernels"]) and "assumed, not measured" not in text:
            complain("nothing says what is assumed")
        for r in p["refusals"]:
            if r["rule"] not in text:
                complain("no word of the rule " + r["rule"])
    return blocks


def check_graph(page):
    """Boxes of kernels and of their operators lie beside each other, operators in a kernel; lines lead down."""
    boxes, units = [], []
    for tag, attrs in page.found:
        if tag == "rect" and attrs.get("class") in ("box", "op", "op again"):
            place = [float(attrs[name]) for name in ("x", "y", "width", "height")]
            (boxes if attrs["class"] == "box" else units).append(place)
        if tag == "path" and attrs.get("class") == "flow":
            y = [float(n) for n in re.findall(r"M[\d.-]+ ([\d.-]+)|V([\d.-]+)", attrs["d"])[0] if n] + [float(attrs["d"].split(" ")[-1])]
            if y[-1] <= y[0] or 0 < int(attrs["data-to"]) <= int(attrs["data-from"]):
                complain(f"a line leads up: {attrs['d']}")
    over = lambda p, q: p[0] < q[0] + q[2] - 0.2 and q[0] < p[0] + p[2] - 0.2 and p[1] < q[1] + q[3] - 0.2 and q[1] < p[1] + p[3] - 0.2
    for some in (boxes, units):
        hidden = sum(over(some[i], some[k]) for i in range(len(some)) for k in range(i))
        if hidden:
            complain(f"{hidden} boxes of the graph lie over others")
    outside = sum(not any(b[0] <= u[0] and b[1] <= u[1] and u[0] + u[2] <= b[0] + b[2] and u[1] + u[3] <= b[1] + b[3] for b in boxes) for u in units)
    if outside or not units:
        complain(f"of {len(units)} operators {outside} are in no kernel")


def check_refusals(page):
    """The dearest first: the first number of each row of the table."""
    at, prices, inside = 0, [], False
    for tag, attrs in page.found:
        inside = attrs.get("class") == "refusals" if tag == "table" else inside
        at = 0 if tag == "tr" else at + (tag in ("td", "th"))
        if inside and tag == "td" and at == 1:
            prices.append(float(attrs["data-v"]))
    if prices != sorted(prices, reverse=True):
        complain("the refusals are not in the order of their prices")


def main():
    page = read(open(sys.argv[1], encoding="utf-8").read(), sys.argv[1])
    plans = json.load(open(sys.argv[2]))["plans"]
    text = "".join(page.text)
    check_policy(page)
    check_names(page)
    blocks = check_plans(page, plans, text)
    if len(plans) == 1:
        check_refusals(page)
        check_graph(page)
    text += "".join("".join(b.text) for b in blocks.values())
    for name in sys.argv[3:]:
        if name not in text:
            complain(f"'{name}' is not there as it was written")
    return bad > 0


if __name__ == "__main__":
    sys.exit(main())
