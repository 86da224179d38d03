#include "restricted.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "dependence.hpp"
#include "division.hpp"
#include "engine.hpp"
#include "precision.hpp"

namespace latentree {
namespace {

using Table = std::vector<double>;

constexpr double kShake = 0.3;  // how much of a new state's or node's tables is random at the start
constexpr double kAlike = 2.0;  // how far down the list of pairs of states, the most alike first, merged ones stand
constexpr double kSure = 0.95;  // how sure a latent is of the group of states it stands for, at the start

// A candidate is given up when so many more gains like its last would not do: what is lost is lost at once, but
// something new takes EM some steps to make out.
double hope_of(Operator kind) {
  const bool loses = kind == Operator::sd || kind == Operator::un || kind == Operator::di || kind == Operator::ne;
  return loses ? 4.0 : 20.0;
}

// ---- distributions ------------------------------------------------------------------------------------------------

double exponential(Stream& rng) { return -std::log(rng.uniform()); }

// Makes every row of a table a distribution.
void normalise(Table& table, Index width) {
  for (std::size_t at = 0; at < table.size(); at += width) {
    double sum = 0.0;
    for (Index x = 0; x < width; ++x) sum += table[at + x];
    for (Index x = 0; x < width; ++x) table[at + x] /= std::max(sum, kUnderflow);
  }
}

Table random_table(std::size_t rows, Index width, Stream& rng) {
  Table out(rows * width);
  for (double& p : out) p = exponential(rng);
  normalise(out, width);
  return out;
}

// A table of counts or distributions, as distributions with some noise.
Table shaken(Table table, Index width, double share, Stream& rng) {
  normalise(table, width);
  const Table noise = random_table(table.size() / width, width, rng);
  for (std::size_t i = 0; i < table.size(); ++i) table[i] = (1.0 - share) * table[i] + share * noise[i];
  return table;
}

void append(Table& to, const Table& more) { to.insert(to.end(), more.begin(), more.end()); }

Indices by_weight(const Table& weights) {  // the largest first
  Indices order(weights.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](Index i, Index j) { return weights[i] > weights[j]; });
  return order;
}

// Pairs of states, those first that say most nearly the same.
std::vector<std::pair<Index, Index>> alike_pairs(const Table& marginal, const Wide& wide) {
  const Index k = wide.states;
  Table own(k), mean(wide.width);
  for (Index s = 0; s < k; ++s) own[s] = entropy(marginal[s], wide.row(s), wide.width);
  std::vector<std::pair<double, std::pair<Index, Index>>> found;
  for (Index s = 0; s < k; ++s)
    for (Index t = s + 1; t < k; ++t) {
      const double both = marginal[s] + marginal[t], share = 1.0 / std::max(both, kUnderflow);
      for (Index x = 0; x < wide.width; ++x)
        mean[x] = (marginal[s] * wide.row(s)[x] + marginal[t] * wide.row(t)[x]) * share;
      found.push_back({entropy(both, mean.data(), wide.width) - own[s] - own[t], {s, t}});
    }
  std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::pair<Index, Index>> out;
  for (const auto& [worth, pair] : found) out.push_back(pair);
  return out;
}

// ---- places -------------------------------------------------------------------------------------------------------

// A small tree with what is known about its nodes.
struct Place {
  Indices nodes, parent, states;  // parents first
  bool fixed_root = false;        // the prior of the first stays as it is
  std::vector<Index> ends;        // nodes that something is known about
  std::shared_ptr<const Surroundings> around;
  std::vector<Table> starts;
};

class Maker {
 public:
  Maker(const Beliefs& beliefs, const Move& move, int starts, Stream& rng)
      : beliefs_(beliefs), net_(beliefs.network()), move_(move), n_(starts), rng_(rng) {
    make();
  }
  const Place& place() const { return place_; }

  // Random tables, the prior of the first node as it is if that is to stay.
  Table drawn() {
    Table out;
    for (std::size_t i = 0; i < place_.nodes.size(); ++i) {
      const std::size_t rows = i == 0 ? 1 : place_.states[place_.parent[i]];
      append(out, i == 0 && place_.fixed_root ? marginal(place_.nodes[0]) : random_table(rows, place_.states[i], rng_));
    }
    return out;
  }

 private:
  const Table& marginal(Index v) const { return net_.marginal[v]; }
  const Table& given(Index v, Index u) const { return net_.conditional(v, u); }
  Index states(Index v) const { return net_.states[v]; }
  Index fresh() const { return net_.n_nodes(); }

  Indices but(Index v, const Indices& without) const {  // the other neighbours
    Indices out;
    for (Index u : net_.neighbours[v])
      if (std::find(without.begin(), without.end(), u) == without.end()) out.push_back(u);
    return out;
  }

  void make() {
    const Indices& n = move_.nodes;
    switch (move_.kind) {
      case Operator::si:
        return n.size() > 1 && n[1] <= states(n[0]) ? restart(n[0])
                                                    : more_states(n[0], n.size() > 1 ? n[1] : states(n[0]) + 1);
      case Operator::sd:
        return fewer_states(n[0]);
      case Operator::ni:
        return node_introduced(n[0], n[1], n[2], n.size() > 3 ? n[3] : states(n[0]));
      case Operator::nd:
        return node_deleted(n[0], n[1]);
      case Operator::nr:
        return node_relocated(n[0], n[1], n[2]);
      case Operator::un:
        return united(n[0], n[1], n[2]);
      case Operator::di:
        return divided(n[0], Indices(n.begin() + 1, n.end() - 2), n[n.size() - 2], n.back());
      case Operator::ne:
        return on_edge(n[0], n[1], n[2]);
    }
  }

  // ---- what the small tree is ----

  void add(Index node, Index parent, Index k) {
    place_.nodes.push_back(node);
    place_.parent.push_back(parent);
    place_.states.push_back(k);
  }

  // Ends in the order of their nodes, so that moves at the same place share what is around it.
  void surround(std::vector<End> ends) {
    std::sort(ends.begin(), ends.end(), [](const End& a, const End& b) { return a.node < b.node; });
    place_.around = beliefs_.surroundings(ends);
    for (const End& end : ends) place_.ends.push_back(end.node);
  }

  // Neighbours around a latent of k states.
  void star(Index a, Index k, const std::vector<End>& around) {
    add(a, -1, k);
    for (const End& end : around) add(end.node, 0, states(end.node));
    surround(around);
  }

  std::vector<End> seen_from(Index a, const Indices& neighbours) const {
    std::vector<End> out;
    for (Index b : neighbours) out.push_back({b, {a}});
    return out;
  }

  // A start from a prior and rows of tables that stand side by side.
  static Table flat(const Table& prior, const Wide& rows) {
    Table out = prior;
    Index at = 0;
    for (Index size : rows.sizes) {
      for (Index s = 0; s < rows.states; ++s) out.insert(out.end(), rows.row(s) + at, rows.row(s) + at + size);
      at += size;
    }
    return out;
  }

  // Mixes a row with a random one.
  void shake_row(double* row, const Indices& sizes, double share) {
    for (Index size : sizes) {
      const Table noise = random_table(1, size, rng_);
      for (Index x = 0; x < size; ++x) row[x] = (1.0 - share) * row[x] + share * noise[x];
      row += size;
    }
  }

  // ---- states ----

  // A start splits one state or several, the likelier ones first.
  void more_states(Index a, Index k) {
    const Wide wide = around(a, k);
    const Indices order = by_weight(marginal(a));
    const Index old = states(a);
    for (Index i = 0; i < n_; ++i) {
      Indices origin(old);
      std::iota(origin.begin(), origin.end(), 0);
      for (Index j = 0; j < k - old; ++j) origin.push_back(order[(i + j) % old]);
      split(a, wide, origin, marginal(a), wide);
    }
  }

  // As many states as there are: a start merges two of them, rather those that are alike, and splits another.
  void restart(Index a) {
    const Index k = states(a);
    const Wide wide = around(a, k);
    if (n_ == 0) return;
    const auto pairs = alike_pairs(marginal(a), wide);
    for (Index i = 0; i < n_; ++i) {
      const auto far = static_cast<std::size_t>(kAlike * exponential(rng_));
      const auto [s, t] = pairs[std::min(far, pairs.size() - 1)];
      Table weight = marginal(a);
      Wide rows = wide;
      merge(weight, rows, s, t);
      double at = rng_.uniform() * std::accumulate(weight.begin(), weight.end(), 0.0);
      Index again = -1;
      for (Index u = 0; u < k; ++u) {
        if (u == t) continue;
        again = u;
        if ((at -= weight[u]) <= 0.0) break;
      }
      Indices origin(k);
      std::iota(origin.begin(), origin.end(), 0);
      origin[t] = again;
      split(a, wide, origin, weight, rows);
    }
  }

  void merge(Table& weight, Wide& rows, Index s, Index t) const {  // s takes over the cases of t
    const double both = weight[s] + weight[t], share = 1.0 / std::max(both, kUnderflow);
    for (Index x = 0; x < rows.width; ++x)
      rows.row(s)[x] = (weight[s] * rows.row(s)[x] + weight[t] * rows.row(t)[x]) * share;
    weight[s] = both;
    weight[t] = 0.0;
  }

  // A start whose states are copies of others: those that share one are shaken apart.
  void split(Index a, const Wide& layout, const Indices& origin, const Table& weight, const Wide& rows) {
    Indices copies(states(a), 0);
    for (Index s : origin) ++copies[s];
    Wide own;
    own.sizes = layout.sizes;
    own.width = layout.width;
    own.states = static_cast<Index>(origin.size());
    Table prior;
    for (Index s : origin) {
      prior.push_back(weight[s] / copies[s]);
      own.rows.insert(own.rows.end(), rows.row(s), rows.row(s) + rows.width);
      if (copies[s] > 1) shake_row(own.rows.data() + own.rows.size() - rows.width, own.sizes, kShake);
    }
    place_.starts.push_back(flat(prior, own));
  }

  // A start merges two states, the most alike first.
  void fewer_states(Index a) {
    const Index k = states(a);
    const Wide wide = around(a, k - 1);
    if (n_ == 0) return;
    auto pairs = alike_pairs(marginal(a), wide);
    pairs.resize(std::min<std::size_t>(pairs.size(), n_));
    for (const auto& [s, t] : pairs) {
      Table weight = marginal(a);
      Wide rows = wide;
      merge(weight, rows, s, t);
      weight.erase(weight.begin() + t);
      rows.rows.erase(rows.rows.begin() + std::ptrdiff_t(t) * rows.width,
                      rows.rows.begin() + std::ptrdiff_t(t + 1) * rows.width);
      rows.states = k - 1;
      place_.starts.push_back(flat(weight, rows));
    }
  }

  Wide around(Index a, Index k) {
    star(a, k, seen_from(a, net_.neighbours[a]));
    return side_by_side(net_, a, net_.neighbours[a]);
  }

  // ---- nodes ----

  // A new node h between a and b, c: a start makes it nearly a copy of b, of c or of a, or draws its tables.
  void node_introduced(Index a, Index b, Index c, Index h) {
    const Index k = states(a), kb = states(b), kc = states(c);
    h = std::min<Index>(
        h, static_cast<Index>(std::int64_t(k) * kb * kc / std::max({k, kb, kc})));  // as it is made regular
    add(a, -1, k);
    add(fresh(), 0, h);
    add(b, 1, kb);
    add(c, 1, kc);
    place_.fixed_root = true;
    surround(between(a, b, c));
    if (n_ == 0) return;
    const Table counts = triple_counts(beliefs_, a, b, c);
    for (int i = 0; i < n_; ++i) {
      Table start = marginal(a);
      if (i < 2) {
        append_copy(start, counts, a, b, c, h, i == 0);
      } else {
        const double share = i % 2 == 0 ? kShake : 0.9;
        Table copy(std::size_t(k) * h, 0.0);
        for (Index s = 0; s < k; ++s)
          for (Index t = 0; t < h; ++t) copy[std::size_t(s) * h + t] = h == k ? double(s == t) : 1.0 / h;
        append(start, shaken(std::move(copy), h, share, rng_));
        for (Index x : {b, c}) {
          const Table& own = given(x, a);
          append(start,
                 shaken(Table(own.begin(), own.begin() + std::ptrdiff_t(h) * states(x)), states(x), share, rng_));
        }
      }
      place_.starts.push_back(std::move(start));
    }
  }

  // P(h | a), P(b | h), P(c | h) when h is what b is (or c is), its rarer values together: what these have in common
  // beyond a is then explained at once. `counts` are of (a, b, c).
  void append_copy(Table& start, const Table& counts, Index a, Index b, Index c, Index h, bool of_b) {
    const Index k = states(a), kb = states(b), kc = states(c), kx = of_b ? kb : kc, ky = of_b ? kc : kb;
    auto at = [&](Index s, Index x, Index y) {
      return of_b ? counts[(std::size_t(s) * kb + x) * kc + y] : counts[(std::size_t(s) * kb + y) * kc + x];
    };
    Table with_a(std::size_t(k) * kx, 0.0), with_y(std::size_t(ky) * kx, 0.0), own(kx, 0.0);
    double all = 0.0;
    for (Index s = 0; s < k; ++s)
      for (Index x = 0; x < kx; ++x)
        for (Index y = 0; y < ky; ++y) {
          const double n = at(s, x, y);
          with_a[std::size_t(s) * kx + x] += n;
          with_y[std::size_t(y) * kx + x] += n;
          own[x] += n;
          all += n;
        }
    Table rounded(kx);  // so that values that are as frequent are told apart by their order and not by the last digit
    for (Index x = 0; x < kx; ++x) rounded[x] = std::round(own[x] / all * 1e9);
    const Indices order = by_weight(rounded);
    Table one(std::size_t(kx) * h, 0.0);
    for (Index i = 0; i < kx; ++i) one[std::size_t(order[i]) * h + std::min(i, h - 1)] = 1.0;
    one = shaken(std::move(one), h, 0.1, rng_);
    Table given_a(std::size_t(k) * h, 0.0), copied(std::size_t(h) * kx, 0.0), other(std::size_t(h) * ky, 0.0);
    for (Index x = 0; x < kx; ++x)
      for (Index t = 0; t < h; ++t) {
        const double p = one[std::size_t(x) * h + t];
        for (Index s = 0; s < k; ++s) given_a[std::size_t(s) * h + t] += with_a[std::size_t(s) * kx + x] * p;
        for (Index y = 0; y < ky; ++y) other[std::size_t(t) * ky + y] += with_y[std::size_t(y) * kx + x] * p;
        copied[std::size_t(t) * kx + x] += own[x] * p;
      }
    append(start, shaken(std::move(given_a), h, 0.02, rng_));
    copied = shaken(std::move(copied), kx, 0.02, rng_);
    other = shaken(std::move(other), ky, 0.02, rng_);
    append(start, of_b ? copied : other);
    append(start, of_b ? other : copied);
  }

  // A new node h on the edge between a and b: a start puts the states of a that say the same about b together.
  void on_edge(Index a, Index b, Index h) {
    const Index k = states(a), kb = states(b);
    add(a, -1, k);
    add(fresh(), 0, h);
    add(b, 1, kb);
    place_.fixed_root = true;
    surround({{a, {b}}, {b, {a}}});
    const Table& rows = given(b, a);
    for (int i = 0; i < n_; ++i) {
      Table luck(k);
      for (Index s = 0; s < k; ++s) luck[s] = (marginal(a)[s] + 1e-9) / exponential(rng_);
      Indices chosen = by_weight(luck);  // drawn by weight, none twice
      chosen.resize(h);
      Table one(std::size_t(k) * h, 0.1 / h), said(std::size_t(h) * kb, 0.0);
      for (Index s = 0; s < k; ++s) {
        Index nearest = 0;
        double least = std::numeric_limits<double>::infinity();
        for (Index t = 0; t < h; ++t) {
          double far = chosen[t] == s ? -1.0 : 0.0;
          for (Index x = 0; x < kb && far >= 0.0; ++x) {
            const double apart = rows[std::size_t(s) * kb + x] - rows[std::size_t(chosen[t]) * kb + x];
            far += apart * apart;
          }
          if (far < least) least = far, nearest = t;
        }
        one[std::size_t(s) * h + nearest] += 0.9;
        for (Index t = 0; t < h; ++t)
          for (Index x = 0; x < kb; ++x)
            said[std::size_t(t) * kb + x] +=
                marginal(a)[s] * one[std::size_t(s) * h + t] * rows[std::size_t(s) * kb + x];
      }
      Table start = marginal(a);
      append(start, one);
      append(start, shaken(std::move(said), kb, 0.02, rng_));
      place_.starts.push_back(std::move(start));
    }
  }

  // b deleted: its other neighbours hang on a by the tables that went through b.
  void node_deleted(Index b, Index a) {
    const Indices rest = but(b, {a});
    std::vector<End> ends = seen_from(b, rest);
    add(a, -1, states(a));
    for (Index c : rest) add(c, 0, states(c));
    place_.fixed_root = true;
    ends.push_back({a, {b}});
    surround(std::move(ends));
    if (n_ == 0) return;
    Table start = marginal(a);
    const Table& first = given(b, a);
    for (Index c : rest) {
      const Table& second = given(c, b);
      const Index k = states(c);
      Table through(std::size_t(states(a)) * k, 0.0);
      for (Index s = 0; s < states(a); ++s)
        for (Index t = 0; t < states(b); ++t)
          for (Index x = 0; x < k; ++x)
            through[std::size_t(s) * k + x] += first[std::size_t(s) * states(b) + t] * second[std::size_t(t) * k + x];
      append(start, through);
    }
    place_.starts.push_back(std::move(start));
  }

  // b and a become one: its states are the likeliest pairs of theirs, with some luck in the choice.
  void united(Index b, Index a, Index k) {
    const Indices here = but(a, {b}), there = but(b, {a});
    std::vector<End> ends = seen_from(a, here);
    const std::vector<End> more = seen_from(b, there);
    ends.insert(ends.end(), more.begin(), more.end());
    star(a, k, ends);
    if (n_ == 0) return;
    const Wide one = side_by_side(net_, a, here), other = side_by_side(net_, b, there);
    Table pairs = given(b, a);
    for (Index s = 0; s < states(a); ++s)
      for (Index t = 0; t < states(b); ++t) pairs[std::size_t(s) * states(b) + t] *= marginal(a)[s];
    for (int i = 0; i < n_; ++i) {
      Table luck = pairs;
      if (i > 0)
        for (double& p : luck) p *= exponential(rng_);
      const Indices order = by_weight(luck);
      Wide rows;
      rows.sizes = one.sizes;
      rows.sizes.insert(rows.sizes.end(), other.sizes.begin(), other.sizes.end());
      rows.width = one.width + other.width;
      rows.states = k;
      Table prior;
      for (Index j = 0; j < k; ++j) {
        const Index s = order[j] / states(b), t = order[j] % states(b);
        prior.push_back(pairs[order[j]] + 1e-6);
        rows.rows.insert(rows.rows.end(), one.row(s), one.row(s) + one.width);
        rows.rows.insert(rows.rows.end(), other.row(t), other.row(t) + other.width);
        shake_row(rows.row(j), rows.sizes, 0.05);
      }
      normalise(prior, k);
      place_.starts.push_back(flat(prior, rows));
    }
  }

  // a divided: states that say the same about the neighbours of a side are merged there.
  void divided(Index a, const Indices& below, Index k, Index h) {
    const Indices rest = but(a, below);
    add(a, -1, k);
    for (Index b : rest) add(b, 0, states(b));
    const Index at = static_cast<Index>(place_.nodes.size());
    add(fresh(), 0, h);
    for (Index b : below) add(b, at, states(b));
    surround(seen_from(a, net_.neighbours[a]));
    const Wide sides[2] = {side_by_side(net_, a, rest), side_by_side(net_, a, below)};
    const Index sizes[2] = {k, h}, old = states(a);
    for (int i = 0; i < n_; ++i) {
      Table one[2];  // P(group | state of a)
      for (int side = 0; side < 2; ++side) {
        Table luck;
        if (i > 0)
          for (std::size_t j = 0; j < std::size_t(old) * old; ++j) luck.push_back(exponential(rng_) + 0.1);
        const Indices group = merged_groups(marginal(a), sides[side], sizes[side], luck);
        one[side].assign(std::size_t(old) * sizes[side], (1.0 - kSure) / sizes[side]);
        for (Index s = 0; s < old; ++s) one[side][std::size_t(s) * sizes[side] + group[s]] += kSure;
      }
      Table prior(k, 0.0), across(std::size_t(k) * h, 0.0);
      for (Index s = 0; s < old; ++s)
        for (Index g = 0; g < k; ++g) {
          const double p = marginal(a)[s] * one[0][std::size_t(s) * k + g];
          prior[g] += p;
          for (Index t = 0; t < h; ++t) across[std::size_t(g) * h + t] += p * one[1][std::size_t(s) * h + t];
        }
      normalise(prior, k);
      Table start = prior;
      append_merged(start, a, one[0], sides[0], k);
      append(start, shaken(std::move(across), h, 0.02, rng_));
      append_merged(start, a, one[1], sides[1], h);
      place_.starts.push_back(std::move(start));
    }
  }

  // Tables of neighbours that see the groups of states instead of the states.
  void append_merged(Table& start, Index a, const Table& one, const Wide& side, Index k) {
    Index at = 0;
    for (Index size : side.sizes) {
      Table counts(std::size_t(k) * size, 0.0);
      for (Index s = 0; s < side.states; ++s)
        for (Index g = 0; g < k; ++g) {
          const double p = marginal(a)[s] * one[std::size_t(s) * k + g];
          for (Index x = 0; x < size; ++x) counts[std::size_t(g) * size + x] += p * side.row(s)[at + x];
        }
      append(start, shaken(std::move(counts), size, 0.02, rng_));
      at += size;
    }
  }

  // z moved from a to c. The likelihood is concave in P(z | c): one start will do.
  void node_relocated(Index z, Index a, Index c) {
    const Index k = states(c), kz = states(z);
    add(c, -1, k);
    add(z, 0, kz);
    place_.fixed_root = true;
    const auto left = beliefs_.parted(z, a);
    const auto own = beliefs_.known({z, {a}});
    const auto there = std::make_shared<Known>(beliefs_.distinct(k, left->at(c)));
    place_.ends = {c, z};
    place_.around = std::make_shared<Surroundings>(combine({there, own}, beliefs_.weights(), beliefs_.rows()));
    Table counts(std::size_t(k) * kz, 1e-12), belief(k), said(kz);
    for (std::size_t i = 0; i < place_.around->weights.size(); ++i) {  // c is judged without the branch
      const double* l = there->likelihood.data() + std::size_t(place_.around->ids[0][i]) * k;
      const Index x = place_.around->ids[1][i];
      for (Index s = 0; s < k; ++s) belief[s] = marginal(c)[s] * l[s];
      normalise(belief, k);
      for (Index t = 0; t < kz; ++t)
        said[t] = net_.is_latent(z) ? marginal(z)[t] * own->likelihood[std::size_t(x) * kz + t] : double(t == x);
      if (net_.is_latent(z)) normalise(said, kz);
      for (Index s = 0; s < k; ++s)
        for (Index t = 0; t < kz; ++t)
          counts[std::size_t(s) * kz + t] += place_.around->weights[i] * belief[s] * said[t];
    }
    normalise(counts, kz);
    for (Index s = 0; s < k; ++s)
      for (Index t = 0; t < kz; ++t) {
        double& p = counts[std::size_t(s) * kz + t];
        p = 0.9 * p + 0.1 * marginal(z)[t];
      }
    Table start = marginal(c);
    append(start, counts);
    place_.starts.push_back(std::move(start));
  }

  const Beliefs& beliefs_;
  const Network& net_;
  const Move& move_;
  const int n_;
  Stream& rng_;
  Place place_;
};

}  // namespace

Evaluated evaluate(const Beliefs& beliefs, const Move& move, const Effort& effort, double goal, Start start,
                   Stream& rng) {
  Maker maker(beliefs, move, start == Start::random ? 0 : effort.starts, rng);
  const Place& place = maker.place();
  Indices ends;
  for (Index v : place.ends)
    ends.push_back(static_cast<Index>(std::find(place.nodes.begin(), place.nodes.end(), v) - place.nodes.begin()));
  auto engine = std::make_shared<const Engine>(place.around->plan(place.parent, place.states, ends));
  Evaluated out{-std::numeric_limits<double>::infinity(), place.nodes, place.parent, place.states, {}};
  auto run = [&](std::vector<Table> starts) {
    Maximiser maximiser;
    if (place.fixed_root) {
      maximiser.held.assign(engine->plan().n_parameters, 0);
      std::fill_n(maximiser.held.begin(), place.states[0], std::uint8_t{1});
    }
    Em runs(engine, std::move(maximiser), false, std::move(starts));
    const Run& best = runs.run(
        runs.compete(effort.first, effort.steps, effort.tolerance, goal - place.around->scale, hope_of(move.kind)));
    if (!out.parameters.empty() && !(best.log_likelihood + place.around->scale > out.log_likelihood)) return;
    out.log_likelihood = best.log_likelihood + place.around->scale;
    out.parameters = best.parameters;
    goal = std::max(goal, out.log_likelihood);
  };
  if (start != Start::random) run(place.starts);
  if (start != Start::model) {
    std::vector<Table> drawn;
    for (int i = 0; i < effort.starts; ++i) drawn.push_back(maker.drawn());
    run(std::move(drawn));
  }
  return out;
}

}  // namespace latentree
