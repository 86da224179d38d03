// Random numbers of our own, so that a seed means the same draws on every machine and compiler.
// bayes/stream.py is the same in Python, draw by draw.
#pragma once
#include <array>
#include <cmath>
#include <cstdint>

namespace latentree {

// ln Gamma(x) for x > 0: Stirling's series after a shift. (std::lgamma writes a global variable: not for threads.)
inline double log_gamma(double x) {
  double shift = 0.0;
  if (x < 10.0) {
    double product = 1.0;
    for (; x < 10.0; x += 1.0) product *= x;
    shift = std::log(product);
  }
  const double y = 1.0 / (x * x);
  const double series =
      (1.0 / 12 - y * (1.0 / 360 - y * (1.0 / 1260 - y * (1.0 / 1680 - y * (1.0 / 1188 - y * (691.0 / 360360)))))) / x;
  return (x - 0.5) * std::log(x) - x + 0.91893853320467274178 + series - shift;
}

// xoshiro256++ (Blackman & Vigna 2019) and what is drawn from it.
class Stream {
 public:
  using State = std::array<std::uint64_t, 4>;
  explicit Stream(const State& s) : s_(s) {}
  const State& state() const { return s_; }

  std::uint64_t next() {
    const std::uint64_t result = rotated(s_[0] + s_[3], 23) + s_[0], t = s_[1] << 17;
    s_[2] ^= s_[0];
    s_[3] ^= s_[1];
    s_[1] ^= s_[2];
    s_[0] ^= s_[3];
    s_[2] ^= t;
    s_[3] = rotated(s_[3], 45);
    return result;
  }

  double uniform() { return (static_cast<double>(next() >> 11) + 0.5) * 0x1p-53; }  // never 0 or 1

  std::int64_t below(std::int64_t n) {  // 0 ... n-1; exact enough for n far below 2^53
    const auto x = static_cast<std::int64_t>(uniform() * static_cast<double>(n));
    return x < n ? x : n - 1;
  }

  double normal() {
    const double r = std::sqrt(-2.0 * std::log(uniform()));
    return r * std::cos(6.28318530717958647693 * uniform());
  }

  // Logarithm of a Gamma(shape) variate (Marsaglia & Tsang 2000): small shapes do not underflow.
  double log_gamma_variate(double shape) {
    if (shape < 1.0) {
      const double boost = std::log(uniform()) / shape;
      return log_gamma_variate(shape + 1.0) + boost;
    }
    const double d = shape - 1.0 / 3.0, c = 1.0 / std::sqrt(9.0 * d);
    for (;;) {
      const double x = normal(), t = 1.0 + c * x;
      if (t <= 0.0) continue;
      const double v = t * t * t;
      if (std::log(uniform()) < 0.5 * x * x + d - d * v + d * std::log(v)) return std::log(d) + std::log(v);
    }
  }

  double beta(double a, double b) {
    const double x = log_gamma_variate(a), y = log_gamma_variate(b);
    return 1.0 / (1.0 + std::exp(y - x));
  }

  // Halves n by the median order statistic of n uniforms until counting up is cheap.
  std::int64_t binomial(std::int64_t n, double p) {
    std::int64_t sum = 0;
    while (n > 64 && static_cast<double>(n) * (p < 0.5 ? p : 1.0 - p) > 30.0) {
      const std::int64_t i = 1 + n / 2;
      const double x = beta(static_cast<double>(i), static_cast<double>(n + 1 - i));
      if (x <= p) {
        sum += i;
        n -= i;
        p = (p - x) / (1.0 - x);
      } else {
        n = i - 1;
        p = p / x;
      }
    }
    return sum + counted_up(n, p);
  }

 private:
  static std::uint64_t rotated(std::uint64_t x, int by) { return (x << by) | (x >> (64 - by)); }

  std::int64_t counted_up(std::int64_t n, double p) {
    if (n == 0 || p <= 0.0) return 0;
    if (p >= 1.0) return n;
    if (n == 1) return uniform() < p;
    if (p > 0.5) return n - counted_up(n, 1.0 - p);
    const double odds = p / (1.0 - p);
    double left = uniform(), at = std::exp(double(n) * std::log1p(-p));
    for (std::int64_t x = 0; x < n; ++x) {
      left -= at;
      if (left <= 0.0) return x;
      at *= odds * double(n - x) / double(x + 1);
    }
    return n;
  }

  State s_;
};

}  // namespace latentree
