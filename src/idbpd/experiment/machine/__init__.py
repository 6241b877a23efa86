"""How this machine computes: devices, threads, and whether repeatably."""
