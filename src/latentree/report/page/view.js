/* The tree on the page: pan, zoom, fold, search, select, and a small bar of probabilities at every node. */
(function (LT) {
  "use strict";
  const BAR = 30,
    TEXT_AT = 36,
    PILL = 22,
    FAR = 0.62 /* below, names of leaves would be too small to read */,
    READ = 11 /* pixels: how large names of latent variables are at least drawn on the screen */,
    LEAF = 10 /* pixels: how large names of leaves are drawn around a radial tree from afar */,
    LEGEND = 36,
    RADIAL = 18 /* characters of latent names in a radial tree */;

  class TreeView {
    /* svg: what Python drew; model: the page's data; on: {node, edge} called with what is clicked. */
    constructor(svg, model, on) {
      Object.assign(this, { svg, model, on });
      this.root = model.draw.root;
      this.children = model.draw.children;
      this.parent = model.draw.parent;
      this.style = model.draw.style;
      this.folded = new Set();
      this.widths = model.draw.widths.slice();
      this.nodes = [];
      this.edges = [];
      this.bars = [];
      this.focused = this.root;
      this.arrange();
      const { order } = this.arrangement; /* Python drew in this order */
      svg.querySelectorAll(".nodes > g").forEach((g, i) => this.adopt(g, order[i]));
      svg.querySelectorAll(".edges > path").forEach((path, i) => {
        this.edges[order[i + 1]] = path;
      });
      this.strokes = this.edges.map((path) => +path.getAttribute("stroke-width"));
      this.listen();
      this.layout();
      this.home();
      if (this.style === "rows" && this.zoom < FAR && this.children.some((own, v) => own.length && v !== this.root)) {
        this.foldAll(true, false); /* all of it in view, and readable */
      }
    }

    adopt(g, v) {
      const { model } = this;
      this.nodes[v] = g;
      g.dataset.v = v;
      g.classList.add("n");
      LT.set(g, {
        role: "treeitem",
        tabindex: v === this.root ? "0" : "-1",
        "aria-level": this.arrangement.depth[v] + 1,
        "aria-expanded": this.isInner(v) ? "true" : null,
        "aria-label": `${model.name[v]}, ${model.latent[v] ? "latent" : "variable"}, ${model.card[v]} states`,
      });
    }

    /* What can wait until the tree is seen: bars, and wider edges to click on. */
    decorate() {
      const { model, svg } = this;
      svg.setAttribute("role", "tree");
      svg.querySelectorAll(".edges, .nodes").forEach((g) => g.setAttribute("role", "presentation"));
      const hits = LT.s("g", { class: "hits", role: "presentation" });
      this.hits = [];
      this.edges.forEach((path, v) => {
        hits.append((this.hits[v] = LT.s("path", { class: "hit", "data-v": v, d: path.getAttribute("d") })));
      });
      svg.querySelector(".nodes").before(hits);
      this.nodes.forEach((g, v) => {
        const k = model.card[v],
          group = LT.s("g", { class: "bars", "aria-hidden": "true" });
        this.bars[v] = Array.from({ length: k }, (_, i) =>
          group.appendChild(
            LT.s("rect", { "fill-opacity": k > 1 ? LT.round(10 * (0.22 + (0.78 * i) / (k - 1))) / 10 : 1 }),
          ),
        );
        (this.isInner(v) ? g.firstChild : g).append(group);
      });
    }

    /* A word on what the pointer is over, made when it is asked for. */
    explain(target) {
      if (!target || target.querySelector("title")) return;
      const v = +target.dataset.v,
        { model } = this;
      const text = target.classList.contains("n")
        ? `${model.name[v]} (${model.card[v]} states)`
        : `${model.name[this.parent[v]]} – ${model.name[v]}: ${LT.nats(model.info[this.edgeOf(v)])} nats. Click for the table.`;
      target.append(LT.s("title", {}, text));
    }

    edgeOf(v) {
      return this.model.parent[v] === this.parent[v] ? v : this.parent[v];
    }

    isInner(v) {
      return this.children[v].length > 0;
    }

    label(v) {
      if (!this.isInner(v)) return LT.shortened(this.model.name[v]);
      const name = LT.shortened(this.model.name[v], this.style === "radial" ? RADIAL : undefined);
      const hidden = this.folded.has(v) ? ` +${LT.below(this.children, v).length}` : "";
      return `${name}${this.model.cut[v] ?? ` (${this.model.card[v]})`}${hidden}`;
    }

    /* ---- places ---- */

    arrange() {
      this.arrangement = LT.arrange(this.root, this.children, this.folded);
      this.children.forEach((own, v) => {
        if (own.length) this.widths[v] = LT.measured(this.label(v), this.model.latent[v]) + 20;
      });
      this.places = LT.places(this.arrangement, this.children, this.widths, this.style);
      this.measureRoom();
    }

    layout() {
      this.arrange();
      this.version = (this.version ?? 0) + 1;
      this.nodes.forEach((g, v) => this.place(g, v));
      this.edges.forEach((path, v) => {
        const gone = !this.places.has(v);
        path.classList.toggle("gone", gone);
        this.hits?.[v].classList.toggle("gone", gone);
        if (gone) return;
        const d = LT.edgePath(this.places.get(this.parent[v]), this.places.get(v), this.widths[this.parent[v]]);
        path.setAttribute("d", d);
        this.hits?.[v].setAttribute("d", d);
      });
      this.drawBars(this.posteriors);
    }

    place(g, v) {
      const at = this.places.get(v);
      g.classList.toggle("gone", !at);
      if (!at) return;
      const r = LT.round,
        { turn, flip } = LT.turned(at);
      g.setAttribute("transform", `translate(${r(at.x)} ${r(at.y)})${turn}`);
      g.setAttribute("aria-level", this.arrangement.depth[v] + 1);
      if (this.isInner(v)) {
        const width = this.widths[v],
          left = at.angle === null ? 0 : -width / 2;
        const rect = g.querySelector("rect"),
          text = g.querySelector("text");
        LT.set(rect, { x: r(left), width: r(width) });
        text.setAttribute("x", r(left + width / 2));
        if (text.textContent !== this.label(v)) text.textContent = this.label(v);
        g.setAttribute("aria-expanded", String(!this.folded.has(v)));
        g.classList.toggle("folded", this.folded.has(v));
        return;
      }
      const text = g.querySelector("text");
      LT.set(text, { x: flip ? -TEXT_AT : TEXT_AT, "text-anchor": flip ? "end" : "start" });
    }

    /* How much larger the box of an inner node may be drawn before it meets others. */
    measureRoom() {
      const { slot, nSlots } = this.arrangement;
      this.room = [];
      const radii = [...this.places.values()].map((at) => at.radius).filter((r) => r > 0);
      this.outer = Math.max(...radii, 0);
      this.ring = Math.min(...radii, Infinity); /* all rings are as far apart as the first from the middle, or more */
      for (const [v, at] of this.places) {
        if (!this.isInner(v)) continue;
        const own = this.folded.has(v) ? [] : this.children[v];
        const extent = own.length ? slot[own[own.length - 1]] - slot[own[0]] + 1 : 1;
        const high =
          at.angle === null ? extent * 22 : v === this.root ? 400 : (extent / nSlots) * 2 * Math.PI * at.radius;
        const wide = at.angle === null ? this.widths[v] + 40 : 0.75 * this.ring;
        this.room[v] = Math.max(1, Math.min((0.8 * high) / PILL, wide / this.widths[v]));
      }
    }

    drawBars(posteriors) {
      if (!posteriors) return;
      this.posteriors = posteriors;
      this.bars.forEach((rects, v) => {
        const at = this.places.get(v);
        if (!at || !rects) return;
        const inner = this.isInner(v);
        const length = inner ? this.widths[v] - 18 : BAR,
          height = inner ? 2.6 : 9,
          top = inner ? PILL / 2 - 4 : -4.5;
        const flat = at.angle === null;
        let x = inner ? 9 - (flat ? 0 : this.widths[v] / 2) : !flat && Math.cos(at.angle) < 0 ? -BAR : 0;
        rects.forEach((rect, i) => {
          const width = length * posteriors[v][i];
          LT.set(rect, { x: LT.round(x), y: top, width: LT.round(width), height });
          x += width;
        });
      });
    }

    /* ---- looking ---- */

    /* How large names of leaves are drawn: 1, more around a radial tree from afar, or 0, not at all. */
    leafScale(zoom) {
      if (zoom >= FAR) return 1;
      const apart = (2 * Math.PI * this.outer * zoom) / Math.max(this.arrangement.nSlots, 1);
      return this.style === "radial" && !this.crowded && apart >= LEAF + 3 ? LEAF / 12 / zoom : 0;
    }

    bounds(leaf = this.leaf) {
      let left = Infinity,
        top = Infinity,
        right = -Infinity,
        bottom = -Infinity;
      const take = (x, y) => {
        left = Math.min(left, x);
        right = Math.max(right, x);
        top = Math.min(top, y);
        bottom = Math.max(bottom, y);
      };
      for (const [v, at] of this.places) {
        const inner = this.isInner(v),
          reach = inner ? this.widths[v] : leaf ? TEXT_AT + leaf * LT.measured(this.label(v)) : BAR;
        if (at.angle === null) {
          take(at.x, at.y - 14);
          take(at.x + reach, at.y + 14);
        } else if (at.radius === 0) {
          take(at.x - reach / 2, at.y - 14);
          take(at.x + reach / 2, at.y + 14);
        } else {
          const out = at.radius + (inner ? reach / 2 : reach);
          take(at.x, at.y);
          take(out * Math.cos(at.angle), out * Math.sin(at.angle));
        }
      }
      return { x: left - 16, y: top - 16, width: right - left + 32, height: bottom - top + 32 };
    }

    size() {
      return { width: this.svg.clientWidth || 800, height: this.svg.clientHeight || 600 };
    }

    show(box) {
      this.box = box;
      this.zoom = this.size().width / box.width;
      this.svg.setAttribute(
        "viewBox",
        [box.x, box.y, box.width, box.height].map((n) => Math.round(n * 100) / 100).join(" "),
      );
      this.setFar(this.zoom < FAR);
      this.leaf = this.leafScale(this.zoom);
      this.svg.classList.toggle("named", this.far && this.leaf > 0);
      this.svg.style.setProperty("--leaf", `${12 * this.leaf}px`);
      this.label_boxes();
    }

    /* Names of latent variables keep a size that can be read, as on a map: where two would overlap, the one further from
       the middle is left out until there is room. */
    label_boxes() {
      const key = `${this.version} ${this.zoom.toFixed(4)} ${this.far}`;
      if (this.boxed === key) return;
      this.boxed = key;
      const wanted = Math.max(1, READ / 12 / this.zoom),
        all = this.bounds(),
        taken = [];
      const outside = (box) =>
        box.left < all.x || box.top < all.y || box.right > all.x + all.width || box.bottom > all.y + all.height;
      for (const [v, at] of this.places) {
        if (!this.isInner(v)) continue;
        let scale = this.far ? wanted : Math.min(wanted, this.room[v]);
        /* Names of leaves begin where the outer ring ends. */
        if (at.radius && this.leaf) scale = Math.min(scale, (2 * (this.outer - at.radius)) / this.widths[v]);
        const box = LT.boxAround(at, this.widths[v] * scale, PILL * scale);
        const small = 12 * scale * this.zoom < 7.5;
        const meets = (own) => taken.some((other) => LT.overlap(own, other));
        const tiny = small || (scale > 1 && outside(box)) || meets(box);
        const g = this.nodes[v];
        g.classList.toggle("tiny", tiny);
        g.classList.toggle("under", tiny && meets(LT.boxAround(at, this.widths[v], PILL)));
        if (!tiny) taken.push(box);
        g.firstChild.setAttribute("transform", !tiny && scale > 1 ? `scale(${Math.floor(100 * scale) / 100})` : "");
      }
    }

    /* From afar, edges are drawn thicker than they are. */
    setFar(far) {
      if (this.far === far) return;
      this.far = far;
      this.svg.classList.toggle("far", far);
      this.edges.forEach((path, v) => path.setAttribute("stroke-width", LT.round(this.strokes[v] * (far ? 2.6 : 1))));
    }

    /* All of it, until the user moves it. */
    home() {
      this.fit();
      this.untouched = true;
    }

    fit() {
      const { width, height } = this.size(),
        free = Math.max(height - LEGEND, 0.8 * height);
      const whole = (leaf, most) => {
        const all = this.bounds(leaf);
        return { all, leaf, zoom: Math.min(width / all.width, free / all.height, most) };
      };
      this.crowded = false;
      let found = whole(1, 1.3);
      for (let tries = 0; found.zoom < FAR && found.leaf; tries++) {
        const leaf = this.leafScale(found.zoom); /* the further, the larger */
        if (leaf && leaf <= 1.005 * found.leaf) break;
        this.crowded = !leaf || tries >= 20; /* no room for the tree */
        found = whole(this.crowded ? 0 : leaf, 0.999 * FAR);
      }
      const { all, zoom } = found;
      const w = width / zoom,
        h = free / zoom;
      this.show({
        x: all.x - (w - all.width) / 2,
        y: all.y - (h - all.height) / 2,
        width: w,
        height: height / zoom,
      });
    }

    zoomBy(factor, at) {
      this.untouched = false;
      const { width, height } = this.size(),
        { box } = this;
      const zoom = Math.min(Math.max(this.zoom * factor, 0.03), 6);
      const w = width / zoom,
        h = height / zoom;
      const fx = at ? at.x / width : 0.5,
        fy = at ? at.y / height : 0.5;
      this.show({ x: box.x + fx * (box.width - w), y: box.y + fy * (box.height - h), width: w, height: h });
    }

    panBy(dx, dy) {
      this.untouched = false;
      this.show({ ...this.box, x: this.box.x - dx / this.zoom, y: this.box.y - dy / this.zoom });
    }

    reveal(v, closer = false) {
      for (let u = this.parent[v]; u >= 0; u = this.parent[u]) this.folded.delete(u);
      if (!this.places.has(v)) this.layout();
      const at = this.places.get(v),
        { width, height } = this.size();
      const zoom = closer ? Math.max(this.zoom, 0.8) : this.zoom,
        w = width / zoom,
        h = height / zoom;
      const { box } = this;
      const inside =
        at.x > box.x + 40 / zoom &&
        at.x < box.x + box.width - 160 / zoom &&
        at.y > box.y + 30 / zoom &&
        at.y < box.y + box.height - 30 / zoom;
      if (!inside || zoom !== this.zoom) this.show({ x: at.x - w / 2, y: at.y - h / 2, width: w, height: h });
    }

    /* ---- doing ---- */

    toggle(v, fold = !this.folded.has(v)) {
      if (!this.isInner(v)) return;
      if (fold) this.folded.add(v);
      else this.folded.delete(v);
      this.layout();
      if (!this.places.has(this.focused)) this.focus(v, false);
      this.home(); /* what is left fills the view */
      LT.say(`${this.model.name[v]} ${fold ? "folded" : "unfolded"}`);
    }

    foldAll(fold, tell = true) {
      this.folded.clear();
      /* Folding all leaves the latent variables: every node whose children are all leaves. */
      if (fold)
        this.children.forEach((own, v) => {
          if (own.length && v !== this.root && own.every((c) => !this.isInner(c))) this.folded.add(v);
        });
      this.layout();
      if (!this.places.has(this.focused)) this.focus(this.root, false);
      this.home();
      if (tell) LT.say(fold ? "Outer branches folded" : "All branches unfolded");
    }

    setStyle(style) {
      this.style = style;
      this.layout();
      this.home();
    }

    select(v) {
      this.svg.querySelectorAll(".selected").forEach((g) => {
        g.classList.remove("selected");
        g.removeAttribute("aria-selected");
      });
      if (v === null) return;
      this.nodes[v].classList.add("selected");
      this.nodes[v].setAttribute("aria-selected", "true");
      this.focus(v, false);
    }

    selectEdge(v) {
      this.select(null);
      this.edges[v].classList.add("selected");
    }

    setGiven(evidence) {
      this.nodes.forEach((g, v) => g.classList.toggle("given", evidence.has(v)));
    }

    find(text) {
      const wanted = text.trim().toLocaleLowerCase();
      const matches = [];
      this.nodes.forEach((g, v) => {
        const is = wanted !== "" && this.model.name[v].toLocaleLowerCase().includes(wanted);
        g.classList.toggle("found", is);
        if (is) matches.push(v);
      });
      return matches;
    }

    focus(v, move = true) {
      this.nodes[this.focused]?.setAttribute("tabindex", "-1");
      this.focused = v;
      this.nodes[v].setAttribute("tabindex", "0");
      if (!move) return;
      this.reveal(v);
      this.nodes[v].focus({ preventScroll: true });
    }

    listen() {
      const { svg } = this,
        pointers = new Map();
      let moved = false;
      svg.addEventListener("pointerdown", (event) => {
        pointers.set(event.pointerId, { x: event.clientX, y: event.clientY });
        moved = false;
      });
      svg.addEventListener("pointermove", (event) => {
        const last = pointers.get(event.pointerId);
        if (!last) return;
        const now = { x: event.clientX, y: event.clientY };
        if (pointers.size === 2) {
          const other = [...pointers.entries()].find(([id]) => id !== event.pointerId)[1];
          const stretch =
            Math.hypot(now.x - other.x, now.y - other.y) / Math.max(Math.hypot(last.x - other.x, last.y - other.y), 1);
          const rect = svg.getBoundingClientRect();
          this.zoomBy(stretch, { x: (now.x + other.x) / 2 - rect.x, y: (now.y + other.y) / 2 - rect.y });
          moved = true;
        } else if (moved || Math.hypot(now.x - last.x, now.y - last.y) > 3) {
          /* Captured only once it is a drag: a click must reach the node. */
          if (!moved) {
            svg.setPointerCapture(event.pointerId);
            svg.classList.add("dragged");
          }
          moved = true;
          this.panBy(now.x - last.x, now.y - last.y);
        } else return;
        pointers.set(event.pointerId, now);
      });
      for (const name of ["pointerup", "pointercancel"])
        svg.addEventListener(name, (event) => {
          pointers.delete(event.pointerId);
          svg.classList.remove("dragged");
        });
      svg.addEventListener(
        "wheel",
        (event) => {
          event.preventDefault();
          const rect = svg.getBoundingClientRect();
          const step = event.deltaMode === 1 ? 18 * event.deltaY : event.deltaY;
          this.zoomBy(Math.exp(-Math.max(-200, Math.min(200, step)) / 420), {
            x: event.clientX - rect.x,
            y: event.clientY - rect.y,
          });
        },
        { passive: false },
      );
      svg.addEventListener("click", (event) => {
        if (moved) return;
        const target = event.target.closest("[data-v]");
        if (!target) return;
        if (target.classList.contains("n")) this.on.node(+target.dataset.v);
        else this.on.edge(+target.dataset.v);
      });
      svg.addEventListener("dblclick", (event) => {
        const target = event.target.closest(".n");
        if (target) this.toggle(+target.dataset.v);
        else this.zoomBy(1.6, { x: event.offsetX, y: event.offsetY });
      });
      svg.addEventListener("pointerover", (event) => this.explain(event.target.closest("[data-v]")));
      svg.addEventListener("keydown", (event) => this.key(event));
      svg.addEventListener("focusin", (event) => {
        const node = event.target.closest(".n");
        if (node && +node.dataset.v !== this.focused) this.focus(+node.dataset.v, false);
      });
      new ResizeObserver(() => {
        if (!this.box || !this.svg.clientWidth) return;
        if (this.untouched) return this.home();
        const { width, height } = this.size();
        this.show({ ...this.box, width: width / this.zoom, height: height / this.zoom });
      }).observe(svg);
    }

    key(event) {
      const v = this.focused,
        { order } = this.arrangement,
        at = order.indexOf(v);
      const inner = this.isInner(v),
        folded = this.folded.has(v);
      const actions = {
        ArrowDown: () => at + 1 < order.length && this.focus(order[at + 1]),
        ArrowUp: () => at > 0 && this.focus(order[at - 1]),
        ArrowRight: () => {
          if (inner && folded) this.toggle(v, false);
          else if (inner) this.focus(this.children[v][0]);
        },
        ArrowLeft: () => this.parent[v] >= 0 && this.focus(this.parent[v]),
        Home: () => this.focus(order[0]),
        End: () => this.focus(order[order.length - 1]),
        Enter: () => this.on.node(v),
        " ": () => this.toggle(v),
        "+": () => this.zoomBy(1.25),
        "=": () => this.zoomBy(1.25),
        "-": () => this.zoomBy(0.8),
        0: () => this.fit(),
      };
      const action = actions[event.key];
      if (!action || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      action();
    }
  }

  LT.TreeView = TreeView;
})((globalThis.LT ??= {}));
