// Reversible jump with the allocation integrated out: the same splits, and births and deaths of any component, judged
// by the likelihood of the mixture (docs/mathematics/reversible-jump.md, "Without the allocation").
#include <algorithm>
#include <cmath>
#include <limits>

#include "jump.hpp"

namespace latentree {

namespace {
constexpr double kLargest = 600.0;  // what is larger than e to this outweighs all else in a double

// ln (sum + exp a + exp b)
double log_added(double sum, double a, double b = kNever) {
  if (std::max(a, b) > kLargest) return log_sum(a, b);
  return std::log(sum + std::exp(a) + std::exp(b));
}
}  // namespace

// p_j f(y | theta_j) of all patterns and components, relative to the largest of each pattern.
struct Sampler::Densities {
  std::vector<double> base, mix;           // of each pattern: ln of the largest; ln of the mixture, relative to it
  std::vector<std::vector<double>> value;  // [component][pattern]
};

void Sampler::fill(const Chain& c, Densities& d) const {
  const int n = rows_.size();
  d.base.assign(n, kNever);
  d.mix.assign(n, 0.0);
  d.value.assign(c.k, std::vector<double>(n));
  for (int j = 0; j < c.k; ++j)
    for (int p = 0; p < n; ++p)
      d.base[p] = std::max(d.base[p], d.value[j][p] = c.log_weights[j] + log_density(c, j, p));
  for (int j = 0; j < c.k; ++j)
    for (int p = 0; p < n; ++p) d.mix[p] += d.value[j][p] = std::exp(d.value[j][p] - d.base[p]);
  for (int p = 0; p < n; ++p) d.mix[p] = std::log(d.mix[p]);
}

// The mixture without two components (or one).
std::vector<double> Sampler::rest(const Chain& c, const Densities& d, int j1, int j2) const {
  std::vector<double> sum(rows_.size(), 0.0);
  for (int j = 0; j < c.k; ++j) {
    if (j == j1 || j == j2) continue;
    for (int p = 0; p < rows_.size(); ++p) sum[p] += d.value[j][p];
  }
  return sum;
}

void Sampler::split_or_combine_marginal(Chain& c, Densities& d) const {
  Split s;
  const bool splits = c.stream.uniform() < chance_up(c.k);
  ++c.tried[int(splits ? Try::split : Try::combine)];
  if (splits) {
    if (!choose_split(c, s)) return;
  } else {
    choose_pair(c, s);
  }
  const std::vector<double> others = rest(c, d, s.j1, s.j2);
  double change = 0.0;
  for (int p = 0; p < rows_.size(); ++p) {
    const double base = d.base[p] - s.log_p;
    double total;
    if (splits) {
      const auto [first, second] = log_densities(s, p);
      total = log_added(others[p], s.log_u + first - base, s.log_v + second - base);
    } else {
      total = log_added(others[p], log_density(s.one.data(), p) - base);
    }
    change += double(rows_.weights[p]) * (total - d.mix[p]);
  }
  const double ratio = splits ? change + log_split_terms(s, c.k) : change - log_split_terms(s, c.k - 1);
  if (!(std::log(c.stream.uniform()) < ratio)) return;
  ++c.accepted[int(splits ? Try::split : Try::combine)];
  if (splits) {
    put_two(c, s);
  } else {
    put_one(c, s);
  }
  fill(c, d);
}

// A new component's parameters are drawn from the prior, or from the prior after seeing one row `informed` times over.
// ln pi(theta) / q(theta), given ln f(y | theta) of all patterns.
double Sampler::log_prior_over_proposal(const std::vector<double>& log_f) const {
  if (rows_.n == 0) return 0.0;
  double top = 0.0, sum = 0.0;
  for (int p = 0; p < rows_.size(); ++p) top = std::max(top, log_row_[p] + settings_.informed * log_f[p]);
  for (int p = 0; p < rows_.size(); ++p) sum += std::exp(log_row_[p] + settings_.informed * log_f[p] - top);
  return std::log(2.0) - top - std::log(std::exp(-top) + sum);
}

// Its weight is Beta(1, k), or Beta(1, small).
double Sampler::log_weight_proposal(double log_rest, int k) const {
  return log_sum(std::log(double(k)) + (k - 1) * log_rest,
                 std::log(settings_.small) + (settings_.small - 1.0) * log_rest) -
         std::log(2.0);
}

// ln of A_B without the data: any component may die, so its choice cancels against the places a new one can take.
double Sampler::log_birth_terms(int k, double log_p, double log_rest) const {
  const double d1 = settings_.delta1;
  return settings_.log_prior[k] - settings_.log_prior[k - 1] + log_gamma((k + 1) * d1) - log_gamma(k * d1) -
         log_gamma(d1) + (d1 - 1.0) * log_p + (k * (d1 - 1.0) + (k - 1)) * log_rest + std::log(1.0 - chance_up(k + 1)) -
         std::log(chance_up(k)) - log_weight_proposal(log_rest, k);
}

void Sampler::birth_or_death_marginal(Chain& c, Densities& d) const {
  const int n = rows_.size(), t = rows_.n_cells();
  const bool birth = c.stream.uniform() < chance_up(c.k);
  ++c.tried[int(birth ? Try::birth : Try::death)];
  std::vector<double> log_f(n);
  if (birth) {
    const double b = c.stream.uniform() < 0.5 ? double(c.k) : settings_.small;
    const double log_rest = std::log(c.stream.uniform()) / b, log_p = std::log(-std::expm1(log_rest));
    std::vector<double> theta(t);
    int seen = -1;
    if (rows_.n > 0 && c.stream.uniform() < 0.5) {
      const Count row = c.stream.below(rows_.n);
      seen = static_cast<int>(std::upper_bound(rows_.ends.begin(), rows_.ends.end(), row) - rows_.ends.begin());
    }
    std::vector<double> alpha(t, settings_.delta2);
    if (seen >= 0)
      for (int a = rows_.begin[seen]; a < rows_.begin[seen + 1]; ++a) alpha[rows_.cells[a]] += settings_.informed;
    draw_dirichlets(c.stream, alpha, theta.data());
    double change = 0.0;
    for (int p = 0; p < n; ++p) {
      log_f[p] = log_density(theta.data(), p);
      const double total = log_added(std::exp(log_rest + d.mix[p]), log_p + log_f[p] - d.base[p]);
      change += double(rows_.weights[p]) * (total - d.mix[p]);
    }
    const double ratio = change + log_birth_terms(c.k, log_p, log_rest) + log_prior_over_proposal(log_f);
    if (!(std::log(c.stream.uniform()) < ratio)) return;
    for (int j = 0; j < c.k; ++j) c.log_weights[j] += log_rest;
    c.log_weights[c.k] = log_p;
    std::copy(theta.begin(), theta.end(), c.log_theta.begin() + std::size_t(c.k) * t);
    ++c.k;
  } else {
    const int j = static_cast<int>(c.stream.below(c.k));
    double log_rest = kNever;
    for (int l = 0; l < c.k; ++l)
      if (l != j) log_rest = log_sum(log_rest, c.log_weights[l]);
    const std::vector<double> others = rest(c, d, j, j);
    double change = 0.0;
    for (int p = 0; p < n; ++p) {
      log_f[p] = log_density(c, j, p);
      change += double(rows_.weights[p]) * (std::log(others[p]) - log_rest - d.mix[p]);
    }
    const double ratio = change - log_birth_terms(c.k - 1, c.log_weights[j], log_rest) - log_prior_over_proposal(log_f);
    if (!(std::log(c.stream.uniform()) < ratio)) return;
    drop(c, j);
    for (int l = 0; l < c.k; ++l) c.log_weights[l] -= log_rest;
  }
  ++c.accepted[int(birth ? Try::birth : Try::death)];
  fill(c, d);
}

// Moves the occupied classes to the front; returns how many there are.
int Sampler::gather_occupied(Chain& c) const {
  const int n = rows_.size();
  int t = 0;
  for (int j = 0; j < c.k; ++j) {
    const auto m = c.members.begin() + std::size_t(j) * n;
    if (std::all_of(m, m + n, [](Count x) { return x == 0; })) continue;
    if (j != t) std::copy_n(m, n, c.members.begin() + std::size_t(t) * n);
    ++t;
  }
  return t;
}

// k given the partition, weights and parameters integrated out (they must be drawn next):
// P(k | t occupied classes) is proportional to P(k) k!/(k-t)! Gamma(k d1)/Gamma(k d1 + N).
void Sampler::draw_n_classes(Chain& c) const {
  const int t = gather_occupied(c), n = rows_.size();
  const double* given = log_given_.data() + std::size_t(t) * (kmax() + 1);
  double left = c.stream.uniform();
  c.k = std::max(t, 1);
  while (c.k < kmax() && (left -= std::exp(given[c.k])) > 0.0) ++c.k;
  std::fill(c.members.begin() + std::size_t(t) * n, c.members.begin() + std::size_t(c.k) * n, 0);
}

void Sampler::jump_marginal(Chain& c) const {
  if (kmax() == 1) return;
  Densities d;
  fill(c, d);
  for (int i = 0; i < settings_.tries; ++i) {
    split_or_combine_marginal(c, d);
    birth_or_death_marginal(c, d);
  }
}

}  // namespace latentree
