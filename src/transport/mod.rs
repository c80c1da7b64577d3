//! Carriers and security, put around a socket in the order that the model names.
