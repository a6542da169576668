// thrift.hpp: structs of Thrift's compact protocol, in which the headers of pages are written.
//
// Reference: Apache Thrift, "Compact protocol encoding".
#pragma once

#include "lanes/types.hpp"

namespace bicliq {

/// Writes a struct whose fields are numbers of 32 bits, or structs, to what takes bytes
/// (`put_byte`) and numbers of seven bits a byte (`put_varint`).
template <class To>
class ThriftStruct {
 public:
  explicit ThriftStruct(To& to) : to_(to) {}
  ThriftStruct& number(u32 field, u32 value) {
    head(field, 5);
    to_.put_varint(u64{value} << 1);  // zigzag
    return *this;
  }
  /// Begins a field that is a struct, which the caller writes and ends.
  ThriftStruct inner(u32 field) {
    head(field, 12);
    return ThriftStruct(to_);
  }
  void end() { to_.put_byte(0); }

 private:
  void head(u32 field, u32 kind) {
    to_.put_byte((field - last_) << 4 | kind);  // fields are numbered below 16, and come in order
    last_ = field;
  }
  To& to_;
  u32 last_ = 0;
};

}  // namespace bicliq
