// The slow, safe path: one data row at a time, everything in logarithms, straight over the model's tree.
#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels.hpp"

namespace latentree {
namespace {

constexpr double kNone = -std::numeric_limits<double>::infinity();

double log_sum_exp(const double* x, Index n) {
  const double most = *std::max_element(x, x + n);
  if (most == kNone) return kNone;
  double sum = 0.0;
  for (Index i = 0; i < n; ++i) sum += std::exp(x[i] - most);
  return most + std::log(sum);
}

}  // namespace

double log_space_row(const Plan& plan, const double* parameters, Index data_row, double weight, double* counts,
                     double* posterior, double* root_message) {
  const Index n = static_cast<Index>(plan.parent.size());
  std::vector<std::vector<double>> below(n), message(n), outside(n);
  std::vector<bool> inner(n, false), silent(n, false);
  for (Index v = 1; v < n; ++v) inner[plan.parent[v]] = true;
  inner[0] = true;
  std::vector<int> n_columns(n, 0);
  for (const Column& column : plan.columns) ++n_columns[column.node];
  double offset = 0.0;  // log-scales of soft evidence
  for (Index v = 0; v < n; ++v) below[v].assign(plan.states[v], 0.0);
  for (const Column& column : plan.columns) {
    const Index v = column.node, k = plan.states[v], id = column.ids[data_row];
    if (column.hard()) {
      if (id < 0)
        silent[v] = !inner[v] && n_columns[v] == 1;  // a leaf of which nothing is known takes no part
      else
        for (Index i = 0; i < k; ++i) below[v][i] += i == id ? 0.0 : kNone;
    } else {
      const bool logs = !column.log_likelihood.empty();
      for (Index i = 0; i < k; ++i) {
        const std::size_t at = std::size_t(id) * k + i;
        below[v][i] += logs ? column.log_likelihood[at] : std::log(column.likelihood[at]);
      }
      if (!column.log_scale.empty()) offset += column.log_scale[id];
    }
  }
  auto log_table = [&](Index v, Index p, Index x) {
    return std::log(parameters[plan.offset[v] + std::int64_t(p) * plan.states[v] + x]);
  };
  std::vector<double> terms;
  for (Index v = n - 1; v > 0; --v) {
    const Index u = plan.parent[v], k = plan.states[v];
    message[v].assign(plan.states[u], 0.0);
    if (silent[v]) continue;
    terms.resize(k);
    for (Index p = 0; p < plan.states[u]; ++p) {
      for (Index x = 0; x < k; ++x) terms[x] = log_table(v, p, x) + below[v][x];
      message[v][p] = log_sum_exp(terms.data(), k);
      below[u][p] += message[v][p];
    }
  }
  if (root_message) {
    for (Index i = 0; i < plan.states[0]; ++i) root_message[i] = below[0][i];
    return offset;
  }
  outside[0].resize(plan.states[0]);
  terms.resize(plan.states[0]);
  for (Index i = 0; i < plan.states[0]; ++i) {
    outside[0][i] = log_table(0, 0, i);
    terms[i] = outside[0][i] + below[0][i];
  }
  const double total = log_sum_exp(terms.data(), plan.states[0]);
  if ((!counts && !posterior) || total == kNone) return total + offset;

  for (Index i = 0; counts && i < plan.states[0]; ++i) counts[i] += weight * std::exp(terms[i] - total);
  for (Index v = 1; v < n; ++v) {
    const Index u = plan.parent[v], k = plan.states[v];
    // what everything but the branch at v says of its parent
    std::vector<double> rest(plan.states[u]);
    for (Index p = 0; p < plan.states[u]; ++p)
      rest[p] = message[v][p] == kNone ? kNone : outside[u][p] + below[u][p] - message[v][p];
    outside[v].assign(k, kNone);
    for (Index x = 0; x < k; ++x) {
      terms.resize(plan.states[u]);
      for (Index p = 0; p < plan.states[u]; ++p) {
        terms[p] = rest[p] + log_table(v, p, x);
        if (counts && !silent[v])
          counts[plan.offset[v] + std::int64_t(p) * k + x] += weight * std::exp(terms[p] + below[v][x] - total);
      }
      outside[v][x] = log_sum_exp(terms.data(), plan.states[u]);
    }
  }
  if (posterior)
    for (Index v = 0; v < n; ++v)
      for (Index x = 0; x < plan.states[v]; ++x) *posterior++ = std::exp(outside[v][x] + below[v][x] - total);
  return total + offset;
}

}  // namespace latentree
