// count_search.cpp: the search where bicliques are only counted.
#include "search/worker_search.hpp"

namespace bicliq {

template void Enumeration::search(CountSink& sink);
template void Enumeration::search(SizedCountSink& sink);

}  // namespace bicliq
