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
      const own = model.latents[v];
      return h(
        "li",
        {},
        h("div", { class: "line" }, LT.nodeButton(page, v), h("span", { class: "muted" }, `${model.card[v]} states`)),
        h(
          "div",
          { class: "sizes", "aria-hidden": "true" },
          Array.from(model.prior[v], (p, i) => share(p, i, model.card[v])),
        ),
        h(
          "div",
          { class: "muted small" },
          own.leaves
            .slice(0, 4)
            .map(([u]) => LT.shortened(model.name[u], 24))
            .join(" · "),
        ),
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
      ...latents.flatMap((v) =>
        Array.from(model.prior[v], (p, i) => [
          model.name[v],
          model.labelsOf(v)[i],
          p,
          model.latents[v].counts ? model.latents[v].counts[i] : null,
        ]),
      ),
    ];
    const naming = LT.namesSection(page);
    return [
      LT.facts(model.facts),
      findings,
      LT.section(
        ["Latent variables", LT.csvButton("latent variables", csv)],
        h(
          "p",
          { class: "muted small" },
          "Sizes of their states, the first state lightest and the last darkest, and their most informative variables.",
        ),
        list,
        more,
      ),
      naming,
      LT.section(
        "How to move",
        h(
          "p",
          { class: "small" },
          "Drag to pan, scroll to zoom, click a node or an edge for what is behind it, double-click a node to fold its branch. ",
          "Keys: ",
          h("kbd", {}, "/"),
          " search, arrows walk the tree, ",
          h("kbd", {}, "Enter"),
          " opens, ",
          h("kbd", {}, "Space"),
          " folds, ",
          h("kbd", {}, "+"),
          " ",
          h("kbd", {}, "−"),
          " ",
          h("kbd", {}, "0"),
          " zoom. Edges are as thick as the mutual information of their ends; colours tell branches apart and mean nothing else.",
        ),
      ),
    ];
  };

  function share(p, i, k) {
    const part = h("span", {});
    part.style.width = `${100 * p}%`;
    part.style.opacity = k > 1 ? 0.16 + (0.84 * i) / (k - 1) : 1;
    return part;
  }
})((globalThis.LT ??= {}));
