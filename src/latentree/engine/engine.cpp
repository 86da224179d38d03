#include "engine.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "precision.hpp"

namespace latentree {

// Room of the last kind asked for is kept; a search would otherwise hoard what it no longer needs.
std::unique_ptr<Workspace> Engine::acquire(int lanes) const {
  const Kernels& k = kernels();
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!idle_.empty() && (idle_.back()->kernels != &k || idle_.back()->lanes != lanes)) idle_.clear();
    if (!idle_.empty()) {
      auto work = std::move(idle_.back());
      idle_.pop_back();
      return work;
    }
  }
  auto work = std::make_unique<Workspace>(k.make_workspace(plan_, lanes));
  work->kernels = &k;
  return work;
}

void Engine::release(std::unique_ptr<Workspace> work) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!idle_.empty() && (idle_.back()->kernels != work->kernels || idle_.back()->lanes != work->lanes)) idle_.clear();
  idle_.push_back(std::move(work));
}

int Engine::best_lanes(int n_sets) const {
  Index most = 1;
  for (const Slot& slot : plan_.slots) most = std::max(most, slot.states);
  const int width = kernels().width;
  if (n_sets < 2 || 2 * most > width) return 1;
  int lanes = 2;
  while (lanes < n_sets && lanes < width) lanes *= 2;
  return lanes;
}

void Engine::evaluate(const double* const* parameters, int lanes, double* log_likelihood, double* const* counts,
                      const Parallel& parallel) const {
  auto work = acquire(lanes);
  if (counts)
    for (int b = 0; b < lanes; ++b) std::fill_n(counts[b], plan_.n_parameters, 0.0);
  std::vector<std::pair<Index, int>> refused;
  work->kernels->run({plan_, *work, parameters, counts, log_likelihood, nullptr, &refused, parallel});
  release(std::move(work));
  for (const auto& [row, lane] : refused) {
    const double w = plan_.weights[row];
    if (w == 0.0) continue;
    log_likelihood[lane] += w * log_space_row(plan_, parameters[lane], plan_.representative[row], w,
                                              counts ? counts[lane] : nullptr, nullptr);
  }
}

void Engine::evaluate_group(const double* const* parameters, int n, int lanes, double* log_likelihood,
                            double* const* counts, const Parallel& parallel) const {
  if (n == lanes) return evaluate(parameters, lanes, log_likelihood, counts, parallel);
  std::vector<double> spare(counts ? plan_.n_parameters : 0), all(lanes);
  std::vector<const double*> from(parameters, parameters + n);
  from.resize(lanes, parameters[n - 1]);
  std::vector<double*> into(lanes, spare.data());
  if (counts) std::copy_n(counts, n, into.begin());
  evaluate(from.data(), lanes, all.data(), counts ? into.data() : nullptr, parallel);
  std::copy_n(all.begin(), n, log_likelihood);
}

std::vector<double> Engine::row_log_likelihood(const double* parameters, const Parallel& parallel) const {
  auto work = acquire(1);
  std::vector<double> rows(plan_.n_rows());
  double total = 0.0;
  std::vector<std::pair<Index, int>> refused;
  work->kernels->run({plan_, *work, &parameters, nullptr, &total, rows.data(), &refused, parallel});
  release(std::move(work));
  for (const auto& [row, lane] : refused)
    rows[row] = log_space_row(plan_, parameters, plan_.representative[row], 1.0, nullptr, nullptr);
  return rows;
}

// The way down for one row at a time: through the shared tables, but with the row's own mass.
std::vector<double> Engine::posteriors(const double* parameters, const std::vector<Index>& nodes) const {
  auto work = acquire(1);
  double total = 0.0;
  std::vector<std::pair<Index, int>> refused;
  work->kernels->run({plan_, *work, &parameters, nullptr, &total, nullptr, &refused, serial});
  std::vector<bool> is_refused(plan_.n_rows(), false);
  for (const auto& [row, lane] : refused) is_refused[row] = true;

  const Index n = static_cast<Index>(plan_.parent.size());
  std::vector<std::size_t> place(n, 0);
  std::size_t width = 0;
  std::vector<bool> asked(n, false);
  for (Index v : nodes) {
    place[v] = width;
    width += plan_.states[v];
    asked[v] = true;
  }
  std::vector<std::size_t> start(n, 0);
  std::size_t all = 0;
  for (Index v = 0; v < n; ++v) {
    start[v] = all;
    all += plan_.states[v];
  }
  std::vector<double> out(std::size_t(plan_.n_rows()) * width, 0.0), everything(all);
  std::vector<Index> at(plan_.slots.size(), -1);  // the row of each table this data row uses
  std::vector<std::vector<double>> mass(plan_.slots.size());
  for (std::size_t s = 0; s < plan_.slots.size(); ++s) mass[s].resize(plan_.slots[s].states);
  const auto lower_end = [this](const Op& op) { return op.reversed ? plan_.parent[op.node] : op.node; };
  // Mass is carried only towards nodes that were asked for: of wide trees, most branches end in leaves that were not.
  std::vector<bool> wanted(plan_.slots.size(), false);
  std::vector<std::size_t> ways;  // operations on the way, the first at the bottom
  for (std::size_t o = 0; o < plan_.ops.size(); ++o) {
    const Op& op = plan_.ops[o];
    bool own = op.kind != Kind::product && asked[op.kind == Kind::leaf ? op.node : lower_end(op)];
    for (Index in : op.in) own = own || wanted[in];
    wanted[op.out] = own;
    if (own) ways.push_back(o);
  }

  for (Index row = 0; row < plan_.n_rows(); ++row) {
    double* answer = out.data() + std::size_t(row) * width;
    if (is_refused[row]) {
      std::fill(everything.begin(), everything.end(), std::numeric_limits<double>::quiet_NaN());
      log_space_row(plan_, parameters, plan_.representative[row], 1.0, nullptr, everything.data());
      for (Index v : nodes) std::copy_n(&everything[start[v]], plan_.states[v], answer + place[v]);
      continue;
    }
    const std::size_t parts = plan_.top.size();
    const Index k = plan_.states[plan_.root];
    std::vector<double>& g = mass[plan_.top[0]];
    double sum = 0.0;
    for (Index i = 0; i < k; ++i) {
      g[i] = plan_.root == 0 ? parameters[i] : 1.0;
      for (std::size_t j = 0; j < parts; ++j) {
        const Workspace::Table& t = work->tables[plan_.top[j]];
        g[i] *= t.value[plan_.top_index[row * parts + j] * t.stride + i];
      }
      sum += g[i];
    }
    for (Index i = 0; i < k; ++i) g[i] /= sum;
    for (std::size_t j = 0; j < parts; ++j) {
      at[plan_.top[j]] = plan_.top_index[row * parts + j];
      if (wanted[plan_.top[j]] && j > 0) mass[plan_.top[j]] = g;
    }
    if (asked[plan_.root]) std::copy(g.begin(), g.end(), answer + place[plan_.root]);
    for (std::size_t w = ways.size(); w-- > 0;) {
      const std::size_t o = ways[w];
      const Op& op = plan_.ops[o];
      if (op.kind == Kind::product) {
        for (std::size_t j = 0; j < op.in.size(); ++j) {
          if (!wanted[op.in[j]]) continue;
          at[op.in[j]] = op.index[std::size_t(at[op.out]) * op.in.size() + j];
          mass[op.in[j]] = mass[op.out];
        }
      } else {
        const Workspace::Table& to = work->tables[op.out];
        const Index lower = op.kind == Kind::leaf ? op.node : lower_end(op);
        if (op.kind == Kind::leaf) {
          // a leaf's posterior: its value, or what its parent's says of a missing cell
          const Index states = plan_.states[lower];
          const double* t = parameters + plan_.offset[lower];
          for (Index x = 0; x < states; ++x) {
            double p = at[op.out] == x ? 1.0 : 0.0;
            if (at[op.out] == states) {
              p = 0.0;
              for (Index i = 0; i < plan_.slots[op.out].states; ++i)
                p += mass[op.out][i] * t[std::size_t(i) * states + x];
            }
            answer[place[lower] + x] = p;
          }
          continue;
        }
        const Workspace::Table& from = work->tables[op.in[0]];
        at[op.in[0]] = at[op.out];
        const double* m = to.value + at[op.out] * to.stride;
        const double* l = from.value + at[op.out] * from.stride;
        const double* matrix = work->edges[o];  // [in][out]
        std::vector<double>& below = mass[op.in[0]];
        for (Index i = 0; i < plan_.slots[op.in[0]].states; ++i) {
          double p = 0.0;
          for (Index k2 = 0; k2 < plan_.slots[op.out].states; ++k2)
            p += mass[op.out][k2] / (m[k2] + kTiny) * matrix[i * to.stride + k2];
          below[i] = p * l[i];
        }
        if (asked[lower]) std::copy(below.begin(), below.end(), answer + place[lower]);
      }
    }
  }
  release(std::move(work));
  return out;
}

void Engine::root_messages(const double* parameters, std::vector<double>& rows, std::vector<double>& log_scale,
                           std::vector<double>& logs) const {
  if (plan_.root != 0) throw std::invalid_argument("messages about the root need a plan whose messages meet there");
  auto work = acquire(1);
  double total = 0.0;
  std::vector<std::pair<Index, int>> refused;
  work->kernels->run({plan_, *work, &parameters, nullptr, &total, nullptr, &refused, serial});
  const Index k = plan_.states[plan_.root], n = plan_.n_rows();
  const std::size_t parts = plan_.top.size();
  rows.assign(std::size_t(n) * k, 0.0);
  logs.assign(std::size_t(n) * k, 0.0);
  log_scale.assign(n, 0.0);
  for (Index row = 0; row < n; ++row) {
    double* own = logs.data() + std::size_t(row) * k;
    bool sure = true;  // that no entry has lost anything to underflow
    for (std::size_t j = 0; j < parts; ++j) {
      const Workspace::Table& t = work->tables[plan_.top[j]];
      const Index u = plan_.top_index[row * parts + j];
      const double lost = t.scale ? t.scale[std::size_t(u) * 2 + 1] : kUnderflow;
      for (Index i = 0; i < k; ++i) {
        const double value = t.value[u * t.stride + i];
        sure = sure && lost < kLostShare * value;
        own[i] += std::log(value);
      }
      if (t.scale) log_scale[row] += t.scale[std::size_t(u) * 2];
    }
    if (!sure) log_scale[row] = log_space_row(plan_, parameters, plan_.representative[row], 1.0, nullptr, nullptr, own);
    const double most = *std::max_element(own, own + k);
    if (most == -std::numeric_limits<double>::infinity()) continue;
    log_scale[row] += most;
    for (Index i = 0; i < k; ++i) {
      own[i] -= most;
      rows[std::size_t(row) * k + i] = std::exp(own[i]);
    }
  }
  release(std::move(work));
}

void Maximiser::maximise(const Plan& plan, const double* counts, const double* old, double* fresh) const {
  for (std::size_t v = 0; v < plan.parent.size(); ++v) {
    const Index k = plan.states[v], rows = v == 0 ? 1 : plan.states[plan.parent[v]];
    for (Index p = 0; p < rows; ++p) {
      const std::int64_t at = plan.offset[v] + std::int64_t(p) * k;
      double sum = 0.0, share = 1.0;
      for (std::int64_t i = at; i < at + k; ++i) {
        if (!held.empty() && held[i]) {
          share -= old[i];
          fresh[i] = old[i];
        } else {
          fresh[i] = counts[i] + (pseudo.empty() ? 0.0 : pseudo[i]);
          sum += fresh[i];
        }
      }
      if (sum > 0.0) {
        share = std::max(share, 0.0);
        for (std::int64_t i = at; i < at + k; ++i)
          if (held.empty() || !held[i]) fresh[i] = fresh[i] / sum * share;  // 1 / sum may overflow
      } else {                                                              // nothing seen: nothing learned
        std::copy_n(old + at, k, fresh + at);
      }
    }
  }
}

double Maximiser::log_prior(const Plan& plan, const double* parameters) const {
  double sum = 0.0;
  if (pseudo.empty()) return sum;
  for (std::size_t v = 0; v < plan.parent.size(); ++v) {
    const std::int64_t k = plan.states[v], rows = v == 0 ? 1 : plan.states[plan.parent[v]];
    for (std::int64_t row = plan.offset[v]; row < plan.offset[v] + rows * k; row += k) {
      double left = 1.0;  // what held entries leave; where that is nothing, the others are fixed too
      for (std::int64_t i = row; i < row + k && !held.empty(); ++i)
        if (held[i]) left -= parameters[i];
      if (left <= 0.0) continue;
      for (std::int64_t i = row; i < row + k; ++i)
        if (pseudo[i] != 0.0 && (held.empty() || !held[i])) sum += pseudo[i] * std::log(parameters[i]);
    }
  }
  return sum;
}

}  // namespace latentree
