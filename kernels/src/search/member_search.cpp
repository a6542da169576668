// member_search.cpp: the search where the members of bicliques are known.
#include "search/worker_search.hpp"

namespace bicliq {
inline namespace BICLIQ_ISA {

template void Enumeration::search(MemberSink& sink);

}  // namespace BICLIQ_ISA
}  // namespace bicliq
