// change_search.cpp: the search of subgraphs whose bicliques are settled as changes.
#include "search/worker_search.hpp"

namespace bicliq {

template void Enumeration::search(ChangeSink& sink);

}  // namespace bicliq
