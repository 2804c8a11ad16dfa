// SPDX-License-Identifier: Apache-2.0
// Sorts, filters and groups the tables, zooms the graph, opens kernels: from markup that the page holds, written and escaped by fusesim.
'use strict';
(() => {
  const all = (what, where) => Array.from((where || document).querySelectorAll(what));
  const detail = document.getElementById('detail'), shown = document.getElementById('shown');
  let opener = null;

  // Kernels.
  const mark = (gpu, k) => {
    all('.now').forEach(e => e.classList.remove('now'));
    if (gpu) all('tr[data-k="' + k + '"],g[data-k="' + k + '"],circle[data-k="' + k + '"]', gpu).forEach(e => e.classList.add('now'));
  };
  const open = (gpu, k, from) => {
    const block = document.getElementById('g' + gpu.dataset.gpu + '-t' + k);
    if (!block) return;
    if (!detail.contains(from)) opener = from;
    shown.replaceChildren(...new DOMParser().parseFromString(block.textContent, 'text/html').body.childNodes);
    detail.dataset.gpu = gpu.dataset.gpu;
    detail.hidden = false;
    document.body.classList.add('open');
    detail.scrollTop = 0;
    mark(gpu, k);
    const box = gpu.querySelector('g[data-k="' + k + '"]');
    if (box && !from.closest('.graph')) { begin(box.closest('.graph')); center(box); }
    detail.focus({ preventScroll: true });
  };
  const close = () => {
    if (detail.hidden) return;
    detail.hidden = true;
    document.body.classList.remove('open');
    mark(null);
    if (opener) opener.focus({ preventScroll: true });
  };
  document.getElementById('close').addEventListener('click', close);
  document.addEventListener('click', event => {
    const at = event.target.closest('[data-k]');
    if (!at || event.target.closest('.sorts')) return;
    const gpu = at.closest('.gpu') || document.getElementById('g' + detail.dataset.gpu);
    if (dragged) return;
    open(gpu, at.dataset.k, at);
  });
  document.addEventListener('keydown', event => {
    if (event.key === 'Escape') close();
  });

  // Tables: a head that sorts is a button; the order of the rows as they came is the third state.
  const valueOf = cell => cell.dataset.v === undefined ? cell.textContent.trim().toLowerCase() : Number(cell.dataset.v);
  const compare = (x, y) => x < y ? -1 : x > y ? 1 : 0;
  const sorter = table => {
    const rows = all('tbody tr:not(.group)', table), heads = all('thead th', table);
    const state = { column: -1, down: false, rows: rows, heads: heads };
    heads.forEach((head, i) => {
      if (!head.classList.contains('sorts')) return;
      const button = document.createElement('button');
      button.type = 'button';
      button.textContent = head.textContent;
      head.replaceChildren(button);
      head.setAttribute('aria-sort', 'none');
      button.addEventListener('click', () => {
        const first = head.classList.contains('n');
        if (state.column !== i) { state.column = i; state.down = first; }
        else if (state.down === first) state.down = !first;
        else state.column = -1;
        heads.forEach((h, n) => { if (h.hasAttribute('aria-sort')) h.setAttribute('aria-sort', n !== state.column ? 'none' : state.down ? 'descending' : 'ascending'); });
        state.show();
      });
    });
    state.sorted = () => state.column < 0 ? rows.slice() : rows
      .map((row, n) => [valueOf(row.cells[state.column]), n, row])
      .sort((x, y) => (state.down ? compare(y[0], x[0]) : compare(x[0], y[0])) || x[1] - y[1])
      .map(x => x[2]);
    state.show = () => table.tBodies[0].append(...state.sorted());
    return state;
  };
  all('table.refusals, table.evidence').forEach(sorter);

  const seconds = s => {
    for (const [unit, size] of [['s', 1], ['ms', 1e-3], ['us', 1e-6]])
      if (s >= size) return Number((s / size).toPrecision(3)) + ' ' + unit;
    return Number((s / 1e-9).toPrecision(3)) + ' ns';
  };
  const kernels = table => {
    const part = table.closest('section'), state = sorter(table), body = table.tBodies[0];
    const find = part.querySelector('.find'), bound = part.querySelector('.bound'), groups = part.querySelector('.groups'), found = part.querySelector('.found');
    const total = state.rows.reduce((sum, row) => sum + Number(row.dataset.t), 0), closed = new Set();
    const text = new Map(state.rows.map(row => [row, (row.textContent + ' ' + row.querySelector('th button').title + ' ' + (row.dataset.layer || '')).toLowerCase()]));
    const layers = new Set(state.rows.map(row => row.dataset.layer || ''));
    if (groups.value && state.rows.length > 40) Array.from(layers).slice(2).forEach(name => closed.add(name));
    const head = (name, rows) => {
      const row = document.createElement('tr'), cell = document.createElement('th'), button = document.createElement('button'), more = document.createElement('span');
      const time = rows.reduce((sum, r) => sum + Number(r.dataset.t), 0), open = !closed.has(name);
      row.className = 'group';
      cell.colSpan = state.heads.length;
      cell.scope = 'rowgroup';
      button.type = 'button';
      button.textContent = name || 'no ' + groups.value;
      button.setAttribute('aria-expanded', String(open));
      button.addEventListener('click', () => {
        if (!closed.delete(name)) closed.add(name);
        show();
        const again = all('tr.group button', body).find(b => b.textContent === button.textContent);
        if (again) again.focus();
      });
      more.textContent = rows.length + (rows.length === 1 ? ' kernel, ' : ' kernels, ') + seconds(time) + ', ' + (100 * time / total).toFixed(1) + '%';
      cell.append(button, ' ', more);
      row.append(cell);
      return row;
    };
    const show = () => {
      const words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
      const rows = state.sorted().filter(row => (!bound.value || row.dataset.bound === bound.value) && words.every(word => text.get(row).includes(word)));
      const by = groups.value, out = [];
      if (by) {
        const names = new Map();
        rows.forEach(row => names.set(row.dataset[by] || '', (names.get(row.dataset[by] || '') || []).concat([row])));
        names.forEach((some, name) => {
          out.push(head(name, some));
          if (!closed.has(name) || words.length) out.push(...some);
        });
      } else out.push(...rows);
      body.replaceChildren(...out);
      const time = rows.reduce((sum, row) => sum + Number(row.dataset.t), 0);
      found.textContent = rows.length === state.rows.length ? rows.length + ' kernels' : rows.length + ' of ' + state.rows.length + ' kernels, ' + seconds(time) + ', ' + (100 * time / total).toFixed(1) + '% of the time';
    };
    state.show = show;
    find.addEventListener('input', show);
    bound.addEventListener('change', show);
    groups.addEventListener('change', () => { closed.clear(); show(); });
    show();
  };
  all('table.kernels').forEach(kernels);

  // The graph: its box scrolls, so that zooming is a width.
  let dragged = false;
  const center = box => {
    const frame = box.closest('.graph'), at = box.getBoundingClientRect(), around = frame.getBoundingClientRect();
    frame.scrollLeft += at.left + at.width / 2 - around.left - around.width / 2;
    frame.scrollTop += at.top + at.height / 2 - around.top - around.height / 2;
  };
  const graph = frame => {
    const picture = frame.querySelector('svg'), boxes = all('g.k', frame), width = Number(picture.dataset.w), scale = frame.closest('section').querySelector('.scale');
    let zoom = 1, now = 0;
    const set = (to, x, y) => {
      const old = zoom;
      zoom = Math.min(3, Math.max(0.05, to));
      const left = (frame.scrollLeft + x) * zoom / old - x, top = (frame.scrollTop + y) * zoom / old - y;
      picture.setAttribute('width', width * zoom);
      picture.setAttribute('height', width * zoom * picture.viewBox.baseVal.height / picture.viewBox.baseVal.width);
      frame.scrollLeft = left;
      frame.scrollTop = top;
      scale.textContent = Math.round(100 * zoom) + '%';
    };
    const middle = to => set(to, frame.clientWidth / 2, frame.clientHeight / 2);
    const fit = () => middle(Math.min(1, frame.clientWidth / width, frame.clientHeight / picture.viewBox.baseVal.height));
    const zooms = { in: () => middle(zoom * 1.25), out: () => middle(zoom / 1.25), one: () => middle(1), fit: fit };
    all('.zoom', frame.closest('section')).forEach(button => button.addEventListener('click', zooms[button.dataset.zoom]));
    frame.addEventListener('wheel', event => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      const around = frame.getBoundingClientRect();
      set(zoom * Math.exp(-event.deltaY / 300), event.clientX - around.left, event.clientY - around.top);
    }, { passive: false });
    let from = null;
    frame.addEventListener('pointerdown', event => {
      dragged = false;
      if (event.pointerType === 'mouse' && event.button === 0) from = [event.clientX + frame.scrollLeft, event.clientY + frame.scrollTop, event.clientX, event.clientY];
    });
    window.addEventListener('pointermove', event => {
      if (!from) return;
      dragged = dragged || Math.abs(event.clientX - from[2]) + Math.abs(event.clientY - from[3]) > 5;
      frame.scrollLeft = from[0] - event.clientX;
      frame.scrollTop = from[1] - event.clientY;
    });
    window.addEventListener('pointerup', () => { from = null; setTimeout(() => { dragged = false; }, 0); });
    const go = to => {
      now = Math.min(boxes.length - 1, Math.max(0, to));
      boxes.forEach((box, i) => box.setAttribute('tabindex', i === now ? '0' : '-1'));
      boxes[now].focus({ preventScroll: true });
      center(boxes[now]);
    };
    boxes.forEach((box, i) => box.addEventListener('focus', () => { now = i; }));
    if (boxes.length) boxes[0].setAttribute('tabindex', '0');
    frame.addEventListener('keydown', event => {
      const inside = event.target.closest('g.k'), key = event.key;
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (key === '+' || key === '=') zooms.in();
      else if (key === '-') zooms.out();
      else if (key === '0') zooms.one();
      else if (key === 'ArrowRight' || key === 'ArrowDown') go(inside ? now + 1 : now);
      else if (key === 'ArrowLeft' || key === 'ArrowUp') go(inside ? now - 1 : now);
      else if (key === 'Home') go(0);
      else if (key === 'End') go(boxes.length - 1);
      else if (inside && (key === 'Enter' || key === ' ')) open(frame.closest('.gpu'), inside.dataset.k, inside);
      else return;
      event.preventDefault();
    });
    set(Math.min(1, Math.max(0.5, frame.clientWidth / width)), 0, 0);
    frame.scrollLeft = (picture.clientWidth - frame.clientWidth) / 2;
  };
  // A graph is laid out when somebody comes near it.
  const begun = new Set();
  const begin = frame => {
    if (begun.has(frame)) return;
    begun.add(frame);
    graph(frame);
  };
  const near = new IntersectionObserver(seen => seen.forEach(x => { if (x.isIntersecting) begin(x.target); }), { rootMargin: '400px' });
  all('.graph').forEach(frame => near.observe(frame));
  all('.tools').forEach(tools => { tools.hidden = false; });
})();
