#include "plan.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "distinct.hpp"

namespace latentree {
namespace {

constexpr int kMaxDepth = 32;              // leaves multiplied before rows are rescaled
constexpr int kMaxTopDepth = 64;           // and in one n-ary product
constexpr int kScaledDepth = 8;            // what a rescaled part counts for there: two of them may still disagree
constexpr Index kSample = 1024;            // data rows looked at when choosing an order or a root
constexpr std::size_t kGreedyParts = 200;  // more parts than this are paired off in order
constexpr double kMergeBelow = 0.2;        // two parts are joined when that leaves fewer rows than this share
constexpr Index kPiece = 4096;             // top rows in one piece of work
constexpr Index kMaxPieces = 16;

// A message table under construction: which of its rows each data row uses.
struct Part {
  Index slot = -1;
  Indices id;
  Indices sample;  // `id` at the sampled rows
};

// Counts distinct pairs among the sampled rows with a small open-addressed set.
class PairCounter {
 public:
  Index operator()(const Indices& a, const Indices& b) {
    if (++stamp_ == 0) {
      std::fill(stamps_.begin(), stamps_.end(), 0u);
      stamp_ = 1;
    }
    Index count = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
      const std::uint64_t key = (std::uint64_t(std::uint32_t(a[i])) << 32) | std::uint32_t(b[i]);
      std::size_t at = static_cast<std::size_t>((key * 0x9E3779B97F4A7C15ull) >> 52);
      while (stamps_[at] == stamp_ && keys_[at] != key) at = (at + 1) & (kSize - 1);
      if (stamps_[at] != stamp_) {
        stamps_[at] = stamp_;
        keys_[at] = key;
        ++count;
      }
    }
    return count;
  }

 private:
  static constexpr std::size_t kSize = 4096;
  static_assert(kSize >= 4 * std::size_t(kSample));
  std::vector<std::uint64_t> keys_ = std::vector<std::uint64_t>(kSize);
  std::vector<std::uint32_t> stamps_ = std::vector<std::uint32_t>(kSize, 0u);
  std::uint32_t stamp_ = 0;
};

class Compiler {
 public:
  Compiler(Plan& plan, const std::vector<double>& weights, const PlanOptions& options)
      : plan_(plan), share_(options.share), weights_(weights), n_rows_(static_cast<Index>(weights.size())) {
    const Index n = static_cast<Index>(plan.parent.size());
    neighbours_.resize(n);
    columns_at_.resize(n);
    for (Index v = 1; v < n; ++v) {
      neighbours_[v].push_back(plan.parent[v]);
      neighbours_[plan.parent[v]].push_back(v);
    }
    for (std::size_t c = 0; c < plan.columns.size(); ++c) columns_at_[plan.columns[c].node].push_back(Index(c));
    const Index n_sampled = std::min(n_rows_, kSample);
    for (Index i = 0; i < n_sampled; ++i) sampled_.push_back(Index(std::int64_t(i) * n_rows_ / n_sampled));
    plan.root = options.root >= 0 ? options.root : cheapest_root();
  }

  void run() {
    std::vector<Part> parts = parts_of_root();
    join(parts);
    finish_top(parts);
  }

 private:
  bool is_leaf(Index v) const {  // a manifest variable at the end of a branch
    return v != 0 && neighbours_[v].size() == 1 && columns_at_[v].size() == 1 &&
           plan_.columns[columns_at_[v][0]].hard();
  }

  Indices sample_of(const Indices& id) const {
    Indices s(sampled_.size());
    for (std::size_t i = 0; i < s.size(); ++i) s[i] = id[sampled_[i]];
    return s;
  }

  Part make_part(Slot slot, Indices id) {
    Part part;
    part.slot = static_cast<Index>(plan_.slots.size());
    plan_.slots.push_back(std::move(slot));
    part.sample = sample_of(id);
    part.id = std::move(id);
    return part;
  }

  // A missing cell gets the row after the last state.
  static Indices with_missing_last(const Indices& ids, Index states, bool& any) {
    Indices out(ids);
    any = false;
    for (auto& i : out)
      if (i < 0) {
        i = states;
        any = true;
      }
    return out;
  }

  Part leaf_part(Index v) {
    const Column& column = plan_.columns[columns_at_[v][0]];
    bool missing = false;
    Indices id = with_missing_last(column.ids, plan_.states[v], missing);
    Slot slot;
    slot.rows = plan_.states[v] + (missing ? 1 : 0);
    slot.node = neighbours_[v][0];
    slot.states = plan_.states[slot.node];
    slot.depth = 1;
    Part part = make_part(std::move(slot), std::move(id));
    plan_.ops.push_back({Kind::leaf, part.slot, {}, {}, v, false});
    return part;
  }

  Part evidence_part(const Column& column) {
    const Index k = plan_.states[column.node];
    Slot slot;
    slot.node = column.node;
    slot.states = k;
    slot.depth = 1;
    slot.constant = true;
    if (!column.hard()) {
      slot.rows = static_cast<Index>(column.likelihood.size() / k);
      slot.value = column.likelihood;
      slot.log_scale = column.log_scale;
      slot.scaled = !column.log_scale.empty();
      return make_part(std::move(slot), column.ids);
    }
    bool missing = false;
    Indices id = with_missing_last(column.ids, k, missing);
    slot.rows = k + (missing ? 1 : 0);
    slot.value.assign(std::size_t(slot.rows) * k, 0.0);
    for (Index i = 0; i < k; ++i) slot.value[std::size_t(i) * k + i] = 1.0;
    if (missing) std::fill_n(slot.value.begin() + std::ptrdiff_t(k) * k, k, 1.0);
    return make_part(std::move(slot), std::move(id));
  }

  Part constant_ones(Index v) {
    Slot slot;
    slot.node = v;
    slot.rows = 1;
    slot.states = plan_.states[v];
    slot.constant = true;
    slot.value.assign(slot.states, 1.0);
    return make_part(std::move(slot), Indices(n_rows_, 0));
  }

  // Everything that speaks about a node: its own columns, then its branches, whose messages are made bottom up.
  std::vector<Part> parts_of_root() {
    // depth first without recursion, so that few branches are pending at a time, however deep the tree
    std::vector<Index> order, stack{plan_.root}, towards(neighbours_.size(), -1);
    while (!stack.empty()) {
      const Index v = stack.back();
      stack.pop_back();
      order.push_back(v);
      for (std::size_t j = neighbours_[v].size(); j-- > 0;) {
        const Index u = neighbours_[v][j];
        if (u == towards[v]) continue;
        towards[u] = v;
        stack.push_back(u);
      }
    }
    std::vector<std::vector<Part>> branches(neighbours_.size());
    for (std::size_t i = order.size(); i-- > 0;) {
      const Index v = order[i];
      if (is_leaf(v)) {
        branches[towards[v]].push_back(leaf_part(v));
        continue;
      }
      std::vector<Part> parts;
      for (Index c : columns_at_[v]) parts.push_back(evidence_part(plan_.columns[c]));
      for (std::size_t j = branches[v].size(); j-- > 0;) parts.push_back(std::move(branches[v][j]));
      branches[v].clear();
      if (parts.empty()) parts.push_back(constant_ones(v));
      if (i == 0) return parts;
      branches[towards[v]].push_back(message(v, towards[v], parts));
    }
    return {};
  }

  // What the branch at v, made of `parts`, sends to its neighbour `to`.
  Part message(Index v, Index to, std::vector<Part>& parts) {
    join(parts);
    Part made = parts.size() == 1 ? std::move(parts[0]) : multiply(parts);
    const Slot& in = plan_.slots[made.slot];
    Slot slot;
    slot.node = to;
    slot.rows = in.rows;
    slot.states = plan_.states[to];
    slot.depth = in.depth;
    slot.scaled = in.scaled;
    const Index in_slot = made.slot;
    Part part = make_part(std::move(slot), std::move(made.id));
    const bool reversed = plan_.parent[v] != to;
    plan_.ops.push_back({Kind::edge, part.slot, {in_slot}, {}, reversed ? to : v, reversed});
    return part;
  }

  // Joins parts two by two while that saves work: fewest joint sub-patterns first, until a join has
  // nearly as many rows as the product it belongs to.
  void join(std::vector<Part>& parts) {
    if (share_ && parts.size() > 2) {
      pair_off(parts);
      join_greedily(parts, number_all(parts).count);
    }
    // an n-ary product must not underflow, nor have too many parts
    auto depth = [&] {
      int d = 0;
      for (const Part& p : parts) d += depth_of(plan_.slots[p.slot]);
      return d;
    };
    while (parts.size() > 2 && (depth() > kMaxTopDepth || parts.size() > std::size_t(kMaxParts))) {
      std::sort(parts.begin(), parts.end(), [&](const Part& a, const Part& b) {
        const Slot &s = plan_.slots[a.slot], &t = plan_.slots[b.slot];
        // rescaled parts wait for each other: in a chain of products the bound on what may be lost would grow with it
        if (s.scaled != t.scaled) return s.scaled;
        return s.depth != t.depth ? s.depth > t.depth : s.rows < t.rows;
      });
      std::vector<Part> group;
      int d = 0;
      while (!parts.empty() && group.size() < std::size_t(kMaxParts)) {
        const int next = depth_of(plan_.slots[parts.back().slot]);
        if (group.size() >= 2 && d + next > kMaxTopDepth) break;
        d += next;
        group.push_back(std::move(parts.back()));
        parts.pop_back();
      }
      parts.push_back(multiply(group));
    }
  }

  static int depth_of(const Slot& s) { return s.scaled ? std::max(s.depth, kScaledDepth) : s.depth; }

  void pair_off(std::vector<Part>& parts) {
    while (parts.size() > kGreedyParts) {
      std::vector<Part> next;
      for (std::size_t i = 0; i + 1 < parts.size(); i += 2) {
        std::vector<Part> pair;
        pair.push_back(std::move(parts[i]));
        pair.push_back(std::move(parts[i + 1]));
        next.push_back(multiply(pair));
      }
      if (parts.size() % 2) next.push_back(std::move(parts.back()));
      parts = std::move(next);
    }
  }

  void join_greedily(std::vector<Part>& parts, Index rows) {
    const std::size_t n = parts.size();
    std::vector<Index> cost(n * n, 0);
    auto measure = [&](std::size_t i, std::size_t j) {
      cost[i * n + j] = cost[j * n + i] = count_(parts[i].sample, parts[j].sample);
    };
    std::vector<bool> alive(n, true);
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = i + 1; j < n; ++j) measure(i, j);
    std::size_t left = n;
    while (left > 2) {
      std::size_t bi = n, bj = n;
      for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = i + 1; j < n; ++j)
          if (alive[i] && alive[j] && (bi == n || cost[i * n + j] < cost[bi * n + bj])) bi = i, bj = j;
      if (plan_.slots[parts[bi].slot].rows < plan_.slots[parts[bj].slot].rows) std::swap(parts[bi], parts[bj]);
      const Numbering joint =
          number_pairs(parts[bi].id, plan_.slots[parts[bi].slot].rows, parts[bj].id, plan_.slots[parts[bj].slot].rows);
      if (joint.count > kMergeBelow * rows) break;
      std::vector<Part> pair;
      pair.push_back(std::move(parts[bi]));
      pair.push_back(std::move(parts[bj]));
      parts[bi] = multiply(pair, &joint);
      alive[bj] = false;
      --left;
      for (std::size_t j = 0; j < n; ++j)
        if (alive[j] && j != bi) measure(bi, j);
    }
    std::vector<Part> kept;
    for (std::size_t i = 0; i < n; ++i)
      if (alive[i]) kept.push_back(std::move(parts[i]));
    parts = std::move(kept);
  }

  // The product of several parts: a row per distinct combination.
  Part multiply(std::vector<Part>& parts, const Numbering* known = nullptr) {
    sort_parts(parts);
    Numbering all = known ? *known : number_all(parts);
    Slot slot;
    slot.node = plan_.slots[parts[0].slot].node;
    slot.rows = all.count;
    slot.states = plan_.states[slot.node];
    Op op{Kind::product, -1, {}, {}, -1, false};
    for (const Part& p : parts) {
      const Slot& s = plan_.slots[p.slot];
      slot.depth += depth_of(s);
      slot.scaled = slot.scaled || s.scaled;
      op.in.push_back(p.slot);
    }
    if (slot.depth > kMaxDepth) {
      slot.scaled = true;
      slot.depth = 0;  // rescaled rows: their largest entry is about one
    }
    op.index = index_of(parts, all);
    Part part = make_part(std::move(slot), std::move(all.id));
    op.out = part.slot;
    plan_.ops.push_back(std::move(op));
    return part;
  }

  // The largest part first: rows are sorted by it, so that its table is read and written in order.
  void sort_parts(std::vector<Part>& parts) const {
    std::stable_sort(parts.begin(), parts.end(),
                     [&](const Part& a, const Part& b) { return plan_.slots[a.slot].rows > plan_.slots[b.slot].rows; });
  }

  Numbering number_all(const std::vector<Part>& parts) const {
    Numbering all;
    if (!share_) {
      all.id.resize(n_rows_);
      std::iota(all.id.begin(), all.id.end(), 0);
      all.count = n_rows_;
      return all;
    }
    all.id = parts[0].id;
    all.count = plan_.slots[parts[0].slot].rows;
    for (std::size_t j = 1; j < parts.size(); ++j)
      all = number_pairs(all.id, all.count, parts[j].id, plan_.slots[parts[j].slot].rows);
    return all;
  }

  Indices index_of(const std::vector<Part>& parts, const Numbering& all) const {
    Indices index(std::size_t(all.count) * parts.size());
    for (Index i = 0; i < n_rows_; ++i)
      for (std::size_t j = 0; j < parts.size(); ++j) index[std::size_t(all.id[i]) * parts.size() + j] = parts[j].id[i];
    return index;
  }

  void finish_top(std::vector<Part>& parts) {
    sort_parts(parts);
    Numbering all = number_all(parts);
    if (parts.size() == 1) {  // rows of the only part that no data row uses must not count
      all = number_pairs(parts[0].id, plan_.slots[parts[0].slot].rows, Indices(n_rows_, 0), 1);
    }
    for (const Part& p : parts) plan_.top.push_back(p.slot);
    plan_.top_index = index_of(parts, all);
    plan_.weights.assign(all.count, 0.0);
    plan_.representative.assign(all.count, 0);
    for (Index i = 0; i < n_rows_; ++i) {
      plan_.weights[all.id[i]] += weights_[i];
      plan_.representative[all.id[i]] = i;
    }
    plan_.row_of = std::move(all.id);

    // pieces end where the first part changes: no two pieces write the same of its rows
    const Index rows = plan_.n_rows();
    const std::size_t n_parts = parts.size();
    const Index pieces = std::clamp<Index>(rows / kPiece, 1, kMaxPieces);
    plan_.cuts.push_back(0);
    for (Index piece = 1; share_ && piece < pieces; ++piece) {
      Index at = std::max(plan_.cuts.back() + 1, Index(std::int64_t(piece) * rows / pieces));
      while (at < rows && plan_.top_index[at * n_parts] == plan_.top_index[(at - 1) * n_parts]) ++at;
      if (at < rows) plan_.cuts.push_back(at);
    }
    plan_.cuts.push_back(rows);
  }

  // The inner node whose choice as the meeting point makes a pass cheapest, estimated on a sample of rows:
  // the number of sub-patterns of every branch seen from either end, by one pass up and one down.
  Index cheapest_root() {
    const Index n = static_cast<Index>(plan_.parent.size());
    std::vector<Index> inner;
    for (Index v = 0; v < n; ++v)
      if (!is_leaf(v)) inner.push_back(v);
    if (inner.size() == 1 || n_rows_ == 0) return inner[0];
    const Indices nothing(sampled_.size(), 0);
    auto joined = [&](const Numbering& a, const Numbering& b) { return number_pairs(a.id, a.count, b.id, b.count); };
    auto seen_at = [&](Index v) {
      Numbering all{nothing, 1};
      for (Index c : columns_at_[v]) {
        const Column& column = plan_.columns[c];
        Numbering own{sample_of(column.ids), 0};
        for (auto& i : own.id) own.count = std::max(own.count, ++i + 1);
        all = joined(all, own);
      }
      return all;
    };
    std::vector<Numbering> own(n), up(n), down(n);
    for (Index v = 0; v < n; ++v) own[v] = seen_at(v);
    up = own;
    for (Index v = n - 1; v > 0; --v) up[plan_.parent[v]] = joined(up[plan_.parent[v]], up[v]);
    down[0] = {nothing, 1};
    for (Index v : inner) {
      std::vector<Index> children;
      for (Index u : neighbours_[v])
        if (u != 0 && plan_.parent[u] == v) children.push_back(u);
      std::vector<Numbering> after(children.size() + 1);
      after[children.size()] = {nothing, 1};
      for (std::size_t j = children.size(); j-- > 0;) after[j] = joined(after[j + 1], up[children[j]]);
      Numbering before = joined(down[v], own[v]);
      for (std::size_t j = 0; j < children.size(); ++j) {
        if (!is_leaf(children[j])) down[children[j]] = joined(before, after[j + 1]);
        before = joined(before, up[children[j]]);
      }
    }
    // cost of the branch at v seen from its parent, and of the rest seen from v
    std::vector<double> below(n, 0.0), above(n, 0.0);
    auto edge = [&](Index v, Index to, Index rows) {
      const double k = plan_.states[v], l = plan_.states[to];
      return double(rows) * (3.0 * k * l + 2.0 * k * double(neighbours_[v].size()));
    };
    for (Index v = n - 1; v > 0; --v)
      if (!is_leaf(v)) {
        below[v] += edge(v, plan_.parent[v], up[v].count);
        below[plan_.parent[v]] += below[v];
      }
    for (Index v : inner) {
      double inside = v == 0 ? 0.0 : above[v];
      for (Index u : neighbours_[v])
        if (u != 0 && plan_.parent[u] == v && !is_leaf(u)) inside += below[u];
      for (Index u : neighbours_[v])
        if (u != 0 && plan_.parent[u] == v && !is_leaf(u)) above[u] = inside - below[u] + edge(v, u, down[u].count);
    }
    Index best = inner[0];
    double least = -1.0;
    for (Index v : inner) {
      double cost =
          (v == 0 ? 0.0 : above[v]) + double(sampled_.size()) * plan_.states[v] * 2.0 * double(neighbours_[v].size());
      for (Index u : neighbours_[v])
        if (u != 0 && plan_.parent[u] == v && !is_leaf(u)) cost += below[u];
      if (least < 0.0 || cost < least) least = cost, best = v;
    }
    return best;
  }

  Plan& plan_;
  bool share_;
  const std::vector<double>& weights_;
  Index n_rows_;
  std::vector<std::vector<Index>> neighbours_, columns_at_;
  Indices sampled_;
  PairCounter count_;
};

void lay_out(Plan& plan) {
  plan.offset.clear();
  plan.n_parameters = 0;
  for (std::size_t v = 0; v < plan.parent.size(); ++v) {
    plan.offset.push_back(plan.n_parameters);
    plan.n_parameters += std::int64_t(v == 0 ? 1 : plan.states[plan.parent[v]]) * plan.states[v];
  }
}

}  // namespace

std::size_t Plan::n_bytes() const {
  std::size_t indices = top_index.size() + row_of.size() + representative.size(), numbers = weights.size();
  for (const Column& c : columns) {
    indices += c.ids.size();
    numbers += c.likelihood.size() + c.log_scale.size() + c.log_likelihood.size();
  }
  for (const Slot& s : slots) numbers += s.value.size() + s.log_scale.size();
  for (const Op& op : ops) indices += op.index.size();
  return indices * sizeof(Index) + numbers * sizeof(double);
}

double Plan::work() const {
  double total = 0.0;
  for (const Op& op : ops) {
    const double rows = slots[op.out].rows, k = slots[op.out].states;
    if (op.kind == Kind::product) total += rows * k * 2.0 * double(op.in.size());
    if (op.kind == Kind::edge) total += rows * k * 3.0 * double(slots[op.in[0]].states);
  }
  return total + double(n_rows()) * states[root] * 2.0 * double(top.size());
}

Plan compile(Indices parent, Indices states, std::vector<Column> columns, const std::vector<double>& weights,
             const PlanOptions& options) {
  Plan plan;
  plan.parent = std::move(parent);
  plan.states = std::move(states);
  plan.columns = std::move(columns);
  lay_out(plan);
  Compiler(plan, weights, options).run();
  return plan;
}

Plan with_states(Plan plan, Indices states) {
  plan.states = std::move(states);
  lay_out(plan);
  for (Slot& slot : plan.slots) {
    slot.states = plan.states[slot.node];
    if (slot.constant && slot.rows == 1 && slot.value.size() != std::size_t(slot.states))
      slot.value.assign(slot.states, 1.0);
  }
  return plan;
}

}  // namespace latentree
