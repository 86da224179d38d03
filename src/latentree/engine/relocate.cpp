#include "relocate.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels.hpp"
#include "precision.hpp"
#include "team.hpp"

namespace latentree {
namespace {

constexpr Index kBlock = 128;       // rows worked on together
constexpr std::size_t kPlaces = 8;  // places looked at more closely
constexpr double kSmall = 0.01;     // a gain that is not worth another pass
constexpr double kAhead = 6.0;      // a place is given up when so many more gains like its last would not do

// One branch: how the beliefs of all other nodes change when it is taken away, and what they then say about it.
class Mover {
 public:
  Mover(const Forest& forest, const std::vector<std::vector<Index>>& outgoing, const Branch& branch, int passes,
        std::size_t near)
      : f_(forest), b_(branch), near_(near), most_(*std::max_element(forest.states.begin(), forest.states.end())) {
    const std::size_t n = f_.states.size();
    result_.goes.assign(n, std::numeric_limits<double>::quiet_NaN());
    result_.tables.assign(n * most_ * b_.states, 0.0);
    counts_.assign(result_.tables.size(), 0.0);
    ratio_.assign(n * most_ * kBlock, 0.0);
    said_.assign(std::size_t(most_) * kBlock, 0.0);
    q_.assign(std::size_t(most_) * kBlock, 0.0);
    before_.assign(n, -std::numeric_limits<double>::infinity());
    walk(outgoing);
    alive_ = reached_;
    for (int pass = 0; pass < passes && !alive_.empty(); ++pass) run_pass(pass);
  }
  Moved result() { return std::move(result_); }

 private:
  // Links in the order in which news spread from where the branch hung.
  void walk(const std::vector<std::vector<Index>>& outgoing) {
    std::vector<Index> from{b_.own}, ahead{b_.at};
    for (std::size_t i = 0; i < ahead.size(); ++i) {
      if (ahead[i] != b_.at) reached_.push_back(ahead[i]);
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
  const double* rows(const double* array, Index state, Index first) const {
    return array + std::size_t(state) * f_.rows + first;
  }

  void run_pass(int pass) {
    std::fill(counts_.begin(), counts_.end(), 0.0);
    for (Index latent : alive_) result_.goes[latent] = 0.0;
    for (Index first = 0; first < f_.rows; first += kBlock) {
      const Index n = std::min(kBlock, f_.rows - first);
      take_away(first, n, pass == 0);
      for (Index latent : alive_) pass == 0 ? count(latent, first, n) : step(latent, first, n);
    }
    for (Index latent : alive_) maximise(latent, pass);
    if (pass == 0) return shortlist();
    std::vector<Index> left;
    for (Index latent : alive_) {
      const double now = result_.goes[latent], gain = now - before_[latent];
      before_[latent] = now;
      if (pass == 1 || (gain > kSmall && now + kAhead * gain > result_.stays)) left.push_back(latent);
    }
    alive_ = left;
    keep_ways();
  }

  // The completed data name the places that are worth EM: counts of (place, branch) with much information.
  void shortlist() {
    std::vector<double> worth(f_.states.size(), 0.0);
    for (Index latent : alive_) {
      result_.goes[latent] = std::numeric_limits<double>::quiet_NaN();
      for (Index s = 0; s < f_.states[latent]; ++s)
        for (Index x = 0; x < b_.states; ++x)
          worth[latent] +=
              table(counts_, latent, s)[x] * std::log(std::max(table(result_.tables, latent, s)[x], kUnderflow));
    }
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

  // P(branch | state) of the rows, by a table with one row for each state.
  void say(const double* given, Index first, Index n, double* out) const {
    k_.mix(given, b_.likelihood + first, f_.rows, b_.states, n, out);
  }

  static void scale(double* const first, Index stride, Index states, Index n) {
    double most[kBlock];
    std::fill(most, most + n, kUnderflow);
    for (Index s = 0; s < states; ++s)
      for (Index i = 0; i < n; ++i) most[i] = std::max(most[i], first[s * stride + i]);
    for (Index i = 0; i < n; ++i) most[i] = 1.0 / most[i];
    for (Index s = 0; s < states; ++s)
      for (Index i = 0; i < n; ++i) first[s * stride + i] *= most[i];
  }

  // By what factor the belief in each state of each latent changes without the branch.
  void take_away(Index first, Index n, bool weigh) {
    double left[kBlock] = {};
    for (Index s = 0; s < f_.states[b_.at]; ++s) {
      double* r = ratio(b_.at, s);
      const double* p = rows(f_.posterior[b_.at], s, first);
      say(b_.table + std::size_t(s) * b_.states, first, n, r);
      for (Index i = 0; i < n; ++i) {
        r[i] = 1.0 / std::max(r[i], kUnderflow);
        left[i] += p[i] * r[i];
      }
    }
    double one[kBlock];
    std::fill(one, one + n, 1.0);
    if (weigh) result_.stays += k_.weigh_logs(f_.weights + first, one, left, n);
    scale(ratio(b_.at, 0), kBlock, f_.states[b_.at], n);
    for (Index l : order_) {
      const Link& link = f_.links[l];
      const Index from = f_.states[link.from];
      for (Index t = 0; t < f_.states[link.to]; ++t)
        k_.mix_factors(link.table + std::size_t(t) * from, link.cavity + first, f_.rows, ratio(link.from, 0), kBlock,
                       from, n, ratio(link.to, t));
      scale(ratio(link.to, 0), kBlock, f_.states[link.to], n);
    }
  }

  // P(state, rows without the branch), up to a factor for each row, into q_; its sum over states into `sum`.
  void believe(Index latent, Index first, Index n, double* sum) {
    std::fill(sum, sum + n, 0.0);
    for (Index s = 0; s < f_.states[latent]; ++s) {
      const double* p = rows(f_.posterior[latent], s, first);
      const double* r = ratio(latent, s);
      double* q = q_.data() + std::size_t(s) * kBlock;
      for (Index i = 0; i < n; ++i) sum[i] += q[i] = p[i] * r[i];
    }
  }

  void count(Index latent, Index first, Index n) {
    double sum[kBlock], own[kBlock];
    believe(latent, first, n, sum);
    say(b_.prior, first, n, own);
    for (Index i = 0; i < n; ++i) own[i] = f_.weights[first + i] / std::max(sum[i] * own[i], kUnderflow);
    for (Index s = 0; s < f_.states[latent]; ++s) add(table(counts_, latent, s), s, b_.prior, own, first, n);
  }

  void step(Index latent, Index first, Index n) {
    double sum[kBlock], own[kBlock] = {};
    believe(latent, first, n, sum);
    for (Index s = 0; s < f_.states[latent]; ++s) {
      say(table(result_.tables, latent, s), first, n, said_.data());
      const double* q = q_.data() + std::size_t(s) * kBlock;
      for (Index i = 0; i < n; ++i) own[i] += q[i] * said_[i];
    }
    result_.goes[latent] += k_.weigh_logs(f_.weights + first, own, sum, n);
    for (Index i = 0; i < n; ++i) own[i] = f_.weights[first + i] / std::max(own[i], kUnderflow);
    for (Index s = 0; s < f_.states[latent]; ++s)
      add(table(counts_, latent, s), s, table(result_.tables, latent, s), own, first, n);
  }

  // counts[x] += sum over rows of weight * q[state] * given[x] * likelihood[x]
  void add(double* counts, Index state, const double* given, const double* weight, Index first, Index n) {
    double share[kBlock];
    const double* q = q_.data() + std::size_t(state) * kBlock;
    for (Index i = 0; i < n; ++i) share[i] = weight[i] * q[i];
    for (Index x = 0; x < b_.states; ++x) counts[x] += given[x] * k_.dot(share, rows(b_.likelihood, x, first), n);
  }

  void maximise(Index latent, int pass) {
    const double shrink = pass == 0 ? 0.02 : 0.0;  // no zeros to begin with: EM could not leave them
    for (Index s = 0; s < f_.states[latent]; ++s) {
      const double* c = table(counts_, latent, s);
      double* t = table(result_.tables, latent, s);
      double sum = 0.0;
      for (Index x = 0; x < b_.states; ++x) sum += c[x];
      for (Index x = 0; x < b_.states; ++x)
        t[x] = sum > 0.0 ? (1.0 - shrink) * c[x] / sum + shrink * b_.prior[x] : b_.prior[x];
    }
  }

  const Kernels& k_ = kernels();
  const Forest& f_;
  const Branch& b_;
  const std::size_t near_;
  const Index most_;
  std::vector<Index> reached_, alive_, order_;
  std::vector<double> counts_, ratio_, said_, q_, before_;
  Moved result_;
};

}  // namespace

std::vector<Moved> relocations(const Forest& forest, const std::vector<Branch>& branches, int passes, int near,
                               int threads) {
  std::vector<std::vector<Index>> outgoing(forest.states.size());
  for (std::size_t l = 0; l < forest.links.size(); ++l) outgoing[forest.links[l].from].push_back(Index(l));
  std::vector<Moved> out(branches.size());
  Team team(threads);
  team(static_cast<Index>(branches.size()),
       [&](Index i) { out[i] = Mover(forest, outgoing, branches[i], passes, std::size_t(near)).result(); });
  return out;
}

}  // namespace latentree
