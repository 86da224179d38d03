#include "relocate.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include "kernels.hpp"
#include "precision.hpp"
#include "team.hpp"

namespace latentree {
namespace {

// All arrays over rows are [states][rows]: the rows are what is vectorised.

// A message between two latents: all that `from` knows without `to`, and P(from | to).
struct Link {
  Index from, to;
  const double* cavity;  // [states of from][rows], largest entry of a row 1
  const double* table;   // [states of to][states of from]
};

// A branch as it is worked on: what it says about its own top node, and P(top | latent).
struct Top {
  Index at;
  Index own;                 // the latent at its top; -1: it is a leaf
  const double* likelihood;  // [states][rows]
  const double* table;       // [states of at][states]
  const double* prior;       // [states]
  Index states;
  const double* needed;  // [latents], or nullptr
};

struct Forest {
  std::vector<Index> states;                   // of the latents
  std::vector<std::vector<double>> posterior;  // [states][rows]
  std::vector<Link> links;                     // both directions of every edge
  const double* weights;
  Index rows;
};

constexpr Index kBlock = 128;       // rows worked on together
constexpr std::size_t kPlaces = 8;  // places looked at more closely
constexpr std::size_t kHeld = 16;   // places whose beliefs are kept from the first pass on
constexpr double kSmall = 0.01;     // a gain that is not worth another pass
constexpr double kAhead = 6.0;      // given up, if the need is unknown: so many more gains would not do

// One branch: how the beliefs of all other nodes change when it is taken away, and what they then say about it.
class Mover {
 public:
  Mover(const Forest& forest, const std::vector<std::vector<Index>>& outgoing, const Top& branch, int passes,
        std::size_t near)
      : f_(forest),
        b_(branch),
        near_(near),
        most_(*std::max_element(forest.states.begin(), forest.states.end())),
        weight_(std::accumulate(forest.weights, forest.weights + forest.rows, 0.0)) {
    const std::size_t n = f_.states.size();
    result_.goes.assign(n, std::numeric_limits<double>::quiet_NaN());
    result_.tables.assign(n * most_ * b_.states, 0.0);
    slopes_.assign(result_.tables.size(), 0.0);
    ratio_.assign(n * most_ * kBlock, 0.0);
    q_.assign(std::size_t(most_) * kBlock, 0.0);
    before_.assign(n, -std::numeric_limits<double>::infinity());
    held_.resize(n);
    walk(outgoing);
    first_pass();
    for (int pass = 1; pass < passes && !alive_.empty(); ++pass) step(pass);
  }
  Moved result() { return std::move(result_); }

 private:
  // Links in the order in which news spread from where the branch hung.
  void walk(const std::vector<std::vector<Index>>& outgoing) {
    std::vector<Index> from{b_.own}, ahead{b_.at};
    for (std::size_t i = 0; i < ahead.size(); ++i) {
      if (ahead[i] != b_.at) alive_.push_back(ahead[i]);
      for (Index l : outgoing[ahead[i]])
        if (f_.links[l].to != from[i] && ahead.size() < near_) {
          order_.push_back(l);
          from.push_back(ahead[i]);
          ahead.push_back(f_.links[l].to);
        }
    }
  }

  double* ratio(Index latent, Index state) { return ratio_.data() + (std::size_t(latent) * most_ + state) * kBlock; }
  double* table(std::vector<double>& in, Index latent, Index state) {
    return in.data() + (std::size_t(latent) * most_ + state) * b_.states;
  }
  // Counts of (place, branch) in the completed data give the first tables, and name the places worth EM.
  void first_pass() {
    const bool hold_all = alive_.size() <= kHeld;
    if (hold_all) hold_alive();
    for (Index latent : alive_)
      for (Index s = 0; s < f_.states[latent]; ++s) std::copy_n(b_.prior, b_.states, table(result_.tables, latent, s));
    spread(true, [&](Index latent, Index first, Index n) {
      const double* q = believe(latent, first, n);
      add_slopes(latent, q, held_[latent].empty() ? kBlock : f_.rows, first, n);
    });
    shortlist();
    if (hold_all) return;
    hold_alive();
    spread(false, [&](Index latent, Index first, Index n) { believe(latent, first, n); });
  }

  void hold_alive() {
    for (Index latent : alive_) held_[latent].resize(std::size_t(f_.states[latent]) * f_.rows);
  }

  // Calls visit(latent, first row, rows) for all places when the branch has been taken away.
  template <class Visit>
  void spread(bool weigh, Visit visit) {
    for (Index first = 0; first < f_.rows; first += kBlock) {
      const Index n = std::min(kBlock, f_.rows - first);
      take_away(first, n, weigh);
      for (Index latent : alive_) visit(latent, first, n);
    }
  }

  // P(state | rows without the branch), where it is held, or else only for this block.
  const double* believe(Index latent, Index first, Index n) {
    const bool held = !held_[latent].empty();
    double* q = held ? held_[latent].data() + first : q_.data();
    k_.believe(f_.posterior[latent].data() + first, f_.rows, ratio(latent, 0), kBlock, f_.states[latent], n, q,
               held ? f_.rows : kBlock);
    return q;
  }

  double add_slopes(Index latent, const double* q, Index stride, Index first, Index n) {
    return k_.slopes(q, stride, f_.states[latent], table(result_.tables, latent, 0), b_.likelihood + first, f_.rows,
                     b_.states, f_.weights + first, n, table(slopes_, latent, 0));
  }

  void shortlist() {
    std::vector<double> worth(f_.states.size(), 0.0);
    for (Index latent : alive_) worth[latent] = maximise(latent, 0.02);  // no zeros: EM could not leave them
    std::stable_sort(alive_.begin(), alive_.end(), [&](Index a, Index b) { return worth[a] > worth[b]; });
    if (alive_.size() > kPlaces) alive_.resize(kPlaces);
    keep_ways();
  }

  // News need not go where nobody waits for them.
  void keep_ways() {
    std::vector<char> waits(f_.states.size(), 0);
    for (Index latent : alive_) waits[latent] = 1;
    std::vector<Index> kept;
    for (auto l = order_.rbegin(); l != order_.rend(); ++l)
      if (waits[f_.links[*l].to]) {
        waits[f_.links[*l].from] = 1;
        kept.push_back(*l);
      }
    order_.assign(kept.rbegin(), kept.rend());
  }

  void step(int pass) {
    for (Index latent : alive_) {
      std::fill_n(table(slopes_, latent, 0), std::size_t(f_.states[latent]) * b_.states, 0.0);
      result_.goes[latent] = add_slopes(latent, held_[latent].data(), f_.rows, 0, f_.rows);
    }
    double best = 0.0;  // how far beyond what is needed the best place is
    if (b_.needed)
      for (Index latent : alive_) best = std::max(best, result_.goes[latent] - result_.stays - b_.needed[latent]);
    std::vector<Index> left;
    for (Index latent : alive_) {
      const double now = result_.goes[latent], gain = now - before_[latent];
      const bool possible = b_.needed ? bound(latent) >= result_.stays + b_.needed[latent] + best
                                      : pass == 1 || now + kAhead * gain > result_.stays;
      if (possible && gain > kSmall) left.push_back(latent);
      before_[latent] = now;
      maximise(latent, 0.0);
    }
    alive_ = left;
  }

  // No table gives more: its rows are distributions, and the logarithm of a mean is at least the mean of logarithms.
  double bound(Index latent) {
    double most = 0.0;
    for (Index s = 0; s < f_.states[latent]; ++s) {
      const double* slope = table(slopes_, latent, s);
      most += *std::max_element(slope, slope + b_.states);
    }
    return result_.goes[latent] + weight_ * std::log(std::max(most / weight_, 1.0));
  }

  // By what factor the belief in each state of each latent changes without the branch.
  void take_away(Index first, Index n, bool weigh) {
    double left[kBlock] = {}, one[kBlock];
    std::fill(one, one + n, 1.0);
    for (Index s = 0; s < f_.states[b_.at]; ++s) {
      double* r = ratio(b_.at, s);
      const double* p = f_.posterior[b_.at].data() + std::size_t(s) * f_.rows + first;
      k_.mix(b_.table + std::size_t(s) * b_.states, b_.likelihood + first, f_.rows, b_.states, n, r);
      for (Index i = 0; i < n; ++i) {
        r[i] = 1.0 / std::max(r[i], kUnderflow);
        left[i] += p[i] * r[i];
      }
    }
    if (weigh) result_.stays += k_.weigh_logs(f_.weights + first, one, left, n);
    k_.scale_rows(ratio(b_.at, 0), kBlock, f_.states[b_.at], n);
    for (Index l : order_) {
      const Link& link = f_.links[l];
      const Index from = f_.states[link.from];
      for (Index t = 0; t < f_.states[link.to]; ++t)
        k_.mix_factors(link.table + std::size_t(t) * from, link.cavity + first, f_.rows, ratio(link.from, 0), kBlock,
                       from, n, ratio(link.to, t));
      k_.scale_rows(ratio(link.to, 0), kBlock, f_.states[link.to], n);
    }
  }

  // The next table from the expected counts, and what these say about it.
  double maximise(Index latent, double shrink) {
    double worth = 0.0;
    for (Index s = 0; s < f_.states[latent]; ++s) {
      double* slope = table(slopes_, latent, s);
      double* t = table(result_.tables, latent, s);
      double sum = 0.0;
      for (Index x = 0; x < b_.states; ++x) sum += slope[x] *= t[x];
      for (Index x = 0; x < b_.states; ++x) {
        t[x] = sum > 0.0 ? (1.0 - shrink) * slope[x] / sum + shrink * b_.prior[x] : b_.prior[x];
        worth += slope[x] * std::log(std::max(t[x], kUnderflow));
      }
    }
    return worth;
  }

  const Kernels& k_ = kernels();
  const Forest& f_;
  const Top& b_;
  const std::size_t near_;
  const Index most_;
  const double weight_;
  std::vector<Index> alive_, order_;
  std::vector<double> slopes_, ratio_, q_, before_;
  std::vector<std::vector<double>> held_;  // [latents]: [states][rows], or empty
  Moved result_;
};

}  // namespace

std::vector<Moved> relocations(const Beliefs& beliefs, const Indices& places, const std::vector<Branch>& branches,
                               int passes, int near, int threads) {
  const Network& net = beliefs.network();
  const Index rows = beliefs.rows();
  std::vector<Index> number(net.n_nodes(), -1);
  for (std::size_t i = 0; i < places.size(); ++i) number[places[i]] = static_cast<Index>(i);
  Forest forest;
  forest.weights = beliefs.weights();
  forest.rows = rows;
  std::map<std::pair<Index, Index>, std::vector<double>> cavity;
  for (Index u : places) {
    forest.states.push_back(net.states[u]);
    forest.posterior.push_back(beliefs.posterior(u));
    for (Index v : net.neighbours[u])
      if (number[v] >= 0) {
        const auto& own = cavity[{u, v}] = beliefs.cavity({u, {v}});
        forest.links.push_back({number[u], number[v], own.data(), net.conditional(u, v).data()});
      }
  }
  std::map<Index, std::vector<double>> seen;  // what a leaf's values say about it: 1 for the value seen, or for all
  for (const Branch& b : branches) {
    if (net.is_latent(b.top) || seen.count(b.top)) continue;
    std::vector<double>& own = seen[b.top];
    const std::int16_t* codes = beliefs.codes(b.top);
    for (Index x = 0; x < net.states[b.top]; ++x)
      for (Index r = 0; r < rows; ++r) own.push_back(codes[r] == x || codes[r] < 0 ? 1.0 : 0.0);
  }
  std::vector<std::vector<Index>> outgoing(places.size());
  for (std::size_t l = 0; l < forest.links.size(); ++l) outgoing[forest.links[l].from].push_back(Index(l));
  std::vector<Moved> out(branches.size());
  Team team(threads);
  team(static_cast<Index>(branches.size()), [&](Index i) {
    const Branch& b = branches[i];
    const double* likelihood = net.is_latent(b.top) ? cavity.at({b.top, b.at}).data() : seen.at(b.top).data();
    const Top top{number[b.at],
                  number[b.top],
                  likelihood,
                  net.conditional(b.top, b.at).data(),
                  net.marginal[b.top].data(),
                  net.states[b.top],
                  b.needed.empty() ? nullptr : b.needed.data()};
    out[i] = Mover(forest, outgoing, top, passes, std::size_t(near)).result();
  });
  return out;
}

}  // namespace latentree
