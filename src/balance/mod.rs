//! Choosing a member: what is known goes in, a member comes out. Pure; time and chance are arguments.
