# SPDX-License-Identifier: Apache-2.0
"""report_opened.py FOLDER: pages of --report in a browser: nothing in the console, and everything that a reader can do, by mouse and by keyboard. layers.html is of
bert_12_layers, hostile.html of hostile.yaml, large.html of more than a thousand kernels."""
import json
import sys
import browser

folder, bad = sys.argv[1], 0


def check(what, holds, said=""):
    global bad
    if not holds:
        bad += 1
        print("FAILED:", what, said)


def times(page):
    return page.ask("Array.from(document.querySelectorAll('table.kernels tr[data-k]')).map(r => Number(r.dataset.t))")


def numbers(page):
    return page.ask("Array.from(document.querySelectorAll('table.kernels tr[data-k]')).map(r => Number(r.dataset.k))")


def choose(page, selector, value):
    page.ask("(e => { e.value = '%s'; e.dispatchEvent(new Event('%s', {bubbles: true})); })(document.querySelector('%s'))"
             % (value, "input" if "find" in selector else "change", selector))


def head(page, n):
    page.click("table.kernels thead th:nth-child(%d) button" % n)


def kernels_of(path):
    with open(f"{folder}/{path}") as file:
        return json.load(file)["plans"][0]["plan"]["kernels"]


def shown(page):
    return page.ask("document.getElementById('detail').hidden ? '' : document.getElementById('shown').textContent")


def tables(page):
    plan = kernels_of("layers.json")
    each = (len(plan) - 1) // 12  # of a layer; the first kernel belongs to none
    check("layers begin closed but for the first", len(times(page)) == 1 + each, len(times(page)))
    page.click("table.kernels tr.group:last-child button")
    check("a layer opens", len(times(page)) == 1 + 2 * each)
    check("its button keeps the focus", page.ask("document.activeElement.getAttribute('aria-expanded')") == "true")
    choose(page, ".groups", "")
    first = numbers(page)
    check("all kernels without groups", first == list(range(1, len(plan) + 1)))
    head(page, 4)
    check("sorted by time", times(page) == sorted(times(page), reverse=True) and page.ask("document.querySelector('[aria-sort=descending]').cellIndex") == 3)
    head(page, 4)
    check("sorted the other way", times(page) == sorted(times(page)) and page.ask("document.querySelector('[aria-sort=ascending]').cellIndex") == 3)
    head(page, 4)
    check("as it was", numbers(page) == first and page.ask("document.querySelectorAll('[aria-sort=none]').length") > 5)
    choose(page, ".find", "f1. library")
    check("filtered by words", len(times(page)) == 12 and page.ask("document.querySelector('.found').textContent").startswith(f"12 of {len(plan)} kernels"), numbers(page))
    choose(page, ".find", "")
    choose(page, ".bound", "compute")
    check("filtered by what bounds", 0 < len(times(page)) < 121)
    choose(page, ".bound", "")
    choose(page, ".groups", "kind")
    check("grouped by kind", 2 < page.ask("document.querySelectorAll('tr.group').length") < 10)
    choose(page, ".groups", "")


def details(page):
    page.click("table.kernels tr[data-k='5'] button")
    check("a row opens its kernel", all(w in shown(page) for w in ("5: " + kernels_of("layers.json")[4]["template"], "Operators", "Traffic", "Limits", "Not fused, and why", "scores.0")), shown(page)[:80])
    check("the kernel is marked in the graph", page.ask("document.querySelector('g.now').dataset.k") == "5")
    check("and comes into view there", page.ask("(() => { const f = document.querySelector('.graph').getBoundingClientRect(), b = document.querySelector('g.now').getBoundingClientRect();"
                                               " return b.top >= f.top - 300 && b.top < f.bottom; })()"))
    page.click("#shown .to")
    check("a neighbour opens from there", "5: " not in shown(page)[:4] and shown(page) != "")
    page.key("Escape")
    check("Escape closes it, and the focus is back", shown(page) == "" and page.ask("document.activeElement.dataset.k") == "5")
    page.click("table.refusals .to")
    check("a refusal leads to its kernel", shown(page) != "")
    page.click("#close")
    check("the button closes it", shown(page) == "")


def graph(page):
    page.ask("document.querySelector('.graph').scrollIntoView()")
    page.ask("new Promise(done => setTimeout(done, 300))")
    width = lambda: page.ask("document.querySelector('.graph svg').getBoundingClientRect().width")
    before = width()
    page.click(".zoom[data-zoom=in]")
    check("zooms in", abs(width() / before - 1.25) < 0.01, (before, width()))
    page.click(".zoom[data-zoom=out]")
    check("zooms out", abs(width() - before) < 2)
    page.click(".zoom[data-zoom=fit]")
    check("fits", page.ask("(f => f.scrollHeight <= f.clientHeight + 1 || document.querySelector('.scale').textContent === '5%')(document.querySelector('.graph'))"))
    page.click(".zoom[data-zoom=one]")
    page.click("g.k[data-k='1'] .title")
    check("a box opens its kernel", shown(page).startswith("1: "), shown(page)[:40])
    page.key("Escape")
    page.ask("document.querySelector('.graph').focus()")
    page.key("ArrowDown")
    page.key("ArrowDown")
    check("arrows go from box to box", page.ask("document.activeElement.dataset.k") in ("2", "3"), page.ask("document.activeElement.outerHTML.slice(0, 60)"))
    page.key("Enter")
    check("Enter opens it", shown(page).startswith(str(page.ask("document.querySelector('g.now').dataset.k")) + ": "), shown(page)[:40])
    page.key("Escape")
    before = width()
    page.key("+", "+")
    check("+ zooms", width() > before)


def everywhere(page, name):
    """What holds at every width and in both themes."""
    for width, dark in ((1280, False), (1280, True), (390, False), (390, True)):
        page.view(width, 900, dark)
        page.said.clear()
        page.open(f"{folder}/{name}.html")
        check(f"{name}: nothing in the console", page.said == [], page.said)
        check(f"{name}: no wider than {width}", page.ask("document.documentElement.scrollWidth <= innerWidth"))
        check(f"{name}: charts are whole at {width}, their words not shrunk", page.ask(
            "(all => all.length > 1 && all.every(r => r.left >= 0 && r.right <= innerWidth && r.scale > 0.75))(Array.from(document.querySelectorAll('.chart'))"
            ".filter(e => getComputedStyle(e).display !== 'none').map(e => ({left: e.getBoundingClientRect().left, right: e.getBoundingClientRect().right,"
            " scale: e.getBoundingClientRect().width / e.viewBox.baseVal.width})))"))
        ground = page.ask("getComputedStyle(document.body).backgroundColor")
        check(f"{name}: the theme", (ground == "rgb(255, 255, 255)") != dark, ground)
        check(f"{name}: what is pressed or filled in has a name", page.ask(
            "Array.from(document.querySelectorAll('button, input, select, a')).every(e => e.textContent.trim() || e.getAttribute('aria-label') || (e.labels && e.labels.length))"))
    page.view(1280, 900, False, "print")
    check(f"{name}: printed without what is pressed", page.ask("Array.from(document.querySelectorAll('.tools, nav')).every(e => getComputedStyle(e).display === 'none')"))
    page.view(1280, 900)


def main():
    page = browser.Page()
    for name in ("layers", "hostile"):
        everywhere(page, name)
    page.open(f"{folder}/hostile.html")
    for k in page.ask("Array.from(document.querySelectorAll('tr[data-k]')).map(r => r.dataset.k)"):
        page.click(f"tr[data-k='{k}'] button")
        check("no image, frame or script of a name", page.ask("document.querySelectorAll('#shown img, #shown script, #shown iframe, main script:not([type=\"text/html\"]), img, [onclick], [onload], [onerror]').length") == 0)
        page.key("Escape")
    check("the title is text", page.ask("document.title").startswith("</title><script>alert(1)</script> on "))
    check("nothing in the console of hostile names", page.said == [], page.said)
    page.open(f"{folder}/layers.html")
    tables(page)
    details(page)
    graph(page)
    check("nothing in the console at the end", page.said == [], page.said)
    seconds = [page.open(f"{folder}/large.html") for turn in range(6)]
    kernels = page.ask("document.querySelectorAll('script[type=\"text/html\"]').length")
    check("more than a thousand kernels", kernels > 1000, kernels)
    check("which open within a second", min(seconds) < 1, seconds)
    print(f"{kernels} kernels open in {min(seconds):.2f} s")
    page.close()
    return bad > 0


if __name__ == "__main__":
    sys.exit(main())
