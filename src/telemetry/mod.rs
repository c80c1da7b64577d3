//! Logs: levels and words as the configuration asks, on the streams that integrators expect.
