"""MuJoCo Franka peg insertion, the scripted expert and the scripted operator."""
