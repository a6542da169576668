// set_search.cpp: the search for closed itemsets.
#include "rules/set_sink.hpp"
#include "search/worker_search.hpp"

namespace bicliq {

void search_sets(SetCollector& to, Enumeration& of) {
  SetSink sink(of.labels().column_ids, of.tally(), to);
  of.search(sink);
}

}  // namespace bicliq
