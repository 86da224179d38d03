/* The panel about the whole model. */
(function (LT) {
  "use strict";
  const { h } = LT;
  const MOST_LISTED = 40;

  LT.overview = function (page) {
    const { model } = page;
    const findings = [
      ...model.warnings.map((text) => h("p", { class: "warning" }, text)),
      ...model.notes.map((text) => h("p", { class: "note" }, text)),
    ];
    const latents = Object.keys(model.latents).map(Number);
    const row = (v) => {
      const n = model.card[v],
        kind = page.profiles ? "classes" : "states",
        names = model.latents[v].leaves.slice(0, 4).map(([u]) => LT.shortened(model.name[u], 24));
      return h(
        "li",
        {},
        h("div", { class: "line" }, LT.nodeButton(page, v), h("span", { class: "muted" }, `${n} ${kind}`)),
        h("div", { class: "sizes", "aria-hidden": "true" }, Array.from(model.prior[v], (p, i) => share(p, i, n))),
        h("div", { class: "muted small" }, names.join(" · ")),
      );
    };
    const list = h("ul", { class: "latents" }, latents.slice(0, MOST_LISTED).map(row)),
      left = latents.length - MOST_LISTED;
    const more =
      left > 0
        ? LT.button(`Show ${left} more`, () => {
            list.append(...latents.slice(MOST_LISTED).map(row));
            more.remove();
          })
        : null;
    const csv = () => [
      ["latent", "state", "size", "cases"],
      ...latents.flatMap((v) => {
        const { counts } = model.latents[v];
        return Array.from(model.prior[v], (p, i) => [model.name[v], model.labelsOf(v)[i], p, counts ? counts[i] : null]);
      }),
    ];
    const naming = LT.namesSection(page);
    return [
      LT.facts(model.facts),
      findings,
      LT.section(
        [page.profiles ? "Classes" : "Latent variables", LT.csvButton("latent variables", csv)],
        h(
          "p",
          { class: "muted small" },
          `Sizes of ${page.profiles ? "classes" : "their states"}, the first lightest and the last darkest, and the most informative variables.`,
        ),
        list,
        more,
      ),
      naming,
      page.profiles ? howToRead() : howToMove(),
    ];
  };

  const key = (name) => h("kbd", {}, name),
    told = (head, ...words) => LT.section(head, h("p", { class: "small" }, words));

  const howToRead = () =>
    told(
      "How to read it",
      "Each line is a class; markers show the probability of the answer. Click a row or a class for its numbers; ",
      [key("/"), " searches."],
    );

  const howToMove = () =>
    told(
      "How to move",
      "Drag to pan, scroll to zoom, click a node or an edge for details, double-click a node to fold its branch. Keys: ",
      [key("/"), " search, arrows walk the tree, ", key("Enter"), " opens, ", key("Space"), " folds, "],
      [key("+"), " ", key("−"), " ", key("0"), " zoom. Edges are as thick as the mutual information of their ends; "],
      "colours tell branches apart and mean nothing else.",
    );

  function share(p, i, k) {
    const part = h("span", {});
    part.style.width = `${100 * p}%`;
    part.style.opacity = k > 1 ? 0.16 + (0.84 * i) / (k - 1) : 1;
    return part;
  }
})((globalThis.LT ??= {}));
