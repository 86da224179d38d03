// EM as a machine: told the outcome at one point, it says which point to look at next.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

#include "engine.hpp"

namespace latentree {

Run::Run(const Plan& plan, const Maximiser& maximiser, Acceleration acceleration, std::vector<double> start)
    : counts(start.size()), plan_(plan), maximiser_(maximiser), acceleration_(acceleration), next_(std::move(start)),
      mapped_(next_.size()) {}

void Run::absorb(double log_lik, const double* fresh_counts, double tolerance, int max_iterations) {
  ++evaluations;
  const double objective = log_lik + maximiser_.log_prior(next_.data());
  if (bold_ && !(objective >= trace.back())) {  // an extrapolation that loses is never taken
    bold_ = false;
    next_ = mapped_;
    patience_ = 0;
    dx_.clear();
    df_.clear();
    last_x_.clear();
    return;
  }
  const bool started = !trace.empty();
  const double gain = started ? objective - trace.back() : std::numeric_limits<double>::infinity();
  parameters = next_;
  std::copy_n(fresh_counts, counts.size(), counts.begin());
  log_likelihood = log_lik;
  trace.push_back(objective);
  if (objective == -std::numeric_limits<double>::infinity() || std::isnan(objective)) {
    status = Status::impossible;
    return;
  }
  maximiser_.maximise(plan_, counts.data(), parameters.data(), mapped_.data());
  if (started && gain < tolerance) {
    status = Status::converged;
  } else if (static_cast<int>(trace.size()) > max_iterations) {
    status = Status::iterations;
  }
  propose();
}

void Run::propose() {
  bold_ = acceleration_ == Acceleration::anderson && extrapolate();
  if (!bold_) next_ = mapped_;
}

bool Run::extrapolate() { return false; }

Em::Em(std::shared_ptr<const Engine> engine, Maximiser maximiser, Acceleration acceleration,
       std::vector<std::vector<double>> starts)
    : engine_(std::move(engine)), maximiser_(std::move(maximiser)) {
  lanes_ = engine_->best_lanes(static_cast<int>(starts.size()));
  runs_.reserve(starts.size());
  for (auto& s : starts) runs_.emplace_back(engine_->plan(), maximiser_, acceleration, std::move(s));
}

void Em::reopen() {
  for (Run& run : runs_)
    if (run.status == Status::iterations) run.status = Status::running;
}

bool Em::advance(int max_iterations, double tolerance, double seconds, int threads) {
  using Clock = std::chrono::steady_clock;
  const auto began = Clock::now();
  auto out_of_time = [&] { return std::chrono::duration<double>(Clock::now() - began).count() > seconds; };
  std::vector<Run*> open;
  for (Run& run : runs_)
    if (run.status == Status::running) open.push_back(&run);
  if (open.empty()) return true;
  const Index groups = static_cast<Index>((open.size() + lanes_ - 1) / lanes_);
  Team team(std::clamp(threads, 1, std::max<int>(groups, static_cast<int>(engine_->plan().cuts.size()) - 1)));
  const Parallel over_rows = [&](Index n, const std::function<void(Index)>& task) { team(n, task); };
  const Parallel alone = serial;
  const std::size_t d = static_cast<std::size_t>(engine_->plan().n_parameters);

  auto work = [&](Index group, const Parallel& parallel) {
    Run** first = open.data() + std::size_t(group) * lanes_;
    const int n = static_cast<int>(std::min<std::size_t>(lanes_, open.size() - std::size_t(group) * lanes_));
    std::vector<double> counts(d * lanes_), log_lik(lanes_);
    std::vector<const double*> at(lanes_);
    std::vector<double*> into(lanes_);
    for (;;) {
      bool any = false;
      for (int b = 0; b < lanes_; ++b) {
        at[b] = first[std::min(b, n - 1)]->next().data();
        into[b] = counts.data() + d * b;
        any = any || (b < n && first[b]->status == Status::running);
      }
      if (!any || out_of_time()) return;
      engine_->evaluate(at.data(), lanes_, log_lik.data(), into.data(), parallel);
      for (int b = 0; b < n; ++b)
        if (first[b]->status == Status::running) first[b]->absorb(log_lik[b], into[b], tolerance, max_iterations);
    }
  };
  if (groups == 1)
    work(0, over_rows);
  else
    team(groups, [&](Index g) { work(g, alone); });
  for (const Run& run : runs_)
    if (run.status == Status::running) return false;
  return true;
}

}  // namespace latentree
