// Python sees arrays in, arrays out.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <limits>
#include <set>

#include "arrays.hpp"
#include "distinct.hpp"
#include "engine.hpp"
#include "text_rows.hpp"

namespace nb = nanobind;
using namespace latentree;

void bind_sampler(nb::module_& m);  // bind_sampler.cpp
void bind_search(nb::module_& m);   // bind_search.cpp

namespace {

using Vector = In<double, nb::ndim<1>>;
using Matrix = In<double, nb::ndim<2>>;
using IntVector = In<std::int32_t, nb::ndim<1>>;
using EvidenceColumn =
    std::tuple<Index, IntVector, std::optional<Matrix>, std::optional<Vector>, std::optional<Matrix>>;

using TextCells =
    std::tuple<IntVector, std::optional<In<std::uint8_t, nb::ndim<1>>>, std::optional<In<std::int64_t, nb::ndim<1>>>>;

void check_ends(const In<std::int64_t, nb::ndim<1>>& ends, std::size_t length) {
  std::int64_t before = 0;
  for (std::size_t i = 0; i < ends.size(); ++i) {
    require(ends(i) >= before, "texts that end in order");
    before = ends(i);
  }
  require(before <= static_cast<std::int64_t>(length), "texts that end within all of them");
}

constexpr std::size_t kMostRows = std::numeric_limits<Index>::max() - 1;  // rows are numbered by Index

void check_column(const Column& c, const std::vector<Index>& states, std::size_t n_rows) {
  require(c.ids.size() == n_rows, "evidence must have one id for each row");
  const Index k = states[c.node];
  const Index n_ids = c.hard() ? k : static_cast<Index>(c.likelihood.size() / k);
  const Index least = c.hard() ? -1 : 0;
  for (Index id : c.ids) require(id >= least && id < n_ids, "evidence ids out of range");
  require(c.log_scale.empty() || c.log_scale.size() == std::size_t(n_ids), "one log-scale for each id");
  require(c.log_likelihood.empty() || c.log_likelihood.size() == c.likelihood.size(),
          "log-likelihoods like likelihoods");
}

void check_parameters(const Engine& e, std::size_t size) {
  require(std::int64_t(size) == e.plan().n_parameters, "as many parameters as the plan's tables have entries");
}

std::shared_ptr<Engine> make_engine(IntVector parent, IntVector states, const std::vector<EvidenceColumn>& columns,
                                    Vector weights, bool share, Index root) {
  std::vector<Column> own;
  auto p = copy<Index>(parent), k = copy<Index>(states);
  auto w = copy<double>(weights);
  const std::size_t n = p.size();
  require(n > 0 && k.size() == n && p[0] == -1, "a tree needs a root and as many cardinalities as nodes");
  for (std::size_t v = 0; v < n; ++v)
    require(k[v] >= 1 && (v == 0 || (p[v] >= 0 && std::size_t(p[v]) < v)),
            "parents before children, states at least 1");
  require(w.size() <= kMostRows, "fewer rows");
  require(root >= -1 && root < static_cast<Index>(n), "no such meeting point");
  require(root <= 0 || std::count(p.begin(), p.end(), root) > 0, "messages cannot meet at the end of a branch");
  for (const auto& [node, ids, likelihood, scale, logs] : columns) {
    Column c;
    c.node = node;
    c.ids = copy<Index>(ids);
    require(node >= 0 && std::size_t(node) < n, "evidence on a node that is not there");
    require(!likelihood || likelihood->shape(1) == std::size_t(k[node]),
            "likelihoods must have a column for each state");
    require(!likelihood || likelihood->shape(0) > 0 || w.empty(), "likelihoods must have a row for each id");
    require(likelihood ? !logs || logs->shape(1) == likelihood->shape(1) : !scale && !logs,
            "log-scales and log-likelihoods belong to likelihoods of the same shape");
    if (likelihood) c.likelihood = copy<double>(*likelihood);
    if (scale) c.log_scale = copy<double>(*scale);
    if (logs) c.log_likelihood = copy<double>(*logs);
    check_column(c, k, w.size());
    own.push_back(std::move(c));
  }
  const nb::gil_scoped_release release;
  return std::make_shared<Engine>(compile(std::move(p), std::move(k), std::move(own), w, {share, root}));
}

// Calls f() while no other thread can advance or change the runs.
template <class F>
auto locked(Em& e, F f) {
  const nb::gil_scoped_release release;
  const std::lock_guard<std::mutex> lock(e.mutex());
  return f();
}

}  // namespace

NB_MODULE(_core, m) {
  m.doc() = "latentree's kernels";
  m.def("kernels", [] { return std::string(kernels().name); });
  m.def("available_kernels", [] {
    std::vector<std::string> names;
    for (const char* n : available_kernels()) names.emplace_back(n);
    return names;
  });
  m.def("use_kernels", [](const std::string& name) { use_kernels(name.c_str()); });

  m.def("distinct_rows",
        [](nb::ndarray<const std::int16_t, nb::ndim<2>, nb::f_contig, nb::device::cpu> codes, IntVector states) {
          require(states.size() == codes.shape(1), "one number of states for each column");
          require(codes.shape(0) <= kMostRows, "fewer rows");
          for (std::size_t c = 0; c < states.size(); ++c) require(states(c) >= 1, "at least one state for each column");
          std::vector<const std::int16_t*> columns;
          const std::int64_t n = static_cast<std::int64_t>(codes.shape(0));
          for (std::size_t c = 0; c < codes.shape(1); ++c) columns.push_back(codes.data() + c * std::size_t(n));
          auto k = copy<Index>(states);
          Distinct d;
          {
            const nb::gil_scoped_release release;
            d = distinct_rows(columns, k, n);
          }
          return std::make_tuple(to_numpy(std::move(d.inverse)), to_numpy(std::move(d.first)));
        });

  m.def("text_rows", [](const std::vector<TextCells>& columns, std::size_t n_rows, char between) {
    std::vector<TextColumn> own;
    for (const auto& [codes, text, ends] : columns) {
      require(codes.size() == n_rows, "one code for each row");
      require(text.has_value() == ends.has_value(), "texts and where they end");
      if (ends) check_ends(*ends, text->size());
      const std::int64_t above = ends ? static_cast<std::int64_t>(ends->size()) : kMillion + 1;
      for (std::size_t r = 0; r < n_rows; ++r) require(codes(r) >= -1 && codes(r) < above, "codes of texts");
      own.push_back(
          {codes.data(), ends ? reinterpret_cast<const char*>(text->data()) : nullptr, ends ? ends->data() : nullptr});
    }
    std::vector<char> lines;
    {
      const nb::gil_scoped_release release;
      lines = text_rows(own, n_rows, between);
    }
    return nb::bytes(lines.data(), lines.size());
  });

  nb::class_<Engine>(m, "Engine")
      .def_prop_ro("n_rows", [](const Engine& e) { return e.plan().n_rows(); })
      .def_prop_ro("n_parameters", [](const Engine& e) { return e.plan().n_parameters; })
      .def_prop_ro("root", [](const Engine& e) { return e.plan().root; })
      .def_prop_ro("work", [](const Engine& e) { return e.plan().work(); })
      .def_prop_ro(
          "row_of", [](const Engine& e) { return to_numpy(Indices(e.plan().row_of)); }, nb::rv_policy::automatic)
      .def_prop_ro(
          "row_weights", [](const Engine& e) { return to_numpy(std::vector<double>(e.plan().weights)); },
          nb::rv_policy::automatic)
      .def_prop_ro("slots",
                   [](const Engine& e) {
                     std::vector<std::tuple<Index, Index, bool>> out;
                     for (const Slot& s : e.plan().slots) out.emplace_back(s.rows, s.states, s.scaled);
                     return out;
                   })
      .def_prop_ro("top", [](const Engine& e) { return e.plan().top; })
      .def("best_lanes", &Engine::best_lanes)
      .def("evaluate",
           [](const Engine& e, Matrix parameters, bool with_counts, int threads, int lanes) {
             const std::size_t n = parameters.shape(0), d = parameters.shape(1);
             check_parameters(e, d);
             require(lanes >= 0 && (lanes & (lanes - 1)) == 0 && lanes <= kernels().width,
                     "lanes: a power of two, no more than fit");
             require(n <= kMostRows, "fewer sets of parameters");
             std::vector<double> counts(with_counts ? n * d : 0), log_lik(n);
             {
               const nb::gil_scoped_release release;
               Team team(std::min<int>(threads, static_cast<int>(e.plan().cuts.size()) - 1));
               const Parallel over_rows = [&](Index k, const std::function<void(Index)>& task) { team(k, task); };
               const std::size_t w = lanes > 0 ? lanes : e.best_lanes(static_cast<int>(n));
               std::vector<const double*> at(n);
               std::vector<double*> into(n);
               for (std::size_t i = 0; i < n; ++i) {
                 at[i] = parameters.data() + i * d;
                 if (with_counts) into[i] = counts.data() + i * d;
               }
               for (std::size_t i = 0; i < n; i += w)
                 e.evaluate_group(&at[i], static_cast<int>(std::min(w, n - i)), static_cast<int>(w), &log_lik[i],
                                  with_counts ? &into[i] : nullptr, over_rows);
             }
             return std::make_tuple(to_numpy(std::move(log_lik)), with_counts
                                                                      ? to_numpy(std::move(counts), {n, d})
                                                                      : to_numpy(std::vector<double>(), {0, d}));
           })
      .def("row_log_likelihood",
           [](const Engine& e, Vector parameters, int threads) {
             std::vector<double> out;
             check_parameters(e, parameters.size());
             {
               const nb::gil_scoped_release release;
               Team team(std::min<int>(threads, static_cast<int>(e.plan().cuts.size()) - 1));
               out = e.row_log_likelihood(parameters.data(),
                                          [&](Index k, const std::function<void(Index)>& t) { team(k, t); });
             }
             return to_numpy(std::move(out));
           })
      .def("posteriors",
           [](const Engine& e, Vector parameters, const std::vector<Index>& nodes) {
             std::vector<double> out;
             std::size_t width = 0;
             check_parameters(e, parameters.size());
             for (Index v : nodes) {
               require(v >= 0 && std::size_t(v) < e.plan().states.size(), "no such node");
               require(std::count(nodes.begin(), nodes.end(), v) == 1, "each node once");
               width += e.plan().states[v];
             }
             {
               const nb::gil_scoped_release release;
               out = e.posteriors(parameters.data(), nodes);
             }
             const std::size_t rows = e.plan().n_rows();
             return to_numpy(std::move(out), {rows, width});
           })
      .def_prop_ro("n_bytes", [](const Engine& e) { return e.plan().n_bytes(); })
      .def("root_messages", [](const Engine& e, Vector parameters) {
        std::vector<double> rows, scale, logs;
        check_parameters(e, parameters.size());
        {
          const nb::gil_scoped_release release;
          e.root_messages(parameters.data(), rows, scale, logs);
        }
        const std::size_t n = e.plan().n_rows(), k = e.plan().states[e.plan().root];
        return std::make_tuple(to_numpy(std::move(rows), {n, k}), to_numpy(std::move(scale)),
                               to_numpy(std::move(logs), {n, k}));
      });
  m.def("make_engine", &make_engine);
  bind_sampler(m);
  bind_search(m);

  nb::class_<Em>(m, "Em")
      .def(
          "__init__",
          [](Em* self, std::shared_ptr<Engine> engine, Matrix starts, std::optional<Vector> pseudo,
             std::optional<In<std::uint8_t, nb::ndim<1>>> held, bool accelerate) {
            require(engine != nullptr, "an engine to run on");
            Maximiser maximiser;
            if (pseudo) maximiser.pseudo = copy<double>(*pseudo);
            if (held) maximiser.held = copy<std::uint8_t>(*held);
            std::vector<std::vector<double>> own;
            const std::size_t d = starts.shape(1);
            check_parameters(*engine, d);
            require(starts.shape(0) > 0, "at least one start");
            require(!pseudo || pseudo->size() == d, "one pseudo-count for each parameter");
            require(!held || held->size() == d, "one mark for each parameter that may be held");
            for (std::size_t i = 0; i < starts.shape(0); ++i)
              own.emplace_back(starts.data() + i * d, starts.data() + (i + 1) * d);
            new (self) Em(std::move(engine), std::move(maximiser), accelerate, std::move(own));
          },
          nb::arg("engine"), nb::arg("starts"), nb::arg("pseudo").none(), nb::arg("held").none(), nb::arg("accelerate"))
      .def("advance",
           [](Em& e, int max_iterations, double tolerance, double seconds, int threads) {
             return locked(e, [&] { return e.advance(max_iterations, tolerance, seconds, threads); });
           })
      .def("compete",
           [](Em& e, int first, int steps, double tolerance, double goal, double hope) {
             require(first >= 1 && steps >= 1, "at least one step");
             return locked(e, [&] { return e.compete(first, steps, tolerance, goal, hope); });
           })
      .def("keep", [](Em& e, const std::vector<std::size_t>& chosen) { locked(e, [&] { e.keep(chosen); }); })
      .def("asked",
           [](Em& e) {
             std::vector<double> points = locked(e, [&] { return e.asked(); });
             const std::size_t d = e.n_parameters(), n = points.size() / d;
             return to_numpy(std::move(points), {n, d});
           })
      .def("answer",
           [](Em& e, Vector log_likelihood, Matrix counts, int max_iterations, double tolerance) {
             const std::size_t n = log_likelihood.size();
             require(counts.shape(0) == n && counts.shape(1) == e.n_parameters(), "counts for each answer");
             locked(e, [&] { e.answer(log_likelihood.data(), counts.data(), n, max_iterations, tolerance); });
           })
      .def("restore",
           [](Em& e, const std::vector<Vector>& states, int given_up) {
             std::vector<std::vector<double>> own;
             for (const Vector& state : states) own.push_back(copy<double>(state));
             locked(e, [&] { e.restore(own, given_up); });
           })
      .def("state", [](Em& e, std::size_t i) { return to_numpy(locked(e, [&] { return e.run(i).state(); })); })
      .def_prop_ro("given_up", [](Em& e) { return locked(e, [&] { return e.given_up(); }); })
      .def_prop_ro("n_runs", [](Em& e) { return locked(e, [&] { return e.n_runs(); }); })
      .def("parameters", [](Em& e, std::size_t i) { return to_numpy(locked(e, [&] { return e.run(i).parameters; })); })
      .def("counts", [](Em& e, std::size_t i) { return to_numpy(locked(e, [&] { return e.run(i).counts; })); })
      .def("trace", [](Em& e, std::size_t i) { return to_numpy(locked(e, [&] { return e.run(i).trace; })); })
      .def("log_likelihood", [](Em& e, std::size_t i) { return locked(e, [&] { return e.run(i).log_likelihood; }); })
      .def("evaluations", [](Em& e, std::size_t i) { return locked(e, [&] { return e.run(i).evaluations; }); })
      .def("status", [](Em& e, std::size_t i) { return locked(e, [&] { return static_cast<int>(e.run(i).status); }); });
}
