// change_search.cpp: the search of subgraphs whose bicliques are settled as changes.
#include "changes/change_sink.hpp"
#include "search/worker_search.hpp"

namespace bicliq {

void search_changes(ChangeTask& task, Enumeration& of) {
  ChangeSink sink(task, of.labels(), of.limits(), of.tally());
  of.search(sink);
}

}  // namespace bicliq
