// A plan: one tree and its evidence, compiled into a schedule of shared sub-patterns.
//
// What a branch of the tree says depends only on the values of the columns below it. Each branch
// therefore keeps one row of messages per *distinct sub-pattern*, however many data rows share it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace latentree {

using Index = std::int32_t;
using Indices = std::vector<Index>;

constexpr Index kMaxParts = 16;  // parts of one product

// Values seen at one node: an id per data row. Without a likelihood table the id is the state itself
// (-1: missing). With one, row `id` of the table says how likely each state of the node makes what was seen.
struct Column {
  Index node;
  Indices ids;
  std::vector<double> likelihood;      // [n_ids][states], empty for hard values
  std::vector<double> log_scale;       // [n_ids], empty when all are zero
  std::vector<double> log_likelihood;  // [n_ids][states], for entries too small for `likelihood`; empty: its logarithms
  bool hard() const { return likelihood.empty(); }
};

// A table of messages into one node: a row per distinct sub-pattern, a column per state.
struct Slot {
  Index node = -1;  // into which the messages go
  Index rows = 0;
  Index states = 0;
  int depth = 0;                  // leaves multiplied since the rows were last rescaled
  bool constant = false;          // given from outside: mass that flows into it is dropped
  bool scaled = false;            // rows carry a log-scale
  std::vector<double> value;      // constant slots only
  std::vector<double> log_scale;  // constant slots only
};

enum class Kind { leaf, product, edge };

struct Op {
  Kind kind;
  Index out;
  std::vector<Index> in;  // product: its parts; edge: the one message that is carried over
  Indices index;          // product: [rows of out][parts], which row of each part
  Index node = -1;        // leaf, edge: the node whose table is used (the lower end in the model's rooting)
  bool reversed = false;  // edge: the message runs from the model's parent down to its child
};

struct Plan {
  // the model's layout: table of node v is [states of parent][states of v] at offset[v]
  Indices parent, states;
  std::vector<std::int64_t> offset;
  std::int64_t n_parameters = 0;

  std::vector<Column> columns;
  std::vector<Slot> slots;
  std::vector<Op> ops;  // bottom up

  // the top: where all messages meet, in node `root` (any inner node, not only the model's root)
  Index root = 0;
  std::vector<Index> top;       // slots
  Indices top_index;            // [top rows][parts], sorted by the first part
  std::vector<double> weights;  // per top row
  Indices row_of;               // data row -> top row (-1: weight zero everywhere is still mapped)
  Indices representative;       // top row -> a data row with this pattern
  std::vector<Index> cuts;      // top rows are worked on in these fixed pieces, whatever the threads

  Index n_rows() const { return static_cast<Index>(weights.size()); }
  double work() const;          // multiply-adds of one pass, for choosing and for the benchmarks
  std::size_t n_bytes() const;  // memory it takes, but for what does not grow with the data
};

struct PlanOptions {
  bool share = true;  // false: one message row per data row (what sharing is measured against)
  Index root = -1;    // -1: choose the cheapest
};

// The same plan for other numbers of states; those of nodes with evidence stay.
Plan with_states(Plan plan, Indices states);

Plan compile(Indices parent, Indices states, std::vector<Column> columns, const std::vector<double>& weights,
             const PlanOptions& options);

}  // namespace latentree
