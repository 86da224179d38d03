#include "dependence.hpp"

#include <algorithm>
#include <cmath>

#include "precision.hpp"
#include "team.hpp"

namespace latentree {
namespace {

// A neighbour made ready: a column of cells, a missing one after the last state; or P(state | row, node).
struct Prepared {
  const Neighbour* own = nullptr;
  Index width = 0;            // states, and one more if cells may be missing
  std::vector<Index> cell;    // [rows], for values
  std::vector<double> given;  // [rows][states of the node][states], for likelihoods
};

Prepared prepared(const Centre& z, const Neighbour& b) {
  Prepared out;
  out.own = &b;
  out.width = b.states;
  if (b.values) {
    out.cell.resize(z.rows);
    for (Index r = 0; r < z.rows; ++r) {
      out.cell[r] = b.values[r] < 0 ? b.states : b.values[r];
      if (b.values[r] < 0) out.width = b.states + 1;
    }
    return out;
  }
  out.given.resize(std::size_t(z.rows) * z.states * b.states);
  double* to = out.given.data();
  for (Index r = 0; r < z.rows; ++r) {
    const double* l = b.likelihood + std::size_t(r) * b.states;
    for (Index s = 0; s < z.states; ++s, to += b.states) {
      const double* prior = b.given + std::size_t(s) * b.states;
      double sum = 0.0;
      for (Index x = 0; x < b.states; ++x) sum += to[x] = l[x] * prior[x];
      const double scale = 1.0 / std::max(sum, kUnderflow);
      for (Index x = 0; x < b.states; ++x) to[x] *= scale;
    }
  }
  return out;
}

// Adds up the rows; K is the number of the node's states if it is known beforehand, else 0.
template <int K>
void add_values(const Centre& z, const Prepared& b, const Prepared& c, double* counts) {
  const Index k = K ? K : z.states;
  for (Index r = 0; r < z.rows; ++r) {
    const double* q = z.posterior + std::size_t(r) * k;
    double* to = counts + (std::size_t(b.cell[r]) * c.width + c.cell[r]) * k;
    for (Index s = 0; s < k; ++s) to[s] += q[s];
  }
}

void add_rows(const Centre& z, const Prepared& b, const Prepared& c, double* counts) {
  const Index k = z.states, kb = b.own->states, kc = c.own->states;
  if (!b.cell.empty() && !c.cell.empty()) {
    if (k == 2) return add_values<2>(z, b, c, counts);
    if (k == 3) return add_values<3>(z, b, c, counts);
    if (k == 4) return add_values<4>(z, b, c, counts);
    return add_values<0>(z, b, c, counts);
  }
  for (Index r = 0; r < z.rows; ++r)
    for (Index s = 0; s < k; ++s) {
      const double q = z.posterior[std::size_t(r) * k + s];
      const double* pb = b.cell.empty() ? b.given.data() + (std::size_t(r) * k + s) * kb : nullptr;
      const double* pc = c.cell.empty() ? c.given.data() + (std::size_t(r) * k + s) * kc : nullptr;
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
  const Index k = z.states, kb = b.own->states, kc = c.own->states;
  wide.assign(std::size_t(b.width) * c.width * k, 0.0);
  add_rows(z, b, c, wide.data());
  auto at = [&](Index x, Index y, Index s) -> double& { return wide[(std::size_t(x) * c.width + y) * k + s]; };
  if (b.width > kb)
    for (Index y = 0; y < c.width; ++y)
      for (Index x = 0; x < kb; ++x)
        for (Index s = 0; s < k; ++s) at(x, y, s) += at(kb, y, s) * b.own->given[std::size_t(s) * kb + x];
  if (c.width > kc)
    for (Index x = 0; x < kb; ++x)
      for (Index y = 0; y < kc; ++y)
        for (Index s = 0; s < k; ++s) at(x, y, s) += at(x, kc, s) * c.own->given[std::size_t(s) * kc + y];
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

}  // namespace

std::vector<double> triple_counts(const Centre& centre, const Neighbour& b, const Neighbour& c) {
  std::vector<double> wide, out;
  count(centre, prepared(centre, b), prepared(centre, c), wide, out);
  return out;
}

std::vector<double> dependence(const Centre& centre, const std::vector<Neighbour>& neighbours, std::size_t first,
                               std::size_t last, int threads) {
  const std::size_t n = neighbours.size();
  std::vector<Prepared> columns(n);
  for (std::size_t i = first; i < n; ++i) columns[i] = prepared(centre, neighbours[i]);
  std::vector<double> out((last - first) * n, 0.0);
  Team team(threads);
  team(static_cast<Index>(last - first), [&](Index row) {
    const std::size_t i = first + std::size_t(row);
    std::vector<double> wide, counts;
    for (std::size_t j = i + 1; j < n; ++j) {
      count(centre, columns[i], columns[j], wide, counts);
      out[std::size_t(row) * n + j] = information(counts, neighbours[i].states, neighbours[j].states, centre.states);
    }
  });
  return out;
}

}  // namespace latentree
