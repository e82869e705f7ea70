"""The paper's table in simulation: plans for `bench.sweep.run`, one file for each experiment."""
