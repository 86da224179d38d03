#include "beliefs.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "distinct.hpp"
#include "kernels.hpp"
#include "precision.hpp"

namespace latentree {
namespace {

constexpr Index kBlock = 256;       // rows worked on together
constexpr std::size_t kParted = 4;  // branches whose absence is remembered
constexpr std::size_t kShapes = 8;  // plans that are kept for what is around a place
constexpr std::size_t kPairs = 64;  // pairs of neighbours whose surroundings are remembered
constexpr Index kUsual = 3;         // states that a plan expects of a latent that nothing is known about
constexpr double kSame = 1e-6;      // logarithms that differ by less are the same
constexpr double kLeastLog = -700;  // below, exponentials are too small to matter

double log_of(double p) { return std::log(std::max(p, kUnderflow)); }

// Latents with parents first, from the first of them on; the parent of each, or -1.
std::vector<std::pair<Index, Index>> walk(const Network& network) {
  std::vector<std::pair<Index, Index>> out;
  std::vector<char> seen(network.n_nodes(), 0);
  for (Index first = network.n_manifest; first < network.n_nodes(); ++first) {
    if (seen[first]) continue;
    std::size_t at = out.size();
    out.emplace_back(first, -1);
    seen[first] = 1;
    for (; at < out.size(); ++at) {
      const Index v = out[at].first;
      for (Index u : network.neighbours[v])
        if (network.is_latent(u) && !seen[u]) {
          seen[u] = 1;
          out.emplace_back(u, v);
        }
    }
  }
  return out;
}

// The largest entry of each of some rows is taken away from all of them, and given back.
void scale_logs(double* logs, std::size_t stride, Index states, Index n, double* top) {
  std::copy_n(logs, n, top);
  for (Index s = 1; s < states; ++s)
    for (Index i = 0; i < n; ++i) top[i] = std::max(top[i], logs[s * stride + i]);
  for (Index s = 0; s < states; ++s)
    for (Index i = 0; i < n; ++i) logs[s * stride + i] = std::max(logs[s * stride + i] - top[i], kLeastLog);
}

}  // namespace

Beliefs::Beliefs(Network network, const std::int16_t* codes, const double* weights, Index rows, double width)
    : network_(std::move(network)), codes_(codes), weights_(weights), rows_(rows), width_(width) {
  pass();
}

void Beliefs::pass() {
  total_.resize(network_.n_nodes());
  const auto order = walk(network_);
  for (const auto& [v, parent] : order) {
    std::vector<double>& own = total_[v];
    const Index k = network_.states[v];
    own.assign(std::size_t(k) * rows_, 0.0);
    for (Index u : network_.neighbours[v]) {
      if (network_.is_latent(u)) continue;
      const std::vector<double> message = sent(u, v);
      for (std::size_t i = 0; i < own.size(); ++i) own[i] += message[i];
    }
  }
  auto add = [&](Index u, Index v) {
    std::vector<double>& own = total_[v];
    const std::vector<double>& message = sent_[{u, v}];
    for (std::size_t i = 0; i < own.size(); ++i) own[i] += message[i];
  };
  for (std::size_t i = order.size(); i-- > 0;) {  // up: what is below v, told to its parent
    const auto [v, parent] = order[i];
    if (parent < 0) continue;
    sent_[{v, parent}] = carried(v, parent, total_[v]);
    add(v, parent);
  }
  for (const auto& [v, parent] : order) {  // down
    if (parent < 0) continue;
    sent_[{parent, v}] = carried(parent, v, about({parent, {v}}));
    add(parent, v);
  }
}

// What log-likelihoods of the states of u say about those of v.
std::vector<double> Beliefs::carried(Index u, Index v, const std::vector<double>& logs) const {
  const Kernels& kernel = kernels();
  const Index k = network_.states[u], to = network_.states[v];
  const std::vector<double>& given = network_.conditional(u, v);
  std::vector<double> out(std::size_t(to) * rows_), block(std::size_t(k) * kBlock);
  double top[kBlock];
  for (Index first = 0; first < rows_; first += kBlock) {
    const Index n = std::min(kBlock, rows_ - first);
    for (Index s = 0; s < k; ++s)
      std::copy_n(logs.data() + std::size_t(s) * rows_ + first, n, block.data() + std::size_t(s) * kBlock);
    scale_logs(block.data(), kBlock, k, n, top);
    for (Index s = 0; s < k; ++s) {
      double* own = block.data() + std::size_t(s) * kBlock;
      kernel.exp_all(own, own, n);
    }
    for (Index t = 0; t < to; ++t) {
      double* own = out.data() + std::size_t(t) * rows_ + first;
      kernel.mix(given.data() + std::size_t(t) * k, block.data(), kBlock, k, n, own);
      for (Index i = 0; i < n; ++i) own[i] = std::max(own[i], kUnderflow);
      kernel.log_all(own, own, n);
      for (Index i = 0; i < n; ++i) own[i] += top[i];
    }
  }
  return out;
}

std::vector<double> Beliefs::sent(Index u, Index v) const {
  if (network_.is_latent(u)) return sent_.at({u, v});
  const Index k = network_.states[v], values = network_.states[u];
  const std::vector<double>& given = network_.conditional(u, v);
  std::vector<double> out(std::size_t(k) * rows_), logs(values + 1, 0.0);  // the first is for what is missing
  const std::int16_t* column = codes(u);
  for (Index s = 0; s < k; ++s) {
    for (Index x = 0; x < values; ++x) logs[x + 1] = log_of(given[std::size_t(s) * values + x]);
    double* own = out.data() + std::size_t(s) * rows_;
    for (Index i = 0; i < rows_; ++i) own[i] = logs[column[i] + 1];
  }
  return out;
}

std::vector<double> Beliefs::about(const End& end) const {
  std::vector<double> logs = total_[end.node];
  for (Index u : end.without) {
    if (network_.is_latent(u)) {
      const std::vector<double>& message = sent_.at({u, end.node});
      for (std::size_t i = 0; i < logs.size(); ++i) logs[i] -= message[i];
    } else {
      const std::vector<double> message = sent(u, end.node);
      for (std::size_t i = 0; i < logs.size(); ++i) logs[i] -= message[i];
    }
  }
  return logs;
}

std::vector<double> Beliefs::cavity(const End& end) const {
  std::vector<double> logs = about(end);
  const Index k = network_.states[end.node];
  double top[kBlock];
  for (Index first = 0; first < rows_; first += kBlock) {
    const Index n = std::min(kBlock, rows_ - first);
    scale_logs(logs.data() + first, rows_, k, n, top);
    for (Index s = 0; s < k; ++s) {
      double* own = logs.data() + std::size_t(s) * rows_ + first;
      kernels().exp_all(own, own, n);
    }
  }
  return logs;
}

std::vector<double> Beliefs::posterior(Index v) const { return posterior(v, total_[v]); }

std::vector<double> Beliefs::posterior(Index v, const std::vector<double>& total) const {
  std::vector<double> p = total;
  const Index k = network_.states[v];
  double top[kBlock], sum[kBlock];
  for (Index first = 0; first < rows_; first += kBlock) {
    const Index n = std::min(kBlock, rows_ - first);
    for (Index s = 0; s < k; ++s) {
      const double prior = log_of(network_.marginal[v][s]);
      for (Index i = 0; i < n; ++i) p[std::size_t(s) * rows_ + first + i] += prior;
    }
    scale_logs(p.data() + first, rows_, k, n, top);
    std::fill_n(sum, n, 0.0);
    for (Index s = 0; s < k; ++s) {
      double* own = p.data() + std::size_t(s) * rows_ + first;
      kernels().exp_all(own, own, n);
      for (Index i = 0; i < n; ++i) sum[i] += own[i];
    }
    for (Index i = 0; i < n; ++i) sum[i] = 1.0 / sum[i];
    for (Index s = 0; s < k; ++s)
      for (Index i = 0; i < n; ++i) p[std::size_t(s) * rows_ + first + i] *= sum[i];
  }
  return p;
}

std::vector<double> Beliefs::row_log_likelihood() const {
  const Index root = network_.n_manifest, k = network_.states[root];
  std::vector<double> out(rows_);
  for (Index r = 0; r < rows_; ++r) {
    double top = -std::numeric_limits<double>::infinity(), sum = 0.0;
    auto at = [&](Index s) { return log_of(network_.marginal[root][s]) + total_[root][std::size_t(s) * rows_ + r]; };
    for (Index s = 0; s < k; ++s) top = std::max(top, at(s));
    for (Index s = 0; s < k; ++s) sum += std::exp(at(s) - top);
    out[r] = top + std::log(sum);
  }
  return out;
}

std::shared_ptr<const std::vector<std::vector<double>>> Beliefs::parted(Index z, Index a) const {
  const std::pair<Index, Index> key{z, a};
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const auto& [own, found] : parted_)
      if (own == key) return found;
  }
  auto made = std::make_shared<std::vector<std::vector<double>>>(network_.n_nodes());
  std::vector<std::vector<double>>& left = *made;
  left[a] = about({a, {z}});
  std::vector<std::pair<Index, Index>> ahead{{a, z}};
  for (std::size_t i = 0; i < ahead.size(); ++i) {
    const auto [u, before] = ahead[i];
    for (Index v : network_.neighbours[u]) {
      if (v == before || !network_.is_latent(v)) continue;
      ahead.emplace_back(v, u);
      // what u tells v changes by what has changed in u, less what v itself had told u
      std::vector<double> logs = left[u];
      const std::vector<double>&back = sent_.at({v, u}), &old = sent_.at({u, v});
      for (std::size_t j = 0; j < logs.size(); ++j) logs[j] -= back[j];
      left[v] = carried(u, v, logs);
      for (std::size_t j = 0; j < left[v].size(); ++j) left[v][j] += total_[v][j] - old[j];
    }
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  parted_.emplace_back(key, made);
  if (parted_.size() > kParted) parted_.pop_front();
  return made;
}

Known Beliefs::distinct(Index states, const std::vector<double>& logs) const {
  Alike alike = width_ > 0.0 ? similar_rows(logs.data(), weights_, rows_, states, width_)
                             : alike_rows(logs.data(), rows_, states, kSame);
  Known out;
  out.ids = std::move(alike.ids);
  out.likelihood = std::move(alike.likelihood);
  out.count = static_cast<Index>(out.likelihood.size() / states);
  out.scale = kernels().dot(weights_, alike.scale.data(), rows_);
  return out;
}

std::shared_ptr<const Known> Beliefs::known(const End& end) const {
  Indices key{end.node};
  key.insert(key.end(), end.without.begin(), end.without.end());
  if (!network_.is_latent(end.node)) key.resize(1);
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (auto found = known_.find(key); found != known_.end()) return found->second;
  }
  auto made = std::make_shared<Known>();
  if (network_.is_latent(end.node)) {
    *made = distinct(network_.states[end.node], about(end));
  } else {
    made->ids.assign(codes(end.node), codes(end.node) + rows_);
    made->count = network_.states[end.node];
  }
  if (end.without.size() > 1) return made;  // asked for once
  const std::lock_guard<std::mutex> lock(mutex_);
  return known_.emplace(std::move(key), std::move(made)).first->second;  // whoever came first: they are the same
}

std::shared_ptr<const Surroundings> Beliefs::surroundings(const std::vector<End>& ends) const {
  Indices key;
  for (const End& end : ends) {
    key.push_back(end.node);
    if (network_.is_latent(end.node)) key.insert(key.end(), end.without.begin(), end.without.end());
    key.push_back(-1);
  }
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (auto found = surroundings_.find(key); found != surroundings_.end()) return found->second;
  }
  std::vector<std::shared_ptr<const Known>> each;
  for (const End& end : ends) each.push_back(known(end));
  auto made = std::make_shared<Surroundings>(combine(each, weights_, rows_));
  const bool passing = std::any_of(ends.begin(), ends.end(), [](const End& end) { return end.without.size() > 1; });
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto [at, fresh] = surroundings_.emplace(key, std::move(made));
  const std::shared_ptr<const Surroundings> found = at->second;
  if (fresh && passing) {
    passing_.push_back(std::move(key));
    if (passing_.size() > kPairs) {
      surroundings_.erase(passing_.front());
      passing_.pop_front();
    }
  }
  return found;
}

Plan Surroundings::plan(const Indices& parent, const Indices& states, const Indices& ends) const {
  Indices shape = parent;
  shape.insert(shape.end(), ends.begin(), ends.end());
  std::shared_ptr<const Plan> made;
  {
    const std::lock_guard<std::mutex> lock(plans_->mutex);
    if (auto found = plans_->by_shape.find(shape); found != plans_->by_shape.end()) made = found->second;
  }
  if (!made) {
    std::vector<Column> columns;
    Indices usual(states.size(), kUsual);
    for (std::size_t j = 0; j < ends.size(); ++j) {
      columns.push_back({ends[j], ids[j], known[j]->likelihood, {}, {}});
      usual[ends[j]] = states[ends[j]];
    }
    made = std::make_shared<const Plan>(compile(parent, std::move(usual), std::move(columns), weights, {}));
    const std::lock_guard<std::mutex> lock(plans_->mutex);
    const auto [at, fresh] = plans_->by_shape.emplace(shape, made);
    made = at->second;
    if (fresh) {
      plans_->order.push_back(std::move(shape));
      if (plans_->order.size() > kShapes) {
        plans_->by_shape.erase(plans_->order.front());
        plans_->order.pop_front();
      }
    }
  }
  return with_states(*made, states);
}

std::vector<End> between(Index a, Index b, Index c) {
  std::vector<End> ends{{a, {std::min(b, c), std::max(b, c)}}, {b, {a}}, {c, {a}}};
  std::sort(ends.begin(), ends.end(), [](const End& x, const End& y) { return x.node < y.node; });
  return ends;
}

Surroundings combine(const std::vector<std::shared_ptr<const Known>>& known, const double* weights, Index rows) {
  Surroundings out;
  out.known = known;
  std::vector<std::size_t> order(known.size());  // the coarsest first: combinations stay few for longest
  for (std::size_t j = 0; j < order.size(); ++j) order[j] = j;
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t i, std::size_t j) { return known[i]->count < known[j]->count; });
  Numbering all;
  all.id.assign(rows, 0);
  all.count = 1;
  Indices own(rows);
  for (std::size_t j : order) {
    const bool values = known[j]->likelihood.empty();
    for (Index r = 0; r < rows; ++r) own[r] = known[j]->ids[r] + values;  // what is missing comes first
    all = number_pairs(all.id, all.count, own, known[j]->count + values);
    out.scale += known[j]->scale;
  }
  out.weights.assign(all.count, 0.0);
  out.row.assign(all.count, -1);
  for (Index r = 0; r < rows; ++r) {
    out.weights[all.id[r]] += weights[r];
    if (out.row[all.id[r]] < 0) out.row[all.id[r]] = r;
  }
  for (const auto& k : known) {
    Indices ids(all.count);
    for (Index i = 0; i < all.count; ++i) ids[i] = k->ids[out.row[i]];
    out.ids.push_back(std::move(ids));
  }
  return out;
}

}  // namespace latentree
