"""What is written in Thrift's compact protocol is read again."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from bicliq.pipeline.store.thrift import BINARY, I32, I64, LIST, STRUCT, TRUE, decode_struct, encode_struct
from tests.nightly import drawn

VALUES = st.deferred(
    lambda: st.one_of(
        st.tuples(st.sampled_from([I32, I64]), st.integers(-(2**62), 2**62)),
        st.tuples(st.just(BINARY), st.binary(max_size=300)),
        st.tuples(st.just(TRUE), st.booleans()),
        st.tuples(st.just(STRUCT), STRUCTS),
        st.tuples(st.just(LIST), st.tuples(st.just(I64), st.lists(st.integers(-9, 9), max_size=20))),
        st.tuples(st.just(LIST), st.tuples(st.just(STRUCT), st.lists(STRUCTS, max_size=3))),
    )
)
STRUCTS = st.dictionaries(st.integers(1, 300), VALUES, max_size=5)


@given(STRUCTS)
@settings(max_examples=drawn(60), deadline=None)
def test_what_is_encoded_is_decoded(struct: Any) -> None:
    data = encode_struct(struct)
    assert decode_struct(data, 0) == (struct, len(data))
