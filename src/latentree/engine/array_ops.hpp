// Plain loops over arrays, for the callers that need no plan. Included once for each instruction set, whose namespace
// keeps what is compiled for one from being linked into another.
#pragma once
#include <cstddef>

#include "elementary.hpp"
#include "plan.hpp"
#include "precision.hpp"
#include "vec.hpp"

namespace latentree::LATENTREE_ISA {
namespace {

constexpr int kWidth = LATENTREE_WIDTH;

void log_all(const double* x, double* out, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) out[i] = log_of(x[i]);
}

void exp_all(const double* x, double* out, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) out[i] = exp_of(x[i]);
}

double dot(const double* a, const double* b, std::size_t n) {
  constexpr std::size_t kStep = 4 * kWidth;
  Vec<kWidth> sums[4];
  for (auto& s : sums) s = Vec<kWidth>::all(0.0);
  std::size_t i = 0;
  for (; i + kStep <= n; i += kStep)
    for (int j = 0; j < 4; ++j)
      sums[j] = fma(load<kWidth>(a + i + j * kWidth), load<kWidth>(b + i + j * kWidth), sums[j]);
  double total = sum_lanes((sums[0] + sums[1]) + (sums[2] + sums[3]));
  for (; i < n; ++i) total += a[i] * b[i];
  return total;
}

// out[i] = sum over s of given[s] * rows[s][i]
void mix(const double* given, const double* rows, std::size_t stride, Index states, std::size_t n, double* out) {
  for (std::size_t i = 0; i < n; ++i) out[i] = given[0] * rows[i];
  for (Index s = 1; s < states; ++s)
    for (std::size_t i = 0; i < n; ++i) out[i] += given[s] * rows[s * stride + i];
}

// out[i] = mean over s of factor[s][i], weighed with given[s] * rows[s][i]
void mix_factors(const double* given, const double* rows, std::size_t stride, const double* factor,
                 std::size_t factor_stride, Index states, std::size_t n, double* out) {
  constexpr std::size_t kPiece = 64;
  for (std::size_t first = 0; first < n; first += kPiece) {
    const std::size_t m = n - first < kPiece ? n - first : kPiece;
    double sum[kPiece] = {}, weighed[kPiece] = {};
    for (Index s = 0; s < states; ++s) {
      const double* r = rows + s * stride + first;
      const double* f = factor + s * factor_stride + first;
      for (std::size_t i = 0; i < m; ++i) {
        const double w = given[s] * r[i];
        sum[i] += w;
        weighed[i] += w * f[i];
      }
    }
    for (std::size_t i = 0; i < m; ++i) out[first + i] = weighed[i] / (sum[i] + kUnderflow);
  }
}

// sum of weights[i] * log(over[i] / under[i])
double weigh_logs(const double* weights, const double* over, const double* under, std::size_t n) {
  constexpr std::size_t kPiece = 64;
  double total = 0.0;
  for (std::size_t first = 0; first < n; first += kPiece) {
    const std::size_t m = n - first < kPiece ? n - first : kPiece;
    double logs[kPiece];
    for (std::size_t i = 0; i < m; ++i)
      logs[i] = log_of((over[first + i] + kUnderflow) / (under[first + i] + kUnderflow));
    total += dot(weights + first, logs, m);
  }
  return total;
}

// q[s][i] = p[s][i] * factor[s][i], divided by their sum over s
void believe(const double* p, std::size_t stride, const double* factor, std::size_t factor_stride, Index states,
             std::size_t n, double* q, std::size_t q_stride) {
  constexpr std::size_t kPiece = 64;
  for (std::size_t first = 0; first < n; first += kPiece) {
    const std::size_t m = n - first < kPiece ? n - first : kPiece;
    double sum[kPiece] = {};
    for (Index s = 0; s < states; ++s) {
      const double *a = p + s * stride + first, *b = factor + s * factor_stride + first;
      double* out = q + s * q_stride + first;
      for (std::size_t i = 0; i < m; ++i) sum[i] += out[i] = a[i] * b[i];
    }
    for (std::size_t i = 0; i < m; ++i) sum[i] = 1.0 / (sum[i] + kUnderflow);
    for (Index s = 0; s < states; ++s)
      for (std::size_t i = 0; i < m; ++i) q[s * q_stride + first + i] *= sum[i];
  }
}

// The rows in which a node with beliefs q sees another through `given` [states][seen]: the log-likelihood; and its
// slope by each entry of `given` is added to.
double slopes(const double* q, std::size_t q_stride, Index states, const double* given, const double* rows,
              std::size_t stride, Index seen, const double* weights, std::size_t n, double* slope) {
  constexpr std::size_t kPiece = 64;
  double total = 0.0;
  for (std::size_t first = 0; first < n; first += kPiece) {
    const std::size_t m = n - first < kPiece ? n - first : kPiece;
    double own[kPiece] = {}, part[kPiece];
    for (Index s = 0; s < states; ++s) {
      mix(given + std::size_t(s) * seen, rows + first, stride, seen, m, part);
      const double* b = q + s * q_stride + first;
      for (std::size_t i = 0; i < m; ++i) own[i] += b[i] * part[i];
    }
    for (std::size_t i = 0; i < m; ++i) part[i] = log_of(own[i] += kUnderflow);
    total += dot(weights + first, part, m);
    for (std::size_t i = 0; i < m; ++i) own[i] = weights[first + i] / own[i];
    for (Index s = 0; s < states; ++s) {
      const double* b = q + s * q_stride + first;
      for (std::size_t i = 0; i < m; ++i) part[i] = own[i] * b[i];
      for (Index x = 0; x < seen; ++x) slope[std::size_t(s) * seen + x] += dot(part, rows + x * stride + first, m);
    }
  }
  return total;
}

// Brings the largest factor of each row to one.
void scale_rows(double* factor, std::size_t stride, Index states, std::size_t n) {
  constexpr std::size_t kPiece = 64;
  for (std::size_t first = 0; first < n; first += kPiece) {
    const std::size_t m = n - first < kPiece ? n - first : kPiece;
    double most[kPiece];
    for (std::size_t i = 0; i < m; ++i) most[i] = kUnderflow;
    for (Index s = 0; s < states; ++s) {
      const double* f = factor + s * stride + first;
      for (std::size_t i = 0; i < m; ++i) most[i] = most[i] > f[i] ? most[i] : f[i];
    }
    for (std::size_t i = 0; i < m; ++i) most[i] = 1.0 / most[i];
    for (Index s = 0; s < states; ++s)
      for (std::size_t i = 0; i < m; ++i) factor[s * stride + first + i] *= most[i];
  }
}

}  // namespace
}  // namespace latentree::LATENTREE_ISA
