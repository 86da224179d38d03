// One pass over a plan: messages up, log-likelihood at the top, expected counts on the way down.
#pragma once
#include <functional>
#include <memory>
#include <vector>

#include "plan.hpp"

namespace latentree {

// Runs `task(i)` for i = 0..n-1, on however many threads it likes; the result may not depend on that.
using Parallel = std::function<void(Index n, const std::function<void(Index)>& task)>;

void serial(Index n, const std::function<void(Index)>& task);

struct AlignedFree {
  void operator()(double* p) const;
};
using Buffer = std::unique_ptr<double[], AlignedFree>;
Buffer zeros(std::size_t n);

// Room for one pass. `lanes` parameter sets are worked on side by side ([row][state][lane]);
// with a single one its states fill the vector lanes instead ([row][padded states]).
struct Kernels;

struct Workspace {
  struct Table {
    double* value = nullptr;
    double* mass = nullptr;
    double* scale = nullptr;  // [row][2][lane]: log-scale, and how much an entry may have lost to underflow
    std::size_t stride = 0;   // doubles from one row to the next
  };
  const Kernels* kernels = nullptr;  // those it was made by
  int lanes = 1;
  std::vector<Table> tables;   // per slot
  std::vector<double*> edges;  // per op (edges): matrix both ways round, then its counts
  double* prior = nullptr;
  std::vector<std::vector<double*>> piece_mass;  // [piece - 1][top part]: mass kept apart until the pieces are added
  std::vector<Buffer> buffers;

  // Not inline: what the kernels' files compile for one instruction set must not be linked into code for all machines.
  Workspace();
  ~Workspace();
  Workspace(Workspace&&) noexcept;
  Workspace& operator=(Workspace&&) noexcept;
};

struct Pass {
  const Plan& plan;
  Workspace& work;
  const double* const* parameters;              // [lanes]
  double* const* counts;                        // [lanes], added to; nullptr: no way down
  double* log_likelihood;                       // [lanes], set
  double* row_log_likelihood;                   // [top rows] (one lane only), or nullptr
  std::vector<std::pair<Index, int>>* refused;  // (top row, lane) that must be redone in logs
  const Parallel& parallel;
};

struct Kernels {
  const char* name;
  int width;  // doubles in the widest vector
  Workspace (*make_workspace)(const Plan&, int lanes);
  void (*run)(const Pass&);
  void (*log_all)(const double* x, double* out, std::size_t n);  // x positive and normal
  void (*exp_all)(const double* x, double* out, std::size_t n);  // x between -700 and 700
  double (*dot)(const double* a, const double* b, std::size_t n);
  // over arrays [state][row], for relocations
  void (*mix)(const double* given, const double* rows, std::size_t stride, Index states, std::size_t n, double* out);
  void (*mix_factors)(const double* given, const double* rows, std::size_t stride, const double* factor,
                      std::size_t factor_stride, Index states, std::size_t n, double* out);
  double (*weigh_logs)(const double* weights, const double* over, const double* under, std::size_t n);
  void (*believe)(const double* p, std::size_t stride, const double* factor, std::size_t factor_stride, Index states,
                  std::size_t n, double* q, std::size_t q_stride);
  double (*slopes)(const double* q, std::size_t q_stride, Index states, const double* given, const double* rows,
                   std::size_t stride, Index seen, const double* weights, std::size_t n, double* slope);
  void (*scale_rows)(double* factor, std::size_t stride, Index states, std::size_t n);
};

// Those in use: the best that this machine can run, unless others were named ("baseline", "avx2", "avx512").
const Kernels& kernels();
std::vector<const char*> available_kernels();
void use_kernels(const char* name);

// One data row in logarithms, for rows that underflow: adds weight x expected counts, returns log P(row).
// Entries of `posterior` (a vector of states per node, or nullptr) are set. With `root_message`, that is set to the
// logarithms of what all evidence says about the model's root, and the evidence's own log-scale is returned instead.
double log_space_row(const Plan& plan, const double* parameters, Index data_row, double weight, double* counts,
                     double* posterior, double* root_message = nullptr);

}  // namespace latentree
