//! TLS settings of the model to rustls, and the streams around it.
