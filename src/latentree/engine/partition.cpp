// Moves on the partition of the rows with weights, parameters and empty classes integrated out
// (docs/mathematics/reversible-jump.md, "A sampler of partitions").
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "sampler.hpp"

namespace latentree {

namespace {
const double kNever = -std::numeric_limits<double>::infinity();
constexpr double kLeast = 1e-12;  // no member is sure of its side
}  // namespace

// The members of one class, or of two, about to be parted or united. Side 0 has the first anchor, side 1 the second.
struct Sampler::Parting {
  int anchor[2];
  std::vector<int> patterns;         // those with members
  std::vector<Count> copies, first;  // of each of them: all, and those on side 0
  std::vector<double> soft[2];       // what the launch expects in each cell, side by side
  double size[2];                    // and in all
};

// ln of the probability of a class's members, its parameters integrated out.
double Sampler::log_evidence(const std::vector<Count>& cells) const {
  double sum = 0.0;
  for (int i = 0; i < rows_.n_leaves(); ++i) {
    Count seen = 0;
    for (int a = rows_.offsets[i]; a < rows_.offsets[i + 1]; ++a) {
      seen += cells[a];
      sum += rising2_(cells[a]);
    }
    sum -= rising_leaf_[i](seen);
  }
  return sum;
}

// Moves the occupied classes to the front and forgets the empty ones; returns how many there are.
int Sampler::gather_occupied(Chain& c) const {
  const int n = rows_.size();
  int t = 0;
  for (int j = 0; j < c.k; ++j) {
    const auto m = c.members.begin() + std::size_t(j) * n;
    if (std::all_of(m, m + n, [](Count x) { return x == 0; })) continue;
    if (j != t) std::copy_n(m, n, c.members.begin() + std::size_t(t) * n);
    ++t;
  }
  return c.k = t;
}

// k given the partition: P(k | t) proportional to P(k) k!/(k-t)! Gamma(k d1)/Gamma(k d1 + N).
void Sampler::draw_n_classes(Chain& c) const {
  const int t = gather_occupied(c), n = rows_.size();
  const double* given = log_given_.data() + std::size_t(t) * (kmax() + 1);
  double left = c.stream.uniform();
  c.k = std::max(t, 1);
  for (int k = c.k; k <= kmax(); ++k) {
    left -= std::exp(given[k] - log_v_[t]);
    if (std::isfinite(given[k])) c.k = k;
    if (left <= 0.0) break;
  }
  std::fill(c.members.begin() + std::size_t(t) * n, c.members.begin() + std::size_t(c.k) * n, 0);
}

// A few EM steps for two classes, from parameters between the anchors' values and everybody's. It looks at all the
// members together and not at how they are parted now, so a move and its reverse have the same launch.
void Sampler::launch(Parting& s) const {
  const int t = rows_.n_cells();
  std::vector<double> all(t, 0.0), log_theta[2] = {std::vector<double>(t), std::vector<double>(t)}, difference(t);
  double total = 0.0;
  for (std::size_t q = 0; q < s.patterns.size(); ++q) {
    total += double(s.copies[q]);
    for (int a = rows_.begin[s.patterns[q]]; a < rows_.begin[s.patterns[q] + 1]; ++a)
      all[rows_.cells[a]] += double(s.copies[q]);
  }
  for (int side = 0; side < 2; ++side) {
    s.soft[side] = all;
    for (double& x : s.soft[side]) x *= 0.5;
    s.size[side] = 0.5 * total;
    const int p = s.anchor[side];
    for (int a = rows_.begin[p]; a < rows_.begin[p + 1]; ++a) s.soft[side][rows_.cells[a]] += 0.5 * total;
  }
  for (int step = 0; step < settings_.launch; ++step) {
    for (int side = 0; side < 2; ++side)
      for (int i = 0; i < rows_.n_leaves(); ++i) {
        double sum = 0.0;
        for (int a = rows_.offsets[i]; a < rows_.offsets[i + 1]; ++a) sum += s.soft[side][a] + settings_.delta2;
        for (int a = rows_.offsets[i]; a < rows_.offsets[i + 1]; ++a)
          log_theta[side][a] = (s.soft[side][a] + settings_.delta2) / sum;
      }
    for (int a = 0; a < t; ++a) difference[a] = std::log(log_theta[1][a] / log_theta[0][a]);
    const double log_odds = std::log((s.size[1] + settings_.delta1) / (s.size[0] + settings_.delta1));
    std::fill(s.soft[0].begin(), s.soft[0].end(), 0.0);
    s.size[0] = 0.0;
    for (std::size_t q = 0; q < s.patterns.size(); ++q) {
      const int p = s.patterns[q];
      double odds = log_odds;
      for (int a = rows_.begin[p]; a < rows_.begin[p + 1]; ++a) odds += difference[rows_.cells[a]];
      const double mass = double(s.copies[q]) / (1.0 + std::exp(odds));
      s.size[0] += mass;
      for (int a = rows_.begin[p]; a < rows_.begin[p + 1]; ++a) s.soft[0][rows_.cells[a]] += mass;
    }
    s.size[1] = total - s.size[0];
    for (int a = 0; a < t; ++a) s.soft[1][a] = all[a] - s.soft[0][a];
  }
}

// Parts the members one pattern after the other, each time learning from those parted before; returns the logarithm of
// the probability of the result. With draw == false it follows the parting that is there.
double Sampler::part(Parting& s, Stream& stream, bool draw) const {
  std::vector<double> seen[2];  // in each leaf
  double size[2];
  for (int side = 0; side < 2; ++side) {
    seen[side].assign(rows_.n_leaves(), 0.0);
    size[side] = settings_.trust * s.size[side] + settings_.delta1;
    for (int i = 0; i < rows_.n_leaves(); ++i)
      for (int a = rows_.offsets[i]; a < rows_.offsets[i + 1]; ++a)
        seen[side][i] += s.soft[side][a] = settings_.trust * s.soft[side][a] + settings_.delta2;
  }
  std::vector<int> leaf_of(rows_.n_cells());
  for (int i = 0; i < rows_.n_leaves(); ++i)
    for (int a = rows_.offsets[i]; a < rows_.offsets[i + 1]; ++a) leaf_of[a] = i;
  const auto learn = [&](int side, int p, double copies) {
    size[side] += copies;
    for (int a = rows_.begin[p]; a < rows_.begin[p + 1]; ++a) {
      s.soft[side][rows_.cells[a]] += copies;
      seen[side][leaf_of[rows_.cells[a]]] += copies;
    }
  };
  for (int side = 0; side < 2; ++side) learn(side, s.anchor[side], 1.0);
  double log_q = 0.0;
  for (std::size_t q = 0; q < s.patterns.size(); ++q) {
    const int p = s.patterns[q];
    const int held0 = p == s.anchor[0], held1 = p == s.anchor[1];  // the anchors have their sides already
    Count left = s.copies[q] - held0 - held1, left0 = draw ? 0 : s.first[q] - held0, sum0 = 0;
    const Count piece = std::max<Count>(1, (left + settings_.pieces - 1) / settings_.pieces);
    while (left > 0) {
      double log_odds = std::log(size[1] / size[0]), ratio = 1.0;
      int factors = 0;
      for (int a = rows_.begin[p]; a < rows_.begin[p + 1]; ++a) {
        const int x = rows_.cells[a], i = leaf_of[x];
        ratio *= s.soft[1][x] * seen[0][i] / (s.soft[0][x] * seen[1][i]);
        if (++factors % 8 == 0) {
          log_odds += std::log(ratio);
          ratio = 1.0;
        }
      }
      log_odds += std::log(ratio);
      const double chance = std::clamp(1.0 / (1.0 + std::exp(log_odds)), kLeast, 1.0 - kLeast);
      const Count now = std::min(piece, left);
      const Count to0 = draw ? stream.binomial(now, chance) : stream.hypergeometric(left, left0, now);
      log_q += double(to0) * std::log(chance) + double(now - to0) * std::log1p(-chance);
      learn(0, p, double(to0));
      learn(1, p, double(now - to0));
      left -= now;
      left0 -= to0;
      sum0 += to0;
    }
    if (draw) s.first[q] = sum0 + held0;
  }
  return log_q;
}

void Sampler::part_or_unite(Chain& c) const {
  const int t = gather_occupied(c), n = rows_.size(), n_cells = rows_.n_cells();
  if (rows_.n < 2 || kmax() == 1) return;
  // Two different rows; each is a copy of a pattern, in a class.
  Count row[2] = {c.stream.below(rows_.n), c.stream.below(rows_.n - 1)};
  if (row[1] >= row[0]) ++row[1];
  Parting s;
  int in[2];
  for (int side = 0; side < 2; ++side) {
    const int p = static_cast<int>(std::upper_bound(rows_.ends.begin(), rows_.ends.end(), row[side]) - rows_.ends.begin());
    Count copy = row[side] - (rows_.ends[p] - rows_.weights[p]);
    int j = 0;
    while (copy >= c.members[std::size_t(j) * n + p]) copy -= c.members[std::size_t(j++) * n + p];
    s.anchor[side] = p;
    in[side] = j;
  }
  const bool parts = in[0] == in[1];
  ++c.tried[int(parts ? Try::part : Try::unite)];
  if (parts && t == kmax()) return;
  Count* m0 = c.members.data() + std::size_t(in[0]) * n;
  Count* m1 = c.members.data() + std::size_t(in[1]) * n;
  for (int p = 0; p < n; ++p) {
    const Count all = m0[p] + (parts ? 0 : m1[p]);
    if (all == 0) continue;
    s.patterns.push_back(p);
    s.copies.push_back(all);
    s.first.push_back(m0[p]);
  }
  launch(s);
  const double log_q = part(s, c.stream, parts);
  std::vector<Count> cells0(n_cells, 0), cells(n_cells, 0), cells1(n_cells);
  Count size0 = 0, size = 0;
  for (std::size_t q = 0; q < s.patterns.size(); ++q) {
    size0 += s.first[q];
    size += s.copies[q];
    for (int a = rows_.begin[s.patterns[q]]; a < rows_.begin[s.patterns[q] + 1]; ++a) {
      cells0[rows_.cells[a]] += s.first[q];
      cells[rows_.cells[a]] += s.copies[q];
    }
  }
  for (int a = 0; a < n_cells; ++a) cells1[a] = cells[a] - cells0[a];
  const int fewer = parts ? t : t - 1;
  const double ratio = log_v_[fewer + 1] - log_v_[fewer] + rising1_(size0) + rising1_(size - size0) - rising1_(size) +
                       log_evidence(cells0) + log_evidence(cells1) - log_evidence(cells) - log_q;
  if (!(std::log(c.stream.uniform()) < (parts ? ratio : -ratio))) return;
  ++c.accepted[int(parts ? Try::part : Try::unite)];
  Count* last = c.members.data() + std::size_t(parts ? t : t - 1) * n;
  if (parts) {
    std::fill_n(last, n, 0);
    for (std::size_t q = 0; q < s.patterns.size(); ++q) {
      m0[s.patterns[q]] = s.first[q];
      last[s.patterns[q]] = s.copies[q] - s.first[q];
    }
    c.k = t + 1;
    return;
  }
  for (int p = 0; p < n; ++p) m0[p] += m1[p];
  if (m1 != last) std::copy_n(last, n, m1);
  c.k = t - 1;
}

}  // namespace latentree
