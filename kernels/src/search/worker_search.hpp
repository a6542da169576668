// worker_search.hpp: what a worker of an enumeration does: roots, while there are any, then what
// others give away.
//
// The search is compiled once for each kind of sink, in files of their own, side by side: they are
// what takes longest.
#pragma once

#include "search/enumeration.hpp"
#include "search/mbe.hpp"
#include "search/roots.hpp"

namespace bicliq {

template <class Roots, class Search>
void Enumeration::search_roots(Roots roots, Search& search) {
  while (const auto place = crew_.next_root()) {
    if (roots.open(request_.roots[request_.roots.size() - 1 - *place])) search.search(roots.tree());
    crew_.root_done();
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  nodes_ += roots.nodes;
  dropped_ += roots.dropped;
  workspace_ += roots.workspace_bytes();
}

template <class Sink>
void Enumeration::search(Sink& sink) {
  Workspace memory;
  MaximalBicliques<Sink, Crew, Workspace> search(settings_.limits, crew_, sink, memory);
  double waited = 0;
  const Clock::time_point start = Clock::now();
  if (short_rows_) search_roots(DeliveredRoots<Sink>(*short_rows_, settings_.limits.min_rows, sink), search);
  else search_roots(Roots<Sink>(graph_, settings_.limits, crew_, sink), search);
  for (;;) {
    const Clock::time_point before = Clock::now();
    const auto node = crew_.take();
    waited += since(before);
    if (!node) break;
    search.search(node->tree);
  }
  sink.finish();
  const std::lock_guard<std::mutex> lock(mutex_);
  busy_.push_back(since(start) - waited);
  digest_ += sink.digest();
  nodes_ += search.nodes;
  dropped_ += search.dropped;
  workspace_ += memory.bytes();
}

}  // namespace bicliq
