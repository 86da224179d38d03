// Newton's method in the span of the last few EM steps.
//
// Let x be the logarithms of the parameters and f(x) the EM step less x. In the metric W of the expected counts (the
// information of the completed data) the Jacobian of f is, near a fixed point, minus a symmetric matrix: the share mu
// of the information that the data hold on each direction. Differences X of points and F of residuals show it in the
// span of X, H = -X'W F; its eigenpairs (mu, q) with respect to X'W X tell how far EM still has to go along q: f's part
// along q is stretched by 1 / |mu|. The modulus turns steps that would lead to a saddle away from it.
//   Multisecant (type I Anderson) methods: Fang & Saad, Numer. Linear Algebra Appl. 16 (2009) 197-221.
//   |mu| at saddles: Dauphin et al., NeurIPS 27 (2014).
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "engine.hpp"

namespace latentree {
namespace {

constexpr double kSmallest = 1e-290;  // smaller entries, and those that an EM step makes so, just follow EM
constexpr double kDependent = 1e-9;   // directions with a smaller share of the largest are noise
constexpr double kFurthest =
    23.0;  // how far below EM's step, in logarithms, an entry may be sent: from near 0 EM hardly returns
constexpr double kLowest = -690.0, kHighest = 50.0;  // logarithms that stay representable

// Eigenvalues (ascending) and vectors (columns of v) of a small symmetric matrix, by Jacobi's rotations.
void eigen(std::vector<double> a, std::size_t n, std::vector<double>& values, std::vector<double>& v) {
  v.assign(n * n, 0.0);
  for (std::size_t i = 0; i < n; ++i) v[i * n + i] = 1.0;
  for (int sweep = 0; sweep < 30; ++sweep) {
    double off = 0.0, on = 0.0;
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j) (i == j ? on : off) += a[i * n + j] * a[i * n + j];
    if (off <= 1e-30 * on) break;
    for (std::size_t p = 0; p < n; ++p)
      for (std::size_t q = p + 1; q < n; ++q) {
        if (a[p * n + q] == 0.0) continue;
        const double theta = (a[q * n + q] - a[p * n + p]) / (2.0 * a[p * n + q]);
        const double t = (theta >= 0.0 ? 1.0 : -1.0) / (std::abs(theta) + std::sqrt(theta * theta + 1.0));
        const double c = 1.0 / std::sqrt(t * t + 1.0), s = t * c;
        for (std::size_t k = 0; k < n; ++k) {
          const double x = a[k * n + p], y = a[k * n + q];
          a[k * n + p] = c * x - s * y;
          a[k * n + q] = s * x + c * y;
        }
        for (std::size_t k = 0; k < n; ++k) {
          const double x = a[p * n + k], y = a[q * n + k];
          a[p * n + k] = c * x - s * y;
          a[q * n + k] = s * x + c * y;
        }
        for (std::size_t k = 0; k < n; ++k) {
          const double x = v[k * n + p], y = v[k * n + q];
          v[k * n + p] = c * x - s * y;
          v[k * n + q] = s * x + c * y;
        }
      }
  }
  values.resize(n);
  for (std::size_t i = 0; i < n; ++i) values[i] = a[i * n + i];
}

bool moves(double at, double mapped) { return at > kSmallest && mapped > kSmallest && at != mapped; }

// Gives the entries that moved what EM gives them together, row by row; the others follow EM.
void onto_simplex(const Plan& plan, const std::vector<double>& at, const std::vector<double>& mapped,
                  std::vector<double>& proposal) {
  for (std::size_t v = 0; v < plan.parent.size(); ++v) {
    const std::int64_t k = plan.states[v], rows = v == 0 ? 1 : plan.states[plan.parent[v]];
    for (std::int64_t row = plan.offset[v]; row < plan.offset[v] + rows * k; row += k) {
      double have = 0.0, may = 0.0;
      for (std::int64_t i = row; i < row + k; ++i)
        if (moves(at[i], mapped[i])) {
          have += proposal[i];
          may += mapped[i];
        } else {
          proposal[i] = mapped[i];
        }
      for (std::int64_t i = row; i < row + k; ++i)
        if (moves(at[i], mapped[i])) proposal[i] = proposal[i] / have * may;
    }
  }
}

}  // namespace

void Accelerator::forget() {
  x_.clear();
  points_.clear();
  residuals_.clear();
}

void Accelerator::append_to(std::vector<double>& state) const {
  state.insert(state.end(), {longest_, double(!x_.empty()), double(points_.size())});
  auto append = [&state](const std::vector<double>& part) { state.insert(state.end(), part.begin(), part.end()); };
  if (!x_.empty()) {
    append(x_);
    append(f_);
  }
  for (const auto& part : points_) append(part);
  for (const auto& part : residuals_) append(part);
}

const double* Accelerator::restore(const double* from, const double* end, std::size_t size) {
  auto require = [](bool holds) {
    if (!holds) throw std::invalid_argument("what a run remembers does not fit");
  };
  require(end - from >= 3);
  longest_ = from[0];
  const int known = checked_int(from[1], 1), n = checked_int(from[2], static_cast<int>(kMemory));
  from += 3;
  require((known || n == 0) && std::size_t(end - from) / std::max<std::size_t>(size, 1) >= 2 * std::size_t(known + n));
  forget();
  auto take = [&](std::vector<double>& part) {
    part.assign(from, from + size);
    from += size;
  };
  if (known) {
    take(x_);
    take(f_);
  }
  for (int i = 0; i < n; ++i) take(points_.emplace_back());
  for (int i = 0; i < n; ++i) take(residuals_.emplace_back());
  return from;
}

void Accelerator::succeeded() { longest_ = std::min(longest_ * 1.5, 1e4); }

void Accelerator::failed() {
  longest_ = std::max(longest_ / 10.0, 10.0);
  forget();
}

bool Accelerator::propose(const Plan& plan, const std::vector<double>& at, const std::vector<double>& mapped,
                          const std::vector<double>& counts, bool wanted, std::vector<double>& proposal) {
  const std::size_t d = at.size();
  const Kernels& kernel = kernels();
  std::vector<double> x(d), f(d), weight(d);
  for (std::size_t i = 0; i < d; ++i) {
    const bool m = moves(at[i], mapped[i]);
    x[i] = m ? at[i] : 1.0;
    f[i] = m ? mapped[i] : 1.0;
    weight[i] = m ? counts[i] : 0.0;
  }
  kernel.log_all(x.data(), x.data(), d);
  kernel.log_all(f.data(), f.data(), d);
  for (std::size_t i = 0; i < d; ++i) f[i] -= x[i];

  if (!x_.empty()) {
    if (points_.size() == kMemory) {
      points_.erase(points_.begin());
      residuals_.erase(residuals_.begin());
    }
    points_.emplace_back(d);
    residuals_.emplace_back(d);
    for (std::size_t i = 0; i < d; ++i) {
      points_.back()[i] = x[i] - x_[i];
      residuals_.back()[i] = f[i] - f_[i];
    }
  }
  x_ = x;
  f_ = f;
  const std::size_t m = points_.size();
  if (!wanted || m == 0) return false;

  // G = X'WX, H = -X'WF and c = X'Wf, with X scaled to unit length
  std::vector<double> g(m * m), h(m * m), c(m), unit(m), weighted(d);
  for (std::size_t i = 0; i < m; ++i) {
    for (std::size_t k = 0; k < d; ++k) weighted[k] = weight[k] * points_[i][k];
    for (std::size_t j = 0; j <= i; ++j)
      g[i * m + j] = g[j * m + i] = kernel.dot(weighted.data(), points_[j].data(), d);
    for (std::size_t j = 0; j < m; ++j) h[i * m + j] = -kernel.dot(weighted.data(), residuals_[j].data(), d);
    c[i] = kernel.dot(weighted.data(), f.data(), d);
    if (!(g[i * m + i] > 0.0)) return false;
    unit[i] = 1.0 / std::sqrt(g[i * m + i]);
  }
  for (std::size_t i = 0; i < m; ++i) {
    c[i] *= unit[i];
    for (std::size_t j = 0; j < m; ++j) {
      g[i * m + j] *= unit[i] * unit[j];
      h[i * m + j] *= unit[i] * unit[j];
    }
  }
  // b: combinations of X that are orthonormal in the metric
  std::vector<double> values, vectors;
  eigen(g, m, values, vectors);
  const double most = *std::max_element(values.begin(), values.end());
  std::vector<std::vector<double>> b;
  for (std::size_t r = 0; r < m; ++r) {
    if (!(values[r] > kDependent * most)) continue;
    std::vector<double> row(m);
    for (std::size_t i = 0; i < m; ++i) row[i] = vectors[i * m + r] / std::sqrt(values[r]);
    b.push_back(std::move(row));
  }
  const std::size_t n = b.size();
  if (n == 0) return false;
  std::vector<double> small(n * n), part(n, 0.0);
  for (std::size_t r = 0; r < n; ++r)
    for (std::size_t i = 0; i < m; ++i) {
      part[r] += b[r][i] * c[i];
      for (std::size_t q = 0; q < n; ++q)
        for (std::size_t j = 0; j < m; ++j) {
          const double e = 0.5 * b[r][i] * h[i * m + j] * b[q][j];
          small[r * n + q] += e;
          small[q * n + r] += e;
        }
    }
  eigen(small, n, values, vectors);
  std::vector<double> along(m, 0.0);  // how much of each difference to go
  for (std::size_t q = 0; q < n; ++q) {
    double component = 0.0;
    for (std::size_t r = 0; r < n; ++r) component += vectors[r * n + q] * part[r];
    const double stretch = component / std::max(std::abs(values[q]), 1.0 / longest_);
    for (std::size_t r = 0; r < n; ++r)
      for (std::size_t i = 0; i < m; ++i) along[i] += unit[i] * b[r][i] * vectors[r * n + q] * stretch;
  }
  for (std::size_t k = 0; k < d; ++k) x[k] += f[k];  // where EM would go
  std::vector<double>& y = f;
  y = x;
  for (std::size_t i = 0; i < m; ++i)
    for (std::size_t k = 0; k < d; ++k) y[k] += along[i] * (points_[i][k] + residuals_[i][k]);
  for (std::size_t k = 0; k < d; ++k) {
    if (!std::isfinite(y[k])) return false;
    y[k] = std::clamp(y[k], std::max(x[k] - kFurthest, kLowest), kHighest);
  }
  kernel.exp_all(y.data(), proposal.data(), d);
  onto_simplex(plan, at, mapped, proposal);
  return true;
}

void nudge(const Plan& plan, const Maximiser& maximiser, const std::vector<double>& at,
           const std::vector<double>& counts, std::vector<double>& out) {
  // A deterministic draw (splitmix64), as large as the data would call noise, whatever the table.
  constexpr double kSize = 0.05, kAtMost = 1.0;
  std::uint64_t state = 0x9E3779B97F4A7C15ull;
  auto uniform = [&state] {
    std::uint64_t z = (state += 0x9E3779B97F4A7C15ull);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1.0p-53;
  };
  for (std::size_t i = 0; i < at.size(); ++i) {
    const double u = (uniform() + uniform() + uniform() + uniform() - 2.0) * std::sqrt(3.0);  // mean 0, variance 1
    const double size = kSize / std::sqrt(std::max(counts[i], 1e-2));
    out[i] = at[i] * std::exp(std::clamp(u * size, -kAtMost, kAtMost));
  }
  for (std::size_t v = 0; v < plan.parent.size(); ++v) {
    const std::int64_t k = plan.states[v], rows = v == 0 ? 1 : plan.states[plan.parent[v]];
    for (std::int64_t row = plan.offset[v]; row < plan.offset[v] + rows * k; row += k) {
      double sum = 0.0;
      bool held = false;
      for (std::int64_t i = row; i < row + k; ++i) {
        sum += out[i];
        held = held || (!maximiser.held.empty() && maximiser.held[i]);
      }
      for (std::int64_t i = row; i < row + k; ++i) out[i] = held ? at[i] : out[i] / sum;
    }
  }
}

}  // namespace latentree
