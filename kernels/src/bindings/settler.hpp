// settler.hpp: what settles the bicliques of changes, with the arrays that Python gave for it.
#pragma once

#include "bindings/batches.hpp"
#include "bindings/bindings.hpp"
#include "enumeration/row_settler.hpp"

namespace bicliq {
inline namespace BICLIQ_ISA {

/// Takes batches in any thread; the graph, the vertices and what it adds to live as long.
class Settler {
 public:
  using Vertices = Input<std::int32_t>;
  using Starts = Input<std::int64_t>;
  Settler(const ChangedGraph& graph, const Remains::Least& least, const RowVertices& vertices, FoundRows& to, const Vertices& left_of,
          const Vertices& right_of, const Vertices& change_of, const Starts& left_start, const Starts& right_start, std::int32_t first,
          std::size_t few)
      : left_of_(left_of), right_of_(right_of), change_of_(change_of), left_start_(left_start), right_start_(right_start),
        settler_(graph, least, vertices, {left_of.data(), right_of.data(), change_of.data(), left_start.data(), right_start.data(), first}, to, few) {}
  std::unique_ptr<Batch> operator()(std::unique_ptr<Batch> batch) { return settler_(std::move(batch)); }
  /// The batches, where they hold few bicliques; else none, and rows were made.
  nb::object finish() {
    RowSettler::Kept kept;
    {
      const nb::gil_scoped_release release;
      kept = settler_.finish();
    }
    if (!settler_.are_few()) return nb::none();
    const auto pool = std::make_shared<BatchPool>(0);
    nb::list batches;
    for (std::unique_ptr<Batch>& batch : kept) batches.append(python_of(std::move(batch), pool));
    return batches;
  }

 private:
  const Vertices left_of_, right_of_, change_of_;
  const Starts left_start_, right_start_;
  RowSettler settler_;
};

}  // namespace BICLIQ_ISA
}  // namespace bicliq
