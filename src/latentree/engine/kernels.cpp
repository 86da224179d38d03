// The arithmetic. This file is compiled once for each instruction set, into a namespace of its own.
#ifndef LATENTREE_ISA
#define LATENTREE_ISA baseline
#define LATENTREE_WIDTH 2
#endif

#include "kernels.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "array_ops.hpp"
#include "elementary.hpp"
#include "precision.hpp"
#include "vec.hpp"

namespace latentree::LATENTREE_ISA {
namespace {

constexpr int kBlock = 64;  // top rows handled together
constexpr double kLn2 = 0.693147180559945309417;

// ---- layout ---------------------------------------------------------------------------------------
// Vector width for a node with k states when the states fill the lanes.
int width_for(Index k) {
  if (kWidth == 8 && k > 8 && k <= 12) return 4;  // three half vectors waste less than two whole ones
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
        case 2:
          return f.template operator()<W, 2, true>();
        case 3:
          return f.template operator()<W, 3, true>();
        case 4:
          return f.template operator()<W, 4, true>();
        default:
          return f.template operator()<W, 0, true>();
      }
    }
    switch ((k + W - 1) / W) {
      case 1:
        return f.template operator()<W, 1, false>();
      case 2:
        return f.template operator()<W, 2, false>();
      case 3:
        return f.template operator()<W, 3, false>();
      default:
        return f.template operator()<W, 0, false>();
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
  std::vector<char> feeds_edge(plan.slots.size(), 0);
  for (const Op& op : plan.ops)
    if (op.kind == Kind::edge) feeds_edge[op.in[0]] = 1;
  auto room = [&](std::size_t n) {
    work.buffers.push_back(zeros(n));
    return work.buffers.back().get();
  };
  for (std::size_t s = 0; s < plan.slots.size(); ++s) {
    const Slot& slot = plan.slots[s];
    Workspace::Table t;
    if (lanes > 1 && slot.constant && feeds_edge[s]) {  // the same in every lane: kept once
      t.stride = slot.states;
      t.value = room(t.stride * slot.rows);
      std::copy(slot.value.begin(), slot.value.end(), t.value);
    } else {
      t.stride = stride_for(slot.states, lanes);
      t.value = room(t.stride * slot.rows);
      t.mass = room(t.stride * slot.rows);
    }
    if (slot.scaled) t.scale = room(std::size_t(2) * lanes * slot.rows);
    if (slot.constant) {
      for (Index u = 0; u < slot.rows; ++u) {
        for (Index k = 0; t.mass && k < slot.states; ++k)
          for (int b = 0; b < lanes; ++b)
            t.value[u * t.stride + std::size_t(k) * lanes + b] = slot.value[std::size_t(u) * slot.states + k];
        if (slot.scaled)
          for (int b = 0; b < lanes; ++b) {
            t.scale[(std::size_t(u) * 2) * lanes + b] = slot.log_scale[u];
            t.scale[(std::size_t(u) * 2 + 1) * lanes + b] = kUnderflow;
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
  return {mass ? t.mass : t.value, t.stride, pass.work.lanes, pass.plan.slots[op.out].states,
          pass.plan.states[op.node]};
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
#if defined(__GNUC__) && !defined(__clang__)
#define LATENTREE_UNROLL _Pragma("GCC unroll 4")
#elif defined(__clang__)
#define LATENTREE_UNROLL _Pragma("unroll 4")
#else
#define LATENTREE_UNROLL
#endif

struct Product {
  int parts;
  const double* in[kMaxParts];
  double* mass[kMaxParts];
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

// Stores go through memory the compiler cannot tell apart from anything else: loops work on local copies.
template <int W, int NV, int Parts>
void multiply_rows(const Product& product, double* out, Index rows) {
  const Product p = product;
  const int nv = NV ? NV : p.nv, parts = Parts ? Parts : p.parts;
  const std::size_t stride = NV ? std::size_t(NV) * W : p.stride;
  for (Index u = 0; u < rows; ++u) {
    const Index* index = p.index + std::size_t(u) * parts;
    for (int j = 0; j < nv; ++j) {
      Vec<W> v = load<W>(p.in[0] + index[0] * stride + j * W);
      for (int i = 1; i < parts; ++i) v = v * load<W>(p.in[i] + index[i] * stride + j * W);
      store<W>(out + u * stride + j * W, v);
    }
  }
}

// Adds factor(r) x row r of `from` into the mass of every part. Rows come sorted by their first part,
// so its sum stays in registers until the part's row changes.
template <int W, int NV, int Parts, class Factor>
inline void scatter_rows(const Product& product, const Index* first_index, const double* from, int n, Factor factor) {
  const Product p = product;
  const int nv = NV ? NV : p.nv, parts = Parts ? Parts : p.parts;
  const std::size_t stride = NV ? std::size_t(NV) * W : p.stride;
  constexpr int kSums = NV ? NV : 1;
  for (int r = 0; r < n;) {
    const Index* index = first_index + std::size_t(r) * parts;
    const Index row = index[0];
    double* const m0 = p.mass[0] + row * stride;
    Vec<W> sum[kSums];
    if constexpr (NV > 0)
      for (int j = 0; j < NV; ++j) sum[j] = load<W>(m0 + j * W);
    do {
      const double* v = from + r * stride;
      const Vec<W> f = factor(r);
      if constexpr (NV > 0) {
        Vec<W> x[NV];
        for (int j = 0; j < NV; ++j) {
          x[j] = load<W>(v + j * W) * f;
          sum[j] = sum[j] + x[j];
        }
        LATENTREE_UNROLL
        for (int i = 1; i < parts; ++i) {
          if (!p.mass[i]) continue;
          double* m = p.mass[i] + index[i] * stride;
          for (int j = 0; j < NV; ++j) store<W>(m + j * W, load<W>(m + j * W) + x[j]);
        }
      } else {
        for (int j = 0; j < nv; ++j) {
          const Vec<W> x = load<W>(v + j * W) * f;
          for (int i = 0; i < parts; ++i) {
            if (!p.mass[i]) continue;
            double* m = p.mass[i] + index[i] * stride + j * W;
            store<W>(m, load<W>(m) + x);
          }
        }
      }
      ++r;
      index += parts;
    } while (r < n && index[0] == row);
    if constexpr (NV > 0)
      for (int j = 0; j < NV; ++j) store<W>(m0 + j * W, sum[j]);
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
    if (p.parts == 2)
      multiply_rows<W, NV, 2>(p, out.value, slot.rows);
    else
      multiply_rows<W, NV, 0>(p, out.value, slot.rows);
    if (!slot.scaled) return;
    for (Index u = 0; u < slot.rows; ++u) {
      double* scale = out.scale + std::size_t(u) * 2 * lanes;
      std::fill_n(scale, lanes, 0.0);
      std::fill_n(scale + lanes, lanes, kUnderflow);
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

void product_down(const Pass& pass, const Op& op) {
  Product p = view(pass, op.in, op.index.data());
  clear_masses(pass, op.in);
  const Slot& slot = pass.plan.slots[op.out];
  const double* mass = pass.work.tables[op.out].mass;
  dispatch(slot.states, pass.work.lanes, [&]<int W, int NV, bool Batch>() {
    p.nv = static_cast<int>(p.stride / W);
    const auto one = [](int) { return Vec<W>::all(1.0); };
    if (p.parts == 2)
      scatter_rows<W, NV, 2>(p, p.index, mass, slot.rows, one);
    else
      scatter_rows<W, NV, 0>(p, p.index, mass, slot.rows, one);
  });
}

// ---- edges ----------------------------------------------------------------------------------------
// Messages [rows][in] times the matrix [in][out]; a reversed edge out of the model's root carries its prior.
struct Edge {
  double* to_out;  // [in][out stride]
  double* to_in;   // [out][in stride]
  double* counts;  // [out][in stride]
  Index in_states, out_states;
  std::size_t in_stride, out_stride;
  std::size_t
      in_row;  // doubles from one incoming row to the next: fewer than in_stride if they are the same in every lane
  bool once;   // they are
};

Edge edge_view(const Pass& pass, std::size_t at) {
  const Op& op = pass.plan.ops[at];
  Edge e;
  e.in_states = pass.plan.slots[op.in[0]].states;
  e.out_states = pass.plan.slots[op.out].states;
  e.in_stride = stride_for(e.in_states, pass.work.lanes);
  e.in_row = pass.work.tables[op.in[0]].stride;
  e.once = pass.work.tables[op.in[0]].mass == nullptr;
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

template <int W, int NV, bool InLanes>
void carry_over(const Edge& edge, const double* in, double* out, Index rows) {
  const Edge e = edge;
  const int nv = NV ? NV : static_cast<int>(e.out_stride / W);
  for (Index u = 0; u < rows; ++u) {
    const double* l = in + u * e.in_row;
    double* m = out + u * e.out_stride;
    if constexpr (NV > 0) {
      Vec<W> sum[NV];
      for (int j = 0; j < NV; ++j) sum[j] = coefficient<W, InLanes>(l, 0) * load<W>(e.to_out + j * W);
      for (Index i = 1; i < e.in_states; ++i) {
        const Vec<W> c = coefficient<W, InLanes>(l, i);
        for (int j = 0; j < NV; ++j) sum[j] = fma(c, load<W>(e.to_out + i * e.out_stride + j * W), sum[j]);
      }
      for (int j = 0; j < NV; ++j) store<W>(m + j * W, sum[j]);
    } else {
      for (int j = 0; j < nv; ++j) {
        Vec<W> sum = coefficient<W, InLanes>(l, 0) * load<W>(e.to_out + j * W);
        for (Index i = 1; i < e.in_states; ++i)
          sum = fma(coefficient<W, InLanes>(l, i), load<W>(e.to_out + i * e.out_stride + j * W), sum);
        store<W>(m + j * W, sum);
      }
    }
  }
}

void edge_up(const Pass& pass, std::size_t at) {
  const Op& op = pass.plan.ops[at];
  const Edge e = edge_view(pass, at);
  const int lanes = pass.work.lanes;
  for (int b = 0; b < lanes; ++b)
    for (Index i = 0; i < e.in_states; ++i)
      for (Index o = 0; o < e.out_states; ++o)
        e.to_in[o * e.in_stride + std::size_t(i) * lanes + b] =
            e.to_out[i * e.out_stride + std::size_t(o) * lanes + b] = edge_entry(pass, op, b, i, o);
  const double* in = pass.work.tables[op.in[0]].value;
  double* out = pass.work.tables[op.out].value;
  const Index rows = pass.plan.slots[op.out].rows;
  dispatch(e.out_states, lanes, [&]<int W, int NV, bool Batch>() {
    const auto carry = Batch && e.once ? carry_over<W, NV, false> : carry_over<W, NV, Batch>;
    carry(e, in, out, rows);
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
  const bool passes_on = !plan.slots[op.in[0]].constant;  // mass that flows into given evidence is dropped
  std::memset(e.counts, 0, sizeof(double) * e.out_states * e.in_stride);
  constexpr Index kRows = 8;  // rows whose outer products are summed before the counts are touched
  dispatch(e.in_states, lanes, [&]<int W, int NV, bool Batch>() {
    const int nv = NV ? NV : static_cast<int>(e.in_stride / W);
    for (Index u0 = 0; u0 < rows; u0 += kRows) {
      const Index n = std::min(kRows, rows - u0);
      double* q = out.mass + u0 * e.out_stride;
      const double* m = out.value + u0 * e.out_stride;
      for (std::size_t i = 0; i < n * e.out_stride; ++i) q[i] /= m[i] + kTiny;  // 0 / 0 counts as 0
      for (Index r = 0; r < n && passes_on; ++r) {
        const double* l = in.value + (u0 + r) * e.in_row;
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
          for (Index r = 0; r < n; ++r) {
            const double* l = in.value + (u0 + r) * e.in_row;
            const Vec<W> row = Batch && e.once ? Vec<W>::all(l[j]) : load<W>(l + j * W);
            sum = fma(coefficient<W, Batch>(q + r * e.out_stride, o), row, sum);
          }
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

// Scratch for one block of top rows: kSums numbers a row (one, or one for each lane).
template <int kSums>
struct Block {
  alignas(64) double total[kBlock * kSums];
  alignas(64) double logs[kBlock * kSums];
  alignas(64) double scale[kBlock * kSums];
  alignas(64) double lost[kBlock * kSums];
};

// prior x messages of every part -> `rows`, and their sums.
template <int W, int NV, bool Batch, int Parts>
inline void join_rows(const Product& product, const double* prior_row, const Index* index, int n, double* rows,
                      double* total) {
  const Product p = product;
  const int nv = NV ? NV : p.nv, parts = Parts ? Parts : p.parts;
  const std::size_t stride = NV ? std::size_t(NV) * W : p.stride;
  Vec<W> prior[NV ? NV : 1];
  if constexpr (NV > 0)
    for (int j = 0; j < NV; ++j) prior[j] = load<W>(prior_row + j * W);
  for (int r = 0; r < n; ++r, index += parts) {
    Vec<W> sum;
    if constexpr (NV > 0) {
      Vec<W> x[NV];
      for (int j = 0; j < NV; ++j) x[j] = prior[j] * load<W>(p.in[0] + index[0] * stride + j * W);
      LATENTREE_UNROLL
      for (int i = 1; i < parts; ++i)
        for (int j = 0; j < NV; ++j) x[j] = x[j] * load<W>(p.in[i] + index[i] * stride + j * W);
      for (int j = 0; j < NV; ++j) store<W>(rows + r * stride + j * W, x[j]);
      sum = x[0];
      for (int j = 1; j < NV; ++j) sum = sum + x[j];
    } else {
      sum = Vec<W>::all(0.0);
      for (int j = 0; j < nv; ++j) {
        Vec<W> x = load<W>(prior_row + j * W);
        for (int i = 0; i < parts; ++i) x = x * load<W>(p.in[i] + index[i] * stride + j * W);
        store<W>(rows + r * stride + j * W, x);
        sum = sum + x;
      }
    }
    if constexpr (Batch)
      store<W>(total + r * W, sum);
    else
      total[r] = sum_lanes(sum);
  }
}

template <int W, int NV, bool Batch, int Parts>
void top_rows(const Pass& pass, const Product& p, Index begin, Index end, TopResult& result) {
  const Plan& plan = pass.plan;
  constexpr int kSums = Batch ? W : 1;
  std::vector<double> heap(NV ? 0 : kBlock * p.stride);
  alignas(64) double local[NV ? kBlock * NV * W : 1];
  double* const rows = NV ? local : heap.data();
  Block<kSums> b;
  alignas(64) double loglik[kBlock * kSums] = {};
  std::vector<std::pair<int, const double*>> scales;  // parts whose rows carry a scale
  for (int i = 0; i < p.parts; ++i)
    if (const double* s = pass.work.tables[plan.top[i]].scale) scales.push_back({i, s});

  for (Index r0 = begin; r0 < end; r0 += kBlock) {
    const int n = static_cast<int>(std::min<Index>(kBlock, end - r0));
    const Index* index = p.index + std::size_t(r0) * p.parts;
    const double* w = plan.weights.data() + r0;
    join_rows<W, NV, Batch, Parts>(p, pass.work.prior, index, n, rows, b.total);
    int sound = 0;
    if (scales.empty()) {
      for (int i = 0; i < n * kSums; ++i) sound += b.total[i] >= kRefuse;
    } else {
      std::fill_n(b.scale, n * kSums, 0.0);
      std::fill_n(b.lost, n * kSums, kUnderflow);
      for (const auto& [part, table] : scales)
        for (int r = 0; r < n; ++r) {
          const double* from = table + std::size_t(index[std::size_t(r) * p.parts + part]) * 2 * kSums;
          for (int k = 0; k < kSums; ++k) {
            b.scale[r * kSums + k] += from[k];
            b.lost[r * kSums + k] = std::max(b.lost[r * kSums + k], from[kSums + k]);
          }
        }
      for (int i = 0; i < n * kSums; ++i) sound += b.total[i] >= kRefuse && b.lost[i] <= kLostShare * b.total[i];
    }
    if (sound != n * kSums) {
      for (int i = 0; i < n * kSums; ++i) {
        if (b.total[i] >= kRefuse && (scales.empty() || b.lost[i] <= kLostShare * b.total[i])) continue;
        result.refused.push_back({r0 + i / kSums, i % kSums});
        b.total[i] = 1.0;  // no likelihood and no mass from here
        b.scale[i] = 0.0;
        double* v = rows + (i / kSums) * p.stride;
        for (std::size_t k = Batch ? i % kSums : 0; k < p.stride; k += kSums) v[k] = 0.0;
      }
    }
    for (int i = 0; i < n * kSums; ++i) b.logs[i] = log_of(b.total[i]);
    if (!scales.empty())
      for (int i = 0; i < n * kSums; ++i) b.logs[i] += b.scale[i];
    for (int r = 0; r < n; ++r)
      for (int k = 0; k < kSums; ++k) loglik[(Batch ? 0 : r) + k] += w[r] * b.logs[r * kSums + k];
    if (pass.row_log_likelihood) std::copy_n(b.logs, n, pass.row_log_likelihood + r0);
    if (!pass.counts) continue;
    for (int r = 0; r < n; ++r)
      for (int k = 0; k < kSums; ++k) b.total[r * kSums + k] = w[r] / b.total[r * kSums + k];
    scatter_rows<W, NV, Parts>(p, index, rows, n, [&b](int r) { return coefficient<W, Batch>(b.total, r); });
  }
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
      const auto rows = p.parts == 2 ? top_rows<W, NV, Batch, 2> : top_rows<W, NV, Batch, 0>;
      rows(pass, p, plan.cuts[piece], plan.cuts[piece + 1], results[piece]);
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
      case Kind::leaf:
        leaf_up(pass, ops[at]);
        break;
      case Kind::product:
        product_up(pass, ops[at]);
        break;
      case Kind::edge:
        edge_up(pass, at);
        break;
    }
  top(pass);
  if (!pass.counts) return;
  for (std::size_t at = ops.size(); at-- > 0;) switch (ops[at].kind) {
      case Kind::leaf:
        leaf_down(pass, ops[at]);
        break;
      case Kind::product:
        product_down(pass, ops[at]);
        break;
      case Kind::edge:
        edge_down(pass, at);
        break;
    }
}

}  // namespace

#define LATENTREE_TEXT(x) LATENTREE_TEXT_(x)
#define LATENTREE_TEXT_(x) #x
extern const Kernels table;
const Kernels table = {LATENTREE_TEXT(LATENTREE_ISA),
                       kWidth,
                       make_workspace,
                       run,
                       log_all,
                       exp_all,
                       dot,
                       mix,
                       mix_factors,
                       weigh_logs,
                       believe,
                       slopes,
                       scale_rows};

}  // namespace latentree::LATENTREE_ISA
