//! The sans-io toolkit: a checked cursor, the handshake contract, the body contract.
