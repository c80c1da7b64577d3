//! One configuration written as another: Xray JSON to TOML and back, with an account of every key.
