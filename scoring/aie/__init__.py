"""AIE's metrics of doctors and of patient simulators (sections 2.5 and 4.4)."""
