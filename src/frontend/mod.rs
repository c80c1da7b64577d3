//! Files to drafts, and drafts back to text. The only place that knows a file format.
