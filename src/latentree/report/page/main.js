/* Putting the page together. */
(function (LT) {
  "use strict";
  const { h, $ } = LT;
  const kept = (content) => content.flat(Infinity).filter(Boolean);

  class Page {
    constructor(data) {
      this.model = new LT.PageModel(data);
      this.view = new LT.TreeView($("#tree"), this.model, {
        node: (v) => this.showNode(v),
        edge: (v) => this.showEdge(this.view.parent[v], v),
      });
      this.model.changed.push(() => this.moved());
      if ($("#profiles")) {
        this.profiles = LT.profilesView(this, $("#profiles"));
        document.body.classList.add("profiled");
      }
      this.makeTabs();
      this.makeBar();
      document.addEventListener("keydown", (event) => this.key(event));
      LT.later(() => {
        this.view.decorate();
        this.view.drawBars(this.model.beliefs);
        this.ready = true;
      });
    }

    /* ---- tabs ---- */

    makeTabs() {
      const { model } = this;
      /* A panel is made when it is first opened: {content, open, close}. */
      const still = (content) => ({ content });
      this.tabs = [
        ["overview", "Model", () => still(LT.overview(this))],
        ["node", "Selected", () => still([h("p", { class: "muted" }, this.profiles ? "Click a row of the profiles." : "Click a node or an edge of the tree.")])],
        ["what", "What if", () => still(LT.whatIf(this))],
      ];
      if (model.data && Object.keys(model.latents).length) this.tabs.push(["rows", "Rows", () => LT.dataPanel(this)]);
      if (model.trace.steps.length) this.tabs.push(["growth", "Growth", () => LT.replayPanel(this)]);
      this.panels = {};
      const list = $("#tabs"),
        place = $("#panels");
      this.tabs.forEach(([id, text], i) => {
        list.append(
          h(
            "button",
            {
              type: "button",
              role: "tab",
              id: `tab-${id}`,
              "aria-controls": `panel-${id}`,
              "aria-selected": "false",
              tabindex: "-1",
              onclick: () => this.open(id),
              onkeydown: (event) => this.tabKey(event, i),
            },
            text,
          ),
        );
        place.append(
          h("div", {
            role: "tabpanel",
            id: `panel-${id}`,
            "aria-labelledby": `tab-${id}`,
            hidden: true,
            tabindex: "0",
          }),
        );
      });
      this.open("overview");
    }

    open(id) {
      if (this.opened === id) return;
      if (this.opened) {
        this.mark(this.opened, false);
        this.panels[this.opened].close?.();
      }
      if (!this.panels[id]) {
        this.panels[id] = this.tabs.find((tab) => tab[0] === id)[2]();
        $(`#panel-${id}`).append(...kept(this.panels[id].content));
      }
      this.opened = id;
      this.mark(id, true);
      this.showGrowth(id === "growth");
      document.body.classList.toggle("wide", id === "rows"); /* tables of rows need the room */
      this.panels[id].open?.();
    }

    mark(id, on) {
      LT.set($(`#tab-${id}`), { "aria-selected": String(on), tabindex: on ? "0" : "-1" });
      $(`#panel-${id}`).hidden = !on;
    }

    tabKey(event, i) {
      const n = this.tabs.length;
      const to = { ArrowRight: (i + 1) % n, ArrowLeft: (i + n - 1) % n, Home: 0, End: n - 1 }[event.key];
      if (to === undefined) return;
      event.preventDefault();
      this.open(this.tabs[to][0]);
      $(`#tab-${this.tabs[to][0]}`).focus();
    }

    showGrowth(on) {
      $("#growth").classList.toggle("gone", !on);
      $("#tree").classList.toggle("gone", on);
      $("#profiles")?.classList.toggle("gone", on);
    }

    /* A latent variable or its states have another name: everything that shows it is drawn again. */
    renamed(v) {
      this.view.layout();
      this.view.home();
      this.view.nodes[v].querySelector("title")?.remove();
      this.profiles?.rename();
      if (this.selected?.node !== undefined) this.showNode(this.selected.node, false, true);
      for (const id of ["overview", "what", "rows"])
        if (this.panels[id] && id !== this.opened) {
          delete this.panels[id];
          $(`#panel-${id}`).replaceChildren();
        }
    }

    /* ---- what is selected ---- */

    showNode(v, reveal = false, stay = false) {
      this.selected = { node: v };
      this.view.svg.querySelectorAll("path.selected").forEach((path) => path.classList.remove("selected"));
      if (reveal) this.view.reveal(v, true);
      this.view.select(v);
      this.fillSelected(LT.nodePanel(this, v), stay);
      LT.say(`${this.model.name[v]} selected`);
    }

    showEdge(a, b) {
      this.selected = { edge: [a, b] };
      this.view.selectEdge(this.view.parent[b] === a ? b : a);
      this.fillSelected(LT.edgePanel(this, a, b));
      LT.say(`Edge between ${this.model.name[a]} and ${this.model.name[b]} selected`);
    }

    fillSelected(content, stay = false) {
      const panel = $("#panel-node"),
        scrolled = panel.parentNode.scrollTop,
        focused = stay ? document.activeElement?.closest("tr")?.rowIndex : null;
      this.open("node");
      panel.replaceChildren(...kept(content));
      panel.parentNode.scrollTop = stay ? scrolled : 0;
      if (stay && focused) panel.querySelectorAll("table.states")[0]?.rows[focused]?.querySelector("button")?.focus();
    }

    moved() {
      const { model, view } = this;
      if (this.ready) view.drawBars(model.beliefs);
      view.setGiven(model.evidence);
      if (this.selected?.node !== undefined && this.opened !== "node") {
        $("#panel-node").replaceChildren(...kept(LT.nodePanel(this, this.selected.node)));
      }
      $("#tab-what").textContent = model.evidence.size ? `What if (${model.evidence.size})` : "What if";
    }

    /* ---- the bar above the tree ---- */

    makeBar() {
      const { view } = this,
        search = $("#search"),
        count = $("#matches");
      let matches = [],
        at = -1;
      search.addEventListener("input", () => {
        matches = view.find(search.value);
        at = -1;
        count.textContent = search.value.trim() ? `${matches.length} found` : "";
      });
      search.addEventListener("keydown", (event) => {
        if (event.key === "Enter" && matches.length) {
          event.preventDefault();
          at = (at + (event.shiftKey ? matches.length - 1 : 1)) % matches.length;
          this.showNode(matches[at], true);
          count.textContent = `${at + 1} of ${matches.length}`;
        } else if (event.key === "Escape") {
          search.value = "";
          search.dispatchEvent(new Event("input"));
        }
      });
      const click = (id, action) => $(id).addEventListener("click", action);
      click("#zoom-in", () => view.zoomBy(1.3));
      click("#zoom-out", () => view.zoomBy(1 / 1.3));
      click("#zoom-fit", () => view.fit());
      click("#fold", () => view.foldAll(true));
      click("#unfold", () => view.foldAll(false));
      const style = $("#style");
      style.value = view.style;
      style.addEventListener("change", () => view.setStyle(style.value));
      click("#theme", () => this.turnTheme());
      click("#save-svg", () => LT.save("tree.svg", LT.standalone(...this.drawing()), "image/svg+xml"));
      click("#save-png", async () => {
        const [svg, box] = this.drawing();
        LT.save("tree.png", await LT.png(LT.standalone(svg, box), box, 2), "image/png");
      });
    }

    /* What is seen in the middle: the tree, or a step of its growth. */
    drawing() {
      if (this.opened !== "growth" && this.profiles) {
        const { x, y, width, height } = this.profiles.svg.viewBox.baseVal;
        return [this.profiles.svg, { x, y, width, height }];
      }
      if (this.opened !== "growth") return [$("#tree"), this.view.bounds()];
      const { x, y, width, height } = $("#growth").viewBox.baseVal;
      return [$("#growth"), { x, y, width, height }];
    }

    turnTheme() {
      const root = document.documentElement;
      const dark = root.dataset.theme
        ? root.dataset.theme === "dark"
        : matchMedia("(prefers-color-scheme: dark)").matches;
      root.dataset.theme = dark ? "light" : "dark";
      LT.say(dark ? "Light colours" : "Dark colours");
    }

    key(event) {
      if (event.key !== "/" || event.ctrlKey || event.metaKey || /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName))
        return;
      event.preventDefault();
      $("#search").focus();
    }
  }

  if (typeof document !== "undefined" && $("#page-data")) LT.page = new Page(JSON.parse($("#page-data").textContent));
})((globalThis.LT ??= {}));
