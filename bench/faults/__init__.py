"""The fault and kill matrices as tables: `make faults`."""
