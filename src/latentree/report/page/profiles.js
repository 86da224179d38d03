/* Class profiles, which Python drew below each other: in as many columns as show them largest, and what is clicked. */
(function (LT) {
  "use strict";
  const SMALLEST = 0.75 /* below, its texts could not be read: it scrolls instead */,
    LARGEST = 1.5,
    COLUMNS = 4,
    GAP = 16;

  LT.profilesView = function (page, place) {
    const svg = place.querySelector("svg");
    const drawn = measured(svg);
    const columns = LT.h("div", { class: "profile-columns gone" });
    place.append(columns);
    let now = 1;
    const fit = () => {
      const style = getComputedStyle(place);
      const wide = place.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
      const high = place.clientHeight - parseFloat(style.paddingTop) - parseFloat(style.paddingBottom);
      if (wide <= 0 || high <= 0) return;
      const { n, scale } = LT.profileColumns(drawn, wide, high);
      if (n !== now) {
        columns.replaceChildren(...(n > 1 ? divided(svg, drawn, n) : []));
        columns.classList.toggle("gone", n === 1);
        svg.classList.toggle("gone", n > 1);
        now = n;
      }
      for (const own of [svg, ...columns.querySelectorAll("svg")]) {
        const { width, height } = own.viewBox.baseVal;
        LT.set(own, { width: Math.floor(width * scale), height: Math.floor(height * scale) });
      }
    };
    new ResizeObserver(fit).observe(place);
    fit();
    place.addEventListener("click", (event) => {
      const row = event.target.closest("[data-v], [data-class]");
      if (row) page.showNode(row.dataset.v === undefined ? 0 : +row.dataset.v);
    });
    return {
      svg,
      rename: () =>
        place.querySelectorAll("[data-class]").forEach((own) => {
          const i = +own.dataset.class,
            share = LT.percent(page.model.prior[0][i]).replace(/\.\d/, "");
          own.querySelector("text").textContent = `${LT.shortened(page.model.labelsOf(0)[i], 26)} (${share})`;
        }),
    };
  };

  /* How many columns show the profiles largest, and at what scale. */
  LT.profileColumns = function (drawn, wide, high) {
    let best = null;
    for (let n = 1; n <= COLUMNS; n++) {
      const across = wide / (n * drawn.width + (n - 1) * GAP);
      if (n > 1 && (across < SMALLEST || n > drawn.starts.length)) break;
      const most = Math.max(...LT.profileParts(drawn, n).map(([from, to]) => to - from)),
        down = high / (drawn.top + most * drawn.row + drawn.foot),
        worth = Math.min(across, down, LARGEST);
      if (!best || worth > 1.05 * best.worth) best = { n, worth, scale: Math.min(across, Math.max(worth, SMALLEST)) };
    }
    return best;
  };

  /* Rows from and to of each column; a variable stays in one. */
  LT.profileParts = function ({ starts, n_rows }, n) {
    const ends = [0];
    for (let i = 1; i < n; i++) {
      const off = (at) => Math.abs(at - (n_rows * i) / n);
      ends.push(starts.filter((at) => at > ends[i - 1]).reduce((a, b) => (off(b) < off(a) ? b : a), n_rows));
    }
    return ends.map((from, i) => [from, ends[i + 1] ?? n_rows]);
  };

  function measured(svg) {
    const rows = [...svg.querySelectorAll(".row")],
      { width, height } = svg.viewBox.baseVal;
    const [top, row] = ["y", "height"].map((name) => +(rows[0]?.querySelector("rect").getAttribute(name) ?? 1));
    const starts = [...rows.keys()].filter((i) => rows[i].dataset.v !== rows[i - 1]?.dataset.v);
    return { width, top, row, starts, n_rows: rows.length, foot: height - top - row * rows.length };
  }

  /* The legend, then columns of rows, each with the scale below. */
  function divided(svg, drawn, n) {
    const piece = (y, height, from, to) => {
      const copy = svg.cloneNode(true);
      copy.classList.remove("gone");
      copy.setAttribute("viewBox", `0 ${y} ${drawn.width} ${height}`);
      copy.querySelectorAll(".row").forEach((own, i) => (i < from || i >= to) && own.remove());
      if (y > 0) copy.querySelectorAll("[data-class]").forEach((own) => own.remove());
      return copy;
    };
    const end = drawn.top + drawn.row * drawn.n_rows;
    const rows = ([from, to]) => piece(drawn.top + drawn.row * from, drawn.row * (to - from), from, to);
    const column = (part) => LT.h("div", {}, rows(part), piece(end, drawn.foot, 0, 0));
    const parts = LT.profileParts(drawn, n).filter(([from, to]) => to > from);
    return [piece(0, drawn.top, 0, 0), LT.h("div", { class: "side-by-side" }, parts.map(column))];
  }
})((globalThis.LT ??= {}));
