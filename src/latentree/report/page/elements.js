/* Making elements. Text from data becomes text nodes and attribute values, never markup. */
(function (LT) {
  "use strict";
  const SVG = "http://www.w3.org/2000/svg";

  function fill(node, attributes, children) {
    for (const [name, value] of Object.entries(attributes || {})) {
      if (value === null || value === undefined || value === false) continue;
      if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
      else node.setAttribute(name, value === true ? "" : value);
    }
    for (const child of children.flat(Infinity)) {
      if (child !== null && child !== undefined && child !== false) node.append(child);
    }
    return node;
  }

  LT.h = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
  LT.s = (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);
  LT.set = (node, attributes) => fill(node, attributes, []);
  LT.$ = (selector) => document.querySelector(selector);

  LT.button = (text, onclick, more = { class: "quiet" }) => LT.h("button", { type: "button", ...more, onclick }, text);

  /* A name that leads to its node. */
  LT.nodeButton = (page, v, text) =>
    LT.button(text ?? page.model.name[v], () => page.showNode(v, true), { class: "link" });

  LT.section = (head, ...content) => LT.h("section", {}, LT.h("h3", {}, head), content);

  LT.facts = (pairs) =>
    LT.h(
      "dl",
      { class: "facts" },
      pairs.map(([name, value]) => [LT.h("dt", {}, name), LT.h("dd", {}, value)]),
    );

  /* A table of bars. A number is headed at its right end; what is a button needs no head that is seen. */
  LT.barTable = function (heads, rows, kind = "states") {
    const cells = heads.map((text, i) => {
      const silent = text === "assume" || text === "table";
      return LT.h(
        "th",
        { scope: "col", class: i > 1 && !silent ? "number" : null },
        silent ? LT.h("span", { class: "hidden" }, text) : text,
      );
    });
    const head = heads.length ? LT.h("thead", {}, LT.h("tr", {}, cells)) : null;
    return LT.h("table", { class: kind }, head, LT.h("tbody", {}, rows));
  };

  /* What shades mean. */
  LT.shades = (from = "0", to = "1", what = "probability") =>
    LT.h("p", { class: "shades" }, `${what} ${from}`, LT.h("span", { "aria-hidden": "true" }), to);

  LT.later = (action) =>
    "requestIdleCallback" in globalThis ? requestIdleCallback(action, { timeout: 500 }) : setTimeout(action);

  LT.say = (text) => {
    LT.$("#said").textContent = text;
  };

  const grouped = new Intl.NumberFormat("en", { maximumFractionDigits: 3 });
  LT.number = (x) => (x === null || x === undefined ? "–" : grouped.format(x));
  LT.probability = (p) => (p > 0 && p < 0.0005 ? "<0.001" : p < 1 && p > 0.9995 ? ">0.999" : p.toFixed(3));
  LT.percent = (p) => `${(100 * p).toFixed(1)} %`;
  LT.nats = (x) => (x > 0 && x < 0.0005 ? "<0.001" : x.toFixed(3));

  /* A bar between 0 and 1, with a mark at an earlier value. */
  LT.bar = function (p, before) {
    const bar = LT.h("span", { class: "bar", "aria-hidden": "true" }, LT.h("span", { class: "fill" }));
    bar.firstChild.style.width = `${100 * p}%`;
    if (before !== undefined && Math.abs(before - p) > 5e-4) {
      const mark = LT.h("span", { class: "mark" });
      mark.style.left = `${100 * before}%`;
      bar.append(mark);
    }
    return bar;
  };

  /* A table of raw values, shown by a function for each column; it can be sorted and saved. */
  LT.table = function ({ caption, head, rows, show = [], name, heat = false, rowHead = true }) {
    const body = LT.h("tbody");
    const cell = (value, i) => {
      const shown = show[i] ? show[i](value) : value;
      const td = LT.h(i === 0 && rowHead ? "th" : "td", { scope: i === 0 && rowHead ? "row" : null }, shown ?? "–");
      if (typeof value === "number") td.className = "number";
      if (heat && i > 0 && typeof value === "number")
        td.style.setProperty("--p", `${Math.round(100 * Math.min(value, 1))}%`);
      return td;
    };
    body.append(...rows.map((row) => LT.h("tr", {}, row.map(cell))));
    const kind = (i) => (i > 0 && rows.length && typeof rows[0][i] === "number" ? "number" : null);
    const heads = head.map((text, i) => LT.h("th", { scope: "col", class: kind(i) }, text));
    const save = LT.csvButton(name || caption, () => [head, ...rows]);
    const table = LT.h(
      "table",
      { class: heat ? "heat" : null },
      LT.h("caption", {}, LT.h("span", {}, caption), save),
      LT.h("thead", {}, LT.h("tr", {}, heads)),
      body,
    );
    return LT.h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption }, table);
  };

  LT.csvButton = (name, rows) =>
    LT.button("CSV", () => LT.save(`${LT.fileName(name)}.csv`, LT.csv(rows()), "text/csv"), {
      class: "quiet",
      title: "Save this table as CSV",
      "aria-label": `Save as CSV: ${name}`,
    });
})((globalThis.LT ??= {}));
