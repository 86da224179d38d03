/* Exact message passing on a tree, in logarithms throughout: no evidence is too improbable for it. No DOM here. */
(function (LT) {
  "use strict";

  function logSum(values, n) {
    let most = -Infinity;
    for (let i = 0; i < n; i++) if (values[i] > most) most = values[i];
    if (most === -Infinity) return -Infinity;
    let sum = 0;
    for (let i = 0; i < n; i++) sum += Math.exp(values[i] - most);
    return most + Math.log(sum);
  }

  /* What evidence says of a state: nothing, all or nothing, or by likelihoods. */
  function logLikelihood(given, state) {
    if (given === undefined) return 0;
    if (typeof given === "number") return given === state ? 0 : -Infinity;
    return Math.log(given[state]);
  }

  /* parent[v] is -1 for node 0 and below v for all others; card[v] is the number of states; theta holds P(v | parent),
     a row for each state of the parent, node after node. */
  class Messages {
    constructor(parent, card, theta) {
      this.parent = parent;
      this.card = card;
      this.n = parent.length;
      this.children = parent.map(() => []);
      this.offset = [];
      let at = 0;
      for (let v = 0; v < this.n; v++) {
        if (v > 0) this.children[parent[v]].push(v);
        this.offset.push(at);
        at += card[v] * (v > 0 ? card[parent[v]] : 1);
      }
      this.theta = theta;
      this.logs = Float64Array.from(theta, Math.log);
      this.scratch = new Float64Array(Math.max(...card));
      this.fromBelow = card.map((k) => new Float64Array(k));
      this.fromAbove = card.map((k) => new Float64Array(k));
      this.toParent = card.map((k, v) => new Float64Array(v > 0 ? card[parent[v]] : 0));
      this.after = this.toParent.map((message) => new Float64Array(message.length)); /* later siblings together */
      this.before = new Float64Array(Math.max(...card));
    }

    /* P(v = b | parent = a). */
    table(v, a, b) {
      return this.theta[this.offset[v] + a * this.card[v] + b];
    }

    /* evidence: a Map from nodes to a state or to an array of likelihoods. Returns the posterior of every node and the
       log-probability of the evidence; posteriors are null if that is -Infinity. */
    run(evidence) {
      let logProbability = this.gather(evidence);
      const root = this.fromBelow[0];
      const joint = this.scratch;
      for (let a = 0; a < this.card[0]; a++) joint[a] = this.logs[a] + root[a];
      const last = logSum(joint, this.card[0]);
      logProbability = last === -Infinity ? -Infinity : logProbability + last;
      if (logProbability === -Infinity) return { posteriors: null, logProbability };
      this.spread(evidence);
      return { posteriors: this.card.map((_, v) => this.belief(v)), logProbability };
    }

    /* Upwards: what the branch below each node says. */
    gather(evidence) {
      let scale = 0;
      for (let v = this.n - 1; v >= 0; v--) {
        const own = this.fromBelow[v];
        const given = evidence.get(v),
          children = this.children[v];
        for (let a = 0; a < own.length; a++) own[a] = logLikelihood(given, a);
        for (let i = 0; i < children.length; i++) {
          const message = this.toParent[children[i]];
          for (let a = 0; a < own.length; a++) own[a] += message[a];
        }
        if (v === 0) break;
        const up = this.toParent[v],
          k = this.card[v],
          offset = this.offset[v],
          sum = this.scratch;
        let most = -Infinity;
        for (let a = 0; a < up.length; a++) {
          for (let b = 0; b < k; b++) sum[b] = this.logs[offset + a * k + b] + own[b];
          up[a] = logSum(sum, k);
          if (up[a] > most) most = up[a];
        }
        if (most === -Infinity) return -Infinity;
        for (let a = 0; a < up.length; a++) up[a] -= most; /* only differences matter further up */
        scale += most;
      }
      return scale;
    }

    /* Downwards: what all the rest says. Sums before and after a child, not a total minus its part: minus infinity
       cannot be taken back. */
    spread(evidence) {
      for (let a = 0; a < this.card[0]; a++) this.fromAbove[0][a] = this.logs[a];
      for (let v = 0; v < this.n; v++) {
        const children = this.children[v],
          k = this.card[v],
          n = children.length,
          before = this.before;
        if (n === 0) continue;
        this.after[children[n - 1]].fill(0);
        for (let i = n - 2; i >= 0; i--) {
          const later = this.after[children[i + 1]],
            message = this.toParent[children[i + 1]],
            out = this.after[children[i]];
          for (let a = 0; a < k; a++) out[a] = later[a] + message[a];
        }
        const given = evidence.get(v),
          above = this.fromAbove[v];
        for (let a = 0; a < k; a++) before[a] = above[a] + logLikelihood(given, a);
        for (let i = 0; i < n; i++) {
          const message = this.toParent[children[i]];
          this.down(children[i], k);
          for (let a = 0; a < k; a++) before[a] += message[a];
        }
      }
    }

    down(c, rows) {
      const out = this.fromAbove[c],
        k = this.card[c],
        sum = this.scratch,
        { before, logs } = this,
        after = this.after[c],
        offset = this.offset[c];
      let most = -Infinity;
      for (let b = 0; b < k; b++) {
        for (let a = 0; a < rows; a++) sum[a] = before[a] + after[a] + logs[offset + a * k + b];
        out[b] = logSum(sum, rows);
        if (out[b] > most) most = out[b];
      }
      for (let b = 0; b < k; b++) out[b] -= most;
    }

    belief(v) {
      const k = this.card[v],
        out = new Float64Array(k);
      for (let a = 0; a < k; a++) out[a] = this.fromAbove[v][a] + this.fromBelow[v][a];
      const total = logSum(out, k);
      let sum = 0;
      for (let a = 0; a < k; a++) sum += out[a] = Math.exp(out[a] - total);
      for (let a = 0; a < k; a++) out[a] /= sum;
      return out;
    }
  }

  LT.Messages = Messages;
})((globalThis.LT ??= {}));
