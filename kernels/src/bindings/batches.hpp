// batches.hpp: a batch of bicliques as arrays for Python, which own it.
#pragma once

#include "bindings/bindings.hpp"
#include "search/batch.hpp"

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace bicliq {

/// A batch that Python reads; when the last of its arrays is gone, its buffers are used again.
struct HeldBatch {
  std::unique_ptr<Batch> batch;
  std::shared_ptr<BatchPool> pool;
  ~HeldBatch() { pool->give(std::move(batch)); }
};

/// Offsets and ids of the left side and of the right one, and roots.
inline nb::object python_of(std::unique_ptr<Batch> batch, const std::shared_ptr<BatchPool>& pool) {
  using Output = nb::ndarray<nb::numpy, const std::int32_t, nb::ndim<1>>;
  auto* held = new HeldBatch{std::move(batch), pool};
  const nb::capsule owner(held, [](void* p) noexcept { delete static_cast<HeldBatch*>(p); });
  const auto array = [&](const std::int32_t* data, std::size_t n) { return nb::cast(Output(data, {n}, owner)); };
  const auto values = [&](const std::vector<std::int32_t>& v) { return array(v.data(), v.size()); };
  const Batch& b = *held->batch;
  return nb::make_tuple(values(b.left.offsets()), array(b.left.ids(), b.left.size()), values(b.right.offsets()),
                        array(b.right.ids(), b.right.size()), values(b.root));
}

}  // namespace bicliq
