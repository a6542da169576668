// edge_search.cpp: what a worker does that looks for the bicliques whose edges weigh most.
#include "best/edge_finding.hpp"
#include "search/mbe.hpp"
#include "search/roots.hpp"

namespace bicliq::best {

void EdgeFinding::work() {
  Workspace memory;
  EdgeSink sink(sizes_, weights_, numbers_, most_rows_, *best_);
  MaximalBicliques<EdgeSink, Crew, Workspace> search(sizes_, crew_, sink, memory);
  Roots<EdgeSink> roots(graph_, sizes_, crew_, sink);
  u64 opened = 0;
  while (const auto place = crew_.next_root()) {
    const u32 root = order_[*place];
    if (bounds_[root] >= best_->least()) {
      ++opened;
      const bool open = roots.open(root);
      bounds_[root] = std::min(bounds_[root], sink.root_bound());  // only this worker touches it
      if (open) search.search(roots.tree());
    }
    crew_.root_done();
  }
  while (const auto node = crew_.take()) search.search(node->tree);
  const std::lock_guard<std::mutex> lock(mutex_);
  nodes_ += search.nodes + roots.nodes;
  roots_opened_ += opened;
}

}  // namespace bicliq::best
