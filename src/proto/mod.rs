//! Sans-io codecs: bytes in, values out. Shared by both sides of a protocol and by the tests.
