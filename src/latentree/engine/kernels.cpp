// The arithmetic. This file is compiled once for each instruction set, into a namespace of its own.
#include "kernels.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <mutex>

#include "vec.hpp"

#ifndef LATENTREE_ISA
#define LATENTREE_ISA baseline
#define LATENTREE_WIDTH 2
#endif

namespace latentree::LATENTREE_ISA {
namespace {

constexpr int kWidth = LATENTREE_WIDTH;
constexpr int kBlock = 32;             // top rows handled together
constexpr double kTiny = std::numeric_limits<double>::min();
constexpr double kRefuse = 1e-200;     // rows with a smaller probability are redone in logarithms
constexpr double kLost = 1e-300;       // what an entry may lose when a product underflows
constexpr double kLostShare = 1e-20;   // and the share of a row's probability this may be
constexpr double kLn2 = 0.693147180559945309417;

// ---- logarithm of positive normal numbers, in a form that compilers vectorise ---------------------
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
  const double t2 = z * (6.666666666666735130e-01 +
                         w * (2.857142874366239149e-01 + w * (1.818357216161805012e-01 + w * 1.479819860511658591e-01)));
  const double half = 0.5 * f * f;
  return k * 6.93147180369123816490e-01 + (f - (half - (s * (half + t1 + t2) + k * 1.90821492927058770002e-10)));
}

// ---- layout ---------------------------------------------------------------------------------------
// Vector width for a node with k states when the states fill the lanes.
int width_for(Index k) {
  int w = 2;
  while (w < k && w < kWidth) w *= 2;
  return w;
}

std::size_t stride_for(Index k, int lanes) {
  if (lanes > 1) return std::size_t(k) * lanes;
  const std::size_t w = width_for(k);
  return (k + w - 1) / w * w;
}

// Calls f<W, NV, Batch>() with NV vectors a row, NV known at compile time where that pays (0: not known).
template <class F>
void dispatch(Index k, int lanes, F&& f) {
  auto with = [&]<int W>() {
    if (lanes > 1) {
      switch (k) {
        case 2: return f.template operator()<W, 2, true>();
        case 3: return f.template operator()<W, 3, true>();
        case 4: return f.template operator()<W, 4, true>();
        default: return f.template operator()<W, 0, true>();
      }
    }
    switch ((k + W - 1) / W) {
      case 1: return f.template operator()<W, 1, false>();
      case 2: return f.template operator()<W, 2, false>();
      case 3: return f.template operator()<W, 3, false>();
      default: return f.template operator()<W, 0, false>();
    }
  };
  const int w = lanes > 1 ? lanes : width_for(k);
  if constexpr (kWidth >= 8)
    if (w == 8) return with.template operator()<8>();
  if constexpr (kWidth >= 4)
    if (w == 4) return with.template operator()<4>();
  with.template operator()<2>();
}

template <int W, bool Batch>
inline Vec<W> coefficient(const double* row, Index k) {
  if constexpr (Batch)
    return load<W>(row + std::size_t(k) * W);
  else
    return Vec<W>::all(row[k]);
}

Workspace make_workspace(const Plan& plan, int lanes) {
  Workspace work;
  work.lanes = lanes;
  auto room = [&](std::size_t n) {
    work.buffers.push_back(zeros(n));
    return work.buffers.back().get();
  };
  for (const Slot& slot : plan.slots) {
    Workspace::Table t;
    t.stride = stride_for(slot.states, lanes);
    t.value = room(t.stride * slot.rows);
    t.mass = room(t.stride * slot.rows);
    if (slot.scaled) t.scale = room(std::size_t(2) * lanes * slot.rows);
    if (slot.constant) {
      for (Index u = 0; u < slot.rows; ++u) {
        for (Index k = 0; k < slot.states; ++k)
          for (int b = 0; b < lanes; ++b)
            t.value[u * t.stride + std::size_t(k) * lanes + b] = slot.value[std::size_t(u) * slot.states + k];
        if (slot.scaled)
          for (int b = 0; b < lanes; ++b) {
            t.scale[(std::size_t(u) * 2) * lanes + b] = slot.log_scale[u];
            t.scale[(std::size_t(u) * 2 + 1) * lanes + b] = kLost;
          }
      }
    }
    work.tables.push_back(t);
  }
  // the scale of a message carried over an edge is the scale of what it was made from
  for (const Op& op : plan.ops) {
    work.edges.push_back(nullptr);
    if (op.kind != Kind::edge) continue;
    if (plan.slots[op.out].scaled) work.tables[op.out].scale = work.tables[op.in[0]].scale;
    const Slot &in = plan.slots[op.in[0]], &out = plan.slots[op.out];
    work.edges.back() = room(in.states * stride_for(out.states, lanes) + 2 * out.states * stride_for(in.states, lanes));
  }
  work.prior = room(stride_for(plan.states[plan.root], lanes));
  for (std::size_t piece = 1; piece + 1 < plan.cuts.size(); ++piece) {
    std::vector<double*> apart;
    for (std::size_t j = 0; j < plan.top.size(); ++j) {
      const Slot& slot = plan.slots[plan.top[j]];
      apart.push_back(j == 0 ? nullptr : room(stride_for(slot.states, lanes) * slot.rows));
    }
    work.piece_mass.push_back(std::move(apart));
  }
  return work;
}

// ---- leaves ---------------------------------------------------------------------------------------
struct LeafView {
  double* table;
  std::size_t stride;
  int lanes;
  Index parent_states, states;
  double& at(Index x, Index p, int b) const { return table[x * stride + std::size_t(p) * lanes + b]; }
};

LeafView leaf_view(const Pass& pass, const Op& op, bool mass) {
  const Workspace::Table& t = pass.work.tables[op.out];
  return {mass ? t.mass : t.value, t.stride, pass.work.lanes, pass.plan.slots[op.out].states, pass.plan.states[op.node]};
}

void leaf_up(const Pass& pass, const Op& op) {
  const LeafView leaf = leaf_view(pass, op, false);
  for (int b = 0; b < leaf.lanes; ++b) {
    const double* t = pass.parameters[b] + pass.plan.offset[op.node];
    for (Index p = 0; p < leaf.parent_states; ++p)
      for (Index x = 0; x < leaf.states; ++x) leaf.at(x, p, b) = t[std::size_t(p) * leaf.states + x];
    if (pass.plan.slots[op.out].rows > leaf.states)  // a missing cell says nothing
      for (Index p = 0; p < leaf.parent_states; ++p) leaf.at(leaf.states, p, b) = 1.0;
  }
}

void leaf_down(const Pass& pass, const Op& op) {
  const LeafView leaf = leaf_view(pass, op, true);
  for (int b = 0; b < leaf.lanes; ++b) {
    double* c = pass.counts[b] + pass.plan.offset[op.node];
    for (Index p = 0; p < leaf.parent_states; ++p)
      for (Index x = 0; x < leaf.states; ++x) c[std::size_t(p) * leaf.states + x] += leaf.at(x, p, b);
  }
}

// ---- products -------------------------------------------------------------------------------------
constexpr int kMostParts = 32;

struct Product {
  int parts;
  const double* in[kMostParts];
  double* mass[kMostParts];
  const Index* index;
  std::size_t stride;
  int nv;
};

Product view(const Pass& pass, const std::vector<Index>& in, const Index* index) {
  Product p;
  p.parts = static_cast<int>(in.size());
  p.index = index;
  for (int j = 0; j < p.parts; ++j) {
    const Workspace::Table& t = pass.work.tables[in[j]];
    p.in[j] = t.value;
    // the first part keeps its mass even when constant: the root's own counts are read off it
    p.mass[j] = j > 0 && pass.plan.slots[in[j]].constant ? nullptr : t.mass;
    p.stride = t.stride;
  }
  return p;
}

template <int W, int NV>
void multiply_rows(const Product& p, double* out, Index rows) {
  const int nv = NV ? NV : p.nv;
  if (p.parts == 2) {
    for (Index u = 0; u < rows; ++u) {
      const double* a = p.in[0] + p.index[2 * u] * p.stride;
      const double* b = p.in[1] + p.index[2 * u + 1] * p.stride;
      for (int j = 0; j < nv; ++j) store<W>(out + u * p.stride + j * W, load<W>(a + j * W) * load<W>(b + j * W));
    }
    return;
  }
  for (Index u = 0; u < rows; ++u) {
    const Index* index = p.index + std::size_t(u) * p.parts;
    for (int j = 0; j < nv; ++j) {
      Vec<W> v = load<W>(p.in[0] + index[0] * p.stride + j * W);
      for (int i = 1; i < p.parts; ++i) v = v * load<W>(p.in[i] + index[i] * p.stride + j * W);
      store<W>(out + u * p.stride + j * W, v);
    }
  }
}

// Brings the largest entry of a row near one. An underflow in what follows can lose at most `lost` of it.
template <int W, bool Batch>
void rescale_row(double* row, int nv, double* scale) {
  Vec<W> most = load<W>(row);
  for (int j = 1; j < nv; ++j) most = max(most, load<W>(row + j * W));
  double top[W];
  store<W>(top, most);
  if constexpr (!Batch) top[0] = largest(most);
  Vec<W> factor = Vec<W>::all(1.0);
  double by[W];
  for (int b = 0; b < (Batch ? W : 1); ++b) {
    by[b] = 1.0;
    if (top[b] > kRefuse) {
      int e;
      std::frexp(top[b], &e);
      by[b] = std::ldexp(1.0, -e);
      scale[b] += e * kLn2;
      scale[(Batch ? W : 1) + b] *= by[b];
    }
  }
  if constexpr (Batch)
    factor = load<W>(by);
  else
    factor = Vec<W>::all(by[0]);
  for (int j = 0; j < nv; ++j) store<W>(row + j * W, load<W>(row + j * W) * factor);
}

void product_up(const Pass& pass, const Op& op) {
  Product p = view(pass, op.in, op.index.data());
  const Slot& slot = pass.plan.slots[op.out];
  const Workspace::Table& out = pass.work.tables[op.out];
  const int lanes = pass.work.lanes;
  dispatch(slot.states, lanes, [&]<int W, int NV, bool Batch>() {
    p.nv = static_cast<int>(p.stride / W);
    multiply_rows<W, NV>(p, out.value, slot.rows);
    if (!slot.scaled) return;
    for (Index u = 0; u < slot.rows; ++u) {
      double* scale = out.scale + std::size_t(u) * 2 * lanes;
      std::fill_n(scale, lanes, 0.0);
      std::fill_n(scale + lanes, lanes, kLost);
      for (int i = 0; i < p.parts; ++i) {
        const double* from = pass.work.tables[op.in[i]].scale;
        if (!from) continue;
        from += std::size_t(op.index[std::size_t(u) * p.parts + i]) * 2 * lanes;
        for (int b = 0; b < lanes; ++b) {
          scale[b] += from[b];
          scale[lanes + b] = std::max(scale[lanes + b], from[lanes + b]);
        }
      }
      rescale_row<W, Batch>(out.value + u * out.stride, p.nv, scale);
    }
  });
}

void clear_masses(const Pass& pass, const std::vector<Index>& slots) {
  for (Index s : slots) {
    const Workspace::Table& t = pass.work.tables[s];
    std::memset(t.mass, 0, sizeof(double) * t.stride * pass.plan.slots[s].rows);
  }
}

// Rows come sorted by their first part: its sum stays in registers until the part's row changes.
template <int W, int NV>
class FirstPart {
 public:
  FirstPart(double* mass, std::size_t stride, int nv) : mass_(mass), stride_(stride), nv_(NV ? NV : nv) {}
  void add(Index row, const double* g, Vec<W> factor) {
    if constexpr (NV > 0) {
      if (row != current_) {
        flush();
        current_ = row;
        for (int j = 0; j < NV; ++j) sum_[j] = Vec<W>::all(0.0);
      }
      for (int j = 0; j < NV; ++j) sum_[j] = fma(load<W>(g + j * W), factor, sum_[j]);
    } else {
      double* m = mass_ + row * stride_;
      for (int j = 0; j < nv_; ++j) store<W>(m + j * W, fma(load<W>(g + j * W), factor, load<W>(m + j * W)));
    }
  }
  void flush() {
    if constexpr (NV > 0)
      if (current_ >= 0)
        for (int j = 0; j < NV; ++j) {
          double* m = mass_ + current_ * stride_ + j * W;
          store<W>(m, load<W>(m) + sum_[j]);
        }
  }

 private:
  double* mass_;
  std::size_t stride_;
  int nv_;
  Index current_ = -1;
  Vec<W> sum_[NV ? NV : 1];
};

void product_down(const Pass& pass, const Op& op) {
  Product p = view(pass, op.in, op.index.data());
  clear_masses(pass, op.in);
  const Slot& slot = pass.plan.slots[op.out];
  const double* mass = pass.work.tables[op.out].mass;
  dispatch(slot.states, pass.work.lanes, [&]<int W, int NV, bool Batch>() {
    const int nv = NV ? NV : static_cast<int>(p.stride / W);
    const Vec<W> one = Vec<W>::all(1.0);
    FirstPart<W, NV> first(p.mass[0], p.stride, nv);
    for (Index u = 0; u < slot.rows; ++u) {
      const Index* index = p.index + std::size_t(u) * p.parts;
      const double* g = mass + u * p.stride;
      first.add(index[0], g, one);
      for (int i = 1; i < p.parts; ++i) {
        if (!p.mass[i]) continue;
        double* m = p.mass[i] + index[i] * p.stride;
        for (int j = 0; j < nv; ++j) store<W>(m + j * W, load<W>(m + j * W) + load<W>(g + j * W));
      }
    }
    first.flush();
  });
}

// ---- edges ----------------------------------------------------------------------------------------
// Messages [rows][in] times the matrix [in][out]; a reversed edge out of the model's root carries its prior.
struct Edge {
  double* to_out;   // [in][out stride]
  double* to_in;    // [out][in stride]
  double* counts;   // [out][in stride]
  Index in_states, out_states;
  std::size_t in_stride, out_stride;
};

Edge edge_view(const Pass& pass, std::size_t at) {
  const Op& op = pass.plan.ops[at];
  Edge e;
  e.in_states = pass.plan.slots[op.in[0]].states;
  e.out_states = pass.plan.slots[op.out].states;
  e.in_stride = pass.work.tables[op.in[0]].stride;
  e.out_stride = pass.work.tables[op.out].stride;
  e.to_out = pass.work.edges[at];
  e.to_in = e.to_out + e.in_states * e.out_stride;
  e.counts = e.to_in + e.out_states * e.in_stride;
  return e;
}

double edge_entry(const Pass& pass, const Op& op, int lane, Index in, Index out) {
  const Plan& plan = pass.plan;
  const double* t = pass.parameters[lane] + plan.offset[op.node];
  if (!op.reversed) return t[std::size_t(out) * plan.states[op.node] + in];
  const double value = t[std::size_t(in) * plan.states[op.node] + out];
  return plan.parent[op.node] == 0 ? value * pass.parameters[lane][in] : value;  // the root's table comes first
}

void edge_up(const Pass& pass, std::size_t at) {
  const Op& op = pass.plan.ops[at];
  const Edge e = edge_view(pass, at);
  const int lanes = pass.work.lanes;
  for (int b = 0; b < lanes; ++b)
    for (Index i = 0; i < e.in_states; ++i)
      for (Index o = 0; o < e.out_states; ++o)
        e.to_in[o * e.in_stride + std::size_t(i) * lanes + b] = e.to_out[i * e.out_stride + std::size_t(o) * lanes + b] =
            edge_entry(pass, op, b, i, o);
  const double* in = pass.work.tables[op.in[0]].value;
  double* out = pass.work.tables[op.out].value;
  const Index rows = pass.plan.slots[op.out].rows;
  dispatch(e.out_states, lanes, [&]<int W, int NV, bool Batch>() {
    const int nv = NV ? NV : static_cast<int>(e.out_stride / W);
    for (Index u = 0; u < rows; ++u) {
      const double* l = in + u * e.in_stride;
      double* m = out + u * e.out_stride;
      if constexpr (NV > 0) {
        Vec<W> sum[NV];
        for (int j = 0; j < NV; ++j) sum[j] = coefficient<W, Batch>(l, 0) * load<W>(e.to_out + j * W);
        for (Index i = 1; i < e.in_states; ++i) {
          const Vec<W> c = coefficient<W, Batch>(l, i);
          for (int j = 0; j < NV; ++j) sum[j] = fma(c, load<W>(e.to_out + i * e.out_stride + j * W), sum[j]);
        }
        for (int j = 0; j < NV; ++j) store<W>(m + j * W, sum[j]);
      } else {
        for (int j = 0; j < nv; ++j) {
          Vec<W> sum = coefficient<W, Batch>(l, 0) * load<W>(e.to_out + j * W);
          for (Index i = 1; i < e.in_states; ++i)
            sum = fma(coefficient<W, Batch>(l, i), load<W>(e.to_out + i * e.out_stride + j * W), sum);
          store<W>(m + j * W, sum);
        }
      }
    }
  });
}

// Q = G / m; expected counts T * (Q'L); mass of what the message was made from (Q T) * L.
void edge_down(const Pass& pass, std::size_t at) {
  const Op& op = pass.plan.ops[at];
  const Edge e = edge_view(pass, at);
  const Plan& plan = pass.plan;
  const int lanes = pass.work.lanes;
  const Workspace::Table &in = pass.work.tables[op.in[0]], &out = pass.work.tables[op.out];
  const Index rows = plan.slots[op.out].rows;
  std::memset(e.counts, 0, sizeof(double) * e.out_states * e.in_stride);
  constexpr Index kRows = 8;  // rows whose outer products are summed before the counts are touched
  dispatch(e.in_states, lanes, [&]<int W, int NV, bool Batch>() {
    const int nv = NV ? NV : static_cast<int>(e.in_stride / W);
    for (Index u0 = 0; u0 < rows; u0 += kRows) {
      const Index n = std::min(kRows, rows - u0);
      double* q = out.mass + u0 * e.out_stride;
      const double* m = out.value + u0 * e.out_stride;
      for (std::size_t i = 0; i < n * e.out_stride; ++i) q[i] /= m[i] + kTiny;  // 0 / 0 counts as 0
      for (Index r = 0; r < n; ++r) {
        const double* l = in.value + (u0 + r) * e.in_stride;
        double* g = in.mass + (u0 + r) * e.in_stride;
        const double* qr = q + r * e.out_stride;
        for (int j = 0; j < nv; ++j) {
          Vec<W> sum = coefficient<W, Batch>(qr, 0) * load<W>(e.to_in + j * W);
          for (Index o = 1; o < e.out_states; ++o)
            sum = fma(coefficient<W, Batch>(qr, o), load<W>(e.to_in + o * e.in_stride + j * W), sum);
          store<W>(g + j * W, sum * load<W>(l + j * W));
        }
      }
      for (Index o = 0; o < e.out_states; ++o)
        for (int j = 0; j < nv; ++j) {
          double* c = e.counts + o * e.in_stride + j * W;
          Vec<W> sum = load<W>(c);
          for (Index r = 0; r < n; ++r)
            sum = fma(coefficient<W, Batch>(q + r * e.out_stride, o), load<W>(in.value + (u0 + r) * e.in_stride + j * W), sum);
          store<W>(c, sum);
        }
    }
  });
  for (int b = 0; b < lanes; ++b) {
    double* c = pass.counts[b] + plan.offset[op.node];
    for (Index o = 0; o < e.out_states; ++o)
      for (Index i = 0; i < e.in_states; ++i) {
        const std::size_t k = o * e.in_stride + std::size_t(i) * lanes + b;
        const double n = e.counts[k] * e.to_in[k];
        if (!op.reversed) {
          c[std::size_t(o) * plan.states[op.node] + i] += n;
        } else {
          c[std::size_t(i) * plan.states[op.node] + o] += n;
          if (plan.parent[op.node] == 0) pass.counts[b][i] += n;
        }
      }
  }
}

// ---- the top --------------------------------------------------------------------------------------
struct TopResult {
  double log_likelihood[kWidth > 1 ? kWidth : 2] = {};
  std::vector<std::pair<Index, int>> refused;
};

template <int W, int NV, bool Batch>
void top_rows(const Pass& pass, Product& p, Index begin, Index end, TopResult& result) {
  const Plan& plan = pass.plan;
  constexpr int kSums = Batch ? W : 1;  // numbers per row
  const int nv = NV ? NV : p.nv;
  const bool down = pass.counts != nullptr;
  std::vector<double> heap(NV ? 0 : kBlock * p.stride);
  alignas(64) double local[NV ? kBlock * NV * W : 1];
  alignas(64) double total[kBlock * kSums], logs[kBlock * kSums], scale[kBlock * kSums], lost[kBlock * kSums], w[kBlock];
  double* const rows = NV ? local : heap.data();
  alignas(64) double loglik[kBlock * kSums] = {};
  std::vector<const double*> scales;
  std::vector<int> scaled;
  for (int i = 0; i < p.parts; ++i)
    if (const double* s = pass.work.tables[plan.top[i]].scale) scaled.push_back(i), scales.push_back(s);
  Vec<W> prior[NV ? NV : 1];
  if constexpr (NV > 0)
    for (int j = 0; j < NV; ++j) prior[j] = load<W>(pass.work.prior + j * W);
  FirstPart<W, NV> first(p.mass[0], p.stride, nv);

  for (Index r0 = begin; r0 < end; r0 += kBlock) {
    const int n = static_cast<int>(std::min<Index>(kBlock, end - r0));
    for (int r = 0; r < n; ++r) {
      const Index* index = p.index + std::size_t(r0 + r) * p.parts;
      double* v = rows + r * p.stride;
      Vec<W> sum = Vec<W>::all(0.0);
      if constexpr (NV > 0) {
        Vec<W> x[NV];
        const double* a = p.in[0] + index[0] * p.stride;
        for (int j = 0; j < NV; ++j) x[j] = prior[j] * load<W>(a + j * W);
        for (int i = 1; i < p.parts; ++i) {
          const double* b = p.in[i] + index[i] * p.stride;
          for (int j = 0; j < NV; ++j) x[j] = x[j] * load<W>(b + j * W);
        }
        for (int j = 0; j < NV; ++j) {
          store<W>(v + j * W, x[j]);
          sum = sum + x[j];
        }
      } else {
        for (int j = 0; j < nv; ++j) {
          Vec<W> x = load<W>(pass.work.prior + j * W);
          for (int i = 0; i < p.parts; ++i) x = x * load<W>(p.in[i] + index[i] * p.stride + j * W);
          store<W>(v + j * W, x);
          sum = sum + x;
        }
      }
      if constexpr (Batch)
        store<W>(total + r * W, sum);
      else
        total[r] = latentree::sum(sum);
    }
    for (int r = 0; r < n; ++r) w[r] = plan.weights[r0 + r];
    bool fine = true;
    if (scaled.empty()) {
      for (int i = 0; i < n * kSums; ++i) fine &= total[i] >= kRefuse;
    } else {
      std::fill_n(scale, n * kSums, 0.0);
      std::fill_n(lost, n * kSums, kLost);
      for (std::size_t s = 0; s < scaled.size(); ++s)
        for (int r = 0; r < n; ++r) {
          const double* from = scales[s] + std::size_t(p.index[std::size_t(r0 + r) * p.parts + scaled[s]]) * 2 * kSums;
          for (int b = 0; b < kSums; ++b) {
            scale[r * kSums + b] += from[b];
            lost[r * kSums + b] = std::max(lost[r * kSums + b], from[kSums + b]);
          }
        }
      for (int i = 0; i < n * kSums; ++i) fine &= total[i] >= kRefuse && lost[i] <= kLostShare * total[i];
    }
    if (!fine) {
      for (int i = 0; i < n * kSums; ++i) {
        const bool kept = total[i] >= kRefuse && (scaled.empty() || lost[i] <= kLostShare * total[i]);
        if (kept) continue;
        result.refused.push_back({r0 + i / kSums, i % kSums});
        total[i] = 1.0;  // no likelihood and no mass from here
        if (!scaled.empty()) scale[i] = 0.0;
        double* v = rows + (i / kSums) * p.stride;
        for (std::size_t k = Batch ? i % kSums : 0; k < p.stride; k += Batch ? W : 1) v[k] = 0.0;
      }
    }
    for (int i = 0; i < n * kSums; ++i) logs[i] = log_of(total[i]);
    if (!scaled.empty())
      for (int i = 0; i < n * kSums; ++i) logs[i] += scale[i];
    if constexpr (Batch) {
      Vec<W> sum = load<W>(loglik);
      for (int r = 0; r < n; ++r) sum = fma(Vec<W>::all(w[r]), load<W>(logs + r * W), sum);
      store<W>(loglik, sum);
    } else {
      for (int r = 0; r < n; ++r) loglik[r] += w[r] * logs[r];
    }
    if (pass.row_log_likelihood) std::copy_n(logs, n, pass.row_log_likelihood + r0);
    if (!down) continue;
    if constexpr (Batch)
      for (int r = 0; r < n; ++r)
        for (int b = 0; b < W; ++b) total[r * W + b] = w[r] / total[r * W + b];
    else
      for (int r = 0; r < n; ++r) total[r] = w[r] / total[r];
    for (int r = 0; r < n; ++r) {
      const Index* index = p.index + std::size_t(r0 + r) * p.parts;
      const double* v = rows + r * p.stride;
      const Vec<W> factor = coefficient<W, Batch>(total, r);
      first.add(index[0], v, factor);
      for (int i = 1; i < p.parts; ++i) {
        if (!p.mass[i]) continue;
        double* m = p.mass[i] + index[i] * p.stride;
        for (int j = 0; j < nv; ++j) store<W>(m + j * W, fma(load<W>(v + j * W), factor, load<W>(m + j * W)));
      }
    }
  }
  if (down) first.flush();
  for (int i = 0; i < (Batch ? W : kBlock); ++i) result.log_likelihood[Batch ? i : 0] += loglik[i];
}

void top(const Pass& pass) {
  const Plan& plan = pass.plan;
  const int lanes = pass.work.lanes;
  const Index k = plan.states[plan.root];
  const std::size_t stride = stride_for(k, lanes);
  for (int b = 0; b < lanes; ++b)
    for (Index i = 0; i < k; ++i)
      pass.work.prior[std::size_t(i) * lanes + b] = plan.root == 0 ? pass.parameters[b][i] : 1.0;
  if (pass.counts) clear_masses(pass, plan.top);
  const Index pieces = static_cast<Index>(plan.cuts.size()) - 1;
  std::vector<TopResult> results(pieces);
  pass.parallel(pieces, [&](Index piece) {
    Product p = view(pass, plan.top, plan.top_index.data());
    if (piece > 0 && pass.counts)
      for (int i = 1; i < p.parts; ++i)
        if (p.mass[i]) {
          p.mass[i] = pass.work.piece_mass[piece - 1][i];
          std::memset(p.mass[i], 0, sizeof(double) * stride * plan.slots[plan.top[i]].rows);
        }
    dispatch(k, lanes, [&]<int W, int NV, bool Batch>() {
      p.nv = static_cast<int>(p.stride / W);
      top_rows<W, NV, Batch>(pass, p, plan.cuts[piece], plan.cuts[piece + 1], results[piece]);
    });
  });
  std::fill_n(pass.log_likelihood, lanes, 0.0);
  for (Index piece = 0; piece < pieces; ++piece) {
    for (int b = 0; b < lanes; ++b) pass.log_likelihood[b] += results[piece].log_likelihood[b];
    pass.refused->insert(pass.refused->end(), results[piece].refused.begin(), results[piece].refused.end());
    if (piece == 0 || !pass.counts) continue;
    for (std::size_t i = 1; i < plan.top.size(); ++i) {
      const Slot& slot = plan.slots[plan.top[i]];
      if (slot.constant) continue;
      double* mass = pass.work.tables[plan.top[i]].mass;
      const double* apart = pass.work.piece_mass[piece - 1][i];
      for (std::size_t j = 0; j < stride * slot.rows; ++j) mass[j] += apart[j];
    }
  }
  if (pass.counts && plan.root == 0) {  // the root's own counts: all the mass of any one part
    const double* mass = pass.work.tables[plan.top[0]].mass;
    for (Index u = 0; u < plan.slots[plan.top[0]].rows; ++u)
      for (Index i = 0; i < k; ++i)
        for (int b = 0; b < lanes; ++b) pass.counts[b][i] += mass[u * stride + std::size_t(i) * lanes + b];
  }
}

void run(const Pass& pass) {
  const std::vector<Op>& ops = pass.plan.ops;
  for (std::size_t at = 0; at < ops.size(); ++at) switch (ops[at].kind) {
      case Kind::leaf: leaf_up(pass, ops[at]); break;
      case Kind::product: product_up(pass, ops[at]); break;
      case Kind::edge: edge_up(pass, at); break;
    }
  top(pass);
  if (!pass.counts) return;
  for (std::size_t at = ops.size(); at-- > 0;) switch (ops[at].kind) {
      case Kind::leaf: leaf_down(pass, ops[at]); break;
      case Kind::product: product_down(pass, ops[at]); break;
      case Kind::edge: edge_down(pass, at); break;
    }
}

}  // namespace

#define LATENTREE_TEXT(x) LATENTREE_TEXT_(x)
#define LATENTREE_TEXT_(x) #x
extern const Kernels table;
const Kernels table = {LATENTREE_TEXT(LATENTREE_ISA), kWidth, make_workspace, run};

}  // namespace latentree::LATENTREE_ISA
