/* What is told beside the tree: the model, a node, an edge, and what follows from what. */
(function (LT) {
  "use strict";
  const { h } = LT;
  const MOST_LEAVES = 8, MOST_LISTED = 40;

  const section = (title, ...content) => h("section", {}, h("h3", {}, title), content);
  const nodeButton = (page, v, text) =>
    h("button", { type: "button", class: "link", onclick: () => page.showNode(v, true) }, text ?? page.model.name[v]);

  /* ---- the model ---- */

  LT.overview = function (page) {
    const { model } = page;
    const facts = h("dl", { class: "facts" }, model.facts.map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]));
    const told = [...model.warnings.map((text) => h("p", { class: "warning" }, text)), ...model.notes.map((text) => h("p", { class: "note" }, text))];
    const latents = Object.keys(model.latents).map(Number);
    const row = (v) => {
      const own = model.latents[v];
      return h("li", {},
        h("div", { class: "line" }, nodeButton(page, v), h("span", { class: "muted" }, `${model.card[v]} states`)),
        h("div", { class: "sizes", "aria-hidden": "true" }, Array.from(model.prior[v], (p, i) => share(p, i, model.card[v]))),
        h("div", { class: "muted small" }, own.leaves.slice(0, 4).map(([u]) => LT.shortened(model.name[u], 24)).join(" · ")));
    };
    const list = h("ul", { class: "latents" }, latents.slice(0, MOST_LISTED).map(row)), left = latents.length - MOST_LISTED;
    const more = left > 0 ? h("button", { type: "button", class: "quiet", onclick: () => { list.append(...latents.slice(MOST_LISTED).map(row)); more.remove(); } }, `Show ${left} more`) : null;
    const csv = () => [["latent", "state", "size", "cases"], ...latents.flatMap((v) => Array.from(model.prior[v], (p, i) =>
      [model.name[v], model.labelsOf(v)[i], p, model.latents[v].counts ? model.latents[v].counts[i] : null]))];
    return [facts, told,
      h("section", {}, h("h3", {}, "Latent variables", LT.csvButton("latent variables", csv)),
        h("p", { class: "muted small" }, "Sizes of their states, and the variables that tell most about them."),
        list, more),
      section("How to move", h("p", { class: "small" },
        "Drag to pan, scroll to zoom, click a node or an edge for what is behind it, double-click a node to fold its branch. ",
        "Keys: ", h("kbd", {}, "/"), " search, arrows walk the tree, ", h("kbd", {}, "Enter"), " opens, ", h("kbd", {}, "Space"),
        " folds, ", h("kbd", {}, "+"), " ", h("kbd", {}, "−"), " ", h("kbd", {}, "0"), " zoom. Edges are as thick as the mutual information of their ends."))];
  };

  function share(p, i, k) {
    const part = h("span", {});
    part.style.width = `${100 * p}%`;
    part.style.opacity = k > 1 ? 0.16 + (0.84 * i) / (k - 1) : 1;
    return part;
  }

  /* ---- a node ---- */

  LT.nodePanel = function (page, v) {
    const { model } = page, own = model.latents[v];
    const kind = own ? "latent variable" : "variable";
    const inner = page.view.isInner(v), folded = page.view.folded.has(v);
    return [
      h("h2", { tabindex: "-1" }, model.name[v]),
      h("p", { class: "muted" }, `${kind}, ${model.card[v]} states`,
        own && own.sure !== null ? `, certainty of the rows ${LT.probability(own.sure)}` : ""),
      h("p", {}, inner && h("button", { type: "button", class: "quiet", onclick: () => { page.view.toggle(v); page.showNode(v); } }, folded ? "Unfold branch" : "Fold branch")),
      states(page, v),
      own && own.leaves.length ? curve(page, v, own) : null,
      own && own.leaves.length ? profiles(page, v, own) : null,
      neighbours(page, v),
    ];
  };

  function states(page, v) {
    const { model } = page, own = model.latents[v], labels = model.labelsOf(v), given = model.evidence.get(v);
    const now = model.beliefs[v], asked = model.evidence.size > 0;
    const rows = labels.map((label, i) => {
      const assumed = given === i;
      return h("tr", { class: assumed ? "given" : null },
        h("th", { scope: "row" }, label),
        h("td", { class: "wide" }, LT.bar(now[i], asked ? model.prior[v][i] : undefined)),
        h("td", { class: "number" }, LT.probability(now[i])),
        own && own.counts ? h("td", { class: "number" }, LT.number(own.counts[i])) : null,
        h("td", {}, h("button", { type: "button", class: "quiet", "aria-pressed": String(assumed),
          "aria-label": `${assumed ? "Forget" : "Assume"} ${model.name[v]} = ${label}`,
          onclick: () => { model.assume(v, assumed ? null : i); page.showNode(v, false, true); } }, assumed ? "Forget" : "Assume")));
    });
    const csv = () => [["state", "probability", "without evidence", ...(own && own.counts ? ["cases"] : [])],
      ...labels.map((label, i) => [label, now[i], model.prior[v][i], ...(own && own.counts ? [own.counts[i]] : [])])];
    return h("section", {}, h("h3", {}, asked ? "States, given what is assumed" : "States", LT.csvButton(`states of ${model.name[v]}`, csv)),
      h("table", { class: "states" }, h("thead", { class: "hidden" }, h("tr", {}, ["state", "", "probability", own && own.counts ? "cases" : null, "assume"]
        .filter((t) => t !== null).map((t) => h("th", { scope: "col" }, t)))), h("tbody", {}, rows)));
  }

  function curve(page, v, own) {
    const { model } = page, most = Math.max(own.total, ...own.leaves.map((l) => l[1]), 1e-300);
    const rows = own.leaves.map(([u, alone, together]) => {
      const bar = LT.bar(alone / most, together / most);
      return h("tr", {}, h("th", { scope: "row" }, nodeButton(page, u, LT.shortened(model.name[u], 24))), h("td", { class: "wide" }, bar),
        h("td", { class: "number" }, LT.nats(alone)), h("td", { class: "number" }, own.total > 0 ? `${Math.round((100 * together) / own.total)} %` : "–"));
    });
    const csv = () => [["variable", "information", "cumulative", "coverage"],
      ...own.leaves.map(([u, a, t]) => [model.name[u], a, t, own.total > 0 ? t / own.total : null])];
    return h("section", {}, h("h3", {}, "What defines it", LT.csvButton(`information curve of ${model.name[v]}`, csv)),
      h("p", { class: "muted small" }, "Mutual information of each variable (bar, nats), and how much of what all variables tell is known from it and those above (mark, per cent).",
        model.exact ? "" : " What all tell together is estimated from drawn rows."),
      h("table", { class: "states curve" }, h("thead", { class: "hidden" }, h("tr", {}, ["variable", "", "information", "coverage"].map((t) => h("th", { scope: "col" }, t)))),
        h("tbody", {}, rows)));
  }

  function profiles(page, v, own) {
    const { model } = page, given = model.givenStates(v), labels = model.labelsOf(v);
    const rows = own.leaves.slice(0, MOST_LEAVES).flatMap(([u]) => model.labelsOf(u).map((label, j) =>
      [j === 0 ? model.name[u] : "", label, ...given.map((p) => (p ? p[u][j] : null))]));
    const whole = () => [["variable", "state", ...labels], ...own.leaves.flatMap(([u]) => model.labelsOf(u).map((label, j) =>
      [model.name[u], label, ...given.map((p) => (p ? p[u][j] : null))]))];
    const body = rows.map((row) => h("tr", { class: row[0] ? "first" : null }, h("th", { scope: "row", title: row[0] || null }, LT.shortened(row[0], 18)), h("td", { title: row[1] }, LT.shortened(row[1], 16)),
      row.slice(2).map((p) => {
        const td = h("td", { class: "number" }, p === null ? "–" : LT.probability(p));
        td.style.setProperty("--p", `${Math.round(100 * (p || 0))}%`);
        return td;
      })));
    return h("section", {}, h("h3", {}, "Profiles", LT.csvButton(`profiles of ${model.name[v]}`, whole)),
      h("p", { class: "muted small" }, `P(variable | ${model.name[v]}), the variables that tell most.`),
      h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Profiles" }, h("table", { class: "heat" },
        h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "variable"), h("th", { scope: "col" }, "state"), labels.map((t) => h("th", { scope: "col", class: "number" }, LT.shortened(t, 14))))),
        h("tbody", {}, body))));
  }

  function neighbours(page, v) {
    const { model } = page;
    const near = model.neighbours(v).map((u) => [u, model.edgeInformation(v, u)]).sort((a, b) => b[1] - a[1]);
    const most = near.length ? near[0][1] : 0;
    const rows = near.slice(0, MOST_LISTED).map(([u, information]) => h("tr", {},
      h("th", { scope: "row" }, nodeButton(page, u, LT.shortened(model.name[u], 24))),
      h("td", { class: "wide" }, LT.bar(most > 0 ? information / most : 0)),
      h("td", { class: "number" }, LT.nats(information)),
      h("td", {}, h("button", { type: "button", class: "quiet", "aria-label": `Table of ${model.name[v]} and ${model.name[u]}`, onclick: () => page.showEdge(v, u) }, "Table"))));
    const more = near.length - rows.length;
    const csv = () => [["neighbour", "information"], ...near.map(([u, i]) => [model.name[u], i])];
    return h("section", {}, h("h3", {}, "Neighbours", LT.csvButton(`neighbours of ${model.name[v]}`, csv)),
      h("table", { class: "states" }, h("thead", { class: "hidden" }, h("tr", {}, ["neighbour", "", "information", "table"].map((t) => h("th", { scope: "col" }, t)))), h("tbody", {}, rows)),
      more > 0 ? h("p", { class: "muted small" }, `and ${more} more`) : null);
  }

  /* ---- an edge ---- */

  LT.edgePanel = function (page, a, b) {
    const { model } = page, table = model.conditional(a, b);
    return [
      h("h2", { tabindex: "-1" }, `${model.name[a]} – ${model.name[b]}`),
      h("p", { class: "muted" }, `Mutual information ${LT.nats(model.edgeInformation(a, b))} nats`),
      h("p", {}, nodeButton(page, a), " ", nodeButton(page, b), " ",
        h("button", { type: "button", class: "quiet", onclick: () => page.showEdge(b, a) }, "Turn round")),
      LT.table({ caption: `P(${model.name[b]} | ${model.name[a]})`, head: [model.name[a], ...model.labelsOf(b)], heat: true,
        rows: table.map((row, i) => [model.labelsOf(a)[i], ...row]), show: [null, ...model.labelsOf(b).map(() => LT.probability)] }),
    ];
  };

  /* ---- what if ---- */

  LT.whatIf = function (page) {
    const { model } = page;
    const byName = model.name.map((_, v) => v).sort((a, b) => model.latent[a] - model.latent[b] || model.name[a].localeCompare(model.name[b], undefined, { numeric: true }));
    const variable = h("select", { id: "what-variable" }, byName.map((v) => h("option", { value: v }, `${LT.shortened(model.name[v], 40)}${model.latent[v] ? " (latent)" : ""}`)));
    const state = h("select", { id: "what-state" });
    const offer = () => state.replaceChildren(...model.labelsOf(+variable.value).map((label, i) => h("option", { value: i }, LT.shortened(label, 40))));
    variable.addEventListener("change", offer);
    offer();
    const filter = h("input", { type: "search", id: "what-filter", placeholder: "only names with …", "aria-label": "Show only variables whose name holds" });
    const given = h("ul", { class: "given-list", "aria-label": "Assumed" }), verdict = h("p", { class: "muted", role: "status" }), list = h("div", { class: "moves" });

    function draw() {
      given.replaceChildren(...[...model.evidence].map(([v, i]) => h("li", {}, `${LT.shortened(model.name[v], 30)} = ${LT.shortened(model.labelsOf(v)[i], 30)} `,
        h("button", { type: "button", class: "quiet", "aria-label": `Forget ${model.name[v]}`, onclick: () => model.assume(v, null) }, "×"))));
      const log = model.now.logProbability;
      if (!model.evidence.size) verdict.textContent = "Nothing is assumed yet. Choose a variable and a value, or press Assume beside a node.";
      else if (!model.possible) verdict.textContent = "Under the model this cannot happen: its probability is zero. Forget something.";
      else verdict.textContent = `Probability of what is assumed: ${log > -700 ? Math.exp(log).toPrecision(4) : `exp(${log.toFixed(2)})`}. Those that move most come first.`;
      verdict.classList.toggle("warning", !model.possible);
      const wanted = filter.value.trim().toLocaleLowerCase();
      const shown = byName.filter((v) => !model.evidence.has(v) && model.name[v].toLocaleLowerCase().includes(wanted)).map((v) => [v, model.moved(v)]).sort((a, b) => b[1] - a[1]);
      list.replaceChildren(...shown.slice(0, MOST_LISTED).map(([v, moved]) => move(page, v, moved)));
      if (shown.length > MOST_LISTED) list.append(h("p", { class: "muted small" }, `and ${shown.length - MOST_LISTED} more that moved less; type a name above to see them`));
    }
    filter.addEventListener("input", draw);
    model.changed.push(draw);
    draw();
    const csv = () => [["variable", "state", "probability", "without evidence"], ...model.name.flatMap((name, v) =>
      model.labelsOf(v).map((label, i) => [name, label, model.beliefs[v][i], model.prior[v][i]]))];
    return [
      h("h2", {}, "What if"),
      h("form", { class: "assume", onsubmit: (event) => { event.preventDefault(); model.assume(+variable.value, +state.value); } },
        h("label", { for: "what-variable" }, "Assume"), variable, h("label", { for: "what-state" }, "is"), state, h("button", { type: "submit" }, "Assume")),
      given,
      h("div", { class: "line" }, verdict, h("button", { type: "button", class: "quiet", id: "what-clear", onclick: () => model.clear() }, "Forget all")),
      h("section", {}, h("h3", {}, "All other variables", LT.csvButton("what if", csv)), filter, list),
    ];
  };

  function move(page, v, moved) {
    const { model } = page, now = model.beliefs[v], labels = model.labelsOf(v);
    return h("div", { class: "move", "data-v": v },
      h("div", { class: "line" }, nodeButton(page, v, LT.shortened(model.name[v], 32)), h("span", { class: "muted small" }, moved > 5e-4 ? `moved ${LT.probability(moved)}` : "")),
      h("table", { class: "states" }, h("tbody", {}, labels.map((label, i) => h("tr", {}, h("th", { scope: "row", title: label }, LT.shortened(label, 18)),
        h("td", { class: "wide" }, LT.bar(now[i], model.prior[v][i])), h("td", { class: "number" }, LT.probability(now[i])))))));
  }
})((globalThis.LT ??= {}));
