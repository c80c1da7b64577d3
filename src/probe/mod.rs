//! When and how members are measured: the schedule, the private taps, the fetches, the driver.
