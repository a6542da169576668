// best_search.cpp: what a worker does that looks for the best bicliques.
#include "best/edge_finding.hpp"
#include "best/finding.hpp"
#include "search/mbe.hpp"
#include "search/roots.hpp"

namespace bicliq::best {

template <class Own, class Sink>
void BestSearch<Own, Sink>::work() {
  Stage& stage = stage_;
  const Limits& limits = stage.sizes;
  Workspace memory;
  Sink sink = own().sink(best_);
  MaximalBicliques<Sink, Crew, Workspace> search(limits, crew_, sink, memory);
  Roots<Sink> roots(stage.graph, limits, crew_, sink);
  u64 opened = 0;
  while (const auto place = crew_.next_root()) {
    const u32 root = stage.order[*place];
    i64& bound = stage.bounds[root];  // only this worker touches it
    if (bound >= best_.least()) {
      ++opened;
      const bool open = roots.open(root);
      bound = std::min(bound, sink.root_bound());
      if (open) search.search(roots.tree());
    }
    crew_.root_done();
  }
  while (const auto node = crew_.take()) search.search(node->tree);
  const std::lock_guard<std::mutex> lock(mutex_);
  nodes_ += search.nodes + roots.nodes;
  roots_opened_ += opened;
}

template void BestSearch<Finding, BestSink>::work();
template void BestSearch<EdgeFinding, EdgeSink>::work();

}  // namespace bicliq::best
