// Arrays between Python and C++.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <stdexcept>
#include <vector>

namespace latentree {

namespace nb = nanobind;

template <class T, class... Shape>
using In = nb::ndarray<const T, nb::c_contig, nb::device::cpu, Shape...>;
template <class T>
using Out = nb::ndarray<nb::numpy, T>;

template <class T>
Out<T> to_numpy(std::vector<T> values, std::vector<std::size_t> shape) {
  auto* owned = new std::vector<T>(std::move(values));
  nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return Out<T>(owned->data(), shape.size(), shape.data(), owner);
}

template <class T>
Out<T> to_numpy(std::vector<T> values) {
  const std::size_t n = values.size();
  return to_numpy(std::move(values), {n});
}

template <class T, class Array>
std::vector<T> copy(const Array& a) {
  return std::vector<T>(a.data(), a.data() + a.size());
}

// What Python hands over is checked here, whatever its own layer has checked: a wrong size must not reach the kernels.
inline void require(bool holds, const char* what) {
  if (!holds) throw std::invalid_argument(what);
}

}  // namespace latentree
