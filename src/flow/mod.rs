//! What runs through the house: flows, streams, packets, and the two ports that keep lower floors from looking up.
