/* Where nodes are drawn: as in _layout.py, for trees with folded branches and for the steps of a search. No DOM here. */
(function (LT) {
  "use strict";
  const GROUP_GAP = 0.6,
    ROW = 22,
    RING_ROW = 15,
    COLUMN_GAP = 72,
    RING_GAP = 120,
    BOX_GAP = 40;

  /* Slots and depths of the visible nodes, every parent before its children. */
  LT.arrange = function (root, children, folded) {
    const order = [],
      slot = new Array(children.length).fill(0),
      depth = new Array(children.length).fill(0);
    const shown = (v) => (folded.has(v) ? [] : children[v]);
    let free = 0;
    const stack = [[root, false]];
    while (stack.length) {
      const [v, done] = stack.pop();
      const own = shown(v);
      if (done) {
        slot[v] = (slot[own[0]] + slot[own[own.length - 1]]) / 2;
        free += GROUP_GAP;
        continue;
      }
      order.push(v);
      if (!own.length) {
        slot[v] = free;
        free += children[v].length ? 1 + GROUP_GAP : 1;
        continue;
      }
      stack.push([v, true]);
      for (let i = own.length - 1; i >= 0; i--) {
        depth[own[i]] = depth[v] + 1;
        stack.push([own[i], false]);
      }
    }
    return { root, order, slot, depth, nSlots: free };
  };

  /* A Map from visible nodes to {x, y, angle, radius}; angle is null in rows. */
  LT.places = function (arrangement, children, widths, style) {
    const { root, order, slot, depth, nSlots } = arrangement;
    const inner = order.filter((v) => children[v].length);
    const deepest = inner.reduce((most, v) => Math.max(most, depth[v]), 0);
    const found = new Map();
    if (style === "rows") {
      const widest = new Array(deepest + 1).fill(0);
      for (const v of inner) widest[depth[v]] = Math.max(widest[depth[v]], widths[v]);
      const starts = [0];
      for (let d = 0; d <= deepest; d++) starts.push(starts[d] + widest[d] + COLUMN_GAP);
      for (const v of order) found.set(v, { x: starts[depth[v]], y: slot[v] * ROW, angle: null, radius: 0 });
      return found;
    }
    /* Rings by how far the leaves below are: nodes above leaves stand far out, where there is room for them. */
    const visible = new Set(order),
      height = new Array(children.length).fill(0);
    for (const v of order.slice().reverse()) {
      if (children[v].length) height[v] = 1;
      for (const c of children[v]) if (visible.has(c)) height[v] = Math.max(height[v], height[c] + 1);
    }
    const rings = Math.max(height[root], 1);
    const gap = inner.reduce((most, v) => Math.max(most, widths[v] + BOX_GAP), RING_GAP);
    const outer = Math.max((nSlots * RING_ROW) / (2 * Math.PI), rings * gap);
    for (const v of order) {
      const angle = (2 * Math.PI * (slot[v] + 0.5)) / Math.max(nSlots, 1) - Math.PI / 2;
      const radius = v === root ? 0 : outer * (1 - height[v] / rings);
      found.set(v, { x: radius * Math.cos(angle), y: radius * Math.sin(angle), angle, radius });
    }
    return found;
  };

  LT.round = (value) => Math.round(value * 10) / 10 + 0;

  /* Names point away from the centre, and are never upside down. */
  LT.turned = function ({ angle, radius }) {
    if (angle === null || radius === 0) return { turn: "", flip: false };
    const flip = Math.cos(angle) < 0;
    return { turn: ` rotate(${LT.round((angle * 180) / Math.PI + (flip ? 180 : 0))})`, flip };
  };

  /* The box on the drawing that a label of some size takes: its left end is at the node in rows, its middle otherwise. */
  LT.boxAround = function ({ x, y, angle, radius }, width, height) {
    if (angle === null) return { left: x, right: x + width, top: y - height / 2, bottom: y + height / 2 };
    const turn = radius === 0 ? 0 : angle,
      across = (Math.abs(Math.cos(turn)) * width + Math.abs(Math.sin(turn)) * height) / 2,
      down = (Math.abs(Math.sin(turn)) * width + Math.abs(Math.cos(turn)) * height) / 2;
    return { left: x - across, right: x + across, top: y - down, bottom: y + down };
  };

  LT.overlap = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;

  /* The curve from a node of some width to a child. */
  LT.edgePath = function (start, end, width) {
    const r = LT.round;
    if (start.angle === null) {
      const x = start.x + width,
        middle = (x + end.x) / 2;
      return `M${r(x)} ${r(start.y)}C${r(middle)} ${r(start.y)} ${r(middle)} ${r(end.y)} ${r(end.x)} ${r(end.y)}`;
    }
    const half = (start.radius + end.radius) / 2,
      turn = start.radius ? start.angle : end.angle;
    const points = [
      half * Math.cos(turn),
      half * Math.sin(turn),
      half * Math.cos(end.angle),
      half * Math.sin(end.angle),
    ];
    return `M${r(start.x)} ${r(start.y)}C${points.map(r).join(" ")} ${r(end.x)} ${r(end.y)}`;
  };

  /* Hang a tree of named edges up at its middle. rank(name) orders children; leaves come first. */
  LT.orient = function (names, edges, rank) {
    const at = new Map(names.map((name, i) => [name, i]));
    const near = names.map(() => []);
    for (const [a, b] of edges) {
      near[at.get(a)].push(at.get(b));
      near[at.get(b)].push(at.get(a));
    }
    const walk = (start) => {
      const order = [start],
        before = new Map([[start, -1]]);
      for (const v of order)
        for (const u of near[v])
          if (!before.has(u)) {
            before.set(u, v);
            order.push(u);
          }
      return { order, before };
    };
    const first = walk(0).order,
      second = walk(first[first.length - 1]);
    const path = [second.order[second.order.length - 1]];
    while (second.before.get(path[path.length - 1]) >= 0) path.push(second.before.get(path[path.length - 1]));
    let root = path[Math.floor(path.length / 2)];
    if (near[root].length < 2 && near[root].length) root = near[root][0];
    const { order, before } = walk(root);
    const children = names.map(() => []);
    for (const v of order.slice(1)) children[before.get(v)].push(v);
    const mean = new Array(names.length).fill(0);
    for (const v of order.slice().reverse()) {
      const own = children[v];
      mean[v] = own.length ? own.reduce((sum, c) => sum + mean[c], 0) / own.length : rank(names[v]);
      own.sort((a, b) => (children[a].length > 0) - (children[b].length > 0) || mean[a] - mean[b] || a - b);
    }
    return { root, children, parent: names.map((_, v) => before.get(v) ?? -1) };
  };

  /* All nodes below one, itself not included. */
  LT.below = function (children, node) {
    const found = children[node].slice();
    for (const v of found) found.push(...children[v]);
    return found;
  };

  /* Cut in the middle: beginnings are often the same, and ends tell more. */
  LT.shortened = (text, most = 28) => {
    const characters = Array.from(text);
    if (characters.length <= most) return text;
    const tail = Math.floor((most - 1) / 2);
    const part = (from, to) => characters.slice(from, to).join("");
    return `${part(0, most - 1 - tail).trimEnd()}…${part(characters.length - tail).trimStart()}`;
  };

  /* How wide the browser draws a text, in its own font; an estimate where there is no browser. */
  LT.measured = (text, bold = false) => {
    if (typeof document === "undefined" || !document.body) return LT.textWidth(text);
    if (!LT.canvas) {
      LT.canvas = document.createElement("canvas").getContext("2d");
      LT.fontFamily = getComputedStyle(document.body).fontFamily;
    }
    LT.canvas.font = `${bold ? 600 : 400} 12px ${LT.fontFamily}`;
    return LT.canvas.measureText(text).width;
  };

  LT.textWidth = (text, size = 12) => {
    let width = 0;
    for (const c of text)
      width += /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]/.test(c)
        ? 1
        : 0.56;
    return width * size;
  };
})((globalThis.LT ??= {}));
