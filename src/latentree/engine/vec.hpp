// W doubles handled as one. GCC and Clang get their own vector types, other compilers plain loops.
// Included once for each instruction set, whose namespace keeps what is compiled for one from being linked into
// another.
#pragma once
#include <cstring>

namespace latentree::LATENTREE_ISA {

#if defined(__GNUC__) || defined(__clang__)
template <int W>
struct RawVec;
template <>
struct RawVec<2> {
  typedef double type __attribute__((vector_size(16)));
  static type all(double a) { return type{a, a}; }
};
template <>
struct RawVec<4> {
  typedef double type __attribute__((vector_size(32)));
  static type all(double a) { return type{a, a, a, a}; }
};
template <>
struct RawVec<8> {
  typedef double type __attribute__((vector_size(64)));
  static type all(double a) { return type{a, a, a, a, a, a, a, a}; }
};

template <int W>
struct Vec {
  typename RawVec<W>::type x;
  static Vec all(double a) { return {RawVec<W>::all(a)}; }
  friend Vec operator+(Vec a, Vec b) { return {a.x + b.x}; }
  friend Vec operator-(Vec a, Vec b) { return {a.x - b.x}; }
  friend Vec operator*(Vec a, Vec b) { return {a.x * b.x}; }
  friend Vec operator/(Vec a, Vec b) { return {a.x / b.x}; }
  friend Vec max(Vec a, Vec b) { return {a.x > b.x ? a.x : b.x}; }
  friend Vec fma(Vec a, Vec b, Vec c) { return {a.x * b.x + c.x}; }
};
#else
template <int W>
struct Vec {
  double x[W];
  static Vec all(double a) {
    Vec v;
    for (int i = 0; i < W; ++i) v.x[i] = a;
    return v;
  }
#define LATENTREE_VEC_OP(op)                               \
  friend Vec operator op(Vec a, Vec b) {                   \
    for (int i = 0; i < W; ++i) a.x[i] = a.x[i] op b.x[i]; \
    return a;                                              \
  }
  LATENTREE_VEC_OP(+)
  LATENTREE_VEC_OP(-)
  LATENTREE_VEC_OP(*)
  LATENTREE_VEC_OP(/)
#undef LATENTREE_VEC_OP
  friend Vec max(Vec a, Vec b) {
    for (int i = 0; i < W; ++i) a.x[i] = a.x[i] > b.x[i] ? a.x[i] : b.x[i];
    return a;
  }
  friend Vec fma(Vec a, Vec b, Vec c) {
    for (int i = 0; i < W; ++i) a.x[i] = a.x[i] * b.x[i] + c.x[i];
    return a;
  }
};
#endif

template <int W>
inline Vec<W> load(const double* p) {
  Vec<W> v;
  std::memcpy(&v, p, sizeof v);
  return v;
}

template <int W>
inline void store(double* p, Vec<W> v) {
  std::memcpy(p, &v, sizeof v);
}

template <int W>
inline double sum_lanes(Vec<W> v) {
  if constexpr (W == 2) {
    return v.x[0] + v.x[1];
  } else {
    Vec<W / 2> half[2];
    std::memcpy(half, &v, sizeof v);
    return sum_lanes(half[0] + half[1]);
  }
}

template <int W>
inline double largest(Vec<W> v) {
  double m = v.x[0];
  for (int i = 1; i < W; ++i) m = v.x[i] > m ? v.x[i] : m;
  return m;
}

}  // namespace latentree::LATENTREE_ISA
