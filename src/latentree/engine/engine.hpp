// The one primitive, (model, table) -> log-likelihood and expected counts, and the EM loop on it.
#pragma once
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "kernels.hpp"
#include "team.hpp"

namespace latentree {

class Engine {
 public:
  explicit Engine(Plan plan) : plan_(std::move(plan)) {}
  const Plan& plan() const { return plan_; }

  // Log-likelihood and (counts != nullptr) expected counts of `lanes` parameter sets; counts are set.
  void evaluate(const double* const* parameters, int lanes, double* log_likelihood, double* const* counts,
                const Parallel& parallel) const;

  // The same for n <= lanes sets; the lanes that are left over repeat the last set.
  void evaluate_group(const double* const* parameters, int n, int lanes, double* log_likelihood, double* const* counts,
                      const Parallel& parallel) const;

  std::vector<double> row_log_likelihood(const double* parameters, const Parallel& parallel) const;  // per top row

  // P(node | row) for each node asked, one after the other: [top rows][sum of states].
  std::vector<double> posteriors(const double* parameters, const std::vector<Index>& nodes) const;

  // Messages of the top parts multiplied, one row per top row, largest entry 1, and their log-scales:
  // what everything in this plan says about the model's root (its own prior left out), also in logarithms.
  void root_messages(const double* parameters, std::vector<double>& rows, std::vector<double>& log_scale,
                     std::vector<double>& logs) const;

  // Lanes in which several parameter sets fill the vectors better than the states of one.
  int best_lanes(int n_sets) const;

 private:
  std::unique_ptr<Workspace> acquire(int lanes) const;
  void release(std::unique_ptr<Workspace> work) const;

  Plan plan_;
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<Workspace>> idle_;
};

// How new parameters follow from expected counts: counts + pseudo-counts, normalised row by row.
// Held entries keep their value and the others share what they leave.
struct Maximiser {
  std::vector<double> pseudo;      // empty: none
  std::vector<std::uint8_t> held;  // empty: none

  void maximise(const Plan& plan, const double* counts, const double* old, double* fresh) const;
  double log_prior(const Plan& plan, const double* parameters) const;  // sum of pseudo * log(parameter)
};

// Extrapolates the EM map from its last few steps.
class Accelerator {
 public:
  // Given a point, its EM step and the counts there; if wanted, proposes another point (false: nothing to propose).
  bool propose(const Plan& plan, const std::vector<double>& at, const std::vector<double>& mapped,
               const std::vector<double>& counts, bool wanted, std::vector<double>& proposal);
  void succeeded();
  void failed();  // the proposal lost: forget, and stretch less
  void forget();
  void append_to(std::vector<double>& state) const;
  const double* restore(const double* from, const double* end, std::size_t size);  // where the rest begins

 private:
  static constexpr std::size_t kMemory = 5;
  std::vector<double> x_, f_;                            // logarithms of the last point, and of its EM step less these
  std::vector<std::vector<double>> points_, residuals_;  // differences of these
  double longest_ = 100.0;                               // by how much a step may be stretched
};

// A point nearby, to see whether a fixed point of EM is one that EM would leave.
void nudge(const Plan& plan, const Maximiser& maximiser, const std::vector<double>& at,
           const std::vector<double>& counts, std::vector<double>& out);

// A number of a saved state as a whole number from 0 to `most`; anything else is refused.
int checked_int(double value, int most);

enum class Status : int { running = 0, converged = 1, iterations = 2, impossible = 3, decreased = 4 };

// One EM run as a state machine: given the outcome at one point, it names the point to evaluate next.
class Run {
 public:
  Run(const Plan& plan, const Maximiser& maximiser, bool accelerate, std::vector<double> start);
  const std::vector<double>& next() const { return next_; }
  void absorb(double log_likelihood, const double* counts, double tolerance, int max_iterations);

  // All that the rest of the run depends on, as numbers to keep in a file, and the way back.
  std::vector<double> state() const;
  void restore(const std::vector<double>& state);

  std::vector<double> parameters, counts;  // the last accepted point
  std::vector<double> trace;               // its objective, never decreasing
  double log_likelihood = 0.0;
  int evaluations = 0;
  Status status = Status::running;

 private:
  void probe_saddle();

  static constexpr std::size_t kHead = 7;  // numbers before the vectors of a state
  static constexpr int kWarmUp = 20;       // plain steps first: they choose the basin
  static constexpr int kProbe = 20;        // passes spent to see whether a fixed point is a saddle

  const Plan& plan_;
  const Maximiser& maximiser_;
  bool accelerate_;
  bool extrapolated_ = false;          // next_ was extrapolated
  std::vector<double> next_, mapped_;  // mapped_: the EM step from the last point
  Accelerator accelerator_;
  int plain_steps_ = 0;
  int probing_ = 0;  // passes left to see whether a fixed point is a saddle
  double probe_objective_ = 0.0;
  double total_weight_;
};

class Em {
 public:
  Em(std::shared_ptr<const Engine> engine, Maximiser maximiser, bool accelerate,
     std::vector<std::vector<double>> starts);
  Em(const Em&) = delete;  // runs know its maximiser
  Em& operator=(const Em&) = delete;
  // Advances every unfinished run until it has converged, made `max_iterations` steps in all, or `seconds` are over.
  // True when all runs have stopped.
  bool advance(int max_iterations, double tolerance, double seconds, int threads);
  const Run& run(std::size_t i) const { return *runs_.at(i); }
  std::size_t n_runs() const { return runs_.size(); }
  std::size_t n_parameters() const { return static_cast<std::size_t>(engine_->plan().n_parameters); }
  std::mutex& mutex() { return mutex_; }
  void keep(const std::vector<std::size_t>& chosen);  // drops the others; those stopped by their iterations go on
  // Successive halving: all runs take `first` steps (one, say), the better half go on until they have taken one more
  // than twice as many (three), the better half of these again (seven), and so on up to `steps`; the others are
  // dropped. Given up when `hope` more gains like the last would not reach the goal. The best run that is left.
  std::size_t compete(int first, int steps, double tolerance, double goal, double hope);
  // Advancing in two halves, for data that lie elsewhere: the points [n][parameters] at which the unfinished runs want
  // to know log-likelihood and counts, and the answers in the same order.
  std::vector<double> asked() const;
  void answer(const double* log_likelihood, const double* counts, std::size_t n, int max_iterations, double tolerance);
  int given_up() const { return given_up_; }  // passes spent on runs that were dropped
  void restore(const std::vector<std::vector<double>>& states, int given_up);

 private:
  std::shared_ptr<const Engine> engine_;
  Maximiser maximiser_;
  bool accelerate_;
  int given_up_ = 0;
  std::vector<std::unique_ptr<Run>> runs_;
  std::mutex mutex_;  // one call at a time
};

}  // namespace latentree
