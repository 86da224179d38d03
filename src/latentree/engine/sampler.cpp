#include "sampler.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace latentree {

namespace {
constexpr Count kLargestTable = 1 << 20;
}

double log_sum(double a, double b) {
  const double top = std::max(a, b);
  return std::isinf(top) ? top : top + std::log1p(std::exp(std::min(a, b) - top));
}

Patterns::Patterns(std::vector<int> own_states, const std::int16_t* codes, std::vector<Count> own_weights)
    : states(std::move(own_states)), offsets{0}, begin{0}, weights(std::move(own_weights)) {
  for (int r : states) offsets.push_back(offsets.back() + r);
  for (std::size_t p = 0; p < weights.size(); ++p) {
    for (std::size_t i = 0; i < states.size(); ++i)
      if (const int x = codes[p * states.size() + i]; x >= 0) cells.push_back(offsets[i] + x);
    begin.push_back(static_cast<int>(cells.size()));
    n += weights[p];
    ends.push_back(n);
  }
}

LogRising::LogRising(double a, Count most) : a_(a), at_zero_(log_gamma(a)) {
  for (Count n = 0; n <= std::min(most, kLargestTable); ++n) table_.push_back(log_gamma(a + double(n)) - at_zero_);
}

Sampler::Sampler(Patterns patterns, Settings settings)
    : rows_(std::move(patterns)), settings_(std::move(settings)), rising1_(settings_.delta1, rows_.n),
      rising2_(settings_.delta2, rows_.n) {
  std::vector<int> known;
  for (int r : rows_.states) {
    const auto at = std::find(known.begin(), known.end(), r);
    if (at != known.end()) rising_leaf_.push_back(rising_leaf_[at - known.begin()]);
    else rising_leaf_.emplace_back(r * settings_.delta2, rows_.n);
    known.push_back(r);
  }
  const double none = -std::numeric_limits<double>::infinity(), d1 = settings_.delta1;
  for (int t = 0; t <= kmax(); ++t) {
    double sum = none;
    for (int k = 0; k <= kmax(); ++k) {
      double term = none;
      if (k >= 1 && k >= t)
        term = settings_.log_prior[k - 1] + log_gamma(k + 1.0) - log_gamma(k - t + 1.0) + log_gamma(k * d1) -
               log_gamma(k * d1 + double(rows_.n));
      log_given_.push_back(term);
      sum = log_sum(sum, term);
    }
    log_v_.push_back(sum);
  }
}

void Sampler::make(Chain& c, Move move) const {
  switch (move) {
    case Move::weights: return draw_weights(c);
    case Move::parameters: return draw_parameters(c);
    case Move::allocation: return allocate(c);
    case Move::split_combine: return split_or_combine(c);
    case Move::birth_death: return birth_or_death(c);
    case Move::partition: return part_or_unite(c);
    case Move::n_classes: return draw_n_classes(c);
  }
}

double Sampler::log_density(const Chain& c, int j, int pattern) const {
  const double* theta = c.log_theta.data() + std::size_t(j) * rows_.n_cells();
  double sum = 0.0;
  for (int a = rows_.begin[pattern]; a < rows_.begin[pattern + 1]; ++a) sum += theta[rows_.cells[a]];
  return sum;
}

void Sampler::count(const Chain& c, int j, Count* size, Count* cells) const {
  const Count* m = c.members.data() + std::size_t(j) * rows_.size();
  std::fill(cells, cells + rows_.n_cells(), 0);
  *size = 0;
  for (int p = 0; p < rows_.size(); ++p) {
    if (m[p] == 0) continue;
    *size += m[p];
    for (int a = rows_.begin[p]; a < rows_.begin[p + 1]; ++a) cells[rows_.cells[a]] += m[p];
  }
}

// (a) weights: Dirichlet(delta1 + N_1, ..., delta1 + N_k)
void Sampler::draw_weights(Chain& c) const {
  double sum = -std::numeric_limits<double>::infinity();
  for (int j = 0; j < c.k; ++j) {
    const Count* m = c.members.data() + std::size_t(j) * rows_.size();
    Count size = 0;
    for (int p = 0; p < rows_.size(); ++p) size += m[p];
    c.log_weights[j] = c.stream.log_gamma_variate(settings_.delta1 + double(size));
    sum = log_sum(sum, c.log_weights[j]);
  }
  for (int j = 0; j < c.k; ++j) c.log_weights[j] -= sum;
}

// (b) parameters: Dirichlet(delta2 + N_ij1, ..., delta2 + N_ijr)
void Sampler::draw_parameters(Chain& c) const {
  std::vector<Count> cells(rows_.n_cells());
  Count size;
  for (int j = 0; j < c.k; ++j) {
    count(c, j, &size, cells.data());
    double* theta = c.log_theta.data() + std::size_t(j) * rows_.n_cells();
    for (int i = 0; i < rows_.n_leaves(); ++i) {
      double sum = -std::numeric_limits<double>::infinity();
      for (int a = rows_.offsets[i]; a < rows_.offsets[i + 1]; ++a) {
        theta[a] = c.stream.log_gamma_variate(settings_.delta2 + double(cells[a]));
        sum = log_sum(sum, theta[a]);
      }
      for (int a = rows_.offsets[i]; a < rows_.offsets[i + 1]; ++a) theta[a] -= sum;
    }
  }
}

// (c) allocation: P(z = j) proportional to p_j f(y | theta_j), for all copies of a pattern at once
void Sampler::allocate(Chain& c) const {
  std::vector<double> chance(c.k);
  for (int p = 0; p < rows_.size(); ++p) {
    double top = -std::numeric_limits<double>::infinity(), sum = 0.0;
    for (int j = 0; j < c.k; ++j) top = std::max(top, chance[j] = c.log_weights[j] + log_density(c, j, p));
    for (int j = 0; j < c.k; ++j) sum += chance[j] = std::exp(chance[j] - top);
    Count left = rows_.weights[p];
    for (int j = 0; j < c.k; ++j) {
      Count& m = c.members[std::size_t(j) * rows_.size() + p];
      m = j + 1 == c.k ? left : left == 0 ? 0 : c.stream.binomial(left, std::min(chance[j] / sum, 1.0));
      left -= m;
      sum = 0.0;  // summed afresh: what is left of a sum may be rounding only
      for (int l = j + 1; l < c.k; ++l) sum += chance[l];
      if (sum <= 0.0 && j + 1 < c.k) {
        m += left;
        left = 0;
        sum = 1.0;
      }
    }
  }
}

double Sampler::log_likelihood(const Chain& c) const {
  double total = 0.0;
  for (int p = 0; p < rows_.size(); ++p) {
    double sum = -std::numeric_limits<double>::infinity();
    for (int j = 0; j < c.k; ++j) sum = log_sum(sum, c.log_weights[j] + log_density(c, j, p));
    total += double(rows_.weights[p]) * sum;
  }
  return total;
}

}  // namespace latentree
