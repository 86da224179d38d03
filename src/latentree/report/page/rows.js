/* The data: rows of each latent state, and two latent variables against each other. */
(function (LT) {
  "use strict";
  const { h } = LT;
  const AT_ONCE = 100,
    SLICE = 25;

  /* Distinct rows with weights, and the most probable state of every latent variable in each. No DOM in this class. */
  class Rows {
    constructor(model) {
      const { data } = model;
      this.model = model;
      this.n = data.patterns;
      this.columns = data.columns;
      this.codes = LT.decode(data.codes, data.wide ? Int16Array : Int8Array);
      this.weights = LT.decode(data.weights, Float64Array);
      this.inverse = LT.decode(data.inverse, Int32Array);
      this.latents = Object.keys(model.latents).map(Number);
      this.states = new Map(this.latents.map((z) => [z, new Int16Array(this.n).fill(-1)]));
      this.probability = new Map(this.latents.map((z) => [z, new Float64Array(this.n)]));
      this.done = 0;
    }

    code(row, column) {
      return this.codes[column * this.n + row];
    }

    evidence(row) {
      const found = new Map();
      this.columns.forEach((v, c) => {
        if (this.code(row, c) >= 0) found.set(v, this.code(row, c));
      });
      return found;
    }

    /* Work out some more rows; false when all are done. */
    advance(until) {
      while (this.done < this.n) {
        const row = this.done++;
        const { posteriors } = this.model.messages.run(this.evidence(row));
        if (posteriors)
          for (const z of this.latents) {
            const p = posteriors[z];
            let best = 0;
            for (let i = 1; i < p.length; i++) if (p[i] > p[best]) best = i;
            this.states.get(z)[row] = best;
            this.probability.get(z)[row] = p[best];
          }
        if (performance.now() > until) return true;
      }
      return false;
    }

    /* Weight of the rows in each pair of states. */
    cross(a, b) {
      const weight = Array.from({ length: this.model.card[a] }, () => new Array(this.model.card[b]).fill(0));
      const first = this.states.get(a),
        second = this.states.get(b);
      for (let row = 0; row < this.n; row++) if (first[row] >= 0) weight[first[row]][second[row]] += this.weights[row];
      return weight;
    }

    label(row, column) {
      const code = this.code(row, column);
      return code < 0 ? null : this.model.labelsOf(this.columns[column])[code];
    }

    /* Numbers of the input rows of each pattern, from 1. */
    get numbers() {
      if (!this.listed) {
        this.listed = Array.from({ length: this.n }, () => []);
        this.inverse.forEach((pattern, i) => {
          if (pattern >= 0 && pattern < this.n) this.listed[pattern].push(i + 1);
        });
      }
      return this.listed;
    }
  }

  LT.Rows = Rows;

  LT.dataPanel = function (page) {
    const { model } = page,
      rows = (page.rows = new Rows(model));
    const progress = h("p", { class: "muted", role: "status" });
    const content = h("div", {});
    const work = () => {
      if (rows.advance(performance.now() + SLICE)) {
        progress.textContent = `Working out the states of the rows: ${Math.round((100 * rows.done) / rows.n)} %`;
        setTimeout(work);
      } else {
        progress.textContent = "";
        content.replaceChildren(...table(page, rows), ...(rows.latents.length > 1 ? crossing(page, rows) : []));
      }
    };
    let begun = false;
    return {
      content: [
        h("h2", {}, "Rows"),
        model.data.note ? h("p", { class: "muted small" }, model.data.note) : null,
        progress,
        content,
      ],
      open: () => {
        if (!begun) {
          begun = true;
          work();
        }
      },
    };
  };

  const choice = (id, model, latents, start) => {
    const select = h(
      "select",
      { id },
      latents.map((z) => h("option", { value: z }, LT.shortened(model.name[z], 40))),
    );
    select.value = start;
    return select;
  };

  function table(page, rows) {
    const { model } = page;
    const latent = choice("rows-latent", model, rows.latents, rows.latents[0]);
    const state = h("select", { id: "rows-state" });
    const filter = h("input", {
      type: "search",
      id: "rows-filter",
      placeholder: "value, or variable=value",
      "aria-label": "Show only rows that hold",
    });
    const count = h("p", { class: "muted small", role: "status" }),
      place = h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Rows" });
    let order = { by: "weight", down: true },
      most = AT_ONCE;

    const offer = () =>
      state.replaceChildren(
        h("option", { value: "" }, "all states"),
        ...model.labelsOf(+latent.value).map((t, i) => h("option", { value: i }, LT.shortened(t, 30))),
      );
    /* The most informative columns come first. */
    const columns = () => {
      const rank = new Map((model.latents[+latent.value].leaves || []).map(([u], i) => [u, i]));
      return rows.columns
        .map((v, c) => [v, c])
        .sort((a, b) => (rank.get(a[0]) ?? 1e9) - (rank.get(b[0]) ?? 1e9) || a[1] - b[1]);
    };
    const matching = (shown) => {
      const z = +latent.value,
        states = rows.states.get(z),
        wanted = state.value === "" ? null : +state.value;
      const text = filter.value.trim().toLocaleLowerCase(),
        at = text.indexOf("=");
      const name = at > 0 ? text.slice(0, at).trim() : null,
        value = at > 0 ? text.slice(at + 1).trim() : text;
      const named = name === null ? shown : shown.filter(([v]) => model.name[v].toLocaleLowerCase() === name);
      const holds = (own) => own !== undefined && (name === null ? own.includes(value) : own === value);
      const found = [];
      for (let row = 0; row < rows.n; row++) {
        if (wanted !== null && states[row] !== wanted) continue;
        if (!text || named.some(([, c]) => holds(rows.label(row, c)?.toLocaleLowerCase()))) found.push(row);
      }
      return found;
    };
    const key = (row) => {
      const z = +latent.value;
      if (order.by === "weight") return rows.weights[row];
      if (order.by === "state") return rows.states.get(z)[row];
      if (order.by === "probability") return rows.probability.get(z)[row];
      if (order.by === "rows") return rows.numbers[row][0];
      return rows.code(row, order.by);
    };
    const cells = (row, shown, z) => [
      rows.states.get(z)[row] < 0 ? null : model.labelsOf(z)[rows.states.get(z)[row]],
      rows.states.get(z)[row] < 0 ? null : rows.probability.get(z)[row],
      rows.weights[row],
      ...shown.map(([, c]) => rows.label(row, c)),
    ];

    function draw() {
      const z = +latent.value,
        shown = columns(),
        found = matching(shown);
      const sign = order.down ? -1 : 1;
      found.sort((a, b) => sign * (key(a) - key(b)) || a - b);
      const weight = found.reduce((sum, row) => sum + rows.weights[row], 0);
      count.textContent = `${LT.number(weight)} rows, ${LT.number(found.length)} distinct`;
      const numbered = rows.inverse.length > 0;
      const head = [
        ["state", "state"],
        ["P(state)", "probability"],
        ["count", "weight"],
        ...(numbered ? [["row", "rows"]] : []),
        ...shown.map(([v, c]) => [model.name[v], c]),
      ];
      const sorter = ([text, by]) => {
        const [way, mark] = order.by !== by ? ["none", ""] : order.down ? ["descending", " ▾"] : ["ascending", " ▴"];
        const sort = () => {
          order = { by, down: order.by === by ? !order.down : by === "weight" || by === "probability" };
          draw();
        };
        const button = LT.button([LT.shortened(text, 20), mark], sort, { class: "sorter", title: text });
        return h("th", { scope: "col", "aria-sort": way }, button);
      };
      const numbers = (row) => {
        const own = rows.numbers[row];
        return own.slice(0, 3).join(", ") + (own.length > 3 ? " …" : "");
      };
      const body = found.slice(0, most).map((row) => {
        const [own, probability, w, ...values] = cells(row, shown, z);
        return h(
          "tr",
          {},
          h("th", { scope: "row" }, own ?? "–"),
          h("td", { class: "number" }, probability === null ? "–" : LT.probability(probability)),
          h("td", { class: "number" }, LT.number(w)),
          numbered ? h("td", { class: "muted" }, numbers(row)) : null,
          values.map((t) =>
            h("td", { title: t, class: t === null ? "muted" : null }, t === null ? "·" : LT.shortened(t, 24)),
          ),
        );
      });
      place.replaceChildren(
        h("table", { class: "rows" }, h("thead", {}, h("tr", {}, head.map(sorter))), h("tbody", {}, body)),
        found.length > most
          ? LT.button(`Show more (${LT.number(found.length - most)} left)`, () => {
              most *= 4;
              draw();
            })
          : "",
      );
      last = { z, shown, found };
    }
    let last = null;
    const again = () => {
      most = AT_ONCE;
      draw();
    };
    latent.addEventListener("change", () => {
      offer();
      again();
    });
    state.addEventListener("change", again);
    filter.addEventListener("input", again);
    offer();
    draw();
    const csv = () => [
      [model.name[last.z], "probability", "count", ...last.shown.map(([v]) => model.name[v])],
      ...last.found.map((row) => cells(row, last.shown, last.z)),
    ];
    return [
      LT.section(
        ["Rows of a latent variable's states", LT.csvButton("rows", csv)],
        h(
          "div",
          { class: "choices" },
          h("label", { for: "rows-latent" }, "Latent"),
          latent,
          h("label", { for: "rows-state" }, "State"),
          state,
          filter,
        ),
        count,
        place,
      ),
    ];
  }

  function crossing(page, rows) {
    const { model } = page;
    const a = choice("cross-a", model, rows.latents, rows.latents[0]),
      b = choice("cross-b", model, rows.latents, rows.latents[1]);
    const place = h("div", {});
    const draw = () => {
      const first = +a.value,
        second = +b.value,
        counts = rows.cross(first, second);
      const total = counts.flat().reduce((x, y) => x + y, 0),
        columns = model.labelsOf(second);
      const head = [`${model.name[first]} \\ ${model.name[second]}`, ...columns, "all"];
      const sums = columns.map((_, j) => counts.reduce((sum, row) => sum + row[j], 0));
      const body = counts.map((row, i) => [model.labelsOf(first)[i], ...row, row.reduce((x, y) => x + y, 0)]);
      const shown = LT.table({
        caption: "Number of rows by their most probable states",
        name: `${model.name[first]} by ${model.name[second]}`,
        head,
        rows: [...body, ["all", ...sums, total]],
        show: [null, ...columns.map(() => LT.number), LT.number],
      });
      shown.querySelector("table").classList.add("heat");
      const most = Math.max(...counts.flat(), 1e-300);
      shown.querySelectorAll("tbody tr").forEach((tr, i) => {
        if (i < counts.length)
          counts[i].forEach((n, j) => tr.children[j + 1].style.setProperty("--p", `${Math.round((100 * n) / most)}%`));
      });
      place.replaceChildren(shown);
    };
    a.addEventListener("change", draw);
    b.addEventListener("change", draw);
    draw();
    return [
      LT.section(
        "Two latent variables against each other",
        h(
          "div",
          { class: "choices" },
          h("label", { for: "cross-a" }, "Rows"),
          a,
          h("label", { for: "cross-b" }, "Columns"),
          b,
        ),
        place,
      ),
    ];
  }
})((globalThis.LT ??= {}));
