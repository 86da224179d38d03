/* The panel where values are assumed, and all else moves. */
(function (LT) {
  "use strict";
  const { h } = LT;
  const MOST_LISTED = 40;

  LT.whatIf = function (page) {
    const { model } = page;
    const byName = model.name
      .map((_, v) => v)
      .filter((v) => !(v in model.cut))
      .sort(
        (a, b) =>
          model.latent[a] - model.latent[b] || model.name[a].localeCompare(model.name[b], undefined, { numeric: true }),
      );
    const variable = h(
      "select",
      { id: "what-variable" },
      byName.map((v) =>
        h("option", { value: v }, `${LT.shortened(model.name[v], 40)}${model.latent[v] ? " (latent)" : ""}`),
      ),
    );
    const state = h("select", { id: "what-state" });
    const offer = () =>
      state.replaceChildren(
        ...model.labelsOf(+variable.value).map((label, i) => h("option", { value: i }, LT.shortened(label, 40))),
      );
    variable.addEventListener("change", offer);
    offer();
    const filter = h("input", {
      type: "search",
      id: "what-filter",
      placeholder: "only names with …",
      "aria-label": "Show only variables whose name holds",
    });
    const given = h("ul", { class: "given-list", "aria-label": "Assumed" }),
      verdict = h("p", { class: "muted", role: "status" }),
      list = h("div", { class: "moves" });

    function draw() {
      given.replaceChildren(
        ...[...model.evidence].map(([v, i]) =>
          h(
            "li",
            {},
            `${LT.shortened(model.name[v], 30)} = ${LT.shortened(model.labelsOf(v)[i], 30)} `,
            LT.button("×", () => model.assume(v, null), { class: "quiet", "aria-label": `Forget ${model.name[v]}` }),
          ),
        ),
      );
      const log = model.now.logProbability;
      if (!model.evidence.size)
        verdict.textContent = "Nothing is assumed yet. Choose a variable and a value, or press Assume beside a node.";
      else if (!model.possible)
        verdict.textContent = "Under the model this cannot happen: its probability is zero. Forget something.";
      else
        verdict.textContent = `Probability of what is assumed: ${log > -700 ? Math.exp(log).toPrecision(4) : `exp(${log.toFixed(2)})`}. Those that move most come first.`;
      verdict.classList.toggle("warning", !model.possible);
      const wanted = filter.value.trim().toLocaleLowerCase();
      const shown = byName
        .filter((v) => !model.evidence.has(v) && model.name[v].toLocaleLowerCase().includes(wanted))
        .map((v) => [v, model.moved(v)])
        .sort((a, b) => b[1] - a[1]);
      list.replaceChildren(...shown.slice(0, MOST_LISTED).map(([v, moved]) => move(page, v, moved)));
      if (shown.length > MOST_LISTED)
        list.append(
          h(
            "p",
            { class: "muted small" },
            `and ${shown.length - MOST_LISTED} more that moved less; type a name above to see them`,
          ),
        );
    }
    filter.addEventListener("input", draw);
    model.changed.push(draw);
    draw();
    const csv = () => [
      ["variable", "state", "probability", "without evidence"],
      ...model.name.flatMap((name, v) =>
        model.labelsOf(v).map((label, i) => [name, label, model.beliefs[v][i], model.prior[v][i]]),
      ),
    ];
    return [
      h("h2", {}, "What if"),
      h(
        "form",
        {
          class: "assume",
          onsubmit: (event) => {
            event.preventDefault();
            model.assume(+variable.value, +state.value);
          },
        },
        h("label", { for: "what-variable" }, "Assume"),
        variable,
        h("label", { for: "what-state" }, "is"),
        state,
        h("button", { type: "submit" }, "Assume"),
      ),
      given,
      h(
        "div",
        { class: "line" },
        verdict,
        LT.button("Forget all", () => model.clear(), { class: "quiet", id: "what-clear" }),
      ),
      LT.section(["All other variables", LT.csvButton("what if", csv)], filter, list),
    ];
  };

  function move(page, v, moved) {
    const { model } = page,
      now = model.beliefs[v],
      labels = model.labelsOf(v);
    return h(
      "div",
      { class: "move", "data-v": v },
      h(
        "div",
        { class: "line" },
        LT.nodeButton(page, v, LT.shortened(model.name[v], 32)),
        h("span", { class: "muted small" }, moved > 5e-4 ? `moved ${LT.probability(moved)}` : ""),
      ),
      LT.barTable(
        [],
        labels.map((label, i) =>
          h(
            "tr",
            {},
            h("th", { scope: "row", title: label }, LT.shortened(label, 18)),
            h("td", { class: "wide" }, LT.bar(now[i], model.prior[v][i])),
            h("td", { class: "number" }, LT.probability(now[i])),
          ),
        ),
      ),
    );
  }
})((globalThis.LT ??= {}));
