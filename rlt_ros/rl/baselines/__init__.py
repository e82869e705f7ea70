"""Other methods in the same loop, for comparison; what is a matter of settings alone stands in bench/results."""
