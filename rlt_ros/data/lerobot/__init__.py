"""LeRobot datasets: written as v3.0, read as v2.1 and v3.0, mapped to this package's vocabulary."""
