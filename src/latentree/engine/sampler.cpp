#include "sampler.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace latentree {

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

Sampler::Sampler(Patterns patterns, Settings settings) : rows_(std::move(patterns)), settings_(std::move(settings)) {
  const double d1 = settings_.delta1, d2 = settings_.delta2, seen = settings_.informed;
  for (int p = 0, i = 0; p < rows_.size(); ++p) {
    log_row_.push_back(std::log(double(rows_.weights[p]) / double(rows_.n)));
    for (int a = rows_.begin[p]; a < rows_.begin[p + 1]; ++a) {
      for (i = 0; rows_.offsets[i + 1] <= rows_.cells[a];) ++i;
      const double r = rows_.states[i];
      log_row_[p] += log_gamma(r * d2 + seen) - log_gamma(r * d2) + log_gamma(d2) - log_gamma(d2 + seen);
    }
  }
  for (int t = 0; t <= kmax(); ++t) {
    double sum = -std::numeric_limits<double>::infinity();
    for (int k = 0; k <= kmax(); ++k) {
      double term = -std::numeric_limits<double>::infinity();
      if (k >= 1 && k >= t)
        term = settings_.log_prior[k - 1] + log_gamma(k + 1.0) - log_gamma(k - t + 1.0) + log_gamma(k * d1) -
               log_gamma(k * d1 + double(rows_.n));
      log_given_.push_back(term);
      sum = log_sum(sum, term);
    }
    for (int k = 0; k <= kmax(); ++k) log_given_[std::size_t(t) * (kmax() + 1) + k] -= sum;
  }
}

void Sampler::make(Chain& c, Move move) const {
  switch (move) {
    case Move::weights:
      return draw_weights(c);
    case Move::parameters:
      return draw_parameters(c);
    case Move::allocation:
      return allocate(c);
    case Move::split_combine:
      return split_or_combine(c);
    case Move::birth_death:
      return birth_or_death(c);
    case Move::n_classes:
      return draw_n_classes(c);
    case Move::marginal:
      return jump_marginal(c);
  }
}

double Sampler::log_density(const double* log_theta, int pattern) const {
  double sum = 0.0;
  for (int a = rows_.begin[pattern]; a < rows_.begin[pattern + 1]; ++a) sum += log_theta[rows_.cells[a]];
  return sum;
}

void Sampler::draw_dirichlets(Stream& stream, const std::vector<double>& alpha, double* log_theta) const {
  for (int i = 0; i < rows_.n_leaves(); ++i) {
    double sum = -std::numeric_limits<double>::infinity();
    for (int a = rows_.offsets[i]; a < rows_.offsets[i + 1]; ++a)
      sum = log_sum(sum, log_theta[a] = stream.log_gamma_variate(alpha[a]));
    for (int a = rows_.offsets[i]; a < rows_.offsets[i + 1]; ++a) log_theta[a] -= sum;
  }
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
  const int t = rows_.n_cells();
  std::vector<Count> cells(t);
  std::vector<double> alpha(t);
  Count size;
  for (int j = 0; j < c.k; ++j) {
    count(c, j, &size, cells.data());
    for (int a = 0; a < t; ++a) alpha[a] = settings_.delta2 + double(cells[a]);
    draw_dirichlets(c.stream, alpha, c.log_theta.data() + std::size_t(j) * t);
  }
}

// (c) allocation: P(z = j) proportional to p_j f(y | theta_j), for all copies of a pattern at once
void Sampler::allocate(Chain& c) const {
  std::vector<double> chance(c.k), after(c.k);  // and what the classes after each have together
  for (int p = 0; p < rows_.size(); ++p) {
    double top = -std::numeric_limits<double>::infinity(), sum = 0.0;
    for (int j = 0; j < c.k; ++j) top = std::max(top, chance[j] = c.log_weights[j] + log_density(c, j, p));
    for (int j = c.k - 1; j >= 0; --j) {
      after[j] = sum;
      sum += chance[j] = std::exp(chance[j] - top);
    }
    Count left = rows_.weights[p];
    for (int j = 0; j < c.k; ++j) {
      Count& m = c.members[std::size_t(j) * rows_.size() + p];
      m = left == 0 ? 0 : after[j] <= 0.0 ? left : c.stream.binomial(left, chance[j] / (chance[j] + after[j]));
      left -= m;
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
