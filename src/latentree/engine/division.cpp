#include "division.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include "precision.hpp"

namespace latentree {
namespace {

constexpr Index kMostNeighbours = 10;  // latents of more are not divided: the ways to part them are too many
constexpr int kRefined = 3;            // how often a group of neighbours may say anew which states to merge

// What is lost with so many states left.
std::vector<double> losses(const std::vector<double>& marginal, const Wide& wide) {
  std::vector<double> out(marginal.size() + 1, 0.0);
  merge_states(marginal, wide, {}, [&](const Groups& groups, double lost) {
    out[groups.size()] = lost;
    return true;
  });
  return out;
}

std::vector<Division> best_of(std::vector<Division> found, std::size_t most) {
  std::sort(found.begin(), found.end(), [](const Division& a, const Division& b) {
    if (a.worth != b.worth) return a.worth > b.worth;
    if (a.below != b.below) return a.below < b.below;
    return std::pair(a.own, a.fresh) < std::pair(b.own, b.fresh);
  });
  if (found.size() > most) found.resize(most);
  return found;
}

template <class Keep>
Indices chosen(const Indices& from, Keep keep) {
  Indices out;
  for (std::size_t i = 0; i < from.size(); ++i)
    if (keep(i)) out.push_back(from[i]);
  return out;
}

}  // namespace

Wide side_by_side(const Network& network, Index a, const Indices& neighbours) {
  Wide out;
  out.states = network.states[a];
  for (Index b : neighbours) {
    out.sizes.push_back(network.states[b]);
    out.width += network.states[b];
  }
  out.rows.resize(std::size_t(out.states) * out.width);
  Index at = 0;
  for (Index b : neighbours) {
    const std::vector<double>& table = network.conditional(b, a);
    const Index k = network.states[b];
    for (Index s = 0; s < out.states; ++s) std::copy_n(table.data() + std::size_t(s) * k, k, out.row(s) + at);
    at += k;
  }
  return out;
}

double entropy(double weight, const double* row, Index width) {
  double sum = 0.0;
  for (Index x = 0; x < width; ++x)
    if (row[x] > kUnderflow) sum += row[x] * std::log(row[x]);
  return -weight * sum;
}

void merge_states(const std::vector<double>& marginal, const Wide& wide, const std::vector<double>& luck,
                  const std::function<bool(const Groups&, double)>& visit) {
  const std::size_t k = marginal.size();
  Groups groups(k);
  std::vector<double> weight = marginal, own(k), joint(wide.width);
  std::vector<double> mean = wide.rows;
  for (std::size_t s = 0; s < k; ++s) {
    groups[s] = {static_cast<Index>(s)};
    own[s] = entropy(weight[s], wide.row(Index(s)), wide.width);
  }
  auto mix = [&](std::size_t i, std::size_t j) {  // the rows of two groups as one
    const double both = weight[i] + weight[j], share = 1.0 / std::max(both, kUnderflow);
    const double *p = mean.data() + i * wide.width, *q = mean.data() + j * wide.width;
    for (Index x = 0; x < wide.width; ++x) joint[x] = (weight[i] * p[x] + weight[j] * q[x]) * share;
    return both;
  };
  std::vector<double> loss(k * k, 0.0);  // of merging groups i < j
  auto measure = [&](std::size_t i, std::size_t j) {
    const double both = mix(i, j);
    loss[i * k + j] = std::max(entropy(both, joint.data(), wide.width) - own[i] - own[j], 0.0);
  };
  std::vector<std::size_t> left(k);  // groups that are left, by the number of their first state
  std::iota(left.begin(), left.end(), std::size_t{0});
  for (std::size_t i = 0; i < k; ++i)
    for (std::size_t j = i + 1; j < k; ++j) measure(i, j);
  double lost = 0.0;
  auto now = [&] {
    Groups out;
    for (std::size_t i : left) out.push_back(groups[i]);
    return out;
  };
  if (!visit(now(), lost)) return;
  while (left.size() > 2) {
    double least = std::numeric_limits<double>::infinity();
    std::size_t bi = left[0], bj = left[1];
    for (std::size_t x = 0; x < left.size(); ++x)
      for (std::size_t y = x + 1; y < left.size(); ++y) {
        const std::size_t i = left[x], j = left[y];
        const double cost = loss[i * k + j] * (luck.empty() ? 1.0 : luck[i * k + j]);
        if (cost < least) least = cost, bi = i, bj = j;
      }
    lost += loss[bi * k + bj];
    weight[bi] = mix(bi, bj);
    std::copy(joint.begin(), joint.end(), mean.begin() + std::ptrdiff_t(bi * wide.width));
    own[bi] = entropy(weight[bi], joint.data(), wide.width);
    groups[bi].insert(groups[bi].end(), groups[bj].begin(), groups[bj].end());
    left.erase(std::find(left.begin(), left.end(), bj));
    for (std::size_t i : left)
      if (i != bi) measure(std::min(i, bi), std::max(i, bi));
    if (!visit(now(), lost)) return;
  }
}

Indices merged_groups(const std::vector<double>& marginal, const Wide& wide, Index size,
                      const std::vector<double>& luck) {
  Indices out(marginal.size());
  merge_states(marginal, wide, luck, [&](const Groups& groups, double) {
    for (std::size_t g = 0; g < groups.size(); ++g)
      for (Index s : groups[g]) out[s] = static_cast<Index>(g);
    return static_cast<Index>(groups.size()) > size;
  });
  return out;
}

std::vector<Division> divisions(const Network& network, Index a, double n, double rate, double least, std::size_t most,
                                std::size_t sizes) {
  const Indices& neighbours = network.neighbours[a];
  const Index k = network.states[a], m = static_cast<Index>(neighbours.size());
  if (k < 3 || m < 4 || m > kMostNeighbours) return {};
  const std::vector<double>& marginal = network.marginal[a];
  auto free_of = [&](const Indices& side) {
    double sum = 0.0;
    for (Index b : side) sum += network.states[b] - 1;
    return sum;
  };
  // Most states of a latent between these and another latent: more would be taken away when the tree is made regular.
  auto usable = [&](const Indices& side, Index other) {
    double product = other;
    Index widest = other;
    for (Index b : side) {
      product *= network.states[b];
      widest = std::max(widest, network.states[b]);
    }
    return product / widest;
  };
  const double before = k - 1 + k * free_of(neighbours);
  std::vector<Division> found;
  for (unsigned mask = 0; mask < (1u << m); mask += 2) {  // the first neighbour stays
    auto moves = [&](std::size_t i) { return (mask >> i & 1) == 1; };
    const Indices below = chosen(neighbours, moves);
    const Indices rest = chosen(neighbours, [&](std::size_t i) { return !moves(i); });
    if (below.size() < 2 || rest.size() < 2) continue;
    const std::vector<double> stay = losses(marginal, side_by_side(network, a, rest)),
                              go = losses(marginal, side_by_side(network, a, below));
    std::vector<Division> own_sizes;
    for (Index own = 2; own < k; ++own)
      for (Index fresh = 2; fresh < k; ++fresh) {
        // two latents whose states cannot make up those of the one lose what a smaller latent would lose, too
        if (std::int64_t(own) * fresh < k) continue;
        if (own > usable(rest, fresh) || fresh > usable(below, own)) continue;
        const double after = own - 1 + own * free_of(rest) + own * (fresh - 1) + fresh * free_of(below);
        const double less = rate * (before - after), lost = n * (stay[own] + go[fresh]);
        if (less - kLossLeft * lost > least) own_sizes.push_back({below, own, fresh, less - lost});
      }
    for (Division& own : best_of(std::move(own_sizes), sizes)) found.push_back(std::move(own));
  }
  return best_of(std::move(found), most);
}

std::vector<Division> branches(const Network& network, Index a, double n, double rate, double least, std::size_t most) {
  const Indices& neighbours = network.neighbours[a];
  const Index k = network.states[a];
  const std::size_t m = neighbours.size();
  if (k < 3 || m < 4) return {};
  const std::vector<double>& marginal = network.marginal[a];
  std::vector<Wide> tables;
  std::vector<double> free(m), before(m);
  for (std::size_t i = 0; i < m; ++i) {
    tables.push_back(side_by_side(network, a, {neighbours[i]}));
    free[i] = network.states[neighbours[i]] - 1;
    for (Index s = 0; s < k; ++s) before[i] += entropy(marginal[s], tables[i].row(s), tables[i].width);
  }
  // The entropy of a neighbour if states are known by their groups only.
  auto after = [&](std::size_t i, const Groups& groups) {
    double sum = 0.0;
    std::vector<double> mean(tables[i].width);
    for (const Indices& group : groups) {
      double weight = 0.0;
      std::fill(mean.begin(), mean.end(), 0.0);
      for (Index s : group) {
        weight += marginal[s];
        for (Index x = 0; x < tables[i].width; ++x) mean[x] += marginal[s] * tables[i].row(s)[x];
      }
      for (double& p : mean) p /= std::max(weight, kUnderflow);
      sum += entropy(weight, mean.data(), tables[i].width);
    }
    return sum;
  };
  std::map<std::pair<Indices, Index>, double> found;
  for (std::size_t seed = 0; seed < m; ++seed) {
    std::vector<std::size_t> below{seed}, group;
    Index states = 0;
    double worth = -std::numeric_limits<double>::infinity();
    for (int round = 0; round < kRefined; ++round) {
      Indices own;
      for (std::size_t i : below) own.push_back(neighbours[i]);
      merge_states(marginal, side_by_side(network, a, own), {}, [&](const Groups& groups, double) {
        const Index h = static_cast<Index>(groups.size());
        if (h == k) return true;
        std::vector<std::size_t> pays;
        double loss = 0.0, less = -rate * k * (h - 1);
        for (std::size_t i = 0; i < m; ++i) {
          const double lost = n * std::max(after(i, groups) - before[i], 0.0);
          if (rate * (k - h) * free[i] <= lost) continue;
          pays.push_back(i);
          loss += lost;
          less += rate * (k - h) * free[i];
        }
        if (pays.size() < 2 || pays.size() + 2 > m) return true;
        if (less - loss > worth && less - kLossLeft * loss > least) {
          worth = less - loss;
          states = h;
          group = pays;
        }
        return true;
      });
      if (states == 0 || group == below) break;
      below = group;
    }
    if (states == 0) continue;
    Indices own;
    for (std::size_t i : group) own.push_back(neighbours[i]);
    found[{own, states}] = worth;
  }
  std::vector<Division> out;
  for (const auto& [key, worth] : found) out.push_back({key.first, k, key.second, worth});
  return best_of(std::move(out), most);
}

}  // namespace latentree
