// EM as a state machine: given the outcome at one point, it names the point to evaluate next.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>

#include "engine.hpp"

namespace latentree {
namespace {
constexpr double kInfinity = std::numeric_limits<double>::infinity();
}  // namespace

int checked_int(double value, int most) {
  if (!(value >= 0.0 && value <= most)) throw std::invalid_argument("the state of a run holds a number it cannot have");
  return static_cast<int>(value);
}

Run::Run(const Plan& plan, const Maximiser& maximiser, bool accelerate, std::vector<double> start)
    : parameters(start),
      counts(start.size()),
      plan_(plan),
      maximiser_(maximiser),
      accelerate_(accelerate),
      next_(std::move(start)),
      mapped_(next_.size()),
      total_weight_(std::accumulate(plan.weights.begin(), plan.weights.end(), 0.0)) {}

void Run::absorb(double log_lik, const double* fresh_counts, double tolerance, int max_iterations) {
  ++evaluations;
  const double objective = log_lik + maximiser_.log_prior(plan_, next_.data());
  const bool extrapolated = extrapolated_, started = !trace.empty(), probing = probing_ > 0;
  const double before = probing ? probe_objective_ : started ? trace.back() : -kInfinity;
  extrapolated_ = false;
  if (extrapolated) {
    if (!(objective >= before) || !std::isfinite(objective)) {  // an extrapolation that loses is never taken
      accelerator_.failed();
      next_ = mapped_;
      if (probing && --probing_ == 0) status = Status::converged;
      return;
    }
    accelerator_.succeeded();
  }
  const double gain = objective - before;
  const bool small = gain < tolerance;
  std::vector<double> point = next_;
  if (probing && !(objective > trace.back() + tolerance)) {  // still on the way back to the fixed point, so it seems
    if (--probing_ == 0) {
      status = Status::converged;
      return;
    }
    probe_objective_ = objective;
  } else {
    probing_ = 0;
    if (started && gain < 0.0) {
      // At the top of the hill rounding may take a little back: then the point before stands.
      if (-gain > 1e-9 * (1.0 + std::abs(objective)) + 1e-13 * total_weight_)
        status = Status::decreased;
      else
        probe_saddle();
      return;
    }
    parameters = next_;
    std::copy_n(fresh_counts, counts.size(), counts.begin());
    log_likelihood = log_lik;
    trace.push_back(objective);
    // Impossible data: with a prior the next step may make them possible, so it gets one.
    const bool hopeful = !maximiser_.pseudo.empty() && !started;
    if ((log_lik == -kInfinity && !hopeful) || std::isnan(objective)) {
      status = Status::impossible;
      return;
    }
    if (static_cast<int>(trace.size()) > max_iterations) status = Status::iterations;
  }
  maximiser_.maximise(plan_, fresh_counts, point.data(), mapped_.data());
  ++plain_steps_;
  if (probing_ == 0 && small && !extrapolated) {  // only a plain step may end a run
    probe_saddle();
    return;
  }
  if (accelerate_) {
    const bool wanted = probing_ > 0 || (plain_steps_ > kWarmUp && !small);
    const std::vector<double> own(fresh_counts, fresh_counts + counts.size());
    extrapolated_ = accelerator_.propose(plan_, point, mapped_, own, wanted, next_);
  }
  if (!extrapolated_) next_ = mapped_;
}

// A fixed point may be a saddle: extrapolation can lead to one, and so can a start that is too even.
void Run::probe_saddle() {
  if (!accelerate_) {
    status = Status::converged;
    return;
  }
  probing_ = kProbe;
  probe_objective_ = -kInfinity;
  accelerator_.forget();
  nudge(plan_, maximiser_, parameters, counts, next_);
}

// A head of numbers, four vectors like the parameters, what the accelerator remembers, and the trace.
std::vector<double> Run::state() const {
  std::vector<double> out = {log_likelihood,        double(evaluations),  double(static_cast<int>(status)),
                             double(extrapolated_), double(plain_steps_), double(probing_),
                             probe_objective_};
  for (const auto* part : {&parameters, &counts, &next_, &mapped_}) out.insert(out.end(), part->begin(), part->end());
  accelerator_.append_to(out);
  out.insert(out.end(), trace.begin(), trace.end());
  return out;
}

void Run::restore(const std::vector<double>& state) {
  const std::size_t d = parameters.size();
  if (state.size() < kHead + 4 * d) throw std::invalid_argument("the state of a run is too short");
  log_likelihood = state[0];
  evaluations = checked_int(state[1], std::numeric_limits<int>::max());
  status = static_cast<Status>(checked_int(state[2], static_cast<int>(Status::decreased)));
  extrapolated_ = checked_int(state[3], 1) == 1;
  plain_steps_ = checked_int(state[4], std::numeric_limits<int>::max());
  probing_ = checked_int(state[5], kProbe);
  probe_objective_ = state[6];
  const double* at = state.data() + kHead;
  for (auto* part : {&parameters, &counts, &next_, &mapped_}) {
    std::copy_n(at, d, part->begin());
    at += d;
  }
  const double* end = state.data() + state.size();
  trace.assign(accelerator_.restore(at, end, d), end);
  if (trace.empty() && (probing_ > 0 || extrapolated_))
    throw std::invalid_argument("the state of a run has steps but no trace");
}

Em::Em(std::shared_ptr<const Engine> engine, Maximiser maximiser, bool accelerate,
       std::vector<std::vector<double>> starts)
    : engine_(std::move(engine)), maximiser_(std::move(maximiser)), accelerate_(accelerate) {
  for (auto& s : starts) runs_.push_back(std::make_unique<Run>(engine_->plan(), maximiser_, accelerate, std::move(s)));
}

void Em::keep(const std::vector<std::size_t>& chosen) {
  if (chosen.empty()) throw std::invalid_argument("at least one run to keep");
  for (std::size_t i : chosen)
    if (i >= runs_.size() || std::count(chosen.begin(), chosen.end(), i) > 1)
      throw std::invalid_argument("runs to keep must exist and be named once each");
  std::vector<std::unique_ptr<Run>> kept;
  for (std::size_t i : chosen) {
    Run& run = *runs_[i];
    if (run.status == Status::iterations) run.status = Status::running;  // it may go on
    kept.push_back(std::move(runs_[i]));
  }
  for (const auto& run : runs_)
    if (run) given_up_ += run->evaluations;
  runs_ = std::move(kept);
}

std::size_t Em::compete(int first, int steps, double tolerance, double goal, double hope) {
  auto worth = [&](std::size_t i) {
    const auto& trace = runs_[i]->trace;
    return trace.empty() || std::isnan(trace.back()) ? -kInfinity : trace.back();
  };
  auto ranked = [&] {
    std::vector<std::size_t> order(runs_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return worth(a) > worth(b); });
    return order;
  };
  double last = -kInfinity;
  for (int done = first; done < steps; done = 2 * done + 1) {
    advance(done, tolerance, kInfinity, 1);
    std::vector<std::size_t> order = ranked();
    const double best = worth(order[0]);
    if (best + hope * (best - last) < goal) return order[0];
    order.resize((order.size() + 1) / 2);
    std::sort(order.begin(), order.end());
    keep(order);
    last = best;
  }
  advance(steps, tolerance, kInfinity, 1);
  return ranked()[0];
}

std::vector<double> Em::asked() const {
  std::vector<double> points;
  for (const auto& run : runs_)
    if (run->status == Status::running) points.insert(points.end(), run->next().begin(), run->next().end());
  return points;
}

void Em::answer(const double* log_lik, const double* counts, std::size_t n, int max_iterations, double tolerance) {
  const std::size_t d = static_cast<std::size_t>(engine_->plan().n_parameters);
  std::vector<Run*> open;
  for (auto& run : runs_)
    if (run->status == Status::running) open.push_back(run.get());
  if (open.size() != n) throw std::invalid_argument("one answer for each point asked for");
  for (std::size_t i = 0; i < n; ++i) open[i]->absorb(log_lik[i], counts + i * d, tolerance, max_iterations);
}

void Em::restore(const std::vector<std::vector<double>>& states, int given_up) {
  std::vector<std::unique_ptr<Run>> runs;
  for (const auto& state : states) {
    runs.push_back(std::make_unique<Run>(engine_->plan(), maximiser_, accelerate_,
                                         std::vector<double>(engine_->plan().n_parameters)));
    runs.back()->restore(state);
  }
  if (runs.empty() || given_up < 0) throw std::invalid_argument("at least one run to restore");
  runs_ = std::move(runs);
  given_up_ = given_up;
}

bool Em::advance(int max_iterations, double tolerance, double seconds, int threads) {
  using Clock = std::chrono::steady_clock;
  const auto began = Clock::now();
  const int lanes = engine_->best_lanes(static_cast<int>(runs_.size()));
  auto out_of_time = [&] { return std::chrono::duration<double>(Clock::now() - began).count() > seconds; };
  std::vector<Run*> open;
  for (auto& run : runs_)
    if (run->status == Status::running) open.push_back(run.get());
  if (open.empty()) return true;
  const Index groups = static_cast<Index>((open.size() + lanes - 1) / lanes);
  Team team(std::clamp(threads, 1, std::max<int>(groups, static_cast<int>(engine_->plan().cuts.size()) - 1)));
  const Parallel over_rows = [&](Index n, const std::function<void(Index)>& task) { team(n, task); };
  const Parallel alone = serial;
  const std::size_t d = static_cast<std::size_t>(engine_->plan().n_parameters);

  auto work = [&](Index group, const Parallel& parallel) {
    Run** first = open.data() + std::size_t(group) * lanes;
    const int n = static_cast<int>(std::min<std::size_t>(lanes, open.size() - std::size_t(group) * lanes));
    std::vector<double> counts(d * n), log_lik(n);
    std::vector<const double*> at(n);
    std::vector<double*> into(n);
    for (;;) {
      bool any = false;
      for (int b = 0; b < n; ++b) {
        at[b] = first[b]->next().data();
        into[b] = counts.data() + d * b;
        any = any || first[b]->status == Status::running;
      }
      if (!any) return;
      engine_->evaluate_group(at.data(), n, lanes, log_lik.data(), into.data(), parallel);
      for (int b = 0; b < n; ++b)
        if (first[b]->status == Status::running) first[b]->absorb(log_lik[b], into[b], tolerance, max_iterations);
      if (out_of_time()) return;
    }
  };
  if (groups == 1)
    work(0, over_rows);
  else
    team(groups, [&](Index g) { work(g, alone); });
  return std::none_of(open.begin(), open.end(), [](const Run* run) { return run->status == Status::running; });
}

}  // namespace latentree
