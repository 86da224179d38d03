/* Names that people give to latent variables and their states, and a file of them that 'latentree name' takes. */
(function (LT) {
  "use strict";
  const { h } = LT;

  /* What was renamed here: {latents: {old: new}, states: {latent: {number: name}}}. */
  LT.given = { latents: {}, states: {} };

  LT.naming = function (page, v) {
    const { model } = page;
    const field = (label, value, take) => {
      const input = h("input", { type: "text", value, "aria-label": `Name of ${label}`, maxlength: 120 });
      input.addEventListener("change", () => {
        const text = input.value.trim().replace(/\s+/g, " ");
        if (!text || !take(text)) input.value = value;
      });
      return [h("span", { class: "muted small" }, label), input];
    };
    const rename = (text) => {
      if (model.name.some((name, u) => u !== v && name === text)) {
        LT.say(`There is another variable called ${text}`);
        return false;
      }
      const old = model.ownName?.[v] ?? model.name[v];
      (model.ownName ??= {})[v] = old;
      LT.given.latents[old] = text;
      model.name[v] = text;
      return done();
    };
    const renameState = (i) => (text) => {
      const labels = model.labelsOf(v).slice();
      if (labels.some((name, j) => j !== i && name === text)) {
        LT.say(`There is another state called ${text}`);
        return false;
      }
      labels[i] = text;
      model.labels[v] = model.labelSets.push(labels) - 1;
      const latent = model.ownName?.[v] ?? model.name[v];
      (LT.given.states[latent] ??= {})[i] = text;
      return done();
    };
    const done = () => {
      page.renamed(v);
      LT.say("Renamed");
      return true;
    };
    return LT.section(
      "Names",
      h(
        "div",
        { class: "names" },
        field("latent variable", model.name[v], rename),
        model.labelsOf(v).map((label, i) => field(`state ${i}`, label, renameState(i))),
      ),
      h("p", { class: "muted small" }, "Names stay on this page until it is closed; the Model panel saves them."),
    );
  };

  LT.namesFile = () => JSON.stringify(LT.given, null, 1) + "\n";

  LT.namesSection = (page) =>
    Object.keys(page.model.latents).length
      ? LT.section(
          "Names",
          h(
            "p",
            { class: "small" },
            page.profiles
              ? "Click a class in the legend to name the classes. "
              : "Select a latent variable to name it and its states. ",
            LT.button("Save the names", () => LT.save("names.json", LT.namesFile(), "application/json"), {
              id: "save-names",
            }),
            " writes a file that ",
            h("code", {}, "latentree name MODEL --names names.json"),
            " puts into the model.",
          ),
        )
      : null;
})((globalThis.LT ??= {}));
