// Reversible jump: split or combine, birth or death ([Whiley1999, section 5.2.1], with the ratios of
// docs/mathematics/reversible-jump.md).
#include <algorithm>
#include <cmath>

#include "jump.hpp"

namespace latentree {

namespace {
constexpr double kTwoPi = 6.28318530717958647693;
}

double Sampler::chance_up(int k) const { return k == kmax() ? 0.0 : k == 1 ? 1.0 : 0.5; }

double Sampler::log_theta_prior(const double* log_theta) const {
  const double d2 = settings_.delta2;
  double sum = 0.0;
  for (int i = 0; i < rows_.n_leaves(); ++i) {
    const int r = rows_.states[i];
    sum += log_gamma(r * d2) - r * log_gamma(d2);
    for (int a = rows_.offsets[i]; a < rows_.offsets[i + 1]; ++a) sum += (d2 - 1.0) * log_theta[a];
  }
  return sum;
}

// Draws u and makes theta1 and theta2 of theta*; false if a probability leaves (0, 1).
bool Sampler::propose(Chain& c, Split& s) const {
  const double u = c.stream.uniform();
  s.log_u = std::log(u);
  s.log_v = std::log1p(-u);
  s.first.resize(s.one.size());
  s.second.resize(s.one.size());
  bool inside = true;
  for (int i = 0; i < rows_.n_leaves(); ++i) {
    const int from = rows_.offsets[i], to = rows_.offsets[i + 1];
    if (settings_.simplex) {
      double sum1 = kNever, sum2 = kNever;
      for (int a = from; a < to; ++a) {
        const double e = settings_.scale * c.stream.normal();
        sum1 = log_sum(sum1, s.first[a] = s.one[a] + (1.0 - u) * e);
        sum2 = log_sum(sum2, s.second[a] = s.one[a] - u * e);
      }
      for (int a = from; a < to; ++a) {
        s.first[a] -= sum1;
        s.second[a] -= sum2;
      }
    } else {
      double left1 = 1.0, left2 = 1.0;  // for the first state, which has what the others leave
      for (int a = from + 1; a < to; ++a) {
        const double w = c.stream.uniform();
        left1 -= std::exp(s.first[a] = std::log(w) - s.log_u + s.one[a]);
        left2 -= std::exp(s.second[a] = std::log1p(-w) - s.log_v + s.one[a]);
      }
      inside = inside && left1 > 0.0 && left2 > 0.0;
      s.first[from] = std::log(std::max(left1, 0.0));
      s.second[from] = std::log(std::max(left2, 0.0));
    }
  }
  return inside;
}

// The one component that two come from.
void Sampler::restore(const Chain& c, Split& s) const {
  const double* theta = c.log_theta.data();
  const int t = rows_.n_cells();
  s.log_p = log_sum(c.log_weights[s.j1], c.log_weights[s.j2]);
  s.log_u = c.log_weights[s.j1] - s.log_p;
  s.log_v = c.log_weights[s.j2] - s.log_p;
  s.first.assign(theta + std::size_t(s.j1) * t, theta + std::size_t(s.j1 + 1) * t);
  s.second.assign(theta + std::size_t(s.j2) * t, theta + std::size_t(s.j2 + 1) * t);
  s.one.resize(t);
  for (int i = 0; i < rows_.n_leaves(); ++i) {
    double sum = kNever;
    for (int a = rows_.offsets[i]; a < rows_.offsets[i + 1]; ++a) {
      s.one[a] = settings_.simplex ? std::exp(s.log_u) * s.first[a] + std::exp(s.log_v) * s.second[a]
                                   : log_sum(s.log_u + s.first[a], s.log_v + s.second[a]);
      sum = log_sum(sum, s.one[a]);
    }
    for (int a = rows_.offsets[i]; a < rows_.offsets[i + 1]; ++a) s.one[a] -= sum;
  }
}

std::pair<double, double> Sampler::log_densities(const Split& s, int pattern) const {
  double first = 0.0, second = 0.0;
  for (int a = rows_.begin[pattern]; a < rows_.begin[pattern + 1]; ++a) {
    first += s.first[rows_.cells[a]];
    second += s.second[rows_.cells[a]];
  }
  return {first, second};
}

// ln of the members' part of A_S. The chance of the allocation cancels against the likelihood of the allocated members:
// what remains is the likelihood of the two as a mixture.
double Sampler::log_members_ratio(const Chain& c, const Split& s) const {
  double ratio = 0.0;
  const Count* m1 = c.members.data() + std::size_t(s.j1) * rows_.size();
  const Count* m2 = c.members.data() + std::size_t(s.j2) * rows_.size();
  for (int p = 0; p < rows_.size(); ++p) {
    const Count m = m1[p] + (s.j2 == s.j1 ? 0 : m2[p]);
    if (m == 0) continue;
    const auto [first, second] = log_densities(s, p);
    ratio += double(m) * (log_sum(s.log_u + first, s.log_v + second) - log_density(s.one.data(), p));
  }
  return ratio;
}

// ln of the rest of A_S from k to k + 1 components: priors, proposals, Jacobian.
double Sampler::log_split_terms(const Split& s, int k) const {
  const double d1 = settings_.delta1;
  double ratio = 0.0;
  ratio += settings_.log_prior[k] - settings_.log_prior[k - 1];
  ratio += log_gamma((k + 1) * d1) - log_gamma(d1) - log_gamma(k * d1);
  ratio += (d1 - 1.0) * (s.log_u + s.log_v + s.log_p);
  ratio += log_theta_prior(s.first.data()) + log_theta_prior(s.second.data()) - log_theta_prior(s.one.data());
  ratio += std::log(1.0 - chance_up(k + 1)) - std::log(chance_up(k));
  double jacobian = s.log_p, proposal = 0.0;
  for (int i = 0; i < rows_.n_leaves(); ++i) {
    const int r = rows_.states[i], from = rows_.offsets[i], last = rows_.offsets[i + 1] - 1;
    if (settings_.simplex) {
      const double s2 = settings_.scale * settings_.scale;
      double sum = 0.0, squares = 0.0;
      for (int a = from; a <= last; ++a) {
        const double v = s.first[a] - s.first[last] - s.second[a] + s.second[last];
        sum += v;
        squares += v * v;
        jacobian += s.first[a] + s.second[a] - s.one[a];
      }
      proposal -=
          0.5 * (r - 1) * std::log(kTwoPi * s2) + 0.5 * std::log(double(r)) + (squares - sum * sum / r) / (2.0 * s2);
    } else {
      for (int a = from + 1; a <= last; ++a) jacobian += s.one[a] - s.log_u - s.log_v;
    }
  }
  return ratio - proposal + jacobian;
}

// Chooses a component and how to split it; false if a probability leaves (0, 1).
bool Sampler::choose_split(Chain& c, Split& s) const {
  const std::size_t t = rows_.n_cells();
  s.j1 = s.j2 = static_cast<int>(c.stream.below(c.k));
  s.log_p = c.log_weights[s.j1];
  s.one.assign(c.log_theta.begin() + s.j1 * t, c.log_theta.begin() + (s.j1 + 1) * t);
  return propose(c, s);
}

// Chooses two components to combine.
void Sampler::choose_pair(Chain& c, Split& s) const {
  const int a = static_cast<int>(c.stream.below(c.k)), b = static_cast<int>(c.stream.below(c.k - 1));
  s.j1 = std::min(a, b < a ? b : b + 1);
  s.j2 = std::max(a, b < a ? b : b + 1);
  restore(c, s);
}

// The two take the place of the one, and the place after the last.
void Sampler::put_two(Chain& c, const Split& s) const {
  const std::size_t t = rows_.n_cells();
  const int j2 = c.k++;
  c.log_weights[s.j1] = s.log_p + s.log_u;
  c.log_weights[j2] = s.log_p + s.log_v;
  std::copy(s.first.begin(), s.first.end(), c.log_theta.begin() + s.j1 * t);
  std::copy(s.second.begin(), s.second.end(), c.log_theta.begin() + j2 * t);
}

// The one takes the place of the two.
void Sampler::put_one(Chain& c, const Split& s) const {
  c.log_weights[s.j1] = s.log_p;
  std::copy(s.one.begin(), s.one.end(), c.log_theta.begin() + std::size_t(s.j1) * rows_.n_cells());
  drop(c, s.j2);
}

void Sampler::split_or_combine(Chain& c) const {
  if (kmax() == 1) return;
  const int n = rows_.size();
  Split s;
  if (c.stream.uniform() < chance_up(c.k)) {
    ++c.tried[int(Try::split)];
    if (!choose_split(c, s)) return;
    if (!(std::log(c.stream.uniform()) < log_members_ratio(c, s) + log_split_terms(s, c.k))) return;
    ++c.accepted[int(Try::split)];
    put_two(c, s);
    const int j2 = c.k - 1;
    for (int p = 0; p < n; ++p) {
      Count &m1 = c.members[std::size_t(s.j1) * n + p], &m2 = c.members[std::size_t(j2) * n + p];
      m2 = 0;
      if (m1 == 0) continue;
      const auto [first, second] = log_densities(s, p);
      const double odds = s.log_v - s.log_u + second - first;
      const Count stay = c.stream.binomial(m1, 1.0 / (1.0 + std::exp(odds)));
      m2 = m1 - stay;
      m1 = stay;
    }
    return;
  }
  ++c.tried[int(Try::combine)];
  choose_pair(c, s);
  if (!(std::log(c.stream.uniform()) < -log_members_ratio(c, s) - log_split_terms(s, c.k - 1))) return;
  ++c.accepted[int(Try::combine)];
  for (int p = 0; p < n; ++p) c.members[std::size_t(s.j1) * n + p] += c.members[std::size_t(s.j2) * n + p];
  put_one(c, s);
}

// Removes component j; the last one takes its place.
void Sampler::drop(Chain& c, int j) const {
  const int last = --c.k, t = rows_.n_cells(), n = rows_.size();
  c.log_weights[j] = c.log_weights[last];
  std::copy_n(c.log_theta.begin() + std::size_t(last) * t, t, c.log_theta.begin() + std::size_t(j) * t);
  std::copy_n(c.members.begin() + std::size_t(last) * n, n, c.members.begin() + std::size_t(j) * n);
}

// ln A_B from k components, `empty` of them empty, to k + 1; log_rest = ln (1 - p*).
double Sampler::log_birth_ratio(int k, int empty, double log_p, double log_rest) const {
  const double d1 = settings_.delta1;
  return settings_.log_prior[k] - settings_.log_prior[k - 1] + log_gamma((k + 1) * d1) - log_gamma(k * d1) -
         log_gamma(d1) + (d1 - 1.0) * log_p + (double(rows_.n) + k * (d1 - 1.0)) * log_rest +
         std::log(1.0 - chance_up(k + 1)) - std::log(chance_up(k)) + std::log((k + 1.0) / (double(k) * (empty + 1.0)));
}

void Sampler::birth_or_death(Chain& c) const {
  if (kmax() == 1) return;
  const int t = rows_.n_cells(), n = rows_.size();
  std::vector<int> empty;
  for (int j = 0; j < c.k; ++j) {
    const auto m = c.members.begin() + std::size_t(j) * n;
    if (std::all_of(m, m + n, [](Count x) { return x == 0; })) empty.push_back(j);
  }
  const int k0 = static_cast<int>(empty.size());
  if (c.stream.uniform() < chance_up(c.k)) {
    ++c.tried[int(Try::birth)];
    const double log_rest = std::log(c.stream.uniform()) / c.k;  // 1 - p* is the k-th root: p* ~ Beta(1, k)
    const double log_p = std::log(-std::expm1(log_rest));
    if (!(std::log(c.stream.uniform()) < log_birth_ratio(c.k, k0, log_p, log_rest))) return;
    ++c.accepted[int(Try::birth)];
    for (int j = 0; j < c.k; ++j) c.log_weights[j] += log_rest;
    const int j = c.k++;
    c.log_weights[j] = log_p;
    draw_dirichlets(c.stream, std::vector<double>(t, settings_.delta2), c.log_theta.data() + std::size_t(j) * t);
    std::fill_n(c.members.begin() + std::size_t(j) * n, n, 0);
    return;
  }
  ++c.tried[int(Try::death)];
  if (k0 == 0) return;
  const int j = empty[c.stream.below(k0)];
  const double log_p = c.log_weights[j];
  double log_rest = kNever;  // the others' sum: 1 - p* itself may be rounding only
  for (int l = 0; l < c.k; ++l)
    if (l != j) log_rest = log_sum(log_rest, c.log_weights[l]);
  if (!(std::log(c.stream.uniform()) < -log_birth_ratio(c.k - 1, k0 - 1, log_p, log_rest))) return;
  ++c.accepted[int(Try::death)];
  drop(c, j);
  for (int l = 0; l < c.k; ++l) c.log_weights[l] -= log_rest;
}

}  // namespace latentree
