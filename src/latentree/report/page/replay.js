/* How a search grew the tree: one drawing a step, what is new in it marked. */
(function (LT) {
  "use strict";
  const { h, s } = LT;
  const PAUSE = 900;

  /* A step as the page holds it, with names for positions. */
  LT.unpackStep = function (names, step) {
    const states = Object.create(null),
      edges = []; /* any name is a key, __proto__ too */
    for (let i = 0; i < step.states.length; i += 2) states[names[step.states[i]]] = step.states[i + 1];
    for (let i = 0; i < step.edges.length; i += 2) edges.push([names[step.edges[i]], names[step.edges[i + 1]]]);
    return { edges, states };
  };

  /* What a step changed: names of nodes that are new, have other numbers of states, or another neighbour towards the
     middle. No DOM here. */
  LT.differences = function (before, after) {
    const near = (tree) => {
      const found = new Map(Object.keys(tree.states).map((name) => [name, new Set()]));
      for (const [a, b] of tree.edges) {
        found.get(a).add(b);
        found.get(b).add(a);
      }
      return found;
    };
    const fresh = [],
      resized = [],
      moved = [];
    const old = near(before),
      now = near(after);
    for (const [name, k] of Object.entries(after.states)) {
      if (!old.has(name)) fresh.push(name);
      else if (before.states[name] !== k) resized.push(name);
      else if (now.get(name).size === 1 && old.get(name).size === 1 && [...now.get(name)][0] !== [...old.get(name)][0])
        moved.push(name);
    }
    return { fresh, resized, moved, gone: [...old.keys()].filter((name) => !now.has(name)) };
  };

  LT.replayPanel = function (page) {
    const { model } = page,
      { steps, names } = model.trace,
      svg = LT.$("#growth");
    const rank = new Map();
    page.view.arrangement.order.forEach((v, i) => rank.set(model.name[v], i));
    let at = steps.length - 1,
      timer = null;
    const slider = h("input", {
      type: "range",
      id: "step",
      min: 0,
      max: steps.length - 1,
      value: at,
      "aria-label": "Step",
    });
    const play = h("button", { type: "button", id: "play" }, "Play");
    const details = h("div", { class: "step", role: "status" }),
      label = model.trace.score,
      chart = scores(steps, label);
    const list = h(
      "ol",
      { class: "steps", start: "0" },
      steps.map((step, i) => h("li", { title: step.operation }, LT.button(LT.shortened(step.operation, 120), () => jump(i), { class: "link" }))),
    );
    const { starts, start: ours } = model.trace;
    const several =
      starts && starts.length > 1
        ? LT.section(
            "Starts",
            h(
              "p",
              { class: "muted small" },
              `The search started ${starts.length} times. Shown above is start ${ours}, which led to the tree; the others ended as follows.`,
            ),
            LT.barTable(
              ["start", "", "steps", label],
              starts.map((own) =>
                h(
                  "tr",
                  { class: own.number === ours ? "given" : null },
                  h("th", { scope: "row" }, own.number === ours ? `${own.number}, shown` : `${own.number}`),
                  h("td", { class: "small muted" }, own.same ? "the best score" : ""),
                  h("td", { class: "number" }, LT.number(own.steps)),
                  h("td", { class: "number" }, LT.number(own.score)),
                ),
              ),
            ),
          )
        : null;

    function go(i) {
      at = i;
      slider.value = i;
      const step = steps[i],
        tree = LT.unpackStep(names, step);
      const change = i
        ? LT.differences(LT.unpackStep(names, steps[i - 1]), tree)
        : { fresh: [], resized: [], moved: [], gone: [] };
      draw(svg, tree, change, rank, model);
      const before = i ? steps[i - 1].score : null;
      const difference = step.score !== null && before !== null ? step.score - before : null;
      details.replaceChildren(
        h("h3", {}, `Step ${i} of ${steps.length - 1}: ${step.operation}`),
        LT.facts([
          [label, LT.number(step.score)],
          ["Change", LT.number(difference)],
          ["Log-likelihood", LT.number(step.log_likelihood)],
          ["Dimension", LT.number(step.dimension)],
          ["Candidates", LT.number(step.candidates)],
          ["Seconds", LT.number(step.seconds)],
        ]),
      );
      list.querySelectorAll("li").forEach((li, j) => {
        li.classList.toggle("now", j === i);
        li.setAttribute("aria-current", j === i ? "step" : "false");
      });
      chart.mark(i);
    }
    const stop = () => {
      clearInterval(timer);
      timer = null;
      play.textContent = "Play";
    };
    const jump = (i) => {
      stop();
      go(Math.min(Math.max(i, 0), steps.length - 1));
    };
    const start = () => {
      if (at === steps.length - 1) go(0);
      play.textContent = "Pause";
      timer = setInterval(() => {
        if (at + 1 < steps.length) go(at + 1);
        else stop();
      }, PAUSE);
    };
    play.addEventListener("click", () => (timer ? stop() : start()));
    slider.addEventListener("input", () => jump(+slider.value));
    const csv = () => [
      ["step", "operation", "score", "log_likelihood", "dimension", "candidates", "seconds"],
      ...steps.map((t, i) => [i, t.operation, t.score, t.log_likelihood, t.dimension, t.candidates, t.seconds]),
    ];
    const content = [
      h("h2", {}, "How the tree grew"),
      h(
        "div",
        { class: "line centred" },
        LT.button("◂", () => jump(at - 1), { "aria-label": "Step back" }),
        play,
        LT.button("▸", () => jump(at + 1), { "aria-label": "Step on" }),
        slider,
      ),
      details,
      LT.section([label, LT.csvButton("search trace", csv)], chart.svg),
      LT.section("Steps", list),
      several,
    ];
    return { content, open: () => go(at), close: stop };
  };

  function draw(svg, tree, change, rank, model) {
    const names = Object.keys(tree.states);
    const { root, children, parent } = LT.orient(names, tree.edges, (name) => rank.get(name) ?? 1e6);
    const label = (v) => LT.shortened(names[v]) + (children[v].length ? ` (${tree.states[names[v]]})` : "");
    const widths = names.map((_, v) => LT.textWidth(label(v)) + 20);
    const leaves = children.filter((own) => !own.length).length,
      style = leaves <= 60 ? "rows" : "radial";
    const arrangement = LT.arrange(root, children, new Set()),
      places = LT.places(arrangement, children, widths, style);
    const kinds = new Map([
      ...change.fresh.map((n) => [n, "fresh"]),
      ...change.resized.map((n) => [n, "resized"]),
      ...change.moved.map((n) => [n, "moved"]),
    ]);
    const known = new Map(model.name.map((name, v) => [name, model.latent[v]]));
    let left = Infinity,
      top = Infinity,
      right = -Infinity,
      bottom = -Infinity;
    const edges = s("g", { class: "edges" }),
      nodes = s("g", { class: "nodes" });
    for (const [v, at] of places) {
      const inner = children[v].length > 0,
        width = inner ? widths[v] : 12 + LT.textWidth(label(v));
      left = Math.min(left, at.x - width);
      right = Math.max(right, at.x + width + 12);
      top = Math.min(top, at.y - width * (at.angle === null ? 0 : 1) - 16);
      bottom = Math.max(bottom, at.y + width * (at.angle === null ? 0 : 1) + 16);
      if (v !== root)
        edges.append(s("path", { "stroke-width": 1.4, d: LT.edgePath(places.get(parent[v]), at, widths[parent[v]]) }));
      const latent = known.has(names[v]) ? known.get(names[v]) : inner;
      const kind = `n ${latent ? "z" : "x"}${inner ? " inner" : ""} ${kinds.get(names[v]) ?? ""}`;
      const start = at.angle === null ? 0 : -width / 2,
        { turn, flip } = LT.turned(at);
      const g = s("g", { class: kind, transform: `translate(${LT.round(at.x)} ${LT.round(at.y)})${turn}` });
      if (inner)
        g.append(
          s(
            "g",
            {},
            s("rect", { x: LT.round(start), y: -11, width: LT.round(width), height: 22, rx: 11 }),
            s("text", { x: LT.round(start + width / 2), y: 4 }, label(v)),
          ),
        );
      else g.append(s("text", { x: flip ? -6 : 6, y: 4, "text-anchor": flip ? "end" : "start" }, label(v)));
      nodes.append(g);
    }
    svg.replaceChildren(edges, nodes);
    if (style === "rows") left = -16;
    /* Small trees are not blown up. */
    const main = svg.parentNode,
      width = Math.max(right - left, main.clientWidth / 1.3),
      height = Math.max(bottom - top, main.clientHeight / 1.3);
    svg.setAttribute(
      "viewBox",
      [(left + right - width) / 2, (top + bottom - height) / 2, width, height].map(LT.round).join(" "),
    );
  }

  function scores(steps, label) {
    const points = steps.map((t, i) => [i, t.score]).filter(([, y]) => y !== null);
    const low = Math.min(...points.map((p) => p[1])),
      high = Math.max(...points.map((p) => p[1]));
    const x = (i) => 10 + (320 * i) / Math.max(steps.length - 1, 1),
      y = (v) => 90 - (high > low ? (76 * (v - low)) / (high - low) : 38);
    const dot = s("circle", { class: "dot", r: 4.5 });
    const svg = s(
      "svg",
      {
        class: "chart",
        viewBox: "0 0 340 104",
        role: "img",
        "aria-label": points.length
          ? `${label} from ${LT.number(points[0][1])} to ${LT.number(points[points.length - 1][1])}`
          : "No scores",
      },
      s("path", { class: "axis", d: "M10 98H330" }),
      points.length
        ? s("path", { class: "line", d: "M" + points.map(([i, v]) => `${LT.round(x(i))} ${LT.round(y(v))}`).join("L") })
        : null,
      dot,
    );
    return {
      svg,
      mark: (i) => {
        const value = steps[i].score;
        LT.set(dot, { cx: x(i), cy: value === null ? -20 : y(value) });
      },
    };
  }
})((globalThis.LT ??= {}));
