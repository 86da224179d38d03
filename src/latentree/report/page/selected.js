/* The panel about a node or an edge. */
(function (LT) {
  "use strict";
  const { h } = LT;
  const MOST_LEAVES = 8,
    MOST_LISTED = 40;

  /* ---- a node ---- */

  LT.nodePanel = function (page, v) {
    const { model } = page,
      own = model.latents[v];
    const kind = model.latent[v] ? "latent variable" : "variable";
    const inner = page.view.isInner(v),
      folded = page.view.folded.has(v);
    return [
      h("h2", { tabindex: "-1" }, model.name[v]),
      model.question[v] && h("p", {}, model.question[v]),
      h(
        "p",
        { class: "muted" },
        `${kind}, ${model.card[v]} states`,
        own && own.entropy !== null ? `, relative entropy ${LT.probability(own.entropy)}` : "",
      ),
      h(
        "p",
        {},
        inner &&
          LT.button(folded ? "Unfold branch" : "Fold branch", () => {
            page.view.toggle(v);
            page.showNode(v);
          }),
      ),
      !(v in model.cut) && states(page, v),
      own?.leaves.length ? profiles(page, v, own) : null,
      own?.leaves.length ? curve(page, v, own) : null,
      neighbours(page, v),
      own ? LT.naming(page, v) : null,
    ];
  };

  function states(page, v) {
    const { model } = page,
      own = model.latents[v],
      labels = model.labelsOf(v),
      given = model.evidence.get(v);
    const now = model.beliefs[v],
      asked = model.evidence.size > 0;
    const rows = labels.map((label, i) => {
      const assumed = given === i;
      const assume = () => {
        model.assume(v, assumed ? null : i);
        page.showNode(v, false, true);
      };
      const said = `${assumed ? "Forget" : "Assume"} ${model.name[v]} = ${label}`;
      const more = { class: "quiet", "aria-pressed": String(assumed), "aria-label": said };
      return h(
        "tr",
        { class: assumed ? "given" : null },
        h(
          "th",
          { scope: "row", title: label },
          LT.shortened(label, 24),
          own?.answers?.[i] ? h("div", { class: "said" }, own.answers[i]) : null,
        ),
        h("td", { class: "wide" }, LT.bar(now[i], asked ? model.prior[v][i] : undefined)),
        h("td", { class: "number" }, LT.probability(now[i])),
        own?.counts ? h("td", { class: "number" }, LT.number(own.counts[i])) : null,
        h("td", {}, LT.button(assumed ? "Forget" : "Assume", assume, more)),
      );
    });
    const csv = () => [
      ["state", "probability", "without evidence", ...(own?.counts ? ["cases"] : [])],
      ...labels.map((label, i) => [label, now[i], model.prior[v][i], ...(own?.counts ? [own.counts[i]] : [])]),
    ];
    return LT.section(
      [asked ? "States, given what is assumed" : "States", LT.csvButton(`states of ${model.name[v]}`, csv)],
      LT.barTable(["state", "", "probability", ...(own?.counts ? ["cases"] : []), "assume"], rows),
    );
  }

  function curve(page, v, own) {
    const { model } = page,
      most = Math.max(own.total, ...own.leaves.map((l) => l[1]), 1e-300);
    const rows = own.leaves.map(([u, alone, together]) => {
      const bar = LT.bar(alone / most, together / most);
      return h(
        "tr",
        {},
        h("th", { scope: "row" }, LT.nodeButton(page, u, LT.shortened(model.name[u], 24))),
        h("td", { class: "wide" }, bar),
        h("td", { class: "number" }, LT.nats(alone)),
        h("td", { class: "number" }, own.total > 0 ? `${Math.round((100 * together) / own.total)} %` : "–"),
      );
    });
    const csv = () => [
      ["variable", "information", "cumulative", "coverage"],
      ...own.leaves.map(([u, a, t]) => [model.name[u], a, t, own.total > 0 ? t / own.total : null]),
    ];
    return LT.section(
      ["What defines it", LT.csvButton(`information curve of ${model.name[v]}`, csv)],
      h(
        "p",
        { class: "muted small" },
        "Mutual information of each variable (bar, nats), and that of it and those above together (mark, per cent of that of all variables).",
        model.exact ? "" : " That of all variables together is estimated from drawn rows.",
      ),
      LT.barTable(["variable", "", "information", "coverage"], rows, "states curve"),
    );
  }

  function profiles(page, v, own) {
    const { model } = page,
      given = model.givenStates(v),
      labels = model.labelsOf(v);
    const rowsOf = ([u]) =>
      model.labelsOf(u).map((label, j) => [model.name[u], label, ...given.map((p) => (p ? p[u][j] : null))]);
    const whole = () => [["variable", "state", ...labels], ...own.leaves.flatMap(rowsOf)];
    const named = ([name, ...cells], j) => [j === 0 ? name : "", ...cells];
    const rows = own.leaves.slice(0, MOST_LEAVES).flatMap((leaf) => rowsOf(leaf).map(named));
    const body = rows.map((row) =>
      h(
        "tr",
        { class: row[0] ? "first" : null },
        h("th", { scope: "row", title: row[0] || null }, LT.shortened(row[0], 18)),
        h("td", { title: row[1] }, LT.shortened(row[1], 16)),
        row.slice(2).map((p) => {
          const td = h("td", { class: "number" }, p === null ? "–" : LT.probability(p));
          td.style.setProperty("--p", `${Math.round(100 * (p || 0))}%`);
          return td;
        }),
      ),
    );
    const heads = [
      ...["variable", "state"].map((t) => h("th", { scope: "col" }, t)),
      ...labels.map((t) => h("th", { scope: "col", class: "number" }, LT.shortened(t, 14))),
    ];
    return LT.section(
      ["Profiles", LT.csvButton(`profiles of ${model.name[v]}`, whole)],
      h("p", { class: "muted small" }, `P(variable | ${model.name[v]}), the most informative variables.`),
      own.items ? items(page, own, labels) : null,
      LT.shades(),
      h(
        "div",
        { class: "scroll", tabindex: "0", role: "region", "aria-label": "Profiles" },
        h("table", { class: "heat" }, h("thead", {}, h("tr", {}, heads)), h("tbody", {}, body)),
      ),
    );
  }

  /* Words and baskets: what is there more often in a state than elsewhere. */
  function items(page, own, labels) {
    return h(
      "table",
      { class: "items" },
      h(
        "thead",
        {},
        h("tr", {}, h("th", { scope: "col" }, "state"), h("th", { scope: "col" }, "items: probability, times as often")),
      ),
      h(
        "tbody",
        {},
        own.items.map((top, i) =>
          h(
            "tr",
            { class: "first" },
            h("th", { scope: "row" }, LT.shortened(labels[i], 18)),
            h(
              "td",
              {},
              top.length
                ? top.map(([name, p, lift]) =>
                    h("span", { class: "item", title: name }, `${LT.shortened(name, 22)} ${LT.percent(p)}, ×${lift.toFixed(1)} `),
                  )
                : "nothing more often than elsewhere",
            ),
          ),
        ),
      ),
    );
  }

  function neighbours(page, v) {
    const { model } = page;
    const near = model
      .neighbours(v)
      .map((u) => [u, model.edgeInformation(v, u)])
      .sort((a, b) => b[1] - a[1]);
    const most = near.length ? near[0][1] : 0;
    const said = (u) => `Table of ${model.name[v]} and ${model.name[u]}`;
    const rows = near.slice(0, MOST_LISTED).map(([u, information]) =>
      h(
        "tr",
        {},
        h("th", { scope: "row" }, LT.nodeButton(page, u, LT.shortened(model.name[u], 24))),
        h("td", { class: "wide" }, LT.bar(most > 0 ? information / most : 0)),
        h("td", { class: "number" }, LT.nats(information)),
        h("td", {}, LT.button("Table", () => page.showEdge(v, u), { class: "quiet", "aria-label": said(u) })),
      ),
    );
    const more = near.length - rows.length;
    const csv = () => [["neighbour", "information"], ...near.map(([u, i]) => [model.name[u], i])];
    return LT.section(
      ["Neighbours", LT.csvButton(`neighbours of ${model.name[v]}`, csv)],
      LT.barTable(["neighbour", "", "information", "table"], rows),
      more > 0 ? h("p", { class: "muted small" }, `and ${more} more`) : null,
    );
  }

  /* ---- an edge ---- */

  LT.edgePanel = function (page, a, b) {
    const { model } = page,
      table = model.conditional(a, b);
    return [
      h("h2", { tabindex: "-1" }, `${model.name[a]} – ${model.name[b]}`),
      h("p", { class: "muted" }, `Mutual information ${LT.nats(model.edgeInformation(a, b))} nats`),
      h(
        "p",
        {},
        LT.nodeButton(page, a),
        " ",
        LT.nodeButton(page, b),
        " ",
        LT.button("Turn round", () => page.showEdge(b, a)),
      ),
      LT.table({
        caption: `P(${model.name[b]} | ${model.name[a]})`,
        head: [model.name[a], ...model.labelsOf(b)],
        heat: true,
        rows: table.map((row, i) => [model.labelsOf(a)[i], ...row]),
        show: [null, ...model.labelsOf(b).map(() => LT.probability)],
      }),
    ];
  };
})((globalThis.LT ??= {}));
