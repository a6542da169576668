// count_search.cpp: the search where bicliques are only counted.
#include "search/worker_search.hpp"

namespace bicliq {
inline namespace BICLIQ_ISA {

template void Enumeration::search(CountSink& sink);

}  // namespace BICLIQ_ISA
}  // namespace bicliq
