/* The page's data and what follows from them. No DOM here. */
(function (LT) {
  "use strict";

  LT.decode = function (text, Type) {
    const binary = atob(text),
      bytes = new Uint8Array(binary.length);
    for (let i = 0; i < bytes.length; i++) bytes[i] = binary.charCodeAt(i);
    return new Type(bytes.buffer);
  };

  /* Mutual information of two variables from P(a) and the rows P(b | a), in nats. */
  LT.mutualInformation = function (prior, given) {
    let sum = 0;
    const marginal = given[0].map((_, b) => prior.reduce((total, p, a) => total + p * given[a][b], 0));
    prior.forEach((p, a) =>
      given[a].forEach((q, b) => {
        if (p > 0 && q > 0) sum += p * q * Math.log(q / marginal[b]);
      }),
    );
    return Math.max(sum, 0);
  };

  class PageModel {
    constructor(data) {
      Object.assign(this, data);
      this.messages = new LT.Messages(data.parent, data.card, LT.decode(data.theta, Float64Array));
      this.evidence = new Map();
      this.prior = this.messages.run(this.evidence).posteriors;
      this.now = { posteriors: this.prior, logProbability: 0 };
      this.changed = [];
    }

    labelsOf(v) {
      return this.labelSets[this.labels[v]];
    }

    /* Set a node to a state, or forget it (null); calls everybody who listens. */
    assume(v, state) {
      if (state === null) this.evidence.delete(v);
      else this.evidence.set(v, state);
      this.update();
    }

    clear() {
      this.evidence.clear();
      this.update();
    }

    update() {
      this.now = this.messages.run(this.evidence);
      this.changed.forEach((listener) => listener());
    }

    get possible() {
      return this.now.posteriors !== null;
    }

    /* Posteriors as they are now, or those of no evidence when it is impossible. */
    get beliefs() {
      return this.now.posteriors || this.prior;
    }

    /* P(all nodes | node = state) for each of its states; null for a state that never occurs. */
    givenStates(v) {
      return Array.from({ length: this.card[v] }, (_, state) => this.messages.run(new Map([[v, state]])).posteriors);
    }

    /* How far a node has moved from where it was without evidence: total variation. */
    moved(v) {
      const before = this.prior[v],
        after = this.beliefs[v];
      return before.reduce((sum, p, i) => sum + Math.abs(p - after[i]), 0) / 2;
    }

    /* P(b | a) of two neighbours, a row for each state of a. */
    conditional(a, b) {
      const rows = Array.from({ length: this.card[a] }, () => new Array(this.card[b]).fill(0));
      const up = this.parent[b] === a;
      rows.forEach((row, i) =>
        row.forEach((_, j) => {
          if (up) row[j] = this.messages.table(b, i, j);
          else
            row[j] =
              this.prior[a][i] > 0
                ? (this.prior[b][j] * this.messages.table(a, j, i)) / this.prior[a][i]
                : this.prior[b][j];
        }),
      );
      return rows;
    }

    neighbours(v) {
      return [...(v > 0 ? [this.parent[v]] : []), ...this.messages.children[v]];
    }

    edgeInformation(a, b) {
      return this.info[this.parent[b] === a ? b : a];
    }
  }

  LT.PageModel = PageModel;
})((globalThis.LT ??= {}));
