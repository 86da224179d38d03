// Picks the kernels for this machine; memory for workspaces.
#include <atomic>
#include <cstring>
#include <new>
#include <stdexcept>
#include <string>

#include "kernels.hpp"

namespace latentree {

namespace baseline {
extern const Kernels table;
}
#ifdef LATENTREE_X86
namespace avx2 {
extern const Kernels table;
}
namespace avx512 {
extern const Kernels table;
}
#endif

namespace {

#ifdef LATENTREE_X86
#ifdef _MSC_VER
bool has_avx2() { return false; }
bool has_avx512() { return false; }
#else
bool has_avx2() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }
bool has_avx512() {
  return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vl");
}
#endif
#endif

std::vector<const Kernels*> usable() {
  std::vector<const Kernels*> out{&baseline::table};
#ifdef LATENTREE_X86
  if (has_avx2()) out.push_back(&avx2::table);
  if (has_avx512()) out.push_back(&avx512::table);
#endif
  return out;
}

std::atomic<const Kernels*> chosen{nullptr};

}  // namespace

std::vector<const char*> available_kernels() {
  std::vector<const char*> names;
  for (const Kernels* k : usable()) names.push_back(k->name);
  return names;
}

void use_kernels(const char* name) {
  for (const Kernels* k : usable())
    if (std::strcmp(k->name, name) == 0) {
      chosen = k;
      return;
    }
  throw std::invalid_argument(std::string("no kernels called '") + name + "' on this machine");
}

const Kernels& kernels() {
  const Kernels* k = chosen;
  if (!k) {
    k = usable().back();
    chosen = k;
  }
  return *k;
}

void serial(Index n, const std::function<void(Index)>& task) {
  for (Index i = 0; i < n; ++i) task(i);
}

Workspace::Workspace() = default;
Workspace::~Workspace() = default;
Workspace::Workspace(Workspace&&) noexcept = default;
Workspace& Workspace::operator=(Workspace&&) noexcept = default;

void AlignedFree::operator()(double* p) const { ::operator delete[](p, std::align_val_t(64)); }

Buffer zeros(std::size_t n) {
  const std::size_t bytes = sizeof(double) * (n ? n : 1);
  double* p = static_cast<double*>(::operator new[](bytes, std::align_val_t(64)));
  std::memset(p, 0, bytes);
  return Buffer(p);
}

}  // namespace latentree
