// find_search.cpp: what a worker does that looks for the best bicliques.
#include "best/finding.hpp"
#include "search/mbe.hpp"
#include "search/roots.hpp"

namespace bicliq::best {

void Finding::work() {
  const Stage& stage = stage_;
  const Limits& limits = stage.scores.sizes;
  Workspace memory;
  BestSink sink(stage.scores, stage.numbers, stage.most_rows, best_);
  MaximalBicliques<BestSink, Crew, Workspace> search(limits, crew_, sink, memory);
  Roots<BestSink> roots(stage.graph, limits, crew_, sink);
  u64 opened = 0;
  while (const auto place = crew_.next_root()) {
    const u32 root = stage.order[*place];
    if (stage.bounds[root] >= best_.least()) {
      ++opened;
      if (roots.open(root)) search.search(roots.tree());
    }
    crew_.root_done();
  }
  while (const auto node = crew_.take()) search.search(node->tree);
  const std::lock_guard<std::mutex> lock(mutex_);
  nodes_ += search.nodes + roots.nodes;
  roots_opened_ += opened;
}

}  // namespace bicliq::best
