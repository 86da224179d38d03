#include "dependence.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "precision.hpp"

namespace latentree {
namespace {

// A neighbour made ready: a column of cells, a missing one after the last state; or P(state | what is known, node).
struct Prepared {
  Index states = 0;
  Index width = 0;                             // states, and one more if cells may be missing
  const std::vector<double>* table = nullptr;  // P(neighbour | node): [states of the node][states]
  Indices cell;                                // by combination: a cell, or which of the things known
  std::vector<double> given;                   // [things known][states of the node][states], for likelihoods
  bool values() const { return given.empty(); }
};

Prepared prepared(const Beliefs& beliefs, Index a, Index b, const Known& known, const Indices& ids) {
  const Network& net = beliefs.network();
  const Index k = net.states[a];
  Prepared out;
  out.states = out.width = net.states[b];
  out.table = &net.conditional(b, a);
  out.cell = ids;
  if (known.likelihood.empty()) {
    for (Index& cell : out.cell)
      if (cell < 0) {
        cell = out.states;
        out.width = out.states + 1;
      }
    return out;
  }
  out.given.resize(std::size_t(known.count) * k * out.states);
  double* to = out.given.data();
  for (Index id = 0; id < known.count; ++id) {
    const double* l = known.likelihood.data() + std::size_t(id) * out.states;
    for (Index s = 0; s < k; ++s, to += out.states) {
      const double* prior = out.table->data() + std::size_t(s) * out.states;
      double sum = 0.0;
      for (Index x = 0; x < out.states; ++x) sum += to[x] = l[x] * prior[x];
      const double scale = 1.0 / std::max(sum, kUnderflow);
      for (Index x = 0; x < out.states; ++x) to[x] *= scale;
    }
  }
  return out;
}

// The node itself: weight times P(state | combination), [combinations][states].
struct Centre {
  std::vector<double> posterior;
  Index rows, states;
};

Centre centre_of(const Beliefs& beliefs, Index a, const Surroundings& around) {
  const Index k = beliefs.network().states[a];
  const std::vector<double>& total = beliefs.total(a);
  Centre out{std::vector<double>(around.weights.size() * k), static_cast<Index>(around.weights.size()), k};
  double* to = out.posterior.data();
  for (std::size_t i = 0; i < around.weights.size(); ++i, to += k) {
    double top = -std::numeric_limits<double>::infinity(), sum = 0.0;
    for (Index s = 0; s < k; ++s) {
      to[s] = std::log(std::max(beliefs.network().marginal[a][s], kUnderflow)) +
              total[std::size_t(s) * beliefs.rows() + around.row[i]];
      top = std::max(top, to[s]);
    }
    for (Index s = 0; s < k; ++s) sum += to[s] = std::exp(to[s] - top);
    for (Index s = 0; s < k; ++s) to[s] *= around.weights[i] / sum;
  }
  return out;
}

// Adds up the rows; K is the number of the node's states if it is known beforehand, else 0.
template <int K>
void add_values(const Centre& z, const Prepared& b, const Prepared& c, double* counts) {
  const Index k = K ? K : z.states;
  for (Index r = 0; r < z.rows; ++r) {
    const double* q = z.posterior.data() + std::size_t(r) * k;
    double* to = counts + (std::size_t(b.cell[r]) * c.width + c.cell[r]) * k;
    for (Index s = 0; s < k; ++s) to[s] += q[s];
  }
}

void add_rows(const Centre& z, const Prepared& b, const Prepared& c, double* counts) {
  const Index k = z.states, kb = b.states, kc = c.states;
  if (b.values() && c.values()) {
    if (k == 2) return add_values<2>(z, b, c, counts);
    if (k == 3) return add_values<3>(z, b, c, counts);
    if (k == 4) return add_values<4>(z, b, c, counts);
    return add_values<0>(z, b, c, counts);
  }
  for (Index r = 0; r < z.rows; ++r)
    for (Index s = 0; s < k; ++s) {
      const double q = z.posterior[std::size_t(r) * k + s];
      const double* pb = b.values() ? nullptr : b.given.data() + (std::size_t(b.cell[r]) * k + s) * kb;
      const double* pc = c.values() ? nullptr : c.given.data() + (std::size_t(c.cell[r]) * k + s) * kc;
      if (pb && pc) {
        for (Index x = 0; x < kb; ++x)
          for (Index y = 0; y < kc; ++y) counts[(std::size_t(x) * c.width + y) * k + s] += q * pb[x] * pc[y];
      } else if (pb) {
        for (Index x = 0; x < kb; ++x) counts[(std::size_t(x) * c.width + c.cell[r]) * k + s] += q * pb[x];
      } else {
        for (Index y = 0; y < kc; ++y) counts[(std::size_t(b.cell[r]) * c.width + y) * k + s] += q * pc[y];
      }
    }
}

// Counts [states of b][states of c][k]; what is missing has been shared out as the node says.
void count(const Centre& z, const Prepared& b, const Prepared& c, std::vector<double>& wide, std::vector<double>& out) {
  const Index k = z.states, kb = b.states, kc = c.states;
  wide.assign(std::size_t(b.width) * c.width * k, 0.0);
  add_rows(z, b, c, wide.data());
  auto at = [&](Index x, Index y, Index s) -> double& { return wide[(std::size_t(x) * c.width + y) * k + s]; };
  if (b.width > kb)
    for (Index y = 0; y < c.width; ++y)
      for (Index x = 0; x < kb; ++x)
        for (Index s = 0; s < k; ++s) at(x, y, s) += at(kb, y, s) * (*b.table)[std::size_t(s) * kb + x];
  if (c.width > kc)
    for (Index x = 0; x < kb; ++x)
      for (Index y = 0; y < kc; ++y)
        for (Index s = 0; s < k; ++s) at(x, y, s) += at(x, kc, s) * (*c.table)[std::size_t(s) * kc + y];
  out.resize(std::size_t(kb) * kc * k);
  double* to = out.data();
  for (Index x = 0; x < kb; ++x)
    for (Index y = 0; y < kc; ++y)
      for (Index s = 0; s < k; ++s) *to++ = at(x, y, s);
}

double information(const std::vector<double>& counts, Index kb, Index kc, Index k) {
  double total = 0.0;
  std::vector<double> by_b(kb), by_c(kc);
  for (Index s = 0; s < k; ++s) {
    std::fill(by_b.begin(), by_b.end(), 0.0);
    std::fill(by_c.begin(), by_c.end(), 0.0);
    double all = 0.0;
    for (Index x = 0; x < kb; ++x)
      for (Index y = 0; y < kc; ++y) {
        const double n = counts[(std::size_t(x) * kc + y) * k + s];
        by_b[x] += n;
        by_c[y] += n;
        all += n;
      }
    for (Index x = 0; x < kb; ++x)
      for (Index y = 0; y < kc; ++y) {
        const double n = counts[(std::size_t(x) * kc + y) * k + s];
        if (n > 0.0) total += n * std::log(n / std::max(by_b[x] * by_c[y] / all, kUnderflow));
      }
  }
  return total;
}

std::vector<End> seen_from(const Network& net, Index a) {
  std::vector<End> out;
  for (Index b : net.neighbours[a]) out.push_back({b, {a}});
  return out;
}

}  // namespace

std::vector<double> triple_counts(const Beliefs& beliefs, Index a, Index b, Index c) {
  const auto around = beliefs.surroundings(between(a, b, c));
  const Centre centre = centre_of(beliefs, a, *around);
  std::size_t at_b = 0, at_c = 0;
  const std::vector<End> ends = between(a, b, c);
  for (std::size_t i = 0; i < ends.size(); ++i) {
    if (ends[i].node == b) at_b = i;
    if (ends[i].node == c) at_c = i;
  }
  std::vector<double> wide, found;
  count(centre, prepared(beliefs, a, b, *around->known[at_b], around->ids[at_b]),
        prepared(beliefs, a, c, *around->known[at_c], around->ids[at_c]), wide, found);
  const Index k = centre.states, kb = beliefs.network().states[b], kc = beliefs.network().states[c];
  std::vector<double> out(found.size());
  for (Index x = 0; x < kb; ++x)
    for (Index y = 0; y < kc; ++y)
      for (Index s = 0; s < k; ++s) out[(std::size_t(s) * kb + x) * kc + y] = found[(std::size_t(x) * kc + y) * k + s];
  return out;
}

std::vector<double> dependence(const Beliefs& beliefs, Index a, std::size_t first, std::size_t last) {
  const Network& net = beliefs.network();
  const Indices& neighbours = net.neighbours[a];
  const auto around = beliefs.surroundings(seen_from(net, a));
  const Centre centre = centre_of(beliefs, a, *around);
  const std::size_t n = neighbours.size();
  std::vector<Prepared> columns(n);
  for (std::size_t i = first; i < n; ++i)
    columns[i] = prepared(beliefs, a, neighbours[i], *around->known[i], around->ids[i]);
  std::vector<double> out((last - first) * n, 0.0), wide, counts;
  for (std::size_t i = first; i < last; ++i)
    for (std::size_t j = i + 1; j < n; ++j) {
      count(centre, columns[i], columns[j], wide, counts);
      out[(i - first) * n + j] = information(counts, columns[i].states, columns[j].states, centre.states);
    }
  return out;
}

}  // namespace latentree
