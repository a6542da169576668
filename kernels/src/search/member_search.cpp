// member_search.cpp: the search where the members of bicliques are known.
#include "search/worker_search.hpp"

namespace bicliq {

template void Enumeration::search(MemberSink& sink);

}  // namespace bicliq
