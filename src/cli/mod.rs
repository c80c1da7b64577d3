//! What the user typed, and what the program says back.
