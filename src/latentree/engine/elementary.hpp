// Logarithm and exponential in forms that compilers vectorise. Included once for each instruction set, whose namespace
// keeps what is compiled for one from being linked into another.
#pragma once
#include <cstdint>
#include <cstring>
#include <initializer_list>

namespace latentree::LATENTREE_ISA {

// Logarithm of a positive normal number (coefficients of Sun Microsystems' fdlibm, e_log.c):
// x = 2^k m with m in [sqrt(1/2), sqrt(2)); log m by the usual series in s = f / (2 + f), f = m - 1.
inline double log_of(double x) {
  std::uint64_t bits;
  std::memcpy(&bits, &x, 8);
  bits += 0x3ff0000000000000ull - 0x3fe6a09e667f3bcdull;
  const std::uint64_t exponent = (bits >> 52) | 0x4330000000000000ull;  // 2^52 + biased exponent
  double k;
  std::memcpy(&k, &exponent, 8);
  k -= 4503599627370496.0 + 1023.0;
  bits = (bits & 0x000fffffffffffffull) + 0x3fe6a09e667f3bcdull;
  double m;
  std::memcpy(&m, &bits, 8);
  const double f = m - 1.0, s = f / (2.0 + f), z = s * s, w = z * z;
  const double t1 = w * (3.999999999940941908e-01 + w * (2.222219843214978396e-01 + w * 1.531383769920937332e-01));
  const double t2 =
      z * (6.666666666666735130e-01 +
           w * (2.857142874366239149e-01 + w * (1.818357216161805012e-01 + w * 1.479819860511658591e-01)));
  const double half = 0.5 * f * f;
  return k * 6.93147180369123816490e-01 + (f - (half - (s * (half + t1 + t2) + k * 1.90821492927058770002e-10)));
}

// exp(x) = 2^n exp(r), r = x - n ln 2 in [-0.35, 0.35], by its power series.
inline double exp_of(double x) {
  const double shifted =
      x * 1.44269504088896340736 + 6755399441055744.0;  // adding 1.5 x 2^52 rounds to the nearest whole
  const double n = shifted - 6755399441055744.0;
  const double r = (x - n * 6.93147180369123816490e-01) - n * 1.90821492927058770002e-10;
  double p = 1.0 / 6227020800.0;
  for (const double c : {1.0 / 479001600.0, 1.0 / 39916800.0, 1.0 / 3628800.0, 1.0 / 362880.0, 1.0 / 40320.0,
                         1.0 / 5040.0, 1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0})
    p = p * r + c;
  std::uint64_t bits;
  std::memcpy(&bits, &shifted, 8);
  bits = ((bits + 1023) & 0x7ff) << 52;  // the low bits of `shifted` are n
  double scale;
  std::memcpy(&scale, &bits, 8);
  return p * scale;
}

}  // namespace latentree::LATENTREE_ISA
